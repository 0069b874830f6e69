"""The policy of a node, and the settings of a run under it."""

from typing import Any, Final, cast

from acegraph.state.playbook.frozen_view import ReadablePlaybook
from acegraph.state.run.context import AceContext
from acegraph.state.run.modes import settle_settings
from acegraph.state.run.schema import RunSettings
from acegraph.state.task.policy import Policy

HEEDED: Final = (
    *("costs", "base_rate", "review_from", "review_to", "explore"),
    *("mature_days", "judge_bar", "shadow"),
)
"""What runs take from a policy."""
_CALLED: Final = {"shadow": "challenger"}
"""Settings that are called otherwise."""


def policy_of(playbook: ReadablePlaybook, node: str) -> Policy:
    """The policy that is in force for a node; without one, all is as usual."""
    stored = playbook.stored_policy(node)
    return Policy.from_json({**stored[1], "version": stored[0]}) if stored else Policy(version=0)


def settle(playbook: ReadablePlaybook, context: AceContext) -> RunSettings:
    """The settings of a run: what the context leaves as it is by default, the policy decides.

    >>> from acegraph.state import BulletPlaybook
    >>> book, node = BulletPlaybook(), AceContext().node
    >>> _ = book.store_policy(node, {"explore": 0.1}, expected_version=0, by="ann", reason="try")
    >>> [settle(book, AceContext(explore=x))["explore"] for x in (0.0, 0.5)]
    [0.1, 0.5]
    """
    settings: dict[str, Any] = dict(settle_settings(context))
    policy, usual = policy_of(playbook, context.node), AceContext()
    wanted = policy.settings()
    for name in HEEDED:
        setting = _CALLED.get(name, name)
        if getattr(context, setting) == getattr(usual, setting):
            settings[setting] = wanted[name]
    if policy.version:
        settings["policy_version"] = policy.version
    if policy.undecided == "expect":
        settings["expects"] = True
    return cast(RunSettings, settings)
