"""What a rule may look at: which fields describe a case, and where their values may be cut.

Fields that name an individual (a card, a customer, an order) are left out: a rule about one of them
learns a name, not a cause.
"""

import re
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state import CaseTable, Scalar
from acegraph.state.cases import Column

MAX_WORD: Final = 60
_CUTS: Final = 12
_SAMPLE: Final = 2_000
"""How many of the newest values say where a number may be cut."""
_MAX_CATEGORIES: Final = 60
_NAMES_AN_ENTITY: Final = frozenset(
    "uuid guid hash token iban pan ssn email mail phone ip name street zip postcode".split()
)
_NAMES_A_NUMBER: Final = frozenset("id num number nr no".split())
_KINDS: Final = frozenset(
    "type category class group segment tier level status brand channel country region state city "
    "currency".split()
)
_OPEN_KINDS: Final = frozenset("network domain provider".split())
"""Kinds of which somebody may have one alone: their values tell."""
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
CAN_TELL: Final = 20
"""From how many values on they tell what a field is."""
_LONG: Final = 1e8
"""Numbers of nine digits and more count nothing: they are cards, accounts, phones or moments."""
_REPEATS: Final = 8.0
"""Where chance would repeat so many values and none is, they are numbered one by one."""

Grid = dict[str, list[Scalar]]
"""Per field the marks it offers to comparisons: cut points of a number, values of a category."""


def grid_of(table: CaseTable) -> Grid:
    """The marks of every field that a rule may use."""
    grid: Grid = {}
    for name in learnable_fields(table):
        column = table.column(name)
        assert column is not None
        if column.is_numeric:
            grid[name] = list(cut_points(column.numbers[~np.isnan(column.numbers)][-_SAMPLE:]))
        else:
            grid[name] = [v for v in column.counts() if len(str(v)) <= MAX_WORD]
    return grid


def learnable_fields(table: CaseTable) -> list[str]:
    """The fields that a rule may use: no identifiers."""
    return [name for name in table.field_names if not is_identifier(name, table)]


@lru_cache(maxsize=4096)
def words_of_name(name: str) -> tuple[str, ...]:
    """The words of a field's name.

    >>> words_of_name("isFirst_purchase24h")
    ('is', 'first', 'purchase', 'h')
    """
    return tuple(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()))


def describes(name: str) -> bool:
    """Whether a field is a kind, a measure or a flag by its name, whoever it is about.

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
    """Whether a field says no more than yes or no."""
    numbers, values = column.numbers[~np.isnan(column.numbers)], column.counts()
    if not len(numbers) and values and all(isinstance(value, bool) for value in values):
        return True
    is_told = len(numbers) + sum(values.values()) >= CAN_TELL
    is_binary = bool(np.isin(numbers, (0, 1)).all())
    return is_told and is_binary and _ANSWERS.issuperset(str(v).casefold() for v in values)


def is_identifier(name: str, table: CaseTable) -> bool:
    """Whether a field names an individual rather than describing a case: by name or by values."""
    column = table.column(name)
    if column is None:
        return True
    if is_flag(column):
        return False
    if column.is_numeric:
        return _numbers_individuals(name, column.numbers[~np.isnan(column.numbers)][-_SAMPLE:])
    counts = column.counts()
    distinct, n = len(counts), sum(counts.values())
    if distinct > _MAX_CATEGORIES or (distinct > 10 and distinct > 0.3 * n):
        return True
    dates = [value for value in counts if _DATE.match(str(value))]
    return 2 * len(dates) > distinct or _is_named(name)


def _numbers_individuals(name: str, known: NDArray[np.float64]) -> bool:
    """Whether numbers are those of cards, customers, rows or moments rather than quantities."""
    if _NAMES_A_QUANTITY & set(words_of_name(name)):
        return False
    above = known[known > 0]
    if len(above) and np.quantile(above, 0.1) >= _LONG and not describes(name):
        return True
    if not np.all(known == np.floor(known)):
        return False
    n, distinct = len(known), len(np.unique(known))
    if n < CAN_TELL or distinct <= 0.5 * n:
        return _is_named(name) and words_of_name(name)[-1] == "id"
    repeats = n**2 / 2 / (known.max() - known.min() + 1)  # of n numbers dealt out at random
    is_row = distinct == n and repeats > _REPEATS and not describes(name)
    return is_row or bool(known.max() > 1e7) or _is_named(name)


def _is_named(name: str) -> bool:
    words = words_of_name(name)
    named = _NAMES_AN_ENTITY & set(words) or _NAMES_A_NUMBER & set(words[-1:])
    return bool(named) and not describes(name)


def cut_points(known: NDArray[np.float64]) -> list[float | int]:
    """Where a number may be cut: between values, at quantiles, at the roundest number in the gap.

    >>> cut_points(np.array([1.0, 2.0, 3.0, 4.0]))
    [2, 3, 4]
    """
    values = np.unique(known)
    if len(values) > _CUTS + 1:
        quantiles = np.quantile(known, np.linspace(0, 1, _CUTS + 2)[1:-1], method="nearest")
        upper = np.unique(np.searchsorted(values, quantiles))
        upper = upper[upper > 0]
    else:
        upper = np.arange(1, len(values))
    return list(dict.fromkeys(roundest(values[i - 1], values[i]) for i in upper))


def roundest(low: float, high: float) -> float | int:
    """The number in (low, high] with the fewest digits."""
    step = 10.0 ** np.floor(np.log10(max(abs(high), abs(low), 1e-12)))
    for _ in range(20):
        for fraction in (1.0, 0.5):
            cut = round(float(np.floor(high / (step * fraction)) * step * fraction), 12)
            if low < cut <= high:
                return int(cut) if cut.is_integer() else cut
        step /= 10
    return float(high)


def common_values(column: Column) -> list[Scalar]:
    """The categories frequent enough for an exception ("is not") to make sense; not for flags."""
    counts = column.counts()
    if len(counts) <= 2:
        return []
    enough = 0.04 * len(column.codes)
    return [v for v, n in counts.items() if n >= enough and len(str(v)) <= MAX_WORD]
