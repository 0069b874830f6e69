"""The proof of a proposal: its backtest on the labelled cases, and the reason to refuse it.

How much proof is enough is the `gate` (nodes/evidence/proof_levels.py). The safety checks that need
no backtest are in screening.py.
"""

from collections.abc import Sequence
from typing import Final

from acegraph.nodes.curator.screening import Proposal
from acegraph.nodes.evidence.backtest import ALIKE, Backtest, backtest, can_prove
from acegraph.nodes.evidence.drift import since_change
from acegraph.nodes.evidence.proof_levels import Gate
from acegraph.nodes.rules.held_out import saves
from acegraph.nodes.rules.points import log_odds_over
from acegraph.state.values import NOT_PROVED, Bullet, CaseTable, Condition, is_meant_as_condition

_MIN_FIRES: Final = 3


def prove(
    proposal: Proposal, bullets: Sequence[Bullet], gate: Gate | None
) -> tuple[Backtest | None, str]:
    """The backtest of a proposal beside the bullets of its node, and the reason to refuse it."""
    condition = proposal.condition
    if condition is None or gate is None:
        return None, ""
    if not can_prove(proposal.table):
        return None, _never_right(condition, proposal.table)
    active = [b for b in bullets if b.status == "active"]
    table = since_change(proposal.table, bullets)
    if not can_prove(table):
        return None, ""
    own = table.row_of(proposal.decision)
    tested = backtest(condition, table, log_odds_over(table, active), own)
    if tested.fires < _MIN_FIRES:
        refusal = f"fires on {tested.fires} of {tested.cases} labelled cases; too few to tell"
    elif tested.p_chance > gate.max_chance:
        refusal = (
            f"right on {tested.right} of {tested.fires} labelled cases: chance does as well "
            f"(p = {tested.p_chance:.2f})"
        )
    elif tested.gain < gate.proposed_gain:
        refusal = "adds nothing to what the playbook already says"
    else:
        refusal = _said_already(condition, table, active)
        if not refusal and proposal.decision and not saves(condition, table, active):
            refusal = (
                "beside a refined set a rule must save something: held out, cases cost as much"
            )
    return tested, refusal


def lacking_proof(proposal: Proposal, tested: Backtest | None, gate: Gate | None) -> str:
    """Why a proposal that nothing speaks against must wait all the same; empty if it may act.

    No rule acts before there are cases to test it on, nor does prose, which no backtest can test.
    """
    if gate is None or tested is not None:
        return ""
    if proposal.condition is None:
        hint = ' (as a condition it cannot be read: put words in quotes, as country is "NG")'
        return (
            "unproven: prose acts once a person has let it in, or a trial has borne it out"
            + hint * is_meant_as_condition(proposal.content)
        )
    return NOT_PROVED


def in_words(tested: Backtest | None) -> str:
    """What a backtest says for a bullet that is let in."""
    if tested is None:
        return "unproven: no labelled history to test it on, or nothing that can be tested"
    return (
        f"right on {tested.right} of {tested.fires} labelled cases "
        f"(precision {tested.precision:.2f}, 95 % interval {tested.precision_low:.2f} to "
        f"{tested.precision_high:.2f}), gain {tested.gain:.1f} standard errors"
    )


def _never_right(condition: Condition, table: CaseTable) -> str:
    """The reason to refuse a rule that is always wrong on cases that cannot prove a right one."""
    fired = condition.holds_over(table)
    wanted = table.labelled(condition.verdict)
    fires, right = int(fired.sum()), int((fired & wanted).sum())
    return f"right on none of {fires} labelled cases" if fires >= _MIN_FIRES and not right else ""


def _said_already(condition: Condition, table: CaseTable, active: Sequence[Bullet]) -> str:
    """The reason to refuse a rule that fires where an active bullet of its verdict does, or where
    one of the other verdict does not; empty if there is none.
    """
    fired = condition.holds_over(table)
    for bullet in active:
        if bullet.condition is None:
            continue
        other = bullet.condition.holds_over(table)
        if bullet.verdict != condition.verdict:
            if (fired != other).mean() > ALIKE:
                return f"fires where {bullet.id} does not, and says the same"
        elif (fired & other).sum() > ALIKE * (fired | other).sum():
            return f"fires on the same cases as {bullet.id}"
    return ""
