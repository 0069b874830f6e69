"""`acegraph policy`: what is wanted of decisions: show it, propose a change, approve one."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from acegraph.graph.cli.console import Why, alone, lasting, signed
from acegraph.graph.cli.printing import say, told_as_json
from acegraph.state import AceContext, InvalidSettings

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


def policy(
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]...",
            help="As explore=0.02 or costs=missed_fraud=1,false_decline=0.1; NAME= takes it back.",
        ),
    ] = None,
    approve: Annotated[
        bool, typer.Option("--approve", help="Approve the change that waits.")
    ] = False,
    why: Why = "",
) -> None:
    """Show what is wanted of decisions, propose a change of it, or approve one.

    What accepts more risk waits for a second person; what accepts less acts at once. Example:
    acegraph policy explore=0.02 --why "labels of declined payments" --who ann
    """
    from acegraph.graph.operations.policies import approve_policy, propose

    node = AceContext().node
    with lasting(must_exist=not changes) as book:
        if approve:
            if changes:
                raise InvalidSettings("--approve puts the waiting change into force as it is")
            approve_policy(book, node, signed())
        elif changes:
            if not why:
                raise InvalidSettings("--why is wanted: the reason is kept")
            propose(book, node, dict(map(_change, changes)), signed(), why, alone=alone.get())
        _show(book, node)


def _change(text: str) -> tuple[str, object]:
    """`costs=missed_fraud=1` as a name with what it is set to."""
    name, sign, value = text.partition("=")
    if not sign:
        raise InvalidSettings(f"NAME=VALUE wanted, as explore=0.02; found {text!r}")
    if not value:
        return name, None
    if "=" in value:
        return name, dict(_change(pair) for pair in value.split(","))
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _show(book: "BulletPlaybook", node: str) -> None:
    from acegraph.graph.operations.policies import waiting_policy
    from acegraph.state.task.policy import HEEDED

    policy, waits = book.policy(node), waiting_policy(book, node)
    facts = {name: value for name, value in asdict(policy).items() if name in HEEDED}
    told = {"version": policy.version, "policy": facts, "waiting": waits and asdict(waits)}
    if told_as_json({**told, "history": book.declarations("policy", node)}):
        return
    say(f"version {policy.version}" if policy.version else "no policy is set: all is as usual")
    for name, value in facts.items():
        say(f"  {name:<12} {'-' if value is None or value == {} else _words(value)}")
    if waits:
        wanted = ", ".join(f"{name} {_words(value)}" for name, value in waits.content.items())
        say(f"waits for a second person: {wanted or 'all as usual'} ({waits.by}: {waits.why})")
        say("next: acegraph policy --approve --who NAME")


def _words(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:g}" for name, number in value.items())
    return str(value)
