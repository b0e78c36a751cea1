"""Uses under a real kernel in a VM: the same answer, judged and shown in the same way, and marked as virtual."""

import json

import pytest

from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.workload.study import uses
from seekwise_proof.testbed import image, kernels, machine
from seekwise_proof.testbed import tune as virtual
from seekwise_proof.testbed.cpio import CpioEntry


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lab:nosuch"], "nosuch"),
        (["lab:"], "model"),
        (["lab:generic_1tb_sata", "--kernel", "2.6.24"], "no kernel 2.6.24"),
        (["lab:generic_1tb_sata", "--vary", "scheduler=cfq"], "cfq"),
        (["lab:generic_1tb_sata", "--also", "all"], "--also needs a real device"),
        (["lab:generic_1tb_sata", "--", "true"], "needs a real device"),
    ],
)
def test_what_the_testbed_cannot_do_is_one_error(tune, words, said):
    done = tune(*words)
    assert isinstance(done.exception, SeekwiseError), done.exception
    assert said in done.exception.message


def test_uses_that_mix_programs_with_fio_are_left_out_with_the_reason():
    left, said = virtual.check_uses(uses.chosen(None), named=False)
    assert said == [] and {"desktop-copy", "database", "streams"} <= {use.name for use in left}
    text = """
title = "Mixed"
[[job]]
name = "copy"
role = "foreground"
program = "copy"
judge = ["time"]
[[job]]
name = "reads"
role = "background"
pattern = "random read"
"""
    mixed = uses.loads(text, "mixed.toml")
    left, said = virtual.check_uses([mixed, *uses.chosen("direct-streams")], named=True)
    assert [use.name for use in left] == ["direct-streams"] and "side by side" in " ".join(said)
    with pytest.raises(UsageError, match="side by side"):
        virtual.check_uses([mixed], named=True)


def test_programs_have_a_guest_of_their_own_with_memory_for_their_data():
    model = virtual.model_of("lab:generic_1tb_sata", None)
    candidate = virtual.candidates(model, {}).all[0]
    trials = [virtual.GuestTrial(use, 0, candidate, 7) for use in uses.chosen("direct-streams,desktop-copy")]
    groups = virtual._groups(trials)
    assert [[trial.use.name for trial in group] for group in groups] == [["desktop-copy"], ["direct-streams"]]
    programs, fio = virtual._boots(
        groups, model, None, {"desktop-copy": {"cell/data/large.tar": CpioEntry.file(b"data")}}
    )
    assert programs.memory_mib > fio.memory_mib
    assert programs.files["cell/data/large.tar"].data == b"data" and "cell/data/large.tar" not in fio.files
    spec = json.loads(programs.files["cell/t0.programs"].data)
    assert (spec["foreground"], spec["background"]) == (["start"], ["copy"])
    assert [job["program"] for job in spec["crew"]["jobs"]] == ["start", "copy"]
    script = programs.files["cell/run.sh"].data.decode()
    assert "mke2fs" in script and "chroot /host" in script


def test_each_trial_has_drives_of_its_own_and_a_job_with_logs():
    model = virtual.model_of("lab:crucial_mx500_1tb", None)
    candidate = virtual.candidates(model, {}).all[0]
    trials = [virtual.GuestTrial(use, 0, candidate, 7) for use in uses.chosen("reads-beside-writer,direct-streams")]
    (boot,) = virtual._boots([trials], model, None, {})
    script = boot.files["cell/run.sh"].data.decode()
    assert script.count("serve t") == 4  # twice up, twice down
    # What goes through the page cache runs in a memory group, what does not ahead of the kernel's own threads.
    assert "chrt" in script.split("# trial 1")[0] and "limited " in script.split("# trial 1")[1]
    for number in (0, 1):
        text = boot.files[f"cell/t{number}.fio"].data.decode()
        assert "filename=/dev/nbd0" in text and "write_lat_log=" in text and "zero_buffers=1" in text


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_real_kernel_answers_and_the_same_seed_gives_the_same_figures(tune):
    try:
        machine.qemu()
        image.build(kernels.find("6.1"), print)
    except MissingError as error:
        pytest.skip(error.message)
    words = ("lab:generic_1tb_sata", "--for", "random-read-1", "--vary", "scheduler=mq-deadline,bfq", "--json")
    first, second = (json.loads(tune(*words).stdout) for _ in range(2))
    assert first["provenance"] == "virtual" and first["set"] == []
    assert first["uses"] == second["uses"]
    # One request at a time waits for the head, whatever orders the queue.
    (entry,) = first["uses"]
    assert all(each["verdict"] == "within" for each in entry["candidates"])
    throughputs = [each["value"] for each in entry["candidates"]]
    assert all(0.3 < throughput < 1.0 for throughput in throughputs), throughputs


def test_programs_that_only_some_machines_have_are_left_out_of_guests():
    for name in ("postgresql", "mariadb", "disk-images"):
        assert "the guest does not have" in virtual.can_run(uses.chosen(name)[0])
