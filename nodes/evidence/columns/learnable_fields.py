"""Which fields describe a case, so that a rule may use them, and which only name an individual.

Where the values of these fields may be cut is decided in cut_points.py.
"""

import re
from datetime import date
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.text.category_words import is_field_name
from acegraph.state.values.cases import CaseTable, Column
from acegraph.state.values.transaction import is_derived, is_observed

_SAMPLE: Final = 2_000
"""How many of the newest numbers of a field are looked at."""
MAX_CATEGORIES: Final = 60
A_GROUP: Final = 5
"""So many cases with one value are a group."""
_NAMES_AN_ENTITY: Final = frozenset(
    "uuid guid hash token iban pan ssn email mail phone ip name street zip postcode".split()
)
_NAMES_A_NUMBER: Final = frozenset("id num number nr no".split())
_KINDS: Final = frozenset(
    "type category class group segment tier level status brand channel country region state city "
    "currency land mcc bin iin job occupation".split()
)
_OPEN_KINDS: Final = frozenset("network domain provider".split())
"""Kinds that may also belong to one individual: their values must decide."""
PROPERTIES: Final = _KINDS | frozenset(
    "age days hours minutes seconds count rating score ratio mismatch changed change verified "
    "match matches distance km limit amount avg average known new flag risk pop length".split()
)
_STATES_A_FACT: Final = frozenset("is has was per since count".split())
_LABELS: Final = _NAMES_A_NUMBER | {"name", "code"}
_NAMES_A_QUANTITY: Final = frozenset(
    "amount amt price value balance income sum total cost pop population salary".split()
)
_ANSWERS: Final = frozenset("0 1 y n yes no t f true false".split())
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
_CYCLES: Final = {
    **dict.fromkeys(("month", "quarter", "week"), "Y"),
    "day": "M",
    **dict.fromkeys(("weekday", "dow"), "W"),
    "hour": "D",
    "year": "",
}
"""The time in which a part of a date comes round, in numpy's letters; a year never does."""
_OF_A_DATE: Final = frozenset("of the transaction trans tx payment purchase date time".split())
_ONCE: Final = 0.05
CAN_TELL: Final = 20
"""How many values are enough to decide what a field is."""
_LONG: Final = 1e8
"""Numbers of nine and more digits are no quantities, but cards, accounts, phones or times."""
_REPEATS: Final = 8.0
"""If chance would repeat this many values and none is repeated, rows are numbered one by one."""


_HANDFUL: Final = 5
_SPARSE: Final = 0.5
_MAX_SPARSE: Final = 40
"""Of the names that fewer than half of the cases have, so many are looked at: whoever can name a
field could otherwise make every lesson slow, and every proof too hard."""
_MAX_FIELDS: Final = 300


def learnable_fields(table: CaseTable) -> list[str]:
    """The fields that a rule may use: no identifiers, and names that enough cases have."""
    known: dict[str, int] = {}
    for name in table.field_names:
        column = table.column(name)
        known[name] = int(column.known().sum()) if column and _may_be_tested(name, table) else 0
    few = min(_HANDFUL, len(table))
    common = sorted((n for n in known if known[n] >= few), key=lambda n: -known[n])[:_MAX_FIELDS]
    sparse = [name for name in common if known[name] < _SPARSE * len(table)]
    kept = set(common) - set(sparse[_MAX_SPARSE:])
    return [
        name
        for name in known
        if name in kept and not is_identifier(name, table) and not occurs_once(name, table)
    ]


def _may_be_tested(name: str, table: CaseTable) -> bool:
    """Whether the task has the field, and lets rules ask for it."""
    if not is_field_name(name) or table.task is None:
        return is_field_name(name)
    return name in table.task.names or is_derived(name) or is_observed(name)


def occurs_once(name: str, table: CaseTable) -> bool:
    """Whether a field is a calendar artefact: the cases span each of its values only once.

    A month that occurs in one year only cannot be told from that time. So nearly all cases must
    have a month that occurs in two years, a weekday of two weeks, or an hour of two days.
    """
    base, cycle = _calendar_part(name, table)
    column, days = table.column(name), _days_of(base, table)
    if column is None or days is None:
        return False
    rows = column.known() & ~np.isnat(days)
    if not rows.any():
        return False
    if not cycle:
        return True
    if cycle == "W":
        periods = (days[rows].astype(np.int64) - 4) // 7  # weeks begin on Monday
    else:
        periods = days[rows].astype(f"datetime64[{cycle}]").astype(np.int64)
    numbers = np.unique(column.numbers[rows], return_inverse=True, equal_nan=True)[1]
    values = numbers * (len(column.values) + 1) + column.codes[rows] + 1
    pairs = np.unique(np.stack([values, periods]), axis=1)
    repeated, counts = np.unique(pairs[0], return_counts=True)
    return bool(np.isin(values, repeated[counts < 2]).mean() > _ONCE)


