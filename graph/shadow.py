"""A challenger: another version of the playbook that decides beside the live one, and counts for
nothing.

What it says is stored with the decision; when the labels are there, champion.py compares.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acegraph.nodes.evidence.backtest import can_prove
from acegraph.nodes.evidence.weights import fitted_weights
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import AceState, Bullet, CaseTable, ModelError, Transaction
from acegraph.state.ledger.row_mapping import to_row

if TYPE_CHECKING:
    from acegraph.graph.steps import Parts
    from acegraph.state import BulletPlaybook


def version_of(playbook: BulletPlaybook, version: int, node: str) -> BulletPlaybook:
    """The bullets of a version as a playbook of its own in memory, with today's counters.

    Weights are fitted in company: where the company was another, they are fitted anew on the
    labelled cases of today.
    """
    from acegraph.state import BulletPlaybook, bullets_at

    bullets = bullets_at(playbook, version)
    active = [b for b in bullets if b.node == node and b.status == "active"]
    if _company(active) != _company(playbook.get_bullets_for_node(node)):
        fitted = _refit(active, playbook.cases(node))
        bullets = [fitted.get(b.id, b) for b in bullets]
    found = BulletPlaybook()
    with found.writing() as page:
        page.version = version
        for bullet in bullets:
            page.add_bullet(to_row(bullet))
    found.forget()
    found.share_vectors(playbook)
    return found


def _company(bullets: list[Bullet]) -> set[tuple[str, str]]:
    return {(b.id, b.content) for b in bullets}


def _refit(active: list[Bullet], table: CaseTable) -> dict[str, Bullet]:
    checkable = [b for b in active if b.condition]
    if not checkable or not can_prove(table):
        return {b.id: replace(b, weight=None) for b in active}
    weights = fitted_weights(table, checkable)
    return {b.id: replace(b, weight=w) for b, w in zip(checkable, weights, strict=True)}


async def decide_in_shadow(parts: Parts, state: AceState, wait: Wait) -> dict[str, Any]:
    """What the challenger decides on the transaction of a run, in the form the ledger keeps."""
    parts = parts.behind or parts  # what was foreseen is the champion's
    case, settings = state["case"], state["settings"]
    version, node = settings["challenger"], settings["node"]
    if (version, node) not in parts.challengers:
        built = await wait.work(version_of, parts.playbook, version, node)
        parts.challengers.setdefault((version, node), built)
    transaction = Transaction(case["text"], case["given_fields"])
    said: dict[str, Any] = {"version": version, "decision": None, "risk_score": None}
    try:
        chosen = await parts.selector_for(settings).select(
            transaction,
            node,
            parts.challengers[version, node],
            settings["n_bullets"],
            settings["source"],
            case["id"],
            wait,
        )
        found = await parts.agent.settle(transaction, chosen.bullets, wait, settings["agent_model"])
    except ModelError as error:
        return {**said, "undecided": str(error)}
    return {
        **said,
        "decision": found.decision,
        "risk_score": found.risk_score,
        "bullets": [b.id for b in chosen.bullets],
    }
