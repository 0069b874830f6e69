"""A transaction that is to be decided: text, or a mapping of fields, cleaned once, here.

It does not know what a text means: fields are read from a text in nodes/text/reader.py.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from acegraph.state.errors import InvalidInput, InvalidTransaction
from acegraph.state.plain import MAX_TEXT, Scalar, check_storable, clean_text, plain_value

Fields = dict[str, Scalar]
Data = dict[str, Any]
"""JSON as somebody wrote it, or a row: whoever reads it knows its form."""
DataView = Mapping[str, Any]
"""The same where nobody changes it."""
OBSERVED = "observed."
"""How the name of a field begins that a language model read from the text."""
MAX_FIELDS = 300
MAX_DEPTH = 6
MAX_NAME = 200
_PLAIN = frozenset((str, float, int, bool, type(None)))
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
            fields = _collected(given)
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


def _collected(given: Mapping[object, object]) -> Fields:
    """The fields of a mapping by their cleaned names; two keys that become one are refused."""
    fields: Fields = {}
    for name, value in _flatten(given):
        if name in fields:
            raise InvalidTransaction(f"two keys of the transaction are one field, {name[:60]!r}")
        fields[name] = value
    if len(fields) > MAX_FIELDS:
        raise InvalidTransaction(f"{len(fields):,} fields; at most {MAX_FIELDS} are accepted")
    return fields


def _flatten(
    fields: Mapping[object, object], prefix: str = "", depth: int = 1
) -> Iterator[tuple[str, Scalar]]:
    if depth > MAX_DEPTH:
        raise InvalidTransaction(f"field {prefix.rstrip('.')!r} is nested deeper than {MAX_DEPTH}")
    if len(fields) > MAX_FIELDS:
        raise InvalidTransaction(f"{len(fields):,} fields; at most {MAX_FIELDS} are accepted")
    for key, value in fields.items():
        if not isinstance(key, str):
            _check_storable("", key)
        clean = _clean_short_text if len(str(key)) <= MAX_NAME else clean_text
        name = prefix + (clean(str(key)) or "unnamed")
        if len(name) > MAX_NAME:
            raise InvalidTransaction(
                f"a field name has {len(name):,} characters; {MAX_NAME} at most"
            )
        if type(value) in _PLAIN:  # nearly all are, and the other questions are slow
            yield name, plain_value(name, value)
        elif isinstance(value, Mapping):
            yield from _flatten(value, name + ".", depth + 1)
        elif isinstance(value, list | tuple | set | frozenset):
            _check_storable(name, value, depth)
            yield f"{name}.count", len(value)
            if value and all(isinstance(item, str) for item in value):
                yield name, clean_text(", ".join(sorted(value)))
            elif len(value) == 1 and not isinstance(next(iter(value)), Mapping | list | tuple):
                yield name, plain_value(name, next(iter(value)))
        else:
            yield name, plain_value(name, value)


_clean_short_text = lru_cache(maxsize=4096)(clean_text)  # payments have the same fields


def _check_storable(name: str, value: object, depth: int = 1) -> None:
    """Refuse a whole number beyond 64 bits, also inside of lists."""
    if isinstance(value, int):
        check_storable(name, value)
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        if depth > MAX_DEPTH:
            raise InvalidTransaction(f"field {name!r} is nested deeper than {MAX_DEPTH}")
        inner = [*value, *value.values()] if isinstance(value, Mapping) else value
        for item in inner:
            _check_storable(name, item, depth + 1)


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
