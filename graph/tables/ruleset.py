"""A playbook as data: its ruleset, and the fields it knows, by which rows are read."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, cast

from acegraph.nodes.agent.challenger import ruleset_at
from acegraph.nodes.rules.ruleset import NOTHING_KNOWN, WHOLE, Ruleset, Ruling
from acegraph.nodes.rules.sql import to_sql
from acegraph.nodes.rules.words import not_understood
from acegraph.nodes.selector.derived import NOT_DERIVED, doubts_of_derived
from acegraph.nodes.selector.node import understand_given, unless_unknown
from acegraph.nodes.text.field_contract import Doubt, FieldContract, Understood, date_of_part
from acegraph.state import AceContext, Condition, InvalidSettings, InvalidTransaction, Transaction
from acegraph.state.run.modes import settle_settings
from acegraph.state.task.field import Field, Part
from acegraph.state.values.transaction import Scalar, is_derived, plain_value
from acegraph.state.values.verdict import UNDECIDED

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook
    from acegraph.state.playbook.frozen_view import ReadablePlaybook
    from acegraph.state.values.transaction import Fields


_MOST: Final = sys.float_info.max
_IN_WORDS: Final = {
    "number": "a number",
    "flag": "true or false",
    "category": "text",
    "time": "a timestamp without a time zone, by the clock of the labelled payments",
}


@dataclass(frozen=True)
class TableRules:
    """What reads the rows of a table, and what decides them; it can be sent to another process."""

    ruleset: Ruleset = field(default_factory=Ruleset)
    contract: FieldContract = field(default_factory=FieldContract)
    rates: Mapping[str, float] | None = None
    """What one unit of a currency is worth; None: as in the files that were learned."""
    tested_derived: frozenset[str] = frozenset()
    """The fields, derived from earlier payments, that active rules test."""
    sighting_columns: Mapping[str, str] = field(default_factory=dict)
    """The fields that derived fields come from, by what they hold."""

    @classmethod
    def of(cls, playbook: ReadablePlaybook, context: AceContext | None = None) -> TableRules:
        """The playbook as it is now, under the settings of a run of the graph.

        >>> from acegraph.state import BulletPlaybook, Condition
        >>> book, text = BulletPlaybook(), "DECLINE when amount >= 900"
        >>> _ = book.add_bullet(text, "fraud_detection", condition=Condition.parse(text))
        >>> TableRules.of(book).decide({"amount": 950}).decision
        'DECLINE'
        """
        settings = settle_settings(context or AceContext())
        node = settings["node"]
        active = playbook.get_bullets_for_node(node) if settings["selects"] else []
        return cls(
            Ruleset.of(playbook, settings),
            contract=FieldContract.of(playbook.cases(node)).with_rules(active),
            rates=settings.get("rates"),
            tested_derived=playbook.tested_derived(node),
            sighting_columns=playbook.sighting_columns(node) or {},
        )

    @classmethod
    def of_version(
        cls, playbook: BulletPlaybook, version: int, context: AceContext | None = None
    ) -> TableRules:
        """The rules of an earlier version, on the scale of today's labelled cases."""
        settings = settle_settings(context or AceContext())
        return replace(cls.of(playbook, context), ruleset=ruleset_at(playbook, version, settings))

    @property
    def conditions(self) -> list[Condition]:
        """What the rules test."""
        return [b.condition for b in self.ruleset.rules if b.condition]

    def decide(self, row: Mapping[str, object]) -> Ruling:
        """The decision on one row."""
        if all(plain_value(name, value) is None for name, value in row.items()):
            return _undecided(not_understood({WHOLE: NOTHING_KNOWN}))
        try:
            understood = self.understand(Transaction.of(row))
        except InvalidTransaction as error:
            return _undecided(f"refused: {error}")
        doubts = {doubt.field: doubt.why for doubt in understood.doubts}
        return self.ruleset.decide(understood.fields, doubts)

    def to_sql(self, dialect: str, *, table: str = "payments", ids: str | None = None) -> str:
        """The decision as a query for a table with the columns that the playbook knows.

        The comment above it says which columns it reads, and as what.
        """
        fields = self.columns()
        if not fields:
            raise InvalidSettings(
                "the playbook knows no column yet: label cases or add rules first"
            )
        query = to_sql(self.ruleset, fields, dialect, table=table, ids=ids)
        read = [f"--   {' '.join(one.name.split())}: {_IN_WORDS[one.kind]}" for one in fields]
        version = self.ruleset.version
        above = f"-- Decides by version {version} of a playbook. It reads these columns:"
        return "\n".join([above, *read, query])

    def columns(self) -> list[Field]:
        """The columns that the playbook knows or tests."""
        tests = [test for rule in self.conditions for test in rule.comparisons]
        names = dict.fromkeys([*self.contract.fields, *(test.field for test in tests)])
        parts: dict[str, list[Part]] = {}
        for name in names:
            if date := date_of_part(name):
                parts.setdefault(date, []).append(cast("Part", name.removeprefix(f"{date}.")))
        dates = [
            Field(name, "time", usual=self._is_usual(name), parts=tuple(found))
            for name, found in parts.items()
        ]
        return dates + [
            self._column(name, [test.value for test in tests if test.field == name])
            for name in names
            if name not in parts and not date_of_part(name)
        ]

    def _is_usual(self, name: str) -> bool:
        return name in self.contract.fields and self.contract.fields[name].is_usual

    def _column(self, name: str, compared: Sequence[Scalar]) -> Field:
        """A field as labelled cases have it; of one that none has, as rules compare it."""
        known = self.contract.fields.get(name)
        if known is None:
            given = [value for value in compared if value is not None]
            if any(isinstance(value, str) for value in given):
                return Field(name, "category")
            is_flag = bool(given) and all(isinstance(value, bool) for value in given)
            return Field(name, "flag" if is_flag else "number")
        if known.kind == "number":
            least, most = (one if abs(one) < _MOST else None for one in (known.least, known.most))
            return Field(name, "number", usual=known.is_usual, least=least, most=most)
        if known.kind == "flag":
            return Field(name, "flag", usual=known.is_usual)
        words = tuple(sorted(known.spellings))
        closed = known.is_closed and bool(words)
        return Field(name, "category", usual=known.is_usual, words=words, closed=closed)

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
        return unless_unknown(understood, self.contract, self.ruleset.rules)

    @property
    def lacking_derived(self) -> list[str]:
        """The derived fields that are in doubt where a row has none."""
        usual = {field.name for field in self.contract.fields.values() if field.is_usual}
        return sorted(self.tested_derived.union(filter(is_derived, usual)))


def _undecided(why: str) -> Ruling:
    return Ruling(UNDECIDED, 0, None, undecided=why)
