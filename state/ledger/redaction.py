"""Redaction: values of identifying fields are replaced before anything is stored.

With a key in ACE_REDACT_KEY a value becomes a pseudonym, so that distinct customers stay distinct;
without a key it becomes `[redacted]`. The agent decides with the value itself.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from acegraph.state.values.cases import Case
from acegraph.state.values.decision import DecisionRecord
from acegraph.state.values.memos import is_memo, without_memos
from acegraph.state.values.notation import written
from acegraph.state.values.transaction import Fields, Scalar, Transaction

_Content = TypeVar("_Content", Case, DecisionRecord)
REDACTED: Final = "[redacted]"
_MIN_ELSEWHERE: Final = 3
"""A shorter value is replaced only where the name of its field stands before it."""


@dataclass(frozen=True)
class Redaction:
    """The values of one transaction that must not be stored."""

    hidden: Mapping[str, str]
    """The values as they are written, by field."""
    hides_memos: bool = False
    """Whether memos in a text are hidden too: no field is read from them."""

    @classmethod
    def of(cls, fields: Mapping[str, Scalar], names: Sequence[str]) -> "Redaction":
        """Hide the named fields; `card` also means `card.number` and `card.weekday`."""
        hidden = {
            name: written(value)
            for name, value in fields.items()
            if value is not None and any(name == n or name.startswith(f"{n}.") for n in names)
        }
        return cls(hidden, any(is_memo(name) for name in names))

    def fields(self, fields: Mapping[str, Scalar]) -> Fields:
        """The fields as they may be stored."""
        hidden = {name: _stand_in(value) for name, value in self.hidden.items() if name in fields}
        return {n: self.text(v) if isinstance(v, str) else v for n, v in fields.items()} | hidden

    def text(self, text: str) -> str:
        """A text as it may be stored; it may repeat the hidden values."""
        if self.hides_memos:
            text = without_memos(text, REDACTED)
        for name, value in sorted(self.hidden.items(), key=lambda item: -len(item[1])):
            pair = rf"(?i:(\b{re.escape(name)}\s*[:=]\s*)){re.escape(value)}(?:\.0)?"
            text = re.sub(pair, rf"\g<1>{_stand_in(value)}", text)
            if len(value) >= _MIN_ELSEWHERE:
                text = re.sub(rf"(?i)(?<!\w){re.escape(value)}(?!\w)", _stand_in(value), text)
        return text

    def content(self, of: _Content) -> _Content:
        """A case or a decision with its content as it may be stored."""
        text = self.text(of.text)
        return replace(of, text=text, fields=self.fields(of.fields), digest=_digest(text))

    def transaction(self, transaction: Transaction) -> Transaction:
        """The transaction as it may be stored or learned from."""
        return Transaction(self.text(transaction.text), self.fields(transaction.fields))


def redacted(record: DecisionRecord) -> DecisionRecord:
    """A decision without the values that its setting `redact` hides."""
    names = record.settings.get("redact")
    if not names:
        return record
    redaction = Redaction.of(record.fields, names)
    return replace(redaction.content(record), reasons=tuple(map(redaction.text, record.reasons)))


def _digest(text: str) -> str:
    """A digest of what is stored: a digest of the whole would let hidden values be guessed."""
    return hashlib.sha256("; ".join(sorted(text.split("; "))).encode()).hexdigest()


def _stand_in(value: str) -> str:
    key = os.environ.get("ACE_REDACT_KEY", "")
    if not key:
        return REDACTED
    return "redacted-" + hmac.new(key.encode(), value.encode(), "sha256").hexdigest()[:16]
