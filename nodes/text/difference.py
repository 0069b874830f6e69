"""What two heuristics that look alike say differently: verdict, direction, field or bound.

"Decline above 10 per hour" and "decline above 50 per hour" are almost the same text and not the
same rule. A word that stands in only one of them is a difference too, unless it is the other's word
in another form: one rule too many costs little, a contradiction that was dropped costs what it
would have said. It reads sentences taken apart (wording.py) and knows nothing of records.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Final, Literal

from acegraph.nodes.text.lexicon import FLAGS, OPPOSITES, mentions
from acegraph.nodes.text.sentence import VERDICT, Sentence, fits, is_swapped, parse_sentence, stem
from acegraph.state import DECLINE, Condition, parse_condition

WordingDifference = Literal["verdict", "direction", "field", "bound"]
Change = tuple[Sequence[str], Sequence[str]]


_SURE: Final = 5
_OPPOSED: Final = ({"from", "to"}, {"by", "for"})
_WEAK: Final = frozenset().union(*_OPPOSED)
"""Words that matter only where one stands for its opposite."""


def difference(left: str, right: str) -> WordingDifference | None:
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
    if one.bounds != other.bounds or _other_money(one, other):
        return "bound"
    changes = list(_changes(one.words, other.words))
    if _harmless(changes):
        return None
    if all(word in _flag_words() for a, b in changes for word in (*a, *b)):
        (one, flags), (other, others_flags) = _without_flags(left), _without_flags(right)
        if flags == others_flags and _harmless(_changes(one.words, other.words)):
            return None
    return "field"


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


def contradicts(text: str, condition: Condition) -> bool:
    """Whether a sentence has another verdict than its condition, other numbers, or one of its
    numbers as a bound from the other side.
    """
    said = _read(text)
    if said.verdicts and (1 if condition.verdict == DECLINE else -1) not in said.verdicts:
        return True
    tests = [test for test in condition.comparisons if test.op[0] in "<>"]
    fitting = [[i for i, bound in enumerate(said.bounds) if fits(bound, test)] for test in tests]
    if said.bounds and tests and not any(fitting):
        return True
    if len(said.directions) != len(said.bounds):  # which belongs to which is open
        return False
    return any(
        rows and ("up" if test.op[0] == ">" else "down") not in {said.directions[i] for i in rows}
        for test, rows in zip(tests, fitting, strict=True)
    )


_read = lru_cache(maxsize=4096)(parse_sentence)


@cache
def _flag_words() -> frozenset[str]:
    phrases = (phrase for group in (FLAGS, OPPOSITES) for many in group.values() for phrase in many)
    return frozenset(stem(word) for phrase in phrases for word in phrase.replace("-", " ").split())


@lru_cache(maxsize=4096)
def _without_flags(text: str) -> tuple[Sentence, frozenset[tuple[str, bool]]]:
    """A text without the phrases that name flags of the lexicon, and the flags: each has many
    names.
    """
    text = text.lower()
    # "Do not approve new devices" denies no new devices.
    verdictless = VERDICT.sub(lambda verdict: " " * len(verdict[0]), text)
    found = [mention for mention in mentions(verdictless) if mention.group == "flag"]
    for flag in found:
        end = flag.start + len(flag.phrase)
        text = text[: flag.start] + " " * len(flag.phrase) + text[end:]
    return parse_sentence(text), frozenset((flag.concept, flag.negated) for flag in found)


def _other_money(one: Sentence, other: Sentence) -> bool:
    """Whether both name a currency, and not the same."""
    return bool(one.currencies and other.currencies) and one.currencies != other.currencies


def _harmless(changes: Iterable[Change]) -> bool:
    """Whether all that stands in one text only is the other's word in another form."""
    for a, b in changes:
        if {*a, *b} in _OPPOSED:
            return False
        a, b = ([word for word in words if word not in _WEAK] for words in (a, b))
        if len(a) != len(b) or not all(map(_same_word, a, b)):
            return False
    return True


def _changes(left: Sequence[str], right: Sequence[str]) -> Iterator[Change]:
    """The words that stand in one text where the other has others, or none."""
    start = end = 0
    shorter = min(len(left), len(right))
    while start < shorter and left[start] == right[start]:
        start += 1
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    left, right = left[start : len(left) - end], right[start : len(right) - end]
    if len(left) <= 1 and len(right) <= 1:  # a matcher would have nothing to match
        yield from [(left, right)] if left or right else []
        return
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind != "equal":
            yield left[a:b], right[c:d]


def _same_word(a: str, b: str) -> bool:
    """One slip of the pen apart, in a word long enough to be sure of: letters changed places, or
    one that is doubled. Another letter, or one more, makes another word.

    >>> _same_word("merchant", "merchnat"), _same_word("adress", "address")
    (True, True)
    >>> _same_word("hotel", "hostel"), _same_word("verif", "unverif"), _same_word("low", "lot")
    (False, False, False)
    """
    if min(len(a), len(b)) < _SURE:
        return False
    return is_swapped(a, b) or _undoubled(a) == _undoubled(b)


def _undoubled(word: str) -> str:
    return re.sub(r"([a-z])\1", r"\1", word)
