"""Shell text is searched, never run: which of its lines write a device's setting.

A plain write in a straight line is told with its value. What stands behind a variable, in a loop, in a function or under
a condition is told as a line to look at. The text is cut into words in one pass and nothing is expanded, so that no
text makes more work than its length.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.setters.assignment import UNKNOWN_VALUE, Ineffective, number
from seekwise.linux.setters.boot_line import SINGLE_QUEUE
from seekwise.linux.setters.reading import Reading

DEPTH = 4
"""`sh -c` within `sh -c`."""
LONGEST = 1 << 17
MOST_BLOCKS = 200
FIRST_WORDS = 8
"""Among which a command's program stands: `nice -n 19 tee FILE`; the columns of cron come before it."""
INTERESTING = re.compile(
    r"/sys/(?:class/)?block|/sys/d|/sys/bus/scsi|scsi_d|queue/|/md/|--setf?ra|hdparm|WCE|wcache|set-feature|lvchange|\braid[./]speed_limit"
)
"""A text with none of these words writes no device's setting itself."""
TOKEN = re.compile(
    r"""(?P<blank>(?:[\ \t\r]|\\\n)++) | (?P<comment>\#[^\n]*)
    | (?P<redirection>&>>?|\d{0,3}(?:>>|>\||>&|>|<<<|<<-?|<&?)) | (?P<operator>\n|;;|&&|\|\||\|&|[;&|()])
    | (?P<word>(?:[^\s'"\\;&|()<>`$] | \\. | '[^']*' | "(?:[^"\\]|\\.)*+" | \$\(\([^()]{0,200}\)\) | \$\([^()]{0,400}\)
                | `[^`]{0,400}` | \$\{[^}\n]{0,200}\} | [$`])++)""",
    re.VERBOSE | re.DOTALL,
)
PIECE = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*+)"|\\(.)|([^'"\\]++)""", re.DOTALL)
ANY = "\0"
"""What is not known, within a word."""
SUBSTITUTED = re.compile(
    r"\$\(\([^()]{0,200}\)\)|\$\([^()]{0,400}\)|`[^`]{0,400}`|\$\{[^}]{0,200}\}|\$(?:\w+|[@*#?!-])|\{[^{}\s]{0,200}\}|[$`]"
)
BLOCKS = {"for": "in a loop", "while": "in a loop", "until": "in a loop", "select": "in a loop", "{": "in a function",
          "if": "under a condition", "case": "under a condition", "&& {": "under a condition"}  # fmt: skip
ENDS = {"done": ("for", "while", "until", "select"), "fi": ("if",), "esac": ("case",), "}": ("{", "&& {")}
SELECTED = re.compile(r"\\\[([\w-]{1,30})\\\]")
"""`\\[cfq\\]`: the brackets stand around the scheduler that is selected."""
PREFIXES = frozenset({"then", "do", "else", "elif", "!", "time"})
CONDITION, VARIABLE, VALUE = "under a condition", "behind a variable", "its value stands elsewhere"
SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "su"})
INTERPRETERS = re.compile(r"(?:python|perl|ruby|lua|php|awk|gawk|tclsh)[\d.]*")
READERS = frozenset("cat grep egrep test [ [[ ls head read stat chmod chown printf echo cd".split())  # noqa: SIM905
"""Commands that name a file and do not write it."""
NAMING = re.compile(r"for|select|case|local|export|readonly|declare|typeset|\w+\+?=.*", re.DOTALL)
"""What puts a name into a variable; it counts where a variable is written to."""
SETTING = re.compile(r"(?:^|[/*])((?:queue|md)/\w+|device/queue_depth)$")
"""The end of a path to a setting, whatever stands before it."""
NVME_CACHE = r"set-feature.{0,80}?(?:-f|--feature-id)[ =]?(?:0x0?)?6\b.{0,80}?(?:-v|--value)[ =]?(?:0x)?"
"""NVMe base specification: feature 6 is the volatile write cache."""
CACHE = {
    "sdparm": (r"--?s(?:et)?[ =]WCE=0|--?c(?:lear)?[ =]WCE", r"--?s(?:et)?[ =]WCE"),
    "smartctl": (r"wcache(?:-sct)?,off", r"wcache(?:-sct)?,on"),
    "nvme": (rf"{NVME_CACHE}0\b", rf"{NVME_CACHE}1\b"),
}
"""Options that switch a drive's cache off and on."""
STATES = ("write through", "write back")
HDPARM = {"a": "queue/read_ahead_kb", "W": "queue/write_cache", "Q": "device/queue_depth"}
KNOWN = (
    SHELLS
    | CACHE.keys()
    | {"echo", "printf", "tee", "write", "blockdev", "hdparm", "lvchange", "sysctl", "exit", "cd", "pushd"}
)

