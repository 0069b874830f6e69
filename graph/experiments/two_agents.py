"""Two agents on the same cases: a language model and the embedded analyst, and what each costs."""

from dataclasses import dataclass, field

from acegraph.graph.metrics.paired import Difference, paired_difference
from acegraph.graph.metrics.run import Run
from acegraph.nodes.runtime.usage import Meter, Prices


@dataclass
class Effort:
    """What the decisions of an agent took, with all that was learned on the way."""

    decisions: int = 0
    seconds: float = 0.0
    meter: Meter = field(default_factory=Meter)

    def add(self, other: "Effort") -> None:
        """Add what other decisions took."""
        self.decisions += other.decisions
        self.seconds += other.seconds
        self.meter.absorb(other.meter)

    def per_decision(self, prices: Prices) -> dict[str, float | None]:
        """Calls, tokens, cost and seconds of one decision; no cost where a price is missing."""
        number, total, cost = max(self.decisions, 1), self.meter.total, None
        if self.meter.by_model:
            cost = prices.cost(self.meter.by_model)
        return {
            "calls": round(total.calls / number, 3),
            "tokens": round(total.tokens / number, 1),
            "cost": None if cost is None else round(cost / number, 8),
            "seconds": round(self.seconds / number, 4),
        }


@dataclass(frozen=True)
class TwoAgents:
    """A model beside the embedded analyst."""

    model: str
    differences: dict[str, Difference]
    """By mode, the balanced accuracy of the model less that of the analyst, paired by case."""
    per_decision: dict[str, dict[str, float | None]]
    """What a decision took, by agent: `model` and `embedded`."""

    @classmethod
    def of(
        cls,
        model: str,
        runs: tuple[dict[str, list[Run]], dict[str, list[Run]]],
        efforts: tuple[Effort, Effort],
        prices: Prices,
    ) -> "TwoAgents":
        """The comparison of a model's runs and efforts with those of the analyst, in this order."""
        asked, embedded = runs
        return cls(
            model,
            {mode: paired_difference(asked[mode], embedded[mode]) for mode in asked},
            {
                name: effort.per_decision(prices)
                for name, effort in zip(("model", "embedded"), efforts, strict=True)
            },
        )

    def to_json(self) -> dict[str, object]:
        """One object for machines."""
        return {
            "model": self.model,
            "against_embedded": {mode: d.to_json() for mode, d in self.differences.items()},
            "per_decision": self.per_decision,
        }
