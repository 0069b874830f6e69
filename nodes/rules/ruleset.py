"""A ruleset: prior, rules and scale of risk decide on fields, and on what is in doubt of them.

It adds whole points. It knows nothing of databases, of graphs, or of how a transaction is read:
it takes fields, and the names of those that were not understood with the reasons. The same rules
over columns are in columns.py, and as a query in sql.py.

A doubt counts only where it matters: a payment is decided if it is decided alike whatever the
fields in doubt may be. `least` and `most` points are those that they may give.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import filterfalse
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Literal, cast

import numpy as np

from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL, UNIT, bullet_reason, points_of, weight_of
from acegraph.nodes.rules.scale import RiskScale, scale_for
from acegraph.nodes.rules.undecided import could_not_be_tested, not_understood
from acegraph.nodes.rules.ways import ways_of
from acegraph.state.playbook.rule_table import Conjunctions
from acegraph.state.run.context import settle
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.task import Task
from acegraph.state.values import (
    APPROVE,
    DECLINE,
    POINTS,
    SENTENCE,
    UNDECIDED,
    Bullet,
    CaseTable,
    Comparison,
    Scalar,
    Verdict,
    of_source,
    sign_of,
)

if TYPE_CHECKING:
    from acegraph.state.playbook.playbook import BulletPlaybook
    from acegraph.state.run.schema import RunSettings

Doubts = Mapping[str, str]
"""Why fields are in doubt, by their names."""
Undecided = Literal["hold", "expect"]
"""What becomes of a payment on which a doubt matters: it is held, or what is expected decides."""
TestKey = tuple[tuple[str, str, bool, Scalar], ...]
WHOLE: Final = "case"
"""The name under which a transaction is in doubt as a whole."""
NOTHING_READ: Final = "nothing could be read from this sentence: the score is that of any case"
PROSE_UNREAD: Final = "{} bullet(s) in prose not used: only a language model can read them"
NOTHING_KNOWN: Final = "has no field that a rule asks for"
_NO_DOUBTS: Final[Doubts] = {}
_KEPT: Final = "ruleset"
_SETTINGS: Final = ("costs", "base_rate", "limit", "undecided", "n_bullets")
_TESTS: Final = attrgetter("condition")
_OF_TESTS: Final = frozenset(("start", "prior_scored", "prior_words", "asked", "tested", "ways"))
"""What follows from prior and conditions alone, whatever the rules weigh."""


@dataclass(frozen=True)
class Scored:
    """One rule as it is added up: its tests, all of which must hold, and its points."""

    points: int
    tests: tuple[Comparison, ...]
    bullet: Bullet | None = None
    """None for a rule of the prior."""
    part_of: int | None = None
    """The place of the graded rule of which it is a part: at most one of its parts holds."""

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields that it tests."""
        return frozenset(map(attrgetter("field"), self.tests))

    @cached_property
    def by_field(self) -> Mapping[TestKey, tuple[Comparison, ...]]:
        """The tests of each field together."""
        named = (tuple(t for t in self.tests if t.field == name) for name in sorted(self.fields))
        return {tuple(test.key for test in tests): tests for tests in named}

    def holds(self, fields: Mapping[str, Scalar], doubted: Container[str] = ()) -> bool:
        """Whether all tests hold, apart from those of fields in doubt."""
        for test in self.tests:  # it is asked for every rule of every decision
            if test.field not in doubted and test.holds(fields) is not True:
                return False
        return True


@dataclass(frozen=True)
class Ruling:
    """What a ruleset decides on one transaction."""

    decision: str
    """APPROVE, DECLINE or UNDECIDED."""
    points: int
    """What was added up."""
    risk: float | None
    """None where undecided."""
    fired: tuple[Bullet, ...] = ()
    """The rules that hold."""
    graded: tuple[Bullet, ...] = ()
    """The graded rules that give points, whether they hold or not."""
    prior: tuple[int, ...] = ()
    """The rules of the prior that hold, by their places among those with a test."""
    undecided: str = ""
    """Why there is no decision."""


