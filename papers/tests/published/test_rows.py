"""A test for each row of the checklist that a name alone does not show: what the row says is done, not that a thing is called so.

The numbers in a test's name are the rows.
"""

from __future__ import annotations

import io
import json
from functools import cache

from rich.console import Console

from insights.test_insights import record
from seekwise import _core
from seekwise.linux import kernel_log
from seekwise.report import insights, outcome
from seekwise.report.explain import explain
from seekwise.report.rows import summary_rows, trial_rows
from seekwise.report.systems_answer import advice as answer
from seekwise.simulate import setup_lines
from seekwise.simulate.protocol import Options
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.simulate.trial_spec import default_scheduler
from seekwise.store.record import Record
from seekwise.workload.study import planning, starters
from seekwise.workload.study.study import Study
from seekwise_papers import publication
from seekwise_papers.printed_tables import Style, printed
from seekwise_papers.simulated import SimulatedResults
from seekwise_papers.words import conclusions, show_table


def study(name: str) -> Study:
    return starters.open_study(name)[0]


@cache
def records_of(name: str, system: str, repetitions: int = 5) -> tuple[Study, list[Record]]:
    """One system of a published study, simulated: five repeats of the whole protocol, as for questions about it."""
    whole = study(name)
    part = whole.model_copy(update={"system": [each for each in whole.system if each.name == system]})
    quiet = part.model_copy(update={"design": part.design.model_copy(update={"control": False, "sentinel": False})})
    backend = SimulatedBackend(Options(None))
    planned = planning.make(quiet, backend.describe(quiet), seed=1, repetitions=repetitions)
    with backend.session(planned, "rows", lambda _: None) as session:
        made = list(session.run(list(planned.trials), {}))
    return part, made


def test_rows_010_the_multi_queue_schedulers_came_with_4_12():
    def offered(kernel: str) -> set[str]:
        return {row["name"] for row in json.loads(_core.schedulers(kernel))["schedulers"] if row["available"]}

    for name in ("bfq", "kyber"):
        assert name not in offered("4.11") and name in offered("4.12")
    assert "cfq" in offered("4.20") and "cfq" not in offered("5.0")


def test_rows_013_the_default_is_what_that_kernel_chooses_for_that_device():
    for kernel, drive, chosen in (
        ("2.6.24", "st3250620ns", "cfq"),
        ("2.6.32", "st31000340sv", "cfq"),
        ("4.4", "samsung_850_evo", "cfq"),
        ("5.11", "generic_1tb_sata", "mq-deadline"),
        ("5.11", "samsung_970_evo_plus", "none"),
        ("6.12", "intel_p5800x", "none"),
        ("6.12", "crucial_mx500_1tb", "mq-deadline"),
    ):
        assert default_scheduler(kernel, drive) == chosen, (kernel, drive)


def test_rows_021_095_an_access_has_four_parts_that_add_up_to_what_tiotest_calls_latency():
    lines = [line.split() for line in explain("access time").text.splitlines()]
    processing, seek, settling, rotation, together = next(
        map(float, line[1:6]) for line in lines if line[:1] == ["wd2500ys"]
    )
    assert abs(processing + seek + settling + rotation - together) < 0.03
    part, made = records_of("article-2008", "A")
    phase = next(p for r in made if r.factors["threads"] == 1 for p in r.phases if p.operation == "rand_read")
    # tiotest's average latency is the whole access, not the rotational delay alone, which data sheets call so.
    assert phase.latency_mean_ns / 1e6 > 1.3 * rotation


def test_rows_024_the_tested_area_is_a_small_part_and_faster_than_the_data_sheet():
    source = SimulatedResults()
    assert 1 < source.model("A", "test_area_percent", ()) < 10
    columns = [line.split() for line in explain("access time").text.splitlines() if line.startswith("st3250620ns")]
    assert float(columns[0][-1]) < 8.5 < float(columns[0][-2])


def test_rows_025_the_random_read_rate_is_higher_with_eight_threads_than_with_one():
    _, made = records_of("article-2008", "A")
    known = insights.Means.from_records(made).values["rate"]
    for scheduler in ("noop", "deadline", "cfq"):
        assert known["A", scheduler, "rand_read", 8, 4096] > 1.5 * known["A", scheduler, "rand_read", 1, 4096]


def test_rows_035_042_the_drives_of_the_older_notebook_take_part_in_a_study():
    drives = {system.drive for system in study("nvme-page").system}
    assert drives == {"samsung_970_evo_plus", "generic_1tb_sata", "generic_sata_t430s"}


