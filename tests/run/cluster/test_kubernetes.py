"""`--on k8s` by dask-kubernetes itself against a stand-in for the API server and the operator (`kubernetes.py`), with real workers."""

from __future__ import annotations

import signal

import pytest

from .conftest import Runs, count, records_of, run_id_of, wait_for

pytest.importorskip("dask_kubernetes", reason="dask-kubernetes is not installed: pip install dask-kubernetes")

from . import kubernetes


@pytest.mark.slow
def test_pods_give_the_same_bits_and_end_with_the_run(tmp_path, runs: Runs) -> None:
    study = runs.study()
    runs(str(study), db="alone.db")
    with kubernetes.serving(tmp_path) as (there, environment):
        said = runs(str(study), "--on", "k8s", "--workers", "3", db="spread.db", **environment)
        (made,) = there.created
        assert there.deleted == [made["metadata"]["name"]] and not there.clusters
    assert "workers; dashboard: " in said and "Warning" not in said
    assert records_of(tmp_path / "spread.db") == records_of(tmp_path / "alone.db")
    assert made["kind"] == "DaskCluster" and made["apiVersion"] == "kubernetes.dask.org/v1"
    assert made["metadata"]["name"].startswith("seekwise-") and made["spec"]["worker"]["replicas"] == 3
    for part in ("worker", "scheduler"):
        (container,) = made["spec"][part]["spec"]["containers"]
        assert container["image"] == "registry.example/seekwise:0.1"
    assert made["spec"]["worker"]["spec"]["containers"][0]["args"][:3] == ["dask-worker", "--nthreads", "1"]


@pytest.mark.parametrize(
    ("words", "status", "says", "hint"),
    [
        ({"refuses": {"GET": 404, "POST": 404}}, 4, "the Dask operator is not installed there", "helm install"),
        (
            {"refuses": {"POST": 403}},
            3,
            "this account may not create DaskClusters in the namespace lab",
            "can-i create",
        ),
        (
            {"refuses": {"DELETE": 403}},
            3,
            "this account may not delete DaskClusters in the namespace lab",
            "can-i delete",
        ),
        (
            {"refuses": {"GET": 403}, "reviews": False},
            3,
            "Kubernetes refuses this account: daskclusters",
            "kubectl get",
        ),
        (
            {"refuses": {"GET": 401}, "reviews": False},
            3,
            "Kubernetes refuses this account: Unauthorized",
            "kubectl get",
        ),
        ({"refuses": {"GET": 500}, "reviews": False}, 4, "Kubernetes does not answer: ", "kubectl get pods"),
        (
            {"refuses": {"POST": 403}, "reviews": False},
            1,
            "cannot start the workers of Kubernetes: daskclusters",
            "kubectl",
        ),
    ],
)
def test_what_kubernetes_refuses_is_one_error_and_nothing_stays(
    tmp_path, runs: Runs, words, status, says, hint
) -> None:
    with kubernetes.serving(tmp_path, **words) as (there, environment):
        said = runs(str(runs.study()), "--on", "k8s", "--workers", "2", db="x.db", status=status, **environment)
        assert not there.created and not there.clusters
    assert said.count("error: ") == 1 and says in said and hint in said.partition("hint: ")[2], said
    assert "Warning" not in said and "Failed to delete" not in said and count(tmp_path / "x.db") == 0


def test_without_a_cluster_there_is_one_error(tmp_path, runs: Runs) -> None:
    with kubernetes.serving(tmp_path) as (_, environment):
        pass
    words = (str(runs.study()), "--on", "k8s", "--workers", "2")
    said = runs(*words, db="x.db", status=4, **environment)
    assert said.count("error: ") == 1 and "Kubernetes does not answer: " in said and "kubectl get pods" in said
    said = runs(*words, db="x.db", status=4, **environment | {"KUBECONFIG": str(tmp_path / "nosuch")})
    assert said.count("error: ") == 1 and "Kubernetes does not answer: " in said and "hint: " in said


def test_the_image_of_dask_itself_is_refused_since_it_has_no_seekwise(tmp_path, runs: Runs) -> None:
    with kubernetes.serving(tmp_path) as (there, environment):
        environment["DASK_KUBERNETES__IMAGE"] = "ghcr.io/dask/dask:latest"
        said = runs(str(runs.study()), "--on", "k8s", "--workers", "2", db="x.db", status=4, **environment)
        assert not there.created
    assert "has no seekwise" in said and "DASK_KUBERNETES__IMAGE=" in said


def test_ctrl_c_while_the_operator_does_nothing_deletes_the_cluster(tmp_path, runs: Runs) -> None:
    with kubernetes.serving(tmp_path, idle=True) as (there, environment):
        process = runs.start(str(runs.study()), "--on", "k8s", "--workers", "2", db="x.db", **environment)
        wait_for(lambda: there.created)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130 and "Traceback" not in said, said
        assert there.deleted == [there.created[0]["metadata"]["name"]] and not there.clusters


@pytest.mark.slow
def test_ctrl_c_in_the_middle_ends_the_pods_and_resume_finishes(tmp_path, runs: Runs) -> None:
    study = runs.study(ios=3000, blocks=40)
    with kubernetes.serving(tmp_path) as (there, environment):
        process = runs.start(str(study), "--on", "k8s", "--workers", "2", db="x.db", **environment)
        wait_for(lambda: count(tmp_path / "x.db") > 10)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130 and "Traceback" not in said, said
        assert there.deleted == [there.created[0]["metadata"]["name"]] and not there.clusters
    done = count(tmp_path / "x.db")
    runs("--resume", run_id_of(tmp_path / "x.db"), db="x.db")
    assert 10 < done < count(tmp_path / "x.db") == 400
    runs(str(study), db="alone.db")
    assert records_of(tmp_path / "x.db") == records_of(tmp_path / "alone.db")


def test_a_cluster_that_cannot_be_deleted_is_named_and_the_run_counts(tmp_path, runs: Runs) -> None:
    with kubernetes.serving(tmp_path, refuses={"DELETE": 500}) as (there, environment):
        said = runs(str(runs.study()), "--on", "k8s", "--workers", "2", db="x.db", **environment)
        name = there.created[0]["metadata"]["name"]
    assert f"`kubectl delete daskcluster {name} -n lab` does it" in said and "error: " not in said
    assert count(tmp_path / "x.db") == 200
