"""A first guess at what columns are, from their values; a person sees it and can correct it.

This is the only place that guesses, and the only one that looks at names: a name is a hint, never
more. Kinds of values from JSON are taken as they are; a file has texts, so `is_file` looks closer.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Final, cast, get_args

from acegraph.state.errors import InvalidSettings
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.field import NEARLY, Epoch, Field, Kind, Part, Role
from acegraph.state.task.task import Derived, Task, Window, fold
from acegraph.state.values import KINDS, SENTENCE, Scalar

_FAR: Final = 1_000.0
_MOST_WORDS: Final = 60
_FEW_WORDS: Final = 20
_NEW_WORD: Final = 0.01
_ENOUGH: Final = 100
"""So many values tell whether words are all known, and whether numbers rise with the rows."""
_SOME: Final = 20
"""So many texts of a file are ids if all are different."""
_LONG: Final = 40
_WORDS_OF_A_KIND: Final = 2.5
"""A text has more letters or words than so many; a word of a kind has fewer."""
_LONG_NUMBERS: Final = 1e8
"""Numbers of nine and more digits are no quantities, but cards, accounts or phones."""
_EPOCHS: Final[tuple[tuple[Epoch, float, float, str], ...]] = (
    ("s", 946_684_800.0, 2_051_222_400.0, "seconds"),
    ("ms", 946_684_800e3, 2_051_222_400e3, "milliseconds"),
)
_WINDOWS: Final[tuple[Window, ...]] = get_args(Window)[1:]
_NO: Final = frozenset("no n false f off nein nee non não nej 0".split())
_YES: Final = frozenset("yes y true t on ja j oui o sí si sim 1".split())
_NAMES: Final[Mapping[Role, frozenset[str]]] = {
    "id": frozenset("id uuid guid iban pan ssn".split()),
    "amount": frozenset(
        "amount amt transactionamount purchaseamount betrag montant importe".split()
    ),
    "currency": frozenset("currency currencycode ccy währung devise moneda".split()),
    "latitude": frozenset("lat latitude".split()),
    "longitude": frozenset("lon long lng longitude".split()),
    "protected": frozenset("gender sex age dob birthdate nationality religion ethnicity".split()),
}
"""Names that hint at a role, folded."""
_ADDRESSES: Final = frozenset("email phone ip".split())
"""Texts under these names are ids, numbers may be counts: `payments_per_ip`."""
_ROLES_OF_NUMBERS: Final[tuple[Role, ...]] = ("amount", "latitude", "longitude", "protected")
_CODES: Final = frozenset(
    "mcc merchantcategorycode categorycode bin cardbin zip zipcode plz".split()
)


@dataclass(frozen=True)
class Guess:
    """A field as it was guessed, and what is not plain about it, in words."""

    field: Field
    why: str = ""


def guess(columns: Mapping[str, Sequence[Scalar]], *, is_file: bool = True) -> list[Guess]:
    """What the columns are; all have one value a row, in the order of the rows.

    >>> [g.field.kind for g in guess({"a": [1, 2.5, 7], "b": ["x", "y", "x"], "c": [True, None]})]
    ['number', 'category', 'flag']
    """
    found = (_guess_one(name, values, is_file) for name, values in columns.items())
    return _one_time(_one_of_a_role([one for one in found if one is not None]), columns)


def corrected(
    guesses: Sequence[Guess], columns: Mapping[str, Sequence[Scalar]], declared: Mapping[str, str]
) -> list[Guess]:
    """The guesses with what a person says instead: by column a kind, a role, or an entity."""
    fields = [
        replace(one, field=_as(one.field, declared[one.field.name], columns), why="as you said")
        if one.field.name in declared
        else one
        for one in guesses
    ]
    times = [one.field.name for one in fields if one.field.role == "time"]
    if (said := {name for name in times if name in declared}) and len(times) > 1:
        fields = [
            replace(one, field=replace(one.field, role=""), why="")
            if one.field.role == "time" and one.field.name not in said
            else one
            for one in fields
        ]
    return fields


def _as(found: Field, word: str, columns: Mapping[str, Sequence[Scalar]]) -> Field:
    """A field as a person names its kind, its role, or whom it names."""
    plain = Field(found.name, found.kind, usual=found.usual)
    if word in KINDS:
        return replace(plain, kind="category", role="entity", entity=word)
    if word == "time":
        return _as_time(found, columns[found.name])
    if word in ("number", "amount", "latitude", "longitude"):
        numbers = [float(v) for v in columns[found.name] if isinstance(v, int | float)]
        most = _FAR * max(map(abs, numbers), default=1.0)
        least = 0.0 if min(numbers, default=0.0) >= 0 else -most
        number = replace(plain, kind="number", least=least, most=most or None)
        return number if word == "number" else replace(number, role=cast(Role, word))
    if word in ("flag", "category", "text"):
        return replace(plain, kind=cast(Kind, word))
    if word in ("id", "ignored", "protected", "currency"):
        return replace(found, role=cast(Role, word))
    if word == "hidden":
        return found.not_stored()
    kinds = "number, flag, category, time, text"
    roles = "id, amount, currency, latitude, longitude, protected, ignored, hidden"
    raise InvalidSettings(
        f"{found.name} is no {word!r}: a kind ({kinds}), a role ({roles}) or whom it names "
        f"({', '.join(KINDS)}) wanted"
    )


def _as_time(found: Field, values: Sequence[Scalar]) -> Field:
    """The time of a case: a date, a number that counts from 1970, or one that only rises."""
    if found.kind == "time":
        return replace(found, role="time")
    numbers = [float(v) for v in values if isinstance(v, int | float)]
    if numbers and (counted := _of_epoch(found.name, min(numbers), max(numbers))):
        return replace(counted.field, role="time", usual=found.usual)
    kind: Kind = "number" if numbers else "time"
    return Field(found.name, kind, role="time", usual=found.usual)


def guess_task(name: str, guesses: Sequence[Guess]) -> Task:
    """The task of these fields; card payments that use the names of the shipped task have its
    prior and its reader, too.
    """
    fields = tuple(one.field for one in guesses)
    kinds = {fold(one.name): one for one in fields}
    shared = [
        own
        for own in CARD_PAYMENTS.fields
        if (found := kinds.get(fold(own.name))) and own.kind == found.kind and own.name != "text"
    ]
    derived = derived_of(fields)
    if len(shared) < 2:
        return Task(name, fields, derived)
    names = {fold(own.name): own.name for own in shared}
    renamed = tuple(replace(one, name=names.get(fold(one.name), one.name)) for one in fields)
    prior = tuple(
        rule for rule in CARD_PAYMENTS.prior if not rule.test or rule.test.field in names.values()
    )
    return replace(
        CARD_PAYMENTS,
        name=name,
        fields=renamed,
        derived=derived,
        prior=prior,
        unknown="ignore",
        version=1,
    )


def derived_of(fields: Sequence[Field]) -> tuple[Derived, ...]:
    """What can be derived from these fields; nothing without an entity and a time.

    >>> fields = (Field("cc", "category", role="entity", entity="card"),)
    >>> [one.name for one in derived_of((*fields, Field("at", "time", role="time")))]
    ['card.payments_last_hour', 'card.payments_last_day', 'card.payments_last_week', \
'card.hours_since_last']
    """
    roles = {str(one.role): one.name for one in fields if one.role}
    entities = {one.entity: one.name for one in fields if one.entity in KINDS}
    if "time" not in roles:
        return ()
    return tuple(one for kind in entities for one in _of_entity(kind, entities, roles))


def _of_entity(kind: str, entities: dict[str, str], roles: dict[str, str]) -> Iterator[Derived]:
    sources = (entities[kind], roles["time"])
    for window in _WINDOWS:
        yield Derived(f"{kind}.payments_last_{window}", "count", sources, window)
        if amount := roles.get("amount"):
            yield Derived(f"{kind}.amount_last_{window}", "sum", (*sources, amount), window)
    yield Derived(f"{kind}.hours_since_last", "hours_since", sources)
    if kind == "merchant":
        return
    if amount := roles.get("amount"):
        yield Derived(f"{kind}.amount_to_usual", "to_usual", (*sources, amount))
    if merchant := entities.get("merchant"):
        yield Derived(f"{kind}.merchant_is_new", "is_new", (*sources, merchant))
    if {"latitude", "longitude"} <= roles.keys():
        place = (roles["latitude"], roles["longitude"])
        yield Derived(f"{kind}.km_since_last", "km_since", (*sources, *place))
        yield Derived(f"{kind}.kmh_since_last", "km_since", (*sources, *place), "hour")


def _guess_one(name: str, values: Sequence[Scalar], is_file: bool) -> Guess | None:
    """What one column is; None if it has no value."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    usual = len(known) >= NEARLY * len(values)
    texts = [value for value in known if isinstance(value, str)]
    if len(texts) > (1 - NEARLY) * len(known):
        found = _of_texts(name, [str(value) for value in known], is_file)
    elif all(isinstance(value, bool) for value in known):
        found = Guess(Field(name, "flag"))
    else:
        numbers = [float(v) for v in known if isinstance(v, int | float)]
        found = _of_numbers(name, numbers, is_file)
    return replace(found, field=replace(found.field, usual=usual))


