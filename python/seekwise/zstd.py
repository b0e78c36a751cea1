"""Zstandard: the standard library's from Python 3.14 on, before it the same module from the package registry."""

from __future__ import annotations

import sys
from typing import BinaryIO

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError, ZstdFile, compress
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError, ZstdFile, compress

__all__ = ["ZstdError", "compress", "stream", "unpacked"]


def stream(raw: BinaryIO, window_most: int) -> ZstdFile:
    """The content of a compressed file, frame after frame, which may ask for a window of that many bytes, a power of 2."""
    return ZstdFile(raw, options={DecompressionParameter.window_log_max: window_most.bit_length() - 1})


def unpacked(data: bytes, bytes_most: int, window_most: int) -> bytes:
    """The first bytes of one frame."""
    options: dict[int, int] = {DecompressionParameter.window_log_max: window_most.bit_length() - 1}
    return ZstdDecompressor(options=options).decompress(data, bytes_most)
