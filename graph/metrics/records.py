"""What a rule does on labelled rows: where it fires, how often it is right there, and what it adds.

A record counts columns, batch by batch, and does not know where they come from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.metrics.groups import groups_of
from acegraph.graph.metrics.intervals import Share
from acegraph.nodes.evidence.drift import times_of
from acegraph.nodes.evidence.stakes import amounts_over
from acegraph.nodes.rules.points import UNIT, log_odds_over, points_over
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.rules.scale import RARE
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.maintenance.activity import TRAINED
from acegraph.state.run.context import settle
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
    def wrong(self) -> Share:
        """Of the rows with the other label, those on which it fires."""
        others = self.all_honest if self.verdict == DECLINE else self.all_frauds
        return Share(self.right.whole - self.right.part, others)

    @property
    def recall(self) -> float:
        """The share of the rows labelled with its verdict on which it fires."""
        agreeing = self.all_frauds if self.verdict == DECLINE else self.all_honest
        return self.right.part / agreeing if agreeing else 0.0

    def to_json(self) -> dict[str, object]:
        """All figures by name."""
        right = self.right
        figures = dict(zip(("precision_low", "precision_high"), right.interval, strict=True))
        figures |= {"recall": self.recall, "false_positive_rate": self.wrong.value or 0.0}
        figures["precision"] = right.value or 0.0
        return asdict(self) | {name: round(figure, 6) for name, figure in figures.items()}


@dataclass(frozen=True)
class Standing:
    """What the labelled cases say of a bullet."""

    last_right: str = ""
    """When the newest payment was that it gets right, or where payments have no time, when the
    newest label became known, not of training (ISO 8601); empty where there is none."""
    lift: float | None = None
    """How many times as frequent its verdict is where it holds; None if it is not rare anyway."""
    saved_a_week: float | None = None
    """By how much mistakes cost less because of it; None without costs, amounts or times, where
    fraud is not rare, or where it does not act."""
    stopped_a_day: float | None = None
    """The honest payments that are declined because of it; None as above."""

    @classmethod
    def of(cls, bullet: Bullet, cases: "Cases", ruleset: Ruleset | None = None) -> "Standing":
        """The standing among these cases, in a ruleset if it acts in one."""
        table = cases.table
        right, weights = table.labelled(bullet.verdict), table.weights
        held = bullet.condition.holds_over(table) if bullet.condition else ~right
        if not (held & right).any():
            return cls()
        rows = np.flatnonzero(held & right).tolist()
        usual = float(np.average(right, weights=weights))
        lift = round(float(np.average(right[held], weights=weights[held])) / usual, 1)
        newest = table[rows[-1]]
        known_at = "" if newest.id.startswith(TRAINED) else newest.known_at
        last = max(cases.times[row] for row in rows) or known_at
        is_rare = float(np.average(table.fraud, weights=weights)) < RARE
        worth = cases.worth(bullet, ruleset) if is_rare and ruleset else ()
        return cls(last, lift if usual < RARE else None, *worth)


class Cases:
    """Labelled cases on which rules are tried, with what is read of them again and again."""

    def __init__(self, table: CaseTable) -> None:
        self.table, self.fraud, self.honest = table, table.fraud, ~table.fraud
        self.amounts = amounts_over(table)
        self._summed: tuple[Ruleset, NDArray[np.float64]] | None = None

    @cached_property
    def times(self) -> list[str]:
        """When each payment was; empty where that is not known."""
        return times_of(self.table)

    @cached_property
    def weeks(self) -> float:
        """From the first payment to the last; 0 where payments have no times."""
        known = list(filter(None, self.times)) or ["1970-01-01"]
        first, last = (date.fromisoformat(ends(known)[:10]) for ends in (min, max))
        return (last - first).days / 7

    def declined(self, ruleset: Ruleset, but: Bullet | None = None) -> Rows:
        """On which of them a ruleset declines, or would without one of its bullets; the points of
        the last ruleset are kept.
        """
        if self._summed is None or self._summed[0] is not ruleset:
            self._summed = ruleset, np.rint(log_odds_over(self.table, ruleset.rules) * UNIT)
        points = self._summed[1]
        if but and any(rule.id == but.id for rule in ruleset.rules):
            points = points - points_over(self.table, but)
        return np.asarray(points > ruleset.scale.limits(self.amounts))

    def worth(self, bullet: Bullet, ruleset: Ruleset) -> tuple[float, float] | tuple[()]:
        """What mistakes cost less in a week because of a bullet that acts, and how many honest
        payments are declined in a day; nothing where that is not known.
        """
        costs = ruleset.scale.costs
        if not (costs and self.table.amount_name) or bullet.status != "active" or self.weeks < 1:
            return ()
        now, without = self.declined(ruleset), self.declined(ruleset, bullet)
        stakes = np.where(np.isnan(self.amounts), 1.0, self.amounts)
        saved = costs.of(self.fraud, without, stakes) - costs.of(self.fraud, now, stakes)
        stopped = self.honest & now & ~without
        per_week = (float(self.table.weights @ one) / self.weeks for one in (saved, stopped))
        return round(next(per_week), 2), round(next(per_week) / 7, 3)

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
        is_same = self.declined(ruleset) == self.declined(ruleset, bullet)
        return self.tried(bullet.condition, bullet.condition.holds_over(self.table), is_same)

    def by_group(self, condition: Condition) -> dict[str, list[Record]]:
        """What a rule does in each group of every protected field, by the field."""
        fields = self.table.task.fields if self.table.task else ()
        fired, found = condition.holds_over(self.table), dict[str, list[Record]]()
        for name in (one.name for one in fields if one.role == "protected"):
            values = [case.fields.get(name) for case in self.table]
            for group, rows in groups_of(values).items():
                record = Record(group, condition.verdict)
                record.add(fired[rows], self.fraud[rows], self.honest[rows], self.amounts[rows])
                found.setdefault(name, []).append(record)
        return found

    def newest(self, rows: Rows, most: int) -> list[tuple[str, Mapping[str, Scalar | None]]]:
        """The newest of some of the cases: their ids and fields."""
        found = [self.table[int(row)] for row in np.flatnonzero(rows)[-most:][::-1]]
        return [(case.id, case.fields) for case in found]


def standings_of(playbook: BulletPlaybook, bullets: Sequence[Bullet]) -> dict[str, Standing]:
    """What labelled cases say of bullets, by id."""
    found = dict[str, Standing]()
    for node in {bullet.node for bullet in bullets}:
        cases = Cases(playbook.cases(node))
        has_costs = playbook.policy(node).costs  # a scale takes its time
        settings = settle(playbook, AceContext(node=node))
        ruleset = Ruleset.of(playbook, settings) if has_costs else None
        found |= {b.id: Standing.of(b, cases, ruleset) for b in bullets if b.node == node}
    return found
