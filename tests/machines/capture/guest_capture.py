"""Runs in the guest: seekwise's own capture, after changing root to the machine's root filesystem."""

import importlib
import os
import sys
from pathlib import Path

# What a capture imports on the way must be loaded before the root changes.
for name in ("encodings.idna", "grp", "gzip", "lzma", "pwd", "zlib"):
    importlib.import_module(name)
sys.path.insert(0, "/seekwise")
capture = importlib.import_module("seekwise.linux.capture").capture

out = os.open("/captured.tar.gz", os.O_WRONLY | os.O_CREAT)
os.chroot("/m")
os.chdir("/")
result = Path("/captured.tar.gz")
capture(result)
os.write(out, result.read_bytes())
result.unlink()
