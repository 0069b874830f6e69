"""The amounts of a file in one currency, and what a person should know of their currencies."""

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final

from acegraph.graph.data.file_rows import flat_payment
from acegraph.nodes.text.currencies import Exchange
from acegraph.nodes.text.money import read_money
from acegraph.state.values.transaction import Fields, Scalar

_WITH_UNIT: Final = re.compile(r"(\D{0,8}?)[+-]?\d[\d.,'\s]*(\D{0,8})")
_UNITS: Final = 3
"""A column of more units than these is one of codes."""
_LOOKED_AT: Final = 200
"""So many words of a column tell whether they are numbers with a unit."""


@dataclass(frozen=True)
class Conversion:
    """What was made of the amounts of some rows."""

    rates: dict[str, float]
    """With that of the base; empty where nothing was converted."""
    given: Sequence[Fields]
    """For each row the amounts that were changed, as they came."""
    notes: list[str] = field(default_factory=list)
    currency: str | None = None
    """The only one that the amounts name, where none is converted."""


def convert_amounts(
    rows: Sequence[dict[str, Scalar]],
    rates: Mapping[str, float],
    amount: str | None,
    hidden: Collection[str] = (),
) -> Conversion:
    """Convert the amounts of rows in place; without rates they only become numbers.

    If one currency of the file has no rate, and none has the rate 1, it is the base. Rows with an
    amount inside of other fields become flat; the `hidden` ones are no part of the payment.
    """
    rates = {currency.upper(): rate for currency, rate in rates.items()}
    found = Exchange(rates, amount)
    payments = [flat_payment(row, hidden) for row in rows]
    columns = tuple(dict.fromkeys(chain.from_iterable(payments)))
    amounts = found.amount_names(columns)
    shown = [name for name in columns if name not in hidden]
    notes = list(_numbers_with_units(payments, shown, amounts))
    if not amounts:
        return Conversion(rates, [{}] * len(rows), notes)
    counts = Counter(one.currency for row in payments for one in found.amounts(row) if one.currency)
    unrated = sorted(currency for currency in counts if currency not in rates)
    if not (rates or counts):
        return Conversion({}, [{}] * len(rows), notes)
    if not rates and len(counts) > 1:
        notes.append(
            f"amounts of {len(counts)} currencies ({_some(sorted(counts))}) are compared as "
            "they stand; --rates converts them, and so do rates that the playbook keeps"
        )
    if rates and len(unrated) == 1 and 1.0 not in rates.values():
        base = unrated.pop()
        rates[base] = 1.0
        notes.append(f"amounts are converted into {base}, which has no rate")
    exchange, empty, given = Exchange(rates, amount), 0, []
    for row, payment in zip(rows, payments, strict=True):
        fields, doubts = exchange.converted(payment) if rates else (_as_numbers(payment, found), {})
        names = found.amount_names(tuple(payment))
        given.append({name: payment[name] for name in names if fields[name] != payment[name]})
        empty += len(doubts)
        if payment is not row and payment:
            kept = {name: row[name] for name in hidden if name in row}
            row.clear()
            row.update(kept)
        row.update(fields)
    if empty:
        without = f" ({_some(unrated)})" if unrated else ""
        notes.append(
            f"{empty} amounts have no rate for their currency{without}, or two currencies: left "
            "empty; --rates wants one for each, and 1 for the base"
        )
    only = next(iter(counts)) if len(counts) == 1 and not rates else None
    return Conversion(rates, given, notes, only)


def _numbers_with_units(
    payments: Sequence[Fields], names: Sequence[str], amounts: Collection[str]
) -> Iterator[str]:
    """What to say of columns that are read as words, although each word is a number and a unit;
    those of `amounts` may have a currency.
    """
    for name in names:
        words = (
            word
            for row in payments
            if isinstance(word := row.get(name), str)
            and not (name in amounts and read_money(word)[0] is not None)
        )
        some = set(islice(words, _LOOKED_AT))
        units = set(map(_unit, some))
        is_code = 2 * len(units) > max(len(some), 2) or len(units) > _UNITS
        if some and None not in units and not is_code:
            amount = f"--amount {shlex.quote(name)} if it is the amount, else "
            advice = ("" if amounts else amount) + "write the numbers without a unit"
            yield f"{name} is read as words, such as {min(some)!r}: {advice}"


def _unit(word: str) -> str | None:
    """The unit behind or before a number; None for any other word, such as U0012, tok_12 or 12A."""
    match = _WITH_UNIT.fullmatch(word)
    is_name = match and (match[1][-1:].isalpha() or match[1].endswith(("_", "-", "#", "/", ":")))
    if match is None or is_name or (len(match[2]) == 1 and match[2].isalpha()):
        return None
    return (match[1] or match[2]).strip() or None


def _as_numbers(payment: Fields, exchange: Exchange) -> Fields:
    """The payment with a number for each amount whose text names a currency."""
    read = {name: read_money(payment[name]) for name in exchange.amount_names(tuple(payment))}
    return payment | {name: number for name, (number, currency) in read.items() if currency}


def _some(currencies: Sequence[str]) -> str:
    return ", ".join(currencies[:6]) + (", ..." if len(currencies) > 6 else "")
