"""How the outcome of `run --vary` is printed: conclusions that flip, those that flip within a stated range first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from seekwise.cli import _shown
from seekwise.findings.means import number
from seekwise.study.model import Study
from seekwise.study.quantity import time_text
from seekwise.study.vary import Sensitivity, moved

SCHEMA = "seekwise.sensitivity/1"


def told(done: int, of: int, left_s: float) -> None:
    """Progress on standard error."""
    left = f", about {time_text(left_s)} left" if done < of else ""
    click.echo(f"run {done} of {of}{left}", err=True)


def show(study: Study, found: Sequence[Sensitivity]) -> None:
    for each in found:
        parameter = each.variation.parameter
        stated = (
            f"stated {number(parameter.low)} to {number(parameter.high)}"
            if parameter.is_uncertain
            else "no range stated"
        )
        tried = ", ".join(number(value) for value in each.variation.values)
        click.echo(f"{parameter.key}: {number(parameter.value)} {parameter.unit} ({stated}); tried {tried}")
        total = len(each.conclusions[parameter.value])
        inside = [flip for flip in each.flips if flip.within_stated]
        outside = [flip for flip in each.flips if not flip.within_stated]
        if not each.flips:
            click.echo(f"  none of {total} conclusions depends on it")
        for title, flips in (("within the stated range", inside), ("outside what is stated", outside)):
            if flips:
                click.echo(f"  {len(flips)} of {total} conclusions flip {title}:")
            for flip in flips:
                changed = ", ".join(f"{outcome} at {number(value)}" for value, outcome in flip.changed.items())
                click.echo(f"    {flip.conclusion}: {flip.usual}, but {changed}")
        for line in moved(each):
            click.echo(f"  {line}")
        click.echo()
    certain = _certain(found)
    every = len(found[0].conclusions[found[0].variation.parameter.value]) if found else 0
    click.echo(
        f"{certain} of {every} conclusions of study {study.name} hold at every value tried within a stated range"
    )


def _certain(found: Sequence[Sensitivity]) -> int:
    names = set(found[0].conclusions[found[0].variation.parameter.value]) if found else set()
    return len(names - {flip.conclusion for each in found for flip in each.flips if flip.within_stated})


def document(study: Study, seed: int, found: Sequence[Sensitivity]) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "study": study.name,
        "seed": seed,
        "parameters": [
            {
                "parameter": asdict(each.variation.parameter) | {"key": each.variation.parameter.key},
                "values": list(each.variation.values),
                "conclusions": [
                    {"value": value, "outcomes": outcomes} for value, outcomes in sorted(each.conclusions.items())
                ],
                "flips": [
                    {
                        "conclusion": flip.conclusion,
                        "usual": flip.usual,
                        "changed": [{"value": value, "outcome": outcome} for value, outcome in flip.changed.items()],
                        "within_stated_range": flip.within_stated,
                    }
                    for flip in each.flips
                ],
                "mean_rates": [{"value": value, "mb_per_s": rates} for value, rates in sorted(each.figures.items())],
            }
            for each in found
        ],
        "holding": _certain(found),
    }


def carry_out(study: Study, words: Sequence[str], backend: object, *, seed: int | None, as_json: bool) -> None:
    from seekwise.study import vary

    variations = vary.parsed(study, words)
    quiet = (lambda *_: None) if as_json else told
    found = vary.run(study, variations, backend, seed=seed, tell=quiet)
    if as_json:
        _shown.echo_json(document(study, study.design.seed if seed is None else seed, found))
    else:
        show(study, found)
