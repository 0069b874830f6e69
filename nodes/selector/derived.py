"""Fields that are derived from earlier payments, added to a payment that is to be decided.

They are computed only for a playbook whose labelled cases or rules have such fields. What a caller
gives under their names does not count: the ledger knows better. Only rows of files that were
derived already, and decisions that are repeated, keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from acegraph.nodes.evidence.sightings.columns import sighting_of, unread
from acegraph.nodes.evidence.sightings.derivation import derived_fields, sources_of
from acegraph.nodes.text.understand import Understood
from acegraph.state import BulletPlaybook
from acegraph.state.task.field import NEARLY, Field
from acegraph.state.values import SIGHTED, CaseTable, Transaction, is_derived, render_fields
from acegraph.state.values.plain import Misfit

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
    tested = playbook.tested_derived(node)
    # Those of the task, else those that were kept.
    columns = table.task.sighting_columns if table.task else {}
    columns = columns or playbook.sighting_columns(node) or {}
    if keeps_given and any(map(is_derived, understood.fields)):
        believed = as_given(understood, derived_columns(table, tested))
        return replace(believed, sighting_columns=columns)
    understood = _without_derived(understood)
    sighting = sighting_of(understood.fields, columns)
    if sighting is not None and understood.transaction.fields:
        past = playbook.past(node, sighting, case_id)
        derived = derived_fields(sighting, past, table.task.evidence if table.task else {})
        given = understood.transaction
        text = f"{given.text}; {render_fields(derived)}"
        given = Transaction(text, given.fields | derived)
        fields = understood.fields | derived
        understood = replace(understood, transaction=given, fields=fields)
    wanted = tested.union(filter(is_derived, table.usual_names))
    sources = {what for name in wanted for what in sources_of(name)} - {"time"}
    unsure = _unsure_sources(understood, table, columns, sources)
    lacking = [name for name in sorted(wanted) if not unsure.isdisjoint(sources_of(name))]
    doubts = {**understood.doubts, **dict.fromkeys(lacking, NOT_DERIVED)}
    return replace(understood, doubts=doubts, sighting_columns=columns)


def derived_columns(table: CaseTable, tested: frozenset[str]) -> tuple[Field, ...]:
    """The derived fields that labelled cases have or rules test, as columns that a table brings."""
    usual = set(table.usual_names) | (tested - set(table.field_names))
    names = sorted(tested.union(filter(is_derived, table.field_names)))
    return tuple(
        Field(name, "flag" if name.endswith("_is_new") else "number", usual=name in usual)
        for name in names
    )


def as_given(understood: Understood, derived: Iterable[Field]) -> Understood:
    """The transaction with the derived fields that it came with, which are believed."""
    fitted = {one.name: one.fit(understood.fields.get(one.name)) for one in derived}
    misfits = {n: one.doubt for n, one in fitted.items() if isinstance(one, Misfit)}
    values = {n: None if isinstance(v, Misfit) else v for n, v in fitted.items()}
    return replace(
        understood, fields=understood.fields | values, doubts={**understood.doubts, **misfits}
    )


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
        doubts={name: why for name, why in understood.doubts.items() if not is_derived(name)},
    )


def _unsure_sources(
    understood: Understood, table: CaseTable, columns: Mapping[str, str], sources: set[str]
) -> set[str]:
    """Of what derived fields are computed from, what is in doubt, cannot be read, or is missing
    though the labelled payments do not lack it. A payment without a date happens now.
    """
    unsure = {what for what, name in columns.items() if name in understood.doubts}
    for what in unread(understood.fields, columns) | (sources - columns.keys()):
        name = columns.get(what, "")
        is_missing = what not in SIGHTED or understood.fields.get(name) is None
        # Whoever is named has this field: it tells how often the labelled payments name nobody.
        counted = name if what in SIGHTED else f"{what}.payments_last_week"
        column = table.column(counted)  # nearly all labelled cases have it, or none
        is_usual = column is None or column.known().mean() >= NEARLY
        if what == "time" or not is_missing or is_usual:
            unsure.add(what)
    return unsure
