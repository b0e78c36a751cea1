"""`seekwise design DRIVE`: which array to build of some drives for a load."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seekwise.cli import _options
from seekwise.errors import UsageError

if TYPE_CHECKING:
    from seekwise.simulate.design.space import Array


SOLD = {"GB": 10**9, "TB": 10**12}


class Size(_options.NumberType):
    """`500g`, `20t` (powers of two), `20TB` (powers of ten, as drives are sold) as bytes."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> int:
        """Bytes, at least 1 MiB; less, or text that is no size, is a usage error (exit status 2)."""
        from seekwise.workload.study.quantity import SIZE_FORM, parse_bytes

        sold = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(GB|TB)\s*", str(value), re.ASCII | re.IGNORECASE)
        try:
            size = int(float(sold[1]) * SOLD[sold[2].upper()]) if sold else parse_bytes(str(value))
        except ValueError:
            self.fail(f"{value!r} is not {SIZE_FORM}, or 20TB (powers of ten)", param, context)
        if size < 2**20:
            self.fail(f"{value!r} is less than 1 MiB: a unit goes with it, as in 20TB or 20t (TiB)", param, context)
        return size


@click.command("design")
@click.argument("drive", metavar="DRIVE")
@click.option("--drives", default="4..12", show_default=True, metavar="N..M", help="How many drives there may be.")
@click.option("--for", "uses", metavar="USE,…", help="What the array is for: uses as in `tune --for`; must be given.")
@click.option(
    "--level", "levels", multiple=True, metavar="LEVEL", help="Only these: raid0, raid1, raid10, raid5, raid6."
)
@click.option("--survives", type=click.IntRange(0, 10), help="Drive failures to survive, at least; default: 1.")
@click.option("--capacity", type=Size(), help="Usable capacity, at least: 20TB (powers of ten) or 20t (TiB).")
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    help="MB/s to reach under each use: then the fewest drives win.",
)
@click.option(
    "--data", type=Size(), help="How much of the array random requests reach; default: half of the smallest array."
)
@click.option("--kernel", metavar="VERSION", help="Linux version to model.")
@_options.seed("Seed of the simulated requests.", default=1, show_default=True)
@_options.common
def command(
    drive: str,
    drives: str,
    uses: str | None,
    levels: tuple[str, ...],
    survives: int | None,
    capacity: int | None,
    rate: float | None,
    data: int | None,
    kernel: str | None,
    seed: int,
    db: Path | None,
    as_json: bool,
) -> None:
    """Find the array to build of some DRIVEs for a load.

    Simulated: DRIVE is a drive model (`seekwise explain models`). Every combination of RAID level, number of drives,
    chunk, scheduler, queue depth and read-ahead is simulated; under uses that run programs, each setting by itself and
    the best of each together.
    """
    from seekwise.cli import _display, _shown
    from seekwise.judge import design_choice
    from seekwise.report import array_answer, of_run
    from seekwise.simulate import use_trials
    from seekwise.simulate.design import kept, search, trial
    from seekwise.simulate.design import space as spaces
    from seekwise.store.database import Store
    from seekwise.workload.study import uses as use_files

    if rate is not None and not math.isfinite(rate):
        raise UsageError(f"`--rate {rate}` is no rate", hint="MB/s, for example: --rate 400")
    if uses is None:
        raise UsageError(
            "what is the array for? --for names uses", f"for example `seekwise design {drive} --for database`"
        )
    named, counts = _levels(levels), spaces.parse_drives(drives)
    chosen = tuple(use_trials.check_uses(use_files.chosen(uses))[0])
    model = use_trials.model_of(drive, kernel)
    arrays = _that_hold(
        spaces.arrays_of(model, named or spaces.LEVELS, counts, _failures(named, survives)), capacity, data
    )
    smallest = min(array.capacity_bytes for array in arrays)
    reads_ahead = any(job.uses_read_ahead and not use_trials.is_direct(job) for use in chosen for job in use.job)
    sweep = search.Sweep(
        model=model,
        space=spaces.space_of(model, arrays, reads_ahead=reads_ahead),
        uses=chosen,
        data_bytes=data or smallest // 2,
        seed=seed,
        simulate=trial.simulate,
    )
    with _display.counting("trials") as sweep.tell:
        finalists = kept.finalists(sweep, list(search.carry_out(sweep).values()))
    asked = kept.asked_of(sweep, rate)
    choice = design_choice.choose(asked, finalists)
    run, records = kept.run_of(asked, finalists, [design_choice.name_of(finalist.point) for finalist in finalists])
    with Store.open(db) as store:
        store.add_run(run)
        for record in records:
            store.add(record)
        store.end_run(run.run_id, "complete")
        if as_json:
            _shown.echo_json(array_answer.document(choice, run.run_id))
            return
        stored = store.run(run.run_id)
        of_run.of_runs(store, stored).show(_shown.out())
    click.echo(f"\nnext: {stored.typed(f'seekwise report {run.run_id}')}")


def _failures(levels: tuple[str, ...], survives: int | None) -> int:
    """Drives that may fail. Who names only RAID 0 has asked for none."""
    if levels != ("raid0",):
        return 1 if survives is None else survives
    if survives:
        raise UsageError("RAID 0 survives no failure", hint="`--survives 0` accepts that")
    return 0


def _that_hold(arrays: tuple[Array, ...], capacity: int | None, data: int | None) -> tuple[Array, ...]:
    """The arrays that hold what is asked for; UsageError when none does, or one less than the data."""
    from seekwise.workload.study.quantity import capacity_text

    most = max(array.capacity_bytes for array in arrays)
    arrays = tuple(array for array in arrays if array.capacity_bytes >= (capacity or 0))
    if not arrays:
        raise UsageError(
            f"no array of these holds {capacity_text(capacity or 0)}: the largest has {capacity_text(most)}",
            hint="more drives, or a smaller `--capacity`: 1t is 1 TiB, 1.10 TB",
        )
    smallest = min(array.capacity_bytes for array in arrays)
    if data is not None and data > smallest:
        said = f"`--data` is more than the smallest array holds, {capacity_text(smallest)}"
        raise UsageError(said, hint="a smaller `--data`")
    return arrays


def _levels(words: tuple[str, ...]) -> tuple[str, ...]:
    """`raid10`, `10`, `RAID 10` and lists of them; UsageError for what is no level."""
    from seekwise.simulate.design.space import LEVELS

    levels = []
    for word in (part for text in words for part in text.split(",")):
        level = "raid" + re.sub(r"^raid[ -]?", "", word.strip().lower())
        if level not in LEVELS:
            raise UsageError(f"`--level {word}` is no level that is modelled", hint=f"one of {', '.join(LEVELS)}")
        levels.append(level)
    return tuple(dict.fromkeys(levels))
