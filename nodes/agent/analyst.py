"""The embedded analyst: decides by a fixed scorecard and the bullets that hold, without a model.

The scorecard is in nodes/rules/points.py.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from acegraph.nodes.agent.decision import Decision
from acegraph.nodes.rules.points import (
    NO_LANGUAGE_MODEL,
    UNIT,
    points_of,
    scorecard_on,
    weight_of,
)
from acegraph.nodes.rules.scale import RiskScale
from acegraph.state import APPROVE, DECLINE, Bullet
from acegraph.state.values.condition import MENTIONS
from acegraph.state.values.memos import SENTENCE
from acegraph.state.values.transaction import Scalar

PLAIN: Final = RiskScale()
"""The scale of an agent that knows no labelled cases."""
NOTHING_READ: Final = (
    "nothing could be read from this transaction: the score is that of any payment"
)


def analyse(
    fields: Mapping[str, Scalar], bullets: Iterable[Bullet] = (), scale: RiskScale = PLAIN
) -> Decision:
    """Decide on the fields of a transaction, on a scale of risk.

    >>> analyse({"amount": 20.0, "hour": 14}).decision
    'APPROVE'
    """
    bullets = (*bullets, *scale.unshown)
    fired = [b for b in bullets if b.condition and b.condition.holds(fields)]
    score, tests = scorecard_on(fields)
    points = score + sum(map(points_of, fired))
    declines = points > scale.limit(fields)
    reasons = [_bullet_reason(b, fields) for b in sorted(fired, key=weight_of, reverse=declines)]
    reasons.append(f"scorecard {score / UNIT:+.1f}: {', '.join(tests) or 'no risk signal'}")
    if not fields.keys() - {SENTENCE}:
        reasons.append(NOTHING_READ)
    prose = sum(b.condition is None for b in bullets)
    if prose:
        reasons.append(f"{prose} bullet(s) in prose not used: only a language model can read them")
    if scale is not PLAIN:
        reasons.append(scale.in_words(fields))
    reasons.append(NO_LANGUAGE_MODEL)
    return Decision(
        decision=DECLINE if declines else APPROVE,
        risk_score=scale.risk(points),
        reasons=tuple(reasons),
        bullets_used=tuple(b.id for b in fired),
    )


def _bullet_reason(bullet: Bullet, fields: Mapping[str, Scalar]) -> str:
    assert bullet.condition is not None
    # What a text mentions stands in the rule; the whole text may say anything.
    names = dict.fromkeys(c.field for c in bullet.condition.comparisons if c.op != MENTIONS)
    values = ", ".join(f"{name}={fields.get(name)}" for name in names)
    name, weight = f"{bullet.id}: " if bullet.id else "", f"{weight_of(bullet):+.2f}"
    return f"{name}{bullet.content} [{f'{values}; {weight}' if values else weight}]"
