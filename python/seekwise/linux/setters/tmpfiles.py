"""Lines of tmpfiles.d(5) of type `w`, which write a value to a file at boot: a common way to set sysfs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading

# The earlier folder hides a file of the same name in a later one.
FOLDERS = ("/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/local/lib/tmpfiles.d", "/usr/lib/tmpfiles.d")
LONGEST_LINE = 4096


def read(reading: Reading) -> Iterator[Setter]:
    """Lines of type `w` of tmpfiles.d that write to sysfs; a file in /etc hides one of its name in /usr."""
    files: dict[str, str] = {}
    for folder in FOLDERS:
        for name in reading.names(folder):
            if name.endswith(".conf"):
                files.setdefault(name, f"{folder}/{name}")
    for name, file in sorted(files.items()):
        text = reading.text(file)
        if "/sys/" not in text:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            reading.spend(1 + min(len(line), LONGEST_LINE) // 4)
            if len(line) > LONGEST_LINE:
                reading.leave_out(file, number, f"a line of more than {LONGEST_LINE:,} characters")
                continue
            # Type Path Mode User Group Age Argument
            words = line.split(maxsplit=6) if "/sys/" in line and not line.lstrip().startswith("#") else []
            if not words or words[0].rstrip("+!-=~^$") != "w":
                continue
            with reading.evaluated(file, number):
                if 2 < len(words) < 7:
                    for device, attribute in reading.settings(words[1].strip("\"'")):
                        reason, instead = "the value belongs in the seventh column", f"w {words[1]} - - - - {words[-1]}"
                        reading.idle(file, number, device, attribute, words[-1], reason, instead)
                if len(words) < 7:
                    continue
                reading.note_absent(words[1].strip("\"'"), file, number, _unescaped(words[6]))
                for device, attribute in reading.settings(words[1].strip("\"'")):
                    rank = (assignment.SYSFS, 1, name, number)
                    yield Setter("tmpfiles", file, number, device, attribute, _unescaped(words[6]), rank)


def _unescaped(argument: str) -> str:
    """The rest of the line with its escapes resolved; quotes in it are written as they stand (tmpfiles.c,
    `cunescape`)."""
    return re.sub(r"\\([nt\\])", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), argument).strip()
