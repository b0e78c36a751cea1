"""`status --prometheus`: text that node_exporter's textfile collector reads."""

from __future__ import annotations

import re
from types import SimpleNamespace

from seekwise.cli import _prometheus

LINE = re.compile(r'^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z]+="([^"\\\n]|\\[\\"n])*",?)+\})? -?[0-9.e+-]+)$')


def device(name: str, *, found: str, wanted: str | None, stale: tuple[str, ...] = ()) -> SimpleNamespace:
    drift = wanted not in (None, found)
    value = SimpleNamespace(attribute="queue/scheduler", value=found, expected=wanted, drift=drift)
    return SimpleNamespace(name=name, settings=(value,), stale=stale, applied=(1,) if wanted else (), drift=value.drift)


def text(tmp_path, *devices: SimpleNamespace, missing: tuple[str, ...] = ()) -> str:
    status = SimpleNamespace(devices=devices, missing=missing, drift=any(each.drift for each in devices))
    made = _prometheus.text(status, tmp_path / "none.db")
    for line in made.splitlines():
        assert LINE.match(line), line
    return made


def test_drift_and_applied_values_are_metrics(tmp_path):
    shown = text(
        tmp_path,
        device("sda", found="none", wanted="bfq"),
        device("sdb", found="bfq", wanted="bfq"),
        device("sdc", found="none", wanted=None),
    )
    assert "\nseekwise_drift 1\n" in shown
    assert 'seekwise_applied_setting_in_force{device="sda",attribute="queue/scheduler",value="bfq"} 0' in shown
    assert 'seekwise_applied_setting_in_force{device="sdb",attribute="queue/scheduler",value="bfq"} 1' in shown
    assert 'device="sdc",attribute' not in shown


def test_every_metric_has_its_meaning_and_type_once(tmp_path):
    shown = text(tmp_path, device("sda", found="none", wanted="none", stale=("kernel",)), missing=("sdz",))
    for name in set(re.findall(r"^(seekwise_\w+)", shown, re.MULTILINE)):
        assert shown.count(f"# HELP {name} ") == shown.count(f"# TYPE {name} gauge") == 1
    assert 'seekwise_evidence_stale{device="sda"} 1' in shown and 'seekwise_device_missing{device="sdz"} 1' in shown


def test_a_name_cannot_break_the_format(tmp_path):
    assert r'device="a\"b\\c\nd"' in text(tmp_path, device('a"b\\c\nd', found="none", wanted=None))


def test_the_command_prints_it_and_ends_with_status_0(seekwise):
    done = seekwise("status", "--prometheus")
    assert done.stdout.startswith("# HELP seekwise_drift ")
