"""`seekwise status --prometheus`: the state and the last verdict as text for node_exporter's textfile collector.

    seekwise status --prometheus > /var/lib/node_exporter/seekwise.prom

The format is https://prometheus.io/docs/instrumenting/exposition_formats/ (text, version 0.0.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from seekwise.errors import SeekwiseError

if TYPE_CHECKING:
    from seekwise.settings.status import Status

Sample = tuple[Mapping[str, str], float]


def text(found: Status, db: Path | None = None) -> str:
    """Every metric with its meaning; a metric without a sample is left out."""
    lines = []
    for name, meaning, samples in (*_state(found), *_verdict(db)):
        if samples:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge"]
            lines += [f"{name}{_labels(labels)} {value:.17g}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    shown = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{shown}}}" if shown else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _state(found: Status) -> Iterator[tuple[str, str, list[Sample]]]:
    applied = [
        (
            {"device": device.name, "attribute": value.attribute, "value": value.expected},
            float(not value.drift),
        )
        for device in found.devices
        for value in device.settings
        if value.expected is not None
    ]
    devices = [({"device": device.name}, float(device.drift)) for device in found.devices]
    missing = [({"device": name}, 1.0) for name in found.missing]
    stale = [({"device": device.name}, float(bool(device.stale))) for device in found.devices if device.applied]
    yield "seekwise_drift", "1 when a setting that seekwise applied is no longer set.", [({}, float(found.drift))]
    yield "seekwise_device_drift", "The same for each device.", devices
    yield "seekwise_applied_setting_in_force", "1 when the applied value is the one in force.", applied
    yield "seekwise_device_missing", "A device that seekwise set and that is not here now.", missing
    yield "seekwise_evidence_stale", "1 when kernel or firmware changed since the run behind an applied setting.", stale


def _verdict(db: Path | None) -> Iterator[tuple[str, str, list[Sample]]]:
    """Of the newest run of `tune`; nothing where there is none, or where statistics are not installed."""
    from seekwise.store.database import Store

    try:
        with Store.open(db, create=False) as store:
            run = next((each for each in reversed(store.runs()) if not each.is_of_study), None)
            if run is None:
                return
            from seekwise.judge import outcome

            found = outcome.of(store, run)
    except (SeekwiseError, ModuleNotFoundError):
        return
    labels = {"run": run.run_id, "target": str(run.target)}
    began = datetime.fromisoformat(run.created_at).timestamp()
    yield "seekwise_last_run_timestamp_seconds", "Start of the newest run of tune.", [(labels, began)]
    if found.choice is None:
        return
    chosen = {**labels, "setting": found.choice.setting}
    yield (
        "seekwise_last_run_recommends_change",
        "1 when it recommends another setting than the one in force.",
        [(chosen, float(bool(found.choice.changes)))],
    )
    for name, loss in (("recommended", found.choice.worst_loss), ("in_force", found.choice.in_force_worst_loss)):
        if loss is not None and loss.high is not None:
            place = {**labels, "use": loss.use, "metric": loss.metric}
            meaning = f"Largest loss of the setting that is {name.replace('_', ' ')}, upper end of the 95 % interval, as a share."
            yield f"seekwise_last_run_{name}_loss_ratio", meaning, [(place, loss.high)]
