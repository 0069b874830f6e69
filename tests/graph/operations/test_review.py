"""A person in the loop: runs pause, answers are checked, signed and counted once."""

import json
import operator
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Annotated, Any

import psycopg
import pytest
from command_line import run
from hidden import hiding
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send
from processes import PROCESSES
from review_worker import ASK, GIVEN, LEARNED, RULE, graph_on, opened, pause_and_die
from typer.testing import CliRunner
from typing_extensions import TypedDict

from acegraph.graph import create_ace_graph, create_fraud_tool, feedback, purge
from acegraph.graph.cli.main import app
from acegraph.graph.operations.review import answer_outside_run
from acegraph.graph.operations.review import switch as switch_bullet
from acegraph.graph.server.checkpoints import strict_serializer
from acegraph.state import (
    AceContext,
    AceError,
    BulletPlaybook,
    InvalidSettings,
    ModelUnavailable,
    erase,
    verify,
)
from acegraph.state.maintenance.people.review_queue import waiting
from acegraph.state.maintenance.versions import rollback

NODE = "fraud_detection"
THREAD: Any = {"configurable": {"thread_id": "t"}}
WRONG: list[Any] = [
    "APPROVE",
    7,
    [],
    {"who": "ann"},
    {"who": "ann", "verdict": "APPROVE"},
    {"who": "ann", "verdict": "MAYBE", "why": "x"},
    {"who": "", "verdict": "APPROVE", "why": "x"},
    {"who": "аnn", "verdict": "APPROVE", "why": "a Cyrillic letter in the name"},
    {"who": "ann", "verdict": "APPROVE", "why": "  "},
    {"who": "ann", "verdict": "APPROVE", "why": "x" * 1001},
    {"who": "ann", "verdict": "APPROVE", "why": "x", "admin": True},
    {"who": ["ann"], "verdict": "APPROVE", "why": "x"},
    {"who": "ann", "approve": True, "why": "an answer to another question"},
    {"who": "ann", "verdict": "APPROVE", "why": "another payment", "decision_id": "d2"},
]


def verdict(who: str, word: str, why: str = "I know the customer") -> Any:
    return Command(resume={"who": who, "verdict": word, "why": why})


def approval(who: str, yes: Any, why: str = "read it") -> Any:
    return Command(resume={"who": who, "approve": yes, "why": why})


def asked(result: dict[str, Any]) -> Any:
    """The question that a paused run asks; None for one that ended."""
    found = result.get("__interrupt__")
    return found[0].value if found else None


def record(playbook: BulletPlaybook, bullet_id: str = "b1") -> tuple[int, int, int]:
    bullet = playbook.get_bullet(bullet_id)
    return bullet.helpful_count, bullet.harmful_count, bullet.times_selected


def labels(playbook: BulletPlaybook) -> list[tuple[str, str]]:
    with playbook.database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT label, source FROM outcomes")
        return [(row.label, row.source) for row in rows]


@dataclass(frozen=True)
class Place:
    """A ledger and a checkpointer that last."""

    playbook: BulletPlaybook
    playbook_url: str
    saver_url: str

    def send(self, what: Any) -> dict[str, Any]:
        """Start or resume the run through a connection of its own."""
        with opened(self.saver_url) as saver:
            return dict(graph_on(self.playbook, saver).invoke(what, THREAD))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        playbook_url, saver_url = server.url(), server.url()
        with psycopg.Connection.connect(saver_url, autocommit=True) as connection:
            schema = connection.execute("SHOW search_path").fetchone()
            connection.execute(f"CREATE SCHEMA {schema[0]}")
    else:
        playbook_url, saver_url = (f"sqlite:///{tmp_path / n}" for n in ("ace.db", "runs.db"))
    with opened(saver_url) as saver:
        saver.setup()
    with BulletPlaybook(playbook_url) as playbook:
        playbook.add_bullet(RULE, "fraud_detection", "online")
        yield Place(playbook, playbook_url, saver_url)
        assert verify(playbook) == []


def test_a_verdict_resumes_the_run_and_is_a_label_with_its_source(place: Place) -> None:
    question = asked(place.send(GIVEN))
    assert (question["kind"], question["decision"]) == ("verdict", "DECLINE")
    assert "500" in question["transaction"]
    assert record(place.playbook) == (0, 0, 1)
    result = place.send(verdict("ann", "decline"))
    assert (result["decision"], result["verdict"], asked(result)) == ("DECLINE", "right", None)
    assert result["review"]["who"] == "ann"
    assert labels(place.playbook) == [("DECLINE", "analyst:ann")]
    assert record(place.playbook) == (1, 0, 1)


