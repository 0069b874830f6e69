"""Give the rows of a file the ids under which each counts once, however often it comes.

A row with an id of its own keeps it. A row without one is named by its content and by which copy of
that content it is. A row is looked for under every name by which it may have been stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from acegraph.graph.data.files import Item
from acegraph.nodes.text.reader import read_fields
from acegraph.state import AceContext, Case, Transaction
from acegraph.state.ledger.lookups import count_evidence, known_ids
from acegraph.state.ledger.redaction import Redaction

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook

Origin = Literal["history", "stream"]
"""How a row came: as labelled history, or as a decision of a stream."""


def known_rows(
    items: Sequence[Item], playbook: BulletPlaybook, context: AceContext, origin: Origin
) -> list[Case]:
    """The items as cases, each under the id by which it is stored already, if it is.

    A row that came by the other way before is the same row if it has an id of its own. Without one
    only the whole set is known again: a new stream may hold cases that look like old history.
    """
    node, redact = context.node, context.redact
    other = "stream" if origin == "history" else "history"
    cases = [_as_case(item, redact) for item in items]
    names = [
        [f"{node}:{name}:{case.digest[:12]}" for name in called]
        for case, called in zip(cases, _names(items, cases, bool(redact)), strict=True)
    ]
    here = _stored(playbook, origin, names)
    there = _stored(playbook, other, names, evidence_only=True)
    is_whole_set = all(there) and (
        count_evidence(playbook.database, f"{other}:{node}:") == len(items)
    )
    if not is_whole_set:
        there = [i if "copy" not in row else None for i, row in zip(there, items, strict=True)]
    return [
        replace(case, id=one or another or f"{origin}:{called[0]}")
        for case, one, another, called in zip(cases, here, there, names, strict=True)
    ]


def _stored(
    playbook: BulletPlaybook,
    origin: str,
    names: Sequence[Sequence[str]],
    *,
    evidence_only: bool = False,
) -> list[str | None]:
    """By which of its names each row is stored, or was until it was pruned."""
    ids = [[f"{origin}:{name}" for name in called] for called in names]
    every_id = (name for called in ids for name in called)
    known = known_ids(playbook.database, every_id, evidence_only=evidence_only)
    return [next((name for name in called if name in known), None) for called in ids]


def _names(items: Sequence[Item], cases: Sequence[Case], is_redacted: bool) -> list[list[str]]:
    """What each row may be called: by its own id, or by which copy of its content it is.

    So the same export under another file name is the same. Earlier versions named a row without an
    id by its place in the file, and such a row is still found by that name.
    """
    own = {item["id"] for item in items if "copy" not in item}
    numbers = _copies(items, cases) if is_redacted else [item.get("copy", 0) for item in items]
    return [
        [item["id"][:100]]
        if "copy" not in item
        else [f"copy-{number}", *([] if item["id"] in own else [item["id"][:100]])]
        for item, number in zip(items, numbers, strict=True)
    ]


def _copies(items: Sequence[Item], cases: Sequence[Case]) -> list[int]:
    """For each row without an id, which copy of its content it is.

    Where redaction made rows equal that were not, the order of the rows does not matter.
    """
    digests = [Transaction.of(item["query"]).digest() for item in items]
    if all(case.digest == digest for case, digest in zip(cases, digests, strict=True)):
        return [item.get("copy", 0) for item in items]
    numbers, counts = [0] * len(items), Counter[str]()
    rank = [(digests[i], item["answer"], item.get("copy", 0)) for i, item in enumerate(items)]
    for i in sorted(range(len(items)), key=rank.__getitem__):
        if "copy" in items[i]:
            counts[cases[i].digest] += 1
            numbers[i] = counts[cases[i].digest]
    return numbers


def _as_case(item: Item, redact: Sequence[str] = ()) -> Case:
    """A labelled item as a case, still without an id."""
    transaction = Transaction.of(item["query"])
    fields = read_fields(transaction)
    case = Case("", fields, item["answer"], transaction.text, transaction.digest())
    return Redaction.of(case.fields, redact).content(case) if redact else case
