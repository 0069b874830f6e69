"""The reader of sentences: it turns a text into fields on which conditions can be tested.

A text is searched for the patterns of field_patterns.py and the flags of lexicon.py; everything
else in it is ignored. The reader states facts and judges nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from acegraph.nodes.text.field_patterns import FIELD_PATTERNS, amounts_in, states
from acegraph.nodes.text.lexicon import mentions
from acegraph.state.task.form import read_cell
from acegraph.state.values import Fields, Scalar, may_be_thousands, without_quotes, without_remarks

_READ_AT_MOST: Final = 8_000
# A comma between two digits is part of a number.
_BREAK = r"[;|\n]|(?<!\d),|,(?!\d)"
_PAIR = re.compile(
    rf"(?:^|{_BREAK})\s*([^\W\d_][\w /-]{{0,39}}?)\s*[:=]\s*"
    rf"((?:[^;,|\n]|(?<=\d),(?=\d)){{1,60}}?)\s*(?={_BREAK}|$)"
)
_KINDS: Final = {"category": "merchant_category", "channel": "channel"}
"""The field for each group of concepts in the lexicon that names a kind."""


@lru_cache(maxsize=1024)  # selector, agent and reflector of one run read the same text
def read_whole(text: str) -> tuple[tuple[str, Scalar], ...]:
    """The fields of a transaction's text, from its pairs and its sentences."""
    text = without_remarks(text[:_READ_AT_MOST])
    return tuple(_with_ratio({**_read_pairs(text), **read_text(text)}).items())


def read_exposed_fields(text: str) -> Fields:
    """The fields that a text states outside of quotation marks, memos included.

    A memo is cut away up to the last quotation mark of a text. So a name that looks like the start
    of a memo hides facts behind it; here they are read. A name may also make the amount look like
    another one, such as a limit; here the largest that may be meant counts.

    >>> read_exposed_fields('Note "Ann" pays $2,500 via VPN at "Shop"')
    {'amount': 2500.0, 'vpn': True}
    >>> read_exposed_fields("at The Limit $2,500")
    {'amount': 2500.0}
    """
    text = without_quotes(text[:_READ_AT_MOST])
    fields = {**_read_pairs(text), **read_text(text)}
    amounts = [(role, value) for role, value, _ in amounts_in(text)]
    clear = [value for role, value in amounts if role in ("now", "amount") and value is not None]
    if may_be_paid := clear or [value or 0.0 for role, value in amounts if not role]:
        fields["amount"] = max(may_be_paid)
    return _with_ratio(fields)


@dataclass(frozen=True, slots=True)
class Found:
    """A field that a text states: its value, and where in the text it stands."""

    field: str
    value: Scalar
    start: int
    end: int


def read_text(text: str) -> Fields:
    """The fields that the sentences of a text state."""
    fields: Fields = {}
    for statement in find(text):
        fields.setdefault(statement.field, statement.value)
    if "ip_country" in fields and "card_country" in fields:
        is_same = fields["ip_country"] == fields["card_country"]
        fields.setdefault("country_changed", None if is_same else True)
    return {name: value for name, value in fields.items() if value is not None}


@lru_cache(maxsize=2048)  # reader and embedder read the same text, and soon the search for phrases
def find(text: str) -> tuple[Found, ...]:
    """All fields that a text states; if it states a field several times, the first one counts."""
    return tuple(_find(text))


def _find(text: str) -> Iterator[Found]:
    yield from _amounts(text)
    seen = set()
    for field, pattern, convert in FIELD_PATTERNS:
        if field in seen:
            continue
        if match := next(filter(states, pattern.finditer(text)), None):
            seen.add(field)
            yield Found(field, convert(match), match.start(), match.end())
    for mention in mentions(text):
        end = mention.start + len(mention.phrase)
        if mention.group == "flag":
            yield Found(mention.concept, not mention.negated, mention.start, end)
        elif mention.group in _KINDS and not mention.negated:
            yield Found(_KINDS[mention.group], mention.concept, mention.start, end)


def _amounts(text: str) -> Iterator[Found]:
    """The amounts of a text; of several, first the one that is said to be paid now.

    If that one is unclear, nobody knows the amount of the payment: it is none.
    """
    found = list(amounts_in(text))
    for wanted in ("now", "amount", "usual_amount"):
        name = "amount" if wanted == "now" else wanted
        same = [
            Found(name, value, match.start(), match.end())
            for role, value, match in found
            if role == wanted
        ]
        yield from sorted(same, key=lambda one: one.value is not None)


def amount_is_unclear(text: str) -> bool:
    """Whether a text states an amount of which nobody can say which number it is.

    >>> amount_is_unclear("pays 9.000 EUR"), amount_is_unclear("pays 9,000 EUR")
    (True, False)
    """
    text = without_remarks(text[:_READ_AT_MOST])
    if may_be_thousands(pairs_of(text).get("amount", ""), "."):
        return True
    first = next((found for found in find(text) if found.field == "amount"), None)
    return first is not None and first.value is None


def pairs_of(text: str) -> dict[str, str]:
    """The pairs `name: value` and `name=value` of a text; a single one is ignored."""
    found = _PAIR.findall(text)
    pairs: dict[str, str] = {}
    for name, value in found if len(found) > 1 else ():
        pairs.setdefault(re.sub(r"\W+", "_", name.strip().lower()).strip("_"), value.strip())
    return pairs


def _read_pairs(text: str) -> Fields:
    """The fields that the pairs of a text state."""
    return {
        name: None if may_be_thousands(value, ".") else read_cell(value)
        for name, value in pairs_of(text).items()
    }


def _with_ratio(fields: Fields) -> Fields:
    amount, usual = fields.get("amount"), fields.get("usual_amount")
    if isinstance(amount, float) and isinstance(usual, float) and usual > 0:
        fields.setdefault("amount_ratio", round(amount / usual, 2))
    return fields
