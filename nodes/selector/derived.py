"""Fields that are derived from earlier payments, added to a payment that is to be decided.

They are computed only for a playbook whose labelled cases or rules have such fields. What a caller
gives under their names does not count: the ledger knows better. Only rows of files that were
derived already, and decisions that are repeated, keep theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from acegraph.nodes.evidence.sightings.columns import sighting_of, unread
from acegraph.nodes.evidence.sightings.derivation import derived_fields, sources_of
from acegraph.nodes.text.understand import Doubt, Understood
from acegraph.state import Transaction
from acegraph.state.task.field import NEARLY
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.decision import KINDS
from acegraph.state.values.transaction import Fields, is_derived, render_fields

if TYPE_CHECKING:
    from acegraph.state.playbook.playbook import BulletPlaybook

NOT_DERIVED: Final = "cannot be derived from earlier payments"


def with_derived(
    understood: Understood,
    table: CaseTable,
    playbook: BulletPlaybook,
    node: str,
    case_id: str,
    *,
    keeps_given: bool,
) -> Understood:
    """The transaction with its derived fields, what is in doubt of them, and the fields that its
    sighting is read from.
    """
    tested, is_given = playbook.tested_derived(node), any(map(is_derived, understood.fields))
    keeps_given = keeps_given and is_given
    if not keeps_given:
        understood = _without_derived(understood)
    columns = columns_to_see(table, playbook.sighting_columns(node))
    sighting = sighting_of(understood.fields, columns)
    if sighting is not None and understood.transaction.fields and not keeps_given:
        past = playbook.past(node, sighting, case_id)
        understood = _with_fields(understood, derived_fields(sighting, past))
    return doubts_of_derived(understood, table, columns, tested)


def doubts_of_derived(
    understood: Understood,
    table: CaseTable,
    columns: Mapping[str, str],
    tested: frozenset[str],
) -> Understood:
    """The transaction, with what is in doubt of its derived fields.

    `columns` are the fields that they come from, by what they hold; rules test the `tested` ones.
    """
    usual = {name for name in table.field_names if is_usual(name, table)}
    unsure = _unsure_sources(understood, table, columns)
    doubts = [d for d in understood.doubts if not _is_absent(d, understood.fields)]
    doubts += [
        Doubt(name, NOT_DERIVED)
        for name in sorted(tested.union(filter(is_derived, usual)))
        if not unsure.isdisjoint(sources_of(name))
    ]
    return replace(understood, doubts=tuple(doubts), sighting_columns=columns)


def _without_derived(understood: Understood) -> Understood:
    """The transaction without the derived fields that a caller gave, and the doubts about them."""
    given = understood.transaction
    kept = {name: value for name, value in given.fields.items() if not is_derived(name)}
    if len(kept) < len(given.fields):
        given = Transaction(render_fields(kept), kept)
    return replace(
        understood,
        transaction=given,
        fields={name: value for name, value in understood.fields.items() if not is_derived(name)},
        doubts=tuple(doubt for doubt in understood.doubts if not is_derived(doubt.field)),
    )


def _with_fields(understood: Understood, derived: Fields) -> Understood:
    given = understood.transaction
    text = f"{given.text}; {render_fields(derived)}"
    given = Transaction(text, given.fields | derived)
    return replace(understood, transaction=given, fields=understood.fields | derived)


def _is_absent(doubt: Doubt, fields: Fields) -> bool:
    """Whether it is about a derived field without a value: a first payment has no last one before
    it. That is known, and no doubt.
    """
    return is_derived(doubt.field) and fields.get(doubt.field) is None


def _unsure_sources(
    understood: Understood, table: CaseTable, columns: Mapping[str, str]
) -> set[str]:
    """Of what derived fields are computed from, what is in doubt, cannot be read, or is missing
    though the labelled payments do not lack it. A payment without a date happens now.
    """
    in_doubt = {doubt.field for doubt in understood.doubts}
    unsure = {what for what, name in columns.items() if name in in_doubt}
    sources = {*KINDS, "amount", "latitude", "longitude"}
    for what in unread(understood.fields, columns) | (sources - columns.keys()):
        name = columns.get(what, "")
        is_missing = what in KINDS or understood.fields.get(name) is None
        # Whoever is named has this field: it tells how often the labelled payments name nobody.
        counted = f"{what}.payments_last_week" if what in KINDS else name
        if what == "time" or not is_missing or is_usual(counted, table, unknown=True):
            unsure.add(what)
    return unsure


def columns_to_see(table: CaseTable, kept: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """The fields that derived fields come from: those of the task, else those that were kept."""
    return (table.task.sighting_columns if table.task else {}) or kept or {}


def is_usual(name: str, table: CaseTable, *, unknown: bool = False) -> bool:
    """Whether nearly all labelled cases have a field; `unknown` where none has it."""
    column = table.column(name)
    if column is None:
        return unknown
    return bool(column.known().mean() >= NEARLY)