def test_a_wrong_answer_is_asked_again_and_loses_nothing(place: Place) -> None:
    place.send(GIVEN)
    for wrong in WRONG:
        question = asked(place.send(Command(resume=wrong)))
        assert question["error"]
        assert question["decision_id"] == "d"
    assert (record(place.playbook), labels(place.playbook)) == ((0, 0, 1), [])
    named = {"who": "ann", "verdict": "DECLINE", "why": "this payment", "decision_id": "d"}
    assert place.send(Command(resume=named))["verdict"] == "right"
    assert record(place.playbook) == (1, 0, 1)


def test_resuming_twice_counts_once(place: Place) -> None:
    place.send(GIVEN)
    first = place.send(verdict("ann", "DECLINE"))
    again = place.send(verdict("bob", "APPROVE"))
    assert again["decision"] == first["decision"] == "DECLINE"
    assert labels(place.playbook) == [("DECLINE", "analyst:ann")]
    assert record(place.playbook) == (1, 0, 1)


def test_a_process_that_dies_while_it_waits_loses_nothing(place: Place) -> None:
    given = (place.playbook_url, place.saver_url, THREAD)
    worker = PROCESSES.Process(target=pause_and_die, args=given)
    worker.start()
    worker.join(60)
    assert worker.exitcode == 9
    assert [w.id for w in waiting(place.playbook)] == ["d"]
    assert place.send(verdict("ann", "DECLINE"))["verdict"] == "right"
    assert record(place.playbook) == (1, 0, 1)


def test_an_answer_that_was_written_before_a_crash_stands(place: Place) -> None:
    """The ledger has the verdict, the checkpoint does not: the node runs again."""
    place.send(GIVEN)
    feedback(place.playbook, "d", "DECLINE", source="analyst:ann")
    result = place.send(verdict("ann", "APPROVE", "by mistake"))
    assert (result["decision"], result["review"]["who"]) == ("DECLINE", "ann")
    assert labels(place.playbook) == [("DECLINE", "analyst:ann")]
    assert record(place.playbook) == (1, 0, 1)


def at_once(place: Place, *answers: Any) -> list[dict[str, Any]]:
    """Several people answer the same question, each through a connection of their own."""
    start = Barrier(len(answers))

    def answer(what: Any) -> dict[str, Any]:
        start.wait(30)
        return place.send(what)

    with ThreadPoolExecutor(len(answers)) as people:
        return list(people.map(answer, answers))


def test_of_two_reviewers_at_once_one_counts(place: Place) -> None:
    place.send(GIVEN)
    at_once(place, verdict("ann", "DECLINE"), verdict("bob", "APPROVE"))
    ((label, who),) = labels(place.playbook)
    assert who in ("analyst:ann", "analyst:bob")
    assert record(place.playbook) == ((1, 0, 1) if label == "DECLINE" else (0, 1, 1))


def test_nobody_approves_their_own_proposal(place: Place) -> None:
    place.send(GIVEN)
    question = asked(place.send(verdict("ann", "APPROVE")))
    assert (question["kind"], question["content"]) == ("approval", LEARNED)
    assert place.playbook.get_bullet("b2").status == "candidate"
    for own in ("ann", " Ann", "ANN"):
        assert "cannot approve" in asked(place.send(approval(own, True)))["error"]
    assert "approve" in asked(place.send(approval("bob", "yes")))["error"]
    other = {"who": "bob", "approve": True, "why": "read it", "bullet": "b1"}
    assert "question about b2" in asked(place.send(Command(resume=other)))["error"]
    assert place.playbook.get_bullet("b2").status == "candidate"
    result = place.send(approval("bob", True, "two clerks checked it"))
    assert (result["new_bullet"], result["decision"]) == ("b2", "APPROVE")
    assert place.playbook.get_bullet("b2").status == "active"
    last = place.playbook.history()[-1]
    assert (last["source"], last["reason"]) == ("analyst:bob", "approved: two clerks checked it")
    assert place.send(approval("carl", False))["new_bullet"] == "b2"
    assert place.playbook.get_bullet("b2").status == "active"
    assert (record(place.playbook), record(place.playbook, "b2")) == ((0, 1, 1), (0, 0, 0))


