"""The answer of a study over several systems in words: which setting for each, what the others lose, by use and by
load."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from seekwise.grouping import grouped
from seekwise.judge.rule import THRESHOLD_SHARE
from seekwise.judge.system_choices import LITTLE_KNOWN, NOT_LONG_ENOUGH, OVERALL, SystemChoice, choices, is_single_drive
from seekwise.number_text import change, either, listed
from seekwise.report.answered import WITHIN_MODEL
from seekwise.report.content import Advice
from seekwise.report.insights import locks, protects
from seekwise.report.insights.means import NAMES
from seekwise.store.record import Record
from seekwise.workload.study import combination_key
from seekwise.workload.study.quantity import counted
from seekwise.workload.study.study import Study


def advice(study: Study | None, records: Sequence[Record], cautions: tuple[str, ...] = ()) -> Advice | None:
    """None where nothing competes, or where one system is all there is and the study asks for no answer of its own."""
    known = choices(study, records)
    if study is None or not known:
        return None
    overall = [choice for choice in known if choice.use == OVERALL.name and not choice.threads]
    drives = {system.name for system in study.system if is_single_drive(system)}
    said = [text for text in (locks.summary(records), protects.summary(records)) if text]
    return Advice(_headline(overall, drives), (*_reasons(known), *said), caution=cautions, choices=known)


def _headline(overall: Sequence[SystemChoice], drives: Collection[str]) -> str:
    """`Hardware RAID 1: deadline or noop. Software RAID 5: cfq.` `drives`: systems of one drive, which are named
    themselves."""
    kinds = grouped((choice.kind, choice) for choice in overall)
    first = overall[0]
    if len(overall) > 2 and all(choice.text == first.text for choice in overall) and first.named:
        return f"Best on each of the {len(overall)} systems: {first.text}"
    # Said once instead of after every name.
    once = len(overall) > 1 and all(choice.is_little_known for choice in overall)
    parts = []

    def said(choice: SystemChoice) -> str:
        return choice.short if once else choice.text

    for kind, members in kinds.items():
        title = f"Chunk for {kind}" if all(member.are_chunks for member in members) else kind[0].upper() + kind[1:]
        is_drive = all(member.system in drives for member in members)
        if len(members) == 1 or is_drive:
            parts += [f"{part.system if is_drive else title}: {said(part)}" for part in members]
            continue
        common = [name for name in members[0].named if all(name in member.named for member in members)]
        if common and len({member.is_level for member in members}) == 1:
            shared = members[0].short if members[0].is_level else either(_word(name) for name in common)
            little_known = any(member.is_little_known for member in members) and not once
            parts.append(f"{title}: {shared}{f' {LITTLE_KNOWN}' if little_known else ''}")
        else:
            # A family's name begins with its kind already.
            each = (f"{said(member)} ({member.system.removeprefix(kind).lstrip(', ')})" for member in members)
            parts.append(f"{title}: {'; '.join(each)}")
    return f"{'Not measured long enough. Fastest so far: ' if once else ''}{'. '.join(parts)}"


def shares(choices: Sequence[SystemChoice]) -> list[str]:
    """What each setting loses against the choice of its system, over all operations: a sentence for each system."""
    return [_why(choice) for choice in choices if choice.use == OVERALL.name and not choice.threads]


def _reasons(choices: Sequence[SystemChoice]) -> Iterator[str]:
    yield from shares(choices)
    for name in dict.fromkeys(choice.use for choice in choices if choice.use != OVERALL.name):
        said = grouped((choice.text, choice.system) for choice in choices if choice.use == name)
        if said:
            title = name.replace("-", " ").capitalize()
            yield f"{title}: {'; '.join(f'{text} on {listed(systems)}' for text, systems in said.items())}"
    for system in dict.fromkeys(choice.system for choice in choices if choice.threads):
        rows = [choice for choice in choices if choice.system == system and choice.threads]
        if len(rows) > 1:
            yield f"{system} by load: {'; '.join(f'{_counts(row.threads)}: {row.text}' for row in rows)}"


def _why(choice: SystemChoice) -> str:
    if not choice.named:
        return f"{choice.system}: {NOT_LONG_ENOUGH}, with {counted(choice.repeats, 'repeat')}"
    others = sorted((n for n in choice.rates if n not in choice.named), key=lambda n: -choice.rates[n])
    parts = [f"{choice.system}: {choice.text}"]
    if others:
        parts.append(", ".join(f"{_word(name)} {_loss(choice, name)}" for name in others))
    if not choice.is_level and choice.loss > THRESHOLD_SHARE["rate"]:
        operation, conditions = combination_key.parse(choice.loss_combination)
        where = conditions.get("threads", "")
        at = f" at {_counts((int(where),))}" if where.isdigit() else ""
        parts.append(f"{_word(choice.named[0])} loses at most {100 * choice.loss:.0f} % ({NAMES[operation]}{at})")
    return "; ".join(parts)


def _loss(choice: SystemChoice, name: str) -> str:
    ratio = choice.rates[name]
    if choice.is_simulated and ratio != 1 and abs(ratio - 1) <= choice.error:
        # Chunks that lose nowhere are named.
        return f"loses up to {100 * choice.losses[name]:.0f} % under a load" if choice.are_chunks else WITHIN_MODEL
    return "level" if round(100 * (ratio - 1)) == 0 else change(ratio)


def _word(setting: str) -> str:
    return setting.removeprefix("scheduler=")


def _counts(threads: tuple[int, ...]) -> str:
    if len(threads) == 1:
        return counted(threads[0], "thread")
    return f"{threads[0]} to {threads[-1]} threads"
