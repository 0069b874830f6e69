"""What mistakes cost: one model for the threshold, for reviews and for reports."""

import math
from dataclasses import dataclass, fields
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from acegraph.state.errors import InvalidSettings

_NEAREST: Final = 1e-6
"""The risk from which on a payment is declined is no nearer to 0 and 1 than this."""


Stake = TypeVar("Stake", float, NDArray[np.float64])


@dataclass(frozen=True)
class CostMatrix:
    """What each outcome costs: a share of the amount at stake (1 without an amount), plus a fee.

    The defaults are those of `compare`.
    """

    missed_fraud: float = 1.0
    false_decline: float = 0.1
    caught_fraud: float = 0.0
    approved_honest: float = 0.0
    missed_fee: float = 0.0
    """What a missed fraud costs beside the amount, such as the fee of a chargeback."""
    decline_fee: float = 0.0
    """What a good customer who is declined costs, whatever the amount."""
    review: float = math.inf
    """What it costs to ask a person."""

    @classmethod
    def parse(cls, text: str) -> "CostMatrix":
        """Read `missed_fraud=1,false_decline=0.2`; a cost that is not named keeps its default.

        >>> CostMatrix.parse("false_decline=0.3").false_decline
        0.3
        """
        return cls(**cls.named(text))

    @classmethod
    def named(cls, text: str) -> dict[str, float]:
        """The costs that a text names."""
        names = [f.name for f in fields(cls)]
        costs: dict[str, float] = {}
        for part in filter(None, text.replace(" ", "").split(",")):
            name, _, value = part.partition("=")
            try:
                costs[name] = float(value)
                if not math.isfinite(costs[name]):
                    raise ValueError
            except ValueError:
                raise InvalidSettings(f"a cost is NAME=NUMBER, not {part!r}") from None
            if name not in names:
                raise InvalidSettings(f"costs are of {', '.join(names)}, not of {name!r}")
        return costs

    def of(
        self, fraud: NDArray[np.bool_], declined: NDArray[np.bool_], amounts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The cost of each decision."""
        return np.asarray(
            np.select(
                [fraud & ~declined, ~fraud & declined, fraud & declined],
                [
                    self.missed_fraud * amounts + self.missed_fee,
                    self.false_decline * amounts + self.decline_fee,
                    self.caught_fraud * amounts,
                ],
                self.approved_honest * amounts,
            )
        )

    @property
    def has_review(self) -> bool:
        """Whether it is said what it costs to ask a person."""
        return math.isfinite(self.review)

    def break_even(self, amount: float | None) -> float:
        """The risk at which approving costs as much on average as declining (Elkan 2001).

        >>> round(CostMatrix().break_even(50.0), 3)
        0.091
        """
        of_fraud, of_honest = self._of_mistakes(abs(amount) if amount else 1.0)
        if of_fraud <= 0 or of_honest < 0:
            return 1.0 - _NEAREST if of_fraud <= 0 else _NEAREST
        return min(max(of_honest / (of_honest + of_fraud), _NEAREST), 1 - _NEAREST)

    def break_even_over(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The break-even risks of amounts; NaN stands for none."""
        of_fraud, of_honest = self._of_mistakes(_stakes(amounts))
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.clip(of_honest / (of_honest + of_fraud), _NEAREST, 1 - _NEAREST)
        shares = np.where(of_honest < 0, _NEAREST, shares)
        return np.where(of_fraud <= 0, 1.0 - _NEAREST, shares)

    def wants_review(self, risk: float, amount: float | None) -> bool:
        """Whether asking a person costs less than the mistake to be expected."""
        of_fraud, of_honest = self._of_mistakes(abs(amount) if amount else 1.0)
        return self.review < min(risk * of_fraud, (1 - risk) * of_honest)

    def at_stake(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """What mistakes of both kinds cost, summed: how much each payment matters."""
        shares = self.missed_fraud - self.caught_fraud + self.false_decline - self.approved_honest
        return np.maximum(shares * _stakes(amounts) + self.missed_fee + self.decline_fee, 0.0)

    def _of_mistakes(self, stake: Stake) -> tuple[Stake, Stake]:
        """What approving a fraud, and declining an honest payment, costs more than the opposite."""
        return (
            (self.missed_fraud - self.caught_fraud) * stake + self.missed_fee,
            (self.false_decline - self.approved_honest) * stake + self.decline_fee,
        )


def _stakes(amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(amounts) | (amounts == 0), 1.0, np.abs(amounts))
