"""How dates, amounts and numbers are written in the files that the playbook learned from.

Live payments in the same form are read alike. state/playbook/kept_by_node.py keeps it. It is no
evidence: without it, payments in that form are not understood, and nothing else is lost.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from acegraph.state.errors import InvalidSettings
from acegraph.state.values.times import ISO_8601

UNSETTLED: Final = "two forms"


@dataclass(frozen=True)
class FileForm:
    """How the columns of files are written."""

    dates: Mapping[str, str] = field(default_factory=dict)
    """By column of dates the form (values/times.py)."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """What one unit of each currency was worth in the base currency, which has the rate 1."""
    amount: str | None = None
    """The column of the amount, where it was named."""
    currency: str | None = None
    """The only currency that its amounts name, where none is converted."""
    decimal_marks: Mapping[str, str] = field(default_factory=dict)
    """By column of numbers in texts the mark before the decimals, where it is known."""

    def rates_instead(self, rates: Mapping[str, float] | None) -> dict[str, float]:
        """The rates to convert by: given ones, with the base that is kept, or else all that are
        kept; with empty ones nothing is converted.
        """
        if rates is None:
            return dict(self.rates)
        base = {currency: rate for currency, rate in self.rates.items() if rate == 1.0}
        merged = {**base, **rates} if rates else {}
        at_one = {currency for currency, rate in rates.items() if rate == 1.0}
        is_other = bool(at_one) and at_one.isdisjoint(base)
        if base and (is_other or any(merged.get(currency, 1.0) != 1.0 for currency in base)):
            known = " and ".join(base)
            raise InvalidSettings(
                f"rates in {known} (the rate 1) wanted, as the playbook has its amounts; found "
                f"other ones: say what one unit is worth in {known}, or use another playbook"
            )
        return merged

    def renamed(self, names: Mapping[str, str]) -> "FileForm":
        """The form under other names of columns."""
        dates, marks = (
            {names.get(name, name): form for name, form in forms.items()}
            for forms in (self.dates, self.decimal_marks)
        )
        amount = names.get(self.amount or "", self.amount)
        return replace(self, dates=dates, amount=amount, decimal_marks=marks)

    def joined(self, other: "FileForm") -> "FileForm":
        """The form of both; a column that two files write differently has none.

        The rates are the newest ones, with the base that is kept.
        """
        dates = dict(self.dates)
        for name, form in other.dates.items():
            if form != ISO_8601:
                dates[name] = form if dates.get(name, form) == form else UNSETTLED
        marks = {**self.decimal_marks}
        for name, mark in other.decimal_marks.items():
            marks[name] = mark if marks.get(name, mark) == mark else UNSETTLED
        rates = self.rates_instead(other.rates or None)
        currency = other.currency or self.currency
        if self.currency and currency != self.currency:
            currency = UNSETTLED
        return FileForm(dates, rates, other.amount or self.amount, currency, marks)
