"""Makes the evidence for `seekwise advise --device` again: `python tools/drive_classes.py [CLASS…]`.

One drive model stands for each class. `tune model:` answers for it, and what it said is kept in python/seekwise/settings/drive_classes.json with
the model's version, which the sentence names. Some minutes; to be made again when a change of the model moves what `tune model:` answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from seekwise import _core

STORED = Path(__file__).parents[1] / "python/seekwise/settings/drive_classes.json"
MODELS = {"hard disk": "generic_1tb_sata", "SATA SSD": "crucial_mx500_1tb", "NVMe SSD": "samsung_980_pro_1tb"}
USES = "desktop,database,file-server"
SEED = 1


def measure(name: str) -> dict[str, object]:
    """What the simulator answers for the class."""
    words = ["tune", f"model:{MODELS[name]}", "--for", USES, "--seed", str(SEED), "--json"]
    with tempfile.TemporaryDirectory() as folder:
        own = {"SEEKWISE_DB": f"{folder}/records.db", "SEEKWISE_STATE": f"{folder}/state"}
        command = [sys.executable, "-m", "seekwise.cli.main", *words]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=folder, env={**os.environ, **own}, check=True
        )
    found = json.loads(done.stdout)
    purposes = {each["purpose"]: each["setting"] for each in found["purposes"]}
    return {
        "model": MODELS[name],
        "uses": USES,
        "provenance": "simulated",
        "model_version": _core.model_version(),
        "headline": found["headline"],
        "setting": found["decision"]["setting"],
        "purposes": purposes,
    }


def main(words: list[str]) -> None:
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    for name in words or MODELS:
        stored[name] = measure(name)
        print(f"{name}: {stored[name]['headline']}", flush=True)
        ordered = {each: stored[each] for each in MODELS if each in stored}
        STORED.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