def test_of_two_approvers_at_once_one_counts(place: Place) -> None:
    place.send(GIVEN)
    place.send(verdict("ann", "APPROVE"))
    at_once(place, approval("bob", True), approval("carl", False))
    said = [h for h in place.playbook.history() if h["source"].startswith("analyst:")]
    assert len(said) == 1
    expected = {"analyst:bob": "active", "analyst:carl": "retired"}[said[0]["source"]]
    assert place.playbook.get_bullet("b2").status == expected


def paused(playbook: BulletPlaybook, **parts: Any) -> tuple[Any, Any]:
    graph = create_ace_graph(playbook=playbook, context=ASK, review=True, **parts)
    compiled = graph.compile(checkpointer=InMemorySaver())
    return compiled, asked(compiled.invoke(GIVEN, THREAD))


@pytest.mark.parametrize("checkpointer", [None, InMemorySaver()], ids=["no saver", "saver"])
def test_a_payment_that_waits_for_a_person_is_not_approved(checkpointer: Any) -> None:
    graph = create_ace_graph(
        context=ASK, review=True, agent=lambda given: {"decision": "APPROVE", "risk_score": 0.5}
    ).compile(checkpointer=checkpointer)
    config = {"configurable": {"thread_id": "waits"}}
    result = graph.invoke({"transaction": "pays $5", "decision_id": "w"}, config)
    assert (result["decision"], asked(result)["decision"]) == ("UNDECIDED", "APPROVE")
    assert result["undecided"].startswith("waits for a person: APPROVE at risk 0.5")
    answer = create_fraud_tool(graph).invoke({"transaction": "pays $6"}, config)
    assert json.loads(answer)["decision"] == "UNDECIDED"
    if checkpointer:
        final = graph.invoke(verdict("ann", "APPROVE"), config)
        assert (final["decision"], final["undecided"]) == ("APPROVE", None)


def test_an_undecided_run_waits_for_a_person() -> None:
    def broken(given: Any) -> Any:
        raise ModelUnavailable("no answer in time")

    playbook = BulletPlaybook()
    playbook.add_bullet(RULE, "fraud_detection", "online")
    graph, question = paused(playbook, agent=broken)
    assert (question["decision"], question["undecided"]) == (None, "agent: no answer in time")
    assert [(w.id, w.why) for w in waiting(playbook)] == [("d", "the agent could not decide")]
    result = graph.invoke(verdict("ann", "DECLINE"), THREAD)
    assert (result["decision"], result["is_correct"]) == ("DECLINE", None)
    assert labels(playbook) == [("DECLINE", "analyst:ann")]
    assert (record(playbook), waiting(playbook), verify(playbook)) == ((0, 0, 0), [], [])
    again = graph.invoke(GIVEN, {"configurable": {"thread_id": "another"}})
    assert (again["decision"], asked(again)) == ("DECLINE", None)


def test_an_undecided_run_is_redacted_too() -> None:
    is_up: list[bool] = []

    def agent(given: Any) -> Any:
        if not is_up:
            raise ModelUnavailable("no answer in time")
        return {"decision": "DECLINE", "risk_score": 0.9}

    playbook = hiding(["customer_id"])
    graph = create_ace_graph(playbook=playbook, agent=agent, review=True)
    compiled = graph.compile(checkpointer=InMemorySaver())
    given = {"transaction": {"amount": 40, "customer_id": "C-1-anna"}, "decision_id": "d"}
    assert asked(compiled.invoke(given, THREAD))["kind"] == "verdict"
    stored = playbook.decision("d")
    assert stored["fields"] == {"amount": 40}
    assert "anna" not in stored["text"]
    is_up.append(True)
    again = compiled.invoke(given, {"configurable": {"thread_id": "another"}})
    assert (again["decision"], playbook.decision("d")["decision"]) == ("DECLINE", "DECLINE")


def test_who_was_erased_waits_no_longer() -> None:
    def broken(given: Any) -> Any:
        raise ModelUnavailable("no answer in time")

    playbook = BulletPlaybook()
    paused(playbook, agent=broken)
    assert [w.id for w in waiting(playbook)] == ["d"]
    erase(playbook, ["d"])
    assert (waiting(playbook), verify(playbook)) == ([], [])


