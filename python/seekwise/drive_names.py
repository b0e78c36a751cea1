"""Drive models found by what people call a drive: an id, a spelling of it, or maker, family and capacity."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from seekwise import _core, suggestion
from seekwise.errors import UsageError

PREFIX = "model:"
"""`tune model:NAME`; taken wherever a drive model is named."""
SECTOR = 512
SAME_CAPACITY = 0.12
"""Share by which the capacities of one size differ: 4 TB and 3.84 TB, 500 GB and 512 GB are sold for the same."""
SHOWN_MOST = 4

MAKERS = {
    "wd": "Western Digital", "western": "Western Digital", "digital": "Western Digital", "wdc": "Western Digital", "hgst": "Western Digital",
    "seagate": "Seagate", "samsung": "Samsung", "intel": "Intel", "solidigm": "Intel", "crucial": "Crucial", "micron": "Micron",
    "kioxia": "Kioxia", "toshiba": "Toshiba", "hitachi": "Hitachi", "sandisk": "SanDisk", "kingston": "Kingston",
}  # fmt: skip
"""HGST's drives are sold by Western Digital since 2018, Intel's NAND drives by Solidigm since 2021."""
FAMILIES = {
    **dict.fromkeys(
        (
            "red", "blue", "green", "purple", "gold", "caviar", "raptor", "ultrastar", "deskstar", "barracuda", "ironwolf", "skyhawk",
            "exos", "constellation", "cheetah", "n300", "x300", "p300", "mg08", "mg09", "hdd", "disk", "rpm", "nas",
        ),
        "hard disk",
    ),
    **dict.fromkeys(("evo", "qvo", "mx500", "bx500", "mx", "ultra", "a400", "sata", "ssd", "840", "850", "860", "870", "5100", "5200", "5300", "5400", "pm863", "pm863a", "sm863", "sm863a", "pm883", "pm893", "sm883", "s3520", "s4510", "s4610"), "SATA SSD"),
    **dict.fromkeys(
        (
            "nvme", "m2", "optane", "sn550", "sn570", "sn580", "sn750", "sn770", "sn850", "sn850x", "p3", "p5", "t500", "t700", "kc3000",
            "fury", "firecuda", "pm9a1", "pm9a3", "pm1733", "cd6", "cm6", "cm7", "p4510", "p4610", "p5510", "p5520", "970", "980", "990", "7300", "7400", "7450", "9300", "9400", "sn640", "sn840",
        ),
        "NVMe SSD",
    ),
}  # fmt: skip
"""What the makers' product lines are. Names that are in both kinds (WD Blue, WD Red) mean the disk, unless `ssd` or
`nvme` is said."""
TYPICAL = {"NVMe SSD": "samsung_990_pro_2tb", "SATA SSD": "crucial_mx500_1tb", "hard disk": "generic_1tb_sata"}
"""What stands for a class of which nothing else is known."""
MISSPELT = 0.85
"""Share of letters in common from which a name is a typing error of a model's."""
SHINGLED = frozenset((
    "WD20EFAX", "WD30EFAX", "WD40EFAX", "WD60EFAX", "WD20EZAZ", "WD60EZAZ", "WD10SPZX", "WD20SPZX", "WD10SPSX",
    "HDWD240", "HDWD260", "DT02ABA400", "DT02ABA600", "DT02ABA400V", "DT02ABA600V", "HDWL110", "HDWL120", "MQ04ABF100", "MQ04ABD200",
    "ST2000DM005", "ST2000DM008", "ST3000DM007", "ST4000DM004", "ST6000DM003", "ST8000DM004",
    "ST500LM030", "ST1000LM048", "ST2000LM015", "ST3000LM024", "ST4000LM024", "ST5000LM000",
    "ST5000AS0011", "ST6000AS0002", "ST8000AS0002",
))  # fmt: skip
"""Hard disks that write overlapping tracks (SMR), manage them for themselves and do not say so in IDENTIFY DEVICE: what
their makers have listed. Western Digital, "On WD Red NAS Drives" (blog, 22 April 2020, table of client drives); Toshiba,
news of 28 April 2020 on SMR in consumer products (families and capacities; part numbers of its product pages); Seagate,
"CMR and SMR list" of internal drives and the product manuals of BarraCuda (100805918) and Archive HDD.
"""
SMR_SAID = "writes beyond its cache area slow down many times, which no model foretells"
PARTLY_SHINGLED = {
    frozenset({"red"}): ("plus", "pro", "WD Red of 2 to 6 TB are SMR as EFAX and are not as EFRX"),
    frozenset({"barracuda"}): ("pro", "es", "BarraCuda of 2 to 8 TB (ST2000DM008, ST4000DM004, ST8000DM004) are SMR"),
}
"""Families of which some are: with these words they are not, and which are."""
HOST_MANAGED = frozenset({"hc620", "hc650", "hc670", "hc680"})
PARAMETER = re.compile(r"[a-z]\w*\.[a-z]\w*")
"""A module's, as `nvme_core.io_timeout`: no drive is called so."""
TWO_ACTUATORS = re.compile(r"\b2x\d\d\b|\bmach\.?2\b|\bdual actuator", re.IGNORECASE)
"""Seagate Exos 2X14 and 2X18 (MACH.2)."""
NUMBERS = (
    (r"\bwd(\d\d)(?:\d(?=[a-z]{4}))?[a-z]{4}", "wd", 1e11, 1e12, "hdd"),
    (r"\bst(\d{3,5})[a-z]{2}", "seagate", 1e9, 1e9, "hdd"),
    (r"\bhu[hs]72\d\d(\d\d)[a-z]", "hgst", 1e12, 1e12, "hdd"),
    (r"\bm[gn]\d\d[a-z]{3}(\d\d)t", "toshiba", 1e12, 1e12, "hdd"),
    (r"\bhus7\d\dt(\d)t", "hgst", 1e12, 1e12, "hdd"),
    (r"\bwds(\d{3})g\d[a-z]\d[ab]", "wd", 1e9, 1e9, "sata"),
    (r"\bwds(\d)\d\dt\d[a-z]\d[ab]", "wd", 1e12, 1e12, "sata"),
    (r"\bwds(\d{3})g\d[a-z]\dc", "wd", 1e9, 1e9, "nvme"),
    (r"\bwds(\d)\d\dt\d[a-z]\dc", "wd", 1e12, 1e12, "nvme"),
    (r"\bct(\d{3,4})[pt]\d", "crucial", 1e9, 1e9, "nvme"),
    (r"\bct(\d{3,4})[a-z]", "crucial", 1e9, 1e9, "sata"),
    (r"\bskc\d{4}[sd]?/?(\d{3,4})g", "kingston", 1e9, 1e9, "nvme"),
    (r"\bmtfdda[a-z](\d{3})t", "micron", 1e9, 1e9, "sata"),
    (r"\bsa400(?:s3\d|m8)?/?(\d{2,4})g", "kingston", 1e9, 1e9, "sata"),
    (r"\bmz7[a-z]{2}(\d{3})[a-z]", "samsung", 1e9, 1e9, "sata"),
    (r"\bmz[vq][a-z]{1,2}\d?(\d{3})[a-z]", "samsung", 1e9, 1e9, "nvme"),
    (r"\bssdsc\w{3}(\d{3})g", "intel", 1e9, 1e9, "sata"),
    (r"\bssdpe\w{3}(\d{3})t", "intel", 1e11, 1e11, "nvme"),
)
"""Makers' numbers: form, maker, bytes of a step, a word of the class; of WD with three digits (`WD101KFBX`) the first two are terabytes."""
ROLES = {"nvme": "NVMe SSD", "ssd": "SATA SSD", "sn": "NVMe SSD"}