OWN_PROGRAMS = ("/usr/local/sbin", "/usr/local/bin")
"""Where an administrator's scripts lie that are started by their names."""
FILES_OF_A_FOLDER = 50
EXECUTED = re.compile(r"(?<![\w/.*-])/(?!dev/|sys/|proc/|run/)[\w.-]{2,40}/[^\s;|&<>\"'$(){}*\]]{1,200}")
COMMENT = re.compile(r"^[^\S\n]*#[^!\n][^\n]*", re.MULTILINE)
SHELL_SCRIPT = re.compile(r"#!.{0,60}(?:\b(?:ba|da|a|z|k)?sh\b|openrc-run|runscript|execlineb)")
MOST_STARTED = 200


@dataclass(frozen=True)
class Write:
    """A line that writes a setting. `look`: why the line alone does not say what happens; empty for a plain write."""

    file: str
    line: int
    device: str
    attribute: str
    value: str
    look: str = ""


@dataclass
class Command:
    """A simple command: its words, the files that it writes to, and what a pipe gives it, as far as that is known."""

    line: int
    given: str | None = None
    words: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    look: str = ""
    is_asked: bool = False
    """It follows `if`: what it finds decides."""
    where: str = ""
    """The scheduler that must be selected where it runs; empty for any."""


class Search:
    """One script or command line. `devices`: those that a name which is not known may stand for; None for all."""

    def __init__(self, reading: Reading, file: str, devices: Collection[str] | None = None) -> None:
        self._reading, self._file = reading, file
        self._is_event = devices is not None
        self._devices = reading.stack.devices if devices is None else devices
        self._blocks: list[str] = []
        self._selected: dict[int, str] = {}
        self._look = self._folder = ""
        self._end: Command | None = None
        self._named: list[Write] = []
        self._writes_to_variable = False

    def run(self, text: str, line: int = 1, look: str = "", depth: int = 0) -> Iterator[Write]:
        """What the text writes; a line behind the script's end is noted as dead."""
        if depth > DEPTH or len(text) > LONGEST:
            self._reading.leave_out(self._file, line, f"a script of more than {LONGEST >> 10} KiB or {DEPTH} levels")
            return
        self._reading.spend(20 + len(text))
        outside, self._blocks, self._selected = (self._blocks, self._selected), [], {}
        for command in self._commands(text, line):
            command.look = look or command.look
            for write in self._of(command, depth):
                if self._end is None:
                    yield write
                else:
                    self._note_dead(write, self._end)
        self._blocks, self._selected = outside
        if not depth and self._writes_to_variable:
            yield from self._named

    def _commands(self, text: str, line: int) -> Iterator[Command]:
        current, at, is_joined, is_target = Command(line), 0, False, ""
        documents: list[str] = []
        while match := TOKEN.match(text, at):
            at, kind, token = match.end(), match.lastgroup, match[0]
            if kind == "redirection":
                is_target = token
            elif kind == "word" and is_target:
                self._redirect(is_target, token, current, documents)
                is_target = ""
            elif kind == "word":
                current.line = current.line if current.words else line
                self._take(token, current, "&& {" if is_joined else "{")
            elif kind == "operator":
                if len(self._blocks) > MOST_BLOCKS:
                    self._reading.leave_out(self._file, line, f"conditions and loops more than {MOST_BLOCKS} deep")
                    return
                current.look = self._reason(is_joined)
                asked = _selected(current) if token in ("\n", ";", "&&") else ""
                if current.is_asked and asked and token != "&&":
                    self._selected[len(self._blocks)] = asked
                if current.words or current.targets:
                    current.where = current.where or next(iter(self._selected.values()), "")
                    yield current
                    is_joined = token in ("&&", "||") or (is_joined and token.startswith("|"))
                if token == "(":
                    self._blocks.append(token)
                elif token == ")" and self._blocks[-1:] == ["("]:
                    self._blocks.pop()
                given = _printed(current) if token.startswith("|") and token != "||" else None
                where = {"&&": asked, "|": current.where}.get(token, "")
                current = Command(line, given, where=where)
                while token == "\n" and documents and at < len(text):
                    end = re.compile(rf"^\t*{re.escape(documents.pop(0))}$", re.MULTILINE).search(text, at)
                    body, at = text[at : (end.start() if end else len(text))], end.end() if end else len(text)
                    if INTERESTING.search(body):
                        self._reading.leave_out(self._file, line, "a here-document that names a setting")
                    line += body.count("\n")
            line += token.count("\n")
        current.look = self._reason(is_joined)
        yield current
        if at < len(text):
            self._reading.leave_out(self._file, line, "a quotation mark without its end")

    def _reason(self, is_joined: bool) -> str:
        """Why a command may not run; empty where it does for certain."""
        reasons = [BLOCKS[block] for block in self._blocks if block != "("] + [CONDITION] * is_joined
        return self._look or (reasons[-1] if reasons else "")

    def _take(self, token: str, current: Command, group: str) -> None:
        """A word of a command, or one of the shell's own at its beginning; `group`: what a brace opens there."""
        if token == "{" and current.words[:1] == ["function"]:
            current.words.clear()
        if current.words or token not in BLOCKS.keys() | ENDS.keys() | PREFIXES:
            current.words.append(token)
        elif token in PREFIXES or token in ENDS:
            current.is_asked = False
            if token in ("else", "elif", "fi"):
                self._selected.pop(len(self._blocks), None)
            if token not in ENDS:
                return
            if self._blocks and self._blocks[-1] in ENDS[token]:
                self._blocks.pop()
        elif token in BLOCKS:
            self._blocks.append(group if token == "{" else token)
            current.is_asked = token == "if"
            current.words += [token] if token in ("for", "select", "case") else []

    def _redirect(self, sign: str, word: str, current: Command, documents: list[str]) -> None:
        if sign.endswith("<<<"):
            current.given = _plain(word)
        elif sign.endswith(("<<", "<<-")):
            documents.append(_plain(word))
        elif sign.lstrip("1&") in (">", ">>", ">|"):
            current.targets.append(_plain(word))

    def _of(self, command: Command, depth: int) -> Iterator[Write]:
        words = [_plain(word) for word in command.words]
        bases = [_base(word) for word in words[:FIRST_WORDS]]
        first = bases[0] if bases else ""
        at = next((at for at, base in enumerate(bases) if base in KNOWN and first not in ("for", "select", "case")), 0)
        name, arguments = bases[at] if bases else "", words[at + 1 :]
        targets, value = command.targets, command.given
        if first in ("find", "xargs"):
            command.look = command.look or BLOCKS["for"]
        if name in ("echo", "printf"):
            value = _printed(command)
        elif name == "tee":
            targets = [*targets, *(word for word in arguments if not word.startswith("-"))]
        elif name == "write" and len(arguments) == 2:  # Android's init language
            targets, value = arguments[:1], arguments[1]
        elif name == "exit" and not depth:
            self._end = self._end or (command if not command.look else None)
            self._look = self._look or (CONDITION if command.look == CONDITION else "")
        elif name in ("cd", "pushd") and arguments:
            self._folder = arguments[0] if not command.look else ""
        elif name in SHELLS:
            option = next((at for at, word in enumerate(arguments) if re.fullmatch(r"-\w*c,?", word)), len(arguments))
            for text in arguments[option + 1 : option + 2]:
                yield from self.run(text.rstrip("],"), command.line, command.look, depth + 1)
        elif name == "sysctl":
            for key, sign, text in (word.partition("=") for word in arguments):
                path = f"/proc/sys/{key.replace('.', '/')}"
                yield from self._written(path, text, command) if sign else ()
        elif name in KNOWN:
            yield from self._of_drives(name, arguments, command)
        elif INTERPRETERS.fullmatch(name) and any(INTERESTING.search(word) for word in arguments):
            self._reading.leave_out(self._file, command.line, f"text for {name} that names queue files")
        elif first not in READERS:
            for word in words:
                if setting := SETTING.search(word.replace(ANY, "*")):
                    path = word if word.startswith("/") else f"{ANY}/{setting[1]}"
                    named = self._written(path, None, command)
                    if NAMING.fullmatch(words[0]):
                        self._named += named
                    else:
                        yield from named
        for target in targets:
            yield from self._written(target, value, command)

    def _of_drives(self, name: str, arguments: list[str], command: Command) -> Iterator[Write]:
        """What programs set that take a drive's device file: read-ahead in sectors, queue depth, write cache."""
        text = " ".join(arguments)[:1000]
        found: list[tuple[str, str]] = []
        if name == "blockdev" and (match := re.search(r"--setf?ra[ =](\S+)", text)):
            found.append(("queue/read_ahead_kb", _halved(match[1])))
        elif name == "lvchange" and (match := re.search(r"(?:-r|--readahead)[ =]?(\d{1,9})s?(?: |$)", text)):
            found.append(("queue/read_ahead_kb", _halved(match[1])))
            arguments = [f"/dev/{word.removeprefix('/dev/')}" for word in arguments if "/" in word]
        elif name == "hdparm":
            found += _hdparm(arguments)
        elif name in CACHE:
            found += [
                ("queue/write_cache", STATES[on]) for on, form in enumerate(CACHE[name]) if re.search(form, text)
            ][:1]
        nodes = [word for word in arguments if word.startswith("/dev/")] or [
            word for word in arguments if word[:1] == ANY
        ]
        for attribute, value in found:
            for node in nodes:
                for place in [node] if ANY in node else self._reading.places(node):
                    yield from self._written(f"/sys/block/{self._disk(place)}/{attribute}", value, command)

    def _disk(self, node: str) -> str:
        """Read-ahead and the cache are the whole disk's, whichever partition is named (Linux block/ioctl.c, BLKRASET)."""
        name = self._reading.name_of(node) or node.removeprefix("/dev/").replace("/", "!")
        known = self._reading.nodes.get(name)
        return known.disk if known and known.disk else name

    def _written(self, path: str, value: str | None, command: Command) -> Iterator[Write]:
        self._reading.spend(12)
        look = command.look or ("" if value is not None else VALUE) or (VARIABLE if ANY in f"{path}{value}" else "")
        shown = UNKNOWN_VALUE if value is None or ANY in value else value.strip()
        if not path.startswith(("/", ANY)):
            path = f"{self._folder}/{path}"
        if ANY in path:
            places = self._meant(path)
        else:
            if not look and not self._is_event:
                self._reading.note_absent(path, self._file, command.line, shown)
            places = self._reading.settings(path)
        for device, attribute in places:
            known = self._reading.stack.devices.get(device)
            if known and command.where in SINGLE_QUEUE and command.where not in known.schedulers_offered:
                continue  # `if grep '\[cfq\]'`: never the case on this kernel
            yield Write(self._file, command.line, device, attribute, shown, look)

    def _meant(self, path: str) -> Iterator[tuple[str, str]]:
        """The settings that a path with unknown parts may mean: of each device that has such a file."""
        path = path.replace(ANY, "*")
        found = SETTING.search(path)
        self._writes_to_variable |= found is None
        if found is None:
            return
        name = re.match(r"/sys/(?:class/)?block/([^/]{1,64})/", path)
        for device in (self._reading.stack.devices[each] for each in self._devices):
            if _has(device, found[1]) and (name is None or self._reading.matches(name[1], device.name)):
                yield device.name, found[1]

    def _note_dead(self, write: Write, end: Command) -> None:
        note = Ineffective(
            "script", write.file, write.line, write.device, write.attribute, write.value,
            f"the script ends in line {end.line} (`exit`)", "move the line above that one",
        )  # fmt: skip
        self._reading.note(note)


