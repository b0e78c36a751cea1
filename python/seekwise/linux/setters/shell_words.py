"""The text of a shell script as words and operators, in one pass.

Only what matters to find writes is distinguished: quoting, variables, command substitutions, redirections, here-documents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

OPERATORS = (
    ";;&",
    ";;",
    ";&",
    "&&",
    "||",
    "|&",
    "<<<",
    "<<-",
    "<<",
    ">>",
    ">|",
    "&>>",
    "&>",
    ">&",
    "<&",
    "<>",
    "|",
    ";",
    "&",
    "(",
    ")",
    ">",
    "<",
)
REDIRECTIONS = frozenset({">", ">>", ">|", "&>", "&>>", "<<<", "<", "<>", ">&", "<&"})
NAME = re.compile(r"[A-Za-z_]\w{0,63}|[0-9@*#?$!-]")
BREAKS = frozenset(" \t\r\n;&|<>()")


@dataclass(frozen=True)
class WordPart:
    """A piece of a word. `kind`: text, variable (`value` is what stands between `${` and `}`), command, arithmetic."""

    kind: str
    value: str
    is_quoted: bool


@dataclass(frozen=True)
class Lexeme:
    """A word, or an operator (`parts` is empty then; a line's end is the operator `;`)."""

    line: int
    operator: str = ""
    parts: tuple[WordPart, ...] = ()

    @property
    def literal(self) -> str | None:
        """The text of a word without substitutions; None for others."""
        return (
            "".join(part.value for part in self.parts)
            if self.parts and all(part.kind == "text" for part in self.parts)
            else None
        )

    @property
    def keyword(self) -> str:
        """The text of a word of one unquoted piece; empty for others."""
        return (
            self.parts[0].value
            if len(self.parts) == 1 and self.parts[0].kind == "text" and not self.parts[0].is_quoted
            else ""
        )


class Lexer:
    """Cuts a text into lexemes."""

    def __init__(self, text: str, line: int = 1) -> None:
        self._text = text
        self._at = 0
        self._line = line
        self._documents: list[tuple[str, bool, int]] = []
        """Of the line so far: delimiter, whether it was quoted, and where the text belongs among the lexemes."""

    def all(self) -> list[Lexeme]:
        """Every lexeme of the text."""
        lexemes: list[Lexeme] = []
        text = self._text
        while self._at < len(text):
            character = text[self._at]
            if character == "\n":
                lexemes.append(Lexeme(self._line, ";"))
                self._at += 1
                self._line += 1
                self._take_documents(lexemes)
            elif character in " \t\r":
                self._at += 1
            elif text.startswith("\\\n", self._at):
                self._at += 2
                self._line += 1
            elif character == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif operator := next((sign for sign in OPERATORS if text.startswith(sign, self._at)), None):
                self._at += len(operator)
                if operator in ("<<", "<<-"):
                    lexemes += [Lexeme(self._line, "<<<"), self._document(len(lexemes) + 1)]
                else:
                    lexemes.append(Lexeme(self._line, operator))
            else:
                line = self._line
                parts = tuple(self._word())
                # `2>` and `1>`: the number belongs to the redirection.
                if not (
                    len(parts) == 1
                    and parts[0].value.isdecimal()
                    and not parts[0].is_quoted
                    and text[self._at : self._at + 1] in ("<", ">")
                ):
                    lexemes.append(Lexeme(line, "", parts or (WordPart("text", "", True),)))
                elif parts[0].value != "1":
                    lexemes.append(Lexeme(line, "2>"))
        return lexemes

    def _document(self, at: int) -> Lexeme:
        """Reads the delimiter of a here-document; its text, which follows the line, will replace the lexeme."""
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        parts = self._word()
        quoted = any(part.is_quoted for part in parts)
        self._documents.append(("".join(part.value for part in parts), quoted, at))
        return Lexeme(self._line, "", (WordPart("text", "", True),))

    def _take_documents(self, lexemes: list[Lexeme]) -> None:
        """Reads the texts of here-documents, which stand as `<<<` before a word."""
        for delimiter, quoted, place in self._documents:
            start, first = self._at, self._line
            stop = len(self._text)
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                end = len(self._text) if end < 0 else end
                line = self._text[self._at : end].strip()
                if line == delimiter:
                    stop = self._at
                self._at = end + 1
                self._line += 1
                if line == delimiter:
                    break
            body = self._text[start:stop].rstrip("\n")
            parts = (
                [WordPart("text", body, True)]
                if quoted
                else Lexer(body.replace('"', '\\"') + '"', first)._quoted()
            )  # fmt: skip
            lexemes[place] = Lexeme(first, "", tuple(parts))
        self._documents = []

    def _word(self) -> list[WordPart]:
        parts: list[WordPart] = []
        plain: list[str] = []

        def flush() -> None:
            if plain:
                parts.append(WordPart("text", "".join(plain), is_quoted=False))
                plain.clear()

        text = self._text
        while self._at < len(text) and (character := text[self._at]) not in BREAKS:
            if character == "\\":
                flush()
                following = text[self._at + 1 : self._at + 2]
                self._line += following == "\n"
                if following != "\n":
                    parts.append(WordPart("text", following, is_quoted=True))
                self._at += 2
            elif character == "'":
                flush()
                end = text.find("'", self._at + 1)
                end = len(text) if end < 0 else end
                parts.append(WordPart("text", text[self._at + 1 : end], is_quoted=True))
                self._line += text.count("\n", self._at, end)
                self._at = end + 1
            elif character == '"':
                flush()
                self._at += 1
                parts += self._quoted()
            elif character in "$`":
                flush()
                parts.append(self._dollar(quoted=False))
            else:
                plain.append(character)
                self._at += 1
        flush()
        return parts

    def _quoted(self) -> list[WordPart]:
        parts: list[WordPart] = []
        plain: list[str] = []
        text = self._text
        while self._at < len(text) and (character := text[self._at]) != '"':
            if character == "\\" and text[self._at + 1 : self._at + 2] in ('"', "\\", "$", "`", "\n"):
                plain.append(text[self._at + 1])
                self._line += text[self._at + 1] == "\n"
                self._at += 2
            elif character in "$`":
                parts.append(WordPart("text", "".join(plain), is_quoted=True))
                plain.clear()
                parts.append(self._dollar(quoted=True))
            else:
                plain.append(character)
                self._line += character == "\n"
                self._at += 1
        self._at += 1
        return [*parts, WordPart("text", "".join(plain), is_quoted=True)]

    def _dollar(self, *, quoted: bool) -> WordPart:
        text, at = self._text, self._at
        if text[at] == "`":
            end = text.find("`", at + 1)
            end = len(text) if end < 0 else end
            self._at = end + 1
            return WordPart("command", text[at + 1 : end], quoted)
        if text.startswith("$((", at):
            end = self._closing(at + 1, "(", ")")
            self._at = end + 1
            return WordPart("arithmetic", text[at + 3 : end - 1], quoted)
        if text.startswith("$(", at):
            end = self._closing(at + 1, "(", ")")
            self._at = end + 1
            return WordPart("command", text[at + 2 : end], quoted)
        if text.startswith("${", at):
            end = self._closing(at + 1, "{", "}")
            self._at = end + 1
            return WordPart("variable", text[at + 2 : end], quoted)
        if match := NAME.match(text, at + 1):
            self._at = match.end()
            return WordPart("variable", match[0], quoted)
        self._at = at + 1
        return WordPart("text", "$", quoted)

    def _closing(self, at: int, opening: str, closing: str) -> int:
        """Where the bracket that opens at `at` ends; the text's end where it does not."""
        depth = 0
        text = self._text
        start = at
        while at < len(text):
            character = text[at]
            if character == opening:
                depth += 1
            elif character == closing:
                depth -= 1
                if depth == 0:
                    break
            elif character == "'" and opening == "(":
                end = text.find("'", at + 1)
                at = at if end < 0 else end
            at += 1
        self._line += text.count("\n", start, at)
        return at
