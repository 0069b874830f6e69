"""Learn from a large table: seek rules on drawn rows, prove and fit them on all rows.

What is learned, and by which demands, is as from a list of cases (pipeline.py): drawn rows become
evidence, a change and somebody with many rows count as there, and `refine` seeks and proves a set
of rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from acegraph.graph.data.rows import Progress
from acegraph.graph.data.splits import moments_of
from acegraph.graph.tables.labelled import CountedRows, DrawnRows, LabelledTable, Which
from acegraph.graph.training.at_once import Figures, mistakes_over, rules_of
from acegraph.graph.training.known_rows import as_case
from acegraph.state import AceContext, BulletPlaybook, Case, Condition, InvalidDataset
from acegraph.state.task.task import Task
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.draw import TABLE
from acegraph.state.values.verdict import APPROVE, DECLINE


@dataclass
class TableLearning:
    """One table on its way into a playbook."""

    table: LabelledTable
    drawn: DrawnRows
    playbook: BulletPlaybook
    context: AceContext
    mature_days: float | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        self.counted: CountedRows | None = None
        """All rows, as they were counted last."""
        self._which = Which()
        self._places: dict[str, int] = {}
        """By id of a drawn row its place in the table."""

    def remember(self) -> tuple[int, int]:
        """Store the drawn rows as evidence; gives how many are new to the playbook, and of how many
        it had another label.
        """
        items = self.drawn.dataset.items
        is_young = np.zeros(len(items), dtype=bool)
        is_honest = np.array([item["answer"] == APPROVE for item in items])
        if self.mature_days:
            if (time := self.drawn.dataset.time) is None:
                raise InvalidDataset("time order wants a time: name its column by --as")
            moments = np.array(moments_of(items))
            last_day = float(moments.max()) - self.mature_days
            is_young = is_honest & (moments > last_day)
            self._which = Which(time=time, last_day=last_day)
        rows, task = np.flatnonzero(~is_young).tolist(), self.playbook.task(self.context.node)
        cases = [self._case(row, task) for row in rows]
        places = self.drawn.places[rows].tolist()
        self._places = {case.id: place for case, place in zip(cases, places, strict=True)}
        counts = dict(self.drawn.counts)
        young = float(is_young.sum()) / max(int(is_honest.sum()), 1)
        counts[APPROVE] = round(counts[APPROVE] * (1 - young))
        return self.playbook.remember_table(cases, counts, self.context.node)

    def _case(self, row: int, task: Task) -> Case:
        item, number = self.drawn.dataset.items[row], self.drawn.numbers[row]
        node, case = self.context.node, as_case(item, task)
        return replace(case, id=f"{TABLE}{number:08x}:{node}:{item['id'][:100]}:{case.digest[:12]}")

    def count(self, cases: CaseTable, rules: Sequence[Condition]) -> CaseTable:
        """All rows by the rules that fire on them, without those from before the `cases`."""
        is_all = len(cases) == len(self.playbook.cases(self.context.node))
        places = [self._places[case.id] for case in cases if case.id in self._places]
        since = 0 if is_all else min(places, default=0)
        self.counted = self.table.count(
            cases,
            rules,
            replace(self._which, since=since, drawn=self._places.keys()),
            costs=bool(self.playbook.policy(self.context.node).but(self.context.policy).costs),
            progress=self.progress,
        )
        return self.counted.cases

    def figures(self, remembered: int) -> Figures:
        """How many rows are learned from, how many of them are fraud, and how many of those that
        count the playbook gets wrong.
        """
        if self.counted is None:
            node = self.context.node
            self.count(self.playbook.cases(node), rules_of(self.playbook, node))
        assert self.counted is not None
        wrong = mistakes_over(self.counted.cases, self.playbook, self.context)
        cases = sum(self.drawn.counts.values()) - self.counted.young
        mistakes = int(self.counted.rows[wrong].sum())
        return Figures(cases, self.drawn.counts[DECLINE], mistakes, 0 if remembered else cases)
