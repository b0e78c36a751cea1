"""A short stretch of a drive's work as a picture: the head's path, what the drive did, which thread waited where,
requests under way.

All tracks of a panel share one time axis. Shapes tell what colours tell too: each kind of work has a row of its own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from seekwise.number_text import three
from seekwise.report.looks import Look
from seekwise.trace.close_up import CloseUp, ServedRequest
from seekwise.workload.study.quantity import latency_text

PATH_HEIGHT, GAP, ROW, LANES_MOST, DEPTH_HEIGHT = 96, 10, 7, 16, 30
TOP, WIDTH = 6, 1000
APART = 0.7
"""Strokes closer than this, in thousandths of the width, are drawn as one."""
LONG = 3.0
TIPS_MOST = 200
KINDS = {"seek": "seek", "rotation": "rotation", "transfer": "transfer", "own": "own work"}


@dataclass(frozen=True)
class Range:
    """What the axes of all panels of a chart show: the sectors that any setting touches, and the requests under way."""

    low: int
    high: int
    deepest: int = 1
    """Most requests under way in any of them."""

    @classmethod
    def spanning(cls, shown: Sequence[CloseUp]) -> Range:
        """Over all stretches, in sectors of 512 bytes; 0 to 1 where nothing was done."""
        places = [(one.sector, one.sector + one.sectors) for stretch in shown for one in stretch.requests]
        deepest = max((count for stretch in shown for _, count in stretch.depth), default=1)
        return cls(
            min((low for low, _ in places), default=0), max((high for _, high in places), default=1), max(deepest, 1)
        )

    def y(self, sector: float) -> float:
        """Pixels below the upper edge of the head's path."""
        return PATH_HEIGHT * (1 - (sector - self.low) / max(self.high - self.low, 1))

    @property
    def labels(self) -> list[tuple[float, str]]:
        """(share of the height from below, text in GB), with the digits that set the three apart."""
        low = 0 if self.low < 0.02 * self.high else self.low
        places = [(share, low + share * (self.high - low)) for share in (0, 0.5, 1)]
        texts = [gigabytes(place) for _, place in places]
        if len(set(texts)) < len(texts):
            step = max(self.high - low, 1) * 256 / 1e9
            decimals = min(max(0, 1 - math.floor(math.log10(step))), 6)
            texts = [f"{place * 512 / 1e9:.{decimals}f}" for _, place in places]
        return [(share, text) for (share, _), text in zip(places, texts, strict=True)]


def kinds(shown: Sequence[CloseUp]) -> list[tuple[str, str]]:
    """(name, title) of what the drive did in these stretches, each in a row of its own."""
    parts = [one.parts for stretch in shown for one in stretch.requests if one.parts is not None]
    if not parts:
        return [("busy", "busy")]
    return [kind for kind in KINDS.items() if kind[0] != "own" or any(part.own > 0 for part in parts)]


def gigabytes(sectors: float) -> str:
    """Sectors of 512 bytes as GB with three digits."""
    return three(sectors * 512 / 1e9)


def panel(close: CloseUp, look: Look, threads: Sequence[int], places: Range, words: str) -> Markup:
    """One setting. `threads`: lanes in order, and `places`: the same in every panel of a chart."""
    parts, labels, rules = [], [], []
    y = float(TOP)

    def titled(text: str, middle: float) -> None:
        labels.append(f'<text x="58" y="{middle + 4:.0f}" text-anchor="end">{escape(text)}</text>')

    parts.append(_path(close, y, places))
    for share, text in places.labels:
        titled(f"{text} GB" if share == 1 else text, y + PATH_HEIGHT * (1 - share))
    y += PATH_HEIGHT + GAP
    for name, title in kinds([close]):
        parts.append(_bars(f"k-{name}", _work(close, name), y, close.span_ms))
        titled(title, y + ROW / 2)
        y += ROW + 4
    y += GAP - 4
    lanes = list(threads[:LANES_MOST])
    for number, thread in enumerate(lanes):
        mine = [one for one in (*close.requests, *close.later) if one.thread == thread]
        parts.append(_bars("k-queued", [(one.arrival, one.issue) for one in mine], y, close.span_ms))
        parts.append(_bars("k-drive", [(one.issue, one.end) for one in mine], y, close.span_ms))
        if number == 0:
            titled("threads", y + ROW * len(lanes) / 2)
        y += ROW
    y += GAP
    parts.append(_depth(close, y, places.deepest))
    titled(f"{places.deepest}", y + 4)
    titled("0", y + DEPTH_HEIGHT)
    y += DEPTH_HEIGHT
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        rules.append(f'<line class="grid" x1="{100 * share:g}%" x2="{100 * share:g}%" y1="{TOP}" y2="{y:.0f}"/>')
        rules.append(
            f'<text x="{100 * share:g}%" y="{y + 14:.0f}" text-anchor="{anchor}">{three(share * close.span_ms) if share else 0}</text>'
        )
    total = y + 18
    name = f"{look.label}: head position, work of the drive, threads and requests under way over time"
    return Markup(
        f'<div class="panel wider"><h4>{escape(look.label)} <small>{escape(words)}</small></h4><div class="plot stretch">'
        f'<svg class="yaxis" width="62" height="{total:.0f}" aria-hidden="true">{"".join(labels)}</svg>'
        f'<svg class="tips {look.css}" width="100%" height="{total:.0f}" role="img" tabindex="0" aria-label="{escape(name)}" '
        f"data-tips='{_tips(close, places)}'><title>{escape(name)}</title>{''.join(rules)}"
        f'<svg width="100%" height="{total:.0f}" viewBox="0 0 {WIDTH} {total:.0f}" preserveAspectRatio="none">{"".join(parts)}</svg></svg></div>'
        f'<div class="xtitle">time [ms]</div></div>'
    )


