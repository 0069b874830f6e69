"""A policy: what is wanted of a node's decisions. It changes often, and no evidence with it.

Whatever lowers the risk that is accepted of one payment waits for a second person; what raises it
acts at once (graph/operations/policies.py).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import ClassVar, Final, Literal

from acegraph.state.errors import InvalidSettings
from acegraph.state.task.reading import as_json, read_as
from acegraph.state.values import CostMatrix, Data, DataView

MOST_COSTS: Final = 1e9
_MOST_DAYS: Final = 36_500
_SHARES: Final = ("review_from", "review_to", "explore", "judge_bar")
_SETTINGS: Final = (*_SHARES, "base_rate", "limit", "mature_days", "undecided")
"""What a run has among its settings as the policy has it."""

HEEDED: Final = ("costs", *_SETTINGS, "shadow")
"""What runs take from a policy."""


@dataclass(frozen=True)
class Policy:
    """What mistakes cost, who is asked, and what is tried."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    costs: dict[str, float] | None = None
    """What mistakes cost, by the names of `CostMatrix`; they decide from which risk on a case is
    declined. Without them the labelled cases decide."""
    base_rate: float | None = None
    """The share of fraud among the cases to decide, if the labelled ones have another."""
    limit: float | None = None
    """A fixed risk from which on a case is declined, instead of costs."""
    review_from: float = 0.4
    review_to: float = 0.6
    """With review, a person is asked between these risks, and where undecided."""
    explore: float = 0.0
    """The share of would-be declines that is let through, so that they get a label."""
    mature_days: dict[str, float] = field(default_factory=dict)
    """By source of labels, the age in days from which on a case that it calls honest is so."""
    undecided: Literal["hold", "expect"] = "hold"
    """Where a field in doubt could change the decision: hold the case, or expect the mean."""
    shadow: int | None = None
    """A version of the playbook that decides in shadow; it counts nothing."""
    judge_bar: float = 0.8
    """A judge's opinions teach if it agrees with at least this share of the labels."""
    proof: Literal["standard", "strict", "off"] = "standard"
    """What a new rule must show before it acts."""
    version: int = 0
    """That of the playbook which it was read from; 0 if from none."""

    def __post_init__(self) -> None:
        for fault in self._faults():
            raise InvalidSettings(f"policy: {fault}")

    def _faults(self) -> Iterator[str]:
        """What cannot be meant, in words."""
        for name in _SHARES:
            if not 0 <= getattr(self, name) <= 1:
                yield f"{name} is a share from 0 to 1, not {getattr(self, name):g}"
        if self.review_from > self.review_to:
            yield f"review_from {self.review_from:g} is above review_to {self.review_to:g}"
        for name, share in (("base_rate", self.base_rate), ("limit", self.limit)):
            if share is not None and not 0 < share < 1:
                yield f"{name} lies between 0 and 1, not at {share:g}"
        if self.limit is not None and self.costs:
            yield "either costs or a limit decides from which risk on a case is declined"
        if self.costs is not None:
            yield from _cost_faults(self.costs)
        for source, days in self.mature_days.items():
            if not 0 <= days <= _MOST_DAYS:
                yield f"mature_days of {source!r} is a number of days from 0 to {_MOST_DAYS:,}"

    def settings(self) -> Data:
        """The policy as a run has it among its settings, under the names that ledgers keep."""
        costs = self.costs and ",".join(f"{name}={cost!r}" for name, cost in self.costs.items())
        named = dict(zip(_SETTINGS, attrgetter(*_SETTINGS)(self), strict=True))
        return named | {"costs": costs, "challenger": self.shadow}

    def but(self, changes: DataView | None) -> "Policy":
        """The policy with some changes; of costs and a fixed limit the later one counts."""
        if not changes:
            return self
        if not all(changes.get(name) is None for name in ("costs", "limit")):
            changes = {"costs": None, "limit": None, **changes}
        return replace(self, **changes)

    def to_json(self) -> Data:
        """What is not as usual."""
        return as_json(self)

    @classmethod
    def from_json(cls, content: Mapping[str, object] | None, where: str = "policy") -> "Policy":
        """The policy that plain data says, or one line about its first fault."""
        return read_as(cls, content or {}, where)


USUAL: Final = Policy()


def _cost_faults(costs: Mapping[str, float]) -> Iterator[str]:
    whole, names = CostMatrix(), CostMatrix.__dataclass_fields__
    for name, cost in costs.items():
        if name not in names:
            yield f"no cost {name!r}; there are {', '.join(names)}"
        elif not 0 <= cost <= MOST_COSTS:
            yield f"cost {name} is a number from 0 to {MOST_COSTS:,.0f}"
        else:
            whole = replace(whole, **{name: cost})
    if (
        whole.missed_fraud < whole.caught_fraud
        or whole.missed_fraud + whole.missed_fee <= whole.caught_fraud
    ):
        yield "a missed fraud costs something, and more than one that is caught"
