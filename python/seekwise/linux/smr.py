"""Hard disks that write overlapping tracks (SMR), manage them for themselves and do not say so in IDENTIFY DEVICE: what
their makers have listed.

Western Digital, "On WD Red NAS Drives" (blog, 22 April 2020, table of client drives); Toshiba, news of 28 April 2020 on
SMR in consumer products (families and capacities; part numbers of its product pages); Seagate, "CMR and SMR list" of
internal drives and the product manuals of BarraCuda (100805918) and Archive HDD, which state the way of recording.
"""

from __future__ import annotations

LISTED = frozenset((
    "WD20EFAX", "WD30EFAX", "WD40EFAX", "WD60EFAX", "WD20EZAZ", "WD60EZAZ", "WD10SPZX", "WD20SPZX", "WD10SPSX",
    "HDWD240", "HDWD260", "DT02ABA400", "DT02ABA600", "DT02ABA400V", "DT02ABA600V", "HDWL110", "HDWL120", "MQ04ABF100", "MQ04ABD200",
    "ST2000DM005", "ST2000DM008", "ST3000DM007", "ST4000DM004", "ST6000DM003", "ST8000DM004",
    "ST500LM030", "ST1000LM048", "ST2000LM015", "ST3000LM024", "ST4000LM024", "ST5000LM000",
    "ST5000AS0011", "ST6000AS0002", "ST8000AS0002",
))  # fmt: skip


def is_listed(model: str | None) -> bool:
    """Whether a maker lists the drive, `WDC WD40EFAX-68JH4N0`, as SMR."""
    return any(word.partition("-")[0].upper() in LISTED for word in (model or "").split())
