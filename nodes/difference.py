"""What two heuristics that look alike say differently: verdict, direction, field or bound.

"Decline above 10 per hour" and "decline above 50 per hour" are almost the same text and not the
same rule. A word that stands in only one of them is a difference too, unless it is the other's word
in another form: one rule too many costs little, a contradiction that was dropped costs what it
would have said. It reads sentences taken apart (wording.py) and knows nothing of records.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Final, Literal

from rapidfuzz.distance import OSA

from acegraph.nodes.lexicon import FLAGS, OPPOSITES, mentions
from acegraph.nodes.wording import VERDICT, stem, take_apart
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
    if left == right:
        return None
    a, b = parse_condition(left), parse_condition(right)
    if a is not None and b is not None:
        return between_conditions(a, b)
    one, other = _read(left), _read(right)
    if one.verdicts != other.verdicts:
        return "verdict"
    if one.directions != other.directions:
        return "direction"
    if one.bounds != other.bounds:
        return "bound"
    if _same_words(one.words, other.words):
        return None
    changed = {word for pair in _changes(one.words, other.words) for part in pair for word in part}
    if changed & _flag_words() and _flags(left) == _flags(right):
        one, other = _read(_without_flags(left)), _read(_without_flags(right))
        return None if _same_words(one.words, other.words) else "field"
    return "field"


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


_read = lru_cache(maxsize=4096)(take_apart)


@cache
def _flag_words() -> frozenset[str]:
    phrases = (phrase for group in (FLAGS, OPPOSITES) for many in group.values() for phrase in many)
    return frozenset(stem(word) for phrase in phrases for word in phrase.replace("-", " ").split())


def _flags(text: str) -> frozenset[tuple[str, bool]]:
    """The flags of the lexicon that a text names: they have many names each."""
    # "Do not approve new devices" denies no new devices.
    found = mentions(VERDICT.sub(" ", text))
    return frozenset((m.concept, m.negated) for m in found if m.group == "flag")


def _without_flags(text: str) -> str:
    """The text without the phrases that name flags.

    >>> _without_flags("Decline via proxy at night")
    'decline via       at night'
    """
    text = text.lower()
    for found in mentions(text):
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
