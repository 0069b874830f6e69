"""Pictures of an experiment as SVG, which a report and a notebook show alike; picture.svg draws."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from acegraph.graph.experiments.words import MODE_NAMES, label_of
from acegraph.graph.metrics.run import Run

Runs = Mapping[str, Sequence[Run]]
_COLOURS: Final = {
    "vanilla": "#8a8a8a",
    "offline": "#1f77b4",
    "offline_online": "#2ca02c",
    "online": "#d95f02",
    "best_attainable": "#bcbd22",
}
"""Of those that decide the stream in its order, and of whoever knows its causes."""
_MOST: Final = 600
"""A line has so many points at most: the eye sees no difference, and the file stays small."""
SHELF: Final = Environment(
    loader=PackageLoader("acegraph.graph.experiments.report", ""),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
"""The templates of reports and pictures."""


@dataclass(frozen=True)
class Line:
    """A line through points: pairs of across and up. Those of other learners are dashed."""

    name: str
    colour: str
    is_dashed: bool
    points: list[list[float]]


@dataclass(frozen=True)
class Picture:
    """Lines over two axes that begin at zero."""

    across: str
    up: str
    lines: list[Line]
    right: float
    top: float

    def _repr_html_(self) -> str:
        return SHELF.get_template("picture.svg").render(picture=self)

    __html__ = _repr_html_


def learning_pictures(runs_by_name: Runs) -> Iterator[Picture]:
    """How many frauds each mode has caught so far along the stream, and how many honest payments it
    has declined. Where fraud is rare this says more than any rate of a short window.
    """
    given = {name: runs_by_name.get(name, ()) for name in _COLOURS}
    shown = {name: runs for name, runs in given.items() if any(run.truths for run in runs)}
    length = min((len(run.truths) for runs in shown.values() for run in runs), default=0)
    for up, is_fraud in (("frauds caught so far", True), ("honest payments declined", False)):
        lines = []
        places = np.linspace(0, length - 1, min(length, _MOST)).astype(int)
        for name, runs in shown.items():
            wanted = [(run.fraud == is_fraud) & run.declined for run in runs]
            so_far = np.cumsum(np.mean([one[:length] for one in wanted], axis=0))
            points = np.column_stack((places + 1, so_far[places])).tolist()
            lines.append(Line(label_of(name), _COLOURS[name], name not in MODE_NAMES, points))
        top = max((line.points[-1][1] for line in lines), default=0.0)
        yield Picture("case of the held-out stream", up, lines, length or 1.0, top or 1.0)