def _calendar_part(name: str, table: CaseTable) -> tuple[str, str]:
    """The field of dates that a field is a part of, and the time in which the part comes round."""
    base, _, part = name.rpartition(".")
    if base and part in ("month", "weekday", "hour"):
        return base, _CYCLES[part]
    words = words_of_name(name)
    parts = [word for word in words if word in _CYCLES]
    if not parts or not _CYCLES.keys() | _OF_A_DATE >= set(words):
        return "", ""
    dated = [n.removesuffix(".weekday") for n in table.field_names if n.endswith(".weekday")]
    part = "weekday" if parts[:2] == ["day", "week"] else parts[0]
    return (dated[0], _CYCLES[part]) if len(dated) == 1 else ("", "")


def _days_of(name: str, table: CaseTable) -> NDArray[np.datetime64] | None:
    """The day of each case by a field of dates, NaT where there is none."""
    key = f"days of {name}"
    cached = table.shared.get(key)
    if isinstance(cached, np.ndarray) and len(cached) == len(table):
        return cached
    column = table.column(name)
    if column is None:
        return None
    texts = [_day(str(value)) for value in column.values]
    days = np.array([*texts, "NaT"], dtype="datetime64[D]")[column.codes]  # the last is code -1
    table.shared[key] = days
    return days


def _day(value: str) -> str:
    try:
        return date.fromisoformat(value[:10]).isoformat() if _DATE.match(value) else "NaT"
    except ValueError:  # such as the thirtieth of February
        return "NaT"


def newest_numbers(column: Column) -> NDArray[np.float64]:
    """The newest numbers of a field, without missing ones."""
    return column.known_numbers()[-_SAMPLE:]


@lru_cache(maxsize=4096)
def words_of_name(name: str) -> tuple[str, ...]:
    """The words of a field's name.

    >>> words_of_name("isFirst_purchase24h")
    ('is', 'first', 'purchase', 'h')
    """
    return tuple(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()))


def describes(name: str) -> bool:
    """Whether the name of a field says that it is a kind, a measure or a flag.

    >>> [describes(name) for name in ("ip_country", "card_network_name", "cards_per_email")]
    [True, True, True]
    >>> [describes(name) for name in ("email", "new_account_number", "country_customer_id")]
    [False, False, False]
    """
    *before, last = words_of_name(name) or ("",)
    if last in PROPERTIES | _OPEN_KINDS or _STATES_A_FACT & {*before, last}:
        return True
    return last in _LABELS and bool(set(before[-1:]) & (_KINDS | _OPEN_KINDS))


def is_flag(column: Column) -> bool:
    """Whether the values of a field mean only yes and no."""
    numbers, values = column.known_numbers(), column.counts()
    if not len(numbers) and values and all(isinstance(value, bool) for value in values):
        return True
    are_enough = len(numbers) + sum(values.values()) >= CAN_TELL
    is_binary = bool(np.isin(numbers, (0, 1)).all())
    return are_enough and is_binary and _ANSWERS.issuperset(str(v).casefold() for v in values)


def is_identifier(name: str, table: CaseTable) -> bool:
    """Whether a field names an individual instead of describing a case, by its name or values."""
    column = table.column(name)
    if column is None:
        return True
    if is_flag(column):
        return False
    if column.is_numeric:
        return _are_identifiers(name, newest_numbers(column))
    counts = column.counts()
    distinct, n = len(counts), sum(counts.values())
    if distinct > MAX_CATEGORIES or (distinct > 10 and distinct > 0.3 * n):
        # Countries and currencies are many, and yet kinds: most cases share theirs with others.
        in_groups = sum(count for count in counts.values() if count >= A_GROUP)
        return not (describes(name) and 2 * in_groups >= n)
    dates = [value for value in counts if _DATE.match(str(value))]
    return 2 * len(dates) > distinct or _is_named(name)


def _are_identifiers(name: str, numbers: NDArray[np.float64]) -> bool:
    """Whether the numbers of a field identify cards, customers, rows or times."""
    if _NAMES_A_QUANTITY & set(words_of_name(name)):
        return False
    positive = numbers[numbers > 0]
    if len(positive) and np.quantile(positive, 0.1) >= _LONG and not describes(name):
        return True
    if not np.all(numbers == np.floor(numbers)):
        return False
    n, distinct = len(numbers), len(np.unique(numbers))
    if n < CAN_TELL or distinct <= 0.5 * n:
        return _is_named(name) and words_of_name(name)[-1] == "id"
    repeats = n**2 / 2 / (numbers.max() - numbers.min() + 1)  # among n random numbers
    is_row = distinct == n and repeats > _REPEATS and not describes(name)
    return is_row or bool(numbers.max() > 1e7) or _is_named(name)


def _is_named(name: str) -> bool:
    """Whether a field is an identifier by its name."""
    words = words_of_name(name)
    named = _NAMES_AN_ENTITY & set(words) or _NAMES_A_NUMBER & set(words[-1:])
    return bool(named) and not describes(name)
