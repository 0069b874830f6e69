"""The fields that a playbook knows, and how the words of a caller are folded to them.

The labelled cases tell which fields a payment usually has, of which kind each is, and which values
are usual. A field that is written in another way gets the known name and the known value. Of a
field that no labelled case has, the kind is known if the reader knows it from texts. What cannot
be folded is a doubt. nodes/agent/fail_closed.py says what follows from doubts.
"""

import math
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.text.field_patterns import AMOUNT_ELSEWHERE, MEASURED, OTHER_NAMES
from acegraph.nodes.text.lexicon import CATEGORIES, FLAGS
from acegraph.nodes.text.lookalikes import skeleton
from acegraph.nodes.text.money import currency_code, read_money, read_number
from acegraph.nodes.text.reader import (
    amount_is_unclear,
    as_read,
    fields_to_test,
    only_pairs,
    read_fields,
    read_value,
)
from acegraph.state import Bullet, InvalidTransaction, Transaction
from acegraph.state.values.cases import CaseTable, Column, stepped
from acegraph.state.values.file_form import UNSETTLED, FileForm
from acegraph.state.values.memos import SENTENCE, is_free_text
from acegraph.state.values.notation import (
    is_nothing,
    may_be_thousands,
    with_point,
)
from acegraph.state.values.times import MIDNIGHT, in_zone, read_date, zone_of
from acegraph.state.values.transaction import Fields, Scalar, is_derived, is_observed

Kind = Literal["number", "flag", "word", "mixed"]
_MIN_CASES: Final = 20
"""Fewer labelled cases do not tell what is usual."""
_USUAL: Final = 0.98
"""The share of the labelled cases from which on a field, or a kind of value, is usual."""
_FAR: Final = 1_000
_MOST: Final = sys.float_info.max
_LAST_HOUR: Final = math.nextafter(24.0, 0.0)
_NEW_WORD: Final = 0.02
"""Where a new word is expected less often than this, the list of words is closed."""
_YES: Final = frozenset(
    "yes y true t 1 1.0 on enabled enable active activated detected present positive used set x "
    "✓ ✔ ja j oui o si sim s da tak hai 是 да はい".split()
)
_NO: Final = frozenset(
    "no n false f 0 0.0 off disabled disable inactive deactivated undetected absent negative "
    "unused unset ✗ ✘ nein non nao net nie iie 否 нет いいえ".split()
)
_AFFIXES: Final = frozenset(
    "is has was tx txn trx transaction transactions payment pay order data attributes payload body "
    "fields field event record input details info flag value val indicator ind bool yn".split()
)
"""Words round a name that do not change which field is meant."""
_CONTAINERS: Final = _AFFIXES | frozenset(
    "account card cardholder client content context customer device features message meta metadata "
    "msg object person properties purchase request root session user".split()
)
"""Objects round a field that do not change which one is meant: `fee.amount` is not the amount."""
DATE_PARTS: Final = ("hour", "weekday", "month")
_SEPARATOR: Final = re.compile(r"(?<=[^\W_])[\s_./-]+(?=[^\W_])")


