"""A first guess at what columns are, from their values; a person sees it and can correct it.

This is the only place that guesses, and the only one that looks at names: a name is a hint, never
more. Kinds of values from JSON are taken as they are; a file has texts, so `is_file` looks closer.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Final, cast

from acegraph.state.errors import InvalidSettings, some
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.field import NEARLY, Field, Kind, Part, Role
from acegraph.state.task.task import Task
from acegraph.state.task.times import before, derived_of, epoch_of, rises, tells_when
from acegraph.state.values import KINDS, SENTENCE, Scalar
from acegraph.state.values.plain import fold

_Columns = Mapping[str, Sequence[Scalar]]
_Said = Mapping[str, str] | None
_FAR: Final = 1_000.0
_MOST_WORDS: Final = 60
_FEW_WORDS: Final = 20
_NEW_WORD: Final = 0.01
_ENOUGH: Final = 100
"""So many values tell whether words are all known, and whether numbers rise with the rows."""
_A_CLOCK: Final = 0.95
"""Numbers that rise so closely with the rows are a clock: what is later has no earlier value."""
_AS_SAID: Final = "as you said"
_SOME: Final = 20
"""So many texts of a file are ids if all are different."""
_LONG: Final = 40
_WORDS_OF_A_KIND: Final = 2.5
"""A text has more letters or words than so many; a word of a kind has fewer."""
_LONG_NUMBERS: Final = 1e8
"""Numbers of nine and more digits are no quantities, but cards, accounts or phones."""
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
    correct: str = ""
    """How to say what it is, where that is not sure: `else --as step=number`."""


def guess(columns: _Columns, declared: _Said = None, *, is_file: bool = True) -> list[Guess]:
    """What the columns are; all have one value a row, in the order of the rows.

    `declared` is what a person says instead: by column a kind, a role, or an entity.

    >>> [g.field.kind for g in guess({"a": [1, 2.5, 7], "b": ["x", "y", "x"], "c": [True, None]})]
    ['number', 'category', 'flag']
    """
    guesses = []
    for name, values in columns.items():
        one = _guess_one(name, values, is_file)
        if one and declared and name in declared:
            one = Guess(_as(one.field, declared[name], values), _AS_SAID)
        guesses += [one] if one else []
    guesses = _one_time(_one_of_a_role(guesses), columns)
    return _clocks(guesses, columns) if is_file else guesses


def _as(found: Field, word: str, values: Sequence[Scalar]) -> Field:
    """A field as a person names its kind, its role, or whom it names."""
    plain = Field(found.name, found.kind, usual=found.usual)
    role, _, entity = word.partition(":")
    if word in KINDS or (role == "entity" and entity):
        return replace(plain, kind="category", role="entity", entity=entity or word)
    if word == "time":
        kind: Kind = "number" if any(isinstance(v, int | float) for v in values) else "time"
        return replace(found if found.kind == "time" else replace(plain, kind=kind), role="time")
    if word in ("number", "amount", "latitude", "longitude"):
        numbers = [float(v) for v in values if isinstance(v, int | float)]
        number = replace(_number(found.name, numbers), usual=found.usual)
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
        f"({', '.join(KINDS)}, entity:NAME) wanted"
    )


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
    if len(shared) < 2:
        return Task(name, fields, derived_of(fields))
    names = {fold(own.name): own.name for own in shared}
    renamed = tuple(replace(one, name=names.get(fold(one.name), one.name)) for one in fields)
    prior = tuple(
        rule for rule in CARD_PAYMENTS.prior if not rule.test or rule.test.field in names.values()
    )
    return replace(
        CARD_PAYMENTS,
        name=name,
        fields=renamed,
        derived=derived_of(renamed),
        prior=prior,
        unknown="ignore",
        version=1,
    )


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
    found = replace(found, field=replace(found.field, usual=usual))
    return _to_correct(found, known) if is_file else found


def _to_correct(found: Guess, known: Sequence[Scalar]) -> Guess:
    """The guess with what a person may know better, where a field is neither plain nor told yet."""
    one, name, distinct = found.field, found.field.name, set(known)
    if one.role == "protected" and one.kind != "time":
        return Guess(one, "protected: a person approves its rules", f"else --as {name}={one.kind}")
    are_whole = all(isinstance(value, int | float) and value % 1 == 0 for value in distinct)
    if one.kind == "number" and not one.role and are_whole and 2 < len(distinct) <= _MOST_WORDS:
        why = "whole numbers of few kinds, tried as codes, too"
        return Guess(one, why, f"if they are no quantities, --as {name}=category")
    is_repeated = _MOST_WORDS < len(distinct) <= len(known) / 2
    if one.kind == "category" and one.role in ("", "id") and is_repeated:
        correct = f"if it names somebody, --as {name}=customer (card, device, merchant)"
        return Guess(one, found.why or "many words, each in some rows", correct)
    return found


def _number(name: str, numbers: Sequence[float]) -> Field:
    most = _FAR * max(map(abs, numbers), default=1.0)
    return Field(name, "number", least=0.0 if min(numbers, default=0.0) >= 0 else -most, most=most)


def _of_numbers(name: str, numbers: Sequence[float], is_file: bool) -> Guess:
    distinct, plain = set(numbers), _number(name, numbers)
    if not is_file:
        return Guess(replace(plain, role=_role_of(name, ("id", "amount"))))
    if distinct <= {0.0, 1.0} and len(numbers) >= 2:
        return Guess(Field(name, "flag"), "0 and 1 are no and yes", f"else --as {name}=number")
    are_whole = all(number.is_integer() for number in distinct)
    epoch, unit = epoch_of(min(distinct), max(distinct))
    if epoch and (are_whole or len(numbers) >= _ENOUGH):
        return Guess(Field(name, "time", epoch=epoch, parts=_PARTS), f"{unit} since 1970")
    if are_whole:
        return _of_whole_numbers(plain, numbers, len(distinct))
    return Guess(replace(plain, role=_role_of(name, _ROLES_OF_NUMBERS)))


def _of_whole_numbers(plain: Field, numbers: Sequence[float], distinct: int) -> Guess:
    role = _role_of(plain.name, ("id", *_ROLES_OF_NUMBERS))
    if fold(plain.name) in _CODES:
        return Guess(Field(plain.name, "category"), "codes, no quantities")
    if sorted(numbers)[len(numbers) // 10] >= _LONG_NUMBERS:
        return Guess(Field(plain.name, "category", role="id"), "long numbers name somebody")
    is_row = len(numbers) >= _ENOUGH and distinct == len(numbers) and [*numbers] != sorted(numbers)
    if role == "id" or (is_row and not role and max(numbers) >= 10 * len(numbers)):
        return Guess(Field(plain.name, "category", role="id"), "names somebody, or a row")
    return Guess(replace(plain, role=role))


_PARTS: Final[tuple[Part, ...]] = ("hour", "weekday")


def _of_texts(name: str, texts: Sequence[str], is_file: bool) -> Guess:
    counts = Counter(texts)
    if sum(map(_is_time, texts)) >= NEARLY * len(texts):
        has_hours = any(len(text) > len("2026-01-31") for text in texts)
        parts: tuple[Part, ...] = _PARTS if has_hours else ("weekday",)
        return Guess(Field(name, "time", role=_role_of(name, ("protected",)), parts=parts))
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
    words = words if unique else ()
    return Guess(Field(name, "category", role=role, words=words, closed=closed and unique))


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
    words = {word.lower(): word for word in reversed(list(counts))}
    no, yes = ([words[one] for one in words if one in known] for known in (_NO, _YES))
    return (no[0], yes[0]) if len(words) == 2 and no and yes else ()


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
    """At most one field of a role that only one may have: what a person named, else the first."""
    seen = {one.field.role for one in guesses if one.why == _AS_SAID}
    kept = []
    for one in guesses:
        role = one.field.role
        if role in ("amount", "currency") and role in seen and one.why != _AS_SAID:
            one = replace(one, field=replace(one.field, role="", closed=False))
        seen.add(role)
        kept.append(one)
    return kept


def _one_time(guesses: list[Guess], columns: _Columns) -> list[Guess]:
    """The guesses with the date that says when a case happened, unless a person named a time."""
    dates = {g.field.name: g for g in guesses if g.field.kind == "time" and not g.field.role}
    if not dates or any(one.field.role == "time" for one in guesses):
        return guesses
    found = {n: tells_when([str(v) for v in columns[n] if v is not None]) for n in dates}
    chosen = dates.pop(max(found, key=lambda name: found[name]))
    time, why, correct = replace(chosen.field, role="time"), chosen.why, chosen.correct
    if dates:
        how = "rises with the rows" if found[time.name][0] else "is the latest, and none rises"
        new = some(before(time, one.field).name for one in dates.values())
        why = f"the time, since it {how}; derived: {new}"
        correct = f"else --as {next(iter(dates))}=time"
    return [Guess(time, why, correct) if one is chosen else one for one in guesses]


def _clocks(guesses: list[Guess], columns: _Columns) -> list[Guess]:
    """The guesses with numbers that rise with the rows as clocks: no rule asks for one. Where no
    other time is there, it is the time.
    """
    has_time, found = any(one.field.role == "time" for one in guesses), list[Guess]()
    for one in guesses:
        numbers = [v for v in columns[one.field.name] if isinstance(v, int | float)]
        may_be = one.field.kind == "number" and not one.field.role and one.why != _AS_SAID
        if may_be and len(numbers) >= _ENOUGH and rises(numbers) >= _A_CLOCK:
            taken = "left out" if has_time else "taken as the time, in seconds"
            clock = replace(one.field, role="ignored" if has_time else "time")
            why = f"a clock that rises with the rows, {taken}"
            one, has_time = Guess(clock, why, f"--as {clock.name}=number compares it"), True
        found.append(one)
    return found


def told(guesses: Iterable[Guess]) -> list[str]:
    """What may be said otherwise of some guesses: a line for each reason."""
    by_reason: dict[str, list[Guess]] = {}
    for one in guesses:
        by_reason.setdefault(one.why, []).extend([one] if one.correct else [])
    lines = ((some(one.field.name for one in same), why, same) for why, same in by_reason.items())
    return [f"{names}: {why}; {same[0].correct}" for names, why, same in lines if same]
