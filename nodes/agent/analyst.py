"""The embedded analyst: decides by a fixed scorecard and the bullets that hold, without a model."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from acegraph.nodes.evidence.scorecard import (
    _START,
    NO_LANGUAGE_MODEL,
    SCORECARD,
    ScorecardLine,
    _resolved,
    weight_of,
)
from acegraph.state import APPROVE, DECLINE, Bullet, Scalar, Verdict

NOTHING_READ: Final = (
    "nothing could be read from this transaction: the score is that of any payment"
)


@dataclass(frozen=True)
class Analysis:
    """A decision of the analyst with what led to it."""

    decision: Verdict
    risk_score: float
    reasons: tuple[str, ...]
    fired: tuple[str, ...]
    """Ids of the bullets whose condition held."""


def analyse(fields: Mapping[str, Scalar], bullets: Iterable[Bullet] = ()) -> Analysis:
    """Decide on the fields of a transaction.

    >>> analyse({"amount": 20.0, "hour": 14}).decision
    'APPROVE'
    """
    bullets = tuple(bullets)
    fired = [b for b in bullets if b.condition and b.condition.holds(fields)]
    signals = [s for s in SCORECARD if _resolved(s.test, fields).holds(fields)]
    score = _START + sum(s.points for s in signals)
    log_odds = score + sum(weight_of(b) for b in fired)
    reasons = [
        _bullet_reason(b, fields) for b in sorted(fired, key=weight_of, reverse=log_odds > 0)
    ]
    reasons.append(_scorecard_reason(score, signals, fields))
    if not fields:
        reasons.append(NOTHING_READ)
    prose = sum(b.condition is None for b in bullets)
    if prose:
        reasons.append(f"{prose} bullet(s) in prose not used: only a language model can read them")
    reasons.append(NO_LANGUAGE_MODEL)
    return Analysis(
        decision=DECLINE if log_odds > 0 else APPROVE,
        risk_score=round(_sigmoid(log_odds), 4),
        reasons=tuple(reasons),
        fired=tuple(b.id for b in fired),
    )


def _sigmoid(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, log_odds))))


def _bullet_reason(bullet: Bullet, fields: Mapping[str, Scalar]) -> str:
    assert bullet.condition is not None
    values = ", ".join(f"{name}={fields.get(name)}" for name in bullet.condition.fields)
    name = f"{bullet.id}: " if bullet.id else ""
    return f"{name}{bullet.content} [{values}; {weight_of(bullet):+.2f}]"


def _scorecard_reason(
    score: float, signals: list[ScorecardLine], fields: Mapping[str, Scalar]
) -> str:
    found = ", ".join(_resolved(s.test, fields).render() for s in signals) or "no risk signal"
    return f"scorecard {score:+.1f}: {found}"
