"""Rows that come again: the ids under which each counts once, and what is stored under them.

A row that came with an id keeps it. A row without an id is named by its content and by its number
among the rows of the same content, so that the same export under another file name is known.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from acegraph.graph.data.files import Item, transaction_of
from acegraph.nodes.evidence.sightings.columns import sighting_of
from acegraph.nodes.text.understand import understand_given
from acegraph.state import AceContext, AceOutput, BulletPlaybook
from acegraph.state.errors import PrunedDecision, UnknownDecision
from acegraph.state.ledger.hidden_fields import HiddenFields
from acegraph.state.ledger.lookups import ERASED, count_evidence, known_ids
from acegraph.state.task.task import Task
from acegraph.state.values import Case

Origin = Literal["history", "stream"]
"""How a row came: as labelled history, or as a decision of a stream."""
Cases = Sequence[tuple[Item, str]]
"""Labelled items, each with the id under which it is decided."""


def known_rows(
    items: Sequence[Item], playbook: BulletPlaybook, context: AceContext, origin: Origin, task: Task
) -> list[Case]:
    """The items as cases, each under the id by which it is stored already, else under a new one.

    A row with an id is also found if it came by the other way before. Rows without ids are found
    there only as a whole set: a new stream may hold cases that look like old history.
    """
    node = context.node
    other: Origin = "stream" if origin == "history" else "history"
    cases = [as_case(item, task) for item in items]
    digests = [case.digest for case in cases]
    if task.hidden:
        digests = [transaction_of(item).digest() for item in items]
    names = [[name] for name in _names(items, cases, digests, node)]
    if task.hidden:  # some may be stored as they were before a field was hidden
        whole = [replace(case, digest=one) for case, one in zip(cases, digests, strict=True)]
        names = [[*a, b] for a, b in zip(names, _names(items, whole, digests, node), strict=True)]
    same_way = _stored_ids(playbook, origin, names, evidence_only=False)
    other_way = _stored_ids(playbook, other, names, evidence_only=True)
    stored = count_evidence(playbook.database, f"{other}:{node}:")
    is_whole_set = all(other_way) and stored == len(items)
    return [
        replace(
            case,
            id=first
            or (second if is_whole_set or "copy" not in item else None)
            or f"{origin}:{row_names[0]}",
        )
        for item, case, first, second, row_names in zip(
            items, cases, same_way, other_way, names, strict=True
        )
    ]


def stored_results(cases: Cases, playbook: BulletPlaybook) -> tuple[dict[str, AceOutput], set[str]]:
    """The results of cases that an earlier pass decided and learned from, so that none is paid
    twice; and the ids of cases that were pruned or erased since, so that none counts twice.
    """
    results: dict[str, AceOutput] = {}
    gone = set()
    for item, case_id in cases:
        try:
            stored = playbook.decision(case_id)
        except UnknownDecision as error:
            if isinstance(error, PrunedDecision):
                gone.add(case_id)
            continue
        decision, is_right = stored["decision"], stored["decision"] == item["answer"]
        is_done = decision and (is_right or stored["lesson"] is not None)
        if is_done and stored["label"] == item["answer"]:
            verdict, risk = "right" if is_right else "wrong", stored["risk_score"]
            results[case_id] = {"decision": decision, "risk_score": risk, "verdict": verdict}
        elif stored["digest"] == ERASED:
            gone.add(case_id)
    return results, gone


def _names(
    items: Sequence[Item], cases: Sequence[Case], digests: Sequence[str], node: str
) -> list[str]:
    """The name of each row: by its id, or by its number among the copies of its content, whose
    digests as they came are given.

    Rows that only redaction made equal are numbered independently of their order in the data set.
    """
    numbers, counts = [item.get("copy", 0) for item in items], Counter[str]()
    if any(case.digest != digest for case, digest in zip(cases, digests, strict=True)):
        rank = [(digests[i], item["answer"], numbers[i]) for i, item in enumerate(items)]
        for i in sorted(range(len(items)), key=rank.__getitem__):
            if "copy" in items[i]:
                counts[cases[i].digest] += 1
                numbers[i] = counts[cases[i].digest]
    return [
        f"{node}:{f'copy-{number}' if 'copy' in item else item['id'][:100]}:{case.digest[:12]}"
        for item, case, number in zip(items, cases, numbers, strict=True)
    ]


def _stored_ids(
    playbook: BulletPlaybook, origin: Origin, names: Sequence[Sequence[str]], evidence_only: bool
) -> list[str | None]:
    """For each row the id under which it is stored, or was until it was pruned."""
    ids = [[f"{origin}:{name}" for name in row_names] for row_names in names]
    all_ids = (row_id for row_ids in ids for row_id in row_ids)
    stored = known_ids(playbook.database, all_ids, evidence_only=evidence_only)
    return [next((row_id for row_id in row_ids if row_id in stored), None) for row_ids in ids]


def as_case(item: Item, task: Task) -> Case:
    """A labelled item as a case without an id."""
    transaction = transaction_of(item)
    understood = understand_given(transaction, task)
    fields, text = understood.fields, understood.transaction.text
    columns = item.get("sighting_columns")
    case = Case(
        "",
        fields,
        item["answer"],
        text,
        transaction.digest(),
        sighting=sighting_of(fields, columns) if columns else None,
        came=transaction.came(text),
    )
    hidden = task.hidden_names
    return HiddenFields.of(case.fields, hidden, case.came).content(case) if hidden else case