def _x(close: CloseUp, time: float) -> float:
    return WIDTH * min(max(time, 0.0), close.span_ms) / close.span_ms


def _path(close: CloseUp, y: float, places: Range) -> str:
    """From the end of one request to the start of the next: where the head went."""
    if not close.requests:
        return ""
    points = [f"{_x(close, one.end):.0f} {y + places.y(one.sector + one.sectors / 2):.1f}" for one in close.requests]
    lines = f'<path class="curve thin" d="M{"L".join(points)}"/>'
    marks = []
    for write, css in ((False, "spot"), (True, "spot write")):
        those = [point for point, one in zip(points, close.requests, strict=True) if one.write == write]
        if those:
            marks.append(f'<path class="{css}" d="{"".join(f"M{point}h0" for point in those)}"/>')
    return lines + "".join(marks)


def _work(close: CloseUp, kind: str) -> list[tuple[float, float]]:
    """Times in which the drive did this; of a request its own work comes first, then seek, rotation, transfer."""
    if kind == "busy":
        return close.busy
    spans = []
    for one in close.requests:
        if one.parts is None or one.parts.cached:
            continue
        end = one.end
        for name in ("transfer", "rotation", "seek", "own"):
            length = getattr(one.parts, name)
            if name == kind and length > 0:
                spans.append((end - length, end))
            end -= length
    return spans


def _bars(css: str, spans: Sequence[tuple[float, float]], y: float, span_ms: float) -> str:
    """Thick strokes along a row; what cannot be told apart is one stroke."""
    joined: list[list[float]] = []
    for start, end in sorted(spans):
        start, end = max(start, 0.0) / span_ms * WIDTH, min(end, span_ms) / span_ms * WIDTH
        if end <= start:
            continue
        if end - start > LONG:
            end -= 1.0  # a seam between requests
        if joined and start <= joined[-1][1] + APART:
            joined[-1][1] = max(end, joined[-1][1])
        else:
            joined.append([start, end])
    if not joined:
        return ""
    middle = y + ROW / 2
    return f'<path class="{css}" d="{"".join(f"M{start:.1f} {middle:g}H{max(end, start + 0.8):.1f}" for start, end in joined)}"/>'


def _depth(close: CloseUp, y: float, most: int) -> str:
    path = f"M0 {y + DEPTH_HEIGHT:.1f}" + "".join(
        f"H{_x(close, time):.0f}V{y + DEPTH_HEIGHT * (1 - count / most):.1f}" for time, count in close.depth
    )
    return f'<path class="curve" d="{path}H{WIDTH}"/>'


def _tips(close: CloseUp, places: Range) -> str:  # each request, or every n-th of very many
    """Place and words of each request, for pointer and arrow keys."""
    rows = []
    step = -(-len(close.requests) // TIPS_MOST) or 1  # a drive may have served nothing in the stretch
    for number, one in list(enumerate(close.requests))[::step]:
        y = TOP + places.y(one.sector + one.sectors / 2)
        rows.append([round(_x(close, one.end)), round(y), tip(one, close, number)])
    if not rows:
        rows.append([500, TOP + PATH_HEIGHT // 2, f"no request was served in these {three(close.span_ms)} ms"])
    return str(escape(json.dumps(rows, separators=(",", ":"), ensure_ascii=True)))


def tip(one: ServedRequest, close: CloseUp, number: int) -> str:
    """`12.3 ms: read 4 KiB at 43.1 %, thread 2; scheduler 3.2 ms, seek 8.1 ms, rotation 4.2 ms, transfer 0.1 ms`."""
    size = f"{one.sectors / 2:g} KiB"
    words = f"{one.end:.4g} ms: {'write' if one.write else 'read'} {size} at {gigabytes(one.sector)} GB, thread {one.thread}"
    if number:
        words += f", {100 * close.jumps_at(number):.2g} % from the one before"
    words += f"; scheduler {latency_text(1e6 * (one.issue - one.arrival))}, drive {latency_text(1e6 * (one.end - one.issue))}"
    if one.parts is not None:
        if one.parts.cached:
            words += " (from its cache)"
        else:
            inside = [(title, getattr(one.parts, name)) for name, title in KINDS.items()]
            words += (
                f" ({', '.join(f'{title} {latency_text(1e6 * value)}' for title, value in inside if value > 0.0005)})"
            )
    if one.merged:
        words += f"; {one.merged + 1} I/Os merged"
    return words
