"""Shell text that writes to sysfs: what a script would write where, found without running it.

Every variable holds all values that it may have: a loop is gone through once with all of its words, a branch with what
it may choose. What only a run can know (the output of a program, a condition) makes a write uncertain, and a name that
is not known stands for every device.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from seekwise.linux.setters.assignment import Ineffective
from seekwise.linux.setters.reading import Exhausted, NotEvaluated, Reading
from seekwise.linux.setters.shell_programs import CACHE_OPTIONS, FILTERS, Programs, ShellState, Write
from seekwise.linux.setters.shell_values import ANYTHING, LONGEST, VALUES, braces, few, joined, product
from seekwise.linux.setters.shell_words import REDIRECTIONS, Lexeme, Lexer, WordPart
from seekwise.linux.setters.writable import attribute_of

DEPTH = 6
LONGEST_SCRIPT = 1 << 17
MOST_IDLE = 1000
Kept = tuple[str, list[str]]
"""The variable that a `case` looks at, and the values that it has outside."""
KEYWORDS = frozenset(
    "if elif else then do { } ! while until fi done esac for select case function".split()  # noqa: SIM905
)
OPENING = frozenset({"if", "while", "until", "for", "select", "case", "{"})
CLOSING = frozenset({"fi", "done", "esac", "}"})
SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "rc"})
PREFIXES = frozenset(
    {
        "sudo",
        "doas",
        "busybox",
        "toybox",
        "env",
        "nohup",
        "exec",
        "command",
        "builtin",
        "time",
        "nice",
        "ionice",
        "timeout",
        "setsid",
        "chroot",
        "systemd-run",
        "systemd-inhibit",
        "stdbuf",
        "chrt",
        "-",
    }
)
INTERESTING = (
    "/sys/block",
    "/sys/class/block",
    "/sys/devices",
    "/sys/bus/scsi",
    "scsi_d",
    "queue/",
    "/md/",
    "--setra",
    "hdparm",
    "WCE",
    "wcache",
    "set-feature",
    "lvchange",
)
"""A text with none of these words writes no device's setting itself."""
PRODUCT = re.compile(r"(\d{1,9})\s*\*\s*(\d{1,9})")
"""`$((2 * 1024))`, as sectors are counted."""
CASE_OF = re.compile(r"\w{1,64}(?:##\*/)?")
BASENAME = re.compile(r"""\s*basename\s+"?\$\{?(\w{1,64})\}?"?\s*""")
FILES_OF_A_FOLDER = 50
OWN_PROGRAMS = ("/usr/local/sbin", "/usr/local/bin")
"""Where an administrator's scripts lie that are started by their names."""
INTERPRETERS = re.compile(r"(?:python|perl|ruby|lua|php|awk|gawk|tclsh)[\d.]*")
EXECUTED = re.compile(r"/(?!dev/|sys/|proc/|run/)[\w.-]{2,40}/[^\s;|&<>\"'$(){}]{1,200}")
NAMES_A_QUEUE = re.compile(r"/sys/(?:class/)?block|queue/scheduler|read_ahead_kb")