@dataclass(frozen=True)
class Ruleset:
    """What decides."""

    rules: tuple[Bullet, ...] = ()
    """The rules that act; those without a condition are left to readers."""
    task: Task = CARD_PAYMENTS
    """What the cases are, with the prior."""
    scale: RiskScale = field(default_factory=RiskScale)
    version: int = 0
    """The version of the playbook."""
    undecided: Undecided = "hold"
    shares: Mapping[TestKey, float] = field(default_factory=dict)
    """Of the labelled cases that have a field, the share on which some tests of it hold."""

    @classmethod
    def of(
        cls,
        playbook: BulletPlaybook,
        settings: RunSettings | None = None,
        active: Iterable[Bullet] | None = None,
    ) -> Ruleset:
        """The active rules of a playbook that act in a run, on the scale of its labelled cases;
        `active` are those of another version.

        >>> from acegraph.state import BulletPlaybook
        >>> Ruleset.of(BulletPlaybook()).rules
        ()
        """
        settings = settings or settle(playbook)
        node, source = settings["node"], settings["source"]
        cases = playbook.cases(node)
        task = cases.task or CARD_PAYMENTS
        if not settings["selects"]:  # it knows nothing of the labelled cases either
            return cls(task=task, scale=scale_for((), cases.first(0), settings))
        if active is None:
            active = playbook.get_bullets_for_node(node)
        bullets = of_source(active, source)
        version, made = playbook.clock.version, [settings.get(name) for name in _SETTINGS]
        key = (bullets, len(cases), version, made)
        known, kept = cast("tuple[object, Ruleset]", cases.shared.get(_KEPT, (None, None)))
        if known == key and kept.task is task:
            return kept
        rules = tuple(filter(_TESTS, bullets)) if settings["n_bullets"] else ()
        ruleset = cls(rules, task, scale_for(bullets, cases, settings), version)
        if known and kept.task is task and [*map(_TESTS, kept.rules)] == [*map(_TESTS, rules)]:
            vars(ruleset).update({name: vars(kept)[name] for name in _OF_TESTS & vars(kept).keys()})
        if settings.get("undecided") == "expect":
            ruleset = ruleset.expecting(cases)
        cases.shared[_KEPT] = (key, ruleset)
        return ruleset

    def expecting(self, cases: CaseTable) -> Ruleset:
        """The same, which decides by what labelled cases let expect where a doubt matters."""
        shares: dict[TestKey, float] = {}
        for key, tests in {k: t for one in self.scored for k, t in one.by_field.items()}.items():
            column = cases.column(tests[0].field)
            is_of_all = column is None or any(test.is_of_presence for test in tests)
            having = len(cases) if is_of_all or column is None else int(column.known().sum())
            held = np.logical_and.reduce([test.holds_over(cases) for test in tests])
            shares[key] = float(held.sum() / max(having, 1))
        return replace(self, undecided="expect", shares=shares)

    @cached_property
    def start(self) -> int:
        """The points of every case."""
        return sum(map(attrgetter("points"), filterfalse(attrgetter("test"), self.task.prior)))

    @cached_property
    def prior_scored(self) -> tuple[Scored, ...]:
        """The rules of the prior that test something."""
        return tuple(Scored(rule.points, (rule.test,)) for rule in self.task.prior if rule.test)

    @cached_property
    def rules_scored(self) -> tuple[Scored, ...]:
        """The rules that can be tested, then the steps of the graded ones with their points."""
        rules, steps = list[Scored](), list[Scored]()
        for place, bullet in enumerate(self.rules):
            if condition := bullet.condition:
                graded, unit = condition.graded, int(sign_of(bullet.verdict)) * (UNIT // POINTS)
                worth = 0 if graded else points_of(bullet)
                rules.append(Scored(worth, condition.comparisons, bullet))
                for points, tests in graded.parts if graded else ():
                    steps.append(Scored(points * unit, tests, part_of=place))
        return (*rules, *steps)

    @cached_property
    def prior_words(self) -> list[str]:
        """The tests of the prior as they are told."""
        return [one.tests[0].render() for one in self.prior_scored]

    @property
    def points_by_bullet(self) -> list[tuple[Bullet, int]]:
        """The bullets that can be tested, with their points; of graded ones the most."""
        return [(one.bullet, points_of(one.bullet)) for one in self.rules_scored if one.bullet]

    @cached_property
    def scored(self) -> tuple[Scored, ...]:
        """All that is added up."""
        return (*self.prior_scored, *self.rules_scored)

    @cached_property
    def asked(self) -> Conjunctions:
        """What is asked to know which of `scored` hold."""
        return Conjunctions([one.tests for one in self.scored])

    @cached_property
    def tested(self) -> frozenset[str]:
        """The fields by which something is known of a payment."""
        return frozenset[str]().union(*map(attrgetter("fields"), self.scored))

    @cached_property
    def that_matter(self) -> frozenset[str]:
        """The fields of which a doubt could change a decision."""
        amount = self.scale.amount_name if self.scale.costs else None
        return self.tested | {amount or WHOLE, WHOLE}

    def weigh(self, fields: Mapping[str, Scalar]) -> Ruling:
        """The decision on fields as they stand, whatever is in doubt of them or is not known.

        >>> Ruleset().weigh({"amount": 20.0, "hour": 14}).decision
        'APPROVE'
        """
        points, prior, fired, graded = self.start, list[int](), list[Bullet](), list[Bullet]()
        for place in self.asked.that_hold(fields):
            one = self.scored[place]
            points += one.points
            if one.bullet:
                fired.append(one.bullet)
            elif one.part_of is None:
                prior.append(place)
            else:
                graded.append(self.rules[one.part_of])
        decision: Verdict = DECLINE if points > self.scale.limit(fields) else APPROVE
        which = (tuple(fired), tuple(graded), tuple(prior))
        return Ruling(decision, points, self.scale.risk(points), *which)

    def decide(self, fields: Mapping[str, Scalar], doubts: Doubts = _NO_DOUBTS) -> Ruling:
        """The decision on the fields of a transaction, some of which may be in doubt.

        >>> Ruleset().decide({"hour": 3, "amount": 900}, {"hour": "is no hour"}).undecided
        'not understood: hour is no hour'
        """
        ruling = self.weigh(fields)
        if doubts:
            doubts = {name: why for name, why in doubts.items() if name in self.that_matter}
        if why := self.why_unknown(fields, doubts):
            return Ruling(UNDECIDED, ruling.points, None, undecided=why)
        if not doubts:
            return ruling
        least, most = self.bounds(fields, doubts)
        low, high = self.scale.limits_in_doubt(fields, doubts)
        if least > high or most <= low:
            return replace(ruling, decision=DECLINE if least > high else APPROVE)
        if self.undecided == "expect":
            points = self.expected(fields, doubts)
            decision = DECLINE if points > self.scale.limit(fields) else APPROVE
            return replace(ruling, decision=decision, points=points, risk=self.scale.risk(points))
        why = not_understood(doubts) + could_not_be_tested(self.open_rules(fields, doubts))
        return Ruling(UNDECIDED, ruling.points, None, undecided=why)

    def why_unknown(self, fields: Mapping[str, Scalar], doubts: Doubts = _NO_DOUBTS) -> str:
        """Why nothing is known for certain of a payment; empty if something is."""
        if WHOLE in doubts:
            return not_understood(doubts)
        for name in fields.keys() & self.tested:
            if fields[name] is not None and name not in doubts:
                return ""
        certain = {name: value for name, value in fields.items() if name not in doubts}
        if self.scale.amount(certain) is not None:
            return ""
        return not_understood({**doubts, WHOLE: NOTHING_KNOWN})

    def bounds(self, fields: Mapping[str, Scalar], doubts: Doubts) -> tuple[int, int]:
        """The least and the most points that values for the fields in doubt could give.

        Of one field all values are asked; of several, each rule is taken by itself.

        >>> Ruleset().bounds({"amount": 2500, "vpn": True}, {"amount": "", "verified": ""})
        (-7000, 7000)
        """
        found = self._that_may_hold(fields, doubts.keys())
        sure = self.start + sum([one.points for _, one, is_open in found if not is_open])
        opened = {place: one.points for place, one, is_open in found if is_open}
        ways = self.ways.get(next(iter(doubts)), ()) if len(doubts) == 1 else ()
        sums = [sum([opened[place] for place in way & opened.keys()]) for way in ways] or [
            sum([bound(0, *(opened[i] for i in some)) for some in self._together(opened)])
            for bound in (min, max)
        ]
        return sure + min(sums), sure + max(sums)

    def _together(self, places: Iterable[int]) -> Collection[list[int]]:
        """Places in `scored`; those of the steps of one rule, of which one holds, together."""
        found: dict[tuple[int | None, int], list[int]] = {}
        for place in places:
            part_of = self.scored[place].part_of
            found.setdefault((part_of, place if part_of is None else -1), []).append(place)
        return found.values()

    @cached_property
    def exclusive(self) -> list[list[int]]:
        """All places in `scored`, those of which only one holds together."""
        return [*self._together(range(len(self.scored)))]

    @cached_property
    def ways(self) -> Mapping[str, Sequence[frozenset[int]]]:
        """By field, the ways in which its tests come out together, as places in `scored`."""
        return {
            name: ways_of(name, [one.tests for one in self.scored], self.task.by_name.get(name))
            for name in self.tested
        }

    def expected(self, fields: Mapping[str, Scalar], doubts: Doubts) -> int:
        """The points that the labelled cases which have the fields in doubt let expect."""
        points = float(self.start)
        for _, one, _ in self._that_may_hold(fields, doubts.keys()):
            in_doubt = (key for key, tests in one.by_field.items() if tests[0].field in doubts)
            points += one.points * math.prod(self.shares.get(key, 0.0) for key in in_doubt)
        return math.floor(points + 0.5)

    def open_rules(self, fields: Mapping[str, Scalar], doubts: Doubts) -> list[Bullet]:
        """The rules that a field in doubt keeps from being tested, and that may hold."""
        found = self._that_may_hold(fields, doubts.keys())
        return [one.bullet for _, one, is_open in found if is_open and one.bullet]

    def _that_may_hold(
        self, fields: Mapping[str, Scalar], doubted: Set[str]
    ) -> list[tuple[int, Scored, bool]]:
        """What holds if fields in doubt have some value, and whether it depends on them."""
        return [
            (place, one, not doubted.isdisjoint(one.fields))
            for place, one in enumerate(self.scored)
            if one.holds(fields, doubted)
        ]

    def to_json(self) -> dict[str, object]:
        """What is added up, as plain data: a row is declined above `limit` points.

        With costs the limit depends on the amount, and `limit` is that of a row without one.
        """
        return {
            "version": self.version,
            "points_per_log_odds": UNIT,
            "start": self.start,
            "limit": self.scale.limit({}),
            "shift": self.scale.shift,
            "highest_risk": self.scale.highest,
            "scorecard": [
                {"test": one.tests[0].render(), "points": one.points} for one in self.prior_scored
            ],
            "rules": [
                {"id": b.id, "condition": b.condition.to_json()}
                | ({} if b.condition.graded else {"points": points})
                for b, points in self.points_by_bullet
                if b.condition
            ],
        }

    def explain(self, fields: Mapping[str, Scalar], ruling: Ruling, prose: int = 0) -> list[str]:
        """Why it was decided so: the rules that hold, the prior, and the limit.

        `prose` is the number of bullets that were shown and that only a reader could use.
        """
        fired = [b for b in ruling.fired if not b.condition or not b.condition.graded]
        fired = sorted([*fired, *ruling.graded], key=weight_of, reverse=ruling.decision == DECLINE)
        reasons, tests, points = list[str](), list[str](), self.start
        for bullet in fired:
            reasons.append(bullet_reason(bullet, fields))
        for place in ruling.prior:
            tests.append(self.prior_words[place])
            points += self.prior_scored[place].points
        words = ", ".join(tests) or "no risk signal"
        if self.task.prior:
            reasons.append(f"scorecard {points / UNIT:+.1f}: {words}")
        if self.task.reader and not fields.keys() - {SENTENCE}:
            reasons.append(NOTHING_READ)
        if prose:
            reasons.append(PROSE_UNREAD.format(prose))
        if self.scale != RiskScale():
            reasons.append(self.scale.in_words(fields))
        if self.task.answers != CARD_PAYMENTS.answers:
            reasons = [self.task.shown(one) for one in reasons]
        return [*reasons, NO_LANGUAGE_MODEL]
