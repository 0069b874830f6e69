"""What runs cost: calls and tokens by node and model, summed over decisions, and in money."""

from collections.abc import Mapping
from typing import Any

from acegraph.nodes.usage import Meter, Prices, Usage


class Spending:
    """A sum over decisions; each brings the `usage` of its state."""

    def __init__(self) -> None:
        self.by_node: dict[str, Meter] = {}

    def add(self, usage: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
        """Add what one decision cost."""
        for node, by_model in usage.items():
            meter = self.by_node.setdefault(node, Meter())
            for model, used in by_model.items():
                meter.add(model, Usage(**used))

    @property
    def by_model(self) -> dict[str, Usage]:
        """Over all nodes."""
        whole = Meter()
        for meter in self.by_node.values():
            whole.absorb(meter)
        return whole.by_model

    @property
    def total(self) -> Usage:
        """Over all nodes and models."""
        return sum(self.by_model.values(), Usage())

    def cost(self, prices: Prices) -> float | None:
        """In the currency of the prices; None where a model that was used has none."""
        return prices.cost(self.by_model)

    def to_json(self) -> dict[str, Any]:
        """By node, then model."""
        return {node: meter.to_json() for node, meter in self.by_node.items()}


def in_words(by_model: Mapping[str, Usage], prices: Prices) -> list[str]:
    """A line per model, and one for the cost, for people."""
    lines = [
        f"{model}: {u.calls:,} call(s), {u.input_tokens:,} tokens sent, "
        f"{u.output_tokens:,} received"
        for model, u in by_model.items()
    ]
    if not lines:
        return []
    cost = prices.cost(by_model)
    return [
        *lines,
        "cost: unknown (ACE_PRICES has no price for it)" if cost is None else f"cost: {cost:.4f}",
    ]
