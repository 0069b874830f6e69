"""What the decisions of schema 4 had among their settings, as a policy and hidden fields.

Costs, rates and delays stood with every run then. What decides is as in the newest decision; what
protects, delays of labels and hidden fields, is as in any of the newest ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from acegraph.state.errors import InvalidSettings
from acegraph.state.task.policy import Policy
from acegraph.state.values.costs import CostMatrix

NEWEST: Final = 1_000
"""So many of the newest decisions of a node are looked at."""
_SAME: Final = ("base_rate", "explore", "judge_bar", "review_from", "review_to")


def policy_in(settings: Sequence[Mapping[str, Any]]) -> Policy:
    """The policy by which decisions, newest first, were made."""
    delays: dict[str, float] = {}
    for one in reversed(settings):
        delays |= one.get("mature_days") or {}
    newest = settings[0] if settings else {}
    wanted = {name: newest[name] for name in _SAME if newest.get(name) is not None}
    if costs := newest.get("costs"):
        wanted["costs"] = CostMatrix.named(costs)
    try:
        return Policy.from_json({**wanted, "mature_days": delays})
    except InvalidSettings:  # what was accepted then is no policy now, as costs below 0
        return Policy(mature_days=delays)


def hidden_in(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The fields that one of the decisions hid."""
    return sorted({name for one in settings for name in one.get("redact") or ()})
