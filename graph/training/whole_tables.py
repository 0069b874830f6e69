"""Learn from the rows that were drawn from a large table.

What is learned, and by which demands, is as from a list of cases (pipeline.py): drawn rows become
evidence, and each stands for as many rows of its label as were left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from acegraph.graph.data.splits import moments_of
from acegraph.graph.tables.labelled import DrawnRows
from acegraph.graph.training.at_once import Figures, mistakes_over
from acegraph.graph.training.known_rows import as_case
from acegraph.state import AceContext, BulletPlaybook, InvalidDataset
from acegraph.state.task.task import Task
from acegraph.state.values import APPROVE, DECLINE, TABLE, Case, CaseTable


@dataclass
class TableLearning:
    """Rows of one table on their way into a playbook."""

    drawn: DrawnRows
    playbook: BulletPlaybook
    context: AceContext
    mature_days: float | None = None
    count: None = None

    def __post_init__(self) -> None:
        task = self.playbook.task(self.context.node)
        items, counts = self.drawn.dataset.items, dict(self.drawn.counts)
        is_honest = np.array([item["answer"] == APPROVE for item in items])
        is_young = np.zeros(len(items), dtype=bool)
        if self.mature_days:
            if self.drawn.dataset.time is None:
                raise InvalidDataset("time order wants a time: name its column by --as")
            moments = np.array(moments_of(items))
            is_young = is_honest & (moments > float(moments.max()) - self.mature_days)
        young = float(is_young.sum()) / max(int(is_honest.sum()), 1)
        counts[APPROVE] = round(counts[APPROVE] * (1 - young))
        self._counts = counts
        self._cases = [self._case(row, task) for row in np.flatnonzero(~is_young).tolist()]

    def remember(self) -> tuple[int, int]:
        """Store the drawn rows as evidence; gives how many are new to the playbook, and of how many
        it had another label.
        """
        return self.playbook.remember_table(self._cases, self._counts, self.context.node)

    def _case(self, row: int, task: Task) -> Case:
        item, number = self.drawn.dataset.items[row], self.drawn.numbers[row]
        node, case = self.context.node, as_case(item, task)
        return replace(case, id=f"{TABLE}{number:08x}:{node}:{item['id'][:100]}:{case.digest[:12]}")

    def figures(self, remembered: int) -> Figures:
        """How many rows are learned from, how many of them are fraud, and about how many of them
        the playbook gets wrong, by the share of the drawn ones.
        """
        cases = CaseTable(self._cases)
        cases.task = self.playbook.task(self.context.node)
        wrong, fraud = mistakes_over(cases, self.playbook, self.context), cases.fraud
        rows, mistakes = sum(self._counts.values()), 0.0
        for rows_of_label, drawn in (
            (self._counts[DECLINE], fraud),
            (self._counts[APPROVE], ~fraud),
        ):
            mistakes += rows_of_label * float((wrong & drawn).sum()) / max(int(drawn.sum()), 1)
        return Figures(rows, self._counts[DECLINE], round(mistakes), 0 if remembered else rows)
