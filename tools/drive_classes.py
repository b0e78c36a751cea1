"""Makes the evidence for `seekwise advise --classes` and `--device` again: `python tools/drive_classes.py [CLASS…]`.

Values only; what follows from them is the judge's (python/seekwise/settings/classes.py). Simulated ones are what `tune model:` answers for each model of a
class, a minute each; measured ones come from benches/results/programs.json, published ones from the files that name them below. To be made again when
a change of the model moves what `tune model:` answers.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from seekwise import _core
from seekwise.workload.study import uses

ROOT = Path(__file__).parents[1]
STORED = ROOT / "python/seekwise/settings/drive_classes.json"
USES = "desktop,database,file-server"
ONE_COMMAND = ("--vary", "scheduler=mq-deadline,none,bfq,kyber", "--vary", "queue_depth=1")
"""A USB bridge without UAS, whatever drive it holds."""
MODELS = {
    "hard disk": ("generic_1tb_sata", "exos_x18", "st3250620ns"),
    "SATA SSD": ("crucial_mx500_1tb", "samsung_850_evo"),
    "NVMe SSD": ("samsung_980_pro_1tb", "samsung_970_evo_plus", "samsung_pm9a3"),
    "USB drive": ("generic_1tb_sata", "crucial_mx500_1tb", "samsung_850_evo"),
    "SD card or eMMC": ("sd_card_a1", "sd_card_a2", "emmc_5_1"),
}
SEED = "1"
PROGRAMS = "benches/results/programs.json"
REN = "Ren and others, ICPE 2024 (BFQ, Multiqueue-Deadline, or Kyber?), Samsung 980 PRO, one core"
REN_TABLE = ROOT / "tests/vectors/nvme-many-cores/given.csv"
REN_DEPTHS = (1, 16, 256)
SAID = (
    (
        "hard disk",
        "Linux Documentation/block/bfq-iosched.rst",
        "bfq up to 150 % faster than deadline and noop with sequential loads, and starts as quick as on an idle drive",
    ),
    *(
        (
            each,
            "Linux Documentation/block/bfq-iosched.rst",
            "bfq about as fast as the others on flash, whatever the load",
        )
        for each in ("SATA SSD", "SD card or eMMC")
    ),
)
"""(class, source, what it says) of publications that give no figure for each scheduler."""
TESTBED = {
    "desktop-copy time": {"mq-deadline": 26_400, "kyber": 25_800, "none": 21_600, "bfq": 11_700},
    "desktop-copy background_done": {"mq-deadline": 17.8, "kyber": 18.1, "none": 21.2, "bfq": 21.1},
    "database done": {"mq-deadline": 13.3, "kyber": 13.4, "none": 13.4, "bfq": 13.7},
}
"""A hard disk under Linux 6.1 in the VM testbed, one round: docs/engineering/simulated-programs.md."""
Values = dict[str, dict[str, list[float]]]


class Evidence:
    """What the file holds: the figures that were looked at, and their values from each source."""

    def __init__(self) -> None:
        self.figures: dict[str, dict[str, Any]] = {}
        self.sources: list[dict[str, Any]] = []

    def add(self, name: str, basis: str, source: str, values: Values, says: str = "") -> None:
        self.sources.append({"class": name, "basis": basis, "source": source, "says": says, "values": values})

    def simulated(self, name: str, model: str, found: dict[str, Any]) -> None:
        """The answer of `tune model:`."""
        values: Values = {}
        for use in found["uses"]:
            key = f"{use['use']} {use['metric']}"
            self.figures.setdefault(key, _figure(use))
            for each in use["candidates"]:
                scheduler = each["setting"].removesuffix(" queue_depth=1")
                is_asked = name != "USB drive" or scheduler != each["setting"]
                if is_asked and each["value"] is not None:
                    values.setdefault(key, {})[scheduler] = [float(f"{each['value']:.4g}")]
        self.add(name, "simulated", f"{model}, model_version {_core.model_version()}", values)

    def add_what_ships(self) -> None:
        """What needs no simulation."""
        self.measured()
        self.published()
        values = {
            key: {scheduler: [float(value)] for scheduler, value in each.items()} for key, each in TESTBED.items()
        }
        self.add("hard disk", "testbed", "generic_1tb_sata under Linux 6.1 in a VM", values)

    def measured(self) -> None:
        """Real programs on a virtio disk, alone and during a copy; the first round is not counted, as on the page of these figures."""
        document = json.loads((ROOT / PROGRAMS).read_text())
        values: Values = {}
        for case, found in document["cases"].items():
            program, busy = case.split(", ")[0], "beside" in case
            rounds = [each["values"] for each in found["rounds"][1:]]
            asked = (
                [("time", "responsive", "ms")] if busy or program == "libreoffice" else [("done", "throughput", "/s")]
            )
            for metric, purpose, unit in [*asked, *([("copy_mb_per_s", "throughput", "MB/s")] if busy else [])]:
                key, is_copy = f"{case} {metric}", metric == "copy_mb_per_s"
                role, scale = ("background" if is_copy else "foreground"), 1000 if unit == "ms" else 1
                group = "desktop" if program == "libreoffice" else "database" if program != "nginx" else "web-server"
                self.figures[key] = {
                    "use": case, "title": case.replace("beside", "during"), "metric": metric, "unit": unit, "purpose": purpose,
                    "group": group, "role": role, "threshold": 0.05 if unit == "/s" else 0.1,
                }  # fmt: skip
                for one in rounds:
                    for scheduler, each in one.items():
                        # 0 where nothing was finished: the round keeps its place, and the judge leaves the value out.
                        value = scale * (each.get(metric) or 0)
                        values.setdefault(key, {}).setdefault(scheduler, []).append(float(f"{value:.4g}"))
        host = document["host"]
        self.add(
            "virtio disk", "measured", f"real programs, {host['processors']} processors, Linux {host['kernel']}", values
        )

    def published(self) -> None:
        rows = [row for row in csv.DictReader(REN_TABLE.open()) if row["source"] == "depth, one core"]
        values: Values = {}
        for depth in REN_DEPTHS:
            key = f"4 KiB reads, depth {depth}"
            self.figures[key] = {
                "use": key, "title": key, "metric": "rate", "unit": "/s", "purpose": "throughput", "group": "limits", "role": "foreground",
                "threshold": 0.05,
            }  # fmt: skip
            values[key] = {row["scheduler"]: [float(row["iops"])] for row in rows if row["depth"] == str(depth)}
        self.add("NVMe SSD", "published", REN, values)
        for name, source, says in SAID:
            self.add(name, "published", source, {}, says)

    def write(self) -> None:
        order = [*MODELS, "virtio disk"]
        sources = sorted(self.sources, key=lambda each: order.index(each["class"]))
        text = json.dumps({"figures": self.figures, "sources": sources}, ensure_ascii=False)
        # A line for each figure and each figure's values, so that a change shows as what it is.
        STORED.write_text(
            text.replace('}, "', '},\n"').replace('}}, {"class"', '}},\n{"class"') + "\n", encoding="utf-8"
        )


def _figure(use: dict[str, Any]) -> dict[str, Any]:
    shipped = uses.chosen(use["use"])[0]
    kept = ("use", "metric", "purpose", "group", "role", "threshold")
    return {**{key: use[key] for key in kept}, "title": shipped.title, "unit": use["value_unit"]}


def tune(model: str, more: tuple[str, ...] = ()) -> dict[str, Any]:
    """What the simulator answers for a model."""
    words = ["tune", f"model:{model}", "--for", USES, "--seed", SEED, *more, "--json"]
    with tempfile.TemporaryDirectory() as folder:
        own = {"SEEKWISE_DB": f"{folder}/records.db", "SEEKWISE_STATE": f"{folder}/state"}
        command = [sys.executable, "-m", "seekwise.cli.main", *words]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=folder, env={**os.environ, **own}, check=True
        )
    return json.loads(done.stdout)


def main(words: list[str]) -> None:
    made = Evidence()
    stored = json.loads(STORED.read_text()) if STORED.exists() else {"figures": {}, "sources": []}
    for name, models in MODELS.items():
        if words and name not in words:
            made.figures |= {key: each for key, each in stored["figures"].items() if key not in made.figures}
            made.sources += [
                each for each in stored["sources"] if each["class"] == name and each["basis"] == "simulated"
            ]
            continue
        for model in models:
            made.simulated(name, model, tune(model, ONE_COMMAND if name == "USB drive" else ()))
            print(f"{name}: {model}", flush=True)
    made.add_what_ships()
    made.write()


if __name__ == "__main__":
    main(sys.argv[1:])
