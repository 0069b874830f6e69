"""Whether two heuristics in prose say the same: the same words, verdicts, directions and numbers.

"Decline above 10 per hour" and "decline above 50 per hour" are almost the same text, but not the
same rule. An extra rule costs little, but dropping a contradiction loses what it says. So whatever
is not known to be empty makes a difference.
"""

import re
from functools import lru_cache
from typing import Final

NUMBERS: Final = "zero one two three four five six seven eight nine ten eleven twelve".split()
_EMPTY: Final = frozenset("a an the it its they them this that these is are be then please".split())
_CLAIM: Final = re.compile(
    r"(?:about )?\d+(?:\.\d+)?% (?:confidence|(?:of (?:these|them) )?are fraud)"
)
"""What a rule says of itself; a percentage that bounds a field is none."""
_MEANINGS: Final = {
    "decline": r"(?:declin|reject|refus|block)(?:e|ed|es|ing|s)?|den(?:y|ies|ied|ying)",
    "approve": r"(?:approv|accept|allow|permit)(?:e|ed|es|ing|s)?|let through",
    "above": r"(?:more|greater|higher|larger|longer|older) than|above|over|exceed(?:s|ing)",
    "below": r"(?:less|fewer|lower|smaller|shorter|younger) than|below|under",
}
_SAME: Final = {name: re.compile(rf"\b(?:{words})\b") for name, words in _MEANINGS.items()}
_TOKEN: Final = re.compile(r"[<>≤≥]=?|[$€£¥%]|(?<!\w)-?\d+(?:[.,]\d+)*|[^\W_]+(?:['’_][^\W_]+)*")


def says_the_same(left: str, right: str) -> bool:
    """Whether two texts say the same.

    >>> says_the_same("Over 10 payments an hour: decline", "Over 50 payments an hour: decline")
    False
    >>> says_the_same("Decline more than ten payments", "Refuse over 10 payment, 90% are fraud")
    True
    """
    return left == right or _parts(left) == _parts(right)


@lru_cache(maxsize=4096)
def _parts(text: str) -> tuple[str, ...]:
    """What carries meaning in a text, in order."""
    text = _CLAIM.sub(" ", " ".join(text.lower().split()))
    for name, pattern in _SAME.items():
        text = pattern.sub(name, text)
    return tuple(_plain(part) for part in _TOKEN.findall(text) if part not in _EMPTY)


def _plain(part: str) -> str:
    """A word without the s of the plural; a number without marks between thousands."""
    if part in NUMBERS:
        return str(NUMBERS.index(part))
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+", part):
        return part.replace(",", "")
    return re.sub(r"(?<=[a-z]{3})s$", "", part)
