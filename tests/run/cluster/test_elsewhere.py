"""`--on ssh://…` and `slurm` for real."""

from __future__ import annotations

import pytest

from . import slurmd, sshd
from .conftest import Runs, count, records_of


@pytest.mark.slow
def test_workers_started_by_ssh_give_the_same_bits(tmp_path, runs: Runs) -> None:
    pytest.importorskip("asyncssh", reason="asyncssh is not installed: pip install asyncssh")
    study = runs.study()
    runs(str(study), db="alone.db")
    with sshd.serving(tmp_path) as home:
        said = runs(str(study), "--on", "ssh://node", "--workers", "2", db="spread.db", HOME=str(home))
        assert "2 workers; dashboard: " in said
        assert records_of(tmp_path / "spread.db") == records_of(tmp_path / "alone.db")
        (home / ".ssh" / "known").write_text("")
        said = runs(str(study), "--on", "ssh://node", db="refused.db", status=1, HOME=str(home))
        assert said.count("error: ") == 1 and "Host key is not trusted" in said
        assert "WARNING" not in said and count(tmp_path / "refused.db") == 0


@pytest.mark.slow
def test_a_host_that_nobody_answers_on_is_one_error(tmp_path, runs: Runs) -> None:
    pytest.importorskip("asyncssh", reason="asyncssh is not installed: pip install asyncssh")
    said = runs(str(runs.study()), "--on", "ssh://127.0.0.1:1", db="x.db", status=1, HOME=str(tmp_path))
    assert said.count("error: ") == 1 and "cannot start the workers on 127.0.0.1:1" in said and "hint: " in said


@pytest.mark.slow
def test_jobs_of_slurm_give_the_same_bits(tmp_path, runs: Runs) -> None:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed: pip install dask-jobqueue")
    study = runs.study()
    runs(str(study), db="alone.db")
    own = tmp_path / "slurm"
    own.mkdir()
    with slurmd.serving(own) as environment:
        environment["HOME"] = str(own)
        said = runs(str(study), "--on", "slurm", "--workers", "2", db="spread.db", **environment)
        environment["DASK_JOBQUEUE__SLURM__QUEUE"] = "nosuch"
        refused = runs(str(study), "--on", "slurm", "--workers", "2", db="refused.db", status=1, **environment)
    assert refused.count("error: ") == 1 and "SLURM takes no job: " in refused and count(tmp_path / "refused.db") == 0
    assert "workers; dashboard: " in said or "worker; dashboard: " in said
    assert records_of(tmp_path / "spread.db") == records_of(tmp_path / "alone.db")