def test_a_decision_whose_label_was_purged_waits_again() -> None:
    playbook = BulletPlaybook()
    paused(playbook, agent=lambda given: {"decision": "DECLINE", "risk_score": 0.5})
    feedback(playbook, "d", "DECLINE", source="feed")
    assert waiting(playbook) == []
    purge(playbook, "feed")
    assert [w.id for w in waiting(playbook)] == ["d"]


def test_a_person_answers_where_the_judge_failed() -> None:
    def broken(given: Any) -> Any:
        raise ModelUnavailable("no answer in time")

    playbook = BulletPlaybook()
    graph, question = paused(
        playbook,
        judge=broken,
        agent=lambda given: {"decision": "DECLINE", "risk_score": 0.5},
        reflector=lambda given: {"new_bullet": LEARNED},
    )
    assert question["undecided"] == "judge: no answer in time"
    assert asked(graph.invoke(verdict("ann", "APPROVE"), THREAD))["kind"] == "approval"
    result = graph.invoke(approval("bob", True), THREAD)
    assert (result["verdict"], result["undecided"], result["new_bullet"]) == ("wrong", None, "b1")


def test_a_judges_opinion_does_not_take_the_question_away() -> None:
    playbook = BulletPlaybook()
    graph, question = paused(
        playbook,
        judge=lambda given: {"is_correct": True, "confidence": 0.7},
        agent=lambda given: {"decision": "DECLINE", "risk_score": 0.5},
    )
    assert question["kind"] == "verdict"
    assert [w.id for w in waiting(playbook)] == ["d"]
    result = graph.invoke(verdict("ann", "DECLINE"), THREAD)
    assert result["verdict"] == "right"
    assert labels(playbook) == [("DECLINE", "analyst:ann")]  # the judge was never measured
    assert waiting(playbook) == []


def test_outside_the_band_nobody_is_asked() -> None:
    graph = graph_on(BulletPlaybook(), InMemorySaver())
    for low, high, pauses in ((0.4, 0.6, True), (0.51, 0.6, False), (0.1, 0.49, False)):
        context = AceContext(policy={"review_from": low, "review_to": high})
        result = graph.invoke({"transaction": "pays $5"}, THREAD, context=context)
        assert bool(asked(result)) == pauses


def test_a_known_answer_stands_beside_a_persons_verdict() -> None:
    playbook = BulletPlaybook()
    graph = graph_on(playbook, InMemorySaver())
    graph.invoke({**GIVEN, "ground_truth": "DECLINE"}, THREAD)
    result = graph.invoke(verdict("ann", "APPROVE"), THREAD)
    assert (result["decision"], result["verdict"]) == ("APPROVE", "right")
    assert labels(playbook) == [("DECLINE", "label")]


def test_a_known_answer_stands_where_the_agent_failed_and_is_told_to_the_person() -> None:
    def broken(given: Any) -> Any:
        raise ModelUnavailable("no answer in time")

    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook, agent=broken, review=True).compile(
        checkpointer=InMemorySaver()
    )
    question = asked(graph.invoke({**GIVEN, "ground_truth": "DECLINE"}, THREAD))
    assert (question["decision"], question["known_label"]) == (None, "DECLINE")
    assert graph.invoke(verdict("ann", "APPROVE"), THREAD)["decision"] == "APPROVE"
    assert labels(playbook) == [("DECLINE", "label")]


def test_no_step_of_a_run_that_will_wait_says_approve() -> None:
    graph = create_ace_graph(
        context=ASK, review=True, agent=lambda given: {"decision": "APPROVE", "risk_score": 0.5}
    ).compile(checkpointer=InMemorySaver())
    steps = list(graph.stream({"transaction": "pays $5"}, THREAD, stream_mode="values"))
    assert {step["decision"] for step in steps if "decision" in step} == {"UNDECIDED"}
    assert graph.get_state(THREAD).values["held"] == "APPROVE"


def test_a_rejected_bullet_is_retired_with_the_reason() -> None:
    playbook = BulletPlaybook()
    graph = graph_on(playbook, InMemorySaver())
    graph.invoke(
        {**GIVEN, "ground_truth": "APPROVE"},
        THREAD,
        context=AceContext(policy={"review_from": 0.9, "review_to": 1}),
    )
    assert [w.kind for w in waiting(playbook)] == ["approval"]
    assert graph.invoke(approval("ann", False, "too wide"), THREAD)["new_bullet"] is None
    assert playbook.get_bullet("b1").status == "retired"
    assert playbook.history()[-1]["reason"] == "rejected: too wide"


