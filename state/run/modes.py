"""The three modes as data, and how the settings of a run follow from its mode and context."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from acegraph.state.run.context import AceContext, Mode
from acegraph.state.run.schema import RunSettings
from acegraph.state.task.policy import USUAL, Policy
from acegraph.state.values.bullet import Source

if TYPE_CHECKING:  # it stands above this folder, and loads the database library
    from acegraph.state.playbook.playbook import BulletPlaybook


@dataclass(frozen=True)
class ModePlan:
    """What a mode does unless the context says otherwise."""

    selects: bool
    source: Source | None
    learns: bool


MODES: Final[dict[Mode, ModePlan]] = {
    "vanilla": ModePlan(selects=False, source=None, learns=False),
    "offline_online": ModePlan(selects=True, source=None, learns=True),
    "online": ModePlan(selects=True, source="online", learns=True),
}


def settle_settings(
    context: AceContext, policy: Policy = USUAL, hidden: Iterable[str] = ()
) -> RunSettings:
    """All settings that the nodes need; mode and policy decide what the context leaves open.

    The mode `vanilla` neither selects nor learns, whatever the context says. The fields that are
    `hidden` are not stored.
    """
    plan = MODES[context.mode]
    learns = plan.learns if context.learn is None else context.learn
    settings = {
        **context.model_dump(),
        **policy.but(context.policy).settings(),
        "policy_version": policy.version or None,
        "redact": list(hidden),
        "selects": plan.selects,
        "source": context.source or plan.source,
        "learn": learns and plan.learns,
    }
    return cast(RunSettings, settings)


def settle(playbook: "BulletPlaybook", context: AceContext | None = None) -> RunSettings:
    """All settings of a run on a playbook, by its policy and its task."""
    context = context or AceContext()
    node = context.node
    return settle_settings(context, playbook.policy(node), playbook.task(node).hidden_names)
