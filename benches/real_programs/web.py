"""nginx with many small files, and wrk that asks for them in random order."""

from __future__ import annotations

import contextlib
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from real_programs.databases import wait_until
from real_programs.shell import ENVIRONMENT, output_of
from seekwise.control import child
from seekwise.linux import page_cache

PAGES = 40_000
FOLDERS = 100
CONNECTIONS = 16
CONF = """daemon off;
master_process on;
worker_processes 2;
user root;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log {folder}/access.log;
  sendfile on;
  server {{ listen 127.0.0.1:{port}; root {folder}/pages; }}
}}
"""
LUA = """local thread_number = 0
function setup(thread) thread:set("seed", {seed} + thread_number); thread_number = thread_number + 1 end
function init(args) math.randomseed(seed) end
function request()
  local page = math.random(0, {last})
  return wrk.format("GET", "/" .. (page % {folders}) .. "/" .. page)
end
"""


@contextlib.contextmanager
def nginx(folder: Path) -> Iterator[Callable[[float], dict[str, float]]]:
    """Pages of 4 to 256 KiB (log-uniform, 1.2 GB in all), cold when a visit begins; the log is appended."""
    pages, chosen = folder / "pages", random.Random(1)
    piece = os.urandom(256 << 10)
    for number in range(FOLDERS):
        (pages / str(number)).mkdir(parents=True)
    for page in range(PAGES):
        size = int(4096 * 2 ** chosen.uniform(0, 5))
        (pages / str(page % FOLDERS) / str(page)).write_bytes(piece[:size])
    os.sync()
    port = 18_000 + os.getpid() % 10_000
    (folder / "conf").write_text(CONF.format(folder=folder, port=port))
    with child.started(("nginx", "-c", str(folder / "conf")), env=ENVIRONMENT) as running:
        wait_until((folder / "pid").exists, running, "nginx")
        time.sleep(0.3)
        yield lambda seconds: _wrk(folder, pages, port, seconds)
        running.terminate()


def _wrk(folder: Path, pages: Path, port: int, seconds: float) -> dict[str, float]:
    page_cache.evict(page_cache.files_below(pages, PAGES + 1))
    script = folder / "random.lua"
    script.write_text(LUA.format(seed=random.getrandbits(30), last=PAGES - 1, folders=FOLDERS))
    text = output_of(
        "wrk",
        "-t2",
        f"-c{CONNECTIONS}",
        f"-d{seconds:.0f}s",
        "--latency",
        "-s",
        str(script),
        f"http://127.0.0.1:{port}",
    )
    rate, tail = re.search(r"Requests/sec:\s+([\d.]+)", text), re.search(r"99%\s+([\d.]+)(us|ms|s)", text)
    if rate is None or tail is None or "Non-2xx" in text:
        raise SystemExit(f"wrk was not served: {text[-300:]}")
    unit = {"us": 1e-6, "ms": 1e-3, "s": 1.0}[tail[2]]
    return {"done": float(rate[1]), "time": CONNECTIONS / float(rate[1]), "tail": float(tail[1]) * unit}
