"""A heuristic's sentence taken apart: what it decides, in which directions, up to which numbers,
and the words that remain.

"$1,000", "1000 dollars" and "1k" are one number, "24 hours" and "1 day" one span of time. It knows
words, not their truth.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rapidfuzz.distance import OSA

_NOT = r"(?:not|never|don'?t|do not|doesn'?t|cannot|can'?t|no|non)"
_UP: Final = (
    r">=?|≥|above|over|more than|greater than|higher than|larger than|bigger than|longer than"
    r"|exceed\w*|at least|no less than|no fewer than|not less than|not below|not under|older than"
    r"|after|beyond|in excess of|minimum(?: of)?|starting at|or (?:more|above|higher|over|older)"
)
_DOWN: Final = (
    r"<=?|≤|below|under|less than|fewer than|lower than|smaller than|shorter than|at most"
    r"|no more than|not more than|no greater than|not above|not over|not exceed\w*|up to"
    r"|younger than|newer than|before|(?:with)?in (?:the )?(?:last|past|previous)|within"
    r"|maximum(?: of)?|until"
    r"|or (?:less|fewer|below|lower|under|younger)"
)
# "no more than" before "more than": the longer phrase has to win.
_DIRECTION = re.compile(
    rf"(?P<down>\b(?:no more|not more|no greater) than\b|\bnot (?:above|over|exceed\w*)\b)"
    rf"|(?P<up>\b(?:no less|no fewer|not less) than\b|\bnot (?:below|under)\b)"
    rf"|(?P<up2>(?<!\w)(?:{_UP})(?!\w))|(?P<down2>(?<!\w)(?:{_DOWN})(?!\w))",
    re.IGNORECASE,
)
VERDICT: Final = re.compile(
    rf"(?P<negated>\b{_NOT}\b[\s-]+(?:a\s+|be\s+|as\s+|to\s+)?)?"
    r"\b(?:(?P<decline>declin\w*|den(?:y|ies|ied|ying)\b|reject\w*|block\w*|refus\w*"
    r"|turn(?:ed|ing|s)?\s+(?:\w+\s+)?down|fraud\w*|suspicious|illegitimate|unsafe)"
    r"|(?P<approve>approv\w*|accept\w*|allow\w*|permit\w*|legit\w*|safe|genuine"
    r"|(?:let|wave)s?\s+(?:\w+\s+){0,2}through|go(?:es)?\s+through))\b",
    re.IGNORECASE,
)
# Fraud as a topic, not as a finding.
_TOPIC = re.compile(
    r"\b(?:(?:low|no|little|less|minimal|without|any)\s+fraud\b"
    r"|fraud\s+(?:risk|score|team|report|reports|pattern|patterns|signal|check|checks|rate))\b",
    re.IGNORECASE,
)
_CLAIM_WORD = (
    r"(?:confiden\w*|certain\w*|probab\w*|likel\w*|precision|accura\w*|sure|chance|fraud\w*|legit\w*"
    r"|success\w*|correct\w*|hit rate)"
)
_PERCENT = r"\d+(?:\.\d+)?\s*(?:%|percent\b|per cent\b)"
# A percentage or a confidence is a claim about the rule, unless it bounds a field.
_CLAIM = re.compile(
    rf"{_CLAIM_WORD}\W+(?:of\W+|is\W+|was\W+|score\W+|level\W+){{0,2}}(?:about\W+|around\W+)?"
    rf"(?:{_PERCENT}|[01]?\.\d+)"
    rf"|(?:{_PERCENT}|\b[01]?\.\d+)\W+(?:\w+\W+){{0,2}}?{_CLAIM_WORD}"
    rf"|{_PERCENT}\W+of\W+(?:these|those|them|all|such|cases|the\W+time|past|the\W+cases|labelled)"
    rf"|{_PERCENT}",
    re.IGNORECASE,
)
_BOUNDING = re.compile(rf"(?:{_UP}|{_DOWN})\s+(?:about\s+|around\s+)?$", re.IGNORECASE)
_WORDS_FOR: Final = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
} | dict(
    zip("thirty forty fifty sixty seventy eighty ninety".split(), range(30, 100, 10), strict=True)
)
_SCALES: Final = {"k": 1e3, "m": 1e6, "hundred": 1e2, "thousand": 1e3, "million": 1e6}
_SPANS: Final = {
    "second": 1 / 86400, "sec": 1 / 86400, "minute": 1 / 1440, "min": 1 / 1440, "hour": 1 / 24,
    "hr": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0,
}  # fmt: skip
_NUMBER = re.compile(
    r"(?P<money>[$€£]\s*)?(?<![\w.])(?P<digits>\d[\d,]*(?:\.\d+)?)"
    r"\s*(?P<scale>(?:k|m|hundred|thousand|million)\b)?"
    r"(?:[\s-]*(?P<span>second|sec|minute|min|hour|hr|day|week|month|year)s?\b"
    r"|\s*(?:usd|eur|gbp|dollars?|euros?|pounds?|bucks)\b)?(?P<plus>\+)?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|:\d\d")
_EMPTY: Final = frozenset(
    "a an the this that these those it its they them their there any all each every some such one "
    "and or then so also too as at in into of on onto via with when whenever if "
    "where while once is are was were be been being has have had do does did will would shall "
    "should must can could may might please always usually generally typically often strongly "
    "clearly immediately automatically simply just very highly quite really rather likely probably "
    "considered treat treated treating regard regarded seen deemed mark marked which who whose "
    "transaction payment purchase order charge customer user client cardholder buyer person people "
    "someone you we our your rule note about around roughly approximately per value amount total "
    "sum made make makes making using use used than risk risky riskier sign signal indicator case "
    "cases usd eur gbp dollar euro pound bucks s time".split()
)
"""Words that change nothing about what such a sentence says."""
_LONG_EMPTY: Final = [word for word in sorted(_EMPTY) if len(word) > 5]
_SYNONYMS: Final = {
    other: word
    for word, others in {
        "usual": "average typical normal customary",
        "confirm": "verified verify authenticated authenticate validated",
        "bill": "invoice",
        "shop": "store merchant retailer seller",
        "new": "newly recently recent fresh freshly",
        "same": "identical equal",
        "differ": "different other",
        "phone": "telephone",
        "replac": "swapped swap exchanged",
    }.items()
    for other in others.split()
}
_SUFFIX = re.compile(r"(?:ies|ing|ed|es|s|ly|'s)$")
_VERBS: Final = ("decline", "declined", "approve", "approved", "reject", "accept", "refuse")


@dataclass(frozen=True)
class Said:
    """One sentence taken apart."""

    verdicts: tuple[int, ...]
    """1 for each turn to DECLINE, -1 to APPROVE, in order."""
    directions: tuple[str, ...]
    bounds: tuple[tuple[str, float], ...]
    """Numbers that bound a field, with what they count where that is time."""
    words: tuple[str, ...]
    """The other words that carry meaning, in order."""


def take_apart(text: str) -> Said:
    """What a sentence says.

    >>> said = take_apart("Decline card payments over $1,000 within 24 hours, 90% are fraud")
    >>> said.verdicts, said.directions, said.bounds, said.words
    ((1,), ('up', 'down'), (('', 1000.0), ('days', 1.0)), ('card',))
    """
    text = " ".join(text.lower().replace("’", "'").split())
    if re.search(r"%|cent|\.\d", text):
        text = _CLAIM.sub(_keep_bound, text)
    text = re.sub(r"[a-z]+", lambda word: _meant(word[0]), text)
    text = re.sub(r"\ban? (?=(?:minute|hour|day|week|month|year)\b)", "1 ", text)
    directions: list[str] = []
    bounds: list[tuple[str, float]] = []
    turns: list[int] = []

    def direct(found: re.Match[str]) -> str:
        directions.append(str(found.lastgroup).rstrip("2"))
        return " "

    def bind(found: re.Match[str]) -> str:
        bounds.append(_bound(found))
        if found["plus"]:
            directions.append("up")
        return " "

    def turn(found: re.Match[str]) -> str:
        turns.append((1 if found["decline"] else -1) * (-1 if found["negated"] else 1))
        return " "

    text = _NUMBER.sub(bind, _DIRECTION.sub(direct, text))
    text = VERDICT.sub(turn, _TOPIC.sub(" ", text))
    verdicts = tuple(t for i, t in enumerate(turns) if not i or t != turns[i - 1])
    words = tuple(word for word in map(stem, _WORD.findall(text)) if word)
    return Said(verdicts, tuple(directions), tuple(bounds), words)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word without its ending, one of its synonyms, or nothing where it carries no meaning.

    >>> stem("countries"), stem("country"), stem("average"), stem("purchases"), stem("pamyent")
    ('countr', 'countr', 'usual', '', '')
    """
    short = _SUFFIX.sub("", word) if len(word) > 4 else word
    forms = {word, short} if short == word else {word, short, short + "e"}
    if _EMPTY & forms or any(_is_slip(form, empty) for form in forms for empty in _LONG_EMPTY):
        return ""
    return _SYNONYMS.get(word) or re.sub(r"(?<=\w{3})[ey]$", "", short)


def _is_slip(word: str, meant: str) -> bool:
    """Whether two letters have changed places."""
    return (
        len(word) == len(meant)
        and word[0] == meant[0]
        and OSA.distance(word, meant, score_cutoff=1) == 1
        and sorted(word) == sorted(meant)
    )


@lru_cache(maxsize=8192)
def _meant(word: str) -> str:
    """A number for its word, and the verb that was meant: a slip must not cost the verdict."""
    if word in _WORDS_FOR:
        return str(_WORDS_FOR[word])
    return next((verb for verb in _VERBS if _is_slip(word, verb)), word)


def _keep_bound(found: re.Match[str]) -> str:
    """A percentage alone after "above" bounds a field; any other is a claim, and dropped."""
    is_alone = re.fullmatch(_PERCENT, found[0])
    if is_alone and _BOUNDING.search(found.string, 0, found.start()):
        return re.sub(r"\s*(?:%|percent|per cent)", " pct", found[0])
    return " "


def _bound(found: re.Match[str]) -> tuple[str, float]:
    value = float(found["digits"].replace(",", "")) * _SCALES.get(found["scale"] or "", 1)
    span = found["span"]
    return ("days", round(value * _SPANS[span], 6)) if span else ("", value)
