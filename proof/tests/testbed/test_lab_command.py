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
