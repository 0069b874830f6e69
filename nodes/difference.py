"""What two heuristics that look alike say differently: verdict, direction, field or bound.

"Decline above 10 per hour" and "decline above 50 per hour" are almost the same text and not the
same rule. It reads words and numbers; it knows nothing of records.
"""

import re
from typing import Final, Literal

from acegraph.nodes.lexicon import mentions
from acegraph.state import Condition, parse_condition

Difference = Literal["verdict", "direction", "field", "bound"]

_UP: Final = (
    r">=?|above|over|more than|greater than|higher than|exceed\w*|at least|older than|after"
)
_DOWN: Final = (
    r"<=?|below|under|less than|fewer than|lower than|at most|up to|younger than|newer than|before"
    r"|within"
)
_DIRECTION = re.compile(rf"(?P<up>{_UP})|(?P<down>{_DOWN})", re.IGNORECASE)
_VERDICT = re.compile(
    r"(?P<negated>\b(?:not|never|don't|do not|no|non)\b[\s-]+(?:a\s+|be\s+|as\s+)?)?"
    r"\b(?:(?P<decline>declin\w*|den(?:y|ied)|reject\w*|block\w*|fraud\w*|suspicious|refus\w*)"
    r"|(?P<approve>approv\w*|accept\w*|allow\w*|legit\w*|safe|genuine))\b",
    re.IGNORECASE,
)
# A percentage or a confidence is a claim about the rule, not a bound of it.
_CLAIM = re.compile(
    r"\d+(?:\.\d+)?\s*(?:%|percent\b)|(?:confidence|probability|likelihood|precision)\W+(?:of\W+)?\d*\.?\d+",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(r"\b(?:unless|except|excluding)\b", re.IGNORECASE)
_NUMBER_WORDS: Final = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_BOUND = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?\s*(?P<scale>[kKmM]\b)?")


def difference(left: str, right: str) -> Difference | None:
    """What two texts say differently, or None where they say the same.

    >>> difference("Over 10 payments an hour: decline", "Over 50 payments an hour: decline")
    'bound'
    >>> difference("Risky at 90% confidence", "Risky at 95% confidence") is None
    True
    """
    a, b = parse_condition(left), parse_condition(right)
    if a is not None and b is not None:
        return _between_conditions(a, b)
    if _verdict(left) != _verdict(right):
        return "verdict"
    if _directions(left) != _directions(right):
        return "direction"
    if _subjects(left) != _subjects(right):
        return "field"
    return "bound" if _bounds(left) != _bounds(right) else None


def _between_conditions(a: Condition, b: Condition) -> Difference | None:
    if a.same_as(b):
        return None
    if a.verdict != b.verdict:
        return "verdict"
    if set(a.fields) != set(b.fields):
        return "field"
    if {(c.field, c.op) for c in a.comparisons} != {(c.field, c.op) for c in b.comparisons}:
        return "direction"
    return "bound"


def _verdict(text: str) -> int:
    """Positive where the text argues for DECLINE, negative for APPROVE."""
    total = 0
    for found in _VERDICT.finditer(text):
        total += (1 if found["decline"] else -1) * (-1 if found["negated"] else 1)
    return (total > 0) - (total < 0)


def _directions(text: str) -> list[str]:
    return [str(found.lastgroup) for found in _DIRECTION.finditer(text)]


def _subjects(text: str) -> set[tuple[str, bool]]:
    found = {(m.phrase if m.concept == "country" else m.concept, m.negated) for m in mentions(text)}
    return found | {(word.lower(), True) for word in _EXCEPTION.findall(text)}


def _bounds(text: str) -> list[float]:
    scales = {"k": 1e3, "m": 1e6}
    text = re.sub(r"[a-z]+", lambda word: _NUMBER_WORDS.get(word[0], word[0]), text.lower())
    return sorted(
        float(re.sub(r"[^\d.]", "", found[0])) * scales.get((found["scale"] or "").lower(), 1)
        for found in _BOUND.finditer(_CLAIM.sub(" ", text))
    )
