"""Keep the decisions on a table in the ledger: in batches, and once per id of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from acegraph.graph.tables.scorer import Scorer
from acegraph.nodes.evidence.sightings.columns import sighting_of
from acegraph.state import AceContext, BulletPlaybook, InvalidDataset, InvalidSettings, Transaction
from acegraph.state.errors import DecisionConflict, PlaybookError, quoted
from acegraph.state.run.modes import settle
from acegraph.state.run.schema import RunSettings
from acegraph.state.values.decision import DecisionRecord, Recorded, Shown
from acegraph.state.values.verdict import UNDECIDED, parse_verdict

_AT_ONCE: Final = 500
"""So many decisions share a database transaction."""


@dataclass
class Recorder:
    """Records decisions, as the graph does; rows without a decision are left out."""

    playbook: BulletPlaybook
    settings: RunSettings
    scorer: Scorer
    ids: str
    new_decisions: int = 0
    """How many decisions the ledger did not know before."""

    @classmethod
    def of(
        cls, playbook: object, context: AceContext | None, scorer: Scorer, ids: str | None
    ) -> Recorder:
        """What records the decisions of a scorer; refused without a playbook and ids."""
        if ids is None or not isinstance(playbook, BulletPlaybook):
            raise InvalidSettings(
                "recording wants a playbook and the column of the ids (--id NAME)"
            )
        return cls(playbook, settle(playbook, context or AceContext()), scorer, ids)

    def record(self, batch: pa.RecordBatch, scored: pa.RecordBatch) -> None:
        """Record the decisions on a batch; what the ledger knows already stays as it is."""
        records: list[DecisionRecord] = []
        names, decisions = batch.column(self.ids).to_pylist(), scored.column("decision").to_pylist()
        for row, (name, decision) in enumerate(zip(names, decisions, strict=True)):
            if decision != UNDECIDED:
                if name is None or not str(name).strip():
                    raise InvalidDataset(f"column {self.ids!r} has a row without an id")
                records.append(self._record(str(name), self.scorer.reader.row(batch, row)))
        for first in range(0, len(records), _AT_ONCE):
            some = records[first : first + _AT_ONCE]
            results = self.playbook.record_many([(record, None) for record in some])
            self.new_decisions += sum(
                isinstance(one, Recorded) and one.is_new_decision for one in results
            )
            for record, one in zip(some, results, strict=True):
                if isinstance(one, DecisionConflict):
                    raise InvalidDataset(
                        f"the id {quoted(record.id)} in column {self.ids!r} names another payment "
                        f"too; {self.new_decisions:,} decision(s) are recorded, this one is not: "
                        "give each payment an id of its own and run it again, none counts twice"
                    )
                if isinstance(one, PlaybookError):
                    raise one

    def _record(self, name: str, row: dict[str, object]) -> DecisionRecord:
        rules, given = self.scorer.rules, Transaction.of(row)
        understood, one = rules.understand(given), rules.decide(row)
        columns = rules.sighting_columns
        return DecisionRecord(
            id=name,
            node=self.settings["node"],
            text=understood.transaction.text,
            fields=understood.fields,
            digest=given.digest(),
            decision=parse_verdict(one.decision),
            risk_score=one.risk,
            reasons=("decided in a table, by all rules that hold",),
            policy_version=self.settings.get("policy_version"),
            settings=dict(self.settings),
            playbook_version=rules.ruleset.version,
            seen=self.playbook.clock.position,
            shown=tuple(Shown(b.number, True, b.verdict) for b in one.fired),
            counted=self.settings["learn"],
            sighting=sighting_of(understood.fields, columns) if columns else None,
            came=given.came(understood.transaction.text),
        )
