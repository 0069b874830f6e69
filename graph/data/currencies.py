"""The amounts of a file in one currency, and what a person should know of their currencies."""

from collections import Counter
from collections.abc import Mapping, Sequence

from acegraph.nodes.text.currencies import Exchange
from acegraph.nodes.text.field_contract import read_money
from acegraph.state import Scalar


def convert_amounts(
    rows: Sequence[dict[str, Scalar]],
    names: Sequence[str],
    rates: Mapping[str, float],
    amount: str | None,
) -> tuple[dict[str, float], list[str]]:
    """Convert the amounts of rows in place; gives the rates with the base, and notes.

    If one currency of the file has no rate, and none has the rate 1, it is the base.
    """
    rates = {currency.upper(): rate for currency, rate in rates.items()}
    found = Exchange(rates, amount)
    if not found.amount_names(names):
        return rates, []
    counts = Counter(one.currency for row in rows for one in found.amounts(row) if one.currency)
    unrated = sorted(currency for currency in counts if currency not in rates)
    notes = []
    if not rates:
        if len(counts) > 1:
            notes.append(
                f"amounts of {len(counts)} currencies ({_some(sorted(counts))}) are compared as "
                "they stand; --rates converts them"
            )
        for row in rows if counts else ():
            for name in found.amount_names(tuple(row)):
                number, stated = read_money(row[name])
                row[name] = number if stated else row[name]
        return {}, notes
    if len(unrated) == 1 and 1.0 not in rates.values():
        base = unrated.pop()
        rates[base] = 1.0
        notes.append(f"amounts are converted into {base}, which has no rate")
    empty = _convert(rows, Exchange(rates, amount))
    if empty:
        without = f" ({_some(unrated)})" if unrated else ""
        notes.append(
            f"{empty} amounts have no rate for their currency{without}, or two currencies: left "
            "empty; --rates wants one for each, and 1 for the base"
        )
    return rates, notes


def _convert(rows: Sequence[dict[str, Scalar]], exchange: Exchange) -> int:
    """Convert in place; gives how many amounts were left empty."""
    empty = 0
    for row in rows:
        fields, doubts = exchange.converted(row)
        row.update(fields)
        empty += len(doubts)
    return empty


def _some(currencies: Sequence[str]) -> str:
    return ", ".join(currencies[:6]) + (", ..." if len(currencies) > 6 else "")
