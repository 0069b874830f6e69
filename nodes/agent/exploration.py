"""Exploration: let a share of the would-be declines through, to learn whether they were fraud.

A declined payment never gets a label. The seed and the decision id decide which payments are let
through, so that a decision sent again gets the same answer. The risk plays no part: the share must
be random for its figures to hold. Keep the seed secret where customers choose the ids.
"""

from hashlib import sha256

from acegraph.state.run.schema import CaseData, RunSettings


def in_explored_share(decision_id: str, share: float, seed: int = 0) -> bool:
    """Whether a would-be decline belongs to the share that is let through.

    >>> [in_explored_share("order-1", share) for share in (0.0, 1.0)]
    [False, True]
    """
    drawn = sha256(f"explore:{seed}:{decision_id}".encode()).digest()[:8]
    return int.from_bytes(drawn) < share * 2**64


def is_explored(case: CaseData, settings: RunSettings) -> bool:
    """Whether a run lets its would-be decline through: only if it learns and has no label yet."""
    return (
        settings["learn"]
        and case["ground_truth"] is None
        and in_explored_share(case["id"], settings["explore"], settings["seed"])
    )
