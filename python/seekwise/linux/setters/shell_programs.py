"""Programs that start scripts use: what they print, as far as it is names of devices, and what they write."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

from seekwise.linux.setters.assignment import number
from seekwise.linux.setters.reading import Reading
from seekwise.linux.setters.shell_values import ANYTHING, VALUES, few, product
from seekwise.linux.setters.shell_words import Lexeme
from seekwise.linux.setters.writable import attribute_of

FILTERS = frozenset({"sort", "uniq", "grep", "egrep", "head", "tail", "cat", "tac"})
GREP = re.compile(r"(\^?)\(?(\^?[\w-]{1,60}(?:\[[\w-]{1,40}\])?(?:\|\^?[\w-]{1,60}(?:\[[\w-]{1,40}\])?){0,20})\)?(\$?)")
"""Words that an expression of grep searches for, at the beginning or anywhere; each may end in a bracket."""
BELOW_BLOCK = re.compile(r"block/(.+)|(?=queue/\w+$)(.+)")
WRITE_CACHE = {True: "write back", False: "write through"}
NVME_CACHE = r"set-feature.{0,80}?(?:-f|--feature-id)[ =]?(?:0x0?)?6\b.{0,80}?(?:-v|--value)[ =]?(?:0x)?"
"""NVMe base specification: feature 6 is the volatile write cache."""
CACHE_OPTIONS = {
    "sdparm": (re.compile(r"--?s(?:et)?[ =]WCE=0|--?c(?:lear)?[ =]WCE"), re.compile(r"--?s(?:et)?[ =]WCE")),
    "smartctl": (re.compile(r"wcache(?:-sct)?,off"), re.compile(r"wcache(?:-sct)?,on")),
    "nvme": (re.compile(NVME_CACHE + r"0\b"), re.compile(NVME_CACHE + r"1\b")),
}
"""Off and on, of programs that switch a drive's cache."""
SETTER_OF_READ_AHEAD = frozenset({"--setra", "--setfra"})


@dataclass(frozen=True)
class Write:
    file: str
    line: int
    device: str
    attribute: str
    value: str
    certain: bool


