"""Entry point: finds the command, turns errors into one message and an exit status.

A command is one module in this folder with a `command` object (click). Adding a file is enough: its name is the
command's name, `_` becoming `-`.
"""

from __future__ import annotations

import importlib
import keyword
import os
import pkgutil
import select
import sys

import click

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
    try:
        status = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except SeekwiseError as error:
        click.echo(f"error: {error.message}", err=True)
        if error.hint:
            click.echo(f"\nhint: {error.hint}", err=True)
        status = error.exit_status
    except click.exceptions.Abort:
        status = Exit.INTERRUPTED
    except KeyboardInterrupt:
        status = Exit.INTERRUPTED
    except click.ClickException as error:
        click.echo(f"error: {error.format_message().rstrip('.')}", err=True)
        context = getattr(error, "ctx", None)
        if context is not None:
            click.echo(f"\nhint: `{context.command_path} --help` shows what it takes", err=True)
        status = Exit.USAGE
    except BrokenPipeError:
        status = _reader_gone()
    except SystemExit as ended:
        # click and rich meet a closed pipe first and exit with 1 themselves: rich from within the handler, click after it.
        broken = isinstance(ended.__context__, BrokenPipeError) or _pipe_is_broken()
        status = _reader_gone() if broken else ended.code
    sys.exit(int(status) if isinstance(status, int) else 0)


def _pipe_is_broken() -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    poll = select.poll()
    # POLLERR is reported without being asked for.
    poll.register(1, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _reader_gone() -> Exit:
    """The reader of our output is gone: that is its right. Python would complain at exit, so give it a sink."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return Exit.DONE


if __name__ == "__main__":
    main()
