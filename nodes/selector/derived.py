"""Fields that are derived from earlier payments, added to a payment that is to be decided.

They are computed only for a playbook whose labelled cases or rules have such fields, and only
where the caller gives none: a file brings its own, and a host may have counted itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from acegraph.nodes.evidence.sightings.columns import columns_of, sighting_of
from acegraph.nodes.evidence.sightings.derivation import derived_fields
from acegraph.nodes.text.field_contract import Understood
from acegraph.state import Transaction
from acegraph.state.values.transaction import is_derived, render_fields

if TYPE_CHECKING:
    from acegraph.state.playbook.frozen_view import ReadablePlaybook


def with_derived(
    understood: Understood, playbook: ReadablePlaybook, node: str, case_id: str, *, wanted: bool
) -> Understood:
    """The transaction with its derived fields, and the fields that its sighting is read from.

    `wanted` says whether the labelled cases have derived fields; a rule may want them too.
    """
    given, fields = understood.transaction, understood.fields
    is_given = any(map(is_derived, fields))
    if not given.fields or not (is_given or wanted or playbook.tests_derived(node)):
        return understood
    columns = playbook.sighting_columns(node) or columns_of(fields)
    sighting = sighting_of(fields, columns)
    if sighting is None:
        return understood
    if not is_given:
        derived = derived_fields(sighting, playbook.past(node, sighting, case_id))
        text = f"{given.text}; {render_fields(derived)}"
        given, fields = Transaction(text, given.fields | derived), fields | derived
    # A first payment has no last one before it: that is known, and no doubt.
    doubts = [d for d in understood.doubts if not (is_derived(d.field) and d.field in fields)]
    return Understood(given, fields, tuple(doubts), columns)
