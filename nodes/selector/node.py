"""The selector as a graph node: read the transaction of a run, and choose bullets for it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from langgraph.config import get_config
from langgraph.runtime import get_runtime

from acegraph.nodes.runtime.sync_async import Wait
from acegraph.nodes.selector.selector import Selectors
from acegraph.nodes.selector.stages import Selection
from acegraph.nodes.text.understand import Understood, understand_given
from acegraph.state import AceContext, AceInput, AceState, InvalidTransaction
from acegraph.state.errors import some
from acegraph.state.run.context import overlooked_settings, settle
from acegraph.state.run.schema import CaseData, HeldBackRule, RunSettings, Update
from acegraph.state.values import UNDECIDED, Clock, Transaction, check_id, is_derived, parse_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acegraph.state import BulletPlaybook

_NOT_YET_WRITTEN: Final[Update] = {
    "decision": UNDECIDED,
    "risk_score": None,
    "reasons": [],
    "bullets_used": [],
    "undecided": None,
    "verdict": "pending",
    "is_correct": None,
    "confidence": None,
    "judge_reasoning": "",
    "correct_answer": None,
    "label_source": None,
    "learning": False,
    "reflection": None,
    "curation": None,
    "new_bullet": None,
    "usage": {},
    "held": None,
    "review": None,
    "approval": None,
}
"""What the first node writes over the values that an earlier run left on the thread."""


@dataclass(frozen=True)
class SelectorNode:
    """The first node of a run."""

    playbook: BulletPlaybook
    selectors: Selectors
    defaults: AceContext = field(default_factory=AceContext)
    """The settings that count where a run sets none of its own."""
    review: bool = False
    """Whether the graph stops for a person."""
    keeps_derived: bool = False
    """Whether derived fields of a transaction stay as they are given (see Parts)."""

    async def __call__(self, state: AceState, wait: Wait) -> Update:
        """Read the transaction, reset the state, and choose bullets in five stages."""
        given = get_runtime().context
        context = AceContext.of(given, self.defaults)
        overlooked = overlooked_settings(given, get_config().get("configurable", {}))
        book = await wait.work(self.playbook.frozen, context.node)
        settings = settle(book, context)
        settings["review"] = self.review
        read = await wait.work(read_case, state, book, settings, self.keeps_derived)
        update = await chosen(read, settings, self.selectors, book, wait)
        return {**update, "warnings": [*overlooked, *update["warnings"]]}


@dataclass(frozen=True)
class ReadCase:
    """What came to be decided, and what the playbook makes of it."""

    case: CaseData
    understood: Understood


def read_case(
    given: AceInput | AceState,
    playbook: BulletPlaybook,
    settings: RunSettings,
    keeps_derived: bool = False,
) -> ReadCase:
    """Read what a caller gave."""
    if given.get("transaction") is None and given.get("decision_id") is None:
        raise InvalidTransaction(
            "a transaction is text or a mapping of fields; found nothing, and nothing that "
            "waits for an answer"
        )
    decision_id = given.get("decision_id")
    case_id = uuid.uuid4().hex if decision_id is None else check_id(decision_id)
    came, node = Transaction.of(given.get("transaction")), settings["node"]
    understood = understand(came, playbook, node, case_id, keeps_derived=keeps_derived)
    transaction = understood.transaction
    truth = understood.task.stored(given.get("ground_truth"))
    case: CaseData = {
        "id": case_id,
        "text": transaction.text,
        "given_fields": transaction.fields,
        "fields": understood.fields,
        "digest": came.digest(),
        "ground_truth": parse_verdict(truth) if str(truth or "").strip() else None,
    }
    if otherwise := came.came(transaction.text):
        case["came"] = otherwise
    if understood.sighting_columns:
        case["sighting_columns"] = dict(understood.sighting_columns)
    return ReadCase(case, understood)


async def chosen(
    read: ReadCase,
    settings: RunSettings,
    selectors: Selectors,
    playbook: BulletPlaybook,
    wait: Wait,
) -> Update:
    """What the first node writes for a case: the transaction and the bullets chosen for it."""
    transaction = read.understood.transaction
    selection = await selectors.select(transaction, settings, playbook, read.case["id"], wait)
    clock = selection.clock
    if clock is None:
        clock = await wait.work(lambda: playbook.clock)
    return written(read, settings, selection, clock)


def written(read: ReadCase, settings: RunSettings, selection: Selection, clock: Clock) -> Update:
    """What the first node writes for a case, at a moment of the playbook."""
    doubts = read.understood.doubts
    return {
        "case": read.case,
        "doubts": [{"field": name, "why": why} for name, why in doubts.items()],
        "settings": settings,
        "bullets": [
            {
                "id": bullet.id,
                "content": bullet.content,
                "verdict": bullet.verdict,
                "source": bullet.source,
                "scores": selection.scores[bullet.id],
            }
            for bullet in selection.bullets
        ],
        "held_back": [HeldBackRule(id=b.id, verdict=b.verdict) for b in selection.unshown],
        "funnel": selection.funnel,
        "playbook_version": clock.version,
        "playbook_position": clock.position,
        "warnings": [*_overlooked(read.understood.overlooked), *selection.warnings],
        **_NOT_YET_WRITTEN,
    }


def _overlooked(names: Sequence[str]) -> list[str]:
    return [f"no field of the task, ignored: {some(names)}"] if names else []


def understand(
    transaction: Transaction,
    playbook: BulletPlaybook,
    node: str,
    case_id: str,
    *,
    keeps_derived: bool,
) -> Understood:
    """The transaction in the words of the node's task, and what is in doubt."""
    table = playbook.cases(node)
    assert table.task is not None
    understood = replace(understand_given(transaction, table.task), task=table.task)
    named = {*understood.fields, *table.field_names}
    if not (playbook.tested_derived(node) or any(map(is_derived, named))):
        return understood
    from acegraph.nodes.selector.derived import with_derived

    return with_derived(understood, table, playbook, node, case_id, keeps_given=keeps_derived)
