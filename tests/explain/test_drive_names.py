"""A drive model is found by what people call a drive; where there is none the nearest is named, with the reason."""

from __future__ import annotations

import json

import pytest

from seekwise import _core, drive_names
from seekwise.errors import UsageError
from seekwise.report.explain import explain


@pytest.mark.parametrize("name", _core.drive_models())
def test_every_model_is_found_by_its_id_with_and_without_the_prefix(name):
    assert drive_names.find(name) == drive_names.find(f"model:{name}") == name


@pytest.mark.parametrize("model", drive_names.shipped_models(), ids=lambda each: each.name)
def test_every_model_is_found_by_its_title(model):
    assert drive_names.find(model.title.split("(")[0]) == model.name


@pytest.mark.parametrize("model", drive_names.shipped_models(), ids=lambda each: each.name)
def test_a_model_has_the_capacity_of_its_title_or_says_what_it_has(model):
    notes = " ".join(json.loads(_core.drive_model(model.name))["notes"])
    alike = abs(model.capacity_bytes / model.sold_bytes - 1) < 0.05
    assert alike != (f"Modelled with {model.size_text} instead of its" in notes), (model.title, model.size_text)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Samsung 980 PRO", "samsung_980_pro_1tb"),
        ("980 pro 1 TB", "samsung_980_pro_1tb"),
        ("crucial-mx500", "crucial_mx500_1tb"),
        ("exos 18tb", "exos_x18"),
        ("Ultrastar 18TB", "ultrastar_hc550"),
        ("wd gold", "ultrastar_hc550"),
        ("barracuda es", "st3250620ns"),
        ("PM9A3", "samsung_pm9a3"),
    ],
)
def test_maker_family_and_capacity_find_a_model(said, name):
    assert drive_names.find(said) == name


@pytest.mark.parametrize(
    ("said", "nearest", "why"),
    [
        ("WD Red 4 TB", "ultrastar_hc550", "same class (hard disk) of the same maker (Western Digital); its capacity is 18 TB"),
        ("Samsung 870 EVO 1 TB", "samsung_850_evo", "same class (SATA SSD) of the same maker (Samsung); its capacity is 500 GB"),
        ("WD Blue SSD 1 TB", "crucial_mx500_1tb", "same class (SATA SSD); its capacity is as asked (1 TB)"),
        ("4 TB NVMe", "intel_p5510", "same class (NVMe SSD); its capacity is as asked (3.84 TB)"),
        ("sn850x", "samsung_990_pro_2tb", "same class (NVMe SSD)"),
        ("SAMSUNG MZVL2512HCJQ-00BL7", "samsung_960_pro", "same class (NVMe SSD) of the same maker (Samsung)"),
        ("CT500P3SSD8", "samsung_960_pro", "same class (NVMe SSD)"),
        ("WDS500G2B0A", "samsung_850_evo", "same class (SATA SSD)"),
        ("HUS726T4TALA6L4", "ultrastar_hc550", "same class (hard disk) of the same maker (Western Digital)"),
        ("KINGSTON SKC3000S1024G", "samsung_970_evo_plus", "same class (NVMe SSD)"),
        ("KINGSTON SA400S37240G", "generic_sata_t430s", "same class (SATA SSD); its capacity is as asked"),
        ("TOSHIBA MG08ACA16TE", "exos_x18", "same class (hard disk); its capacity is 18 TB"),
        ("PC SN530 NVMe WDC 256GB", "intel_p3700", "same class (NVMe SSD)"),
        ("10k rpm sas", "generic_1tb_sata", "its capacity is 1 TB, its speed 7200 rpm, not 10000"),
        ("Toshiba MG08 16TB", "exos_x18", "same class (hard disk); its capacity is 18 TB"),
    ],
)  # fmt: skip
def test_where_there_is_none_the_nearest_is_named_with_the_reason(said, nearest, why):
    with pytest.raises(UsageError) as raised:
        drive_names.find(said)
    assert f"no drive model of {said}; nearest: {nearest} (" in raised.value.message
    assert why in raised.value.message and f"model:{nearest}" in (raised.value.hint or "")


