"""What many decisions cost: their usage by node, and the prices of tokens.

models/named.py reads the prices from the environment.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from acegraph.nodes.runtime.usage import Meter, Usage
from acegraph.state import InvalidSettings

if TYPE_CHECKING:
    from acegraph.state.run.schema import UsageByNode

_TOKENS_PER_PRICE: Final = 1_000_000
"""Prices are per million tokens, as providers state them."""


class Spending(Meter):
    """The usage of many decisions, also by node."""

    def __init__(self) -> None:
        super().__init__()
        self._by_node: dict[str, Meter] = {}

    def add_decision(self, usage: "UsageByNode") -> None:
        """Add the `usage` of the state of one decision."""
        for node, by_model in usage.items():
            for model, used in by_model.items():
                self.add(model, Usage(**used))
                self._by_node.setdefault(node, Meter()).add(model, Usage(**used))

    def by_node(self) -> "UsageByNode":
        """The usage by node and model."""
        return {node: meter.to_json() for node, meter in self._by_node.items()}


class Prices(NamedTuple):
    """What a million tokens cost, by model: sent, received. No price is built in."""

    by_model: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, prices: "Prices | Mapping[str, Sequence[float]] | str | None") -> "Prices":
        """Read prices from a mapping, from JSON text, or from the JSON file with this name.

        >>> Prices.of('{"gpt-4o-mini": [0.15, 0.6]}').cost({"gpt-4o-mini": Usage(1, 2_000_000, 0)})
        0.3
        """
        if isinstance(prices, Prices):
            return prices
        try:
            read = json.loads(_as_json(prices)) if isinstance(prices, str) else prices or {}
            return cls({m: (float(sent), float(got)) for m, (sent, got) in read.items()})
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise InvalidSettings(
                f'prices are {{"MODEL": [per million sent, per million received]}}: {error}'
            ) from None

    def cost(self, by_model: Mapping[str, Usage]) -> float | None:
        """The cost of some usage in money; None if a used model has no price."""
        used = {model: usage for model, usage in by_model.items() if usage.tokens}
        if not used.keys() <= self.by_model.keys():
            return None
        return sum(
            (u.input_tokens * self.by_model[m][0] + u.output_tokens * self.by_model[m][1])
            / _TOKENS_PER_PRICE
            for m, u in used.items()
        )


def _as_json(text: str) -> str:
    return text if text.lstrip().startswith("{") else Path(text).read_text()


def in_words(by_model: Mapping[str, Usage], prices: Prices) -> list[str]:
    """Usage as lines for people: one for each model, and one for the cost."""
    lines = [
        f"{model}: {u.calls:,} call(s), {u.input_tokens:,} tokens sent, "
        f"{u.output_tokens:,} received"
        for model, u in by_model.items()
    ]
    cost = prices.cost(by_model)
    stated = "unknown (ACE_PRICES has no price for it)" if cost is None else f"{cost:.4f}"
    return [*lines, f"cost: {stated}"] if lines else []
