"""A decision, its label and the counters that they change. The ledger stores them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from acegraph.state.values.plain import Fields, Scalar
from acegraph.state.values.transaction import DataView
from acegraph.state.values.verdict import DECLINE, GIVEN_LABEL, JUDGE, Verdict

LET_THROUGH: Final = '"let_through":true'
"""Stored settings hold this text if a decline was let through for review."""
DEPARTURE: Final = '"departure":'
"""Stored settings hold this text if a language model departed from the playbook."""
CounterDeltas = Mapping[int, tuple[int, int, int]]
"""By bullet number, what is added to the counters: helpful, harmful, selected."""
PURGED: Final = "purged: "
"""The reason of a change begins with this if a purge made the change."""

PAYERS: Final = ("customer", "card", "device")
"""The kinds of entities that pay: more is derived from what they did before."""
KINDS: Final = (*PAYERS, "merchant")
"""The kinds of entities that have words of their own; a task may name others."""
SIGHTED: Final = ("time", "amount", "latitude", "longitude")
"""What a sighting holds of a payment besides whom it names."""
HOUR: Final = 3_600_000_000
"""In microseconds."""
DAY: Final = 24 * HOUR
WINDOWS: Final = {"hour": HOUR, "day": DAY, "week": 7 * DAY}
"""How far back earlier payments are counted."""


def voice_of(kind: str, who: Mapping[str, str]) -> str:
    """Who speaks where a payment is called fraud: of a shop or a device the customer, who has one
    voice there; empty where each payment counts.

    >>> voice_of("terminal", {"card": "c1", "terminal": "t9"}), voice_of("card", {"card": "c1"})
    ('c1', '')
    """
    speakers = ("customer", "card")
    return next((who[one] for one in speakers if one in who and kind not in speakers), "")


class Clock(NamedTuple):
    """How far the ledger has come: its newest row, and the playbook's version."""

    position: int
    version: int


HELD_BACK: Final = 0
SHOWN: Final = 1
ACTED: Final = 2
"""How the ledger keeps the part that a bullet had: shown or not, and if not, whether it counted."""


@dataclass(frozen=True)
class Shown:
    """One bullet that was shown to the agent for a decision, or held back."""

    bullet_number: int
    credited: bool
    """Whether the outcome counts for the bullet; the setting `credit` decides which ones."""
    verdict: Verdict | None
    """The answer it argued for; None credits it with the outcome of the decision."""
    selected: bool = True
    """False for a rule that was not shown."""
    acted: bool = False
    """Whether a rule that was not shown counted all the same; else it was held back, and only the
    outcome tests it."""


@dataclass(frozen=True)
class Sighting:
    """A payment as later payments see it: who, when, how much and where."""

    at: int
    """Microseconds since 1970."""
    who: Mapping[str, str]
    """The folded ids by kind of entity."""
    amount: int | None
    """In ten-thousandths: whole numbers have the same sum in any order."""
    place: tuple[float, float] | None
    """Latitude and longitude."""
    columns: Mapping[str, str]
    """The names of the fields that it was read from, by what they hold."""


@dataclass(frozen=True)
class Evidence:
    """How what labels said of an entity becomes a number: in times the usual share of fraud."""

    usual: float
    """The share of fraud among all payments."""
    days: int = 30
    """The days of payments that count, up to the delay of labels."""
    delay: float = 0.0
    """The days after which a payment that nobody called fraud is taken to be honest."""
    weight: float = 3.0
    """So many payments as usual are added to those of the entity."""

    @property
    def window(self) -> tuple[int, int]:
        """How long ago the first and the last payment were that count as settled."""
        return round((self.delay + self.days) * DAY), round(self.delay * DAY)

    def of(self, settled: int, frauds: int) -> float:
        """The share of fraud of an entity, in times the usual one.

        >>> Evidence(usual=0.01, weight=3).of(0, 0), Evidence(usual=0.01, weight=3).of(5, 3)
        (1.0, 37.88)
        """
        share = (frauds + self.weight * self.usual) / (max(settled, frauds) + self.weight)
        return round(share / self.usual, 2)


@dataclass(frozen=True)
class Past:
    """What is known of the earlier payments of one entity."""

    payments: tuple[int, ...] = (0, 0, 0)
    """How many there were in the last hour, day and week."""
    amounts: tuple[int, ...] = (0, 0, 0)
    """The sums of their amounts."""
    all_amounts: int = 0
    """The sum of all amounts, also of older payments."""
    known_amounts: int = 0
    """How many payments have an amount."""
    last_at: int | None = None
    last_place: tuple[float, float] | None = None
    knows_merchant: bool = False
    """Whether there was a payment at the same merchant."""
    settled: int = 0
    """How many payments in the window of the evidence are old enough to be taken for honest."""
    frauds: int = 0
    """How many there were called fraud; of a merchant, one for each payer."""


