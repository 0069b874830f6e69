"""Parse the sentence of a heuristic into verdicts, directions, bounds and remaining words.

"$1,000", "1000 dollars" and "1k" are the same number, "24 hours" and "1 day" the same span of time,
"10 PM" and "22:00" the same time of day. difference.py compares parsed sentences.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from acegraph.state.values.notation import written_number

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
_VERDICT: Final = re.compile(
    rf"(?P<negated>\b{_NOT}\b[\s-]+(?:a\s+|be\s+|as\s+|to\s+)?)?"
    r"\b(?:(?P<decline>declin\w*|den(?:y|ies|ied|ying)\b|reject\w*|block\w*|refus\w*"
    r"|turn(?:ed|ing|s)?\s+(?:\w+\s+)?down|fraud\w*|suspicious|illegitimate|unsafe)"
    r"|(?P<approve>approv\w*|accept\w*|allow\w*|permit\w*|legit\w*|safe|genuine"
    r"|(?:let|wave)s?\s+(?:\w+\s+){0,2}through|go(?:es)?\s+through))\b",
    re.IGNORECASE,
)
# Phrases in which "fraud" is a topic, not a verdict.
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
_SHARE = rf"(?:{_PERCENT}|(?<![\d.])[01]?\.\d+)(?!\d|\s+or\s)"
_OF_THESE = rf"{_PERCENT}\W+of\W+(?:these|those|them|such|cases|the\W+time|the\W+cases|labelled)"
# A percentage or a confidence is a claim about the rule, unless it bounds a field.
_CLAIM = re.compile(
    rf"{_CLAIM_WORD}\W+(?:of\W+|is\W+|was\W+|score\W+|level\W+){{0,2}}(?:about\W+|around\W+)?"
    rf"{_SHARE}|{_SHARE}\W+(?:\w+\W+){{0,2}}?{_CLAIM_WORD}"
    rf"|{_OF_THESE}|{_PERCENT}(?!\s+or\s)",
    re.IGNORECASE,
)
_BOUNDING = re.compile(
    rf"(?<!\w)(?:{_UP}|{_DOWN}|between(?:\s+\S+\s+and)?)\s*(?:about\s+|around\s+)?$", re.IGNORECASE
)
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
_UNITS: Final = {
    "second": ("days", 1 / 86400), "sec": ("days", 1 / 86400), "minute": ("days", 1 / 1440),
    "min": ("days", 1 / 1440), "hour": ("days", 1 / 24), "hr": ("days", 1 / 24),
    "day": ("days", 1.0), "week": ("days", 7.0), "month": ("days", 30.0), "year": ("days", 365.0),
    "km": ("km", 1.0), "kilometer": ("km", 1.0), "kilometre": ("km", 1.0), "mile": ("km", 1.609344),
    "percent": ("percent", 1.0), "o'clock": ("clock", 1.0),
}  # fmt: skip
"""For each unit, what it counts and how large it is."""
_CURRENCY = re.compile(
    r"(?P<usd>(?:\bus)?\$|(?<![a-z_])(?:usd|dollars?|bucks)(?![a-z_]))"
    r"|(?P<eur>€|(?<![a-z_])(?:eur|euros?)(?![a-z_]))"
    r"|(?P<gbp>£|(?<![a-z_])(?:gbp|pounds?)(?![a-z_]))"
    r"|(?P<jpy>¥|(?<![a-z_])(?:jpy|yen)(?![a-z_]))"
)
# Quick checks, because most sentences name neither money nor a time of day.
_MAY_NAME_MONEY = re.compile(r"[$€£¥]|usd|dollar|buck|eur|gbp|pound|jpy|yen")
_MAY_NAME_TIME = re.compile(r"\d(?::\d|\s*[ap]\.?m\b)")
_TIME = re.compile(r"(?<![\w:.,])([01]?\d|2[0-3])(?::([0-5]\d)\b)?(?:\s*([ap])\.?m\b|(?<=:\d\d))")
# A digit after a letter is part of a name, but not in a script that writes without spaces.
_NUMBER = re.compile(
    r"(?=[-−\d])(?P<sign>(?<![^\s(=])[-−])?(?<![a-z0-9_.])(?P<digits>\d+(?:[.,]\d+)*)"
    r"\s*(?P<scale>(?:k|m|hundred|thousand|million)\b)?"
    rf"(?:[\s-]*(?P<unit>{'|'.join(_UNITS)})s?\b)?(?P<plus>\+)?"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)?")
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
    "cases dollar s time".split()
)
"""Words that do not change the meaning of a heuristic."""
_SUFFIX = re.compile(r"(?:ies|ing|ed|es|s|ly|'s)$")


@dataclass(frozen=True)
class Sentence:
    """One parsed sentence."""

    verdicts: tuple[int, ...]
    """In order, 1 for each change to DECLINE and -1 for each change to APPROVE."""
    directions: tuple[str, ...]
    bounds: tuple[tuple[str, float], ...]
    """Numbers that bound a field, with what they count: "days", "km", "percent", "clock" or ""."""
    currencies: tuple[str, ...]
    """The currencies that it names, in order."""
    words: tuple[str, ...]
    """The other words that carry meaning, in order."""


def parse_sentence(text: str) -> Sentence:
    """The parts of a sentence.

    >>> s = parse_sentence("Decline card payments over $1,000 within 24 hours, 90% are fraud")
    >>> s.verdicts, s.directions, s.bounds, s.words
    ((1,), ('up', 'down'), (('', 1000.0), ('days', 1.0)), ('card',))
    """
    text = _normal(text)
    currencies: tuple[str, ...] = ()
    if _MAY_NAME_MONEY.search(text):
        currencies = tuple(dict.fromkeys(str(m.lastgroup) for m in _CURRENCY.finditer(text)))
        text = _CURRENCY.sub("", text)
    directions: list[str] = []
    bounds: list[tuple[str, float]] = []
    turns: list[int] = []

    def take_direction(match: re.Match[str]) -> str:
        directions.append(str(match.lastgroup).rstrip("2"))
        return " "

    def take_bound(match: re.Match[str]) -> str:
        bounds.append(_bound(match))
        if match["plus"]:
            directions.append("up")
        return " "

    def take_verdict(match: re.Match[str]) -> str:
        turns.append((1 if match["decline"] else -1) * (-1 if match["negated"] else 1))
        return " "

    text = _NUMBER.sub(take_bound, _DIRECTION.sub(take_direction, text))
    text = _VERDICT.sub(take_verdict, _TOPIC.sub(" ", text))
    verdicts = tuple(t for i, t in enumerate(turns) if not i or t != turns[i - 1])
    words = tuple(word for word in map(stem, _WORD.findall(text)) if word)
    return Sentence(verdicts, tuple(directions), tuple(bounds), currencies, words)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word without its ending; empty if the word carries no meaning.

    >>> stem("countries"), stem("country"), stem("purchases")
    ('countr', 'countr', '')
    """
    short = _SUFFIX.sub("", word) if len(word) > 4 else word
    if _EMPTY & ({word} if short == word else {word, short, short + "e"}):
        return ""
    return re.sub(r"(?<=\w{3})[ey]$", "", short)


