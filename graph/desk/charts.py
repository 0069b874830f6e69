"""Charts as SVG. They hold only numbers; their colours are in static/desk.css.

A chart stretches with its place, so its labels are not in it but beside it, in the templates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from markupsafe import Markup

from acegraph.graph.metrics.intervals import Estimate

_WIDTH: Final = 600.0
_HEIGHT: Final = 100.0
_SVG: Final = Markup(
    '<svg class="{}" viewBox="0 0 {:g} {:g}" preserveAspectRatio="none" role="img" '
    'aria-label="{}">{}</svg>'
)
_GRID: Final = Markup().join(
    Markup('<line class="grid" x1="0" x2="{:g}" y1="{y}" y2="{y}"/>').format(_WIDTH, y=y)
    for y in (0.5, 50, 99.5)
)


def line(label: str, values: Sequence[Estimate], top: float, kind: str = "") -> Markup:
    """A line through values from 0 to `top`, with the band of their intervals behind it.

    What is not known leaves a gap.
    """
    step, shapes = _WIDTH / max(len(values) - 1, 1), _GRID
    for is_known, group in groupby(enumerate(values), lambda one: not math.isnan(one[1].mean)):
        known = [(n * step, value) for n, value in group if is_known]
        if len(known) == 1:  # a line through one point shows nothing
            known.append((known[0][0] + 4, known[0][1]))
        ends = [(x, of.high) for x, of in known] + [(x, of.low) for x, of in reversed(known)]
        shapes += Markup('<polygon class="band" points="{}"/>').format(_points(ends, top))
        means = _points([(x, of.mean) for x, of in known], top)
        shapes += Markup('<polyline class="line" points="{}"/>').format(means)
    return _SVG.format(f"chart {kind}".strip(), _WIDTH, _HEIGHT, label, shapes)


def _points(places: Iterable[tuple[float, float]], top: float) -> str:
    heights = ((x, min(max(value / top if top else 0.0, 0.0), 1.0)) for x, value in places)
    return " ".join(f"{x:.1f},{_HEIGHT - 1 - (_HEIGHT - 2) * y:.1f}" for x, y in heights)


def interval(label: str, value: float, low: float, high: float) -> Markup:
    """A share with its interval, on a scale from 0 to 1."""
    shapes = Markup(
        '<rect class="track" x="0" y="6" width="100" height="4"/>'
        '<rect class="range" x="{:.1f}" y="5" width="{:.1f}" height="6"/>'
        '<rect class="value" x="{:.1f}" y="2" width="1.6" height="12"/>'
    ).format(100 * low, max(100 * (high - low), 0.8), min(max(100 * value - 0.8, 0), 98.4))
    return _SVG.format("interval", 100, 16, label, shapes)
