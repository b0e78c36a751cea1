"""What the VM testbed measured, as small tables that are kept:
`python -m seekwise_proof.validate._ladder_tables DB FOLDER`, or `make ladder`.

A row is a combination and setting of one of the studies in `studies/ladder/`: what the real kernel did with the model's drives. `seekwise
verify ladder` holds the simulator against it without qemu. A table is the newest run of its study in DB, finished or not.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from seekwise.files import make_folders, write_product
from seekwise.judge.observe import combination_of
from seekwise.store.database import Store
from seekwise.store.percentiles import percentile_ns
from seekwise.store.record import Record

PREFIX = "ladder-"


@dataclass(frozen=True)
class GuestResult:
    """One combination under one setting in the VM testbed."""

    combination: str
    setting: str
    ios: int
    rate_bytes_per_s: float
    mean_ns: float
    p99_ns: int


HEADER = "cell,setting,ios,rate_bytes_per_s,mean_ns,p99_ns"
"""Of tables that others have recorded, too: a combination stands under `cell`."""


def rows(records: Iterable[Record]) -> Iterator[GuestResult]:
    """One result for each operation of each valid record."""
    for record in records:
        for phase in record.phases if record.valid else ():
            p99 = percentile_ns(phase.latency_bins, 99) or 0
            throughput, mean = round(phase.rate_bytes_per_s, 1), round(phase.latency_mean_ns, 1)
            yield GuestResult(combination_of(record, phase), record.setting, phase.ios, throughput, mean, p99)


def text(results: Iterable[GuestResult]) -> str:
    """The results as CSV, in the order of combination and setting."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER.split(","))
    writer.writerows(astuple(row) for row in sorted(results, key=lambda row: (row.combination, row.setting)))
    return out.getvalue()


def parse(given: str) -> list[GuestResult]:
    """Raises ValueError with the line that is no row."""
    reader = csv.reader(io.StringIO(given))
    if ",".join(next(reader, [])) != HEADER:
        raise ValueError(f"the header is not {HEADER}")
    results = []
    for line, parts in enumerate(reader, 2):
        try:
            combination, setting, ios, throughput, mean, p99 = parts
            row = GuestResult(combination, setting, int(ios), float(throughput), float(mean), int(p99))
            if min(row.ios, row.rate_bytes_per_s, row.mean_ns, row.p99_ns) <= 0:
                raise ValueError(parts)
        except ValueError:
            raise ValueError(f"line {line} is no row: {','.join(parts)}") from None
        results.append(row)
    return results


def main() -> None:
    """Writes the tables of the newest runs of the VM testbed: `DB FOLDER`."""
    db, folder = (Path(word) for word in sys.argv[1:3])
    make_folders(folder)
    with Store.open(db, create=False) as store:
        newest: dict[str, str] = {}
        for run in store.runs():
            if run.backend == "lab" and run.name.startswith(PREFIX):
                newest.setdefault(run.name.removeprefix(PREFIX), run.run_id)
        for name, run_id in newest.items():
            path = folder / f"{name}.csv"
            write_product(path, text(rows(store.records(run_id))))
            print(path)


if __name__ == "__main__":
    main()
