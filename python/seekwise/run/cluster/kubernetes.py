"""`--on k8s`: a DaskCluster of the run's own, made and ended through dask-kubernetes.

Asked first: does the API server answer, does it know DaskClusters (the operator's definitions), may this account create, read and delete them? A run
that could not end its pods does not start them. A cluster that cannot be deleted all the same is named, with the command that does it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import warnings
from typing import Any

from seekwise.backend.protocol import Say
from seekwise.errors import MissingError, RefusedError, SeekwiseError

GROUP, VERSION, KIND = "kubernetes.dask.org", "v1", "daskclusters"
VERBS = ("create", "get", "list", "delete")
"""What a run does with its DaskCluster."""
DASK_IMAGE = "ghcr.io/dask/dask"
"""dask-kubernetes uses this image unless another one is configured."""
ANSWER_S = 30.0
CLOSE_S = 60.0
"""How long the API server may take to delete a cluster."""
NO_ANSWER = "does `kubectl get pods` work here?"
NO_OPERATOR = "helm install --repo https://helm.dask.org --create-namespace -n dask-operator --generate-name dask-kubernetes-operator"


class Pods:
    """A scheduler and workers in pods, as `distributed.Client` takes a cluster; `close` ends them."""

    def __init__(self, workers: int, say: Say) -> None:
        _quiet()
        namespace = _checked()
        import dask
        from dask_kubernetes.operator import KubeCluster

        self._say, self._namespace = say, namespace
        self._kind: Any = KubeCluster
        words: dict[str, Any] = {"quiet": True, "namespace": namespace}
        if dask.config.get("kubernetes.custom-cluster-spec", None) is None:
            image = dask.config.get("kubernetes.image", "")
            if image.startswith(DASK_IMAGE):
                raise MissingError(
                    f"the pods' image {image} has no seekwise",
                    hint="name an image with this release of seekwise: DASK_KUBERNETES__IMAGE=REGISTRY/NAME",
                )
            # A name of its own: a cluster that is there under the name would be taken over, and ended with this run.
            words |= {"name": f"seekwise-{secrets.token_hex(4)}", "n_workers": workers}
            words["worker_command"] = ["dask-worker", "--nthreads", "1"]
        try:
            self.cluster: Any = KubeCluster(**words)
            if "name" not in words:
                self.cluster.scale(workers)
        except BaseException:
            # Also after Ctrl-C: what was created by then goes with it.
            for each in list(KubeCluster._instances):
                self._end(each)
            raise

    def close(self) -> None:
        self._end(self.cluster)

    def _end(self, cluster: Any) -> None:
        try:
            cluster.close(timeout=CLOSE_S)
        except Exception as error:  # noqa: BLE001 (of kr8s, httpx or dask-kubernetes: none may hide what the run gave)
            self._say(
                f"the DaskCluster {cluster.name} could not be deleted ({_said(error)}); "
                f"`kubectl delete daskcluster {cluster.name} -n {self._namespace}` does it"
            )
        # What is left would be closed once more at the end of the process, with a traceback if that fails.
        self._kind._instances.discard(cluster)


def _quiet() -> None:
    for name in ("dask_kubernetes", "kr8s", "httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module=r"kr8s\b")


def _said(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


def _checked() -> str:
    """The namespace that is used. Raises MissingError or RefusedError where no DaskCluster could be created, used or deleted there."""
    try:
        return asyncio.run(asyncio.wait_for(_look(), ANSWER_S))
    except SeekwiseError:
        raise
    except TimeoutError:
        raise MissingError(f"Kubernetes does not answer within {ANSWER_S:.0f} s", hint=NO_ANSWER) from None
    except Exception as error:
        raise MissingError(f"Kubernetes does not answer: {_said(error)}", hint=NO_ANSWER) from error


async def _look() -> str:
    import dask
    import kr8s

    # The clients that kr8s keeps belong to an event loop, and this one ends.
    api = await kr8s.asyncio.api(namespace=dask.config.get("kubernetes.namespace", None))
    namespace = str(api.namespace)
    for verb in VERBS:
        if await _may(api, namespace, verb) is False:
            raise RefusedError(
                f"this account may not {verb} DaskClusters in the namespace {namespace}",
                hint=f"who runs the cluster can allow it: `kubectl auth can-i {verb} {KIND}.{GROUP} -n {namespace}` asks for it",
            )
    try:
        async with api.call_api("GET", version=f"{GROUP}/{VERSION}", namespace=namespace, url=f"{KIND}?limit=1"):
            return namespace
    except kr8s.ServerError as error:
        status = getattr(error.response, "status_code", 0)
        if status == 404:
            raise MissingError(
                "Kubernetes does not know DaskClusters: the Dask operator is not installed there", hint=NO_OPERATOR
            ) from None
        if status in (401, 403):
            raise RefusedError(f"Kubernetes refuses this account: {_said(error)}", hint=NO_ANSWER) from None
        raise


async def _may(api: Any, namespace: str, verb: str) -> bool | None:
    """Whether this account may do that with DaskClusters, as `kubectl auth can-i` asks; None where the server does not tell."""
    import kr8s

    asked = {"namespace": namespace, "verb": verb, "group": GROUP, "resource": KIND}
    document = {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": asked},
    }  # fmt: skip
    with contextlib.suppress(kr8s.ServerError, KeyError, ValueError, TypeError):
        async with api.call_api(
            "POST", version="authorization.k8s.io/v1", url="selfsubjectaccessreviews", json=document
        ) as response:
            return bool(response.json()["status"]["allowed"])
    return None
