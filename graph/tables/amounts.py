"""Amounts of a table that name a currency: each is in doubt where that of a payment would be.

The cell and the column beside it may name different ones. Each pair of currencies that occurs in
the two is asked about once, as a payment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from acegraph.nodes.text.currencies import currencies_beside, in_base_currency
from acegraph.nodes.text.field_contract import FieldContract
from acegraph.nodes.text.money import currency_code, read_money
from acegraph.state import Transaction
from acegraph.state.values.transaction import Scalar, clean_text

Mask = NDArray[np.bool_]
_PERHAPS_NAMED: Final = r"[^0-9.,\s+-]"
"""A text without any such character names no currency."""
_KEPT: Final = 100_000
"""So many different amounts are remembered."""


@dataclass(frozen=True)
class AmountColumn:
    """A column that means the amount, and the one that names its currency."""

    column: str
    beside: str | None

    def why_in_doubt(self, amount: Scalar, currency: Scalar, contract: FieldContract) -> str:
        """Why an amount is in doubt beside a currency, where nothing is converted; else empty."""
        fields = {self.column: amount, **({self.beside: currency} if self.beside else {})}
        _, doubts = in_base_currency(Transaction("", fields), {}, contract)
        return next(iter(doubts.values()), "")

    def doubts(
        self,
        batch: pa.RecordBatch,
        read: Callable[[str, object], Scalar],
        contract: FieldContract,
    ) -> Iterator[tuple[str, Mask]]:
        """Why amounts are in doubt, each time with the rows; `read` reads a value of a column.

        A column of numbers names no currency.
        """
        every = np.ones(batch.num_rows, dtype=bool)
        others: list[tuple[Scalar, Mask]] = [(None, every)]
        if self.beside:
            others = _groups(batch.column(self.beside), self.beside, read, currency_code)
        amounts = self._amounts(batch, read)
        for amount, has_amount in amounts:
            for other, has_other in others:
                where = has_amount & has_other
                if where.any() and (why := self.why_in_doubt(amount, other, contract)):
                    yield why, where

    def _amounts(
        self, batch: pa.RecordBatch, read: Callable[[str, object], Scalar]
    ) -> list[tuple[Scalar, Mask]]:
        """For each currency that amounts name, one such amount and the rows; also for none."""
        array = batch.column(self.column)
        if (texts := _texts(array)) is None:
            return [(1.0, np.ones(len(array), dtype=bool))] if self.beside else []
        is_named = pc.match_substring_regex(texts, _PERHAPS_NAMED).fill_null(False)
        named = is_named.to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(named)
        found: list[tuple[Scalar, Mask]] = [(1.0, ~named)] if self.beside else []
        for amount, has_amount in _groups(texts.take(pa.array(rows)), self.column, read, _named):
            where = np.zeros(batch.num_rows, dtype=bool)
            where[rows] = has_amount
            found.append((amount, where))
        return found


def amount_columns(contract: FieldContract, columns: Iterable[str]) -> list[AmountColumn]:
    """The columns of a table that mean the amount."""
    by_name = {clean_text(column) or "unnamed": column for column in columns}
    pairs = currencies_beside(contract, tuple(by_name)).items()
    return [AmountColumn(by_name[name], by_name[to] if to else None) for name, to in pairs]


@lru_cache(maxsize=_KEPT)
def _named(value: Scalar) -> str | None:
    """The code of the currency that the text of an amount names."""
    return read_money(value)[1]


def _texts(column: pa.Array) -> pa.Array | None:
    """The texts of a column; None of any other column."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return column if column.type == kind else column.cast(kind)
    return column.cast(pa.large_string()) if pa.types.is_string_view(kind) else None


def _groups(
    array: pa.Array,
    column: str,
    read: Callable[[str, object], Scalar],
    named: Callable[[Scalar], str | None],
) -> list[tuple[Scalar, Mask]]:
    """For each currency that the values of a column name, one such value, and all their rows."""
    encoded = array.dictionary_encode()
    values = [*(read(column, value) for value in encoded.dictionary.to_pylist()), None]
    firsts: dict[str | None, int] = {}
    places = [firsts.setdefault(named(value), place) for place, value in enumerate(values)]
    codes = encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    by_row = np.array(places)[codes]
    return [(values[first], by_row == first) for first in firsts.values()]
