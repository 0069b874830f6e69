"""What language models cost: calls and tokens are counted by node and model, limited and priced.

Clients report each call with `begin_call` and `end_call`; every meter that listens counts it. This
module knows no model and no server; models/named.py reads the prices from the environment.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final, NamedTuple

from acegraph.state import BudgetSpent, InvalidSettings

if TYPE_CHECKING:
    from acegraph.state.run.schema import UsageByNode

_COUNTING: Final = RLock()
_TOKENS_PER_PRICE: Final = 1_000_000
"""Prices are per million tokens, as providers state them."""


class Usage(NamedTuple):
    """A number of calls and their tokens."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """The tokens sent and received."""
        return self.input_tokens + self.output_tokens


class Meter:
    """Counts usage by model, and collects notes about it for the user."""

    def __init__(self) -> None:
        self.by_model: dict[str, Usage] = {}
        self.notes: list[str] = []

    @property
    def total(self) -> Usage:
        """The usage of all models."""
        return Usage(*map(sum, zip(*self.by_model.values(), strict=True)))

    def add(self, model: str, usage: Usage) -> None:
        """Count the usage of a model."""
        with _COUNTING:
            before = self.by_model.get(model, Usage())
            self.by_model[model] = Usage(*map(sum, zip(before, usage, strict=True)))

    def to_json(self) -> dict[str, dict[str, int]]:
        """The usage by model, as it is written in the state of a run."""
        return {model: usage._asdict() for model, usage in self.by_model.items()}


class Budget(Meter):
    """A meter with a limit: a call that would exceed it is refused before it is made.

    The number of calls is never exceeded. The tokens of a call are known only after its answer, so
    calls that are under way when the last token is spent still cost something.
    """

    def __init__(self, max_calls: int | None = None, max_tokens: int | None = None) -> None:
        super().__init__()
        for name, limit in (("max_calls", max_calls), ("max_tokens", max_tokens)):
            if limit is not None and limit < 0:
                raise InvalidSettings(f"{name} is a number from 0 on, not {limit}")
        self.max_calls, self.max_tokens = max_calls, max_tokens

    @property
    def spent(self) -> str:
        """Which limit is reached, in words; empty while there is something left."""
        total = self.total
        if self.max_calls is not None and total.calls >= self.max_calls:
            return f"the budget of {self.max_calls} calls is spent"
        if self.max_tokens is not None and total.tokens >= self.max_tokens:
            return f"the budget of {self.max_tokens} tokens is spent"
        return ""

    def reserve(self, model: str) -> None:
        """Count a call that is about to be made, or refuse it."""
        with _COUNTING:
            if reason := self.spent:
                raise BudgetSpent(f"{model} was not asked: {reason}")
            self.add(model, Usage(calls=1))


PROCESS: Final = Meter()
"""Counts all usage of this process."""
_listening: ContextVar[tuple[Meter, ...]] = ContextVar("listening", default=(PROCESS,))


@contextmanager
def metered(meter: Meter) -> Iterator[Meter]:
    """Let a meter count every call made inside, besides the meters that listen already."""
    token = _listening.set((*_listening.get(), meter))
    try:
        yield meter
    finally:
        _listening.reset(token)


def innermost() -> Meter:
    """The meter of the innermost `metered` block."""
    return _listening.get()[-1]


def begin_call(model: str) -> None:
    """Count a call that is about to be made; if a budget refuses it, no other meter counts it."""
    # Budgets first: what one of them refuses is not counted.
    for meter in sorted(_listening.get(), key=lambda meter: not isinstance(meter, Budget)):
        if isinstance(meter, Budget):
            meter.reserve(model)
        else:
            meter.add(model, Usage(calls=1))


def end_call(model: str, input_tokens: object, output_tokens: object) -> None:
    """Count the tokens of a call, as far as the server states them."""
    used = Usage(0, token_count(input_tokens), token_count(output_tokens))
    for meter in _listening.get():
        meter.add(model, used)


def token_count(value: object) -> int:
    """The value if it is a plausible number of tokens, else 0: servers send other things as well.

    >>> token_count(12), token_count(-1), token_count(True), token_count(10**30)
    (12, 0, 0, 0)
    """
    return value if type(value) is int and 0 < value < 2**40 else 0


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
            if isinstance(prices, str) and not prices.lstrip().startswith("{"):
                prices = Path(prices).read_text()
            read = json.loads(prices) if isinstance(prices, str) else prices or {}
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