def _normal(text: str) -> str:
    """A text in lower case without its claims, and with one spelling of numbers and times."""
    text = re.sub(r"[<>≤≥]=?", r" \g<0> ", text.lower().replace("’", "'"))
    text = " ".join(text.split())
    if re.search(r"%|cent|\.\d", text):
        text = _CLAIM.sub(_keep_bound, text)
        text = re.sub(r"\s*%|\bper cent\b", " percent", text)
    text = re.sub(r"[a-z]+", lambda word: str(_WORDS_FOR.get(word[0], word[0])), text)
    text = re.sub(r"\ban? (?=(?:minute|hour|day|week|month|year)\b)", "1 ", text)
    return _TIME.sub(_time, text) if _MAY_NAME_TIME.search(text) else text


def _keep_bound(claim: re.Match[str]) -> str:
    """The share after a word like "above", which bounds a field; any other claim is removed."""
    if re.match(_OF_THESE, claim[0]) or not _BOUNDING.search(claim.string, 0, claim.start()):
        return " "
    return claim[0]


def _time(match: re.Match[str]) -> str:
    hour, half = int(match[1]), match[3]
    if half:
        hour = hour % 12 + 12 * (half == "p")
    return f"{hour + int(match[2] or 0) / 60:g} o'clock"


def _bound(match: re.Match[str]) -> tuple[str, float]:
    value = written_number(match["digits"])
    if value is None:  # a list or a date
        value = float(re.sub(r"\D", "", match["digits"]))
    kind, size = _UNITS.get(match["unit"], ("", 1.0))
    value *= _SCALES.get(match["scale"], 1) * size * (-1 if match["sign"] else 1)
    return kind, round(value, 9)  # so that 24 hours are exactly a day
