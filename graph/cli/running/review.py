"""`acegraph review`: list what waits for a person, and write the answer into the ledger.

A run that is still paused finds the answer there when it is resumed.
"""

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from acegraph.graph.cli.console import alone, lasting, who
from acegraph.graph.cli.printing import say, say_curation, told_as_json
from acegraph.state import InvalidSettings

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook
    from acegraph.state.maintenance.people.review_queue import HumanVerdict
    from acegraph.state.run.review_answers import VerdictAnswer

_WIDTH: Final = 96
"""Characters of a transaction or a bullet that are shown."""


def review(
    item: Annotated[
        str | None,
        typer.Argument(help="A decision id or a bullet id to answer.", show_default=False),
    ] = None,
    verdict: Annotated[str | None, typer.Option(help="On a decision: APPROVE or DECLINE.")] = None,
    approve: Annotated[
        bool | None,
        typer.Option("--approve/--reject", help="On a bullet: let it act, or retire it."),
    ] = None,
    why: Annotated[str, typer.Option(help="The reason; it is kept.")] = "",
) -> None:
    """List what waits for a person, or answer one of it.

    Examples: acegraph review order-1 --verdict DECLINE --who ann --why "the customer denies it";
    acegraph review b7 --approve --who bob --why "checked against last month".
    """
    with lasting(must_exist=True) as book:
        match item, verdict, approve:
            case None, None, None:
                _list(book)
            case str(), str(), None:
                _judge(book, item, {"who": who.get(), "verdict": verdict, "why": why})
            case str(), None, bool():
                _approve(book, item, {"who": who.get(), "approve": approve, "why": why})
            case _:
                raise InvalidSettings(
                    "review alone lists what waits; to answer: review DECISION --verdict WORD, or "
                    "review BULLET --approve or --reject, with --who and --why"
                )


def _list(
    book: "BulletPlaybook",
) -> None:
    from acegraph.state.maintenance.people.review_queue import waiting

    entries = waiting(book)
    if told_as_json({"waiting": [asdict(entry) for entry in entries]}):
        return
    for entry in entries:
        about = " ".join(entry.about.split())
        say(f"{entry.kind:<9} {entry.id}  since {entry.since[:16]}: {entry.why}")
        say(f"          {about if len(about) <= _WIDTH else about[: _WIDTH - 3] + '...'}")
    say(f"{len(entries)} waiting" if entries else "nothing waits for a person")


def _judge(
    book: "BulletPlaybook",
    decision_id: str,
    fields: dict[str, object],
) -> None:
    from acegraph.graph.operations.review import answer_outside_run
    from acegraph.state.run.review_answers import VerdictAnswer, read_answer

    answer = read_answer(VerdictAnswer, fields, stored=book.task().stored)
    answered = answer_outside_run(book, decision_id, answer)
    first, curation = answered.human_verdict, answered.learned
    label = first.recorded.label
    stands = {"label": label.value, "source": label.source} if label else None
    learned = curation.to_json() if curation else None
    verdict = {"verdict": first.verdict, "by": first.by}
    if told_as_json({**verdict, "stands": stands, "curation": learned}):
        return
    if not first.is_by(answer):
        _say_first_stands(decision_id, first, answer)
        return
    if label is not None and label.source != answer.source:
        say(f"{decision_id}: {label.source} said {label.value} before; that stands")
        return
    say(f"{decision_id}: {first.verdict}, signed {answer.source}")
    if curation:
        say_curation(curation)
    if curation and curation.bullet_id:
        bullet = book.get_bullet(curation.bullet_id)
        waits = bullet.status == "candidate"
        say(f"{bullet.id} {'waits for approval by somebody else' if waits else 'is active now'}")


def _say_first_stands(decision_id: str, first: "HumanVerdict", answer: "VerdictAnswer") -> None:
    say(f"{decision_id}: {first.by} said {first.verdict} before; that stands")
    if first.by == answer.source:
        words = shlex.join([decision_id, answer.verdict, "--source", answer.source])
        say(f"'acegraph feedback {words}' corrects the label; what was answered stays answered")


def _approve(
    book: "BulletPlaybook",
    bullet_id: str,
    fields: dict[str, object],
) -> None:
    from acegraph.nodes.curator.approval import give_approval
    from acegraph.nodes.curator.curator import Curator
    from acegraph.state.maintenance.people.second_person import to_look_at
    from acegraph.state.run.review_answers import ApprovalAnswer, read_answer

    answer = read_answer(ApprovalAnswer, fields)
    before = book.get_bullet(bullet_id).status
    waited = before == "candidate" or bullet_id in to_look_at(book.database)
    bullet = give_approval(book, bullet_id, answer, Curator(), alone=alone.get())
    if told_as_json({"bullet": bullet_id, "status": bullet.status, "changed": waited}):
        return
    signed = f", signed {answer.source}" if waited else "; it was not waiting, nothing was changed"
    say(f"{bullet_id} is {bullet.status}{signed}")
    if bullet_id in to_look_at(book.database):
        say("a second person is shown it: 'acegraph review'")
