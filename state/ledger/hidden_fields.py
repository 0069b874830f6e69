"""Fields that are not stored: they are dropped before anything is written or learned.

With a key in ACE_REDACT_KEY a keyed hash stays in the place of a value, so that distinct customers
stay distinct. The agent decides with the value itself. A sentence may say a value in any words, so
no sentence is stored where a field is hidden: the fields that were read from it are.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from acegraph.state.values import (
    SENTENCE,
    Case,
    DecisionRecord,
    Fields,
    Scalar,
    Sighting,
    Transaction,
    folded,
    is_derived,
    is_named,
    names_of,
    render_fields,
    written,
)

_Content = TypeVar("_Content", Case, DecisionRecord)
REDACTED: Final = "[redacted]"
"""What stands where a text repeated a hidden value."""
_PSEUDONYM = re.compile("redacted-[0-9a-f]{16}")
_MEASURED = re.compile(r"[+-]?[\d.]+(?:e[+-]?\d+)?|true|false")
"""A number or a flag: a sentence may say it in other words, as in "pays 2k via VPN"."""
_WAS_A_MEMO = re.compile(
    r"(?:^|[^A-Za-z]|(?<=[a-z0-9])(?=[A-Z]))(?i:memo|notes?|message|msg|comments?|remarks?|description"
    r"|reference|narrative|details|purpose|subject|greeting|verwendungszweck|motif|concepto|causale)"
    r"[^A-Za-z]*$"
)
"""The names of fields that schema 4 took for memos: digests of its hidden cases depend on them."""
_SHORT: Final = 3
"""A value of so few letters and digits is looked for as a word only, not within others."""
LONG_NUMBER: Final = 7
"""A number of so many digits names somebody; a shorter one may be an amount."""


@dataclass(frozen=True)
class HiddenFields:
    """What of one transaction is not stored."""

    names: Sequence[str]
    """The names of fields that are hidden, be they in this transaction or not."""
    read: Mapping[str, Scalar]
    """The fields of the transaction, or those that were read from its sentence."""
    values: Mapping[str, str]
    """The hidden values as they are written, by field."""
    came: Mapping[str, str] = field(default_factory=dict)
    """The same of the fields as they came, where the transaction is written anew."""
    sentence: str = ""
    """The sentence from which the fields were read."""

    @classmethod
    def of(
        cls,
        fields: Mapping[str, Scalar],
        names: Sequence[str],
        came: str | Mapping[str, Scalar] = "",
    ) -> "HiddenFields":
        """Hide the fields that a name means: `card` also `card.number`, `Card` and `payer.card`."""
        wanted = set(map(folded, names))
        if any(is_named(name, one) for name in names for one in ("amount", "usual_amount")):
            wanted.add(folded("amount_ratio"))  # one tells the other
        values, of_came = (
            {
                name: written(value)
                for name, value in given.items()
                if value is not None and not wanted.isdisjoint(names_of(name))
            }
            for given in (fields, came if isinstance(came, Mapping) else {})
        )
        sentence = came if isinstance(came, str) else ""
        return cls(names, fields, values, of_came, sentence or str(fields.get(SENTENCE) or ""))

    def fields(self, fields: Mapping[str, Scalar]) -> Fields:
        """The fields as they are stored; others may repeat a hidden value."""
        kept: Fields = {}
        for name, value in fields.items():
            if name in self.values:
                if (shown := stand_in(self.values[name])) != REDACTED:
                    kept[name] = shown
            elif isinstance(value, str):
                kept[name] = self.text(value)
            else:
                is_repeated = written(value) in self.values.values()
                is_long = value is not None and len(written(value)) >= LONG_NUMBER
                kept[name] = REDACTED if is_repeated and is_long else value
        return kept

    def text(self, text: str) -> str:
        """A text as it may be stored: without the hidden values, and nothing of it if one is still
        there in other signs.
        """
        hidden = {*self.values.values(), *self.came.values()} - {"true", "false"}
        for value in sorted(hidden, key=len, reverse=True):
            if value != (shown := stand_in(value)):
                text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", shown, text)
                if len(plain := folded(value)) > _SHORT and plain in folded(text):
                    return REDACTED
        if self.names and self.sentence and folded(self.sentence) in folded(text):
            return REDACTED
        return text

    def content(self, of: _Content) -> _Content:
        """A case or a decision as it is stored."""
        fields = self.fields({n: v for n, v in of.fields.items() if n != SENTENCE})
        given = {n: v for n, v in fields.items() if self.sentence or f"{n}: " in of.text}
        text = _rendered(given)
        seen = of.sighting and self._seen(of.sighting)
        digest = self._digest(of, text)
        return replace(of, text=text, fields=fields, digest=digest, sighting=seen, came="")

    def _seen(self, sighting: Sighting) -> Sighting | None:
        """What later payments see of it: whom a field names is stored as a keyed hash."""
        hidden = {what for what, name in sighting.columns.items() if name in self.values}
        if "time" in hidden:
            return None
        return replace(
            sighting,
            amount=None if "amount" in hidden else sighting.amount,
            place=None if hidden & {"latitude", "longitude"} else sighting.place,
        )

    def _digest(self, of: Case | DecisionRecord, stored: str) -> str:
        """A digest of what is stored: a digest of the whole would let hidden values be guessed. Of
        a sentence that says one in other words it is that of its keyed hash, or of its fields.
        """
        hidden = replace(self, values=self.came or self.values, came={})
        if self.sentence:
            text = hidden.text(self.sentence)
            said = [value for value in self.values.values() if value not in self.sentence]
            if said or text == REDACTED or any(map(_MEASURED.fullmatch, self.values.values())):
                text = stand_in(self.sentence)
            return _digest(stored if text == REDACTED else text)
        text = render_fields(of.came) if isinstance(of.came, Mapping) else of.text
        for name, value in hidden.values.items():
            pair = rf"(?<!\w){re.escape(name)}: {re.escape(value)}(?:\.0)?(?!\w)"
            shown = REDACTED if _WAS_A_MEMO.search(name) else f"{name}: {stand_in(value)}"
            text = re.sub(pair, shown, text)  # as schema 4 wrote it
        return _digest("; ".join(map(hidden.text, text.split("; "))))

    def transaction(self, transaction: Transaction) -> Transaction:
        """The transaction as it may be stored or learned from."""
        is_stored = all(value == stand_in(value) for value in self.values.values())
        if not self.names or (is_stored and transaction.fields):
            return transaction
        fields = self.fields(transaction.fields)
        return Transaction(_rendered(fields or self.fields(self.read)), fields)


def as_stored(record: DecisionRecord) -> DecisionRecord:
    """A decision without the values that its setting `redact` hides."""
    names = record.settings.get("redact")
    if not names:
        return record
    hidden = HiddenFields.of(record.fields, names, record.came)
    reasons = tuple(map(hidden.text, record.reasons))
    return replace(hidden.content(record), reasons=reasons, whole=record)


def _rendered(fields: Fields) -> str:
    """The text that stands for stored fields."""
    shown = {name: value for name, value in fields.items() if not is_derived(name)}
    return render_fields(shown) or REDACTED


def _digest(text: str) -> str:
    parts = [part for part in text.split("; ") if not is_derived(part.partition(": ")[0])]
    return hashlib.sha256("; ".join(sorted(parts)).encode()).hexdigest()


def stand_in(value: str) -> str:
    """What stands in the place of a value: its keyed hash, if there is a key."""
    if value == REDACTED or _PSEUDONYM.fullmatch(value):  # of a decision that comes from the ledger
        return value
    key = os.environ.get("ACE_REDACT_KEY", "")
    if not key:
        return REDACTED
    return "redacted-" + hmac.new(key.encode(), value.encode(), "sha256").hexdigest()[:16]
