"""A playbook as data: its rules with whole points, its scale of risk, and the fields it knows.

Nothing in it changes, and it needs no database: numpy (deciding.py), SQL (expression.py) and a
single row (`Ruleset.decide`) add the same whole numbers, so all of them give the same decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from acegraph.nodes.agent.analyst import analyse
from acegraph.nodes.agent.challenger import version_of
from acegraph.nodes.agent.fail_closed import describe, reason_not_to_approve
from acegraph.nodes.rules.points import SCORECARD, START, UNIT, points_of, resolved
from acegraph.nodes.rules.scale import RiskScale, scale_for, scale_of
from acegraph.nodes.selector.derived import NOT_DERIVED, doubts_of_derived
from acegraph.nodes.selector.node import NOTHING_KNOWN, understand_given, unless_unknown
from acegraph.nodes.selector.stages import Pool
from acegraph.nodes.text.field_contract import Doubt, FieldContract, Understood
from acegraph.state import APPROVE, AceContext, Bullet, InvalidTransaction, Transaction
from acegraph.state.run.modes import settle_settings
from acegraph.state.values.bullet import of_source
from acegraph.state.values.transaction import is_derived, plain_value
from acegraph.state.values.verdict import UNDECIDED

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook
    from acegraph.state.playbook.frozen_view import ReadablePlaybook
    from acegraph.state.run.schema import CaseData, DoubtData
    from acegraph.state.values.transaction import Fields


@dataclass(frozen=True)
class RowDecision:
    """The decision on one row."""

    decision: str
    """APPROVE, DECLINE or UNDECIDED."""
    risk: float | None
    """None where undecided."""
    bullets: tuple[str, ...] = ()
    """The rules that hold, by their ids."""
    lines: tuple[int, ...] = ()
    """The lines of the scorecard that hold, by their places."""
    undecided: str | None = None
    """Why there is no decision."""


@dataclass(frozen=True)
class Ruleset:
    """What decides the rows of a table."""

    rules: tuple[Bullet, ...] = ()
    """The rules that act: active, with a condition, and with a record that passes stage 2."""
    active: tuple[Bullet, ...] = ()
    """All active rules: each counts where it cannot be tested (nodes/agent/fail_closed.py)."""
    scale: RiskScale = field(default_factory=RiskScale)
    contract: FieldContract = field(default_factory=FieldContract)
    rates: Mapping[str, float] | None = None
    """What one unit of a currency is worth; None: as in the files that were learned."""
    tested_derived: frozenset[str] = frozenset()
    """The fields, derived from earlier payments, that active rules test."""
    sighting_columns: Mapping[str, str] = field(default_factory=dict)
    """The fields that derived fields come from, by what they hold."""
    version: int = 0
    """The version of the playbook."""

    @classmethod
    def of(cls, playbook: ReadablePlaybook, context: AceContext | None = None) -> Ruleset:
        """The playbook as it is now, under the settings of a run of the graph.

        >>> from acegraph.state import BulletPlaybook, Condition
        >>> book, text = BulletPlaybook(), "DECLINE when amount >= 900"
        >>> _ = book.add_bullet(text, "fraud_detection", condition=Condition.parse(text))
        >>> Ruleset.of(book).decide({"amount": 950}).decision
        'DECLINE'
        """
        settings = settle_settings(context or AceContext())
        node, selects = settings["node"], settings["selects"]
        view, cases = playbook.view(node), playbook.cases(node)
        wanted = settings["n_bullets"]
        pool = Pool.of(
            view, settings["source"], settings["quality_threshold"], wanted, cases.fraud_odds()
        )
        acts = pool.is_good & view.is_rule & (selects and wanted > 0)
        active = playbook.get_bullets_for_node(node) if selects else []
        return cls(
            rules=view.bullets(np.flatnonzero(acts)),
            active=tuple(b for b in of_source(active, settings["source"]) if b.condition),
            scale=scale_of(playbook, settings),
            contract=FieldContract.of(cases).with_rules(active),
            rates=settings.get("rates"),
            tested_derived=playbook.tested_derived(node),
            sighting_columns=playbook.sighting_columns(node) or {},
            version=view.clock.version,
        )

    @classmethod
    def of_version(
        cls, playbook: BulletPlaybook, version: int, context: AceContext | None = None
    ) -> Ruleset:
        """The rules of an earlier version, on the scale of today's labelled cases."""
        today = cls.of(playbook, context)
        settings = settle_settings(context or AceContext())
        node = settings["node"]
        with version_of(playbook, version, node) as copy:
            then, bullets = cls.of(copy, context), copy.get_bullets_for_node(node)
        scale = scale_for(bullets, playbook.cases(node), settings)
        return replace(today, rules=then.rules, active=then.active, scale=scale, version=version)

    def to_json(self) -> dict[str, object]:
        """What is added up, as plain data: a row is declined above `limit` points.

        With costs the limit depends on the amount, and `limit` is that of a row without one.
        """
        return {
            "version": self.version,
            "points_per_log_odds": UNIT,
            "start": START,
            "limit": self.scale.limit({}),
            "shift": self.scale.shift,
            "highest_risk": self.scale.highest,
            "scorecard": [{"test": one.test.render(), "points": one.points} for one in SCORECARD],
            "rules": [
                {"id": b.id, "condition": b.condition.to_json(), "points": points_of(b)}
                for b in self.rules
                if b.condition
            ],
        }

    def decide(self, row: Mapping[str, object]) -> RowDecision:
        """The decision on one row, by the functions that the nodes of the graph use."""
        if all(plain_value(name, value) is None for name, value in row.items()):
            nothing: DoubtData = {"field": "transaction", "why": NOTHING_KNOWN}
            return RowDecision(UNDECIDED, None, undecided=describe([nothing], ()))
        try:
            transaction = Transaction.of(row)
            understood = self.understand(transaction)
        except InvalidTransaction as error:
            return RowDecision(UNDECIDED, None, undecided=f"refused: {error}")
        fields = understood.fields
        decision = analyse(fields, self.rules, self.scale)
        if decision.decision == APPROVE:
            case: CaseData = {
                "id": "",
                "text": transaction.text,
                "given_fields": understood.transaction.fields,
                "fields": fields,
                "digest": "",
                "ground_truth": None,
            }
            doubts: list[DoubtData] = [{"field": d.field, "why": d.why} for d in understood.doubts]
            why = reason_not_to_approve(case, doubts, self.active, self.scale, is_embedded=True)
            if why:
                return RowDecision(UNDECIDED, None, undecided=why)
        lines = (i for i, one in enumerate(SCORECARD) if resolved(one.test, fields).holds(fields))
        used = decision.bullets_used or ()
        return RowDecision(decision.decision, decision.risk_score, used, tuple(lines))

    def fields(self, row: Mapping[str, object]) -> Fields:
        """The fields of a row, as rules test them; none of a row that cannot be a transaction."""
        try:
            return self.understand(Transaction.of(row)).fields
        except InvalidTransaction:
            return {}

    def understand(self, transaction: Transaction) -> Understood:
        """The fields of a row, and what is in doubt; derived fields are those that it came with."""
        understood = understand_given(transaction, self.contract, self.rates)
        is_given = any(map(is_derived, understood.fields))
        if is_given:
            understood = doubts_of_derived(
                understood, self.contract, self.sighting_columns, self.tested_derived
            )
        elif self.tested_derived or self.contract.has_derived:
            doubts = (d for d in understood.doubts if not is_derived(d.field))
            lacking = (Doubt(name, NOT_DERIVED) for name in self.lacking_derived)
            understood = replace(understood, doubts=(*doubts, *lacking))
        return unless_unknown(understood, self.contract, self.active)

    @property
    def lacking_derived(self) -> list[str]:
        """The derived fields that are in doubt where a row has none."""
        usual = {field.name for field in self.contract.fields.values() if field.is_usual}
        return sorted(self.tested_derived.union(filter(is_derived, usual)))
