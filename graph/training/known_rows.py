"""Rows that were learned from before: the ids under which each counts once, however it comes again.

By its own id; or, without one, as the how-many-eth of its content it is. A row is looked for under
every name that it may have been stored by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

import sqlalchemy as sa

from acegraph.graph.data.files import Item
from acegraph.nodes.text.reader import read_fields
from acegraph.state import AceContext, Case, Transaction
from acegraph.state.database.encoding import chunks, is_storable
from acegraph.state.database.tables import cases as cases_table
from acegraph.state.ledger.ledger import ERASED
from acegraph.state.ledger.queries import KNOWN_CASES, PRUNED_CASES
from acegraph.state.ledger.redaction import Redaction

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


Road = Literal["history", "stream"]
"""By which a row came: as labelled history, or as a decision of a stream."""

_EVIDENCE: Final = KNOWN_CASES.where(
    (cases_table.c.evidence == 1) | (cases_table.c.digest == ERASED)  # it was, until it was erased
)


def known_rows(
    items: Sequence[Item], playbook: BulletPlaybook, context: AceContext, road: Road
) -> list[Case]:
    """The items as cases, each under the id by which it is stored already, if it is.

    What came by the other road is the same row if it has an id of its own. Without one only
    the whole set is known again: a new stream may hold cases that look like old history.
    """
    node, redact = context.node, context.redact
    other = "stream" if road == "history" else "history"
    cases = [_as_case(item, redact) for item in items]
    names = [
        [f"{node}:{name}:{case.digest[:12]}" for name in called]
        for case, called in zip(cases, _names(items, cases, bool(redact)), strict=True)
    ]
    here = _stored(playbook, [[f"{road}:{name}" for name in one] for one in names], KNOWN_CASES)
    there = _stored(playbook, [[f"{other}:{name}" for name in one] for one in names], _EVIDENCE)
    if not all(there) or _count(playbook, f"{other}:{node}:") != len(items):
        there = [
            found if "copy" not in item else None for found, item in zip(there, items, strict=True)
        ]
    return [
        replace(case, id=one or another or f"{road}:{called[0]}")
        for case, one, another, called in zip(cases, here, there, names, strict=True)
    ]


def _stored(
    playbook: BulletPlaybook, names: Sequence[Sequence[str]], known: sa.Select[Any]
) -> list[str | None]:
    """By which of its names each row is stored, or was until it was pruned."""
    found: set[str] = set()
    with playbook.database.reading() as connection:
        for some in chunks([name for one in names for name in one if is_storable(name)]):
            for statement in (known, PRUNED_CASES):
                found.update(connection.scalars(statement, {"ids": some}))
    return [next((name for name in one if name in found), None) for one in names]


def _count(playbook: BulletPlaybook, beginning: str) -> int:
    """How many cases of evidence have ids that begin so."""
    mine = cases_table.c.id.startswith(beginning, autoescape=True)
    statement = sa.select(sa.func.count()).where(mine, cases_table.c.evidence == 1)
    with playbook.database.reading() as connection:
        return int(connection.scalar(statement) or 0)


def _names(items: Sequence[Item], cases: Sequence[Case], is_redacted: bool) -> list[list[str]]:
    """What each row may be called: by its own id; or, without one, as the how-many-eth of its
    content it is, so that the same export under another name is the same.

    Earlier such a row was called by its place. Equal content would not do to find those: rows with
    ids may have it too, and of what was erased or pruned the id alone is left.
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
    """The how-many-eth of its content each row without an id is; whatever the order of the rows,
    where redaction has made the same of what was not.
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
    given = Transaction.of(item["query"])
    case = Case("", read_fields(given), item["answer"], given.text, given.digest())
    return Redaction.of(case.fields, redact).content(case) if redact else case
