"""The values that each setting accepts, from the description of a machine, which may be another machine.

The kernel rejects an invalid value when it is written to sysfs. A file for another machine, or for the next boot, gets
no such check: udev would only log the rejected value. So the file's values are checked here, before it is written.
"""

from __future__ import annotations

import re

from seekwise.control import attributes
from seekwise.errors import UsageError
from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.facts import kernel_version
from seekwise.settings.values import settings_of

CACHE_WORDS = ("write back", "write through")
BOUNDS: dict[str, tuple[int, int | None]] = {
    # Linux v6.12 block/blk-sysfs.c, drivers/md/raid5.c.
    "queue/nr_requests": (4, None),
    "queue/nomerges": (0, 2),
    "queue/rq_affinity": (0, 2),
    "queue/add_random": (0, 1),
    "queue/read_ahead_kb": (0, None),
    "queue/max_sectors_kb": (4, None),
    "queue/wbt_lat_usec": (-1, None),
    "device/queue_depth": (1, None),
    "md/stripe_cache_size": (17, 32768),
    "md/group_thread_cnt": (0, 8192),
}
PAGE_KIB = 4
UINT_MAX = 2**32 - 1
UNSIGNED = ("queue/nr_requests", "queue/read_ahead_kb")
"""More than `UINT_MAX` is EINVAL: Linux v6.12 block/blk-sysfs.c, queue_var_store."""


def check(device: BlockDevice, attribute: str, value: str, stack: Stack) -> None:
    """UsageError for a value that this device's kernel would refuse or change."""
    if attribute == "queue/scheduler":
        return  # what is offered decides
    if attribute in ("queue/write_cache", attributes.CACHE_TYPE):
        if value not in CACHE_WORDS:
            raise _wrong(device, attribute, value, " or ".join(f"'{word}'" for word in CACHE_WORDS))
        return
    low, high = BOUNDS.get(attribute, (None, None))
    if attribute == "device/queue_depth":
        high = _depth(device, stack)
    elif attribute == "queue/max_sectors_kb" and (most := device.queue.get("max_hw_sectors_kb", "")).isdigit():
        high = int(most)
    elif attribute in UNSIGNED and re.fullmatch(r"\d{10,}", value) and (len(value) > 18 or int(value) > UINT_MAX):
        raise _wrong(device, attribute, value, f"at most {UINT_MAX}")
    if not re.fullmatch(r"-?\d{1,18}", value):
        raise _wrong(device, attribute, value, _words(low, high))
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        raise _wrong(device, attribute, value, _words(low, high))
    if attribute == attributes.READ_AHEAD and number % PAGE_KIB:
        raise _wrong(device, attribute, value, f"a multiple of {PAGE_KIB} (whole memory pages)")


def _depth(device: BlockDevice, stack: Stack) -> int | None:
    """What a SATA drive takes: libata has 32 tags, 31 of them for commands until Linux 4.18. Others depend on their
    driver."""
    state = device.details.get("ncq")
    if not isinstance(state, dict):
        return None
    if state.get("state") == "unsupported":
        return 1
    own = device.details.get("ncq_depth")
    most = 31 if (0,) < kernel_version(stack.kernel) < (4, 19) else 32
    return min(own, most) if isinstance(own, int) and own > 1 else most


def _words(low: int | None, high: int | None) -> str:
    if low is None:
        return "a whole number"
    return f"{low} or more" if high is None else f"{low} to {high}" if low < high else str(low)


def _wrong(device: BlockDevice, attribute: str, value: str, takes: str) -> UsageError:
    now = settings_of(device).get(attribute)
    return UsageError(
        f'{device.name} {attribute} takes {takes}, not "{value}"', f"its present value is {now}" if now else None
    )