def test_rows_065_066_069_073_boards_hosts_and_distributions_take_part_or_it_is_said_why_not():
    def host(name: str, system: str) -> str | None:
        return next(s for s in study(name).system if s.name == system).options.get("host")

    assert host("article-2008", "A") == host("tiobench-comparison", "HU") == "opteron_2212"
    # Its requests go past the page cache and wait for the drive: no host model takes part.
    assert host("ssd-raid10-chunk", "R10_1") is None
    assert host("nvme-page", "SATA") == "i7_6700k"
    assert host("nvme-page", "NVME") == "i7_1165g7"
    assert next(s for s in study("tiobench-comparison").system).options["processors"] == 2


def test_rows_071_the_report_compares_the_two_kernels_of_the_chunk_study():
    systems = [s for s in study("ssd-raid10-chunk").system if s.name in ("SSD", "SSD-4.4")]
    made = [
        record(name, "deadline", "rand_read", 1, throughput, size=size)
        for name, factor in (("SSD", 1.0), ("SSD-4.4", 0.72))
        for size, throughput in ((8192, 64 * factor), (2**20, 460))
    ]
    (pair,) = [each for each in insights.everything(made, systems) if each.kind == "pair"]
    assert pair.text.startswith(
        "kernel 4.1 against 4.4 (SSD against SSD-4.4): from +0 % (1m requests) to +39 % (8k requests)"
    )


def test_rows_082_088_090_103_109_114_115_118_119_123_the_setup_prints_the_whole_preparation():
    article, chunk, page = (setup_lines.lines(study(n)) for n in ("article-2008", "ssd-raid10-chunk", "nvme-page"))
    assert "tiotest -t 8 -f 1200 -b 4096 -r 1000 -d /mnt/test" in article
    assert "tw_cli /c0/u0 set qpolicy=off" in article and "tw_cli /c0/p0 show NCQ" in article
    boot = next(line for line in article if line.startswith("# GRUB"))
    assert {"single", "mem=256M", "elevator=noop"} <= set(boot.split())
    assert "fstrim -v /mnt/test" in chunk
    assert "echo bfq > /etc/modules-load.d/bfq.conf && modprobe bfq" in page
    four = article[article.index("# system S5x4, as root") :]
    members = [line for line in four if line.startswith("# sysfs.conf: block/DEVICE")]
    assert members[:4] == [f"# sysfs.conf: block/DEVICE{n}/queue/scheduler = noop" for n in (1, 2, 3, 4)]


def test_rows_089_120_the_ncq_state_is_read_from_the_kernel_log():
    log = "[1.5] ata1.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 31/32)\n[1.6] ata2.00: 1 sectors, multi 1: LBA48 NCQ (depth 0/32)\n"
    assert [(s.port, s.state, s.used) for s in kernel_log.states(log)] == [("ata1.00", "on", 31), ("ata2.00", "off", 0)]


def test_rows_093_the_programs_fault_counts_cpu_time_above_one_hundred_per_cent():
    _, made = records_of("article-2008", "S5", repetitions=4)
    shares = [float(phase.details["printed"]["syscpu"]) for r in made for phase in r.phases]
    assert max(shares) > 100


def test_rows_100_gains_are_told_in_per_cent():
    assert outcome.times(1.07, 1.08, more_is_better=True) == "7 to 8 % higher"
    assert outcome.times(0.91, 0.95, more_is_better=False) == "5 to 9 % shorter"
    assert outcome.times(20.0, 25.0, more_is_better=True) == "20 to 25 times as high"


def test_rows_101_a_table_divides_the_array_by_the_single_ssd():
    chosen = next(grid for grid in publication.of_study("ssd-raid10-chunk").grid if grid.against == "SSD")
    made = [record(n, "deadline", "rand_read", 1, r, size=131072) for n, r in (("SSD", 300), ("R10_1", 660))]
    (table,) = printed([], [chosen], made, Style()).grids
    (cell,) = table.rows["rand_read"]["R10_1"]
    assert round(cell.value, 2) == 2.2 and round(cell.text, 2) == 2.2


def test_rows_157_158_159_160_161_162_163_164_166_agreement_is_told_in_words():
    article = publication.of_study("article-2008")
    assert [table.number for table in article.table] == list(range(1, 9))
    assert sum(len(words) for t in article.table for b in t.block for words in b.text.values()) == 168
    _, made = records_of("article-2008", "A")
    shown = printed(article.table[:1], [], made, Style()).tables[0]
    console = Console(file=io.StringIO(), width=80)
    show_table(shown, console)
    assert "of 12 winners as published" in console.file.getvalue()
    assert "published" in console.file.getvalue() and "✓" not in console.file.getvalue()


