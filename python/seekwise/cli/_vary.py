"""How the outcome of `run --vary` is printed: conclusions that flip, those that flip within a stated range first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import click

from seekwise.cli import _output, _shown
from seekwise.report.insights.sensitivity import WHY_NONE, ParameterEffect, Sensitivity, moved
from seekwise.report.number_text import three
from seekwise.workload.study.quantity import time_text
from seekwise.workload.study.study import Study


@dataclass(frozen=True)
class Changed:
    """An outcome at one value of a parameter."""

    value: float
    outcome: str


@dataclass(frozen=True)
class FlippedConclusion:
    """A conclusion that depends on a parameter."""

    conclusion: str
    usual: str
    changed: list[Changed]
    within_stated_range: bool
    by_chance: bool


@dataclass(frozen=True)
class Varied:
    """One parameter and what depends on it."""

    parameter: dict[str, Any]
    effect: ParameterEffect
    values: list[float]
    left_out: list[dict[str, Any]]
    conclusions: list[dict[str, Any]]
    flips: list[FlippedConclusion]
    mean_rates: list[dict[str, Any]]


@dataclass(frozen=True)
class Varying:
    """`run STUDY --vary PARAM --json`."""

    SCHEMA: ClassVar = "seekwise.sensitivity/1"

    study: str
    seed: int
    parameters: list[Varied]
    holding: int
    """Conclusions that hold at every value within a stated range."""


def told(done: int, of: int, left_s: float) -> None:
    """Progress on standard error."""
    left = f", about {time_text(left_s)} left" if done < of else ""
    _output.progress(f"run {done} of {of}{left}")


def show(each: Sensitivity) -> None:
    """One parameter."""
    parameter = each.variation.parameter
    stated = (
        f"stated {three(parameter.low)} to {three(parameter.high)}" if parameter.is_uncertain else "no range stated"
    )
    tried = ", ".join(three(value) for value in each.variation.values if value not in each.left_out)
    click.echo(f"{parameter.key}: {three(parameter.value)} {parameter.unit} ({stated}); tried {tried}")
    for value, reason in each.left_out.items():
        click.echo(f"  left out {three(value)}: {reason}")
    if each.effect is not ParameterEffect.SOME:
        click.echo(f"  no effect: {WHY_NONE[each.effect]}\n")
        return
    total = len(each.conclusions[parameter.value])
    certain = [flip for flip in each.flips if not flip.by_chance]
    inside = [flip for flip in certain if flip.within_stated]
    outside = [flip for flip in certain if not flip.within_stated]
    by_chance = len(each.flips) - len(certain)
    if not certain and len(each.conclusions) > 1:
        click.echo(f"  none of {total} conclusions depends on it")
    beyond = " outside what is stated" if parameter.is_uncertain else ""
    for where, flips in ((" within the stated range", inside), (beyond, outside)):
        if flips:
            click.echo(f"  {len(flips)} of {total} conclusions flip{where}:")
        for flip in flips:
            changed = ", ".join(f"{outcome} at {three(value)}" for value, outcome in flip.changed.items())
            click.echo(f"    {flip.conclusion}: {flip.usual}, but {changed}")
    if by_chance:
        click.echo(f"  {by_chance} more change, as they do with another seed: they hang on chance")
    for line in moved(each):
        click.echo(f"  {line}")
    click.echo()


def summary(study: Study, found: Sequence[Sensitivity]) -> None:
    """Prints how many conclusions hold at every value that was tried; nothing where no parameter has a range in which they could."""
    if not any(each.variation.parameter.is_uncertain for each in found):
        return
    holding = _holding(found)
    chance = len({flip.conclusion for each in found for flip in each.flips if flip.within_stated and flip.by_chance})
    every = len(_names(found))
    click.echo(
        f"{holding} of {every} conclusions of study {study.name} hold at every value tried within a stated range"
        + (f"; {chance} of the others change with the seed alone" if chance else "")
    )


def _holding(found: Sequence[Sensitivity]) -> int:
    return len(_names(found) - {flip.conclusion for each in found for flip in each.flips if flip.within_stated})


def _names(found: Sequence[Sensitivity]) -> set[str]:
    """The study's conclusions, which a parameter without effect does not repeat."""
    return {name for each in found for name in each.conclusions[each.variation.parameter.value]}


def document(study: Study, seed: int, found: Sequence[Sensitivity]) -> Varying:
    """Each parameter, its values, and the conclusions that change with it."""
    return Varying(study.name, seed, [_varied(each) for each in found], _holding(found))


def _varied(each: Sensitivity) -> Varied:
    parameter = each.variation.parameter
    return Varied(
        parameter=asdict(parameter) | {"key": parameter.key},
        effect=each.effect,
        values=sorted(each.conclusions),
        left_out=[{"value": value, "reason": reason} for value, reason in each.left_out.items()],
        conclusions=[{"value": value, "outcomes": said} for value, said in sorted(each.conclusions.items())],
        flips=[
            FlippedConclusion(
                flip.conclusion, flip.usual, [Changed(*item) for item in flip.changed.items()], flip.within_stated,
                flip.by_chance,
            )
            for flip in each.flips
        ],
        mean_rates=[{"value": value, "mb_per_s": rates} for value, rates in sorted(each.figures.items())],
    )  # fmt: skip


def carry_out(study: Study, words: Sequence[str], backend: object, *, seed: int | None, as_json: bool) -> None:
    """Simulates the study at each value of the parameters and prints which conclusions hold. UsageError for unknown parameters."""
    from seekwise.report.insights import sensitivity as vary

    variations = vary.parsed(study, words)
    quiet = (lambda *_: None) if as_json else told
    found: list[Sensitivity] = []
    for each in vary.run(study, variations, backend, seed=seed, tell=quiet):
        found.append(each)
        if not as_json:
            # Many parameters take minutes: what is known by then stays when somebody has seen enough.
            show(each)
    if as_json:
        _shown.echo_json(document(study, study.design.seed if seed is None else seed, found))
    else:
        summary(study, found)
