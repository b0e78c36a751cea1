"""`seekwise report RUN…`: the page of a run again, judged afresh from its records; of two, their comparison; of all, an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise.cli import _browser, _options, _shown
from seekwise.errors import SeekwiseError, UsageError, reason
from seekwise.files import make_folders
from seekwise.store.database import Run, Store


@dataclass(frozen=True)
class WrittenReport:
    """`report --json`: the files that were written."""

    SCHEMA: ClassVar = "seekwise.report/1"

    run_id: str | None
    """Null for a page of several runs."""
    runs: list[str | None]
    """All that the page shows."""
    report: Path
    pictures: list[Path]
    opened: bool
    """Whether a browser was started (`--open`)."""


@click.command("report")
@click.argument("names", nargs=-1, metavar="[RUN]…")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="Folder for the page, or its name if it ends in .html; created if it does not exist. Default: this one.",
)
@click.option(
    "--pictures",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write each chart as SVG and PNG into this folder too.",
)
@click.option("--markdown", is_flag=True, help="Print the report as Markdown instead, for an issue or a chat.")
@click.option("--open", "in_browser", is_flag=True, help="Show the page in a browser.")
@click.option("--index", is_flag=True, help="Write a page that lists all runs.")
@click.option("--merge", is_flag=True, help="Treat several runs of one study as one run instead of comparing them.")
@_options.common
def command(
    names: tuple[str, ...],
    output: Path | None,
    pictures: Path | None,
    markdown: bool,
    in_browser: bool,
    index: bool,
    merge: bool,
    db: Path | None,
    as_json: bool,
) -> None:
    """Write the report of RUN (or `last`) as one HTML file.

    Its path is the last line. Two runs are compared on one page; those that tested different systems of one study are
    merged. --index lists all runs.
    """
    _refuse_contradictions(names, pictures, markdown=markdown, index=index, as_json=as_json)
    if in_browser and markdown:
        raise UsageError("`--markdown` writes no page that a browser could open", hint="leave one of them out")
    if output is None:
        # A page that is only looked at stays out of the working folder.
        output = _browser.folder() if in_browser else Path()
    tell = Tell(as_json, in_browser)
    with Store.open(db, create=False) as store:
        if index:
            _index(store, output, markdown=markdown, tell=tell)
            return
        chosen = [store.run(name) for name in names]
        if len(chosen) > 1 and not (merge or _are_parts(chosen)):
            _comparison(store, chosen, output, markdown=markdown, tell=tell, pictures=pictures)
            return
        _page(store, chosen, output, markdown=markdown, tell=tell, pictures=pictures)


def _refuse_contradictions(
    names: tuple[str, ...], pictures: Path | None, *, markdown: bool, index: bool, as_json: bool
) -> None:
    if index and names:
        raise UsageError("`--index` lists all runs, so it takes no RUN", hint="leave one of them out")
    if not index and not names:
        raise UsageError("which run?", hint="`seekwise report last` shows the newest, `--index` lists all")
    if markdown and as_json:
        raise UsageError("`--markdown` and `--json` both want the output", hint="leave one of them out")
    if pictures is not None and (index or markdown):
        raise UsageError("`--pictures` goes with the page of a run", hint="leave `--markdown` or `--index` out")
    if len(set(names)) < len(names):
        raise UsageError("a run is named twice", hint="each run counts once")


def _are_parts(runs: list[Run]) -> bool:
    """Runs of one study and backend that share no system: made after rebuilding an array or changing a card."""
    if len({(run.study_name, run.backend) for run in runs}) > 1:
        return False
    names = [{facts["name"] for facts in run.plan.get("systems", [])} for run in runs]
    return all(names) and sum(len(each) for each in names) == len(set().union(*names))


def _page(store: Store, runs: list[Run], output: Path, *, markdown: bool, tell: Tell, pictures: Path | None) -> None:
    from seekwise.report import of_run
    from seekwise.report.charts import files

    found = of_run.of(store, *runs)
    if not found.records:
        raise SeekwiseError(f"run {found.run.run_id} has no records, so there is nothing to show")
    if markdown:
        click.echo(found.markdown())
        return
    try:
        written = files.write_all(made(pictures), found.pictures()) if pictures is not None else []
    except OSError as error:
        raise SeekwiseError(f"cannot write pictures to {pictures}: {reason(error)}") from error
    path = _shown.write_page(found, path_of(output, found.run.run_id))
    tell(path, written, [run.run_id for run in runs], found.run.run_id)


@dataclass(frozen=True)
class Tell:
    """How the caller learns of a page that was written: its path, or a document; in a browser as well."""

    as_json: bool
    in_browser: bool

    def __call__(self, path: Path, pictures: Sequence[Path], runs: Sequence[str], run_id: str | None) -> None:
        """`run_id`: of a page of one run; `runs`: all that the page shows."""
        opened = self.in_browser and _browser.show(path.absolute())
        if self.as_json:
            written = [each.absolute() for each in pictures]
            _shown.echo_json(WrittenReport(run_id, list(runs) or [run_id], path.absolute(), written, opened))
            return
        for picture in pictures:
            click.echo(picture)
        click.echo(path.absolute())


def path_of(output: Path, name: str) -> Path:
    """Where the page goes: into the folder `output`, or to that very file; the folder is made."""
    if output.suffix.lower() in (".html", ".htm") and not output.is_dir():
        return made(output.parent) / output.name
    return made(output) / _shown.page_name(name)


def made(folder: Path) -> Path:
    """The folder, created where it is missing."""
    try:
        make_folders(folder)
    except OSError as error:
        raise SeekwiseError(
            f"cannot create folder {folder}: {reason(error)}", hint="name another one with `--output`"
        ) from error
    return folder


def _comparison(
    store: Store, runs: list[Run], output: Path, *, markdown: bool, tell: Tell, pictures: Path | None
) -> None:
    from seekwise.cli import _comparison as reading
    from seekwise.report import compare_page

    if pictures is not None:
        raise UsageError("a comparison has no pictures of its own", hint="leave out `--pictures`")
    if len(runs) > 2:
        raise UsageError(
            f"a comparison has two runs, not {len(runs)}", hint="`--merge` shows several runs of one study as one"
        )
    found = reading.pairing(store, *runs)
    if markdown:
        click.echo(compare_page.markdown(found))
        return
    names = [run.run_id for run in runs]
    path = compare_page.write(path_of(output, "-vs-".join(names)), found)
    tell(path, [], names, None)


def _index(store: Store, output: Path, *, markdown: bool, tell: Tell) -> None:
    from seekwise.cli import _comparison as reading
    from seekwise.report import index_page

    path = path_of(output, "index")
    found = reading.index(store, path.parent)
    if markdown:
        click.echo(index_page.markdown(found))
        return
    written = index_page.write(path, found, f"runs in {store.path}", store.damage)
    tell(written, [], [each.run_id for each in found], None)
