"""The validations of a run that goes on: as a picture, and as a line of text.

In:   scores, and after how many updates each was.
Out:  SVG with one panel per score, its best value marked; a sparkline such as ▁▃▅▆▇█.
Not:  figures of several runs (report/figures.py), when it is drawn (experiment/folder.py).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from polyref.draw.style import DARK, LIGHT, text_width
from polyref.draw.svg import svg_head, svg_text

_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 30
_WIDTH, _PANEL, _TOP, _LEFT, _RIGHT = 620.0, 190.0, 34.0, 62.0, 96.0  # points
_PLOT = 132.0  # the height of a panel's axes
_MOST_DOTS = 40
_DARK_RULES = {
    ".paper": f"fill:{DARK.paper}",
    ".ink": f"fill:{DARK.ink}",
    ".faint": f"fill:{DARK.faint}",
    ".rule": f"stroke:{DARK.rule}",
    ".curve": f"stroke:{DARK.lines[0]}",
    ".dot": f"fill:{DARK.lines[0]}",
    ".best": f"fill:{DARK.lines[1]}",
}


def sparkline(values: Sequence[float]) -> str:
    """One bar per value, from the lowest to the highest; of many, each bar is the mean of some."""
    count = min(len(values), _MOST_BARS)
    cuts = [len(values) * n // count for n in range(count + 1)] if count else []
    means = [math.fsum(values[start:end]) / (end - start) for start, end in pairwise(cuts)]
    known = [value for value in means if math.isfinite(value)]
    if not known:
        return ""
    low, high = min(known), max(known)
    scale = (len(_BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BARS[round((value - low) * scale)] if math.isfinite(value) else " " for value in means)


def draw_curve(points: Sequence[tuple[int, Mapping[str, float]]], lowest: Collection[str] = ()) -> str:
    """The scores of validations, each after so many updates. `lowest`: scores of which the lowest is best."""
    names = list(points[-1][1]) if points else []
    parts = svg_head(_WIDTH, _PANEL * max(1, len(names)) + 8, "Validations", "auto", _DARK_RULES)
    for number, name in enumerate(names):
        known = [(updates, scores[name]) for updates, scores in points if math.isfinite(scores.get(name, math.nan))]
        if known:
            parts += _panel(name, known, _PANEL * number, is_low_good=name in lowest)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(name: str, points: Sequence[tuple[int, float]], above: float, *, is_low_good: bool) -> list[str]:
    values = [value for _, value in points]
    low, high, step = _ticks(min(values), max(values))
    last = points[-1][0] or 1
    top, bottom = above + _TOP, above + _TOP + _PLOT
    right = _WIDTH - _RIGHT

    def place(updates: float, value: float) -> tuple[float, float]:
        return _LEFT + (right - _LEFT) * updates / last, bottom - _PLOT * (value - low) / (high - low)

    parts = [svg_text(_LEFT, top - 14, name, 13, "ink", LIGHT.ink, bold=True)]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    for number in range(round((high - low) / step) + 1):
        _, y = place(0, low + number * step)
        text = f"{low + number * step:.{digits}f}"
        parts.append(f'<path class="rule" d="M{_LEFT:.1f} {y:.1f}H{right:.1f}" stroke="{LIGHT.rule}"/>')
        parts.append(svg_text(_LEFT - 8, y + 4, text, 11, "faint", LIGHT.faint, ' text-anchor="end"'))
    at = [place(*point) for point in points]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in at)
    line = f'd="M{path}" fill="none" stroke="{LIGHT.lines[0]}" stroke-width="2" stroke-linejoin="round"'
    parts.append(f'<path class="curve" {line}/>')
    if len(at) <= _MOST_DOTS:
        parts += [f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{LIGHT.lines[0]}"/>' for x, y in at]
    updates, best = (min if is_low_good else max)(points, key=lambda point: point[1])
    x, y = place(updates, best)
    said = f"{best:.{2 if best >= 10 else 4}f}"
    parts.append(f'<circle class="best" cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{LIGHT.lines[1]}"/>')
    parts.append(svg_text(right + 12, min(max(y + 4, top + 8), bottom), said, 13, "ink", LIGHT.ink, bold=True))
    where = f"update {updates:,}"
    parts.append(svg_text(right + 12, min(max(y + 4, top + 8), bottom) + 15, where, 11, "faint", LIGHT.faint))
    end = f"{last:,} updates"
    parts.append(svg_text(right - text_width(end, 11), bottom + 17, end, 11, "faint", LIGHT.faint))
    return parts


def _ticks(low: float, high: float) -> tuple[float, float, float]:
    """Round limits around two values, and a round step between them."""
    span = high - low or abs(high) * 0.1 or 1.0
    size = 10.0 ** math.floor(math.log10(span / 3))
    step = next(size * n for n in (1, 2, 5, 10) if span / (size * n) <= 4)
    first, last = math.floor(low / step), math.ceil(high / step)
    return first * step, max(last, first + 1) * step, step