def _of_numbers(name: str, numbers: Sequence[float], is_file: bool) -> Guess:
    distinct = set(numbers)
    lowest, highest = min(distinct), max(distinct)
    limit = _FAR * max(abs(lowest), abs(highest), 1.0)
    plain = Field(name, "number", least=0.0 if lowest >= 0 else -limit, most=limit)
    if not is_file:
        return Guess(replace(plain, role=_role_of(name, ("id", "amount"))))
    if distinct <= {0.0, 1.0} and len(numbers) >= 2:
        return Guess(Field(name, "flag"), "0 and 1 are no and yes")
    if len(numbers) >= _ENOUGH and len(distinct) > 2 and all(a <= b for a, b in pairwise(numbers)):
        if found := _of_epoch(name, lowest, highest):
            return found
        return Guess(replace(plain, role="ignored"), "a clock: it rises with the rows")
    if all(number.is_integer() for number in distinct):
        return _of_whole_numbers(plain, numbers, len(distinct))
    return Guess(replace(plain, role=_role_of(name, _ROLES_OF_NUMBERS)))


def _of_whole_numbers(plain: Field, numbers: Sequence[float], distinct: int) -> Guess:
    if found := _of_epoch(plain.name, min(numbers), max(numbers)):
        return found
    role = _role_of(plain.name, ("id", *_ROLES_OF_NUMBERS))
    if fold(plain.name) in _CODES:
        return Guess(Field(plain.name, "category"), "codes, no quantities")
    if sorted(numbers)[len(numbers) // 10] >= _LONG_NUMBERS:
        return Guess(Field(plain.name, "category", role="id"), "long numbers name somebody")
    is_row = len(numbers) >= _ENOUGH and distinct == len(numbers)
    if role == "id" or (is_row and not role and max(numbers) >= 10 * len(numbers)):
        return Guess(Field(plain.name, "category", role="id"), "names somebody, or a row")
    return Guess(replace(plain, role=role))


def _of_epoch(name: str, lowest: float, highest: float) -> Guess | None:
    """A time, if all numbers count seconds or milliseconds since 1970."""
    for epoch, first, last, unit in _EPOCHS:
        if first <= lowest < highest < last:
            field = Field(name, "time", epoch=epoch, parts=_PARTS)
            return Guess(field, f"{unit} since 1970")
    return None


_PARTS: Final[tuple[Part, ...]] = ("hour", "weekday")


def _of_texts(name: str, texts: Sequence[str], is_file: bool) -> Guess:
    counts = Counter(texts)
    if sum(map(_is_time, texts)) >= NEARLY * len(texts):
        has_hours = any(len(text) > len("2026-01-31") for text in texts)
        return Guess(Field(name, "time", parts=_PARTS if has_hours else ("weekday",)))
    if is_file and (pair := _no_and_yes(counts)):
        return Guess(Field(name, "flag", words=pair), f"{pair[0]} is no, {pair[1]} is yes")
    if name == SENTENCE or _are_sentences(counts):
        return Guess(Field(name, "text"))
    is_short = sum(text.count(" ") for text in texts) < 2 * len(texts)
    is_row = is_file and is_short and len(counts) == len(texts) >= _SOME
    if is_row or (len(texts) >= _ENOUGH and len(counts) >= NEARLY * len(texts)):
        return Guess(Field(name, "category", role="id"), "another word in each row: an id")
    role = _role_of(name, ("id", "currency", "protected"))
    if role == "id" or _last_words(name) & _ADDRESSES:
        return Guess(Field(name, "category", role="id"), "names somebody, or a row")
    if role == "currency" and len(counts) > 1:
        role = ""
    words = tuple(word for word, _ in counts.most_common(_MOST_WORDS))
    once = sum(count == 1 for count in counts.values())
    closed = (
        len(texts) >= _ENOUGH and len(counts) <= _FEW_WORDS and once < _NEW_WORD * len(texts)
    ) or role == "currency"
    unique = len({word.lower() for word in words}) == len(words)
    field = Field(
        name, "category", role=role, words=words if unique else (), closed=closed and unique
    )
    return Guess(field, "" if role != "protected" else "protected: rules over it wait for a person")


def _are_sentences(counts: Mapping[str, int]) -> bool:
    """Whether the texts of a column are no words of a kind: most are different, and long."""
    texts = sum(counts.values())
    words = sum(count * len(text.split()) for text, count in counts.items())
    letters = sum(count * len(text) for text, count in counts.items())
    is_long = letters > _LONG * texts or words > _WORDS_OF_A_KIND * texts
    return is_long and len(counts) > min(texts / 2, _MOST_WORDS)


def _is_time(text: str) -> bool:
    if len(text) < len("2026-01-31") or text[4:5] != "-":
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def no_or_yes(word: str) -> bool | None:
    """What a word for no or yes means; None for any other word.

    >>> no_or_yes("Ja"), no_or_yes("nein"), no_or_yes("fraud")
    (True, False, None)
    """
    folded = word.strip().lower()
    return folded in _YES if folded in _NO | _YES else None


def _no_and_yes(counts: Mapping[str, int]) -> tuple[str, str] | tuple[()]:
    """The words for no and yes, if a column has no others."""
    if not 1 < len(counts) < 5:
        return ()
    no = [word for word in counts if word.lower() in _NO]
    yes = [word for word in counts if word.lower() in _YES]
    if not no or not yes or len(no) + len(yes) != len(counts):
        return ()
    if len({word.lower() for word in no}) > 1 or len({word.lower() for word in yes}) > 1:
        return ()
    return no[0], yes[0]


@lru_cache(maxsize=4096)
def seems_an_id(name: str) -> bool:
    """Whether the name of a field that nobody declared hints at an id.

    >>> seems_an_id("customer_id"), seems_an_id("customer")
    (True, False)
    """
    return _role_of(name, ("id",)) == "id"


def _role_of(name: str, roles: Sequence[Role]) -> Role:
    words = _last_words(name)
    return next((role for role in roles if words & _NAMES[role]), "")


def _last_words(name: str) -> set[str]:
    """The last word of a name, and its last part without separators."""
    last = re.split(r"[_. -]|(?<=[a-z])(?=[A-Z])", name)[-1].lower()
    return {fold(name.rpartition(".")[2]), last}


def _one_of_a_role(guesses: list[Guess]) -> list[Guess]:
    """At most one field of each role that only one may have; the first one keeps it."""
    seen: set[str] = set()
    kept = []
    for one in guesses:
        role = one.field.role
        if role in ("amount", "currency") and role in seen:
            one = replace(one, field=replace(one.field, role="", closed=False))
        seen.add(role)
        kept.append(one)
    return kept


def _one_time(guesses: list[Guess], columns: Mapping[str, Sequence[Scalar]]) -> list[Guess]:
    """The field that says when a case happened: of several times the one that rises with the rows
    most often, else the first one.
    """
    times = [one.field.name for one in guesses if one.field.kind == "time"]
    if not times:
        return guesses
    chosen = max(times, key=lambda name: round(_order(columns[name]), 2))
    told = f"the time of a case; {', '.join(n for n in times if n != chosen)} is another time"
    return [
        replace(one, field=replace(one.field, role="time"), why=told if len(times) > 1 else one.why)
        if one.field.name == chosen
        else one
        for one in guesses
    ]


def _order(values: Sequence[Scalar]) -> float:
    """How often a value is not below the one before it."""
    known = [str(value) for value in values if value is not None]
    rising = sum(a <= b for a, b in pairwise(known))
    return rising / max(len(known) - 1, 1)
