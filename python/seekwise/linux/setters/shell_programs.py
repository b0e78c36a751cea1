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
BELOW_BLOCK = re.compile(r"block/(.+)|(?=queue/\w+$)(.+)")
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

    @staticmethod
    def _matching_lines(arguments: list[list[str]], lines: list[str]) -> list[str]:
        """`grep WORD`, `grep ^WORD`; other expressions may take any line."""
        (text, *_) = [argument[0] for argument in arguments if not argument[0].startswith("-")]
        word = text.removeprefix("^")
        if any(argument[0].startswith("-") for argument in arguments) or not re.fullmatch(r"[\w-]{1,60}", word):
            return lines
        return [line for line in lines if ANYTHING in line or (line.startswith(word) if text != word else word in line)]

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
        while at < len(arguments):
            option = arguments[at][0]
            if option in ("-name", "-iname") and at + 1 < len(arguments):
                wanted = arguments[at + 1][0]
            elif option in ("-path", "-wholename") and at + 1 < len(arguments):
                below = BELOW_BLOCK.search(arguments[at + 1][0])
                found = list(self._reading.places(f"/sys/block/{below[1] or f'*/{below[2]}'}")) if below else []
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
        printed += found or self._below(tops, wanted)

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
        """`-a N` sets read-ahead in sectors, `-W 0` and `-W 1` the write cache, `-Q N` the queue depth (hdparm(8))."""
        nodes = [node for argument in arguments for node in argument if node.startswith(("/dev/", ANYTHING))]
        values = [argument[0] for argument in arguments]
        for at, option in enumerate(values):
            match = re.fullmatch(r"-([aWQ])(\d{0,10})", option)
            if match is None:
                continue
            given = number(match[2] or (values[at + 1] if at + 1 < len(values) else ""))
            if given is None:
                continue
            attribute, text = {
                "a": ("queue/read_ahead_kb", str(given // 2)),
                "W": ("queue/write_cache", "write back" if given else "write through"),
                "Q": ("device/queue_depth", str(given)),
            }[match[1]]
            for node in nodes:
                yield from self._write(self._folder_of(node, attribute), text, state, line)

    def _folder_of(self, node: str, attribute: str) -> str:
        name = node.removeprefix("/dev/")
        if not name.startswith(ANYTHING):
            name = self._reading.name_of(node) or name.replace("/", "!")
        return f"/sys/block/{name}/{attribute}"
