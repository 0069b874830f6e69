"""A playbook as data: its ruleset, and the task by which rows are read."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from acegraph.nodes.agent.challenger import ruleset_at
from acegraph.nodes.rules.export.walk import Source
from acegraph.nodes.rules.points import UNIT, points_here
from acegraph.nodes.rules.ruleset import WHOLE, Ruleset, Ruling
from acegraph.nodes.rules.sql import to_sql
from acegraph.nodes.selector.derived import as_given, derived_columns
from acegraph.nodes.text.understand import Understood, understand_given
from acegraph.state import AceContext, BulletPlaybook, InvalidSettings, InvalidTransaction
from acegraph.state.run.context import settle
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.field import Field
from acegraph.state.task.task import Task
from acegraph.state.values import Transaction
from acegraph.state.values.plain import Fields, collected

if TYPE_CHECKING:
    pass

_WIDTH: Final = 30
"""So many characters wide are the bars of a decision."""


@dataclass(frozen=True)
class TableRules:
    """What reads the rows of a table, and what decides them; it can be sent to another process."""

    ruleset: Ruleset = field(default_factory=Ruleset)
    task: Task = CARD_PAYMENTS
    known: frozenset[str] = frozenset()
    """The fields that labelled cases have."""
    derived: tuple[Field, ...] = ()
    """The fields that are derived from earlier payments: a table brings them."""

    @classmethod
    def of(cls, playbook: BulletPlaybook, context: AceContext | None = None) -> "TableRules":
        """The playbook as it is now, under the settings of a run of the graph.

        >>> from acegraph.state import BulletPlaybook, Condition
        >>> book, text = BulletPlaybook(), "DECLINE when amount >= 900"
        >>> _ = book.add_bullet(text, "fraud_detection", condition=Condition.parse(text))
        >>> TableRules.of(book).decide({"amount": 950}).decision
        'DECLINE'
        """
        settings = settle(playbook, context or AceContext())
        node = settings["node"]
        table = playbook.cases(node)
        return cls(
            Ruleset.of(playbook, settings),
            task=playbook.task(node),
            known=frozenset(table.field_names),
            derived=derived_columns(table, playbook.tested_derived(node)),
        )

    @classmethod
    def of_version(
        cls, playbook: BulletPlaybook, version: int, context: AceContext | None = None
    ) -> "TableRules":
        """The rules of an earlier version, on the scale of today's labelled cases."""
        settings = settle(playbook, context or AceContext())
        return replace(cls.of(playbook, context), ruleset=ruleset_at(playbook, version, settings))

    def decide(self, row: Mapping[str, object]) -> Ruling:
        """The decision on one row."""
        return self.ruleset.decide(*self.read(row))

    def read(self, row: Mapping[str, object]) -> tuple[Fields, Mapping[str, str]]:
        """The fields of a row, as rules test them, and why which of them are in doubt."""
        try:
            if set(collected(row).values()) <= {None}:
                return {}, self.task.fit({}).doubts
            understood = self.understand(Transaction.of(row))
        except InvalidTransaction as error:
            return {}, {WHOLE: f"refused: {error}"}
        return understood.fields, understood.doubts

    def written(self, to: str, dialect: str = "duckdb", ids: str | None = None) -> str:
        """The decision as python, sql, jdm or jsonlogic: what runs without acegraph."""
        if to == "sql":
            return self.to_sql(dialect, ids=ids)
        if to == "python":
            from acegraph.nodes.rules.export.python import to_python  # few export

            return to_python(self.source())
        from acegraph.nodes.rules.export.trees import to_jdm, to_jsonlogic

        trees = {"jdm": to_jdm, "jsonlogic": to_jsonlogic}
        if to not in trees:
            raise InvalidSettings(f"no export to {to!r}: json, python, sql, jdm or jsonlogic")
        return json.dumps(trees[to](self.source()), indent=2, ensure_ascii=False)

    def to_sql(self, dialect: str, *, table: str = "payments", ids: str | None = None) -> str:
        """The decision as a query for a table with the columns that the playbook knows.

        The comment above it says which columns it reads, and as what.
        """
        fields = self.columns()
        if not fields:
            raise InvalidSettings(
                "the playbook knows no column yet: label cases or add rules first"
            )
        between = {one.name for one in self.task.differences} & self.ruleset.that_matter
        if between:
            raise InvalidSettings(f"SQL does not compute {min(between)}; score a file instead")
        query = to_sql(self.ruleset, fields, dialect, table=table, ids=ids)
        read = [f"--   {' '.join(one.name.split())}: {one.kind}" for one in fields]
        version = self.ruleset.version
        above = f"-- Decides by version {version} of a playbook. It reads these columns:"
        clock = "-- A time is a timestamp without a time zone, by the clock of the task."
        return "\n".join([above, *read, clock, query])

    def columns(self) -> list[Field]:
        """The columns that a decision depends on: those that rules test, and those of the prior and
        the amount that labelled cases have.
        """
        tested = {name for one in self.ruleset.rules_scored for name in one.fields}
        wanted = tested | (self.known & self.ruleset.that_matter)
        wanted |= self.known & {self.ruleset.scale.amount_name or ""}
        return self._fields_of(wanted)

    def source(self) -> Source:
        """What is exported for others: the ruleset, with all fields that it depends on."""
        wanted = self.ruleset.that_matter | {self.ruleset.scale.amount_name or ""}
        wanted |= {one.name for one in self.task.fields if one.role == "currency"}
        if self.task.unknown == "refuse":
            wanted |= self.task.by_name.keys()
        return Source(self.ruleset, tuple(self._fields_of(wanted)))

    def _fields_of(self, wanted: Collection[str]) -> list[Field]:
        return [
            one
            for one in (*self.task.fields, *self.derived)
            if not {one.name, *one.part_names}.isdisjoint(wanted)
        ]

    def understand(self, transaction: Transaction) -> Understood:
        """The fields of a row, and what is in doubt; derived fields are those that it came with."""
        return as_given(understand_given(transaction, self.task), self.derived)


def bars(ruleset: Ruleset, fields: Fields, ruling: Ruling) -> Iterator[str]:
    """Start, prior and each rule that holds, each from where the one before ended, then their sum;
    `|` marks the limit, above which is declined.
    """
    rules = {b.id: points for b in ruleset.rules if (points := points_here(b, fields))}
    start = ruleset.start
    prior = {"scorecard": ruling.points - start - sum(rules.values())}
    steps = {"start": start} | prior | rules
    ends, limit = [0, *accumulate(steps.values())], ruleset.scale.limit(fields)
    least, reach = min(*ends, limit), max(*ends, limit) - min(*ends, limit)
    places = {one: round((one - least) / max(reach, 1) * _WIDTH) for one in (*ends, limit)}
    for name, (begin, end) in zip([*steps, "sum"], [*pairwise(ends), (0, ends[-1])], strict=True):
        first, last = sorted((places[begin], places[end]))
        drawn = "".join(" █"[first <= place < last] for place in range(_WIDTH))
        marked = f"{drawn[: places[limit]]}|{drawn[places[limit] :]}".rstrip()
        yield f"{name:10}{(end - begin) / UNIT:+6.2f}  {marked}"
    yield f"{'limit':10}{limit / UNIT:+6.2f}  {' ' * places[limit]}|"