def test_rows_167_172_branches_are_found_and_cpu_efficiency_is_constant_and_equal():
    # A trial has few ticks of processor time: the means of five repeats differ by about what they scatter.
    part, made = records_of("article-2008", "A", repetitions=10)
    found = insights.everything(made, part.system)
    groups = next(f for f in found if f.kind == "groups" and f.numbers["operation"] == "seq_read")
    assert [sorted(members) for members in groups.numbers["groups"]] == [["deadline", "noop"], ["anticipatory", "cfq"]]
    assert groups.text.endswith("level at 1 thread")
    equal = [f for f in found if f.kind == "cpu_equal" and f.numbers["operation"] == "seq_read"]
    assert equal and "no difference beyond" in equal[0].text and "across settings or threads" in equal[0].text
    means = {}
    for r in made:
        for phase in r.phases:
            if phase.operation == "seq_read" and r.factors["threads"] == 8:
                means.setdefault(r.setting, []).append(float(phase.details["printed"]["syscpu"]))
    shares = {name: sum(values) / len(values) for name, values in means.items()}
    assert min(shares["noop"], shares["deadline"]) > max(shares["anticipatory"], shares["cfq"])


def test_rows_182_advice_by_use_for_hardware_raid_1():
    part, made = records_of("article-2008", "A")
    found = answer(part, made)
    by_use = {choice.use: choice for choice in found.choices}
    assert set(by_use["file-server"].named) == {"noop", "deadline"}
    assert by_use["database-inserts"].named == ("cfq",)
    published = {
        row.use: set(row.settings) for row in publication.of_study("article-2008").conclusion if row.system == "A"
    }
    assert set(by_use["file-server"].named) <= published["file-server"]


def test_rows_202_the_comparison_with_and_without_ncq_is_part_of_the_study():
    on, off = study("tiobench-comparison").system
    assert (on.options["ncq"], off.options["ncq"]) == ("on", "off")
    made = [
        record(n, "cfq", "rand_read", t, throughput) for n, throughput in (("HU", 0.9), ("HU0", 0.6)) for t in (1, 16)
    ]
    (pair,) = [each for each in insights.everything(made, (on, off)) if each.kind == "pair"]
    assert pair.text == "NCQ on against off (HU against HU0): +50 % in random reading"


def test_rows_096_system_and_waiting_shares_stand_beside_each_other():
    (row,) = summary_rows(trial_rows([record("A", "cfq", "seq_read", 1, 100)]))
    assert row["sys_cpu_percent"] == 20.0 and row["cpu_wait_percent"] is None


def test_rows_204_advice_by_load_goes_up_to_sixteen_threads():
    comparison = study("tiobench-comparison")
    assert comparison.answer.by_threads and max(comparison.workload[0].threads) == 16
    made = []
    for repetition in (1, 2, 3):
        for t in (1, 2, 4, 8, 16):
            for setting, throughput in (("noop", 50 if t > 2 else 80), ("cfq", 80)):
                made.append(record("HU", setting, "seq_read", t, throughput + 0.01 * repetition, repetition=repetition))
    assert "HU by load: 1 to 2 threads: no difference; 4 to 16 threads: cfq" in answer(comparison, made).reasons


def test_rows_205_writing_on_nvme_is_set_beside_the_publication():
    page = study("nvme-page")
    (published,) = publication.of_study("nvme-page").conclusion
    assert (published.system, published.use, published.settings) == ("NVME", "writing", ["mq-deadline"])
    made = [
        record("NVME", setting, "seq_write", 1, throughput + 0.1 * repetition, repetition=repetition)
        for repetition in (1, 2, 3)
        for setting, throughput in (("none", 500), ("mq-deadline", 500), ("bfq", 400))
    ]
    said = answer(page, made)
    assert "none or mq-deadline" in said.headline
    (differs,) = conclusions(said.choices, [published])
    assert "NVME for writing: published mq-deadline, here none or mq-deadline" in differs


def test_rows_081_every_named_use_can_be_advised_for():
    for use in ("file-server", "database-inserts", "web-server", "desktop"):
        assert f"seekwise advise RUN --for {use}" in explain(use).text


def test_rows_085_165_199_gnome_disks_stands_beside_fio_in_tables_of_a_study():
    """Reading, both agree; samples of 1 MiB are written at less than half of fio's rate, of 20000 KiB at nearly the same."""
    _, records = records_of("ssd-raid10-gnome-disks", "R10_1")
    chosen = [grid for grid in publication.of_study("ssd-raid10-gnome-disks").grid if grid.number == 3]
    shown = printed((), chosen, records, Style()).grids[0]
    read, write = shown.rows["seq_read"]["R10_1"], shown.rows["seq_write"]["R10_1"]
    assert [round(cell.value, 1) for cell in read] == [1.0, 1.0]
    assert write[0].value < 0.5
    assert 0.8 < write[1].value < 1.0
    assert write[0].text == 0.49
