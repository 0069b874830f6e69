"""Decides by rules that were exported as Python, with the standard library alone.

The exported module carries this file and state/values/plain.py, each from its marked line on. The
rules are above it: a function that tells which of them hold. It decides as `Ruleset.decide` does,
which says more of how.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from acegraph.state.errors import InvalidTransaction
from acegraph.state.values.plain import (
    Fields,
    Misfit,
    Scalar,
    Why,
    ascii_lower,
    collected,
    fit_case,
    fold,
    mentions,
)

# ---- how it is decided
Doubts = Mapping[str, str]
Data = dict[str, Any]
NONE: Final[Doubts] = {}
APPROVE: Final = "APPROVE"
DECLINE: Final = "DECLINE"
UNDECIDED: Final = "UNDECIDED"


class _Open:
    """Stands for a field in doubt: whatever is asked of it may hold."""

    __hash__ = None  # type: ignore[assignment]

    def _may(self, _: object) -> bool:
        return True

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _may


OPEN: Final = _Open()


def says(text: object, phrase: str) -> bool:
    """Whether a text has the words of a phrase."""
    return text is OPEN or (isinstance(text, str) and mentions(text, phrase))


class Field:
    """One field, as `fit_case` asks for it; FIELDS says what is not as usual."""

    kind, role, zone, epoch, wanted = "number", "", "UTC", "", "a value"
    words: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    usual = closed = False

    def __init__(self, name: str, said: Data) -> None:
        self.name = name
        vars(self).update(said)
        self.spellings = {ascii_lower(word): word for word in self.words}
        self.part_names = tuple(f"{name}.{part}" for part in self.parts)

    def misfit(self, why: Why) -> Misfit:
        """A value that does not fit."""
        return Misfit(self.name, why, self.wanted)


class Alone:
    """Decides rows by what a module says: FIELDS, RULES, WAYS, SCALE, and what of them holds."""

    differences: Sequence[Any] = ()

    def __init__(self, module: Data) -> None:
        self.holding: Callable[[Mapping[str, Any]], list[int]] = module["holding"]
        self.rules: Sequence[tuple[int, tuple[str, ...], str, str]] = module["RULES"]
        self.worth = [points for points, *_ in self.rules]
        self.ways: dict[str, list[list[int]]] = module["WAYS"]
        self.scale: Data = module["SCALE"]
        self.start: int = self.scale["start"]
        self.fields = [Field(name, said) for name, said in module["FIELDS"].items()]
        self.by_name = {one.name: one for one in self.fields}
        self.by_folded_name = {fold(one.name): one for one in self.fields}
        self.parts = {fold(part) for one in self.fields for part in one.part_names}
        self.tested = {name for _, names, *_ in self.rules for name in names}

    def field_of(self, name: str) -> Field | None:
        """The field that a name means."""
        return self.by_name.get(name) or self.by_folded_name.get(fold(name))

    def of_role(self, role: str) -> Field | None:
        """The field of a role that at most one field has."""
        return next((one for one in self.fields if one.role == role), None)

    def fit(self, row: Mapping[str, object]) -> tuple[Fields, Doubts]:
        """The fields of a row as rules test them, and why which of them are in doubt."""
        given = collected(row)
        if self.parts:
            given = {n: v for n, v in given.items() if fold(n) not in self.parts}
        fields, misfits, unknown = fit_case(self, given)  # type: ignore[arg-type]
        if unknown and self.scale["refuses"]:
            raise InvalidTransaction("no field of the task: " + ", ".join(sorted(unknown)))
        return fields, {misfit.field: misfit.doubt for misfit in misfits}

    def decide(self, row: Mapping[str, object]) -> Data:
        """The decision on a row."""
        try:
            fields, doubts = self.fit(row)
        except InvalidTransaction as error:
            return self.ruling({}, {"case": f"refused: {error}"})
        return self.ruling(fields, doubts)

    def ruling(self, fields: Mapping[str, Scalar], doubts: Doubts = NONE) -> Data:
        """The decision on fitted fields."""
        held = self.holding(fields)
        points = self.start + sum([self.worth[place] for place in held])
        limit = self.limit(fields)
        why, decision = "", DECLINE if points > limit else APPROVE
        if doubts:
            doubts = {name: why for name, why in doubts.items() if name in self.scale["matter"]}
        if self._is_unknown(fields, doubts):
            why = "; ".join(["nothing is known", *map(" ".join, doubts.items())])
        elif doubts:
            least, most = self.bounds(fields, doubts)
            low, high = self.scale["limits"] if self.scale["amount"] in doubts else (limit, limit)
            if least > high or most <= low:
                decision = DECLINE if least > high else APPROVE
            elif self.scale["shares"]:
                points = self.expected(fields, doubts)
                decision = DECLINE if points > limit else APPROVE
            else:
                why = "not understood: " + "; ".join(map(" ".join, doubts.items()))
        if why:
            return self._said(UNDECIDED, points, None, (), why)
        return self._said(decision, points, self.risk(points), held, why)

    def _said(
        self, decision: str, points: int, risk: float | None, held: Sequence[int], why: str
    ) -> Data:
        found = [self.rules[place] for place in held]
        return {
            "decision": decision,
            "points": points,
            "risk": risk,
            "rules": [rule for _, _, rule, _ in found if rule],
            "graded": [part_of for _, _, _, part_of in found if part_of],
            "undecided": why,
        }

    def _is_unknown(self, fields: Mapping[str, Scalar], doubts: Doubts) -> bool:
        """Whether nothing is known for certain."""
        if "case" in doubts:
            return True
        for name in self.tested:
            if fields.get(name) is not None and name not in doubts:
                return False
        return fields.get(self.scale["amount"]) is None

    def _open(self, fields: Mapping[str, Scalar], doubts: Doubts) -> tuple[list[int], list[int]]:
        """What holds for certain, and what may hold with other values for the fields in doubt."""
        may = self.holding({**fields, **dict.fromkeys(doubts, OPEN)})
        is_open = {place for place in may if not doubts.keys().isdisjoint(self.rules[place][1])}
        return [place for place in may if place not in is_open], sorted(is_open)

    def bounds(self, fields: Mapping[str, Scalar], doubts: Doubts) -> tuple[int, int]:
        """The least and the most points that values for the fields in doubt could give."""
        sure, opened = self._open(fields, doubts)
        points = self.start + sum(self.worth[place] for place in sure)
        ways = self.ways.get(next(iter(doubts)), []) if len(doubts) == 1 else []
        sums = [sum(self.worth[place] for place in way if place in opened) for way in ways]
        if not sums:  # each rule by itself; of the steps of one rule at most one holds
            together: dict[str | int, list[int]] = {}
            for place in opened:
                together.setdefault(self.rules[place][3] or place, [0]).append(self.worth[place])
            sums = [sum(map(bound, together.values())) for bound in (min, max)]
        return points + min(sums), points + max(sums)

    def expected(self, fields: Mapping[str, Scalar], doubts: Doubts) -> int:
        """The points that labelled cases let expect."""
        sure, opened = self._open(fields, doubts)
        points = float(self.start)
        for place in sorted([*sure, *opened]):
            shares = self.scale["shares"][place]
            points += self.worth[place] * math.prod(shares[n] for n in shares if n in doubts)
        return math.floor(points + 0.5)

    def limit(self, fields: Mapping[str, Scalar]) -> int:
        """The points above which a payment is declined."""
        scale = self.scale
        if not scale["costs"]:
            return int(scale["limits"][0])
        amount = fields.get(scale["amount"])
        stake = abs(float(amount)) if amount else 1.0
        of_fraud, of_honest = (slope * stake + fee for slope, fee in scale["costs"])
        share = 1.0 - 1e-6 if of_fraud <= 0 else 1e-6
        if of_fraud > 0 and of_honest >= 0:
            share = min(max(of_honest / (of_honest + of_fraud), 1e-6), 1 - 1e-6)
        share = min(max(share / scale["highest"], 1e-9), 1 - 1e-9)
        limit: float = (math.log(share / (1 - share)) - scale["shift"] + 1e-6) * scale["unit"]
        return math.floor(limit)

    def risk(self, points: int) -> float:
        """The probability of fraud that belongs to some points, in four digits."""
        log_odds = max(-30.0, min(30.0, points / self.scale["unit"] + self.scale["shift"]))
        return float(f"{self.scale['highest'] / (1 + math.exp(-log_odds)):.4g}")
