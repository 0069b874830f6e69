"""What two similar heuristics say differently: verdict, direction, field or bound.

"Decline above 10 per hour" and "decline above 50 per hour" are almost the same text, but not the
same rule. A word that only one of them has is a difference too: an extra rule costs little, but
dropping a contradiction loses what it says. This module compares parsed sentences (sentence.py) and
knows nothing of the records of bullets.
"""

from functools import lru_cache
from typing import Literal

from acegraph.nodes.text.sentence import parse_sentence
from acegraph.state import Condition, parse_condition

WordingDifference = Literal["verdict", "direction", "field", "bound"]
_parse = lru_cache(maxsize=4096)(parse_sentence)
_condition = lru_cache(maxsize=4096)(parse_condition)


def difference(left: str, right: str) -> WordingDifference | None:
    """What two texts say differently, or None if they say the same.

    >>> difference("Over 10 payments an hour: decline", "Over 50 payments an hour: decline")
    'bound'
    >>> difference("Risky at 90% confidence", "Risky at 95% confidence") is None
    True
    """
    if left == right:
        return None
    left_condition, right_condition = _condition(left), _condition(right)
    if left_condition is not None and right_condition is not None:
        return between_conditions(left_condition, right_condition)
    a, b = _parse(left), _parse(right)
    if a.verdicts != b.verdicts:
        return "verdict"
    if a.directions != b.directions:
        return "direction"
    have_currencies = a.currencies and b.currencies
    if a.bounds != b.bounds or (have_currencies and a.currencies != b.currencies):
        return "bound"
    return "field" if a.words != b.words else None


def between_conditions(a: Condition, b: Condition) -> WordingDifference | None:
    """What two conditions test differently."""
    if a.same_as(b):
        return None
    if a.verdict != b.verdict:
        return "verdict"
    if set(a.fields) != set(b.fields):
        return "field"
    if {(c.field, c.op) for c in a.comparisons} != {(c.field, c.op) for c in b.comparisons}:
        return "direction"
    return "bound"
