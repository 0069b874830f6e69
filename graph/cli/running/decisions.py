"""`acegraph decide`, `feedback`, `learn`: decide, give the right answer, learn from it later."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from acegraph.graph.cli.console import (
    Model,
    announce_models,
    lasting,
    may_exist,
    parse_transaction,
    playbook_url,
    shown,
)
from acegraph.graph.cli.printing import facts_in_lines, progress_bar, tell, usage_in_words, warn
from acegraph.state import AceContext, InvalidSettings
from acegraph.state.values import UNDECIDED, Transaction, parse_verdict, written_risk

if TYPE_CHECKING:
    from acegraph.state import AceOutput
    from acegraph.state.task.task import Task

_UNDECIDED: Final = 3
"""The exit code of `decide` where there is no decision."""


def decide(
    transaction: str,
    *,
    truth: str | None = None,
    decision_id: Annotated[str | None, typer.Option("--id")] = None,
    mode: str = "offline_online",
    model: Model = None,
    learn: bool = True,
) -> None:
    """Decide on one transaction with the bullets of a playbook. Exits with 3 if undecided.

    Example: acegraph decide '{"amount": 40, "hour": 3}' --id order-1

    Options:
        transaction: Text, a JSON object of fields, or - to read it from standard input.
        truth: The right answer, where it is known.
        decision_id: Your id for the decision.
        mode: vanilla, offline_online or online.
        learn: Move counters and learn from a mistake.
    """
    from acegraph.graph.build import create_ace_graph
    from acegraph.graph.tables.ruleset import TableRules, bars
    from acegraph.state import AceInput

    announce_models(model)
    context = AceContext(agent_model=model).with_changes(mode=mode, learn=learn and None)
    parsed = parse_transaction(sys.stdin.read() if transaction == "-" else transaction)
    Transaction.of(parsed)  # bad input must not even make a database
    if truth is not None and not may_exist(playbook_url.get()):
        parse_verdict(truth)
    with lasting() as book:
        task = book.task(context.node)
        truth = None if truth is None else parse_verdict(task.stored(truth))
        if not len(book) and not len(book.cases(context.node)):
            warn(f"no bullets and no labelled cases in {shown()}: only the scorecard decides")
        case = AceInput(transaction=parsed, ground_truth=truth, decision_id=decision_id)
        graph = create_ace_graph(playbook=book).compile()
        rules = TableRules.of(book, context)
        result = cast("AceOutput", graph.invoke(case, context=context))
    fields = rules.understand(Transaction.of(parsed)).fields
    ruling = rules.ruleset.weigh(fields)
    is_by_rules = ruling.risk == result["risk_score"]  # and no model, nor by earlier payments
    drawn = bars(rules.ruleset, fields, ruling) if is_by_rules else ()
    tell(dict(result), *_decision_in_words(result, task, context), *drawn)
    if result["decision"] == UNDECIDED:
        raise typer.Exit(_UNDECIDED)


def _decision_in_words(result: "AceOutput", task: "Task", context: AceContext) -> Iterator[str]:
    risk = result["risk_score"]
    yield task.shown(result["decision"]) + ("" if risk is None else f"  risk {written_risk(risk)}")
    yield from (f"  - {reason}" for reason in result["reasons"])
    if result["undecided"]:
        yield f"  undecided: {result['undecided']}"
    yield from (f"  warning: {warning}" for warning in result["warnings"])
    yield f"verdict: {result['verdict']}   decision id: {result['decision_id']}"
    if result["verdict"] == "wrong" and context.mode != "vanilla" and context.learn is not False:
        yield f"learned: {result['new_bullet'] or 'nothing that the labelled cases bear out'}"


def feedback(
    decision_id: Annotated[str | None, typer.Argument(show_default=False)] = None,
    label: Annotated[str | None, typer.Argument(show_default=False)] = None,
    *,
    file: Path | None = None,
    source: str = "feedback",
    at: str = "",
    learn: bool = True,
) -> None:
    """Say, or correct, the right answer of past decisions; mistakes are learned from.

    Example: acegraph feedback --file chargebacks.csv --source chargeback

    Options:
        decision_id: The id of a stored decision.
        label: Its right answer: APPROVE or DECLINE.
        file: A CSV instead, also .gz, or - for standard input: decision_id, label and, if you like,
            source and at.
        source: Who says so.
        at: Since when it is known (ISO 8601); else now.
        learn: Learn from mistakes of a file at once.
    """
    from acegraph.graph.operations import feedback as operations

    match decision_id, label, file:
        case str(), str(), None:
            with lasting(must_exist=True) as book:
                one = operations.feedback(book, decision_id, label, source=source, at=at)
            facts = {name: value for name, value in vars(one).items() if name != "decision"}
            facts["curation"] = one.curation and one.curation.to_json()
            tell(facts, decision_id, *facts_in_lines(facts))
        case None, None, Path():
            file = Path("/dev/stdin") if str(file) == "-" else file
            labels = operations.read_labels(file, source, at)
            with lasting(must_exist=True) as book, progress_bar() as progress:
                bar, total = progress(None), len(labels)
                report = operations.feedback_many(
                    book, labels, learn=learn, progress=lambda done: bar("labels", done, total)
                )
            tell(vars(report), f"{report.labels} label(s) of {file}", *facts_in_lines(vars(report)))
        case _:
            raise InvalidSettings("feedback wants DECISION_ID and LABEL, or --file FILE")


def learn() -> None:
    """Learn the lessons that wait in the playbook's queue (AceContext(learn_later=True)).

    Run it as often as you like, for instance by cron. Example: acegraph learn --playbook ace.db
    """
    from acegraph.graph.operations.feedback import learn_waiting

    announce_models()
    with lasting(must_exist=True) as book, progress_bar() as progress:
        report = learn_waiting(book, progress=progress(None))
    tell(vars(report), *facts_in_lines(vars(report)), *usage_in_words())