@dataclass(frozen=True)
class Known:
    """A drive model and the words that it goes by."""

    name: str
    title: str
    kind: str
    """`hard disk`, `SATA SSD`, `NVMe SSD`; of others what the model file says."""
    makers: frozenset[str]
    words: frozenset[str]
    plain: frozenset[str]
    """Words of its id and of its title before a bracket."""
    capacity_bytes: int
    sold_bytes: float
    """The capacity that its title names: of some the model is of a smaller edition."""
    rpm: float | None

    @property
    def size_text(self) -> str:
        """Of the model."""
        return _size(self.capacity_bytes)

    @property
    def sizes_text(self) -> str:
        """What it is sold with, and what the model has of it where that is less."""
        is_whole = abs(math.log(self.sold_bytes / self.capacity_bytes)) < SAME_CAPACITY
        return self.size_text if is_whole else f"{_size(self.sold_bytes)}, modelled with {self.size_text}"


def _size(size_bytes: float) -> str:
    """Three significant digits in TB or GB (powers of ten); from 950 GB on in TB."""
    terabytes = size_bytes / 1e12
    return f"{terabytes:.3g} TB" if terabytes >= 0.95 else f"{size_bytes / 1e9:.3g} GB"


@dataclass(frozen=True)
class DriveQuery:
    words: frozenset[str]
    """Without makers and sizes."""
    makers: frozenset[str]
    capacity_bytes: float | None
    rpm: float | None = None

    @property
    def kind(self) -> str | None:
        """The class that the words name; what is said outright wins over what a family usually is."""
        if self.rpm:
            return "hard disk"
        said = next((ROLES[word] for word in ROLES if word in self.words), None)
        return said or next((FAMILIES[word] for word in sorted(self.words) if word in FAMILIES), None)


