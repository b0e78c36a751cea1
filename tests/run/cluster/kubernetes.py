"""A stand-in for a Kubernetes cluster with the Dask operator: an API server on this machine that keeps objects and does what the operator would.

A DaskCluster that is created gets a real Dask scheduler and real workers, as processes; deleting it ends them. The image is not looked at: the
processes have this Python. The scheduler's service says 127.0.0.1, so nothing is forwarded.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from .conftest import Processes

OBJECTS = re.compile(r"/namespaces/lab/(daskclusters|daskworkergroups|pods|services)(?:/([\w-]+))?$")
DISCOVERY = {
    "/version": {"major": "1", "minor": "31", "gitVersion": "v1.31.0"},
    "/api": {"versions": ["v1"]},
    "/apis": {"groups": []},
}
SELECTORS = ("fieldSelector", "labelSelector")
NAMESPACE = "lab"
METHODS = {"create": "POST", "get": "GET", "list": "GET", "delete": "DELETE"}


@dataclass
class Kubernetes:
    """`refuses`: {method: status} of requests about DaskClusters that are turned down."""

    folder: Path
    refuses: dict[str, int] = field(default_factory=dict)
    idle: bool = False
    """The operator does nothing."""
    reviews: bool = True
    """Whether an account may ask what it is allowed to do."""
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    created: list[dict[str, Any]] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    running: dict[str, Processes] = field(default_factory=dict)

    def create(self, document: dict[str, Any]) -> dict[str, Any]:
        name = document["metadata"]["name"]
        self.created.append(document)
        self.clusters[name] = document | {"metadata": {**document["metadata"], "namespace": NAMESPACE, "uid": name}}
        if not self.idle:
            processes = self.running[name] = Processes(self.folder)
            processes.start_scheduler()
            for _ in range(document["spec"]["worker"]["replicas"]):
                processes.start_worker()
            self.clusters[name]["status"] = {"phase": "Running"}
        return self.clusters[name]

    def delete(self, name: str) -> None:
        self.deleted.append(name)
        del self.clusters[name]
        if name in self.running:
            self.running.pop(name).end()

    def end(self) -> None:
        for processes in self.running.values():
            processes.end()

    def objects(self, kind: str) -> dict[str, dict[str, Any]]:
        """{name: object} of a kind, by what the operator would have made of the clusters so far."""
        if kind == "daskclusters":
            return dict(self.clusters)
        found = {}
        for cluster, processes in list(self.running.items()):
            name = f"{cluster}-default" if kind == "daskworkergroups" else f"{cluster}-scheduler"
            made = {"metadata": {"name": name, "namespace": NAMESPACE, "labels": {"dask.org/cluster-name": cluster}}}
            ready = [{"type": each, "status": "True"} for each in ("Ready", "ContainersReady")]
            ports = [{"name": each, "port": processes.port} for each in ("tcp-comm", "http-dashboard")]
            made |= {
                "pods": {"spec": {}, "status": {"phase": "Running", "conditions": ready}},
                "services": {
                    "spec": {"type": "LoadBalancer", "ports": ports, "selector": {"dask.org/cluster-name": cluster}},
                    "status": {"loadBalancer": {"ingress": [{"ip": "127.0.0.1"}]}},
                },
                "daskworkergroups": {"spec": {"worker": self.clusters[cluster]["spec"]["worker"]}},
            }[kind]
            found[name] = made
        return found


def matches(metadata: dict[str, Any], named: dict[str, str]) -> bool:
    """Whether an object is one of those that a selector names, by its own name or its cluster's; the rest of a selector is met by all."""
    own = {
        "metadata.name": metadata["name"],
        "dask.org/cluster-name": metadata.get("labels", {}).get("dask.org/cluster-name"),
    }
    return all(own[key] == value for key, value in named.items() if key in own)


@contextmanager
def serving(folder: Path, **words: Any) -> Iterator[tuple[Kubernetes, dict[str, str]]]:
    """The stand-in, and the environment variables with which a command finds it."""
    here = Kubernetes(folder, **words)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Quiet."""

        def answer(self, document: dict[str, Any], status: int = 200) -> None:
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def refuse(self, status: int) -> None:
            reason = {403: "Forbidden", 404: "NotFound", 401: "Unauthorized", 500: "InternalError"}[status]
            user = 'daskclusters.kubernetes.dask.org is forbidden: User "u" cannot do this in the namespace "lab"'
            message = {
                403: user,
                404: "the server could not find the requested resource",
                401: "Unauthorized",
                500: "etcd is away",
            }[status]
            self.answer(
                {
                    "kind": "Status",
                    "apiVersion": "v1",
                    "status": "Failure",
                    "reason": reason,
                    "message": message,
                    "code": status,
                },
                status,
            )

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            here.asked.append(f"{self.command} {self.path}")
            path, _, query = self.path.partition("?")
            found = OBJECTS.search(path)
            kind, name = (found[1], found[2]) if found else ("", None)
            if path.rstrip("/") in DISCOVERY:
                self.answer(DISCOVERY[path.rstrip("/")])
            elif path.endswith("/selfsubjectaccessreviews"):
                verb = json.loads(body)["spec"]["resourceAttributes"]["verb"]
                if here.reviews:
                    self.answer({"status": {"allowed": here.refuses.get(METHODS[verb]) != 403}}, 201)
                else:
                    self.refuse(404)
            elif not kind:
                self.refuse(404)
            elif kind == "daskclusters" and self.command in here.refuses:
                self.refuse(here.refuses[self.command])
            elif self.command == "POST":
                self.answer(here.create(json.loads(body)), 201)
            elif name and name not in here.objects(kind):
                self.refuse(404)
            elif self.command == "DELETE":
                here.delete(name)
                self.answer({"kind": "Status", "status": "Success"})
            elif name:
                self.answer(here.objects(kind)[name])
            else:
                wanted = dict(parse_qsl(query))
                named = dict(
                    part.split("=") for part in ",".join(wanted.get(key, "") for key in SELECTORS).split(",") if part
                )
                self.listed([each for each in here.objects(kind).values() if matches(each["metadata"], named)])

        def listed(self, items: list[dict[str, Any]]) -> None:
            self.answer({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items})

        do_GET = do_POST = do_DELETE = do_PATCH = handle_any

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = folder / "kubeconfig"
    at = f"http://127.0.0.1:{server.server_port}"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [{"name": "u", "user": {"token": "t"}}],
        "clusters": [{"name": "c", "cluster": {"server": at}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}],
    }))  # fmt: skip
    try:
        yield (
            here,
            {"KUBECONFIG": str(config), "DASK_KUBERNETES__IMAGE": "registry.example/seekwise:0.1", "HOME": str(folder)},
        )
    finally:
        server.shutdown()
        server.server_close()
        here.end()
