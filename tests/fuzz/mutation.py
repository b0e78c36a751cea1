"""Seeded mutations of a sample, and the loop that holds a reader to its promise: one error or a result, quickly, in little memory."""

from __future__ import annotations

import random
import resource
import time

import pytest

from seekwise.errors import SeekwiseError

SEED = 20_261_123
LONGEST_S = 2.0
MEMORY_BYTES = 500 << 20

counts = pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])

NASTY = [
    b"null", b"NaN", b"-1", b"1e999", b"-Infinity", b"inf", b"nan", b"99999999999999999999999", b"\x00", b"\xff\xfe", b"[", b"{",
    b'"', b"\\", b"\n", b"\x1b[2J", b"true", b"[]", b"{}", b"0", b"[" * 3000, b"a" * 5000, b"\xe2\x80\xae", b"=", b"..", b"/dev/zero",
]  # fmt: skip


def mutated(data: bytes, chance: random.Random) -> bytes:
    parts = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        at = chance.randrange(len(parts) + 1)
        kind = chance.randrange(6)
        if kind == 0 and parts:
            parts[at % len(parts)] = chance.randrange(256)
        elif kind == 1:
            del parts[at : at + chance.choice((1, 2, 10, 200))]
        elif kind == 2:
            parts[at:at] = chance.choice(NASTY)
        elif kind == 3:
            end = at + chance.choice((1, 4, 12))
            parts[at:end] = chance.choice(NASTY)
        elif kind == 4:
            parts[at:at] = parts[at : at + chance.choice((5, 50, 500))]
        else:
            del parts[at:]
    return bytes(parts)


def every(sample: bytes, read, count: int) -> None:
    """`read` takes a mutated sample; SeekwiseError is an answer, anything else a fault."""
    chance = random.Random(SEED)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        data = mutated(sample, chance)
        started, processor = time.perf_counter(), time.process_time()
        try:
            read(data)
        except SeekwiseError as error:
            assert error.message
        except Exception as error:
            raise AssertionError(f"input {number}: {type(error).__name__}: {error}: {data[:300]!r}") from error
        # What other programs take of the machine is not the reader's: both clocks must say that it was slow.
        took = min(time.perf_counter() - started, 2 * (time.process_time() - processor) + 0.5)
        assert took < LONGEST_S, f"input {number} took {took:.1f} s: {data[:300]!r}"
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) << 10
    assert more < MEMORY_BYTES, f"{more >> 20} MiB more"