def test_a_late_label_of_a_reviewed_run_waits_for_approval_too() -> None:
    playbook = BulletPlaybook()
    graph_on(playbook, InMemorySaver()).invoke(GIVEN, THREAD)
    found = feedback(
        playbook, "d", "APPROVE", source="ann", reflector=lambda given: {"new_bullet": LEARNED}
    )
    assert found.curation is not None
    assert playbook.get_bullet(str(found.curation.bullet_id)).status == "candidate"


def run_cli(url: str, *args: str) -> tuple[int, str]:
    """The command line as a user has it, and what it says."""
    done = CliRunner().invoke(app, ["review", *args, "--playbook", url])
    said = str(done.exception) if isinstance(done.exception, AceError) else done.output
    return done.exit_code, said


def test_the_command_line_lists_what_waits_and_answers_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    saver = InMemorySaver()
    with BulletPlaybook(url) as playbook:
        graph = graph_on(playbook, saver)
        graph.invoke(GIVEN, THREAD)
        assert "verdict   d  since" in run_cli(url)[1]
        code, said = run_cli(url, "d", "--verdict", "DECLINE", "--why", "x")
        assert (code, said) == (
            1,
            "who: a name has 1 to 100 plain letters, digits, spaces or ._@+-",
        )
        signed = ("--who", "ann", "--why", "known")
        assert "by: analyst:ann" in run_cli(url, "d", "--verdict", "DECLINE", *signed)[1]
        told = json.loads(run_cli(url, "d", "--verdict", "DECLINE", *signed, "--json")[1])
        assert told["stands"] == {"label": "DECLINE", "source": "analyst:ann"}
        assert run_cli(url)[1] == "nothing waits for a person\n"
        assert (
            "stands: label DECLINE, source analyst:ann"
            in run_cli(url, "d", "--verdict", "APPROVE", "--who", "bob", "--why", "x")[1]
        )
        assert graph.invoke(verdict("bob", "APPROVE"), THREAD)["decision"] == "DECLINE"

        second = {"configurable": {"thread_id": "2"}}
        graph.invoke({**GIVEN, "decision_id": "e", "ground_truth": "APPROVE"}, second)
        graph.invoke(verdict("ann", "APPROVE"), second)
        assert "approval  b1" in run_cli(url)[1]
        assert "approve or --reject" in run_cli(url, "b1")[1]
        restored = CliRunner().invoke(app, ["playbook", "set", "b1", "active", "--playbook", url])
        assert "waits for approval" in str(restored.exception)
        approved = run_cli(url, "b1", "--approve", "--who", "bob", "--why", "read it")[1]
        assert approved == "  bullet: b1\n  status: active\n  changed: True\n"
        late = run_cli(url, "b1", "--reject", "--who", "carl", "--why", "late")[1]
        assert late == "  bullet: b1\n  status: active\n  changed: False\n"
        assert graph.invoke(approval("carl", False), second)["new_bullet"] == "b1"
        assert verify(playbook) == []


async def test_it_pauses_and_resumes_under_ainvoke(tmp_path: Path) -> None:
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as playbook:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.db")) as saver:
            saver.serde = strict_serializer()
            graph = graph_on(playbook, saver)
            assert asked(await graph.ainvoke(GIVEN, THREAD))["kind"] == "verdict"
            assert "error" in asked(await graph.ainvoke(Command(resume=1), THREAD))
            question = asked(await graph.ainvoke(verdict("ann", "APPROVE"), THREAD))
            assert question["kind"] == "approval"
            result = await graph.ainvoke(approval("bob", True), THREAD)
        assert result["new_bullet"] == "b1"
        assert verify(playbook) == []


class Payment(TypedDict, total=False):
    transaction: dict[str, int]
    decision_id: str
    decision: str
    booked: str