def editions_hint(name: str) -> str:
    """Which models have the edition that `name` asks for in vain; where none has, who lists what there is."""
    edition = name.rpartition("/")[2]
    having = [id for id in _core.drive_models() if edition in json.loads(_core.drive_model(id)).get("variants", {})]
    if having and name.count("/") == 1:
        return f"`/{edition}` exists of {', '.join(having)}"
    return f"`seekwise explain {name.partition('/')[0]}` lists its editions"


def find(name: str) -> str:
    """The id of the model that `name` means (an edition of it included). UsageError with the nearest where there is
    none."""
    plain = name.strip().removeprefix(PREFIX)
    try:
        identifier = str(json.loads(_core.drive_model(plain))["id"])
    except ValueError as error:
        if plain.partition("/")[0] in _core.drive_models():
            raise UsageError(str(error), editions_hint(plain)) from None
    else:
        return plain if "/" in plain else identifier
    asked = read(plain)
    matching = [model for model in shipped_models() if _is(asked, model)]
    # `Samsung 980` is not the 980 PRO: the one with the fewest words that were not said.
    fewest = min((len(model.plain - asked.words) for model in matching), default=0)
    matching = [model for model in matching if len(model.plain - asked.words) == fewest]
    if len(matching) == 1 or (matching and _is_plainly_nearer(asked, matching)):
        return min(matching, key=lambda model: _distance(asked, model)).name
    if matching:
        shown = ", ".join(model.name for model in matching[:SHOWN_MOST])
        raise UsageError(f"`{plain}` means several drive models: {shown}", "name one of them")
    names = [model.name for model in shipped_models()]
    spelt = suggestion.nearest(plain, names, MISSPELT) or _begun(asked)
    if spelt is not None:
        raise UsageError(f"no drive model is called `{plain}`", f"did you mean `{spelt}`?")
    nearest, why = closest(plain)
    if nearest is None:
        raise UsageError(why, "`seekwise tune PATH` measures it where it is; `seekwise explain smr` says more")
    raise UsageError(why, f"`{PREFIX}{nearest.name}` takes it; `seekwise explain models` lists all")


