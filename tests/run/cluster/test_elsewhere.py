"""`--on ssh://…`, `slurm` and `k8s` for real where that can be, else against the objects that are sent."""

from __future__ import annotations

import pytest

from seekwise.errors import MissingError, SeekwiseError
from seekwise.run.cluster import where

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


@pytest.fixture
def sent(monkeypatch):
    """Objects that dask-kubernetes would create, as (document, namespace); the creation then fails as without a cluster."""
    kubecluster = pytest.importorskip(
        "dask_kubernetes.operator.kubecluster.kubecluster",
        reason="dask-kubernetes is not installed: pip install dask-kubernetes",
    )
    found = []

    class Cluster:
        """A cluster object of kr8s that is there nowhere."""

        def __init__(self, resource: str | dict, namespace: str | None = None) -> None:
            self.resource, self.namespace = resource, namespace

        def __await__(self):
            yield from ()
            return self

        async def exists(self) -> bool:
            return False

        async def create(self) -> None:
            found.append((self.resource, self.namespace))
            raise RuntimeError("no cluster here")

    monkeypatch.setattr(kubecluster, "DaskCluster", Cluster)
    return found


def test_kubernetes_gets_a_cluster_of_its_own_with_as_many_workers_of_one_thread(sent, monkeypatch) -> None:
    import dask

    with dask.config.set({"kubernetes.image": "registry.example/seekwise:0.1", "kubernetes.namespace": "lab"}):
        for _ in range(2):
            with (
                pytest.raises(SeekwiseError, match="cannot start the workers of Kubernetes"),
                where.cluster(where.Where("k8s", 3)),
            ):
                pass
    (one, namespace), (two, _) = sent
    assert namespace == "lab"
    assert one["kind"] == "DaskCluster" and one["apiVersion"] == "kubernetes.dask.org/v1"
    assert one["metadata"]["name"].startswith("seekwise-") and one["metadata"]["name"] != two["metadata"]["name"]
    worker = one["spec"]["worker"]
    assert worker["replicas"] == 3
    (container,) = worker["spec"]["containers"]
    assert container["image"] == "registry.example/seekwise:0.1"
    assert container["args"][:3] == ["dask-worker", "--nthreads", "1"]
    assert one["spec"]["scheduler"]["spec"]["containers"][0]["image"] == "registry.example/seekwise:0.1"


def test_the_image_of_dask_itself_is_refused_since_it_has_no_seekwise(sent) -> None:
    with pytest.raises(MissingError, match="has no seekwise") as raised, where.cluster(where.Where("k8s", 3)):
        pass
    assert "DASK_KUBERNETES__IMAGE" in str(raised.value.hint) and not sent