def _plain(word: str) -> str:
    """A word without its quotation marks, with `ANY` for what only a run knows."""
    pieces = PIECE.findall(SUBSTITUTED.sub(ANY, word))
    return "".join(
        single + re.sub(r'\\([$`"\\\n])', r"\1", double) + escaped + bare for single, double, escaped, bare in pieces
    )


def _selected(command: Command) -> str:
    """The scheduler that `grep '\\[cfq\\]' …/queue/scheduler` looks for; empty for other commands."""
    words = [_plain(word) for word in command.words[:20]]
    is_asked = bool(words) and _base(words[0]) in ("grep", "egrep") and any("queue/scheduler" in word for word in words)
    if not is_asked or any(re.fullmatch(r"-\w*v\w*", word) for word in words):
        return ""
    return next((found[1] for word in words if (found := SELECTED.fullmatch(word))), "")


def _base(word: str) -> str:
    """A program's name in a word as shells, units (`-/bin/sh`), cloud-init (`[sh,`) and mdev (`@/bin/sh`) write it."""
    return word if word in ("[", "[[") else word.rpartition("/")[2].strip("[,@-:+!")


def _printed(command: Command) -> str | None:
    """What `echo` and `printf` print; None for other programs."""
    words = [_plain(word) for word in command.words[:200]]
    at = next((at for at, word in enumerate(words[:FIRST_WORDS]) if _base(word) in ("echo", "printf")), None)
    if at is None:
        return None
    arguments = words[at + 1 :]
    while arguments and re.fullmatch(r"-[neE]{1,3}", arguments[0]):
        arguments = arguments[1:]
    if _base(words[at]) == "printf" and arguments:
        form = arguments[0].replace("\\n", "")
        if form not in ("%s", "%d", "%b") and "%" in form or "\\" in form:
            return ANY
        arguments = arguments[1:] if "%" in form else [form]
    return " ".join(arguments).replace("\\n", "")[:1000]


