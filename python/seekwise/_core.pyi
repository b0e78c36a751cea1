"""The compiled core: simulator and drive models. Structured data crosses as JSON text."""

from collections.abc import Callable

def version() -> str:
    """Version of the compiled core; equal to the package's."""

def model_version() -> int:
    """Version of the simulator's physics; raised with every change that can alter a number."""

def simulate_cells(
    specs_json: str,
    threads: int = 1,
    progress: Callable[[int, int], object] | None = None,
    units: list[list[bytes]] | None = None,
) -> str:
    """Runs a JSON list of trials on `threads` workers without the interpreter lock; gives a JSON list of results in their order.

    A trial is described in `crates/sim/src/spec/mod.rs`. A trial that cannot run becomes `{"error": sentence}`.
    `progress(done, of)` is called as trials finish; what it raises stops the run and passes through.
    Raises ValueError if the text is no list of trials.
    """

def describe_cell(spec_json: str) -> str:
    """What one trial would be, as JSON, without running it: `settings` in force, `schedulers` of its kernel, `drive`, `capacity_bytes`.

    Raises ValueError with one sentence if it cannot be.
    """

def schedulers(kernel: str, rotational: bool = True) -> str:
    """Every scheduler with kernels, summary, tunables (unit, default of that kernel, range, meaning), processor cost, module, values after a
    switch and chart style, as JSON text."""

def drive_models() -> list[str]:
    """Ids of the drive models that come with the program."""

def drive_model(name: str) -> str:
    """A drive model by any of its names (`NAME/VARIANT` too) as JSON: `id`, `name`, `kind`, `parameters` with source and confidence, `known_parameters`.

    Raises ValueError with one sentence if there is none.
    """

def controller_models() -> list[str]:
    """Ids of the controller models that come with the program."""

def controller_model(name: str) -> str:
    """A controller model by any of its names as JSON: `id`, `name`, `kind`, `facts`, `parameters` with basis, source and range.

    Raises ValueError with one sentence if there is none.
    """

def host_models() -> list[str]:
    """Ids of the host models that come with the program."""

def host_model(name: str) -> str:
    """A host model by any of its names as JSON: `id`, `name`, `processors`, `parameters` with meaning, source and range.

    Raises ValueError with one sentence if there is none.
    """

def measure_drives(requests_json: str) -> str:
    """Closed-loop measurements of drive models, JSON list in, JSON list out; fields in `crates/pyext/src/drives.rs`. No clock is involved."""

def poisson_at_most(count: float, mean: float) -> float:
    """Share of a Poisson distribution of this mean at or below `count`."""

def binomial_at_most(count: float, trials: float, chance: float) -> float:
    """Share of a binomial distribution at or below `count` of `trials`."""

def t_quantile(degrees: float, share: float) -> float:
    """The value below which lies `share` of Student's t distribution."""

def gamma_quantiles(shapes: list[float], shares: list[float]) -> list[list[float]]:
    """For each shape the values below which lie these shares of a gamma distribution of scale 1."""

def beta_quantiles(a: float, b: float, shares: list[float]) -> list[float]:
    """The values below which lie these shares of a beta distribution."""

def digamma(values: list[float]) -> list[float]:
    """Derivative of the logarithm of the gamma function."""

def trigamma(values: list[float]) -> list[float]:
    """Derivative of `digamma`."""
