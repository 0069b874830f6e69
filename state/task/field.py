"""One field of a task: what its values are, and whether a value fits.

`Field.fit` never guesses and never raises. A value that does not fit becomes a `Misfit`, which
says what was wanted and never what was found: reasons are stored, streamed and traced.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final, Literal
from zoneinfo import ZoneInfo

from acegraph.state.errors import InvalidSettings, some
from acegraph.state.values.plain import Misfit, Scalar, Why, ascii_lower, fit_value, parts_of

Kind = Literal["number", "flag", "category", "time", "text"]
Role = Literal[
    "",
    "id",
    "time",
    "amount",
    "currency",
    "entity",
    "latitude",
    "longitude",
    "protected",
    "ignored",
]
Part = Literal["hour", "weekday", "month"]
Epoch = Literal["", "s", "ms"]

NEARLY: Final = 0.98
"""A share from which on something holds of nearly all values."""


@dataclass(frozen=True)
class Field:
    """What a task says of one field."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    name: str
    kind: Kind
    role: Role = ""
    usual: bool = False
    """Whether nearly every case has it: without it there is a doubt."""
    stored: bool = True
    """Whether it is written down. If not, it is dropped before anything is stored or learned."""
    words: tuple[str, ...] = ()
    """Of a category, the known words; of a flag, those for no and yes as the source writes them."""
    closed: bool = False
    """Whether another word of a category is a doubt; an open one takes it as a new word."""
    least: float | None = None
    most: float | None = None
    """The limits of a number: guessed loosely, and tighter if a person says so."""
    unit: str = ""
    """For people and prompts; of the amount, its currency."""
    zone: str = "UTC"
    """Where the clock of a time without an offset stands, and where its hour is read."""
    epoch: Epoch = ""
    """What a number that is a time counts; empty refuses numbers."""
    parts: tuple[Part, ...] = ()
    """Fields that a time gives besides, as `paid_at.hour`."""
    entity: str = ""
    """Of the role `entity`, its kind: customer, card, device, merchant."""
    meaning: str = ""
    """One line for prompts and the desk."""
    since: int = 1
    """The version of the task from which on cases have it."""

    def __post_init__(self) -> None:
        for fault in self._faults():
            raise InvalidSettings(f"field {self.name!r}: {fault}")

    def _faults(self) -> Iterator[str]:
        """What contradicts itself, in words."""
        if not self.name.strip() or len(self.name) > 200:
            yield "a name has 1 to 200 characters"
        if self.words and self.kind not in ("category", "flag"):
            yield f"a {self.kind} has no words"
        if self.kind == "flag" and len(self.words) not in (0, 2):
            yield "a flag has two words, for no and for yes"
        if (self.parts or self.epoch) and self.kind != "time":
            yield f"only a time has parts and an epoch, not a {self.kind}"
        if self.least is not None and self.most is not None and self.least > self.most:
            yield f"least {self.least:g} is above most {self.most:g}"
        if self.words and not self.stored and self.kind == "category":
            yield "it is not stored, so its words are not either: leave them out"
        if self.closed and not self.words:
            yield "a closed category needs its words"
        if not _is_zone(self.zone):
            yield f"no time zone {self.zone!r}; write one as Europe/Berlin"

    @property
    def is_tested(self) -> bool:
        """Whether rules may ask for it."""
        is_clock = self.role == "time" and self.kind == "number"
        return self.role not in ("id", "currency", "ignored") and self.stored and not is_clock

    @property
    def part_names(self) -> tuple[str, ...]:
        """The names of the fields that a time gives besides."""
        return tuple(f"{self.name}.{part}" for part in self.parts)

    @cached_property
    def spellings(self) -> dict[str, str]:
        """The words by what they are known by."""
        return {ascii_lower(word): word for word in self.words}

    def not_stored(self) -> "Field":
        """The same field, of which no value is kept, nor in the task itself."""
        words = self.words if self.kind == "flag" else ()
        return replace(self, stored=False, words=words, closed=False, least=None, most=None)

    def fit(self, value: object) -> Scalar | Misfit:
        """The value as it is kept, or why none is.

        >>> Field("amount", "number", least=0).fit("12.50")
        12.5
        >>> str(Field("amount", "number", least=0, most=100).fit(9000))
        'amount does not fit; a number from 0 to 100 wanted'
        >>> Field("new", "flag", words=("nein", "ja")).fit("Ja")
        True
        """
        return fit_value(self, value)

    def misfit(self, why: Why) -> Misfit:
        """A misfit of this field."""
        return Misfit(self.name, why, self.wanted)

    @property
    def wanted(self) -> str:
        """What fits, in words."""
        if self.kind == "number":
            return (
                "a number" + _range(self.least, self.most) + (f" in {self.unit}" * bool(self.unit))
            )
        if self.kind == "flag":
            return " or ".join(self.words or ("false", "true"))
        if self.kind == "time":
            counted = {"": "", "s": " or seconds since 1970", "ms": " or milliseconds since 1970"}
            return f"a time as 2026-01-31T13:00:00Z{counted[self.epoch]}"
        if self.kind == "category" and self.closed:
            return f"one of {some(self.words, 6)}"
        return "a text"

    def parts_of(self, value: str) -> dict[str, Scalar]:
        """The fields that a fitted time gives besides.

        >>> Field("at", "time", parts=("hour", "weekday")).parts_of("2026-01-31T13:05:00+00:00")
        {'at.hour': 13, 'at.weekday': 'Saturday'}
        """
        return parts_of(self, value)


def _range(least: float | None, most: float | None) -> str:
    if least is not None and most is not None:
        return f" from {least:,.10g} to {most:,.10g}"
    if least is not None:
        return f" of at least {least:,.10g}"
    return "" if most is None else f" of at most {most:,.10g}"


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return False
    return True