def closest(plain: str) -> tuple[Known | None, str]:
    """(the model that is most like a drive without one, the sentence that says so); none for a drive of another kind.
    UsageError where nothing was said of it."""
    asked, name = read(plain), plain.replace("_", " ")
    if is_shingled(plain):
        return None, f"{name} records shingled (SMR): {SMR_SAID}"
    if TWO_ACTUATORS.search(plain):
        return None, (
            f"{name} has two actuators: two streams in its two halves get up to twice the rate, one stream gets none of it, and no model does that"
        )
    if asked.words & HOST_MANAGED:
        return None, f"{name} is host-managed SMR: it takes the writes of a zone in order alone, which no model does"
    nearest, why = (None, "") if PARAMETER.fullmatch(plain) else _nearest(asked)
    if nearest is None:
        raise UsageError(f"no drive model is called `{plain}`", "`seekwise explain models` lists them")
    partly = next(
        (
            f". Some are shingled: {rest}"
            for family, (*others, rest) in PARTLY_SHINGLED.items()
            if family <= asked.words and not asked.words & {*others, "ssd", "nvme"}
        ),
        "",
    )
    return nearest, f"no drive model of {name}; nearest: {nearest.name} ({nearest.title}), because {why}{partly}"


def is_shingled(model: str | None) -> bool:
    """Whether a maker lists the drive, `WDC WD40EFAX-68JH4N0`, as SMR."""
    return any(word.partition("-")[0].upper() in SHINGLED for word in re.split(r"[\s_]", model or ""))


def _begun(asked: DriveQuery) -> str | None:
    """The one model of which every word was said or begun, as `980 PR` is of the 980 PRO."""
    own = {word for word in asked.words if word not in ROLES}
    fit = [
        model
        for model in shipped_models()
        if asked.makers <= model.makers
        and own & model.words
        and all(any(word.startswith(each) for word in model.words) for each in own)
        and (asked.capacity_bytes is None or _distance(asked, model) <= math.log1p(SAME_CAPACITY))
    ]
    return fit[0].name if len(fit) == 1 else None


