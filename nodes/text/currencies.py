"""Amounts in several currencies, turned into one by given rates; the same in files and live.

A rate says what one unit of a currency is worth in the base currency. An amount that names no
currency is in the base. What has no rate is left empty: compared as it stands it would mislead.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from acegraph.nodes.text.field_contract import (
    AMOUNTS,
    CURRENCY,
    OTHER_CURRENCY,
    FieldContract,
    folded_names,
    names_a_currency,
)
from acegraph.nodes.text.money import currency_code, read_money
from acegraph.nodes.text.reader import find, pairs_of
from acegraph.state import Transaction
from acegraph.state.values.memos import without_remarks
from acegraph.state.values.transaction import Fields, Scalar, render_fields

NO_RATE: Final = "is in a currency without a rate (the base has the rate 1)"
_CONTRADICTS: Final = "names another currency than the field beside it"
_UNNAMED: Final = "names no currency, though the labelled payments do"
_IN_TEXT: Final = "is in another currency, and inside a text nothing is converted: send fields"
PERHAPS_ANOTHER: Final = "may be in another currency: the field beside it is in doubt"
CURRENCY_DOUBTS: Final = frozenset(
    (NO_RATE, OTHER_CURRENCY, PERHAPS_ANOTHER, _CONTRADICTS, _UNNAMED, _IN_TEXT)
)
_DECIMALS: Final = 6


@dataclass(frozen=True)
class Amount:
    """An amount among the fields of a payment."""

    field: str
    number: float | None
    currency: str | None
    """Its code, as EUR; None where the payment names none."""
    contradicts: bool = False
    """Whether its text and the field beside it name different currencies."""


@dataclass(frozen=True)
class Exchange:
    """What one unit of each currency is worth in the base; the base has the rate 1."""

    rates: Mapping[str, float] = field(default_factory=dict)
    amount: str | None = None
    """The name of the amount, where it is not a usual one."""

    def amounts(self, fields: Mapping[str, Scalar]) -> Iterator[Amount]:
        """The amounts among some fields, each with its currency."""
        for name, beside in _amounts_among(tuple(fields), self.amount):
            number, stated = read_money(fields[name])
            named = currency_code(fields[beside]) if beside else None
            contradicts = bool(stated and named and stated != named)
            yield Amount(name, number, stated or named, contradicts)

    def amount_names(self, names: Sequence[str]) -> list[str]:
        """Those of the names that mean the amount."""
        return list(amount_fields(tuple(names), self.amount))

    def converted(self, fields: Fields) -> tuple[Fields, dict[str, str]]:
        """The fields with amounts in the base currency, and why some amounts were left empty."""
        changed, doubts = dict(fields), {}
        for amount in self.amounts(fields):
            rate = self.rate(amount.currency)
            if amount.number is None:
                continue
            if amount.contradicts or rate is None:
                changed[amount.field] = None
                doubts[amount.field] = _CONTRADICTS if amount.contradicts else NO_RATE
            elif amount.currency is not None:
                product = round(amount.number * rate, _DECIMALS)  # 313.2, not 313.20000000000005
                changed[amount.field] = amount.number if rate == 1.0 else product
        return changed, doubts

    def rate(self, currency: str | None) -> float | None:
        """What one unit is worth in the base; None if nobody says."""
        return 1.0 if currency is None else self.rates.get(currency)


def in_base_currency(
    transaction: Transaction, rates: Mapping[str, float] | None, contract: FieldContract
) -> tuple[Transaction, dict[str, str]]:
    """A live payment with its amounts converted, and the doubts about them, by known names.

    Without `rates` those of the files count from which the playbook learned; with empty ones
    nothing is converted.
    """
    kept = contract.form
    exchange = Exchange(kept.rates_instead(rates), kept.amount)
    if not exchange.rates:
        return transaction, _other_currencies(contract, transaction)
    if not transaction.fields:
        read = _money_of_text(transaction.text)
        is_foreign = any(number is None or exchange.rate(word) != 1.0 for number, word in read)
        in_pairs = exchange.amounts(pairs_of(transaction.text))
        is_foreign |= any(one.contradicts or exchange.rate(one.currency) != 1.0 for one in in_pairs)
        return transaction, {"amount": _IN_TEXT} if is_foreign else {}
    fields, doubts = exchange.converted(transaction.fields)
    if _is_usually_named(contract):
        unnamed = [one.field for one in exchange.amounts(transaction.fields) if not one.currency]
        doubts |= dict.fromkeys(unnamed, _UNNAMED)
    doubts = {contract.known_name(name) or name: why for name, why in doubts.items()}
    if fields == transaction.fields:
        return transaction, doubts
    return replace(transaction, text=render_fields(fields), fields=fields), doubts


@lru_cache(maxsize=256)
def amount_fields(names: tuple[str, ...], named: str | None = None) -> tuple[str, ...]:
    """Those of the names that mean the amount of a payment, the plainest one first.

    >>> amount_fields(("fee", "payment.amount", "Transaction Amount", "amount_ratio"))
    ('Transaction Amount', 'payment.amount')
    """
    meant = (*(folded_names(named) if named else ()), *AMOUNTS)
    ranks = {}
    for name in names:
        folds = enumerate(folded_names(name))
        if rank := next(((i, meant.index(fold)) for i, fold in folds if fold in meant), None):
            ranks[name] = rank
    return tuple(sorted(ranks, key=ranks.__getitem__))


def currencies_of_amounts(contract: FieldContract) -> dict[str, str]:
    """By field that means the amount, the field that names its currency.

    Where nothing is converted, an amount is in doubt if its currency is.
    """
    pairs = _amounts_among(tuple(contract.fields), contract.form.amount)
    return {amount: beside for amount, beside in pairs if beside}


def _money_of_text(text: str) -> list[tuple[float | int | None, str | None]]:
    """The amounts of a text with their currencies."""
    text = without_remarks(text)
    found = (text[f.start : f.end] for f in find(text) if f.field.endswith("amount"))
    return [read_money(words) for words in found]


def _other_currencies(contract: FieldContract, given: Transaction) -> dict[str, str]:
    """Why amounts of a live payment are in doubt where nothing is converted, by known names."""
    known, doubts = contract.currencies, {}
    if known and not given.fields:
        named = {currency for _, currency in _money_of_text(given.text)} - {None}
        return {} if named <= known else {contract.form.amount or "amount": OTHER_CURRENCY}
    for one in Exchange(amount=contract.form.amount).amounts(given.fields):
        if one.contradicts or (known and one.currency and one.currency not in known):
            name = contract.known_name(one.field) or one.field
            doubts[name] = _CONTRADICTS if one.contradicts else OTHER_CURRENCY
    return doubts


def names_new_currency(contract: FieldContract, names: Sequence[str]) -> bool:
    """Whether a column may name another currency than the labelled amounts, which named theirs
    elsewhere.
    """
    return bool(contract.currencies) and any(
        names_a_currency(name) and contract.known_name(name) not in contract.fields
        for name in names
    )


def currencies_beside(contract: FieldContract, names: tuple[str, ...]) -> dict[str, str | None]:
    """By name of a payment that means the amount, the name that names its currency, if any."""
    return dict(_amounts_among(names, contract.form.amount))


def _is_usually_named(contract: FieldContract) -> bool:
    """Whether nearly every labelled payment has a field that names its currency."""
    named = currencies_of_amounts(contract).values()
    return any(contract.fields[beside].is_usual for beside in named)


@lru_cache(maxsize=64)
def _amounts_among(
    names: tuple[str, ...], amount: str | None
) -> tuple[tuple[str, str | None], ...]:
    """The names that mean the amount, each with the name of its currency."""
    by_fold = {fold: name for name in reversed(names) for fold in folded_names(name)}
    pairs = []
    for name in amount_fields(names, amount):
        own = [f"{fold}{word}" for fold in folded_names(name) for word in CURRENCY]
        beside = (by_fold[fold] for fold in (*own, *CURRENCY) if fold in by_fold)
        pairs.append((name, next(beside, None)))
    return tuple(pairs)