@dataclass(frozen=True)
class DecisionRecord:
    """One decision with everything that is needed to judge and replay it."""

    id: str
    node: str
    text: str
    fields: Fields
    digest: str
    decision: Verdict
    risk_score: float | None = None
    reasons: tuple[str, ...] = ()
    settings: DataView = field(default_factory=dict)
    playbook_version: int = 0
    seen: int = 0
    """The ledger's position when the bullets were selected."""
    shown: tuple[Shown, ...] = ()
    counted: bool = True
    """False for a frozen or vanilla run: the decision is stored, but changes no counter and is no
    evidence."""
    task_version: int | None = None
    policy_version: int | None = None
    sighting: Sighting | None = None
    """What later payments see of it, where fields are derived from earlier payments."""
    came: str | Mapping[str, Scalar] = ""
    """The transaction as it came, where it is written anew: redaction makes the digest of it."""
    whole: "DecisionRecord | None" = None
    """The decision before anything of it was hidden."""


@dataclass(frozen=True)
class Label:
    """The right answer to a case, its source (verdict.py), and when it became known."""

    value: Verdict
    source: str = GIVEN_LABEL
    known_at: str = ""


def calls_fraud(label: Label | None) -> bool:
    """Whether a label tells of fraud; the opinion of a judge does not."""
    return label is not None and label.value == DECLINE and label.source != JUDGE


def marks_of(seen: Iterable[Any], steps: Mapping[str, tuple[int, int]]) -> list[dict[str, object]]:
    """What labels leave with those whom payments name: by case the step, 1 or -1, and the revision
    that made it; `seen` are the stored sightings of these cases.
    """
    rows, who = list(seen), dict[str, dict[str, str]]()
    for row in rows:
        who.setdefault(row.case, {})[row.kind] = row.entity
    return [
        {
            **{name: getattr(row, name) for name in ("node", "kind", "entity", "at", "case")},
            "voice": voice_of(row.kind, who[row.case]) or row.case,
            "frauds": step,
            "revision": revision,
        }
        for row in rows
        for step, revision in [steps[row.case]]
    ]


@dataclass(frozen=True)
class Recorded:
    """What the ledger did with a decision or a label."""

    decision: Verdict | None
    """The decision that is valid: the first one given under this id."""
    node: str
    is_new_decision: bool
    """False for a decision that was delivered again."""
    counted: bool = False
    new_case: bool = False
    """Whether the ledger did not know the transaction before."""
    label: Label | None = None
    """The label that is valid now, if there is one."""
    label_changed: bool = False
    lesson: DataView | None = None
    """What the curator did with the decision, if the run has learned from it already."""
    deltas: CounterDeltas = field(default_factory=dict)
    """The counter changes that the caller still has to apply."""
    missing: bool = False
    """Whether the label was ignored: no chargeback came, but the payment was never approved."""
    too_young: bool = False
    """Whether the label was ignored: its source calls so young a payment honest too early."""
    was_open: bool = False
    """Whether this is the first label of a case of evidence that nobody had decided."""

    @property
    def is_correct(self) -> bool | None:
        """Whether the decision agrees with its label; None while one of them is missing."""
        if self.decision is None or self.label is None:
            return None
        return self.decision == self.label.value

    @property
    def is_lesson(self) -> bool:
        """Whether it counts, was not learned from yet, and was a mistake or left open."""
        is_mistake = self.is_correct is False and self.counted
        return (is_mistake or self.was_open) and self.lesson is None


def add_deltas(left: CounterDeltas, right: CounterDeltas) -> dict[int, tuple[int, int, int]]:
    """The sums of two sets of counter changes, without those that cancel out."""
    total = dict(left)
    for number, (helpful, harmful, selected) in right.items():
        before = total.get(number, (0, 0, 0))
        total[number] = (before[0] + helpful, before[1] + harmful, before[2] + selected)
        if not any(total[number]):
            del total[number]
    return total


def credit(argued_for: Mapping[int, str], label: Label | None, sign: int = 1) -> CounterDeltas:
    """Helpful for a bullet that argued for the label, harmful for one that did not."""
    deltas: dict[int, tuple[int, int, int]] = {}
    for bullet, verdict in argued_for.items() if label else ():
        deltas[bullet] = (sign, 0, 0) if label and verdict == label.value else (0, sign, 0)
    return deltas
