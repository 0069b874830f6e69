"""What a rule does on labelled rows: where it fires, how often it is right there, and what it adds.

A record counts columns, batch by batch, and does not know where they come from.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.intervals import Share
from acegraph.nodes.evidence.drift import times_of
from acegraph.nodes.rules.columns import declined_over
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.rules.scale import RARE
from acegraph.state.values import DECLINE, Bullet, CaseTable, Condition, Scalar, Verdict

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
    """How a rule does on rows."""

    name: str
    verdict: Verdict
    rows: int = 0
    all_frauds: int = 0
    all_honest: int = 0
    fired: Counts = field(default_factory=Counts)
    added: Counts | None = None
    """The fired rows on which the playbook without it does not say the same."""

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


@dataclass(frozen=True)
class Standing:
    """What the labelled cases say of a bullet."""

    last_right: str = ""
    """When the newest payment was that it gets right, or where payments have no time, when the
    newest label became known (ISO 8601); empty where there is none."""
    lift: float | None = None
    """How many times as frequent its verdict is where it holds; None if it is not rare anyway."""

    @classmethod
    def of(cls, bullet: Bullet, table: CaseTable) -> "Standing":
        """The standing among these cases."""
        right, weights = table.labelled(bullet.verdict), table.weights
        held = bullet.condition.holds_over(table) if bullet.condition else ~right
        if not (held & right).any():
            return cls()
        rows, times = np.flatnonzero(held & right).tolist(), times_of(table)
        usual = float(np.average(right, weights=weights))
        lift = round(float(np.average(right[held], weights=weights[held])) / usual, 1)
        last = max(times[row] for row in rows) or table[rows[-1]].known_at
        return cls(last, lift if usual < RARE else None)


class Cases:
    """Labelled cases on which rules are tried, with what is read of them again and again."""

    def __init__(self, table: CaseTable) -> None:
        self.table, self.fraud, self.honest = table, table.fraud, ~table.fraud
        name = table.amount_name
        column = table.column(name) if name else None
        self.amounts = column.numbers if column else np.full(len(table), np.nan)
        self._declined: tuple[Ruleset, Rows] | None = None

    def declined(self, ruleset: Ruleset) -> Rows:
        """On which of them a ruleset declines; that of the last one is kept."""
        known = self._declined
        if known is None or known[0] is not ruleset:
            known = self._declined = (ruleset, declined_over(ruleset, self.table))
        return known[1]

    def tried(self, condition: Condition, fired: Rows, says_so: Rows | None = None) -> Record:
        """What a rule does that fires on these cases; `says_so`: where the playbook says it too."""
        record = Record(condition.render(), condition.verdict)
        record.add(fired, self.fraud, self.honest, self.amounts, says_so)
        return record

    def record_of(self, bullet: Bullet, ruleset: Ruleset) -> Record | None:
        """What a bullet does; it adds what the ruleset decides otherwise because of it. None for
        prose.
        """
        if bullet.condition is None:
            return None
        others = tuple(rule for rule in ruleset.rules if rule.id != bullet.id)
        without = declined_over(replace(ruleset, rules=others), self.table)
        is_same = self.declined(ruleset) == without
        return self.tried(bullet.condition, bullet.condition.holds_over(self.table), is_same)

    def newest(self, rows: Rows, most: int) -> list[tuple[str, Mapping[str, Scalar | None]]]:
        """The newest of some of the cases: their ids and fields."""
        found = [self.table[int(row)] for row in np.flatnonzero(rows)[-most:][::-1]]
        return [(case.id, case.fields) for case in found]
