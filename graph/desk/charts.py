"""Charts as SVG. They hold only numbers; their colours are in static/desk.css.

A chart stretches with its place, so its labels are not in it but beside it, in the templates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

WIDTH, HEIGHT = 600.0, 100.0
_SVG = Markup(
    '<svg class="{}" viewBox="0 0 {:g} {:g}" preserveAspectRatio="none" role="img" '
    'aria-label="{}">{}</svg>'
)


def line(
    label: str,
    values: Sequence[float | None],
    top: float,
    bands: Sequence[tuple[float, float] | None] = (),
    kind: str = "",
) -> Markup:
    """A line through values from 0 to `top`, with the band of their intervals behind it."""
    shapes = _grid(3)
    for run in _runs([None if band is None else n for n, band in enumerate(bands)]):
        ends = [(_x(n, len(values)), *(bands[n] or (0, 0))) for n in run]
        upper = [f"{x:.1f},{_y(high, top):.1f}" for x, _, high in ends]
        lower = [f"{x:.1f},{_y(low, top):.1f}" for x, low, _ in reversed(ends)]
        shapes += Markup('<polygon class="band" points="{}"/>').format(" ".join(upper + lower))
    for run in _runs([None if value is None else n for n, value in enumerate(values)]):
        points = [f"{_x(n, len(values)):.1f},{_y(values[n] or 0, top):.1f}" for n in run]
        if len(points) == 1:  # a line through one point shows nothing
            x = _x(run[0], len(values))
            points += [f"{x + 4:.1f},{_y(values[run[0]] or 0, top):.1f}"]
        shapes += Markup('<polyline class="line" points="{}"/>').format(" ".join(points))
    return _SVG.format(f"chart {kind}".strip(), WIDTH, HEIGHT, label, shapes)


@dataclass(frozen=True)
class Scale:
    """Values as heights from 0 to 1, and what is written along the axis, from the top."""

    heights: list[float]
    marks: list[str]


def share_scale(shares: Sequence[float]) -> Scale:
    """Shares on a scale from 0 to a round number above the largest of them.

    >>> share_scale([0.45, 0.1])
    Scale(heights=[0.9, 0.2], marks=['50%', '25%', '0'])
    """
    largest = max(shares) or 1.0
    tenth = 10.0 ** math.floor(math.log10(largest))
    top = min(n * tenth for n in (1, 2, 3, 4, 5, 10) if n * tenth >= largest)
    return Scale([share / top for share in shares], [f"{100 * top:g}%", f"{50 * top:g}%", "0"])


def tenths_scale(shares: Sequence[float], whole: int) -> Scale:
    """Shares of so many on a scale where each line is a tenth of the one above.

    Else one could not tell 1 % from 0.1 %, which matters most where fraud is rare.

    >>> tenths_scale([1.0, 0.1, 0.0], 100)
    Scale(heights=[1.0, 0.5, 0.0], marks=['100%', '10%', '0'])
    """
    tenths = max(math.ceil(math.log10(max(whole, 1))), 1)
    heights = [1 + math.log10(share) / tenths if share else 0.0 for share in shares]
    return Scale(heights, [*(f"{100 / 10**n:g}%" for n in range(tenths)), "0"])


def sparkline(label: str, counts: Sequence[float]) -> Markup:
    """Counts over time as small bars."""
    top, width = max([*counts, 1]), 100 / max(len(counts), 1)
    heights = [20 * count / top for count in counts]
    bars = [(n * width, 20 - height, width * 0.8, height) for n, height in enumerate(heights)]
    return _SVG.format("spark", 100, 20, label, _rectangles(bars))


def funnel(label: str, counts: Sequence[int]) -> Markup:
    """How many are left after each stage, as bars from top to bottom."""
    top, height = max([*counts, 1]), 100 / max(len(counts), 1)
    widths = [100 * count / top for count in counts]
    bars = [(50 - w / 2, n * height, w or 0.5, height * 0.86) for n, w in enumerate(widths)]
    return _SVG.format("funnel", 100, 100, label, _rectangles(bars))


def interval(label: str, value: float, low: float, high: float) -> Markup:
    """A share with its interval, on a scale from 0 to 1."""
    shapes = Markup(
        '<rect class="track" x="0" y="6" width="100" height="4"/>'
        '<rect class="range" x="{:.1f}" y="5" width="{:.1f}" height="6"/>'
        '<rect class="value" x="{:.1f}" y="2" width="1.6" height="12"/>'
    ).format(100 * low, max(100 * (high - low), 0.8), min(max(100 * value - 0.8, 0), 98.4))
    return _SVG.format("interval", 100, 16, label, shapes)


def cut_curve(label: str, scale: Scale, here: int, hints: Sequence[str], kind: str) -> Markup:
    """A figure cut by cut, the present cut, and what is said of each under the mouse."""
    size, width = len(scale.heights), WIDTH / max(len(scale.heights) - 1, 1)
    points = " ".join(f"{_x(n, size):.1f},{_y(y, 1):.1f}" for n, y in enumerate(scale.heights))
    shapes = Markup(
        '<polyline class="line" points="{}"/><line class="here" x1="{x:.1f}" x2="{x:.1f}" y1="0" '
        'y2="{:g}"/>'
    ).format(points, HEIGHT, x=_x(here, size))
    for n, hint in enumerate(hints):
        shapes += Markup(
            '<rect x="{:.1f}" y="0" width="{:.1f}" height="{:g}"><title>{}</title></rect>'
        ).format(_x(n, size) - width / 2, width, HEIGHT, hint)
    return _SVG.format(
        f"chart curve {kind}", WIDTH, HEIGHT, label, _grid(len(scale.marks)) + shapes
    )


def _rectangles(bars: Iterable[tuple[float, float, float, float]]) -> Markup:
    """Bars by their x, y, width and height."""
    one = Markup('<rect x="{:.2f}" y="{:.2f}" width="{:.2f}" height="{:.2f}"/>')
    return Markup().join(one.format(*bar) for bar in bars)


def _grid(lines: int) -> Markup:
    places = (0.5 + (HEIGHT - 1) * n / (lines - 1) for n in range(lines))
    line = Markup('<line class="grid" x1="0" x2="{:g}" y1="{y:g}" y2="{y:g}"/>')
    return Markup().join(line.format(WIDTH, y=y) for y in places)


def _x(n: int, of: int) -> float:
    return WIDTH * n / max(of - 1, 1)


def _y(value: float, top: float) -> float:
    return HEIGHT - 1 - (HEIGHT - 2) * min(max(value / top if top else 0.0, 0.0), 1.0)


def _runs(numbers: Sequence[int | None]) -> Iterator[list[int]]:
    """The stretches without a gap."""
    for is_known, group in groupby(numbers, key=lambda n: n is not None):
        if is_known:
            yield [n for n in group if n is not None]