class Shell(Programs):
    """One script or command line."""

    def __init__(self, reading: Reading, file: str, *, depth: int = 0) -> None:
        self._reading = reading
        self._file = file
        self._depth = depth

    def script(self, text: str, state: ShellState | None = None, line: int = 1) -> Iterator[Write]:
        """Everything that a script writes. What exceeds the bounds is left out and noted."""
        if self._depth > DEPTH:
            raise NotEvaluated(f"scripts within each other beyond {DEPTH} levels")
        if len(text) > LONGEST_SCRIPT:
            raise NotEvaluated(f"a script of more than {LONGEST_SCRIPT >> 10} KiB")
        self._reading.spend(20 + len(text))
        lexemes, state = Lexer(text, line).all(), state or ShellState()
        end = _exit(lexemes)
        yield from self._run(lexemes[:end], state)
        for write in self._run(lexemes[end:], state) if end < len(lexemes) else ():
            note = Ineffective(
                "script", write.file, write.line, write.device, write.attribute, write.value,
                f"the script ends in line {lexemes[end].line} (`{lexemes[end].keyword}`)", "move the line above that one",
            )  # fmt: skip
            if note not in self._reading.ineffective and len(self._reading.ineffective) < MOST_IDLE:
                self._reading.ineffective.append(note)

    def command(self, text: str, variables: dict[str, str] | None = None) -> Iterator[Write]:
        """What a program writes that is started without a shell, as udev does: with the device's properties in its
        environment."""
        self._reading.spend(20 + len(text) // 2)
        words = [lexeme for lexeme in Lexer(text).all() if not lexeme.operator]
        # Operators are words here: without a shell nobody heeds them.
        if words and any(lexeme.operator in (">", ">>") for lexeme in Lexer(text).all()):
            return
        state = ShellState(
            variables={name: [value] for name, value in (variables or {}).items()}, environment=dict(variables or {})
        )
        yield from self._command([self._words([word], state) for word in words], state, [], 1)

    # Running

    def _run(self, lexemes: list[Lexeme], state: ShellState) -> Iterator[Write]:
        at = once = 0
        """`once`: doubt of the next command alone, after `&&` or `||`."""
        blocks: list[tuple[str, Kept]] = []
        output: list[str] = []
        while at < len(lexemes):
            self._reading.spend(4)
            here = lexemes[at]
            if here.operator and here.operator not in REDIRECTIONS:
                once = 1 if here.operator in ("&&", "||") else once if here.operator in ("(", ")") else 0
                output = output if here.operator in ("|", "|&") else []
                at += 1
                if here.operator in (";;", ";&", ";;&") and blocks and blocks[-1][0] == "case":
                    at = self._branch(lexemes, at, blocks[-1][1], state)
            elif (array := _array(lexemes, at)) is not None:
                name, end = array
                state.variables[name] = few(self._words(lexemes[at + 2 : end], state))
                at = end + 1
            elif here.keyword in KEYWORDS:
                at = self._keyword(lexemes, at, state, blocks, output)
            elif here.keyword in ("continue", "break", "return"):
                if not (once and _tests_existence(lexemes, at)):
                    _leave(blocks, state, conditional=bool(once))
                at += 1
            elif here.keyword and [lexeme.operator for lexeme in lexemes[at + 1 : at + 3]] == ["(", ")"]:
                at = self._function(lexemes, at, state)
            else:
                end = _end_of_command(lexemes, at)
                state.doubts += once
                result: list[str] = []
                try:
                    if not state.is_unreachable:
                        yield from self._simple(lexemes[at:end], state, output, result)
                except Exhausted:
                    raise
                except NotEvaluated as reason:
                    self._reading.leave_out(self._file, here.line, str(reason))
                state.doubts -= once
                output = result if end < len(lexemes) and lexemes[end].operator in ("|", "|&") else []
                at = max(end, at + 1)

    def _keyword(
        self, lexemes: list[Lexeme], at: int, state: ShellState, blocks: list[tuple[str, Kept]], output: list[str]
    ) -> int:
        """Opens or closes a block; where the next command begins."""
        word = lexemes[at].keyword
        at += 1
        if word in ("if", "while", "until"):
            state.doubts += 1
            blocks.append((word, ("", [])))
            if word == "while" and at < len(lexemes) and lexemes[at].keyword == "read":
                at = self._read(lexemes, at + 1, output, state)
            elif word == "while" and _counts_arguments(lexemes, at):
                # `shift` brings each argument into `$1`.
                state.variables["1"] = list(state.variables.get("@", [ANYTHING]))
        elif word in ("for", "select"):
            blocks.append((word, ("", [])))
            at = self._for(lexemes, at, state)
        elif word == "case":
            name, at = self._case(lexemes, at)
            blocks.append((word, (name, list(state.variables.get(name.removesuffix("##*/"), [ANYTHING])))))
            at = self._branch(lexemes, at, blocks[-1][1], state)
        elif word in ("fi", "done", "esac") and blocks:
            kind, kept = blocks.pop()
            if word == "done":
                state.skips = 0
            if kind in ("if", "while", "until"):
                state.doubts -= 1
            elif kind == "case":
                self._restore(kept, state)
        elif word == "function" and at < len(lexemes):
            at = self._function(lexemes, at, state)
        return at

    def _for(self, lexemes: list[Lexeme], at: int, state: ShellState) -> int:
        name = lexemes[at].keyword if at < len(lexemes) else ""
        at += 1
        while at < len(lexemes) and lexemes[at].operator == ";":
            at += 1
        values = state.variables.get("@", [ANYTHING])
        if at < len(lexemes) and lexemes[at].keyword == "in":
            end = at + 1
            while end < len(lexemes) and not lexemes[end].operator:
                end += 1
            values = self._words(lexemes[at + 1 : end], state)
            at = end
        if name:
            state.variables[name] = few(values)
        return at

    def _read(self, lexemes: list[Lexeme], at: int, output: list[str], state: ShellState) -> int:
        """`while read NAME…`: the first name takes what the pipe brings."""
        first = True
        while at < len(lexemes) and not lexemes[at].operator:
            if (name := lexemes[at].keyword) and not name.startswith("-"):
                state.variables[name] = few(output) if first and output else [ANYTHING]
                first = False
            at += 1
        return at

    def _case(self, lexemes: list[Lexeme], at: int) -> tuple[str, int]:
        """The variable that a `case` looks at, and where its branches begin."""
        name = ""
        if at < len(lexemes):
            parts = [part for part in lexemes[at].parts if part.value]
            if len(parts) == 1 and parts[0].kind == "variable" and CASE_OF.fullmatch(parts[0].value):
                name = parts[0].value
            elif len(parts) == 1 and parts[0].kind == "command" and (match := BASENAME.fullmatch(parts[0].value)):
                name = f"{match[1]}##*/"
        while at < len(lexemes) and lexemes[at].keyword != "in":
            at += 1
        return name, at + 1

    def _branch(self, lexemes: list[Lexeme], at: int, kept: Kept, state: ShellState) -> int:
        """Reads `PATTERN|PATTERN)` and keeps of the variable what matches."""
        self._restore(kept, state)
        while at < len(lexemes) and lexemes[at].operator in (";", "("):
            at += 1
        if at < len(lexemes) and lexemes[at].keyword == "esac":
            return at
        patterns = []
        while at < len(lexemes) and lexemes[at].operator != ")":
            if not lexemes[at].operator and (text := lexemes[at].literal) is not None:
                patterns.append(text)
            elif lexemes[at].operator == ";":
                return at
            at += 1
        name, values = kept
        if name and patterns:
            joined = "|".join(patterns)

            def looked_at(value: str) -> str:
                return value.rpartition("/")[2] if name.endswith("##*/") else value

            left = [value for value in values if ANYTHING in value or self._reading.matches(joined, looked_at(value))]
            state.variables[name.removesuffix("##*/")] = left
            state.is_unreachable = not left
        else:
            state.doubts += 1
            state.has_doubtful_branch = True
        return at + 1

    @staticmethod
    def _restore(kept: Kept, state: ShellState) -> None:
        name, values = kept
        state.is_unreachable = False
        if name:
            state.variables[name.removesuffix("##*/")] = list(values)
        elif state.has_doubtful_branch:
            state.has_doubtful_branch = False
            state.doubts -= 1

    def _function(self, lexemes: list[Lexeme], at: int, state: ShellState) -> int:
        name = lexemes[at].keyword
        at += 1
        while at < len(lexemes) and (lexemes[at].operator in ("(", ")", ";")):
            at += 1
        depth, start = 0, at
        while at < len(lexemes):
            depth += (lexemes[at].keyword == "{") - (lexemes[at].keyword == "}")
            if depth <= 0:
                break
            at += 1
        state.functions[name] = lexemes[start + 1 : at]
        return at + 1

    def _simple(self, lexemes: list[Lexeme], state: ShellState, stdin: list[str], output: list[str]) -> Iterator[Write]:
        """One command with its redirections."""
        words: list[list[str]] = []
        targets: list[Lexeme] = []
        at = 0
        while at < len(lexemes):
            here = lexemes[at]
            if here.operator == "2>":
                at += 3
                continue
            if here.operator in REDIRECTIONS:
                following = lexemes[at + 1 : at + 2]
                if here.operator in (">", ">>", ">|", "&>"):
                    targets += following
                elif here.operator == "<<<" and following:
                    stdin = self._words(following, state, split=False)
                at += 2
                continue
            if not words and (assigned := _assignment(here)) is not None:
                name, parts = assigned
                values = self._words([Lexeme(here.line, "", parts)], state, split=False) if parts else [""]
                # Below a condition the old value may stay.
                before = state.variables.get(name, []) if state.doubts else []
                state.variables[name] = few([*before, *values])
            elif not words and here.keyword in ("local", "export", "readonly", "declare", "typeset"):
                pass
            else:
                words.append(self._words([here], state))
            at += 1
        line = lexemes[0].line if lexemes else 1
        if not words:
            return
        printed: list[str] = []
        yield from self._command(words, state, stdin, line, printed)
        output += printed
        for target in targets:
            for path in self._words([target], state):
                for value in few(printed):
                    yield from self._write(path, value, state, line)

    def _command(
        self, words: list[list[str]], state: ShellState, stdin: list[str], line: int, printed: list[str] | None = None
    ) -> Iterator[Write]:
        printed = [] if printed is None else printed
        words = [word for word in words if word]
        while words and (_base(words[0]) in PREFIXES or (_base(words[0]) == "" and len(words) > 1)):
            words = words[1:]
            # Options, their numbers and durations (`nice -n 19`, `timeout 5m`), variables and properties.
            while words and (words[0][0].startswith("-") or re.fullmatch(r"[\d.]+[smhd]?|\w+=.*", words[0][0])):
                words = words[1:]
        if not words:
            return
        name, arguments = _base(words[0]), words[1:]
        if body := state.functions.get(words[0][0]):
            yield from self._call(body, arguments, state)
        elif name in ("echo", "printf"):
            printed += self._printed(name, arguments)
        elif name in ("ls", "basename", "dirname", "find", "seq", "readlink", "realpath", "lsblk", *FILTERS):
            yield from self._names(name, arguments, state, stdin, line, printed)
        elif name == "redirfd" and len(arguments) > 3:
            # execline: `redirfd -w 1 FILE PROGRAM …` starts the program with its output to the file.
            result: list[str] = []
            yield from self._command(arguments[3:], state, stdin, line, result)
            for path in arguments[2]:
                for value in few(result):
                    yield from self._write(path, value, state, line)
        elif name == "tee":
            for argument in arguments:
                for path in argument:
                    if not path.startswith("-"):
                        for value in few(stdin):
                            yield from self._write(path, value, state, line)
        elif name == "dd":
            for argument in arguments:
                for path in argument:
                    if path.startswith("of="):
                        for value in few(stdin):
                            yield from self._write(path[3:], value, state, line)
        elif name == "blockdev":
            yield from self._blockdev(arguments, state, line)
        elif name == "hdparm":
            yield from self._hdparm(arguments, state, line)
        elif name in CACHE_OPTIONS:
            yield from self._write_cache(name, arguments, state, line)
        elif name == "lvchange":
            yield from self._lvchange(arguments, state, line)
        elif name in ("cd", "pushd") and arguments:
            state.folder = arguments[0][0]
        elif name in SHELLS:
            yield from self._shell(arguments, state, line, stdin)
        elif name in ("at", "batch"):
            yield from self._shell([], state, line, stdin)
        elif name in ("su", "runuser"):
            yield from self._shell([texts for texts in arguments if not _is_user(texts, arguments)], state, line)
        elif name == "set" and arguments and arguments[0] == ["--"]:
            _position(state, arguments[1:])
        elif name == "eval":
            for text in few([" ".join(words) for words in product(arguments)]):
                yield from Shell(self._reading, self._file, depth=self._depth + 1).script(text, state, line)
        elif name == "xargs":
            yield from self._xargs(arguments, state, stdin, line)
        elif name in (".", "source") and arguments:
            for path in arguments[0]:
                yield from self._file_run(path, [], state, same=True)
        elif name == "run-parts":
            for folder in (texts[0] for texts in arguments):
                for part in self._reading.names(folder) if folder.startswith("/") else ():
                    yield from self._file_run(f"{folder}/{part}", [], state)
        elif words[0][0].startswith("./") and state.folder:
            yield from self._file_run(f"{state.folder}/{words[0][0][2:]}", arguments, state)
        elif words[0][0].startswith("/"):
            for path in words[0]:
                yield from self._file_run(path, arguments, state)
        elif folder := next((folder for folder in OWN_PROGRAMS if name in self._reading.names(folder)), ""):
            yield from self._file_run(f"{folder}/{name}", arguments, state)
        elif any(texts[0] == "tee" for texts in arguments):
            # Some other program that gives rights: `run-as-root tee FILE`.
            at = next(index for index, texts in enumerate(arguments) if texts[0] == "tee")
            yield from self._command(arguments[at:], state, stdin, line, printed)
        elif INTERPRETERS.fullmatch(name) and any(
            NAMES_A_QUEUE.search(text) for texts in [*arguments, stdin] for text in texts
        ):
            self._reading.leave_out(self._file, line, f"text for {name} that names queue files")

    def _call(self, body: list[Lexeme], arguments: list[list[str]], state: ShellState) -> Iterator[Write]:
        if self._depth > DEPTH:
            raise NotEvaluated(f"functions within each other beyond {DEPTH} levels")
        inner = ShellState(dict(state.variables), state.functions, state.folder, state.environment, state.doubts)
        _position(inner, arguments)
        self._depth += 1
        try:
            yield from self._run(body, inner)
        finally:
            self._depth -= 1

    def _shell(
        self, arguments: list[list[str]], state: ShellState, line: int, stdin: Iterable[str] = ()
    ) -> Iterator[Write]:
        for index, argument in enumerate(arguments):
            option = argument[0]
            if option.startswith("-") and option.endswith("c") and not option.startswith("--"):
                inner = ShellState(
                    dict(state.variables), dict(state.functions), state.folder, state.environment, state.doubts
                )
                inner.variables["0"] = arguments[index + 2] if index + 2 < len(arguments) else [ANYTHING]
                _position(inner, arguments[index + 3 :])
                for text in arguments[index + 1] if index + 1 < len(arguments) else ():
                    yield from Shell(self._reading, self._file, depth=self._depth + 1).script(text, inner, line)
                return
            if not option.startswith("-"):
                for path in argument:
                    yield from self._file_run(path, arguments[index + 1 :], state, named=True)
                return
        for text in stdin:
            inner = ShellState(
                dict(state.variables), dict(state.functions), state.folder, state.environment, state.doubts
            )
            yield from Shell(self._reading, self._file, depth=self._depth + 1).script(text, inner, line)

    def _file_run(
        self, path: str, arguments: list[list[str]], state: ShellState, *, same: bool = False, named: bool = False
    ) -> Iterator[Write]:
        """The writes of a script that is started (`named`: as an argument of a shell) or read in by this one
        (`same`)."""
        if not path.startswith("/") or ANYTHING in path or path.startswith(("/dev/", "/sys/", "/proc/")):
            return
        if self._depth > DEPTH:
            raise NotEvaluated(f"scripts within each other beyond {DEPTH} levels")
        if path == self._file:
            return
        text = self._reading.text(path)
        if not text.startswith("#!") and not same and not named:
            return
        first = text.partition("\n")[0]
        if text.startswith("#!") and not re.search(r"\b(?:ba|da|a|z|k)?sh\b", first):
            if NAMES_A_QUEUE.search(text):
                self._reading.leave_out(path, None, f"a program ({first[2:60].strip()}) that names queue files")
            return
        if same:
            inner = state
        else:
            inner = ShellState(variables={name: [value] for name, value in state.environment.items()}, doubts=1)
            inner.environment = state.environment
            _position(inner, arguments)
        yield from Shell(self._reading, path, depth=self._depth + 1).script(text, inner)

    # Writing

    def _write(self, path: str, value: str, state: ShellState, line: int) -> Iterator[Write]:
        self._reading.spend(12)
        if not value or len(path) > LONGEST or len(value) > LONGEST:
            return
        if not path.startswith(("/", ANYTHING)) and state.folder:
            path = f"{state.folder}/{path}"
        certain = ANYTHING not in path + value and not state.doubts and not state.skips
        shown = value.replace(ANYTHING, "?").strip()
        if certain and path in self._reading.glance(self._file):
            # A path as it stands in the script, for a disk that is not there.
            self._reading.note_absent(path, self._file, line, shown)
        for place in self._places(path):
            found = self._reading.located(place)
            if found and (attribute := attribute_of(found[1])):
                known = self._reading.stack.devices[found[0]]
                if known.kind != "partition":
                    yield Write(self._file, line, found[0], attribute, shown, certain)

    def _places(self, path: str) -> Iterator[str]:
        """The paths that one with unknown parts or globs may mean."""
        if path.startswith(ANYTHING):
            # A name that is not known, then `/queue/scheduler`: any device's.
            rest = path.lstrip(ANYTHING)
            path = f"/sys/block/{ANYTHING}{rest}" if rest.startswith("/") else path
        yield from self._reading.places(path.replace(ANYTHING, "*"))

    # Words

    def _words(self, lexemes: Iterable[Lexeme], state: ShellState, *, split: bool = True) -> list[str]:
        """The fields that words may become."""
        found: list[str] = []
        for lexeme in lexemes:
            pieces = [self._part(part, state) for part in lexeme.parts]
            values = joined(pieces)
            self._reading.spend(6 + len(values) + sum(map(len, values)) // 64)
            loose = any(part.kind != "text" and not part.is_quoted for part in lexeme.parts)
            is_glob = any(
                part.kind == "text" and not part.is_quoted and re.search(r"[*?\[]", part.value) for part in lexeme.parts
            )
            for value in values:
                for piece in value.split() if split and loose else [value]:
                    found += (
                        self._places(piece)
                        if (is_glob or (loose and re.search(r"[*?\[]", piece))) and "/" in piece
                        else [piece]
                    )
            if len(found) > VALUES:
                raise NotEvaluated(f"words that stand for more than {VALUES} values")
        return list(dict.fromkeys(found))

    def _part(self, part: WordPart, state: ShellState) -> list[str]:
        match part.kind:
            case "text":
                return [part.value] if part.is_quoted else braces(part.value)
            case "variable":
                return self._variable(part.value, state)
            case "command":
                return self._printed_by(part.value, state)
            case "arithmetic" if product := PRODUCT.fullmatch(part.value.strip()):
                return [str(int(product[1]) * int(product[2]))]
        return [ANYTHING]

    def _variable(self, text: str, state: ShellState) -> list[str]:
        match = re.fullmatch(r"(\w{1,64}|[@*])(?:\[[@*]\])?(.{0,80})", text, re.DOTALL)
        if match is None:
            return [ANYTHING]
        values, rest = state.variables.get(match[1], [ANYTHING]), match[2]
        if not rest:
            return values
        if rest.startswith((":-", "-", ":=", "=")):
            default = rest.lstrip(":").lstrip("-=").strip("\"'")
            known = [value for value in values if value not in (ANYTHING, "")]
            return known or ([default] if "$" not in default else [ANYTHING])
        if rest in ("##*/",):
            return [value.rpartition("/")[2] for value in values]
        if rest == "%/*":
            return [value.rpartition("/")[0] for value in values]
        if (fixed := re.fullmatch(r"(##?|%%?)([\w./-]+)", rest)) is not None:
            cut = str.removeprefix if fixed[1].startswith("#") else str.removesuffix
            return [cut(value, fixed[2]) for value in values]
        return [ANYTHING]

    def _printed_by(self, text: str, state: ShellState) -> list[str]:
        """The output of a command substitution."""
        if self._depth >= DEPTH or len(text) > LONGEST:
            return [ANYTHING]
        self._reading.spend(20 + len(text) // 2)
        inner = Shell(self._reading, self._file, depth=self._depth + 1)
        output: list[str] = []
        lexemes = Lexer(text).all()
        at = 0
        inside = ShellState(dict(state.variables), state.functions, state.folder, state.environment, 1)
        while at < len(lexemes):
            end = _end_of_command(lexemes, at)
            result: list[str] = []
            for _ in inner._simple(lexemes[at:end], inside, output, result):
                pass
            output = result
            if end < len(lexemes) and lexemes[end].operator not in ("|", "|&", ";"):
                return [ANYTHING]
            at = end + 1
        return [value.replace("\n", " ") for value in output] or [ANYTHING]


def _tests_existence(lexemes: list[Lexeme], at: int) -> bool:
    """Whether `[ -e FILE ] ||` stands before: what is not there is not written to, either."""
    start = at - 1
    while start and not lexemes[start - 1].operator:
        start -= 1
    start += lexemes[start].keyword in KEYWORDS
    options = ("-e", "-d", "-f", "-w", "-r", "-b", "-x")
    return lexemes[at - 1].operator == "||" and len(lexemes) > start + 1 and lexemes[start + 1].keyword in options


def _leave(blocks: list[tuple[str, Kept]], state: ShellState, *, conditional: bool) -> None:
    """`continue` and the like: in a branch, what leads there goes no further; elsewhere what follows in the loop may
    not be reached."""
    name, values = blocks[-1][1] if blocks else ("", [])
    if name and not conditional:
        left = state.variables.get(name.removesuffix("##*/"), [])
        values[:] = [value for value in values if value not in left]
    elif any(kind in ("for", "while", "until", "select") for kind, _ in blocks):
        state.skips += 1


def _end_of_command(lexemes: list[Lexeme], at: int) -> int:
    """Where the operator stands that ends a command; redirections belong to it."""
    while at < len(lexemes) and (
        not lexemes[at].operator or lexemes[at].operator in REDIRECTIONS or lexemes[at].operator == "2>"
    ):
        at += 1
    return at


def _exit(lexemes: list[Lexeme]) -> int:
    """Where a script ends for certain: at an `exit` that stands in no block and behind no condition."""
    depth = 0
    for at, lexeme in enumerate(lexemes):
        before = lexemes[at - 1] if at else None
        starts = before is None or bool(before.operator) or before.keyword in KEYWORDS
        depth += (lexeme.operator == "(") - (lexeme.operator == ")")
        if starts:
            depth += (lexeme.keyword in OPENING) - (lexeme.keyword in CLOSING)
        if lexeme.keyword == "exit" and depth <= 0 and (before is None or before.operator in (";", "\n")):
            return at
    return len(lexemes)


def _array(lexemes: list[Lexeme], at: int) -> tuple[str, int] | None:
    """Name of `NAME=(WORD …)`, and where its closing parenthesis stands."""
    match = re.fullmatch(r"([A-Za-z_]\w{0,63})\+?=", lexemes[at].keyword)
    if match is None or [lexeme.operator for lexeme in lexemes[at + 1 : at + 2]] != ["("]:
        return None
    end = next((place for place in range(at + 2, len(lexemes)) if lexemes[place].operator == ")"), None)
    return None if end is None else (match[1], end)


def _assignment(lexeme: Lexeme) -> tuple[str, tuple[WordPart, ...]] | None:
    """Name and value of `NAME=VALUE`."""
    first = lexeme.parts[0] if lexeme.parts else None
    if first is None or first.kind != "text" or first.is_quoted:
        return None
    match = re.match(r"([A-Za-z_]\w{0,63})\+?=", first.value)
    if match is None:
        return None
    rest = WordPart("text", first.value[match.end() :], is_quoted=True)
    return match[1], (rest, *lexeme.parts[1:])


def _counts_arguments(lexemes: list[Lexeme], at: int) -> bool:
    """Whether the condition that begins here asks for `$#`."""
    parts = [part for lexeme in lexemes[at : _end_of_command(lexemes, at)] for part in lexeme.parts]
    return any(part.kind == "variable" and part.value == "#" for part in parts)


def _is_user(argument: list[str], arguments: list[list[str]]) -> bool:
    """Of su(1): a word that is neither an option nor the text behind `-c`."""
    before = arguments[at - 1][0] if (at := arguments.index(argument)) else ""
    return argument[0] == "-" or (not argument[0].startswith("-") and before not in ("-c", "--command"))


def _base(values: list[str]) -> str:
    return values[0].rpartition("/")[2] if values else ""


def _position(state: ShellState, arguments: list[list[str]]) -> None:
    """`$1` to `$9`, `$@`."""
    for index in range(1, 10):
        state.variables[str(index)] = arguments[index - 1] if index <= len(arguments) else [ANYTHING]
    state.variables["@"] = state.variables["*"] = few([value for argument in arguments for value in argument]) or [
        ANYTHING
    ]


def is_worth_reading(text: str, reading: Reading, file: str) -> bool:
    """Whether a script may write a setting: its own words say so, or those of a file that it names."""
    if any(word in text for word in INTERESTING):
        return True
    reading.spend(len(text) // 200)
    named = dict.fromkeys(match[0] for match in EXECUTED.finditer(text))
    named |= dict.fromkeys(
        f"{folder}/{name}"
        for folder in OWN_PROGRAMS
        for name in reading.names(folder)[:FILES_OF_A_FOLDER]
        if name in text
    )
    files = [path for name in list(named)[:50] for path in _with_files_of(name, reading) if path != file]
    return any(any(word in reading.glance(path) for word in INTERESTING) for path in files)


def _with_files_of(path: str, reading: Reading) -> list[str]:
    """A script that is named, or those of a folder (`run-parts /etc/io.d`, `/etc/io.d/*.sh`)."""
    folder = path.rpartition("/")[0] if "*" in path else path.rstrip("/")
    return [path, *(f"{folder}/{name}" for name in reading.names(folder)[:FILES_OF_A_FOLDER])]
