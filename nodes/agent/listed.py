"""What lists say of whom a payment names: it comes before the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from acegraph.nodes.evidence.sightings.columns import id_of
from acegraph.state.playbook.lists import LISTS
from acegraph.state.values import APPROVE

if TYPE_CHECKING:
    from acegraph.nodes.agent.node import Decision, Question
    from acegraph.state import BulletPlaybook
    from acegraph.state.playbook.lists import Entry


def entries_of(playbook: BulletPlaybook, asked: Question, node: str) -> Sequence[Entry]:
    """The entries that count about anybody whom a payment names; a block goes before the others."""
    columns = asked.ruleset.task.entities
    ids = {kind: id_of(asked.fields.get(name)) for kind, name in columns.items()}
    entries = playbook.listed(node, {kind: text for kind, text in ids.items() if text})
    return sorted(entries, key=lambda entry: (LISTS.index(entry.list), entry.number))


def told(entry: Entry) -> str:
    """What an entry says, in words."""
    return f"{entry.kind} {entry.name} is {entry.told}"


def watched(entries: Sequence[Entry]) -> str:
    """Why a person is asked; empty if nobody is watched."""
    return "; ".join(told(entry) for entry in entries if entry.list == "watch")


def under(entries: Sequence[Entry], decision: Decision) -> Decision:
    """The decision on somebody whom a list allows or watches; what is undecided stays so."""
    if entries:
        decision = replace(decision, reasons=(*decision.reasons, *map(told, entries)))
    if decision.undecided or all(entry.list != "allow" for entry in entries):
        return decision
    return replace(decision, decision=APPROVE)
