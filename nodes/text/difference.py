"""What two similar heuristics say differently: verdict, direction, field or bound.

"Decline above 10 per hour" and "decline above 50 per hour" are almost the same text, but not the
same rule. A word that only one of them has is a difference too, unless it is a form of a word of
the other: an extra rule costs little, but dropping a contradiction loses what it says. This module
compares parsed sentences (sentence.py) and knows nothing of the records of bullets.
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
"""The words of one text that stand where the other text has these words, or none."""
_LONG_ENOUGH: Final = 5
_OPPOSED: Final = ({"from", "to"}, {"by", "for"})
_WEAK: Final = frozenset().union(*_OPPOSED)
"""Words that matter only if the other text has their opposite in the same place."""


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
    if _core(left) != _core(right):  # quicker than to compare them word by word
        return "field"
    changes = list(_changes(a.words, b.words))
    if _are_harmless(changes):
        return None
    if all(word in _flag_words() for change in changes for words in change for word in words):
        (a, a_flags), (b, b_flags) = _without_flags(left), _without_flags(right)
        if a_flags == b_flags and _are_harmless(_changes(a.words, b.words)):
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
    numbers with the opposite direction.
    """
    sentence = _parse(text)
    if sentence.verdicts and (1 if condition.verdict == DECLINE else -1) not in sentence.verdicts:
        return True
    tests = [test for test in condition.comparisons if test.op[0] in "<>"]
    bounds, directions = sentence.bounds, sentence.directions
    fitting = [[i for i, bound in enumerate(bounds) if fits(bound, test)] for test in tests]
    if bounds and tests and not any(fitting):
        return True
    if len(directions) != len(bounds):  # it is open which direction belongs to which bound
        return False
    return any(
        places and ("up" if test.op[0] == ">" else "down") not in {directions[i] for i in places}
        for test, places in zip(tests, fitting, strict=True)
    )


_parse = lru_cache(maxsize=4096)(parse_sentence)
_condition = lru_cache(maxsize=4096)(parse_condition)


@cache
def _flag_words() -> frozenset[str]:
    groups = (*FLAGS.values(), *OPPOSITES.values())
    phrases = (phrase for group in groups for phrase in group)
    return frozenset(stem(word) for phrase in phrases for word in phrase.replace("-", " ").split())


@lru_cache(maxsize=4096)
def _without_flags(text: str) -> tuple[Sentence, frozenset[tuple[str, bool]]]:
    """A text without the phrases that name flags of the lexicon, and the flags themselves."""
    text = text.lower()
    # The verdict is blanked out: in "do not approve new devices" its "not" denies no new device.
    verdictless = VERDICT.sub(lambda verdict: " " * len(verdict[0]), text)
    flags = [mention for mention in mentions(verdictless) if mention.group == "flag"]
    for flag in flags:
        end = flag.start + len(flag.phrase)
        text = text[: flag.start] + " " * len(flag.phrase) + text[end:]
    return parse_sentence(text), frozenset((flag.concept, flag.negated) for flag in flags)


@lru_cache(maxsize=4096)
def _core(text: str) -> tuple[str, ...]:
    """What two texts that say the same share: the letters of their words, but for flags."""
    letters = (_letters(word) for word in _parse(text).words if word not in _WEAK)
    return tuple(sorted(part for part in letters if part not in _flag_letters()))


@cache
def _flag_letters() -> frozenset[str]:
    return frozenset(map(_letters, _flag_words()))


def _letters(word: str) -> str:
    """The letters of a word in order, each once: the same for every form of `_is_same_word`."""
    return "".join(sorted(set(word)))


def _are_harmless(changes: Iterable[Change]) -> bool:
    """Whether every word that only one text has is a form of a word of the other."""
    for a, b in changes:
        if {*a, *b} in _OPPOSED:
            return False
        a, b = ([word for word in words if word not in _WEAK] for words in (a, b))
        if len(a) != len(b) or not all(map(_is_same_word, a, b)):
            return False
    return True


def _changes(left: Sequence[str], right: Sequence[str]) -> Iterator[Change]:
    """The places where two sequences of words differ."""
    start = end = 0
    shorter = min(len(left), len(right))
    while start < shorter and left[start] == right[start]:
        start += 1
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    left, right = left[start : len(left) - end], right[start : len(right) - end]
    if len(left) <= 1 and len(right) <= 1:  # nothing is left to match
        yield from [(left, right)] if left or right else []
        return
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind != "equal":
            yield left[a:b], right[c:d]


def _is_same_word(a: str, b: str) -> bool:
    """Whether two long words differ only by a typing error: two letters changed places, or one is
    doubled. Another letter or an added letter makes another word.

    >>> _is_same_word("merchant", "merchnat"), _is_same_word("adress", "address")
    (True, True)
    >>> pairs = ("hotel", "hostel"), ("verif", "unverif"), ("low", "lot")
    >>> [_is_same_word(*pair) for pair in pairs]
    [False, False, False]
    """
    if min(len(a), len(b)) < _LONG_ENOUGH:
        return False
    without_doubles = {re.sub(r"([a-z])\1", r"\1", word) for word in (a, b)}
    return is_swapped(a, b) or len(without_doubles) == 1