def test_it_pauses_and_resumes_inside_a_host() -> None:
    playbook = BulletPlaybook()
    host = StateGraph(Payment)
    host.add_node("fraud", graph_on(playbook))
    host.add_node("book", lambda state: {"booked": state["decision"]})
    host.add_edge(START, "fraud")
    host.add_edge("fraud", "book")
    host.add_edge("book", END)
    graph = host.compile(checkpointer=InMemorySaver())
    assert asked(graph.invoke(GIVEN, THREAD))["kind"] == "verdict"
    assert asked(graph.invoke(verdict("ann", "APPROVE"), THREAD))["kind"] == "approval"
    assert "cannot" in asked(graph.invoke(approval("ann", True), THREAD))["error"]
    result = graph.invoke(approval("bob", True), THREAD)
    assert result["booked"] == "APPROVE"
    assert playbook.get_bullet("b1").status == "active"


def test_the_graph_has_these_nodes_only_when_asked() -> None:
    five = {"selector", "agent", "judge", "reflector", "curator"}
    assert set(create_ace_graph().nodes) == five
    assert set(create_ace_graph(review=True).nodes) == five | {"review", "approval"}


def test_a_payment_that_a_person_answered_is_not_decided_anew(place: Place) -> None:
    place.send(GIVEN)
    answer_outside_run(place.playbook, "d", {"who": "ann", "verdict": "APPROVE", "why": "known"})
    graph, sure = graph_on(place.playbook), AceContext(policy={"review_from": 0.9, "review_to": 1})
    again = graph.invoke(GIVEN, context=sure)
    assert (again["decision"], again["review"]["who"], again["verdict"]) == (
        "APPROVE",
        "ann",
        "wrong",
    )
    other = graph.invoke({**GIVEN, "decision_id": "e"}, context=sure)
    assert (other["decision"], other["review"]) == ("DECLINE", None)


def test_the_first_persons_word_is_the_answer_whatever_is_labelled_since(place: Place) -> None:
    place.send(GIVEN)
    answer_outside_run(place.playbook, "d", {"who": "ann", "verdict": "APPROVE", "why": "known"})
    feedback(place.playbook, "d", "DECLINE", source="chargeback")
    result = place.send(verdict("bob", "DECLINE"))
    assert (result["decision"], result["review"]["who"]) == ("APPROVE", "ann")
    assert (result["verdict"], record(place.playbook)) == ("right", (1, 0, 1))
    said = [("APPROVE", "analyst:ann"), ("DECLINE", "chargeback")]
    assert labels(place.playbook) == said


def test_a_word_that_was_taken_back_answers_nothing(place: Place) -> None:
    place.send(GIVEN)
    feedback(place.playbook, "d", "APPROVE", source="analyst:ann")
    feedback(place.playbook, "d", "DECLINE", source="chargeback")
    purge(place.playbook, "analyst:ann")
    result = place.send(verdict("bob", "DECLINE"))
    assert (result["decision"], result["review"]["who"]) == ("DECLINE", "bob")


@pytest.mark.parametrize("low", [0, 0.9])
@pytest.mark.parametrize("learned", [LEARNED, None])
def test_the_answer_has_its_decision_id_whoever_was_asked(low: float, learned: str | None) -> None:
    ask = AceContext(mode="online", policy={"review_from": low, "review_to": 1, "judge_bar": 0})
    graph = create_ace_graph(
        agent=lambda given: {"decision": "DECLINE", "risk_score": 0.5},
        judge=lambda given: {"is_correct": False, "confidence": 0.9},
        reflector=lambda given: {"new_bullet": learned} if learned else None,
        context=ask,
        review=True,
    ).compile(checkpointer=InMemorySaver())
    result = graph.invoke(GIVEN, THREAD)
    while question := asked(result):
        assert result["decision_id"] == "d"
        is_verdict = question["kind"] == "verdict"
        answer = verdict("ann", "APPROVE") if is_verdict else approval("bob", True)
        result = graph.invoke(answer, THREAD)
    assert (result["decision_id"], result["new_bullet"]) == ("d", "b1" if learned else None)
    assert graph.get_state(THREAD).values["decision_id"] == "d"


class Batch(TypedDict, total=False):
    payments: list[dict[str, Any]]
    told: Annotated[list[tuple[str, str]], operator.add]