def test_several_are_listed_and_a_typing_error_gets_its_name():
    with pytest.raises(UsageError, match="means several drive models: exos_x18, exos_x20"):
        drive_names.find("Seagate Exos")
    with pytest.raises(UsageError) as raised:
        drive_names.find("samsng_980")
    assert raised.value.hint == "did you mean `samsung_980`?"
    with pytest.raises(UsageError, match="no drive model is called `xyzzy`"):
        drive_names.find("xyzzy")
    with pytest.raises(UsageError, match="no drive model is called `nvme_core.io_timeout`"):
        drive_names.find("nvme_core.io_timeout")
    with pytest.raises(UsageError, match="is host-managed SMR"):
        drive_names.find("Ultrastar DC HC620")


def test_a_word_that_was_begun_suggests_the_model_and_a_smaller_edition_says_what_it_is_sold_with():
    with pytest.raises(UsageError) as refused:
        drive_names.find("Samsung 980 PR")
    assert "samsung_980_pro_1tb" in refused.value.hint
    smaller = next(model for model in drive_names.shipped_models() if model.name == "samsung_980")
    assert smaller.capacity_bytes < 0.5 * smaller.sold_bytes
    assert smaller.sizes_text.startswith("1 TB") and "400 GB" in smaller.sizes_text


OF_ANOTHER_KIND = {
    "WD40EFAX": "records shingled (SMR)",
    "WDC WD40EFAX-68JH4N0": "records shingled (SMR)",
    "ST8000DM004": "records shingled (SMR)",
    "Exos 2X18": "has two actuators",
    "Seagate MACH.2": "has two actuators",
}


@pytest.mark.parametrize("said", OF_ANOTHER_KIND)
def test_a_drive_of_another_kind_has_no_nearest_model(said):
    with pytest.raises(UsageError) as raised:
        drive_names.find(said)
    assert OF_ANOTHER_KIND[said] in raised.value.message and "nearest" not in raised.value.message


@pytest.mark.parametrize(("said", "is_partly"), [("WD Red", True), ("WD Red Pro 4TB", False), ("Seagate Barracuda 4tb", True), ("WD Red SSD", False), ("Exos 14tb", False)])  # fmt: skip
def test_a_family_of_which_some_are_shingled_says_so(said, is_partly):
    assert ("Some are shingled" in drive_names.closest(said)[1]) == is_partly


@pytest.mark.parametrize(
    ("said", "makers", "capacity_bytes", "rpm"),
    [
        ("WD40EFRX", {"Western Digital"}, 4e12, None),
        ("WD101KFBX", {"Western Digital"}, 10e12, None),
        ("ST4000VN008", {"Seagate"}, 4e12, None),
        ("CT1000MX500SSD1", {"Crucial"}, 1e12, None),
        ("7200 rpm 4 TB", set(), 4e12, 7200),
        ("15k sas 600 GB", set(), 6e11, 15_000),
        ("990 pro", set(), None, None),
    ],
)
def test_makers_numbers_and_revolutions_are_understood(said, makers, capacity_bytes, rpm):
    asked = drive_names.read(said)
    assert (asked.makers, asked.capacity_bytes, asked.rpm) == (makers, capacity_bytes, rpm)


@pytest.mark.parametrize(("said", "begins"), [("WD Red", "No drive model of WD Red; nearest"), ("18 TB", "No drive model of 18 TB; nearest: exos_x18"), ("Exos 2X18", "Exos 2X18 has two actuators")])  # fmt: skip
def test_explain_answers_for_a_drive_without_a_model(said, begins):
    assert explain(said).text.startswith(begins)


@pytest.mark.parametrize(
    ("word", "kind"),
    [("Micron 5300", "sata"), ("Samsung PM893", "sata"), ("Micron 7450", "nvme"), ("WD SN640", "nvme")],
)
def test_lines_of_servers_have_their_kind(word, kind):
    asked = drive_names.read(word)
    assert asked.kind == {"sata": "SATA SSD", "nvme": "NVMe SSD"}[kind]
