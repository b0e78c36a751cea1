"""Entry point: finds the command, turns errors into one message and an exit status.

A command is one module in this folder with a `command` object (click). Adding a file is enough: its name is the
command's name, `_` becoming `-`. Other distributions bring theirs as entry points (`seekwise.extensions`).
"""

from __future__ import annotations

import ast
import errno
import importlib
import importlib.util
import keyword
import os
import re
import select
import sys
from collections.abc import Sequence
from typing import Any

import click

from seekwise import command_tree, extensions, invocation, suggestion, temporary
from seekwise.cli import _mistakes, _output
from seekwise.errors import Exit, MissingError, SeekwiseError, UsageError, reason

NOT_COMMANDS = {"main"}
SHOWN = (
    "tune",
    "run",
    "results",
    "report",
    "compare",
    "export",
    "import",
    "apply",
    "revert",
    "status",
    "devices",
    "doctor",
    "record",
    "whatif",
    "design",
    "explain",
)
"""What `--help` lists, in this order; `help --all` lists the rest as well. A test holds every name to a module."""
OF_PROOF = dict.fromkeys(
    ("bench", "lab", "verify"), "it comes with the distribution `seekwise-proof`: `pip install seekwise-proof`"
)
"""Hints for commands of a distribution that is not installed."""
ALL = "seekwise.help.all"
"""Key in a context's `meta`: whether the list is whole."""
HERE = os.path.dirname(__file__)
_NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""Since click 8.2; 8.1 prints the help of a group alone by itself."""
CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory")
OTHER_PLACES = "name other places: SEEKWISE_STATE (the journal), SEEKWISE_DB (records), TMPDIR"


class Commands(click.Group):
    """Loads `seekwise.cli.NAME` when NAME is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Own commands and those of other distributions whose module is there, sorted."""
        return sorted({*own_commands(), *extensions.present(extensions.COMMANDS)})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Imports the module of this command alone; None for an unknown name, and for a plug-in that cannot be
        imported."""
        try:
            return self.loaded(name)
        except MissingError:
            return None

    def loaded(self, name: str) -> click.Command | None:
        """As `get_command`, but MissingError for a plug-in that cannot be imported."""
        if name in own_commands():
            command: click.Command = importlib.import_module(module_of(name)).command
            return command
        entry = extensions.entries(extensions.COMMANDS).get(name)
        return extensions.load(entry) if entry is not None else None

    def meant(self, ctx: click.Context, name: str, otherwise: str) -> str:
        """The hint for a name that no command has: what was probably meant is suggested only if it can be loaded."""
        known = self.list_commands(ctx)
        while (near := suggestion.nearest(name, known)) and self.get_command(ctx, near) is None:
            known.remove(near)
        return suggestion.hint(name, known, otherwise)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of ARGS; UsageError for a name that none has, and for an argument that is empty."""
        if args and not args[0].startswith("-") and args[0] not in own_commands() and self.loaded(args[0]) is None:
            raise UsageError(
                f"no command is called `{args[0]}`",
                hint=OF_PROOF.get(args[0]) or self.meant(ctx, args[0], "`seekwise help --all` lists the commands"),
            )
        name, command, rest = super().resolve_command(ctx, args)
        _refuse_empty(name, rest)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in `--help`, from the text of the modules: loading every command would take seconds."""
        more = [name for name in self.list_commands(ctx) if name not in SHOWN]
        self._write_list(formatter, "Commands", SHOWN)
        if ctx.meta.get(ALL):
            own = own_commands()
            usable = [name for name in more if name in own or self.get_command(ctx, name) is not None]
            self._write_list(formatter, "Further commands", usable)
        else:
            formatter.write_paragraph()
            formatter.write_text(f"`seekwise help --all` lists {len(more)} more.")

    def _write_list(self, formatter: click.HelpFormatter, title: str, names: Sequence[str]) -> None:
        width = formatter.width - 6 - max(len(name) for name in names)
        rows = [(name, click.Command(name, help=docstring(name)).get_short_help_str(width)) for name in names]
        with formatter.section(title):
            formatter.write_dl(rows)


def own_commands() -> list[str]:
    """Names of the modules in this folder as they are typed: `_` becomes `-`."""
    names = (entry.removesuffix(".py") for entry in os.listdir(HERE) if entry.endswith(".py"))
    # `import_.py` is `import`: a word of Python cannot be a module's name.
    shown = (name.rstrip("_").replace("_", "-") for name in names if not name.startswith("_"))
    return [name for name in shown if name not in NOT_COMMANDS]


def module_of(name: str) -> str:
    """The module of a command."""
    if name in own_commands():
        return f"seekwise.cli.{name.replace('-', '_')}" + ("_" if keyword.iskeyword(name) else "")
    return extensions.entries(extensions.COMMANDS)[name].module


def _refuse_empty(name: str | None, words: list[str]) -> None:
    """An unset variable of a script (`seekwise record "$DISK"`) is an error: as a path it would be the working
    folder."""
    ours = words[: words.index("--")] if "--" in words else words
    for word in ours:
        if not word or re.fullmatch(r"--[a-z-]+=", word):
            raise UsageError(
                f"nothing is named in `{word}`" if word else "nothing is named: an argument is empty",
                hint=f"`seekwise {name} --help` shows what it takes",
            )


def docstring(name: str) -> str:
    """What the command NAME says of itself, read without importing its module."""
    spec = importlib.util.find_spec(module_of(name))
    if spec is None or spec.origin is None:
        return ""
    with open(spec.origin, encoding="utf-8") as file:
        found = ast.parse(file.read()).body
    commands = (each for each in found if isinstance(each, ast.FunctionDef) and each.name == "command")
    return next((ast.get_docstring(each) or "" for each in commands), "")


