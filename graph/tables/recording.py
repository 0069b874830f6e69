"""Keep the decisions on a table in the ledger: in batches, and once per id of a row."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.tables.scorer import Scorer
from acegraph.nodes.evidence.sightings.columns import sighting_of
from acegraph.state import AceContext, BulletPlaybook, InvalidDataset, Transaction
from acegraph.state.errors import DecisionConflict, PlaybookError, quoted
from acegraph.state.run.modes import settle
from acegraph.state.values.decision import DecisionRecord, Recorded, Shown
from acegraph.state.values.verdict import UNDECIDED, parse_verdict

_AT_ONCE: Final = 500
"""So many decisions share a database transaction."""


class Recorder:
    """Records decisions, as the graph does; rows without a decision are left out."""

    def __init__(
        self, playbook: BulletPlaybook, context: AceContext, scorer: Scorer, ids: str
    ) -> None:
        self._playbook, self._scorer, self._ids = playbook, scorer, ids
        self._settings = settle(playbook, context)
        self._clock = playbook.clock
        self.new_decisions = 0
        """How many decisions the ledger did not know before."""

    def record(self, batch: pa.RecordBatch, scored: pa.RecordBatch) -> None:
        """Record the decisions on a batch; what the ledger knows already stays as it is."""
        records: list[DecisionRecord] = []
        names = batch.column(self._ids).to_pylist()
        rules = self._scorer.rules
        for row, (name, decision) in enumerate(
            zip(names, scored.column("decision").to_pylist(), strict=True)
        ):
            if decision != UNDECIDED:
                if name is None or not str(name).strip():
                    raise InvalidDataset(f"column {self._ids!r} has a row without an id")
                records.append(self._record(rules, str(name), self._scorer.row(batch, row)))
        for first in range(0, len(records), _AT_ONCE):
            some = [(record, None) for record in records[first : first + _AT_ONCE]]
            results = self._playbook.record_many(some)
            self.new_decisions += sum(
                isinstance(one, Recorded) and one.is_new_decision for one in results
            )
            for (record, _), one in zip(some, results, strict=True):
                if isinstance(one, DecisionConflict):
                    raise InvalidDataset(
                        f"the id {quoted(record.id)} in column {self._ids!r} names another payment "
                        f"too; {self.new_decisions:,} decision(s) are recorded, this one is not: "
                        "give each payment an id of its own and run it again, none counts twice"
                    )
                if isinstance(one, PlaybookError):
                    raise one

    def _record(self, rules: TableRules, name: str, row: dict[str, object]) -> DecisionRecord:
        given = Transaction.of(row)
        understood, one = rules.understand(given), rules.decide(row)
        columns = rules.sighting_columns
        return DecisionRecord(
            id=name,
            node=self._settings["node"],
            text=understood.transaction.text,
            fields=understood.fields,
            digest=given.digest(),
            decision=parse_verdict(one.decision),
            risk_score=one.risk,
            reasons=("decided in a table, by all rules that hold",),
            policy_version=self._settings.get("policy_version"),
            settings=dict(self._settings),
            playbook_version=rules.ruleset.version,
            seen=self._clock.position,
            shown=tuple(Shown(b.number, True, b.verdict) for b in one.fired),
            counted=self._settings["learn"],
            sighting=sighting_of(understood.fields, columns) if columns else None,
            came=given.came(understood.transaction.text),
        )
