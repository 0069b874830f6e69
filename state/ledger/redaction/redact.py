"""Redaction: values of identifying fields are replaced before anything is stored.

With a key in ACE_REDACT_KEY a value becomes a pseudonym, so that distinct customers stay distinct;
without a key it becomes `[redacted]`. The agent decides with the value itself.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, TypeVar

from acegraph.state.ledger.redaction.spellings import (
    Spelling,
    folded,
    is_named,
    names_of,
    parts_of_name,
    replaced,
)
from acegraph.state.values.cases import Case
from acegraph.state.values.decision import DecisionRecord
from acegraph.state.values.memos import SENTENCE, is_free_text, is_memo, without_memos
from acegraph.state.values.notation import written
from acegraph.state.values.transaction import (
    Fields,
    Scalar,
    Transaction,
    is_derived,
    render_fields,
)

_Content = TypeVar("_Content", Case, DecisionRecord)
REDACTED: Final = "[redacted]"
_PSEUDONYM = re.compile("redacted-[0-9a-f]{16}")
_SAYS = re.compile(r"(?<!\s)\s*+[:=]\s*+")
_BOUNDARY = re.compile(r"(?<!\w)")
_END = re.compile(r"(?:\.0)?(?!\w)")
_MIN_ELSEWHERE: Final = 3
"""A shorter value is replaced only where the name of its field stands before it."""
_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,2})?")
_CURRENCY = r"(?:[^\W\d_]{0,2}[$€£¥]|[A-Z]{3}|(?<= )[^\W\d_]{2,8}\.?|[^\W\d_]{2,8}\.?(?= ))"
_AMOUNT = re.compile(
    rf"{_CURRENCY}?\s?(\d(?:[\d.,'’\s]{{0,20}}\d)?(?:\s?(?:k|mn?|thousand|million))?)\s?{_CURRENCY}?"
)
_MEASURED = re.compile(r"[+-]?[\d.]+(?:e[+-]?\d+)?|true|false")
_LONG_NUMBER: Final = 7
"""A number of so many digits names somebody; a shorter one may be an amount."""


@dataclass(frozen=True)
class Redaction:
    """The values of one transaction that must not be stored."""

    hidden: Mapping[str, str]
    """The values as they are written, by field."""
    hides_memos: bool = False
    """Whether memos in a text are hidden too: no field is read from them."""
    came: Mapping[str, str] = field(default_factory=dict)
    """The same of the fields as they came, where the transaction is written anew."""

    @classmethod
    def of(
        cls,
        fields: Mapping[str, Scalar],
        names: Sequence[str],
        came: str | Mapping[str, Scalar] = "",
    ) -> "Redaction":
        """Hide the fields that a name means: `card` also `card.number`, `Card` and `payer.card`."""
        hidden = _meant(fields, names)
        if "amount" in hidden or "usual_amount" in hidden:
            names = [*names, "amount_ratio"]  # one tells the other
            hidden = _meant(fields, names)
        given = came if isinstance(came, Mapping) else {}
        return cls(hidden, any(is_memo(name) for name in names), _meant(given, names))

    def fields(self, fields: Mapping[str, Scalar]) -> Fields:
        """The fields as they may be stored; others may repeat a hidden value."""
        return dict(map(self._field, fields.items()))

    def text(self, text: str) -> str:
        """A text as it may be stored; it may repeat the hidden values, or parts of a name."""
        if self.hides_memos:
            text = without_memos(text, REDACTED)
        return replaced("".join(self._without_pairs(text)), self._values + self._parts)

    def _without_pairs(self, text: str) -> Iterator[str]:
        """The parts of a text, with another one in the place of each value behind its name."""
        values = {name.lower(): value for name, value in self.hidden.items()}
        sizes = sorted(set(map(len, self.hidden)), reverse=True)
        done = 0
        for says in _SAYS.finditer(text):
            for start in (says.start() - size for size in sizes):
                value = values.get(text[start : says.start()].lower()) if start >= done else None
                if not value or not text.startswith(value, says.end()):
                    continue
                end = _END.match(text, says.end() + len(value))
                if end and _BOUNDARY.match(text, start):
                    yield text[done : says.end()] + _stand_in(value)
                    done = end.end()
                    break
        yield text[done:]

    def _field(self, field: tuple[str, Scalar]) -> tuple[str, Scalar]:
        name, value = field
        if name in self.hidden:
            return name, _stand_in(self.hidden[name])
        shown = self._without(name)
        if isinstance(value, str):
            return shown, self.text(value) if is_free_text(name) else self._without(value)
        if value is None or isinstance(value, bool) or len(written(value)) < _LONG_NUMBER:
            return shown, value
        same = (instead for spelling, instead in self._values if spelling.equals(written(value)))
        return shown, next(same, value)

    def _without(self, text: str) -> str:
        """A name or a value without hidden ones; a single word may be a category."""
        return replaced(text, self._values + (self._parts if " " in text else []))

    @cached_property
    def _values(self) -> list[tuple[Spelling, str]]:
        """The values that are looked for elsewhere, each with what takes its place."""
        values = dict.fromkeys((*self.hidden.values(), *self.came.values()))
        pairs = ((v, _stand_in(v)) for v in values if v not in ("true", "false"))
        spelt = ((s, to) for v, to in pairs if v != to for s in _as_numbers(v))
        return [(Spelling(s), to) for s, to in spelt if len(s) >= _MIN_ELSEWHERE]

    @cached_property
    def _parts(self) -> list[tuple[Spelling, str]]:
        values = dict.fromkeys(self.hidden.values())
        return [(part, _stand_in(value)) for value in values for part in parts_of_name(value)]

    def content(self, of: _Content) -> _Content:
        """A case or a decision with its content as it may be stored."""
        text, fields = self.text(of.text), self.fields(of.fields)
        if of.fields.get(SENTENCE) == of.text:
            text = fields[SENTENCE] = self.sentence(of.text)
        if isinstance(of.came, str):
            came = self.sentence(of.came) if of.came else text
        else:
            shown = {n: _stand_in(self.came[n]) if n in self.came else of.came[n] for n in of.came}
            came = Redaction(self.came, self.hides_memos).text(render_fields(shown))
        if came == REDACTED:  # nothing is left that tells one text from another
            came = render_fields({n: value for n, value in fields.items() if n != SENTENCE})
        return replace(of, text=text, fields=fields, digest=_digest(came), came="")

    def sentence(self, text: str) -> str:
        """The text from which the fields were read, as it may be stored: nothing of it, if a hidden
        value is a number or a flag, as in "pays 2k via VPN", or is not found in it.
        """
        for name, value in self.hidden.items():
            is_left = _MEASURED.fullmatch(value) or Redaction({name: value}).text(text) == text
            if is_left and _stand_in(value) != value:
                return _stand_in(text)
        return self.text(text)

    def transaction(self, transaction: Transaction) -> Transaction:
        """The transaction as it may be stored or learned from."""
        hide = self.text if transaction.fields else self.sentence
        return Transaction(hide(transaction.text), self.fields(transaction.fields))


def unmatched(names: Sequence[str], fields: Mapping[str, Scalar], text: str) -> list[str]:
    """The names in `redact` that mean no field of a transaction, and no memo in its text."""
    no_fields = [name for name in names if not any(is_named(path, name) for path in fields)]
    if not any(map(is_memo, no_fields)):
        return no_fields
    has_memo = without_memos(text, "") != text
    return [name for name in no_fields if not (is_memo(name) and has_memo)]


def redacted(record: DecisionRecord) -> DecisionRecord:
    """A decision without the values that its setting `redact` hides."""
    names = record.settings.get("redact")
    if not names:
        return record
    redaction = Redaction.of(record.fields, names, record.came)
    return replace(redaction.content(record), reasons=tuple(map(redaction.text, record.reasons)))


def also_renamed(names: Sequence[str], renamed: Mapping[str, str]) -> list[str]:
    """The names to redact, with the known names of fields that came under others, and these.

    >>> also_renamed(["tx_amount", "city"], {"tx_amount": "amount", "Town": "city", "H": "hour"})
    ['tx_amount', 'city', 'amount', 'Town']
    """
    found = list(names)
    for came, known in renamed.items():
        is_meant = [any(is_named(path, name) for name in names) for path in (came, known)]
        if any(is_meant) and not all(is_meant):
            found.append(known if is_meant[0] else came)
    return found


def _meant(fields: Mapping[str, Scalar], names: Sequence[str]) -> dict[str, str]:
    """The values of the fields that one of the names means."""
    wanted = set(map(folded, names))
    return {
        name: written(value)
        for name, value in fields.items()
        if value is not None and not wanted.isdisjoint(names_of(name))
    }


def _digest(text: str) -> str:
    """A digest of what is stored: a digest of the whole would let hidden values be guessed."""
    parts = [part for part in text.split("; ") if not is_derived(part.partition(": ")[0])]
    return hashlib.sha256("; ".join(sorted(parts)).encode()).hexdigest()


def _as_numbers(value: str) -> Iterator[str]:
    """A value, and if it is a number the forms in which sentences have it.

    >>> list(_as_numbers("2500")), list(_as_numbers("1.2k EUR"))
    (['2500', '2,500', '2,500.00', '2.5k', '2.5 thousand'], ['1.2k EUR', '1.2k'])
    """
    yield value
    if _NUMBER.fullmatch(value):
        number = float(value)
        yield f"{number:,.{0 if value.isdigit() else 2}f}"
        yield f"{number:,.2f}"
        for scale, short, word in ((1e3, "k", "thousand"), (1e6, "m", "million")):
            if number >= scale:
                yield f"{number / scale:g}{short}"
                yield f"{number / scale:g} {word}"
    elif amount := _AMOUNT.fullmatch(value):
        yield amount[1]


def _stand_in(value: str) -> str:
    if value == REDACTED or _PSEUDONYM.fullmatch(value):  # of a decision that comes from the ledger
        return value
    key = os.environ.get("ACE_REDACT_KEY", "")
    if not key:
        return REDACTED
    return "redacted-" + hmac.new(key.encode(), value.encode(), "sha256").hexdigest()[:16]
