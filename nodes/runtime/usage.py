"""What language models cost: calls and tokens by node and model, budgets and prices."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

from acegraph.state import BudgetSpent, InvalidSettings

_PER_PRICE: Final = 1_000_000
"""Prices are per million tokens, as providers state them."""


@dataclass(frozen=True)
class Usage:
    """Calls and tokens."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Those sent and those received."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )


class Meter:
    """What was spent, by model, and what is worth saying about it."""

    def __init__(self) -> None:
        self.by_model: dict[str, Usage] = {}
        self.notes: list[str] = []
        self._lock = Lock()

    @property
    def total(self) -> Usage:
        """Over all models."""
        return sum(self.by_model.values(), Usage())

    def add(self, model: str, usage: Usage) -> None:
        """Count what was spent on a model."""
        with self._lock:
            self.by_model[model] = self.by_model.get(model, Usage()) + usage

    def absorb(self, other: "Meter") -> None:
        """Count what another meter heard."""
        for model, usage in other.by_model.items():
            self.add(model, usage)
        self.notes += [note for note in other.notes if note not in self.notes]

    def to_json(self) -> dict[str, dict[str, int]]:
        """As it stands in the state: by model."""
        return {model: dict(vars(usage)) for model, usage in self.by_model.items()}


class Budget(Meter):
    """A meter with an end: a call that would go beyond it is refused before it is made.

    The number of calls is never exceeded. Tokens are known when the answer is there, so the calls
    under way when the last token is spent are still paid for.
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
        with self._lock:
            if reason := self.spent:
                raise BudgetSpent(f"{model} was not asked: {reason}")
            self.by_model[model] = self.by_model.get(model, Usage()) + Usage(calls=1)


PROCESS: Final = Meter()
"""Everything this process has spent."""
_listening: ContextVar[tuple[Meter, ...]] = ContextVar("listening", default=(PROCESS,))


@contextmanager
def metered(meter: Meter) -> Iterator[Meter]:
    """Tell this meter of every call made inside, besides those that listen already."""
    token = _listening.set((*_listening.get(), meter))
    try:
        yield meter
    finally:
        _listening.reset(token)


def begin_call(model: str) -> None:
    """A call is about to be made; a budget that is spent refuses it, and then nobody counts it."""
    meters = _listening.get()
    for meter in meters:
        if isinstance(meter, Budget):
            meter.reserve(model)
    for meter in meters:
        if not isinstance(meter, Budget):
            meter.add(model, Usage(calls=1))


def end_call(model: str, input_tokens: object, output_tokens: object) -> None:
    """What the call's answer cost, as far as the server says so."""
    used = Usage(0, _count(input_tokens), _count(output_tokens))
    for meter in _listening.get():
        meter.add(model, used)


def innermost() -> Meter:
    """The meter of whatever is going on right here."""
    return _listening.get()[-1]


def _count(given: object) -> int:
    """A number of tokens; servers write what they like where one is due."""
    return given if isinstance(given, int) and not isinstance(given, bool) and given > 0 else 0


@dataclass(frozen=True)
class Prices:
    """What a million tokens cost, by model: sent, received. None are built in."""

    by_model: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, given: "Prices | Mapping[str, Any] | str | None") -> "Prices":
        """Read prices: a mapping, JSON text, or the name of a JSON file.

        >>> Prices.of('{"gpt-4o-mini": [0.15, 0.6]}').cost({"gpt-4o-mini": Usage(1, 2_000_000, 0)})
        0.3
        """
        if isinstance(given, Prices):
            return given
        try:
            read = _read(given) if isinstance(given, str) else given or {}
            pairs = {model: (float(sent), float(got)) for model, (sent, got) in read.items()}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise InvalidSettings(
                f'prices are {{"MODEL": [per million sent, per million received]}}: {error}'
            ) from None
        return cls(pairs)

    def cost(self, by_model: Mapping[str, Usage]) -> float | None:
        """What was spent in money; None where a model that was used has no price."""
        used = {model: u for model, u in by_model.items() if u.tokens}
        if not used.keys() <= self.by_model.keys():
            return None
        return sum(
            (u.input_tokens * self.by_model[m][0] + u.output_tokens * self.by_model[m][1])
            / _PER_PRICE
            for m, u in used.items()
        )


def _read(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        text = Path(text).read_text()
    return json.loads(text)


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