def test_payments_that_are_sent_out_at_once_come_back_with_their_ids() -> None:
    watched = graph_on(BulletPlaybook())

    def check(state: dict[str, Any]) -> dict[str, Any]:
        found = watched.invoke(state)
        return {"told": [(found["decision_id"], found["decision"])]}

    host = StateGraph(Batch)
    host.add_node("check", check)
    host.add_conditional_edges(START, lambda state: [Send("check", p) for p in state["payments"]])
    graph = host.compile(checkpointer=InMemorySaver())
    result = graph.invoke({"payments": [{**GIVEN, "decision_id": i} for i in "xyz"]}, THREAD)
    answers = {
        i.id: {"who": "ann", "verdict": "DECLINE", "why": "all of them"}
        for i in result["__interrupt__"]
    }
    result = graph.invoke(Command(resume=answers), THREAD)
    assert result["told"] == [(i, "DECLINE") for i in "xyz"]


@pytest.mark.parametrize("word", ["yes", "no", "true", "fraud", "legit", "1", "", True, 1, 0, None])
def test_a_persons_verdict_is_one_of_two_words(word: Any) -> None:
    graph = graph_on(BulletPlaybook(), InMemorySaver())
    graph.invoke(GIVEN, THREAD)
    question = asked(graph.invoke(verdict("ann", word), THREAD))
    assert question["error"] == f"verdict: APPROVE or DECLINE wanted, not {word!r}"
    assert graph.invoke(verdict("ann", " Declined "), THREAD)["decision"] == "DECLINE"


