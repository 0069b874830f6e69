"""What two heuristics that look alike say differently: verdict, direction, field or bound.

"Decline above 10 per hour" and "decline above 50 per hour" are almost the same text and not the
same rule. A word that stands in only one of them is a difference too, unless it is the other's word
in another form: one rule too many costs little, a contradiction that was dropped costs what it
would have said. It reads sentences taken apart (wording.py) and knows nothing of records.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, Literal

from rapidfuzz.distance import OSA

from acegraph.nodes.lexicon import mentions
from acegraph.nodes.wording import VERDICT, take_apart
from acegraph.state import Condition, parse_condition

Difference = Literal["verdict", "direction", "field", "bound"]

_SURE: Final = 5
_OPPOSED: Final = ({"from", "to"}, {"by", "for"})
_WEAK: Final = frozenset().union(*_OPPOSED)
"""Words that matter only where one stands for its opposite."""


def difference(left: str, right: str) -> Difference | None:
    """What two texts say differently, or None where they say the same.

    >>> difference("Over 10 payments an hour: decline", "Over 50 payments an hour: decline")
    'bound'
    >>> difference("Risky at 90% confidence", "Risky at 95% confidence") is None
    True
    """
    a, b = parse_condition(left), parse_condition(right)
    if a is not None and b is not None:
        return between_conditions(a, b)
    one, other = take_apart(_without_flags(left)), take_apart(_without_flags(right))
    if one.verdicts != other.verdicts:
        return "verdict"
    if one.directions != other.directions:
        return "direction"
    if _subjects(left) != _subjects(right):
        return "field"
    if one.bounds != other.bounds:
        return "bound"
    return None if _same_words(one.words, other.words) else "field"


def between_conditions(a: Condition, b: Condition) -> Difference | None:
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


def _subjects(text: str) -> set[tuple[str, bool]]:
    """Flags, kinds of merchants and channels; topics are too broad to tell rules apart."""
    # "Do not approve gift cards" denies no gift cards.
    found = mentions(VERDICT.sub(" ", text))
    return {(m.concept, m.negated) for m in found if m.group != "topic"}


def _without_flags(text: str) -> str:
    """The text without the phrases that the lexicon knows as one flag: they are compared as such.

    >>> _without_flags("Decline via proxy at night")
    'Decline via       at night'
    """
    lowered = text.lower()
    for found in mentions(text) if len(lowered) == len(text) else ():
        if found.group == "flag":
            end = found.start + len(found.phrase)
            text = text[: found.start] + " " * len(found.phrase) + text[end:]
    return text


def _same_words(left: Sequence[str], right: Sequence[str]) -> bool:
    """Whether all that stands in one text only is the other's word in another form."""
    for a, b in _changes(left, right):
        if {*a, *b} in _OPPOSED:
            return False
        a, b = ([word for word in words if word not in _WEAK] for words in (a, b))
        if len(a) != len(b) or not all(map(_same_word, a, b)):
            return False
    return True


def _changes(
    left: Sequence[str], right: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            yield left[a:b], right[c:d]


def _same_word(a: str, b: str) -> bool:
    """One slip of the pen apart, in a word long enough to be sure of.

    >>> _same_word("merchant", "merchnat"), _same_word("verif", "unverif"), _same_word("low", "lot")
    (True, False, False)
    """
    return min(len(a), len(b)) >= _SURE and a[0] == b[0] and OSA.distance(a, b) == 1
