"""Entry point: finds the command, turns errors into one message and an exit status.

A command is one module in this folder with a `command` object (click). Adding a file is enough: its name is the
command's name, `_` becoming `-`.
"""

from __future__ import annotations

import errno
import importlib
import keyword
import os
import pkgutil
import select
import sys

import click

from seekwise.cli import _output
from seekwise.errors import Exit, SeekwiseError

NOT_COMMANDS = {"main"}


class Commands(click.Group):
    """Loads `seekwise.cli.NAME` when NAME is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        import seekwise.cli as package

        names = (module.name for module in pkgutil.iter_modules(package.__path__))
        # `import_.py` is `import`: a word of Python cannot be a module's name.
        shown = (name.rstrip("_").replace("_", "-") for name in names if not name.startswith("_"))
        return sorted(name for name in shown if name not in NOT_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        module = name.replace("-", "_") + ("_" if keyword.iskeyword(name) else "")
        return importlib.import_module(f"seekwise.cli.{module}").command


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="seekwise")
def cli() -> None:
    """Tells, with evidence, which I/O settings a storage system should use, and sets them reversibly."""
    if click.get_current_context().invoked_subcommand != "revert":
        # What a killed run left changed is put back before anything else happens; nothing there costs one directory read.
        from seekwise.control import recovery

        recovery.at_start(lambda sentence: click.echo(sentence, err=True))


def main() -> None:
    """Runs a command and ends the process with its exit status."""
    _output.install()
    try:
        status = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except SeekwiseError as error:
        status = _told(error.message, error.hint, error.exit_status)
    except click.exceptions.Abort:
        status = Exit.INTERRUPTED
    except KeyboardInterrupt:
        status = Exit.INTERRUPTED
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f"`{context.command_path} --help` shows what it takes" if context is not None else None
        status = _told(error.format_message().rstrip("."), hint, Exit.USAGE)
    except BrokenPipeError:
        status = _reader_gone()
    except SystemExit as ended:
        # click and rich meet a closed pipe first and exit with 1 themselves: rich from within the handler, click after it.
        broken = isinstance(ended.__context__, BrokenPipeError) or _pipe_is_broken()
        status = _reader_gone() if broken else ended.code
    except OSError as error:
        status = _system_error(error)
    except Exception as error:  # noqa: BLE001 (the last resort)
        status = _fault(error)
    sys.exit(int(status) if isinstance(status, int) else 0)


def _told(message: str, hint: str | None, status: int) -> int:
    """One error and one hint on standard error. What somebody is called in it cannot make it more lines."""
    try:
        click.echo(f"error: {_output.safe_line(message)}", err=True)
        if hint:
            click.echo(f"\nhint: {hint}", err=True)
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
            return _told("the working folder does not exist any more", "change to another folder", Exit.FAILED)
    status = Exit.USAGE if error.errno in (errno.ENAMETOOLONG, errno.ELOOP) else Exit.FAILED
    return _told(f"{error.strerror or error}{named[:300]}", _details(error), status)


def _fault(error: BaseException) -> int:
    """The last resort: whatever nobody thought of is one line and a file with the rest."""
    what = f"{type(error).__name__}: {error}".splitlines()[0][:200] if str(error) else type(error).__name__
    return _told(f"seekwise has a fault ({what})", _details(error), Exit.FAILED)


def _details(error: BaseException) -> str | None:
    """Writes the traceback to a file and says where; None if even that cannot be done."""
    import tempfile
    import traceback

    try:
        text = "".join(traceback.format_exception(error))
        descriptor, name = tempfile.mkstemp(prefix="seekwise-fault-", suffix=".txt")
        with os.fdopen(descriptor, "w", errors="backslashreplace") as file:
            file.write(f"{' '.join(sys.argv)}\n\n{text[-100_000:]}")
    except (OSError, RecursionError, MemoryError):
        return None
    return f"details are in {name}"


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
