"""How often a judge agrees with labels: its opinions teach only if that is often enough.

Every opinion is stored with its decision. When a label of another source comes, the two are
compared. The lower bound of the agreement counts, so that a judge that was never measured, or
hardly ever, is not believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from acegraph.nodes.evidence.backtest import wilson_interval
from acegraph.state import BulletPlaybook
from acegraph.state.ledger.lookups import labelled_with
from acegraph.state.values import is_in_share

_MEASURED_EVERY: Final = 50
"""So many opinions of a judge are weighed by one reading of the ledger."""


@dataclass(frozen=True)
class Agreement:
    """On how many labelled cases a judge said what the label says."""

    judge: str
    labels: int = 0
    agreed: int = 0

    @property
    def low(self) -> float:
        """The lower bound of the share of agreement (Wilson, 95 %)."""
        return wilson_interval(self.agreed, self.labels)[0]

    def weight(self, bar: float) -> float:
        """What an opinion counts beside a label: 0 below the bar, 1 where nothing is asked for."""
        if not bar:
            return 1.0
        return max(0.0, 2 * self.low - 1) if self.low >= bar else 0.0

    def in_words(self, bar: float) -> str:
        """The agreement, and what follows from it."""
        if not self.labels:
            return f"{self.judge} was never measured: its verdicts teach nothing"
        counts = f"count {self.weight(bar):.2f} of a label" if self.low >= bar else "teach nothing"
        return (
            f"{self.judge} agrees with {self.agreed} of {self.labels} labels (at least "
            f"{self.low:.2f}; bar {bar:g}): its verdicts {counts}"
        )


def agreements(playbook: BulletPlaybook) -> dict[str, Agreement]:
    """The agreement of every judge whose opinions the ledger holds."""
    found: dict[str, Agreement] = {}
    for one in labelled_with(playbook.database, "opinion"):
        if one.label is None:
            continue
        opinion = one.settings["opinion"]
        judge, agrees = opinion["by"], opinion["verdict"] == one.label
        before = found.get(judge, Agreement(judge))
        found[judge] = Agreement(judge, before.labels + 1, before.agreed + agrees)
    return found


class JudgeRecord:
    """The agreements of the judges of one playbook, read from time to time."""

    def __init__(self, playbook: BulletPlaybook) -> None:
        self._playbook = playbook
        self._asked = 0
        self._agreements: dict[str, Agreement] = {}

    def counts(self, judge: str, decision_id: str, bar: float) -> bool:
        """Whether an opinion counts as a label: a share of them does, as large as their weight.

        Counters hold whole outcomes. Which opinions count depends on the ids of decisions alone.
        """
        if not bar:
            return True
        if self._asked % _MEASURED_EVERY == 0:
            self._agreements = agreements(self._playbook)
        self._asked += 1
        weight = self._agreements.get(judge, Agreement(judge)).weight(bar)
        return is_in_share(f"judge:{decision_id}", weight)
