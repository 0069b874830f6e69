"""Pictures of an experiment as SVG, which a report and a notebook show alike; picture.svg draws."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import ArrayLike, NDArray

from acegraph.graph.experiments.words import BASELINE_NAMES, MODE_NAMES
from acegraph.graph.metrics.ranking import precision_recall
from acegraph.graph.metrics.run import Run

Runs = Mapping[str, Sequence[Run]]
_COLOURS: Final = {
    "vanilla": "#8a8a8a",
    "offline": "#1f77b4",
    "offline_online": "#2ca02c",
    "online": "#d95f02",
} | dict(zip(BASELINE_NAMES, "#9467bd #8c564b #e377c2 #17becf #bcbd22".split(), strict=True))
_ALONG: Final = ("vanilla", "offline", "offline_online", "online", "best_attainable")
"""Those that decide the stream in its order, and whoever knows its causes."""
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
    """A line through points. Those of other learners are dashed."""

    name: str
    colour: str
    points: NDArray[np.float64]
    is_dashed: bool = False

    @classmethod
    def of(cls, name: str, across: ArrayLike, up: NDArray[np.float64]) -> "Line":
        """The line of a mode or a learner."""
        label = (MODE_NAMES | BASELINE_NAMES)[name]
        return cls(label, _COLOURS[name], np.column_stack((across, up)), name in BASELINE_NAMES)

    @property
    def drawn(self) -> list[list[float]]:
        """The points that are drawn."""
        places = np.linspace(0, len(self.points) - 1, min(len(self.points), _MOST)).astype(int)
        drawn: list[list[float]] = self.points[places].tolist()
        return drawn


@dataclass(frozen=True)
class Picture:
    """Lines over two axes that begin at zero."""

    across: str
    up: str
    lines: list[Line]
    right: float = 1.0
    top: float = 1.0

    def _repr_html_(self) -> str:
        return SHELF.get_template("picture.svg").render(picture=self)

    __html__ = _repr_html_


def learning_pictures(runs_by_name: Runs) -> Iterator[Picture]:
    """How many frauds each mode has caught so far along the stream, and how many honest payments it
    has declined. Where fraud is rare this says more than any rate of a short window.
    """
    shown = {name: runs for name, runs in _shown(runs_by_name).items() if name in _ALONG}
    length = min((len(run.truths) for runs in shown.values() for run in runs), default=0)
    for up, is_fraud in (("frauds caught so far", True), ("honest payments declined", False)):
        lines = []
        for name, runs in shown.items():
            wanted = [(run.fraud == is_fraud) & run.declined for run in runs]
            so_far = np.cumsum(np.mean([one[:length] for one in wanted], axis=0))
            lines.append(Line.of(name, range(1, length + 1), so_far))
        top = max((float(line.points[-1, 1]) for line in lines), default=0.0)
        yield Picture("case of the held-out stream", up, lines, length or 1.0, top or 1.0)


def precision_picture(runs_by_name: Runs) -> Picture:
    """Precision against recall of every mode and learner, over all seeds together."""
    lines = []
    for name, runs in _shown(runs_by_name).items():
        run = Run.together(runs)
        if run.fraud.any():  # else there is no recall
            recall, precision = precision_recall(run.fraud, run.scores)
            # Each precision holds back to the recall before it: the area is average precision.
            recall, precision = np.insert(recall, 0, 0.0), np.insert(precision, 0, precision[0])
            lines.append(Line.of(name, np.repeat(recall, 2)[:-1], np.repeat(precision, 2)[1:]))
    return Picture("share of fraud caught (recall)", "share of declines that are fraud", lines)


def _shown(runs_by_name: Runs) -> dict[str, Sequence[Run]]:
    """Those that have cases, in the order of the colours."""
    return {n: runs_by_name[n] for n in _COLOURS if any(r.truths for r in runs_by_name.get(n, ()))}