def test_a_verdict_in_other_words_is_an_error_of_one_line(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as playbook:
        graph_on(playbook, InMemorySaver()).invoke(GIVEN, THREAD)
        answer = ("d", "--verdict", "yes", "--who", "ann", "--why", "fine")
        done = run(tmp_path, "review", *answer, "--playbook", url, code=2)
        assert labels(playbook) == []
    assert done.stderr == "acegraph: verdict: APPROVE or DECLINE wanted, not 'yes'\n"


def test_a_question_says_what_becomes_of_the_reason() -> None:
    playbook = BulletPlaybook()
    graph = graph_on(playbook, InMemorySaver())
    question = asked(graph.invoke(GIVEN, THREAD))
    fields = question["response_schema"]["properties"]
    assert "kept in the ledger" in fields["why"]["description"]
    question = asked(graph.invoke(verdict("ann", "APPROVE", "an old friend"), THREAD))
    fields = question["response_schema"]["properties"]
    assert "kept in the history" in fields["why"]["description"]
    result = graph.invoke(approval("bob", True, "read it twice"), THREAD)
    assert result["reasons"][-1] == "analyst:ann: an old friend"
    assert playbook.history()[-1]["reason"] == "approved: read it twice"


def switch(url: str, word: str) -> str:
    """What `acegraph playbook set` says of b1."""
    done = CliRunner().invoke(app, ["playbook", "set", "b1", word, "--playbook", url])
    assert done.exit_code == 0, done.exception
    return done.output


def test_what_nobody_approved_does_not_become_active_by_being_restored(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as playbook:
        graph = graph_on(playbook, InMemorySaver())
        graph.invoke(GIVEN, THREAD)
        graph.invoke(verdict("ann", "APPROVE"), THREAD)
        signed = ("--who", "bob", "--why", "read it")
        for _ in range(2):
            switch(url, "retired")
            assert "status: candidate" in switch(url, "active")
            assert playbook.get_bullet("b1").status == "candidate"
        run_cli(url, "b1", "--reject", *signed)
        switch(url, "active")
        assert [w.id for w in waiting(playbook)] == ["b1"]
        assert "cannot approve" in run_cli(url, "b1", "--approve", "--who", "ann", "--why", "x")[1]
        run_cli(url, "b1", "--approve", *signed)
        assert verify(playbook) == []


def test_who_corrects_himself_is_told_that_his_first_word_stands(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as playbook:
        graph_on(playbook, InMemorySaver()).invoke(GIVEN, THREAD)
        signed = ("--who", "Bob B", "--why", "x")
        run_cli(url, "d", "--verdict", "DECLINE", *signed)
        told = run_cli(url, "d", "--verdict", "APPROVE", *signed)[1]
        assert "stands: label DECLINE, source analyst:Bob B" in told
        told = json.loads(run_cli(url, "d", "--verdict", "APPROVE", *signed, "--json")[1])
        assert (told["verdict"], told["by"]) == ("DECLINE", "analyst:Bob B")
        assert labels(playbook) == [("DECLINE", "analyst:Bob B")]


def test_a_band_in_which_nobody_is_asked_is_refused() -> None:
    with pytest.raises(InvalidSettings, match=r"review_from 0\.8 is above review_to 0\.1"):
        AceContext(policy={"review_from": 0.8, "review_to": 0.1})
    assert AceContext(policy={"review_from": 0.5, "review_to": 0.5}).policy
    result = graph_on(BulletPlaybook()).invoke(
        GIVEN, context=AceContext(policy={"review_from": 0.9, "review_to": 1})
    )
    assert (result["decision"], result["review"]) == ("DECLINE", None)


def test_what_was_retired_by_mistake_weighs_after_its_return_what_it_weighed_before() -> None:
    with BulletPlaybook() as playbook:
        bullet_id = playbook.add_bullet("DECLINE when amount >= 900", "fraud_detection")
        playbook.set_weights({bullet_id: 1.25})
        version = playbook.version
        assert switch_bullet(playbook, bullet_id, "retired", "a mistake", "user:ann")
        assert switch_bullet(playbook, bullet_id, "active", "undone", "user:ann")
        assert playbook.get_bullet(bullet_id).weight == 1.25
        switch_bullet(playbook, bullet_id, "retired", "a mistake again", "user:ann")
        rollback(playbook, version)
        assert playbook.get_bullet(bullet_id).weight == 1.25


def say(url: str, *words: str) -> str:
    """What a command prints, or why it is refused."""
    done = CliRunner().invoke(app, [*words, "--playbook", url])
    return str(done.exception) if done.exception else done.output


SIGNED = ("--why", "checked", "--who")


def test_an_approve_rule_waits_for_a_second_person(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as playbook:
        origin = {"author": "ann"}
        for status in ("candidate", "retired"):
            playbook.add_bullet("APPROVE when amount < 9", NODE, status=status, origin=origin)
        say(url, "playbook", "set", "b2", "active", *SIGNED, "cleo")
        for bullet_id, who in (("b1", "ann"), ("b2", "ann"), ("b2", " Cleo")):
            refused = say(url, "review", bullet_id, "--approve", *SIGNED, who)
            assert "ask somebody else" in refused
            assert playbook.get_bullet(bullet_id).status == "candidate"
        for bullet_id in ("b1", "b2"):
            assert "status: active" in say(url, "review", bullet_id, "--approve", *SIGNED, "bob")
            assert playbook.history(bullet_id)[-1]["reason"] == "approved: checked"
        assert waiting(playbook) == []


def test_a_decline_rule_acts_at_once_and_is_shown_to_a_second_person(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as playbook:
        origin = {"author": "ann"}
        for status in ("candidate", "retired"):
            playbook.add_bullet(RULE, NODE, status=status, origin=origin)
        assert "status: active" in say(url, "review", "b1", "--approve", *SIGNED, "ann")
        say(url, "playbook", "set", "b2", "active", *SIGNED, "ann")
        assert [b.status for b in playbook] == ["active", "active"]
        assert "analyst:ann let it act: checked" in say(url, "review")
        assert "ask somebody else" in say(url, "review", "b1", "--approve", *SIGNED, "ann")
        say(url, "review", "b1", "--approve", *SIGNED, "bob")
        say(url, "review", "b2", "--reject", *SIGNED, "bob")
        assert [b.status for b in playbook] == ["active", "retired"]
        assert waiting(playbook) == []


def test_one_person_alone_says_so_and_it_is_recorded_unless_there_are_users(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as playbook:
        for status in ("candidate", "retired", "retired"):
            rule, origin = "APPROVE when amount < 9", {"author": "ann"}
            playbook.add_bullet(rule, NODE, status=status, origin=origin)
        say(url, "review", "b1", "--approve", "--alone", *SIGNED, "ann")
        say(url, "playbook", "set", "b2", "active", "--alone", *SIGNED, "ann")
        reasons = [playbook.history(bullet_id)[-1]["reason"] for bullet_id in ("b1", "b2")]
        assert reasons == ["approved alone: checked", "alone: checked"]
        assert [b.status for b in playbook] == ["active", "active", "retired"]
        say(url, "users", "bob", "--role", "approver")
        for words in (("playbook", "set", "b3", "active"), ("policy", "explore=0.1")):
            assert say(url, *words, "--alone", *SIGNED, "ann").startswith("--alone is for one")
        assert playbook.get_bullet("b3").status == "retired"
        assert (waiting(playbook), playbook.policy().version) == ([], 0)
