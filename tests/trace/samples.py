"""Small traces in every format that is read; each holds the same three requests where the format can say so.

A read of 8 sectors at 1000 that takes 2 ms, a write of 16 at 5000 that takes 1 ms, a read of 8 at 1008.
"""

import struct

IOLOG2 = (
    "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 512000 4096\n/dev/sda wait 1000\n"
    "/dev/sda write 2560000 8192\n/dev/sda read 516096 4096\n/dev/sda close\n"
)
IOLOG3 = (
    "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n0 /dev/sda read 512000 4096\n"
    "1000 /dev/sda write 2560000 8192\n3000 /dev/sda read 516096 4096\n4000 /dev/sda close\n"
)
FIO_LOG = "2, 2000000, 0, 4096, 512000, 0\n3, 1000000, 1, 8192, 2560000, 0\n5, 2000000, 0, 4096, 516096, 0\n"
BLKPARSE = """\
  8,0    0        1     0.000000000   697  Q   R 1000 + 8 [fio]
  8,0    0        2     0.000001000   697  G   R 1000 + 8 [fio]
  8,0    0        3     0.000002000   697  I   R 1000 + 8 [fio]
  8,0    0        4     0.000003000   697  D   R 1000 + 8 [fio]
  8,0    1        1     0.001000000   700  Q  WS 5000 + 8 [kworker/u8:1]
  8,0    1        2     0.001000500   700  Q  WS 5008 + 8 [kworker/u8:1]
  8,0    1        3     0.001000600   700  M  WS 5008 + 8 [kworker/u8:1]
  8,0    1        4     0.001001000   700  D  WS 5000 + 16 [kworker/u8:1]
  8,0    0        5     0.002000000     0  C   R 1000 + 8 [0]
  8,0    0        6     0.002000000     0  C  WS 5000 + 16 [0]
  8,0    0        7     0.003000000   697  Q   R 1008 + 8 [fio]
  8,0    0        8     0.003000000   697  D   R 1008 + 8 [fio]
  8,0    0        9     0.005000000     0  C   R 1008 + 8 [0]
CPU0 (sda):
 Reads Queued:           2,        8KiB\t Writes Queued:           1,        8KiB
"""
PERF = """\
# comment
             fio   697 [000]   100.000000000: block:block_bio_queue: 8,0 R 1000 + 8 [fio]
             fio   697 [000]   100.000003000: block:block_rq_issue: 8,0 R 4096 () 1000 + 8 [fio]
     kworker/u8:1   700 [001]   100.001000000: block:block_bio_queue: 8,0 WS 5000 + 16 [kworker/u8:1]
     kworker/u8:1   700 [001]   100.001001000: block:block_rq_issue: 8,0 WS 8192 () 5000 + 16 none,0,0 [kworker/u8:1]
         swapper     0 [000]   100.002000000: block:block_rq_complete: 8,0 R () 1000 + 8 [0]
         swapper     0 [000]   100.002000000: block:block_rq_complete: 8,0 WS () 5000 + 16 none,0,0 [0]
             fio   697 [000]   100.003000000: block:block_bio_queue: 8,0 R 1008 + 8 [fio]
         swapper     0 [000]   100.005000000: block:block_rq_complete: 8,0 R () 1008 + 8 [0]
"""
TRACE_CMD = """\
cpus=2
             fio-697   [000]   100.000000: block_bio_queue:      8,0 R 1000 + 8 [fio]
             fio-697   [000] .....   100.000003: block_rq_issue:       8,0 R 4096 () 1000 + 8 [fio]
    kworker/u8:1-700   [001] d..1.   100.001000: block_bio_queue:      8,0 WS 5000 + 16 [kworker/u8:1]
CPU:1 [LOST 7 EVENTS]
          <idle>-0     [000]   100.002000: block_rq_complete:    8,0 R () 1000 + 8 [0]
          <idle>-0     [000]   100.002000: block_rq_complete:    8,0 WS () 5000 + 16 [0]
             fio-697   [000]   100.003000: block_bio_queue:      8,0 R 1008 + 8 [fio]
          <idle>-0     [000]   100.005000: block_rq_complete:    8,0 R () 1008 + 8 [0]
"""

_Q, _D, _C = 1, 7, 8
_READ, _WRITE, _NOTIFY = 1 << 16, (1 << 17) | (1 << 19), 1 << 26


def record(time, sector, size, action, pid=697, pdu=b"", order="<", magic=0x65617407):
    """A blktrace record."""
    return struct.pack(order + "IIQQIIIIIHH", magic, 1, time, sector, size, action, pid, 8 << 20, 0, 0, len(pdu)) + pdu


def blktrace(order="<"):
    return b"".join(
        record(*fields, order=order)
        for fields in (
            (0, 0, 0, _NOTIFY, 697, b"fio\0"),
            (10**9, 1000, 4096, _Q | _READ),
            (10**9 + 3000, 1000, 4096, _D | _READ),
            (10**9 + 10**6, 5000, 8192, _Q | _WRITE, 700),
            (10**9 + 2 * 10**6, 1000, 4096, _C | _READ, 0),
            (10**9 + 2 * 10**6, 5000, 8192, _C | _WRITE, 0),
            (10**9 + 3 * 10**6, 1008, 4096, _Q | _READ),
            (10**9 + 5 * 10**6, 1008, 4096, _C | _READ, 0),
        )
    )


TEXTS = {
    "fio iolog": IOLOG2,
    "fio latency log": FIO_LOG,
    "blkparse": BLKPARSE,
    "perf or trace-cmd": PERF,
}
UNTIMED = """fio version 2 iolog
/dev/sda add
/dev/sda open
/dev/sda read 0 4096
/dev/sda write 16384 4096
/dev/sda close
"""
