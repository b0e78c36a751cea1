"""Everything that is printed goes through here, so that no name, label or message of somebody else's can command the
terminal.

`install` puts `Guarded` in the place of standard output and standard error: control characters, escapes among them, and
characters that reorder a line are shown as `\\x1b`. Colours and cursor movements of our own come from `Console` alone,
which guards the text of each of its pieces and passes its own codes on. Markup is off there: `[red]` in a name is a
name.

A full disk or a closed output is one error, not a traceback. `outliving_its_reader`: a run goes on when its reader
has gone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TextIO

from seekwise import invocation
from seekwise.errors import SeekwiseError, reason

if TYPE_CHECKING:
    from rich.console import Console

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_CONSOLE: type[Console] | None = None


def safe(text: str) -> str:
    """The text with what a terminal would obey, or not show, made visible. Line feeds and tabs stay."""
    return _UNSAFE.sub(lambda found: _escaped(ord(found[0])), text)


def safe_line(text: str) -> str:
    """The same for what belongs on one line."""
    return safe(text).replace("\n", "\\n").replace("\t", "\\t")


def _escaped(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Guarded:
    """A text stream that shows control characters instead of passing them on."""

    def __init__(self, raw: TextIO, name: str) -> None:
        self.raw, self._name = raw, name
        self.display: Console | None = None
        """While something moves on this terminal: where lines are printed, so that they stand above it."""
        self._begun = ""
        self.outlives_reader = False
        self.reader_gone = False

    def write(self, text: str | bytes) -> int:
        """Returns the characters taken, before control characters were made visible."""
        if isinstance(text, bytes):  # click's completions, as it finds no `buffer`
            text = text.decode("utf-8", "backslashreplace")
        if self.display is not None:
            self._write_above(self.display, safe(text))
        else:
            self.write_as_it_is(safe(text))
        return len(text)

    def _write_above(self, display: Console, text: str) -> None:
        """Whole lines; one that has only begun waits for its end."""
        from rich.text import Text

        *whole, self._begun = (self._begun + text).split("\n")
        for line in whole:
            display.print(Text(line))

    def end_display(self) -> None:
        """From here on text is written where the cursor is."""
        self.display, begun, self._begun = None, self._begun, ""
        self.write_as_it_is(begun)

    def writelines(self, lines: Iterable[str]) -> None:
        """As `io.TextIOBase.writelines`: no line ends are added."""
        for line in lines:
            self.write(line)

    def write_as_it_is(self, text: str) -> None:
        """Passes escape sequences on: for text that is ours or has been made safe."""
        if not text:
            return  # click asks in this way what kind of stream this is, and swallows every answer
        with self._errors():
            self.raw.write(text)

    def flush(self) -> None:
        """Raises SeekwiseError (exit status 1) where standard output takes no more; a closed pipe ends the program,
        unless it outlives its reader."""
        with self._errors():
            self.raw.flush()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self.reader_gone = True
            if not self.outlives_reader:
                raise
            silence(self.raw)
        except OSError as error:
            silence(self.raw)
            if self._name == "standard output":  # else there is no place to say it
                raise SeekwiseError(f"cannot write to {self._name} ({reason(error)})") from error

    @property
    def rich_proxied_file(self) -> _Unescaped:
        """What rich writes to: its own codes pass, see `Console`."""
        return _Unescaped(self)

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "detach"):
            raise AttributeError(name)  # click would write around us
        return getattr(self.raw, name)


class _Unescaped:
    def __init__(self, guarded: Guarded) -> None:
        self._guarded = guarded

    def write(self, text: str) -> int:
        self._guarded.write_as_it_is(text)
        return len(text)

    def flush(self) -> None:
        self._guarded.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._guarded, name)


def asked_quiet() -> bool:
    """Whether `seekwise --quiet …` was called."""
    import click

    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("quiet"))


def progress(sentence: str) -> None:
    """A line on standard error that says how far the work is; none with `--quiet`."""
    import click

    if not asked_quiet():
        click.echo(sentence, err=True)


def to_person(sentence: str) -> None:
    """A sentence on standard error; wrapped between words on a terminal, one line where a program reads."""
    import click

    sentence = invocation.in_text(sentence)
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        indent = " " * (len(sentence) - len(sentence.lstrip(" ")) + 2)
        sentence = "\n".join(
            textwrap.wrap(sentence, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        )
    click.echo(sentence, err=True)


def silence(stream: TextIO) -> None:
    """Whatever is still in its buffer goes nowhere: Python would complain about it at its end."""
    with contextlib.suppress(OSError, ValueError):
        number = stream.fileno()
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, number)
        os.close(sink)


def install() -> None:
    """Guards both outputs; a descriptor that was closed is opened, so that no file of ours takes its number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # Read-only for output: writing to it is an error that is told. (open takes the lowest free number.)
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if isinstance(stream, Guarded):
            continue
        if stream is None:
            stream = open(number, "w", closefd=False)  # noqa: SIM115 (for as long as the process lives)
        with contextlib.suppress(AttributeError, OSError):
            stream.reconfigure(errors="backslashreplace")  # an encoding that lacks a character is no error
        setattr(sys, name, Guarded(stream, "standard output" if name == "stdout" else "standard error"))


def finish() -> None:
    """Everything is out; after an error at that, nothing more is tried."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, SeekwiseError):
            silence(stream)


@contextlib.contextmanager
def outliving_its_reader() -> Iterator[None]:
    """While inside, a reader of our output that goes away (`| head -1`) ends nothing: the work is what counts."""
    stream = sys.stdout
    if not isinstance(stream, Guarded):
        yield
        return
    stream.outlives_reader = True
    try:
        yield
    finally:
        stream.outlives_reader = False


@contextlib.contextmanager
def above(display: Console) -> Iterator[None]:
    """While inside, lines printed to either output that is a terminal stand above what moves on it."""
    outputs: tuple[object, ...] = (sys.stdout, sys.stderr)
    streams = [stream for stream in outputs if isinstance(stream, Guarded) and stream.isatty()]
    for stream in streams:
        stream.display = display
    try:
        yield
    finally:
        for stream in streams:
            stream.end_display()


def console(*, stderr: bool = False, **options: Any) -> Console:
    """A console of rich's whose pieces of text are guarded; markup is off."""
    return _console_class()(stderr=stderr, markup=False, emoji=False, **options)


def _console_class() -> type[Console]:
    """Made when it is first needed: rich takes a tenth of a second to load."""
    global _CONSOLE
    if _CONSOLE is None:
        from rich.console import Console
        from rich.segment import Segment

        class GuardedConsole(Console):
            def _render_buffer(self, buffer: Iterable[Segment]) -> str:
                # A piece with `control` is rich's own code; text of any other is somebody's.
                return super()._render_buffer(
                    piece if piece.control else Segment(safe(piece.text), piece.style) for piece in buffer
                )

        _CONSOLE = GuardedConsole
    return _CONSOLE
