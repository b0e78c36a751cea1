"""In the guest: runs the workers of a use for a while: `programs.py SYS_PATH SPEC`. The background is ahead; a unit that began ends.

SPEC: {"crew": …, "foreground": […], "background": […], "lead_s": …, "counted_s": …, "patience_s": …, "window": FILE}
"""

import json
import os
import select
import socket
import sys
import time

sys.path[:] = sys.argv.pop(1).split(":")

from seekwise.workload.crew import Crew  # noqa: E402


def main() -> None:
    """Runs in the guest: the crew of a use beside the clock that commands it."""
    with open(sys.argv[1]) as file:
        spec = json.load(file)
    ours, theirs = socket.socketpair()
    crew = os.fork()
    if crew == 0:
        ours.close()
        os.dup2(theirs.fileno(), 0)
        theirs.close()
        Crew(spec["crew"]).run()
        os._exit(0)
    theirs.close()
    said = b""

    def wait_for(seconds: float, word: str, count: int = 1) -> None:
        """Until it was said so often, or the time is over. Ends the program when a worker failed."""
        nonlocal said
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and said.decode().split("\n").count(word) < count:
            if select.select([ours], [], [], left)[0]:
                got = ours.recv(4096)
                said += got
                if not got or b"failed" in said:
                    sys.exit(f"a worker failed: {said.decode()[-300:]}")

    wait_for(600.0, "ready")
    for name in spec["background"]:
        ours.sendall(f"go {name}\n".encode())
    wait_for(spec["lead_s"], "never said")
    began = time.time()
    for name in spec["foreground"]:
        ours.sendall(f"go {name}\n".encode())
    wait_for(spec["counted_s"], "never said")
    for name in spec["foreground"]:
        ours.sendall(f"stop {name}\n".encode())
    end = time.monotonic() + spec["patience_s"]
    for name in spec["foreground"]:
        wait_for(end - time.monotonic(), f"idle {name}")
    with open(spec["window"], "w") as file:
        json.dump({"began": began, "ended": time.time()}, file)
    ours.sendall(b"quit\n")
    os.waitpid(crew, 0)


main()