@dataclass(frozen=True)
class KnownField:
    """What the labelled cases tell about one field."""

    name: str
    kind: Kind
    share: float
    """The share of the labelled cases that have it."""
    lowest: float | None = None
    highest: float | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    """The known words by their folded form."""
    spellings: frozenset[str] = frozenset()
    """The known words as they are written."""
    is_closed: bool = False
    """Whether a word that is not among them is unusual."""
    zones: frozenset[str] = frozenset()
    """Of times: the offsets from UTC that they state; one of them may be empty."""
    has_cents: bool = False
    """Whether no number has more than two decimal places."""
    codes: Mapping[str, str] = field(default_factory=dict)
    """Of a field that names a currency: the known words by their codes."""
    has_numbers: bool = False
    has_flags: bool = False
    """Which values there are beside words."""

    @property
    def is_usual(self) -> bool:
        """Whether nearly every payment has it."""
        return self.share >= _USUAL

    @property
    def most(self) -> float:
        """A number that is larger cannot be meant: no labelled one is positive, or a thousandth, or
        no day has so many hours.
        """
        if self.name == "hour":
            return max(self.highest or 0.0, _LAST_HOUR)
        is_negative = (self.lowest or 0.0) < 0 and (self.highest or 0.0) < 0
        return 0.0 if self.kind == "number" and is_negative else self._far

    @property
    def least(self) -> float:
        """A number that is smaller cannot be meant: no labelled one is negative, or so far off."""
        return 0.0 if self.kind == "number" and (self.lowest or 0.0) >= 0 else -self._far

    @property
    def _far(self) -> float:
        largest = max(abs(self.lowest or 0.0), abs(self.highest or 0.0))
        return min(_FAR * largest, _MOST) if self.kind == "number" and largest else _MOST

    @property
    def words_for_flags(self) -> dict[bool | None, str]:
        """The words for true and false, if these are all its words; else empty."""
        if self.kind != "word" or len(self.spellings) != 2:
            return {}
        flags = {read_flag(word): word for word in self.spellings}
        return flags if flags.keys() == {True, False} else {}

    def why_absent(self, date: object) -> str:
        """Why a payment without it is in doubt; `date` is the field that it is a part of."""
        if date is not None:
            return _NO_DATE
        return _ABSENT.format(self.share) if self.is_usual else _AS_MOST


@dataclass(frozen=True)
class Doubt:
    """A field that was not understood, and why; never its value."""

    field: str
    why: str

    def __str__(self) -> str:
        return f"{self.field} {self.why}"