def _halved(sectors: str) -> str:
    """KiB of 512-byte sectors, in which blockdev(8) and hdparm(8) count."""
    count = number(sectors)
    return ANY if count is None else str(count // 2)


def _hdparm(arguments: list[str]) -> Iterator[tuple[str, str]]:
    """`-a N` sets read-ahead, `-W 0` and `-W 1` the write cache, `-Q N` the queue depth; options may stand together, as
    in `-qW0A1` (hdparm(8))."""
    for option, following in zip(arguments[:100], [*arguments[1:], ""], strict=False):
        for match in re.finditer(r"([a-zA-Z])(\d*)", option if re.fullmatch(r"-\w{1,40}", option) else ""):
            given = match[2] or (following if match.end() == len(option) else "")
            if match[1] in HDPARM and (number(given) is not None or ANY in given):
                switch = STATES[number(given) != 0] if number(given) is not None else ANY
                yield HDPARM[match[1]], _halved(given) if match[1] == "a" else switch if match[1] == "W" else given


def _has(device: BlockDevice, attribute: str) -> bool:
    part, _, file = attribute.partition("/")
    of_kind = {"queue": file in device.queue, "md": device.kind == "md", "device": device.queue_depth is not None}
    return device.kind != "partition" and of_kind[part]


def writes(
    reading: Reading, file: str, text: str, seen: set[str], line: int = 1, devices: Collection[str] | None = None
) -> Iterator[Write]:
    """What a text writes, and what each script writes that it starts; a script once, told by its name alone."""
    todo = [(file, text, line)]
    seen.add(file)
    while todo:
        file, text, line = todo.pop(0)
        first = text[:200].partition("\n")[0]
        if first.startswith("#!") and not SHELL_SCRIPT.match(first):
            if "/sys/block" in text:
                reading.leave_out(file, None, f"a program ({first[2:60].strip()}) that names queue files")
            continue
        if INTERESTING.search(text):
            yield from Search(reading, file, devices).run(text, line)
        for path in started(reading, text):
            is_new = path not in seen
            seen.add(path)
            if is_new and (reading.glance(path).startswith("#!") or path.endswith(".sh")):
                todo.append((path, reading.text(path), 1))


def started(reading: Reading, text: str) -> list[str]:
    """Files that a text names, and those of folders that it names (`run-parts /etc/io.d`): some may be scripts."""
    text = COMMENT.sub("", text)
    reading.spend(len(text) // 100)
    found = [path.rstrip("/") for path in EXECUTED.findall(text)[:MOST_STARTED]]
    found += [f"{path}/{name}" for path in found for name in reading.names(path)[:FILES_OF_A_FOLDER]]
    for folder in OWN_PROGRAMS:
        names = [name for name in reading.names(folder)[:FILES_OF_A_FOLDER] if name in text]
        found += [f"{folder}/{name}" for name in names if re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w.-])", text)]
    return list(dict.fromkeys(found))
