"""Redaction: values of identifying fields are replaced before anything is stored.

With a key in ACE_REDACT_KEY a value becomes a pseudonym, so that distinct customers stay distinct;
without one it is simply gone. The decision itself has seen the value.
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


@dataclass(frozen=True)
class Redaction:
    """The values of one transaction that are not to be stored, and what stands for them."""

    hidden: Mapping[str, str]
    remarks: bool = False
    """Whether memos in a text are hidden too: nothing is read from them, so they are no fields."""

    @classmethod
    def of(cls, fields: Mapping[str, Scalar], names: Sequence[str]) -> "Redaction":
        """`card` also stands for what was read from it: `card.number`, `card.weekday`."""
        found = {
            name: written(value)
            for name, value in fields.items()
            if value is not None and any(name == n or name.startswith(f"{n}.") for n in names)
        }
        return cls(found, any(is_memo(name) for name in names))

    def fields(self, fields: Mapping[str, Scalar]) -> Fields:
        """The fields as they may be stored."""
        return {
            name: _stand_in(self.hidden[name])
            if name in self.hidden
            else self.text(value)
            if isinstance(value, str)
            else value
            for name, value in fields.items()
        }

    def text(self, text: str) -> str:
        """A text in which the values may be repeated."""
        if self.remarks:
            text = without_memos(text, REDACTED)
        for name, value in sorted(self.hidden.items(), key=lambda item: -len(item[1])):
            pair = rf"(?i:(\b{re.escape(name)}\s*[:=]\s*)){re.escape(value)}(?:\.0)?"
            text = re.sub(pair, lambda m, v=value: m[1] + _stand_in(v), text)  # type: ignore[misc]
            if len(value) >= _MIN_ELSEWHERE:
                text = re.sub(rf"(?i)(?<!\w){re.escape(value)}(?!\w)", _stand_in(value), text)
        return text

    def content(self, of: _Content) -> _Content:
        """A case or a decision whose content is as it may be stored."""
        text = self.text(of.text)
        return replace(of, text=text, fields=self.fields(of.fields), digest=_digest(text))

    def transaction(self, given: Transaction) -> Transaction:
        """The transaction as it may be stored or learned from."""
        return Transaction(self.text(given.text), self.fields(given.fields))


def redacted(record: DecisionRecord) -> DecisionRecord:
    """A decision as its settings want it stored."""
    names = record.settings.get("redact")
    if not names:
        return record
    hide = Redaction.of(record.fields, names)
    return replace(hide.content(record), reasons=tuple(map(hide.text, record.reasons)))


def _digest(text: str) -> str:
    """Over what is stored: one over the whole would let a guess at the rest be checked."""
    return hashlib.sha256("; ".join(sorted(text.split("; "))).encode()).hexdigest()


def _stand_in(value: str) -> str:
    key = os.environ.get("ACE_REDACT_KEY", "")
    if not key:
        return REDACTED
    return "redacted-" + hmac.new(key.encode(), value.encode(), "sha256").hexdigest()[:16]
