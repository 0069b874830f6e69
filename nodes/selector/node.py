"""The selector as a graph node: read the transaction of a run, and choose bullets for it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from langgraph.runtime import get_runtime

from acegraph.nodes.runtime.sync_async import Wait
from acegraph.nodes.selector.factory import Selecting
from acegraph.nodes.text.reader import read_fields
from acegraph.state import (
    AceContext,
    AceState,
    Bullet,
    InvalidTransaction,
    Transaction,
    clean_text,
    parse_verdict,
)
from acegraph.state.run.modes import settle_settings
from acegraph.state.run.schema import CaseData, ShownBullet, Update
from acegraph.state.values.verdict import UNDECIDED

if TYPE_CHECKING:
    from acegraph.state.playbook.frozen_view import ReadablePlaybook

_MAX_ID: Final = 200
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
    "review": None,
    "approval": None,
}
"""What the first node writes over the values that an earlier run left on the thread."""


@dataclass(frozen=True)
class SelectorNode:
    """The first node of a run."""

    playbook: Callable[[], ReadablePlaybook]
    """Gives the playbook that the run sees."""
    selectors: Selecting
    defaults: AceContext = field(default_factory=AceContext)
    """The settings that count where a run sets none of its own."""
    review: bool = False
    """Whether the graph stops for a person."""

    async def __call__(self, state: AceState, wait: Wait) -> Update:
        """Read the transaction, reset the state, and choose bullets in five stages."""
        settings = settle_settings(AceContext.of(get_runtime().context, self.defaults))
        settings["review"] = self.review
        transaction = Transaction.of(state.get("transaction"))
        case = _new_case(state, transaction)
        playbook = self.playbook()
        selection = await self.selectors.select(transaction, settings, playbook, case["id"], wait)
        clock = selection.clock
        if clock is None:
            clock = await wait.work(lambda: playbook.clock)
        return {
            "case": case,
            "settings": settings,
            "bullets": [_shown(b, selection.scores[b.id]) for b in selection.bullets],
            "held_back": [{"id": b.id, "verdict": b.verdict} for b in selection.held_back],
            "funnel": selection.funnel,
            "playbook_version": clock.version,
            "playbook_position": clock.position,
            "warnings": list(selection.warnings),
            **_NOT_YET_WRITTEN,
        }


def _new_case(state: AceState, transaction: Transaction) -> CaseData:
    decision_id, truth = state.get("decision_id"), state.get("ground_truth")
    if decision_id is not None and not (
        isinstance(decision_id, str)
        and 0 < len(decision_id) <= _MAX_ID
        and decision_id == clean_text(decision_id)
    ):
        raise InvalidTransaction(f"a decision_id is plain text of 1 to {_MAX_ID} characters")
    if truth is not None and not str(truth).strip():
        truth = None
    return {
        "id": decision_id or uuid.uuid4().hex,
        "text": transaction.text,
        "given_fields": transaction.fields,
        "fields": read_fields(transaction),
        "digest": transaction.digest(),
        "ground_truth": None if truth is None else parse_verdict(truth),
    }


def _shown(bullet: Bullet, scores: dict[str, float]) -> ShownBullet:
    return {
        "id": bullet.id,
        "content": bullet.content,
        "verdict": bullet.verdict,
        "source": bullet.source,
        "scores": {name: round(score, 6) for name, score in scores.items()},
    }
