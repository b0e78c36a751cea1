"""Attaches a socket that speaks NBD to a block device of the kernel, and detaches it again.

The kernel's nbd driver takes a connected socket and the export's size through ioctl and serves the device for as long as one thread
stays in NBD_DO_IT. That thread is in this process: when the process dies, however it dies, the kernel closes the device.

Not covered: ublk.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from seekwise.errors import MissingError, RefusedError, SeekwiseError

# Linux v6.1 include/uapi/linux/nbd.h: _IO(0xab, n).
NBD_SET_SOCK = 0xAB00
NBD_SET_BLKSIZE = 0xAB01
NBD_DO_IT = 0xAB03
NBD_CLEAR_SOCK = 0xAB04
NBD_SET_SIZE_BLOCKS = 0xAB07
NBD_DISCONNECT = 0xAB08
NBD_SET_FLAGS = 0xAB0A

# "The NBD protocol", doc/proto.md.
GO = 7
ACK = 1
INFO = 3


def free_devices() -> list[Path]:
    """Devices of the nbd driver that nobody serves: those have no `pid` in sysfs."""
    found = sorted(Path("/sys/block").glob("nbd*"), key=lambda path: int(path.name[3:]))
    return [Path("/dev") / path.name for path in found if not (path / "pid").exists()]


def require(count: int) -> None:
    """Raises in one sentence unless `count` drives can be attached."""
    if not Path("/sys/module/nbd").exists() and not any(Path("/sys/block").glob("nbd*")):
        raise MissingError(
            "the kernel's nbd module is not loaded", "modprobe nbd, or serve the sockets without --attach"
        )
    if os.geteuid() != 0:
        raise MissingError("attaching drives to /dev/nbdN needs root", "run it with sudo, or without --attach")
    free = len(free_devices())
    if free < count:
        raise RefusedError(
            f"{count} drives are to be attached and {free} nbd devices are free", "modprobe nbd nbds_max=64"
        )


def negotiate(path: str) -> tuple[socket.socket, int, int]:
    """Connects to a drive's socket: the socket, the size in bytes and the transmission flags."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(path)
    if _exactly(line, 18)[:16] != b"NBDMAGICIHAVEOPT":
        raise SeekwiseError(f"{path} does not speak NBD")
    line.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">IIIH", GO, 6, 0, 0))
    size = flags = 0
    while True:
        _, _, kind, length = struct.unpack(">QIII", _exactly(line, 20))
        data = _exactly(line, length)
        if kind == INFO and data[:2] == b"\0\0":
            size, flags = struct.unpack(">QH", data[2:12])
        elif kind == ACK:
            return line, size, flags
        elif kind != INFO:
            raise SeekwiseError(f"{path} refuses its drive")


def _exactly(line: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        part = line.recv(length - len(data))
        if not part:
            raise SeekwiseError("the drive's server closed the line")
        data += part
    return data


@dataclass
class Attachment:
    """A device that serves a drive."""

    device: str
    descriptor: int
    line: socket.socket
    thread: threading.Thread | None = field(default=None)

    def detach(self) -> None:
        """Ends the service; the device stays in /dev, empty."""
        fcntl.ioctl(self.descriptor, NBD_DISCONNECT)
        if self.thread:
            self.thread.join(timeout=10)
        fcntl.ioctl(self.descriptor, NBD_CLEAR_SOCK)
        os.close(self.descriptor)
        self.line.close()


def attach(path: str) -> Attachment:
    """Attaches a drive's socket to the first free device; another process may take it first, then the next."""
    line, size, flags = negotiate(path)
    for device in free_devices():
        descriptor = os.open(device, os.O_RDWR)
        try:
            fcntl.ioctl(descriptor, NBD_SET_SOCK, line.fileno())
        except OSError:
            os.close(descriptor)
            continue
        fcntl.ioctl(descriptor, NBD_SET_BLKSIZE, 512)
        fcntl.ioctl(descriptor, NBD_SET_SIZE_BLOCKS, size // 512)
        fcntl.ioctl(descriptor, NBD_SET_FLAGS, flags)
        attached = Attachment(str(device), descriptor, line)
        attached.thread = threading.Thread(target=_serve, args=(descriptor,), daemon=True)
        attached.thread.start()
        _wait_until_served(device)
        return attached
    line.close()
    raise RefusedError("no nbd device is free", "modprobe nbd nbds_max=64")


def _serve(descriptor: int) -> None:
    try:
        fcntl.ioctl(descriptor, NBD_DO_IT)
    except OSError:
        # The line broke: the drive was dropped, lost power, or its server ended. Readers of the device see the error.
        pass


def _wait_until_served(device: Path, seconds: float = 5) -> None:
    pid = Path("/sys/block") / device.name / "pid"
    end = time.monotonic() + seconds
    while not pid.exists():
        if time.monotonic() > end:
            raise SeekwiseError(f"{device} was not served by the kernel within {seconds:.0f} s")
        time.sleep(0.01)