@dataclass
class ShellState:
    """Variables, and how certain it is that the text is reached."""

    variables: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, list[Lexeme]] = field(default_factory=dict)
    folder: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that scripts inherit which are started."""
    doubts: int = 0
    """Conditions around the present command."""
    skips: int = 0
    """Places in the present loop that may have gone on to its next round."""
    has_doubtful_branch: bool = False
    """One of them is a branch of a `case` over something that is not known."""
    is_unreachable: bool = False
    """The branch is one that no value leads to."""


class Programs(ABC):
    """What programs do; the shell around them starts them and writes."""

    _reading: Reading

    @abstractmethod
    def _command(
        self, words: list[list[str]], state: ShellState, stdin: list[str], line: int, printed: list[str] | None = None
    ) -> Iterator[Write]: ...

    @abstractmethod
    def _write(self, path: str, value: str, state: ShellState, line: int) -> Iterator[Write]: ...

    def _printed(self, name: str, arguments: list[list[str]]) -> list[str]:
        while arguments and re.fullmatch(r"-[neE]{1,3}", option := arguments[0][0]):
            arguments = arguments[1:]
            if name == "echo" and "e" in option:
                arguments = [[text.replace("\\n", "\n") for text in words] for words in arguments]
        if name == "printf" and arguments:
            form = arguments[0][0].replace("\\n", "").strip()
            if re.search(r"\\[x0]|%[xo]|" + ANYTHING, form):
                return [ANYTHING]  # characters by their numbers
            arguments = arguments[1:] if "%" in form and len(arguments) > 1 else [[form], *arguments[1:]]
        self._reading.spend(4)
        return few([" ".join(words).strip() for words in product(arguments)])

    def _names(
        self, name: str, arguments: list[list[str]], state: ShellState, stdin: list[str], line: int, printed: list[str]
    ) -> Iterator[Write]:
        """Programs that print names: what they would print, as far as it is names of devices."""
        values = [value for argument in arguments for value in argument if not value.startswith("-")]
        match name:
            case "ls":
                for value in values:
                    printed += self._listed(value)
            case "basename":
                printed += [value.rstrip("/").rpartition("/")[2] for value in values[:VALUES]]
            case "dirname":
                printed += [value.rstrip("/").rpartition("/")[0] for value in values[:VALUES]]
            case "readlink" | "realpath":
                printed += [self._linked(value) for value in values[:VALUES]]
            case "find":
                yield from self._find(arguments, state, line, printed)
            case "lsblk" if len(values) == 1 and values[0].upper() in ("NAME", "KNAME", "PATH"):
                before = "/dev/" if values[0].upper() == "PATH" else ""
                printed += [before + name for name in self._listed("/sys/block")]
            case "grep" | "egrep" if len(values) == 1 and stdin:
                printed += self._matching_lines(arguments, stdin)
            case _ if name in FILTERS:
                printed += stdin or [ANYTHING]
            case _:
                printed.append(ANYTHING)
        printed[:] = few(printed)

    def _linked(self, path: str) -> str:
        """Where a path leads; of a link below /dev that is not there, a name that only a run knows."""
        if not path.startswith("/dev/disk/"):
            return path
        name = self._reading.name_of(path)
        return f"/dev/{name}" if name else f"/dev/{ANYTHING}"

    def _matching_lines(self, arguments: list[list[str]], lines: list[str]) -> list[str]:
        """`grep WORD`, `grep -E '^(sd|nvme)'`; other expressions, and other options, may take any line."""
        options = "".join(argument[0] for argument in arguments if argument[0].startswith("-"))
        (text, *_) = [argument[0] for argument in arguments if not argument[0].startswith("-")]
        match = GREP.fullmatch(text.replace("\\|", "|"))
        if match is None or set(options) - set("-EPewq"):
            return lines
        pattern = "|".join(
            f"{'' if match[1] or word.startswith('^') else '*'}{word.lstrip('^')}{'' if match[3] else '*'}"
            for word in match[2].split("|")
        )
        return [line for line in lines if ANYTHING in line or self._reading.matches(pattern, line)]

    def _listed(self, path: str) -> list[str]:
        path = path.rstrip("/")
        if path in ("/sys/block", "/sys/class/block", "/dev"):
            return [
                name
                for name, device in self._reading.stack.devices.items()
                if path != "/sys/block" or device.kind != "partition"
            ][:VALUES]
        return [path]

    def _find(self, arguments: list[list[str]], state: ShellState, line: int, printed: list[str]) -> Iterator[Write]:
        tops, wanted, at = [], "*", 0
        while at < len(arguments) and not arguments[at][0].startswith(("-", "!", "(")):
            tops += arguments[at]
            at += 1
        found: list[str] = []
        form = ""
        while at < len(arguments):
            option = arguments[at][0]
            if option in ("-name", "-iname") and at + 1 < len(arguments):
                wanted = arguments[at + 1][0]
            elif option in ("-path", "-wholename") and at + 1 < len(arguments):
                below = BELOW_BLOCK.search(arguments[at + 1][0])
                found = list(self._reading.places(f"/sys/block/{below[1] or f'*/{below[2]}'}")) if below else []
            elif option == "-printf" and at + 1 < len(arguments):
                form = arguments[at + 1][0]
            elif option in ("-exec", "-execdir", "-ok"):
                end = at + 1
                while end < len(arguments) and arguments[end][0] not in (";", "+"):
                    end += 1
                found = found or self._below(tops, wanted)
                inner = [
                    few([value.replace("{}", place) for value in argument for place in (found if "{}" in value else [""])])
                    for argument in arguments[at + 1 : end]
                ]  # fmt: skip
                yield from self._command(inner, state, [], line)
                at = end
            at += 1
        found = found or self._below(tops, wanted)
        printed += [path.rpartition("/")[2] for path in found] if form.startswith("%f") else found

    def _below(self, tops: list[str], wanted: str) -> list[str]:
        if attribute_of(f"queue/{wanted}") and any(top.startswith("/sys/devices") for top in tops):
            return list(self._reading.places(f"/sys/block/*/queue/{wanted}"))
        names = [name for top in tops[:8] for name in self._listed(top) if not name.startswith("/")]
        matching = [f"/sys/block/{name}" for name in dict.fromkeys(names) if self._reading.matches(wanted, name)]
        # Names of files below the devices' folders: `find /sys/block/*/queue -name scheduler`.
        return matching or [top if wanted == "*" else f"{top.rstrip('/')}/{wanted}" for top in tops[:VALUES]]

    def _xargs(self, arguments: list[list[str]], state: ShellState, stdin: list[str], line: int) -> Iterator[Write]:
        mark = ""
        while arguments and arguments[0][0].startswith("-"):
            option = arguments[0][0]
            arguments = arguments[1:]
            if option in ("-I", "-i", "--replace") and arguments and option == "-I":
                mark, arguments = arguments[0][0], arguments[1:]
            elif option.startswith("-I"):
                mark = option[2:]
            elif option in ("-n", "-P", "-L", "-d", "-a") and arguments:
                arguments = arguments[1:]
        values = [word for value in stdin or [ANYTHING] for word in value.split() or [value]]
        if mark:
            inner = [
                few([text.replace(mark, value) for text in argument for value in (values if mark in text else [""])])
                for argument in arguments
            ]
        else:
            inner = [*arguments, few(values)]
        yield from self._command(inner, state, [], line)

    def _blockdev(self, arguments: list[list[str]], state: ShellState, line: int) -> Iterator[Write]:
        values = [argument[0] for argument in arguments]
        option = next((value for value in values if value in SETTER_OF_READ_AHEAD), None)
        if option is None:
            return
        at = values.index(option) + 1
        sectors = number(values[at]) if at < len(values) else None
        text = ANYTHING if sectors is None else str(sectors // 2)  # blockdev(8) counts in 512-byte sectors
        for argument in arguments[at + 1 :]:
            for node in argument:
                yield from self._write(self._folder_of(node, "queue/read_ahead_kb"), text, state, line)

    def _hdparm(self, arguments: list[list[str]], state: ShellState, line: int) -> Iterator[Write]:
        """`-a N` sets read-ahead in sectors, `-W 0` and `-W 1` the write cache, `-Q N` the queue depth (hdparm(8));
        options may stand together, as in `-qW0A1`."""
        values = [argument[0] for argument in arguments]
        for at, option in enumerate(values):
            following = values[at + 1] if at + 1 < len(values) else ""
            for match in re.finditer(r"([a-zA-Z])(\d*)", option if re.fullmatch(r"-\w{1,40}", option) else ""):
                given = number(match[2] or (following if match.end() == len(option) else ""))
                if given is None or match[1] not in "aWQ":
                    continue
                attribute, text = {
                    "a": ("queue/read_ahead_kb", str(given // 2)),
                    "W": ("queue/write_cache", WRITE_CACHE[given != 0]),
                    "Q": ("device/queue_depth", str(given)),
                }[match[1]]
                yield from self._for_nodes(arguments, attribute, text, state, line)

    def _write_cache(self, name: str, arguments: list[list[str]], state: ShellState, line: int) -> Iterator[Write]:
        """`sdparm --set=WCE=0`, `smartctl -s wcache,off`, `nvme set-feature … -f 6 -v 0`."""
        text = " ".join(argument[0] for argument in arguments)[:1000]
        for is_on, form in enumerate(CACHE_OPTIONS[name]):
            if form.search(text):
                yield from self._for_nodes(arguments, "queue/write_cache", WRITE_CACHE[bool(is_on)], state, line)
                return

    def _lvchange(self, arguments: list[list[str]], state: ShellState, line: int) -> Iterator[Write]:
        """`lvchange -r SECTORS VG/LV` keeps the read-ahead in the volume's metadata."""
        match = re.search(
            r"(?:-r|--readahead)[ =]?(\d{1,9})s?(?: |$)", " ".join(words[0] for words in arguments)[:1000]
        )
        nodes = [[f"/dev/{value.removeprefix('/dev/')}" for value in words if "/" in value] for words in arguments]
        if match is not None:
            yield from self._for_nodes(nodes, "queue/read_ahead_kb", str(int(match[1]) // 2), state, line)

    def _for_nodes(
        self, arguments: list[list[str]], attribute: str, text: str, state: ShellState, line: int
    ) -> Iterator[Write]:
        for node in [value for argument in arguments for value in argument if value.startswith(("/dev/", ANYTHING))]:
            yield from self._write(self._folder_of(node, attribute), text, state, line)

    def _folder_of(self, node: str, attribute: str) -> str:
        name = node.removeprefix("/dev/")
        if not name.startswith(ANYTHING):
            name = self._reading.name_of(node) or name.replace("/", "!")
            # Read-ahead and the cache are the whole disk's, whichever partition is named (Linux block/ioctl.c, BLKRASET).
            partition = self._reading.nodes.get(name)
            name = partition.disk if partition and partition.disk else name
        return f"/sys/block/{name}/{attribute}"
