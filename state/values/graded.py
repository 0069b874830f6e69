"""Steps: points of risk that go by the value of one field, instead of a yes or no.

Below the first cut, or for any word that is not named, count the first points; from each cut on, or
for each word, its own; and a value that is missing may have points of its own. Points are whole
hundredths of log-odds, so that their sum is the same on every engine.
"""

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from acegraph.state.errors import InvalidCondition
from acegraph.state.values.notation import POINTS, is_number
from acegraph.state.values.plain import MAX_EXACT, Scalar

MAX_STEPS: Final = 8
_MOST: Final = 20 * POINTS
_AMOUNT: Final = r"\+?\d{1,2}(?:\.\d{1,2})?"
_NUMBER: Final = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_STEP: Final = re.compile(
    rf"\s*,\s*(?:from\s+(?P<cut>{_NUMBER})|(?P<word>\"(?:[^\"\\]|\\.)*+\"|true|false)|missing)"
    rf"\s+(?P<points>{_AMOUNT})",
    re.IGNORECASE,
)
_SLOPE: Final = re.compile(
    rf"from\s+({_NUMBER})\s+to\s+({_NUMBER}):\s+up\s+to\s+({_AMOUNT})\s*\.?", re.IGNORECASE
)
_DIGITS: Final = 6


@dataclass(frozen=True)
class Steps:
    """The points of each value of a field."""

    places: tuple[Scalar, ...]
    """The numbers from which on points change, in order; or the words that have their own."""
    points: tuple[int, ...]
    """One more than places: the first are those of all others."""
    missing: int = 0

    def __post_init__(self) -> None:
        told = (*self.points, self.missing)
        if not 1 <= len(self.places) <= MAX_STEPS or len(self.points) != len(self.places) + 1:
            raise InvalidCondition(f"points go in 1 to {MAX_STEPS} steps, not {len(self.places)}")
        if min(told) < 0 or not 0 < max(told) <= _MOST:
            raise InvalidCondition("the most points of a rule are above 0 and at most 20")
        rising = [is_number(place) and not isinstance(place, bool) for place in self.places]
        if all(rising):
            cuts = [float(place or 0) for place in self.places]
            if cuts != sorted(set(cuts)) or not math.isfinite(sum(cuts)):
                raise InvalidCondition("the numbers from which on points change rise")
        elif any(rising) or len(set(map(repr, self.places))) < len(self.places):
            raise InvalidCondition("points go by numbers that rise, or by words that differ")

    @property
    def are_words(self) -> bool:
        """Whether they go by words or flags."""
        return isinstance(self.places[0], bool | str)

    @property
    def most(self) -> int:
        """The most points that a value can have."""
        return max(*self.points, self.missing)

    def of(self, value: Scalar) -> int:
        """The points of a value.

        >>> steps = Steps((20, 100), (0, 35, 120))
        >>> steps.of(20), steps.of(3000), steps.of(None), steps.of("many")
        (35, 120, 0, 0)
        """
        if value is None:
            return self.missing
        if self.are_words:
            told = dict(zip(map(repr, self.places), self.points[1:], strict=True))
            return told.get(repr(value), self.points[0])
        if isinstance(value, bool | str):
            return 0
        return self.points[bisect_right(self.places, value)]  # type: ignore[type-var]

    def parts(self) -> Iterator[tuple[int, tuple[tuple[str, Scalar], ...]]]:
        """The points other than 0, each with the comparisons that all hold where they count; at any
        value at most one part holds.

        >>> [*Steps((20, 100), (0, 35, 120)).parts()]
        [(35, (('>=', 20), ('<', 100))), (120, (('>=', 100),))]
        """
        if self.are_words:
            others = tuple(("is not", word) for word in self.places)
            found = [others, *((("is", word),) for word in self.places)]
        else:
            lows = [(), *((((">=", cut),)) for cut in self.places)]
            highs = [*((("<", cut),) for cut in self.places), ()]
            found = [(*low, *high) for low, high in zip(lows, highs, strict=True)]
        pairs = [*zip(self.points, found, strict=True), (self.missing, (("is missing", None),))]
        yield from ((points, tests) for points, tests in pairs if points)

    def render(self) -> str:
        """The steps as a text that `steps_of` reads back.

        >>> Steps((20, 100), (0, 35, 120), 40).render()
        '0, from 20 +0.35, from 100 +1.2, missing +0.4'
        """
        lead = "" if self.are_words else "from "
        named = [f"{lead}{json.dumps(place, ensure_ascii=False)}" for place in self.places]
        told = [*zip(named, self.points[1:], strict=True), ("missing", self.missing)]
        first = f"+{_written(self.points[0])}" if self.points[0] else "0"
        shown = (f"{name} +{_written(n)}" for name, n in told if n or name != "missing")
        return ", ".join([first, *shown])

    def slope(self) -> str:
        """The same as an even slope, if it is one; else empty.

        >>> Steps.even(3000, 12000, 310).slope()
        'from 3000 to 12000: up to +3.1'
        """
        if self.are_words or len(self.places) != MAX_STEPS:
            return ""
        low, high = float(self.places[0] or 0), float(self.places[-1] or 0)
        ends = [_short(low - (high - low) / (MAX_STEPS - 1)), _short(high)]
        for start, end in (ends, ends[::-1]):
            if self == Steps.even(start, end, self.most):
                return f"from {start} to {end}: up to +{_written(self.most)}"
        return ""

    @classmethod
    def even(cls, start: float, end: float, most: int) -> "Steps":
        """Points that grow evenly where a value goes from the start to the end."""
        low, high = min(start, end), max(start, end)
        cuts = tuple(_short(low + (high - low) * i / MAX_STEPS) for i in range(1, MAX_STEPS + 1))
        points = tuple(round(most * i / MAX_STEPS) for i in range(MAX_STEPS + 1))
        return cls(cuts, points if start < end else points[::-1])


@lru_cache(maxsize=4096)
def steps_of(text: str) -> Steps:
    """Read what `render` or `slope` wrote; raises `InvalidCondition`.

    >>> steps_of('0, "NG" +1.5, "US" +0').of("NG")
    150
    """
    if slope := _SLOPE.fullmatch(text.strip()):
        return Steps.even(float(slope[1]), float(slope[2]), _points(slope[3]))
    first = re.match(rf"\s*({_AMOUNT})", text)
    at, missing = first.end() if first else 0, 0
    places, points = list[Scalar](), [_points(first[1])] if first else []
    while first and (step := _STEP.match(text, at)):
        at = step.end()
        if step["cut"] or step["word"]:
            places.append(_place(step["cut"] or step["word"]))
            points.append(_points(step["points"]))
        elif missing:
            break
        else:
            missing = _points(step["points"])
    if not first or text[at:].strip(" ."):
        raise InvalidCondition(
            "points of risk by a field wanted, as '0, from 100 +0.5, from 900 +1.2, missing +0.3' "
            f"or 'from 100 to 900: up to +1.2', at {text[at : at + 40]!r}"
        )
    return Steps(tuple(places), tuple(points), missing)


def _place(text: str) -> Scalar:
    try:
        value: Scalar = json.loads(text if text.startswith('"') else text.lower())
    except ValueError as error:
        raise InvalidCondition(f"not a condition: {error}") from None
    return float(text) if is_number(value) and abs(value) > MAX_EXACT else value


def _points(text: str) -> int:
    return round(float(text) * POINTS)


def _written(points: int) -> str:
    return f"{points / POINTS:g}"


def _short(number: float) -> float | int:
    short = float(f"{number:.{_DIGITS}g}")
    return int(short) if short.is_integer() else short
