"""The policy of a node as a playbook has it, and the settings of a run that follow from it."""

from dataclasses import replace
from typing import TYPE_CHECKING

from acegraph.state.playbook.settings_of_nodes import Stored
from acegraph.state.run.context import AceContext
from acegraph.state.run.modes import settle_settings
from acegraph.state.run.schema import RunSettings
from acegraph.state.task.policy import Policy

if TYPE_CHECKING:
    from acegraph.state.playbook.frozen_view import ReadablePlaybook


def read_policy(stored: Stored | None) -> Policy:
    """The policy that was stored, with its version."""
    if stored is None:
        return Policy()
    version, content = stored
    return replace(Policy.from_json(content), version=version)


def settle(playbook: "ReadablePlaybook", context: AceContext | None = None) -> RunSettings:
    """All settings of a run on a playbook, by its policy and its task."""
    context = context or AceContext()
    node = context.node
    return settle_settings(context, playbook.policy(node), playbook.task(node).hidden)