def read(text: str) -> DriveQuery:
    """`WD Red 4 TB` as maker, family and capacity."""
    plain = text.lower().replace("_", " ").replace("-", " ")
    size: float | None = None
    rpm: float | None = None
    if capacity := re.search(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(tb|gb|t|g)\b", plain):
        size = float(capacity[1]) * (1e12 if capacity[2].startswith("t") else 1e9)
        plain = plain.replace(capacity[0], " ")
    if turns := re.search(r"\b(\d{4,5})\s*(?:rpm|u/min)|\b(5\.4|5\.9|7\.2|10|15)k\b", plain):
        rpm = float(turns[1] or 0) or 1e3 * float(turns[2])
        plain = plain.replace(turns[0], " ")
    maker, role = set[str](), set[str]()
    for form, name, step, of_three, word in NUMBERS:
        if (number := re.search(form, plain)) and size is None:
            size = float(number[1]) * (of_three if re.match(r"wd\d{3}", number[0]) else step)
            maker, role = {MAKERS[name]}, {word}
    # `970evo` is written without a space, too; `mx500` and `990p` are one word.
    plain = re.sub(r"\b(\d+)([a-z]{3,})", r"\1 \2", plain)
    words = role | {word for word in re.findall(r"[a-z]+\d[a-z0-9]*|[a-z]+|\d+[a-z0-9]*", plain) if len(word) > 1}
    makers = maker | {MAKERS[word] for word in words if word in MAKERS}
    return DriveQuery(frozenset(word for word in words if word not in MAKERS), frozenset(makers), size, rpm)


@functools.cache
def shipped_models() -> tuple[Known, ...]:
    """Every drive model that ships, without the disks of the recordings and the null device."""
    models = []
    for name in _core.drive_models():
        model = json.loads(_core.drive_model(name))
        if model["kind"] not in ("hdd", "ssd"):
            continue
        text = " ".join((name, model["name"], *model["aliases"]))
        own = read(text)
        capacity = SECTOR * int(model["parameters"]["capacity_sectors"]["value"])
        short = read(f"{name} {model['name'].partition('(')[0]}")
        sold = read(model["name"]).capacity_bytes or float(capacity)
        words = short.words - set(ROLES)
        models.append(
            Known(name, model["name"], _kind(model), own.makers, own.words, words, capacity, sold, _rpm(model))
        )
    return tuple(models)


def _rpm(model: Mapping[str, Mapping[str, Mapping[str, float]]]) -> float | None:
    return model["parameters"]["rpm"]["value"] if "rpm" in model["parameters"] else None


def _kind(model: Mapping[str, object]) -> str:
    if model["kind"] == "hdd":
        return "hard disk"
    attachment = str(model.get("attachment") or "")
    return {"sata": "SATA SSD", "nvme": "NVMe SSD"}.get(attachment, attachment)


def _is(asked: DriveQuery, model: Known) -> bool:
    """Everything that was said is true of the model; a class alone names none."""
    own = {word for word in asked.words if word not in ROLES}
    if not own or not asked.makers <= model.makers or not own <= model.words:
        return False
    return asked.capacity_bytes is None or _distance(asked, model) <= math.log1p(SAME_CAPACITY)


def _distance(asked: DriveQuery, model: Known) -> float:
    if not asked.capacity_bytes:
        return 0.0
    return min(abs(math.log(size / asked.capacity_bytes)) for size in (model.capacity_bytes, model.sold_bytes))


def _is_plainly_nearer(asked: DriveQuery, matching: list[Known]) -> bool:
    """One of them has the capacity that was said, and the others do not quite."""
    first, second = sorted(_distance(asked, model) for model in matching)[:2]
    return asked.capacity_bytes is not None and first < 0.03 < second


def _nearest(asked: DriveQuery) -> tuple[Known | None, str]:
    """(the model that shares most with what was said, what that is): class before maker, family and capacity."""
    if not (asked.kind or asked.makers or asked.capacity_bytes):
        return None, ""
    kind = asked.kind or (
        "hard disk" if asked.makers & {"Western Digital", "Seagate"} and asked.capacity_bytes else None
    )
    if kind is None and asked.capacity_bytes:
        kind = None if asked.makers else "hard disk"

    def score(each: Known) -> tuple[bool, bool, bool, int, float, bool]:
        return (
            kind is not None and each.kind == kind,
            asked.rpm is not None and each.rpm == asked.rpm,
            bool(asked.makers & each.makers),
            len((asked.words & each.words) - {*ROLES, "hdd", "sata"}),
            -_distance(asked, each),
            each.name in TYPICAL.values(),
        )

    optane = "optane" in asked.words
    candidates = [model for model in shipped_models() if model.kind in TYPICAL and ("optane" in model.words) <= optane]
    best = max(candidates, key=score)
    if not any(score(best)[:4]) and asked.capacity_bytes is None:
        return None, ""
    same = [f"it is the same class ({best.kind})"] if best.kind == kind else [f"it is the nearest class ({best.kind})"]
    same += (
        [f"of the same maker ({', '.join(sorted(best.makers & asked.makers))})"] if best.makers & asked.makers else []
    )
    same += [f"with {asked.rpm:.0f} rpm"] if asked.rpm and best.rpm == asked.rpm else []
    size = f"its capacity is {best.sizes_text}"
    if asked.capacity_bytes and _distance(asked, best) <= math.log1p(SAME_CAPACITY):
        size = f"its capacity is as asked ({best.sizes_text})"
    if asked.rpm and best.rpm not in (None, asked.rpm):
        size += f", its speed {best.rpm:.0f} rpm, not {asked.rpm:.0f}"
    return best, f"{' '.join(same)}; {size}"
