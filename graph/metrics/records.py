"""What a rule does on labelled rows: where it fires, how often it is right there, and what it adds.

It counts columns, batch by batch, and does not know where they come from.
"""

from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.intervals import Share
from acegraph.state import DECLINE
from acegraph.state.values.verdict import Verdict

Rows = NDArray[np.bool_]


@dataclass
class Counts:
    """Fired rows, and what their labels and amounts say."""

    fires: int = 0
    frauds: int = 0
    honest: int = 0
    fraud_amount: float = 0.0
    """The amounts of these frauds together."""
    honest_amount: float = 0.0

    def add(self, fired: Rows, fraud: Rows, honest: Rows, amounts: NDArray[np.float64]) -> None:
        """Count the rows of a batch; an amount that is not known is NaN."""
        frauds, honests = fired & fraud, fired & honest
        self.fires += int(np.count_nonzero(fired))
        self.frauds += int(np.count_nonzero(frauds))
        self.honest += int(np.count_nonzero(honests))
        self.fraud_amount += float(np.nansum(amounts[frauds]))
        self.honest_amount += float(np.nansum(amounts[honests]))


@dataclass
class Record:
    """How a rule does on rows, or a playbook that declines some of them."""

    name: str
    verdict: Verdict
    rows: int = 0
    all_frauds: int = 0
    all_honest: int = 0
    undecided: int = 0
    """Rows that a playbook leaves undecided."""
    fired: Counts = field(default_factory=Counts)
    """Of a playbook: the rows that it declines."""
    added: Counts | None = None
    """Of a rule: the fired rows on which the playbook without it does not say the same."""

    def add(
        self,
        fired: Rows,
        fraud: Rows,
        honest: Rows,
        amounts: NDArray[np.float64],
        says_so: Rows | None = None,
    ) -> None:
        """Count the rows of a batch; `says_so`: where the playbook says the same without it."""
        self.rows += len(fired)
        self.all_frauds += int(np.count_nonzero(fraud))
        self.all_honest += int(np.count_nonzero(honest))
        self.fired.add(fired, fraud, honest, amounts)
        if says_so is not None:
            self.added = self.added or Counts()
            self.added.add(fired & ~says_so, fraud, honest, amounts)

    @property
    def right(self) -> Share:
        """Of the labelled rows on which it fires, those whose label is its verdict."""
        part = self.fired.frauds if self.verdict == DECLINE else self.fired.honest
        return Share(part, self.fired.frauds + self.fired.honest)

    @property
    def recall(self) -> float:
        """The share of the rows labelled with its verdict on which it fires."""
        agreeing = self.all_frauds if self.verdict == DECLINE else self.all_honest
        return self.right.part / agreeing if agreeing else 0.0

    def to_json(self) -> dict[str, object]:
        """All figures by name."""
        right = self.right
        others = self.all_honest if self.verdict == DECLINE else self.all_frauds
        wrong = (right.whole - right.part) / others if others else 0.0
        figures = dict(zip(("precision_low", "precision_high"), right.interval, strict=True))
        figures |= {"recall": self.recall, "false_positive_rate": wrong}
        figures["precision"] = right.value or 0.0
        return asdict(self) | {name: round(figure, 6) for name, figure in figures.items()}
