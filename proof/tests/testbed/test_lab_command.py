"""`seekwise lab`."""

from types import SimpleNamespace

from click.testing import CliRunner

from seekwise_proof.cli.lab import command
from seekwise_proof.testbed import image, kernels


def test_building_the_guests_runs_no_study(tmp_path, monkeypatch):
    built = []

    def build(kernel, tell):
        built.append(kernel.series)
        return SimpleNamespace(release=kernel.series, digest="0", initramfs="initramfs")

    monkeypatch.setattr(image, "build", build)
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(command, ["--build"], catch_exceptions=False)
    assert built == [kernel.series for kernel in kernels.KERNELS.values()]
    CliRunner().invoke(command, ["--build", "--kernel", "6.12"], catch_exceptions=False)
    assert built[-1] == "6.12" and list(tmp_path.iterdir()) == []


def test_a_study_without_a_drive_model_takes_the_one_that_is_named(monkeypatch):
    """The hint of a study that names no drive is `--target`."""
    asked = []
    monkeypatch.setattr("seekwise.commands.planned", lambda *args, **more: asked.append(args) or (None, None))
    monkeypatch.setattr("seekwise.commands.carried_out", lambda *args, **more: asked.append(more))
    words = ["schedulers", "--target", "generic_1tb_sata", "--kernel", "6.12"]
    CliRunner().invoke(command, words, catch_exceptions=False)
    assert asked[0][1].target == asked[1]["target"] == "generic_1tb_sata"