def something_left() -> bool:
    """Whether there may be something to restore: any entry in the journal."""
    from seekwise.control import state

    try:
        # Also drafts of entries, `.ID.entry.PID`, whose writers were killed.
        return any(state.SUFFIX in name for name in os.listdir(state.state_folder() / state.JOURNAL))
    except OSError:
        return False


def kernel_left() -> bool:
    """Whether the kernel still has something of ours: a tracing instance, a mount, or a control group for memory."""
    from seekwise.control import state

    if os.geteuid() != 0:
        return False
    if os.path.isdir(state.OWN_TRACEFS / "instances"):
        return True
    for folder in (*CGROUPS, *(str(root / "instances") for root in state.TRACEFS)):
        try:
            if any(name.startswith("seekwise-") for name in os.listdir(folder)):
                return True
        except OSError:
            continue
    return False


def _version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from seekwise.release import release

        click.echo(f"seekwise {release()}")
        ctx.exit()


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-q", "--quiet", is_flag=True, help="No progress on standard error; results, warnings and errors stay.")
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def cli(quiet: bool) -> None:
    """Find the I/O settings that storage should use, with evidence, and set them reversibly."""
    # What a killed run left is removed, what it changed is restored, before anything else happens; nothing there costs
    # a few directory reads.
    temporary.remove_left_behind()
    if kernel_left():
        from seekwise.control import tracefs
        from seekwise.measure.kernel import memory

        tracefs.remove_left_behind()
        memory.remove_left_behind()
    if click.get_current_context().invoked_subcommand != "revert" and something_left():
        from seekwise.control import recovery

        recovery.at_start(lambda sentence: click.echo(sentence, err=True))


command_tree.set_root(cli)


def main() -> None:
    """Runs a command and ends the process with its exit status."""
    _output.install()
    try:
        temporary.settle()
        status = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except SeekwiseError as error:
        hint = error.hint or (_mistakes.help_line(None, sys.argv[1:]) if error.exit_status == Exit.USAGE else None)
        status = _print_error(error.message, hint, error.exit_status)
    except click.exceptions.Abort:
        status = Exit.INTERRUPTED
    except KeyboardInterrupt:
        status = Exit.INTERRUPTED
    except _NO_ARGUMENTS as error:
        # A group alone: its help, as it is laid out.
        click.echo(error.format_message(), err=True)
        status = Exit.USAGE
    except click.ClickException as error:
        status = _print_error(*_mistakes.explained(error, sys.argv[1:]), Exit.USAGE)
    except BrokenPipeError:
        status = _reader_gone()
    except SystemExit as ended:
        # click and rich meet a closed pipe first and exit with 1 themselves: rich from within the handler, click after
        # it.
        broken = isinstance(ended.__context__, BrokenPipeError) or _pipe_is_broken()
        status = _reader_gone() if broken else ended.code
    except OSError as error:
        status = _system_error(error)
    except Exception as error:  # noqa: BLE001 (the last resort)
        status = _fault(error)
    sys.exit(int(status) if isinstance(status, int) else 0)


def _print_error(message: str, hint: str | None, status: int) -> int:
    """One error and one hint on standard error. What somebody is called in it cannot make it more lines."""
    try:
        _output.to_person(f"error: {_output.safe_line(message)}")
        if hint:
            click.echo(err=True)
            _output.to_person(f"hint: {hint}")
        _output.finish()
    except (OSError, SeekwiseError):
        pass
    return status


def _system_error(error: OSError) -> int:
    """What the system refused and no command expected."""
    named = f": {error.filename}" if error.filename else ""
    if error.filename is None and isinstance(error, FileNotFoundError):
        try:
            os.getcwd()
        except OSError:
            return _print_error("the working folder does not exist any more", "change to another folder", Exit.FAILED)
    text = f"{reason(error)}{named[:300]}"
    if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
        return _print_error(text, "name another file, folder or device", Exit.USAGE)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        is_typed = any(f"{error.filename}/".startswith(f"{word}/") for word in sys.argv[2:])
        other = f"{invocation.with_sudo()}, or name a file of yours" if is_typed else OTHER_PLACES
        return _print_error(text, other, Exit.MISSING)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _print_error(text, f"make room, or {OTHER_PLACES}", Exit.FAILED)
    return _print_error(text, _details(error), Exit.FAILED)


def _fault(error: BaseException) -> int:
    """The last resort: whatever nobody thought of is one line and a file with the rest."""
    what = f"{type(error).__name__}: {error}".splitlines()[0][:200] if str(error) else type(error).__name__
    return _print_error(f"seekwise has a fault ({what})", _details(error), Exit.FAILED)


def _details(error: BaseException) -> str | None:
    """Writes the traceback to a file and says where; None if even that cannot be done. One file: the next fault
    replaces it."""
    import traceback

    try:
        from seekwise import files
        from seekwise.control.state import state_folder

        text = "".join(traceback.format_exception(error))
        path = state_folder() / "fault.txt"
        files.make_private(path.parent, 0o755)
        written = f"{' '.join(sys.argv)}\n\n{text[-100_000:]}"
        files.write_whole(path, written.encode(errors="backslashreplace"))
    except (OSError, SeekwiseError, RecursionError, MemoryError):
        return None
    return f"details are in {path}"


def _pipe_is_broken() -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    poll = select.poll()
    # POLLERR is reported without being asked for.
    poll.register(1, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _reader_gone() -> Exit:
    """The reader of our output is gone: that is its right. Python would complain at exit, so give it a sink."""
    _output.silence(sys.stdout)
    return Exit.DONE


if __name__ == "__main__":
    main()