@dataclass(frozen=True)
class Understood:
    """A transaction in the words of a contract, with what is in doubt."""

    transaction: Transaction
    fields: Fields
    """The fields that were read from it, those derived from dates included."""
    doubts: tuple[Doubt, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The known names of fields that came under others."""
    sighting_columns: Mapping[str, str] = field(default_factory=dict)
    """The fields from which later payments see it, by what they hold; else empty."""


@dataclass(frozen=True)
class FieldContract:
    """The fields that a playbook knows."""

    cases: int = 0
    """How many labelled cases it was made from."""
    fields: Mapping[str, KnownField] = field(default_factory=dict)
    by_folded_name: dict[str, str] = field(default_factory=dict)
    """The known names by their folded form, where that is not ambiguous."""
    form: FileForm = field(default_factory=FileForm)
    """How dates, amounts and numbers are written in the files that the playbook learned from."""
    enough: int = 0
    """Half as many of the `counted` fields as nearly every labelled case has. A payment with fewer
    may be written in other names: no absent field of it is known to be absent."""

    @classmethod
    def of(cls, table: CaseTable) -> "FieldContract":
        """The contract that labelled cases make; it is made again when their number has grown."""
        size = _size_to_look_at(len(table))
        kept = table.shared.get("field_contract") if size else None
        if isinstance(kept, FieldContract) and (kept.cases, kept.form) == (size, table.form):
            return kept
        contract = replace(cls._made_from(table, size), form=table.form)
        table.shared["field_contract"] = contract
        return contract

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The fields that a payment brings itself: neither derived nor a part of a date."""
        return tuple(n for n in self.fields if not (is_derived(n) or date_of_part(n)))

    @cached_property
    def currencies(self) -> frozenset[str]:
        """The currencies that the labelled amounts name; empty if they name none."""
        if self.form.currency and self.form.currency != UNSETTLED:
            return frozenset({self.form.currency})
        return frozenset(code for known in self.fields.values() for code in known.codes)

    @cached_property
    def has_derived(self) -> bool:
        """Whether a field is derived from earlier payments."""
        return any(map(is_derived, self.fields))

    @classmethod
    def _made_from(cls, table: CaseTable, size: int) -> "FieldContract":
        fields: dict[str, KnownField] = {}
        folded: dict[str, list[str]] = {}
        for name in table.field_names:
            column = table.column(name)
            if column is None or is_observed(name):
                continue
            folded.setdefault(_folded_name(name), []).append(name)
            if size and not is_free_text(name):  # a new text is no doubt, but it has a known name
                fields[name] = _known_field(name, column.first(size), table.weights[:size])
        by_folded_name = {fold: names[0] for fold, names in folded.items() if not names[1:]}
        currencies = [name for name in fields if names_a_currency(name)]
        if len(currencies) == 1:
            by_folded_name = dict.fromkeys(_CURRENCY_NAMES, currencies[0]) | by_folded_name
        contract = cls(size, fields, by_folded_name)
        if not fields:
            return contract
        has = np.zeros(size, dtype=int)
        for name in contract.counted:
            if column := table.column(name):
                has += column.first(size).known()
        return replace(contract, enough=math.ceil(np.quantile(has, 1 - _USUAL) / 2))

    def with_pairs_as_fields(self, transaction: Transaction) -> Transaction:
        """The transaction; a text of nothing but pairs with known names is fields, if labelled
        payments are.
        """
        if transaction.fields or not self.fields or SENTENCE in self.by_folded_name.values():
            return transaction
        pairs = only_pairs(transaction.text)
        is_known = bool(pairs) and all(map(self.known_name, pairs))
        return Transaction.of(pairs) if is_known else transaction

    def understand(self, transaction: Transaction) -> Understood:
        """The transaction under the names and values that are known, and what is in doubt."""
        given = transaction.fields
        if not given:
            read = fields_to_test(transaction)
            doubted = {doubt.field: doubt for doubt in self._absent(read)}
            return Understood(
                transaction, read, tuple((doubted | self._of_text(transaction.text, read)).values())
            )
        doubts: dict[str, Doubt] = {}
        fields: Fields = {}
        named, renamed, twice = self._known_names(given)
        for name, value in named.items():
            fields[name], why = self.understand_value(name, value)
            why = TWO_VALUES if name in twice else why
            if why:
                doubts[name] = Doubt(name, why)
        transaction = replace(transaction, fields=fields)
        # With what is derived: a date that cannot be read has no hour.
        read = read_fields(transaction)
        doubts = {doubt.field: doubt for doubt in self._absent(read)} | doubts
        return Understood(as_read(transaction, read), read, tuple(doubts.values()), renamed)

    def _of_text(self, text: str, read: Fields) -> dict[str, Doubt]:
        """What is in doubt of the fields that a text states: nothing of it can be written anew."""
        doubts = {}
        for name, value in read.items():
            if value is None or is_free_text(name):
                continue
            meant, why = self.understand_value(name, value)
            if why or meant != value:
                doubts[name] = Doubt(name, why or _OTHERWISE)
        if amount_is_unclear(text):
            doubts["amount"] = Doubt("amount", _UNCLEAR)
        return doubts

    def understand_value(self, name: str, value: Scalar) -> tuple[Scalar, str]:
        """The value of a field as the labelled cases write it, and why it is in doubt."""
        if name in self.form.dates:
            value = self._date_in_iso(name, value)
        known = self.known_field(name)
        if known and known.kind == "number" and isinstance(value, str):
            number, why = self._number(known, value)
            if why:
                return number, why
            value = value if number is None else number
        if known and known.zones and isinstance(value, str):
            if (there := in_zone(value, known.zones)) is None:
                has_parts = len(read_value(name, value)) > 1  # else it is no time at all
                return None, _OTHER_ZONE if has_parts else _NO_DATE
            value = there
        return (value, "") if known is None else _understood_value(known, value)

    def _number(self, known: KnownField, text: str) -> tuple[Scalar, str]:
        """The number that a text states, if the files tell how they write it, and why another one
        may be meant; else None.
        """
        has_comma = self.form.decimal_marks.get(known.name) == ","
        number, currency = read_money(with_point(text.strip()) if has_comma else text)
        if currency and self.currencies and currency not in self.currencies:
            return number, OTHER_CURRENCY
        if has_comma and known.has_cents and may_be_thousands(text, ","):
            return number, _THOUSANDS
        return (number if has_comma else None), ""

    def _date_in_iso(self, name: str, value: Scalar) -> Scalar:
        """The value; a date in the form of the files becomes one in ISO 8601."""
        if value is None or isinstance(value, bool):
            return value
        iso = read_date(value, self.form.dates[name]) or value
        if isinstance(iso, str) and f"{name}.hour" not in self.fields:
            return iso.removesuffix(MIDNIGHT)  # the files have no time of day
        return iso

    def _absent(self, fields: Mapping[str, Scalar]) -> Iterator[Doubt]:
        """The fields that this transaction should have, and has not."""
        lacks_most = sum(fields.get(name) is not None for name in self.counted) < self.enough
        for known in self.fields.values():
            if fields.get(known.name) is not None or not (known.is_usual or lacks_most):
                continue
            yield Doubt(known.name, known.why_absent(fields.get(date_of_part(known.name))))

    def with_rules(self, rules: Iterable[Bullet]) -> "FieldContract":
        """The contract; while cases are few it knows the names of rules and of the reader, too."""
        if self.fields:
            return self
        tested = [name for rule in rules if rule.condition for name in rule.condition.fields]
        of_rules = {
            _folded_name(other): name
            for name in tested
            for other in (*OTHER_NAMES.get(name, ()), name)
        }
        return replace(self, by_folded_name=_READERS_NAMES | self.by_folded_name | of_rules)

    def spellings(self, name: str) -> frozenset[str]:
        """The words of a field, as they are written."""
        return self.fields[name].spellings if name in self.fields else frozenset()

    def known_field(self, name: str) -> KnownField | None:
        """What is known about a field: from labelled cases or, if none has it, by the reader."""
        return self.fields.get(name) or _OF_THE_READER.get(name)

    def known_name(self, name: str) -> str | None:
        """The known field that a name means, however it is written; None for a new field."""
        if name in self.fields:
            return name
        if found := next(filter(None, map(self.by_folded_name.get, folded_names(name))), None):
            return found
        amount = self.form.amount or "amount"
        return amount if amount in self.fields and _folded_name(name) in AMOUNTS else None

    def _known_names(
        self, given: Mapping[str, Scalar]
    ) -> tuple[Fields, Mapping[str, str], set[str]]:
        """The fields under their known names, which names these replace, and the fields that have
        another value elsewhere; two keys that differ in their spelling alone are refused.
        """
        twice = set[str]()
        if given.keys() <= self.fields.keys():
            return dict(given), {}, twice
        all_meant = {name: self.known_name(name) for name in given}
        named: Fields = {name: value for name, value in given.items() if all_meant[name] == name}
        for name, value in given.items():
            meant = all_meant[name]
            if meant == name:
                continue
            if meant is None:
                named[name] = value
            elif named.get(meant) is None:
                named[meant] = value
            elif value not in (None, named[meant]):
                if _folded_name(name) == _folded_name(meant):
                    raise InvalidTransaction(
                        f"{name!r} and {meant!r} are one field with two values; send one of them"
                    )
                folded = _folded_name(name)
                is_another_word = folded in self.by_folded_name or folded in AMOUNTS
                if is_another_word or _without_affixes(name) == _without_affixes(meant):
                    twice.add(meant)
        in_order = dict.fromkeys(meant or name for name, meant in all_meant.items())
        renamed = {name: meant for name, meant in all_meant.items() if meant and meant != name}
        return {name: named[name] for name in in_order}, renamed, twice


def date_of_part(name: str) -> str:
    """The field of the date that a field is the hour, weekday or month of; else empty.

    >>> date_of_part("paid_at.hour"), date_of_part("amount")
    ('paid_at', '')
    """
    date, _, part = name.rpartition(".")
    return date if part in DATE_PARTS else ""


_OTHER_ZONE: Final = "is a time with a zone where labelled payments have none, or the other way"
OTHER_CURRENCY: Final = "names another currency than the labelled payments, and no rate is known"
_THOUSANDS: Final = "has a mark that may stand before decimals or between thousands"
_OTHERWISE: Final = "is written otherwise than in the labelled payments: send fields, not a text"
_UNCLEAR: Final = "may be another number: write it as 9000 or 9,000"
TWO_VALUES: Final = "has two values, under two names"
NEW_WORD: Final = "has a value that no labelled payment has"
_NO_DATE: Final = "cannot be read: write the date as 2026-01-31 13:00"
_ABSENT: Final = "missing, though {:.0%} of the labelled payments have it"
_AS_MOST: Final = "missing, as most of the known fields are"


def _size_to_look_at(cases: int) -> int:
    """So many of the first cases make the contract: steps, so that it is not made all the time."""
    return stepped(cases) if cases >= _MIN_CASES else 0


def _known_field(name: str, column: Column, weights: NDArray[np.float64]) -> KnownField:
    """What one column of labelled cases tells."""
    numbers = column.known_numbers()
    counts = column.counts()
    flags = sum(count for value, count in counts.items() if isinstance(value, bool))
    words = {value: count for value, count in counts.items() if isinstance(value, str)}
    total = len(numbers) + sum(counts.values())
    kinds: dict[Kind, int] = {"number": len(numbers), "flag": flags, "word": sum(words.values())}
    kind: Kind = max(kinds, key=lambda one: kinds[one])
    if kinds[kind] < _USUAL * total:
        kind = "mixed"
    # The chance that the next word is a new one (Good 1953): the share of words seen once.
    seen_once = sum(count == 1 for count in words.values())
    has_words = kind in ("word", "mixed")
    is_currency = kind == "word" and names_a_currency(name)
    return KnownField(
        name,
        kind,
        share=float(weights @ column.known()) / max(float(weights.sum()), 1.0),
        lowest=float(numbers.min()) if kind == "number" and len(numbers) else None,
        highest=float(numbers.max()) if kind == "number" and len(numbers) else None,
        words={_folded_word(word): word for word in sorted(words, key=words.__getitem__)}
        if has_words
        else {},
        spellings=frozenset(words) if has_words else frozenset(),
        is_closed=is_currency or (has_words and seen_once < _NEW_WORD * max(kinds["word"], 1)),
        codes={code: w for w in words if (code := currency_code(w))} if is_currency else {},
        has_numbers=kinds["number"] > 0,
        has_flags=kinds["flag"] > 0,
        zones=frozenset(zone for word in words if (zone := zone_of(word)) is not None),
        has_cents=kind == "number" and bool((np.round(numbers, 2) == numbers).all()),
    )


def _understood_value(known: KnownField, value: Scalar) -> tuple[Scalar, str]:
    """The value as the labelled cases write it, and why it is in doubt."""
    if isinstance(value, bool) and known.kind == "flag":
        return value, ""
    is_word = isinstance(value, str) and value in known.spellings
    if value is None or (isinstance(value, str) and is_nothing(value) and not is_word):
        return None, _ABSENT.format(known.share) if known.is_usual else ""
    if known.kind == "flag":
        flag = read_flag(value)
        return (value, "is neither yes nor no") if flag is None else (flag, "")
    if known.kind == "number":
        number = read_number(value)
        if number is None and (known.lowest, known.highest) == (0.0, 1.0):
            number = read_flag(value)
        if number is None:
            return value, "is not a number"
        return number, _why_not_meant(known, number, value)
    if known.kind == "mixed" and isinstance(value, str):
        return _of_mixed(known, value)
    if known.kind == "word":
        spelled = str(value)
        is_known = spelled in known.spellings
        word = spelled if is_known else known.words.get(_folded_word(spelled))
        word = word or known.codes.get(currency_code(value) or "")
        word = word or known.words_for_flags.get(read_flag(value))
        if word is None and known.is_closed:
            return value, NEW_WORD
        return (value if word is None else word), ""
    return value, ""


def _of_mixed(known: KnownField, text: str) -> tuple[Scalar, str]:
    """What a text means where labelled cases have words beside numbers, or beside yes and no."""
    if word := known.words.get(_folded_word(text)):
        return word, ""
    if (number := read_number(text)) is not None and known.has_numbers:
        return number, ""
    if (flag := read_flag(text)) is not None and known.has_flags:
        return flag, ""
    return text, NEW_WORD if known.is_closed else ""


def _why_not_meant(known: KnownField, number: float, given: Scalar) -> str:
    """Why a number that was read may not be the one that is meant; empty where it is."""
    if number < known.least == 0.0:
        return "is negative, and no labelled payment is"
    if number > known.most and known.name == "hour":
        return "is no hour of a day"
    if number > known.most == 0.0:
        return "is positive, and every labelled payment is negative"
    if not known.least <= number <= known.most:
        return "is a thousand times larger than in any labelled payment"
    if known.has_cents and isinstance(given, str) and may_be_thousands(given, "."):
        return _THOUSANDS
    return ""


def read_flag(value: Scalar) -> bool | None:
    """The yes or no that a value means, in the forms that are usual; None for anything else.

    >>> [read_flag(value) for value in ("Y", "off", 1, "detected", 2, "maybe")]
    [True, False, True, True, None, None]
    """
    if isinstance(value, bool):
        return value
    word = skeleton(str(value)).strip(" .!")
    return True if word in _YES else False if word in _NO else None


def folded_names(name: str) -> Iterator[str]:
    """The forms under which a name is looked for: itself, without affixes, without its path."""
    yield _folded_name(name)
    words = _words_of(name)
    kept = tuple(word for word in words if word not in _AFFIXES)
    if kept and kept != words:
        yield "".join(kept)
    for start in range(1, len(words)):
        outer, inner = words[:start], words[start:]
        if "." in name and all(word in _CONTAINERS or word in inner for word in outer):
            yield "".join(inner)


@lru_cache(maxsize=4096)
def names_a_currency(name: str) -> bool:
    """Whether a field is called like one that names the currency of an amount.

    >>> [names_a_currency(name) for name in ("txn_ccy", "amountCurrency", "currency_fee")]
    [True, True, False]
    """
    return not _CURRENCY_NAMES.isdisjoint(folded_names(name))


def _without_affixes(name: str) -> tuple[str, ...]:
    return tuple(word for word in _words_of(name) if word not in _AFFIXES)


def _folded_name(name: str) -> str:
    """A name without case, separators and width.

    >>> {_folded_name(name) for name in ("tx_last_hour", "TxLastHour", "TX-LAST HOUR")}
    {'txlasthour'}
    """
    return "".join(_words_of(name))


@lru_cache(maxsize=4096)
def _words_of(name: str) -> tuple[str, ...]:
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", unicodedata.normalize("NFKC", name))
    return tuple(re.findall(r"[^\W_]+", skeleton(parted)))


@lru_cache(maxsize=4096)
def _folded_word(word: str) -> str:
    """A word without case, width, accents and what separates its parts; signs before and behind it
    stay: A+ is not A-.

    >>> {_folded_word(word) for word in ("gift_cards", "Gift cards", "GIFT-CARDS ")}
    {'giftcards'}
    """
    return _SEPARATOR.sub("", skeleton(word).strip()) or word


def _fields_of_the_reader() -> Iterator[KnownField]:
    for name in FLAGS:
        yield KnownField(name, "flag", share=0.0)
    for measured in MEASURED:
        is_amount = measured.endswith("amount")
        lowest = 0.0 if is_amount else -_MOST
        for name in (measured, *OTHER_NAMES.get(measured, ())):
            yield KnownField(name, "number", 0.0, lowest=lowest, has_cents=is_amount)
    words = {_folded_word(word): word for word in CATEGORIES}
    yield KnownField("merchant_category", "word", share=0.0, words=words)


_OF_THE_READER: Final = {known.name: known for known in _fields_of_the_reader()}
"""The fields whose kind is known before a labelled case has them."""
AMOUNTS: Final = tuple(map(_folded_name, ("amount", *OTHER_NAMES["amount"], *AMOUNT_ELSEWHERE)))
"""What the amount is called, folded."""
CURRENCY: Final = tuple(
    map(
        _folded_name,
        "currency ccy currency_code währung waehrung valuta devise moneda divisa moeda waluta "
        "валюта".split(),
    )
)
"""What the currency of an amount is called, folded."""
_CURRENCY_NAMES: Final = frozenset(
    {*CURRENCY, *(f"{amount}{word}" for amount in AMOUNTS for word in CURRENCY)}
)
_READERS_NAMES: Final = {
    **dict.fromkeys(map(_folded_name, AMOUNT_ELSEWHERE), "amount"),
    **{_folded_name(name): name for name in _OF_THE_READER},
}
