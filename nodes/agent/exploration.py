"""A block kills its own evidence: a share of would-be declines is let through to be looked at.

Who is let through follows from the seed and the decision id, so that a decision sent again fares
the same. It knows nothing of risk: a share is a share, or its figures could not be trusted. Keep
the seed to yourself where strangers choose the ids.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

_SCALE: Final = 2**64


def is_let_through(decision_id: str, share: float, seed: int = 0) -> bool:
    """Whether a would-be decline is one of the share.

    >>> [is_let_through("order-1", share) for share in (0.0, 1.0)]
    [False, True]
    """
    drawn = sha256(f"explore:{seed}:{decision_id}".encode()).digest()[:8]
    return int.from_bytes(drawn) < share * _SCALE


def lets_through(case: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether a run lets its would-be decline through: never where the answer is known, or where
    nothing is learned from it.
    """
    return (
        settings["learn"]
        and case["ground_truth"] is None
        and is_let_through(case["id"], settings["explore"], settings["seed"])
    )
