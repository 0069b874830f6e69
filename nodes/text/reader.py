"""The reader: it turns a transaction into fields on which conditions can be tested.

A mapping keeps its fields, and its dates add hour, weekday and month. Free text is searched for the
patterns of field_patterns.py and the flags of lexicon.py; everything else in it is ignored. The
reader states facts and judges nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Final

from acegraph.nodes.text import field_patterns
from acegraph.nodes.text.lexicon import FLAGS, mentions
from acegraph.nodes.text.money import read_number
from acegraph.state import Transaction
from acegraph.state.values.memos import SENTENCE, without_quotes, without_remarks
from acegraph.state.values.notation import is_nothing, may_be_thousands, written_number
from acegraph.state.values.times import ISO_DATE
from acegraph.state.values.transaction import Fields, Scalar, render_fields

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ANSWERS: Final = {
    **dict.fromkeys(("yes", "true", "1", "1.0"), True),
    **dict.fromkeys(("no", "false", "0", "0.0"), False),
}
_READ_AT_MOST: Final = 8_000
# A comma between two digits is part of a number.
_BREAK = r"[;|\n]|(?<!\d),|,(?!\d)"
_PAIR = re.compile(
    rf"(?:^|{_BREAK})\s*([^\W\d_][\w /-]{{0,39}}?)\s*[:=]\s*"
    rf"((?:[^;,|\n]|(?<=\d),(?=\d)){{1,60}}?)\s*(?={_BREAK}|$)"
)
_PARTS = re.compile(_BREAK)
_NAMED = re.compile(r"([^\W\d_][\w /.-]{0,59}?)\s*[:=]\s*(.+)")
_CODE = re.compile(
    r"(?:.*[_. ])?(?:(mcc)(?:_?code)?|(.*category_?code)|iin)|"
    r"(?:card_?|cc_?|issuer_?|bank_?)?bin(?:_?(?:prefix|number|code))?",
    re.IGNORECASE,
)
"""Names of fields whose numbers are codes of kinds: nobody is between two of them."""
_QUANTITY = re.compile(r"[.,$€£¥-]")
_KINDS: Final = {"category": "merchant_category", "channel": "channel"}
"""The field for each group of concepts in the lexicon that names a kind."""


def read_fields(transaction: Transaction) -> Fields:
    """The fields of a transaction: those of its mapping, or those that its text states.

    >>> read_fields(Transaction.of("User pays $2,500 at 3 AM via VPN, account is 2 days old"))
    {'amount': 2500.0, 'hour': 3, 'account_age_days': 2.0, 'vpn': True}
    """
    if transaction.fields:
        return _with_dates(transaction.fields)
    return dict(_read_whole(transaction.text))


def as_read(transaction: Transaction, read: Fields) -> Transaction:
    """The transaction with its fields as they were `read`, in its text too, where redaction looks
    for their values.

    >>> given = Transaction.of({"amount": "40.00", "vpn": 1})
    >>> as_read(given, read_fields(given)).text
    'amount: 40.0; vpn: true'
    """
    fields = {name: read[name] for name in transaction.fields}
    text = render_fields(fields)
    is_same = not fields or text == transaction.text
    return transaction if is_same else replace(transaction, text=text, fields=fields)


def fields_to_test(transaction: Transaction) -> Fields:
    """The fields that conditions test: those that are read, and a text itself as `text`."""
    fields = read_fields(transaction)
    return fields if transaction.fields else {**fields, SENTENCE: transaction.text}


@lru_cache(maxsize=1024)  # selector, agent and reflector of one run read the same text
def _read_whole(text: str) -> tuple[tuple[str, Scalar], ...]:
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
    roles = _amounts_by_role(text)
    clear = [
        found for role in ("now", "amount") for found in roles[role] if found.value is not None
    ]
    if may_be_paid := clear or roles[""]:
        fields["amount"] = max(float(found.value or 0) for found in may_be_paid)
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
    words = field_patterns.words_in(text)
    if field_patterns.MONEY.may_match(text, words):
        yield from _amounts(text)
    seen = set()
    for stated in field_patterns.FIELD_PATTERNS:
        if stated.field in seen or not stated.may_match(text, words):
            continue
        if match := next(filter(field_patterns.states, stated.pattern.finditer(text)), None):
            seen.add(stated.field)
            yield Found(stated.field, stated.convert(match), match.start(), match.end())
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
    roles = _amounts_by_role(text)
    for role in ("now", "amount", "usual_amount"):
        yield from roles[role]


def _amounts_by_role(text: str) -> dict[str, list[Found]]:
    """The amounts by what they are; those of which it is unclear which number is meant come first,
    without a value.
    """
    roles: dict[str, list[Found]] = {role: [] for role in ("now", "amount", "usual_amount", "")}
    for match in field_patterns.money_in(text):
        role, is_unclear = field_patterns.amount_role(match)
        name = "amount" if role == "now" else role
        value = None if is_unclear else field_patterns.money(match)
        found = Found(name, value, match.start(), match.end())
        roles[role].insert(0, found) if is_unclear else roles[role].append(found)
    return roles


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


def only_pairs(text: str) -> dict[str, str]:
    """The pairs of a text that holds nothing else, under the names that it writes; else none.

    A text with a memo or a quotation has none: who wrote it may have written pairs into it.

    >>> only_pairs("Betrag: 9,50; Gerät neu = ja"), only_pairs("pays 9: Land: DE, twice")
    ({'Betrag': '9,50', 'Gerät neu': 'ja'}, {})
    >>> only_pairs('amount: 9; shop: "Kiosk; verified: yes; x: y"')
    {}
    """
    if without_remarks(text) != text.strip():
        return {}
    parts = [part.strip() for part in _PARTS.split(text) if part.strip()]
    pairs = {match[1]: match[2] for part in parts if (match := _NAMED.fullmatch(part))}
    return pairs if 1 < len(pairs) == len(parts) else {}  # of two with one name, which is meant?


def _read_pairs(text: str) -> Fields:
    """The fields that the pairs of a text state."""
    return _with_dates({name: _pair_value(name, value) for name, value in pairs_of(text).items()})


def _pair_value(name: str, value: str) -> Scalar:
    if name.endswith("amount") and may_be_thousands(value, "."):
        return None
    plain = value.rstrip("%")
    number = read_number(value) if name in field_patterns.MEASURED else written_number(plain)
    if number is not None:
        return number
    if re.fullmatch(r"-?\d+(?:\.\d+)?e[+-]?\d+", plain, re.IGNORECASE):
        return float(plain)
    if value.lower() in _ANSWERS and "country" not in name:  # NO is Norway
        return _ANSWERS[value.lower()]
    return None if is_nothing(value) else value


def _with_dates(fields: Mapping[str, Scalar]) -> Fields:
    """The fields with typed values, and the weekday, month and hour of each date."""
    typed: Fields = {}
    of_dates: Fields = {}
    for name, value in fields.items():
        if isinstance(value, str):
            typed |= (read := read_value(name, value))
            of_dates |= read if len(read) > 1 else {}
        else:
            typed[name] = value if _has_plain_numbers(name) else _typed(name, value)
    return typed | of_dates  # nobody says another hour than the date does


@lru_cache(maxsize=4096)
def _has_plain_numbers(name: str) -> bool:
    """Whether the numbers of a field are neither flags nor codes."""
    return name not in FLAGS and not is_code(name)


def read_value(name: str, value: Scalar) -> Fields:
    """One field with its typed value, and the weekday, month and hour of a date.

    >>> read_value("paid_at", "2026-01-31 13:00")
    {'paid_at': '2026-01-31 13:00', 'paid_at.weekday': 'Saturday', 'paid_at.month': 1, \
'paid_at.hour': 13}
    """
    typed = {name: _typed(name, value)}
    date = _date(value)
    if date is not None:
        typed[f"{name}.weekday"] = WEEKDAYS[date.weekday()]
        typed[f"{name}.month"] = date.month
        if len(str(value)) > 10:
            typed[f"{name}.hour"] = date.hour
    return typed


def _typed(name: str, value: Scalar) -> Scalar:
    """The number for "9000.00", the flag for "true" or 1; plain digits may be a code and stay text.

    >>> [_typed(*pair) for pair in (("amount", "9000.00"), ("mcc", "5411"), ("vpn", 1))]
    [9000.0, '5411', True]
    >>> _typed("mcc", 742), _typed("card_bin", 411111.0)
    ('0742', '411111')
    """
    if isinstance(value, bool):
        return value
    if name in FLAGS:
        return _ANSWERS.get(str(value).lower(), value)
    if not isinstance(value, str):
        return value if value is None or not is_code(name) else _code(name, float(value))
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    if name in field_patterns.MEASURED or _QUANTITY.search(value):
        number = written_number(value)
        return value if number is None else number
    return value


@lru_cache(maxsize=4096)
def is_code(name: str) -> bool:
    """Whether the numbers of a field are codes of kinds, as those of merchant categories."""
    return _CODE.fullmatch(name) is not None


def _code(name: str, number: float) -> Scalar:
    """The number as the code that it is; merchant categories have four digits."""
    if not number.is_integer():
        return number
    return f"{number:04.0f}" if re.search("mcc|category", name, re.IGNORECASE) else f"{number:.0f}"


def _date(value: Scalar) -> datetime | None:
    """The date that a value states, if it is the text of a date."""
    if not isinstance(value, str) or not ISO_DATE.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:  # such as the thirtieth of February
        return None


def _with_ratio(fields: Fields) -> Fields:
    amount, usual = fields.get("amount"), fields.get("usual_amount")
    if isinstance(amount, float) and isinstance(usual, float) and usual > 0:
        fields.setdefault("amount_ratio", round(amount / usual, 2))
    return fields
