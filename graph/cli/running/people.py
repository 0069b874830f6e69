"""`acegraph review`, `policy`, `users`: what waits for a person, what is wanted, and who may what.

An answer is written into the ledger: a run that is still paused finds it when it is resumed.
"""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from acegraph.graph.cli.console import Why, alone, lasting, signed, who
from acegraph.graph.cli.printing import facts_in_lines, say, tell
from acegraph.state import DECLINE, AceContext, InvalidSettings

if TYPE_CHECKING:
    from acegraph.graph.metrics.records import Record
    from acegraph.state import BulletPlaybook

_WIDTH: Final = 96
"""Characters of a transaction or a bullet that are shown."""


def review(
    item: Annotated[str | None, typer.Argument(show_default=False)] = None,
    *,
    verdict: str | None = None,
    approve: Annotated[bool | None, typer.Option("--approve/--reject")] = None,
    why: Why = "",
) -> None:
    """List what waits for a person, or answer one of it.

    A rule is listed with what it does in each group of the protected fields. Examples: acegraph
    review order-1 --verdict DECLINE --who ann --why "the customer denies it"; acegraph review b7
    --approve --who bob --why "checked against last month".

    Options:
        item: A decision id, a bullet id or an entry of a list to answer.
        verdict: On a decision: APPROVE or DECLINE.
        approve: On a bullet: let it act, or retire it.
    """
    from acegraph.graph.operations.review import answer_outside_run, approve_outside_run
    from acegraph.state.maintenance.people.second_person import to_look_at

    given: dict[str, object] = {"who": who.get(), "why": why}
    with lasting(must_exist=True) as book:
        match item, verdict, approve:
            case None, None, None:
                _list(book)
            case str(), str(), None:
                given["verdict"] = verdict
                tell(answer_outside_run(book, item, given).to_json())
            case str(), None, bool() if item.startswith("list-"):
                from acegraph.graph.operations.monitoring.lists import approve_entry

                given["approve"] = approve
                tell({"entry": item, "status": approve_entry(book, item, given)})
            case str(), None, bool():
                before = book.get_bullet(item).status
                waited = before == "candidate" or item in to_look_at(book.database)
                given["approve"] = approve
                status = approve_outside_run(book, item, given, alone=alone.get())
                tell({"bullet": item, "status": status, "changed": waited})
            case _:
                raise InvalidSettings(
                    "review alone lists what waits; to answer: review DECISION --verdict WORD, or "
                    "review BULLET --approve or --reject, with --who and --why"
                )


def _list(book: "BulletPlaybook") -> None:
    from acegraph.graph.metrics.records import Cases
    from acegraph.state.maintenance.people.review_queue import waiting

    entries, told, lines = waiting(book), list[object](), list[str]()
    for entry in entries:
        about, facts = " ".join(entry.about.split()), asdict(entry)
        lines.append(f"{entry.kind:<9} {entry.id}  since {entry.since[:16]}: {entry.why}")
        lines.append(f"          {about if len(about) <= _WIDTH else about[: _WIDTH - 3] + '...'}")
        if entry.kind == "approval" and (rule := book.get_bullet(entry.id)).condition:
            found = Cases(book.cases(rule.node)).by_group(rule.condition)
            facts["groups"] = {n: [one.to_json() for one in some] for n, some in found.items()}
            lines += (f"          {n} {_group(one)}" for n, some in found.items() for one in some)
        told.append(facts)
    count = f"{len(entries)} waiting" if entries else "nothing waits for a person"
    tell({"waiting": told}, *lines, count)


def _group(record: "Record") -> str:
    """What a rule does in one group of a protected field."""
    right, wrong = record.right, record.wrong
    mistakes = "honest declined" if record.verdict == DECLINE else "frauds approved"
    return (
        f"{record.name}: fires on {record.fired.fires:,} of {record.rows:,}, right in "
        f"{right.part:,} of {right.whole:,}; {wrong.part:,} of {wrong.whole:,} {mistakes} "
        f"({wrong.value or 0:.1%})"
    )


def policy(
    changes: Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE]...")] = None,
    *,
    approve: Annotated[bool, typer.Option("--approve")] = False,
    why: Why = "",
) -> None:
    """Show what is wanted of decisions, propose a change of it, or approve one.

    What accepts more risk waits for a second person; what accepts less acts at once. Example:
    acegraph policy explore=0.02 --why "labels of declined payments" --who ann

    Options:
        changes: As explore=0.02 or costs=missed_fraud=1,false_decline=0.1; NAME= takes it back.
        approve: Approve the change that waits.
    """
    from acegraph.graph.operations.policies import approve_policy, propose, waiting_policy
    from acegraph.state.task.policy import HEEDED

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
        policy, waits = book.policy(node), waiting_policy(book, node)
        history = book.declarations("policy", node)
    facts = {name: value for name, value in asdict(policy).items() if name in HEEDED}
    told = {"version": policy.version, "policy": facts, "waiting": waits and asdict(waits)}
    lines = facts_in_lines({"version": policy.version, **facts, "waiting": told["waiting"]})
    tell({**told, "history": history}, *lines)


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


def users(
    name: str | None = None,
    *,
    role: str = "viewer",
    remove: Annotated[bool, typer.Option("--remove")] = False,
) -> None:
    """List the users of the service; add one, give one another role and token, or remove one.

    The token is printed once; only a hash of it is stored. Example: acegraph users ann --role
    administrator

    Options:
        name: Letters, digits, - or _; none: list the users.
        role: feed, viewer, analyst, approver or administrator.
        remove: Remove the user; the token is refused from then on.
    """
    from acegraph.state.maintenance.people.users import add_user, remove_user
    from acegraph.state.maintenance.people.users import users as known_users

    with lasting(must_exist=name is None or remove) as book:
        if name is None:
            if remove:
                raise InvalidSettings("--remove wants the name of a user")
            known = known_users(book.database)
            lines = [f"{user.role:<14} {user.name}" for user in known]
            none = "no users yet: acegraph users NAME --role administrator"
            tell({"users": [asdict(user) for user in known]}, *(lines or [none]))
        elif remove:
            remove_user(book.database, name)
            say(f"{name} is no user any more")
        else:
            secret = add_user(book.database, name, role)  # type: ignore[arg-type]
            token = f"{name}.{secret}"
            shown_once = f"{name} is {role}; the token, which is shown only now:"
            tell({"name": name, "role": role, "token": token}, shown_once, token)
