"""A transaction that is to be decided: text, or a mapping of fields, cleaned once, here.

It does not know what a text means: fields are read from a text in nodes/text/reader.py.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from acegraph.state.errors import InvalidInput, InvalidTransaction
from acegraph.state.plain import MAX_TEXT, Fields, Scalar, clean_text, collected

Data = dict[str, Any]
"""JSON as somebody wrote it, or a row: whoever reads it knows its form."""
DataView = Mapping[str, Any]
"""The same where nobody changes it."""
OBSERVED = "observed."
"""How the name of a field begins that a language model read from the text."""
_DERIVED = re.compile(
    r"(?:customer|card|device)\.(?:amount_to_usual|merchant_is_new|kmh?_since_last)|"
    r"(?:customer|card|device|merchant)\."
    r"(?:(?:payments|amount)_last_(?:hour|day|week)|hours_since_last)"
)


@dataclass(frozen=True)
class Transaction:
    """A transaction: its text for a language model, and the fields that the caller gave."""

    text: str
    fields: Fields
    """Flat and JSON-native; empty for a transaction that was given as text."""

    @classmethod
    def of(cls, given: object) -> "Transaction":
        """Clean and check a transaction that a caller gave.

        >>> Transaction.of({"amount": 12.5, "card": {"age_days": 3}}).text
        'amount: 12.5; card.age_days: 3'
        >>> Transaction.of('{"amount": 12.5}').fields
        {'amount': 12.5}
        """
        if isinstance(given, Transaction):
            return given
        if isinstance(given, str):
            given = _from_json(given)
        if isinstance(given, str):
            return cls(_checked_text(clean_text(given)), {})
        if isinstance(given, Mapping):
            fields = collected(given)
            if set(fields.values()) <= {None}:
                raise InvalidTransaction("the transaction has no field with a value")
            return cls(_checked_text(render_fields(fields)), fields)
        kind = "nothing" if given is None else type(given).__name__
        raise InvalidTransaction(f"a transaction is text or a mapping of fields; found {kind}")

    def came(self, text: str) -> str | Fields:
        """The fields as they came, or the text, if it is written anew as this text; else empty."""
        return (self.fields or self.text) if self.text != text else ""

    def digest(self) -> str:
        """A hash of the transaction that does not depend on the order of its fields.

        Derived fields are left out: the same payment has others where more of its past is known.
        """
        fields = self.fields
        if any(map(is_derived, fields)):
            fields = {name: value for name, value in fields.items() if not is_derived(name)}
        body = json.dumps([self.text if not self.fields else "", fields], sort_keys=True)
        return hashlib.sha256(body.encode()).hexdigest()


@lru_cache(maxsize=4096)
def is_derived(name: str) -> bool:
    """Whether a field is derived from earlier payments (nodes/evidence/sightings).

    >>> is_derived("customer.payments_last_hour"), is_derived("customer.country")
    (True, False)
    """
    return _DERIVED.fullmatch(name) is not None


def render_fields(fields: Mapping[str, Scalar]) -> str:
    """Fields as a line of text for a language model.

    >>> render_fields({"amount": 20.0, "vpn": True, "memo": None})
    'amount: 20.0; vpn: true; memo: missing'
    """
    return "; ".join([f"{name}: {_render(value)}" for name, value in fields.items()])


def _render(value: Scalar) -> str:
    if value is None:
        return "missing"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _checked_text(text: str) -> str:
    if not text:
        raise InvalidTransaction("the transaction is empty")
    if len(text) > MAX_TEXT:
        raise InvalidTransaction(
            f"the transaction has {len(text):,} characters; at most {MAX_TEXT:,} are accepted"
        )
    return text


def is_observed(name: str) -> bool:
    """Whether a model read it in a text, for an older release: rules over it are silent now."""
    return name.startswith(OBSERVED)


def _from_json(text: str) -> str | dict[str, object]:
    """The mapping that a text is, if it is one object of JSON; else the text."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        read = json.loads(text, object_pairs_hook=each_name_once)
    except InvalidInput as error:
        raise InvalidTransaction(f"a transaction in JSON: {error}") from None
    except (ValueError, RecursionError):
        return text
    return read if isinstance(read, dict) else text


def each_name_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of JSON; two values under one name are refused, and none of them silently lost."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise InvalidInput("a name occurs twice in one object")
    return mapping
