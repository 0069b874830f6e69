"""The compiled graph: its shape, its routes, its modes, what a run leaves behind."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hidden import hiding
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy
from typing_extensions import TypedDict

from acegraph.graph import create_ace_graph, feedback, generate_transactions
from acegraph.state import (
    AceContext,
    BulletPlaybook,
    Case,
    DecisionConflict,
    Field,
    InvalidInput,
    InvalidSettings,
    InvalidTransaction,
    ModelUnavailable,
    Task,
    Transaction,
)
from acegraph.state.maintenance.people.review_queue import waiting

NODE = "fraud_detection"
RISKY = "User pays $2,500 at 3 AM via VPN, account is 2 days old"
CALM = "Customer for 6 years pays $20 at a supermarket at 2 PM"


def nodes_passed(graph: Any, given: dict[str, Any], **settings: Any) -> list[str]:
    context = AceContext(**settings)
    return [name for update in graph.stream(given, context=context) for name in update]


def counters(playbook: BulletPlaybook) -> list[tuple[int, int, int]]:
    return [(b.helpful_count, b.harmful_count, b.times_selected) for b in playbook]


def with_history(playbook: BulletPlaybook) -> None:
    """Forty labelled cases in which cheap payments at an even hour are fraud."""
    playbook.remember(
        [
            Case(f"h{i}", {"amount": float(i), "hour": i % 24}, "DECLINE" if i < 25 else "APPROVE")
            for i in range(50)
        ],
        NODE,
    )


def test_the_graph_has_the_five_nodes() -> None:
    drawn = create_ace_graph().compile().get_graph()
    names = {"selector", "agent", "judge", "reflector", "curator"}
    assert set(drawn.nodes) - {"__start__", "__end__"} == names
    edges = {(e.source, e.target, e.conditional) for e in drawn.edges}
    assert ("judge", "reflector", True) in edges
    assert ("judge", "__end__", True) in edges


def test_a_compiled_graph_has_a_name_that_hosts_accept() -> None:
    assert create_ace_graph().compile().name == "ace"
    assert create_ace_graph().compile(name="fraud").name == "fraud"


def test_a_right_decision_ends_after_the_judge() -> None:
    graph = create_ace_graph().compile()
    assert nodes_passed(graph, {"transaction": RISKY, "ground_truth": "DECLINE"}) == [
        "selector",
        "agent",
        "judge",
    ]


def test_a_wrong_decision_passes_reflector_and_curator() -> None:
    graph = create_ace_graph().compile()
    assert nodes_passed(graph, {"transaction": RISKY, "ground_truth": "APPROVE"}) == [
        "selector",
        "agent",
        "judge",
        "reflector",
        "curator",
    ]


@pytest.mark.parametrize("settings", [{"mode": "vanilla"}, {"learn": False}])
def test_a_run_that_does_not_learn_ends_after_the_judge(settings: dict[str, Any]) -> None:
    given = {"transaction": RISKY, "ground_truth": "APPROVE"}
    passed = nodes_passed(create_ace_graph().compile(), given, **settings)
    assert passed == ["selector", "agent", "judge"]


def test_one_of_k_right_decisions_is_learned_from_when_asked() -> None:
    graph = create_ace_graph().compile()
    given: list[dict[str, Any]] = [
        {"transaction": RISKY, "ground_truth": "DECLINE", "decision_id": f"d{i}"} for i in range(12)
    ]
    lengths = [len(nodes_passed(graph, one, learn_every=3)) for one in given]
    assert sorted(set(lengths)) == [3, 5]
    assert 1 <= lengths.count(5) <= 8
    again = [len(nodes_passed(create_ace_graph().compile(), one, learn_every=3)) for one in given]
    assert again == lengths


def test_a_mistake_teaches_a_rule_that_mends_it() -> None:
    playbook = BulletPlaybook()
    with_history(playbook)
    graph = create_ace_graph(playbook=playbook).compile()
    given = {"transaction": {"amount": 7.0, "hour": 15}, "ground_truth": "DECLINE"}
    first = graph.invoke(given)
    assert (first["decision"], first["verdict"], first["new_bullet"]) == ("APPROVE", "wrong", "b1")
    again = graph.invoke(given)
    assert (again["decision"], again["verdict"]) == ("DECLINE", "right")
    assert again["bullets_used"] == ["b1"]
    assert counters(playbook) == [(1, 0, 1)]


@pytest.mark.parametrize("mode", ["vanilla", "offline_online", "online"])
def test_invoke_batch_and_stream_agree(mode: str) -> None:
    graph = create_ace_graph().compile()
    context = AceContext(mode=mode, learn=False)  # type: ignore[arg-type]
    given = [{"transaction": e.query, "ground_truth": e.answer} for e in generate_transactions(6)]

    async def alone() -> list[Any]:
        return [await graph.ainvoke(g, context=context) for g in given]

    async def together() -> list[Any]:
        return await graph.abatch(given, context=context)

    ways = [
        [graph.invoke(g, context=context) for g in given],
        graph.batch(given, context=context),
        asyncio.run(alone()),
        asyncio.run(together()),
        [list(graph.stream(g, context=context, stream_mode="values"))[-1] for g in given],
    ]
    decisions = [[result["decision"] for result in way] for way in ways]
    assert all(way == decisions[0] for way in decisions)


def test_vanilla_selects_nothing_and_learns_nothing() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount < 100", NODE)
    graph = create_ace_graph(playbook=playbook).compile()
    result = graph.invoke(
        {"transaction": CALM, "ground_truth": "DECLINE"},
        context=AceContext(mode="vanilla", learn=True),
    )
    assert (result["decision"], result["verdict"]) == ("APPROVE", "wrong")
    assert counters(playbook) == [(0, 0, 0)]
    assert len(playbook.cases(NODE)) == 0


def test_online_mode_sees_online_bullets_only() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount < 100", NODE, "offline")
    graph = create_ace_graph(playbook=playbook).compile()
    assert (
        graph.invoke({"transaction": CALM}, context=AceContext(mode="online"))["decision"]
        == "APPROVE"
    )
    assert graph.invoke({"transaction": CALM})["decision"] == "DECLINE"


def test_a_frozen_run_moves_no_counter() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount < 100", NODE)
    graph = create_ace_graph(playbook=playbook).compile()
    context = AceContext(learn=False, source="offline")
    result = graph.invoke({"transaction": CALM, "ground_truth": "APPROVE"}, context=context)
    assert (result["decision"], result["verdict"]) == ("DECLINE", "wrong")
    assert counters(playbook) == [(0, 0, 0)]
    assert len(playbook) == 1


def test_without_a_judge_the_verdict_waits_and_feedback_settles_it() -> None:
    playbook = BulletPlaybook()
    with_history(playbook)
    playbook.add_bullet("APPROVE when hour >= 12", NODE)
    graph = create_ace_graph(playbook=playbook).compile()
    given = {"transaction": {"amount": 7.0, "hour": 15}, "decision_id": "mine"}
    assert nodes_passed(graph, given) == ["selector", "agent", "judge"]
    assert playbook.decision("mine")["decision"] == "APPROVE"
    assert counters(playbook) == [(0, 0, 1)]

    found = feedback(playbook, "mine", "DECLINE", source="chargeback")
    assert (found.is_correct, found.changed) == (False, True)
    assert counters(playbook)[0] == (0, 1, 1)
    assert found.curation is not None
    assert found.curation.action == "added"
    assert feedback(playbook, "mine", "DECLINE", source="chargeback").changed is False
    assert counters(playbook)[0] == (0, 1, 1)


@pytest.fixture(params=["memory", "sqlite"])
def checkpointer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        yield saver


def test_a_second_transaction_on_the_thread_inherits_nothing(checkpointer: Any) -> None:
    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook).compile(checkpointer=checkpointer)
    thread: Any = {"configurable": {"thread_id": "t"}}
    first = graph.invoke(
        {"transaction": RISKY, "ground_truth": "APPROVE", "decision_id": "one"}, thread
    )
    second = graph.invoke({"transaction": CALM}, thread)
    assert (first["verdict"], second["verdict"]) == ("wrong", "pending")
    assert second["decision_id"] != "one"
    kept = graph.get_state(thread).values
    assert kept["case"]["ground_truth"] is None
    assert (kept["reflection"], kept["curation"], kept["new_bullet"]) == (None, None, None)


def test_a_refused_run_leaves_its_ground_truth_to_nobody(checkpointer: Any) -> None:
    graph = create_ace_graph().compile(checkpointer=checkpointer)
    thread: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(InvalidInput):
        graph.invoke({"transaction": "", "ground_truth": "APPROVE", "decision_id": "one"}, thread)
    result = graph.invoke({"transaction": CALM}, thread)
    assert (result["verdict"], result["decision_id"] != "one") == ("pending", True)
    with pytest.raises(InvalidInput, match="found nothing"):
        graph.invoke({"ground_truth": "APPROVE"}, thread)


def test_a_decision_sent_three_times_counts_once() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount < 100", NODE)
    graph = create_ace_graph(playbook=playbook).compile()
    given = {"transaction": CALM, "ground_truth": "DECLINE", "decision_id": "mine"}
    assert {graph.invoke(given)["decision"] for _ in range(3)} == {"DECLINE"}
    assert counters(playbook) == [(1, 0, 1)]
    with pytest.raises(DecisionConflict):
        graph.invoke({**given, "transaction": RISKY})
    assert counters(playbook) == [(1, 0, 1)]


def test_a_node_that_runs_twice_counts_once() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount < 100", NODE)
    builder = create_ace_graph(playbook=playbook)
    judge = builder.nodes["judge"].runnable
    runs = []

    def judge_and_stumble(state: Any) -> Any:
        update = judge.invoke(state)
        runs.append(update["verdict"])
        if len(runs) == 1:
            raise ConnectionError("after the write, before the checkpoint")
        return update

    rebuilt = create_ace_graph(playbook=playbook)
    rebuilt.nodes.pop("judge")
    rebuilt.add_node("judge", judge_and_stumble, retry_policy=RetryPolicy(initial_interval=0.01))
    result = rebuilt.compile().invoke({"transaction": CALM, "ground_truth": "DECLINE"})
    assert runs == ["right", "right"]
    assert result["verdict"] == "right"
    assert counters(playbook) == [(1, 0, 1)]


def test_an_id_of_another_payment_is_not_tried_again() -> None:
    builder = create_ace_graph()
    judge = builder.nodes.pop("judge").runnable
    runs = []

    def counted(state: Any) -> Any:
        runs.append(state["case"]["id"])
        return judge.invoke(state)

    builder.add_node("judge", counted, retry_policy=RetryPolicy(initial_interval=0.01))
    graph = builder.compile()
    graph.invoke({"transaction": CALM, "decision_id": "order-1"})
    with pytest.raises(ValueError, match="another transaction"):  # a server shows its message
        graph.invoke({"transaction": RISKY, "decision_id": "order-1"})
    assert runs == ["order-1", "order-1"]


def test_credit_goes_to_what_fired_or_to_all_when_asked() -> None:
    for credit, expected in (
        ("part", [(1, 0, 1), (0, 0, 1)]),
        ("selected", [(1, 0, 1), (1, 0, 1)]),
    ):
        playbook = BulletPlaybook()
        playbook.add_bullet("DECLINE when amount < 100", NODE)
        playbook.add_bullet("Loyal customers at a supermarket, small amount", NODE)
        graph = create_ace_graph(playbook=playbook).compile()
        context = AceContext(credit=credit, semantic_threshold=0.2)  # type: ignore[arg-type]
        graph.invoke({"transaction": CALM, "ground_truth": "DECLINE"}, context=context)
        assert counters(playbook) == expected


def test_a_rule_that_is_not_shown_for_its_record_is_still_tested() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount < 100", NODE)
    playbook.update_stats("b1", False)
    graph = create_ace_graph(playbook=playbook).compile()
    result = graph.invoke({"transaction": CALM, "ground_truth": "DECLINE"})
    assert result["decision"] == "DECLINE"  # all active rules that hold decide
    assert counters(playbook) == [(1, 1, 1)]


def test_rules_that_cannot_say_do_not_push_out_one_that_holds() -> None:
    playbook = BulletPlaybook()
    for i in range(6):  # better records, on fields that the payment lacks
        rule = playbook.add_bullet(f"APPROVE when v{i} < 1", NODE, status="active")
        playbook.update_stats(rule, True)
    holds = playbook.add_bullet("DECLINE when v9 >= 1", NODE)
    graph = create_ace_graph(playbook=playbook).compile()
    result = graph.invoke({"transaction": {"v9": 2.0}})
    assert result["bullets_used"] == [holds]


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        (lambda given: "MAYBE", "APPROVE or DECLINE wanted"),
        (lambda given: {"decision": "APPROVE", "risk_score": 92}, "between 0 and 1"),
        (lambda given: {"reasons": ["none"]}, "APPROVE or DECLINE wanted"),
    ],
)
def test_a_failure_is_never_a_verdict(agent: Any, why: str) -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount < 100", NODE)
    graph = create_ace_graph(playbook=playbook, agent=agent).compile()
    result = graph.invoke({"transaction": CALM, "ground_truth": "APPROVE"})
    assert (result["decision"], result["verdict"], result["is_correct"]) == (
        "UNDECIDED",
        "undecided",
        None,
    )
    assert why in result["undecided"]
    assert counters(playbook) == [(0, 0, 0)]
    assert len(playbook) == 1


def test_a_time_out_of_any_part_is_no_verdict() -> None:
    def too_slow(given: Any) -> Any:
        raise TimeoutError("10 s")

    for part in ("agent", "judge"):
        graph = create_ace_graph(**{part: too_slow}).compile()  # type: ignore[arg-type]
        result = graph.invoke({"transaction": CALM})
        assert (result["verdict"], result["is_correct"]) == ("undecided", None)
        assert "10 s" in result["undecided"]
    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook, reflector=too_slow).compile()
    result = graph.invoke({"transaction": CALM, "ground_truth": "DECLINE"})
    assert (result["verdict"], result["new_bullet"]) == ("wrong", None)
    assert "10 s" in result["undecided"]
    assert len(playbook) == 0


def test_a_bug_in_a_collaborator_is_not_hidden() -> None:
    def broken(given: Any) -> Any:
        raise KeyError("typo")

    with pytest.raises(KeyError):
        create_ace_graph(agent=broken).compile().invoke({"transaction": CALM})


def test_any_function_is_a_collaborator() -> None:
    seen: list[Any] = []

    def agent(given: dict[str, Any]) -> dict[str, Any]:
        seen.append(given)
        return {"decision": "approve", "risk_score": 0.2, "reasons": ["mine"]}

    playbook = BulletPlaybook()
    graph = create_ace_graph(
        playbook=playbook,
        agent=agent,
        judge=lambda given: (False, 0.8),
        reflector=lambda given: {"new_bullet": "Watch out for quiet supermarkets"},
        context=AceContext(policy={"judge_bar": 0}),
    ).compile()
    result = graph.invoke({"transaction": CALM})
    assert (result["decision"], result["verdict"], result["confidence"]) == (
        "APPROVE",
        "wrong",
        0.8,
    )
    assert [b.content for b in playbook] == ["Watch out for quiet supermarkets"]
    assert seen[0]["transaction"] == CALM


def test_a_judges_opinion_is_no_evidence() -> None:
    playbook = BulletPlaybook()
    believed = AceContext(policy={"judge_bar": 0})
    graph = create_ace_graph(
        playbook=playbook, judge=lambda given: True, context=believed
    ).compile()
    graph.invoke({"transaction": CALM, "decision_id": "mine"})
    assert playbook.decision("mine")["label_source"] == "judge"
    assert len(playbook.cases(NODE)) == 0


@pytest.mark.parametrize(
    "given",
    [
        {"transaction": ""},
        {"transaction": "x" * 1_000_000},
        {"transaction": {}},
        {"transaction": {"when": object()}},
        {"transaction": CALM, "ground_truth": "PERHAPS"},
        {"transaction": CALM, "decision_id": "x" * 500},
        {"ground_truth": "APPROVE"},
    ],
)
def test_bad_input_is_a_clear_error_and_leaves_nothing(given: dict[str, Any]) -> None:
    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook).compile()
    with pytest.raises(InvalidInput) as error:
        graph.invoke(given)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
    assert (len(playbook), playbook.version, len(playbook.cases(NODE))) == (0, 0, 0)


@pytest.mark.parametrize(
    "text", ["NUL \x00 inside $5", "lone \ud800 surrogate $5", "bell \x07 and e\u0301 $5"]
)
def test_strange_characters_are_cleaned_and_stored(text: str, tmp_path: Path) -> None:
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as playbook:
        graph = create_ace_graph(playbook=playbook).compile()
        given = {"transaction": text, "ground_truth": "APPROVE", "decision_id": "mine"}
        assert graph.invoke(given)["decision"] == "APPROVE"
        kept = playbook.decision("mine")["text"]
    assert "\x00" not in kept
    kept.encode("utf-8")


def test_nested_lists_are_flattened() -> None:
    graph = create_ace_graph().compile()
    given = {"amount": 3, "items": [["a", 1], {"b": [2]}], "tags": ["x"], "card": {"age": [1, 2]}}
    assert graph.invoke({"transaction": given})["decision"] == "APPROVE"


@pytest.mark.parametrize("context", [{"mode": "telepathy"}, {"n_bullets": -1}, {"nonsense": 1}])
def test_an_unknown_setting_is_one_clear_line(context: dict[str, Any]) -> None:
    graph = create_ace_graph().compile()
    with pytest.raises(InvalidSettings) as error:
        graph.invoke({"transaction": CALM}, context=context)  # type: ignore[arg-type]
    assert next(iter(context)) in str(error.value)
    assert "\n" not in str(error.value)


def test_the_funnel_shows_why_a_bullet_was_not_shown() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount < 100", NODE)
    playbook.add_bullet("DECLINE when amount >= 100", NODE)
    playbook.add_bullet("A rule with a bad record", NODE)
    for _ in range(5):
        playbook.update_stats("b3", False)
    graph = create_ace_graph(playbook=playbook).compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    graph.invoke({"transaction": CALM}, thread)
    state = graph.get_state(thread).values
    assert state["funnel"] == {
        "context": 3,
        "quality": 2,
        "semantic": 1,
        "score": 1,
        "diversity": 1,
    }
    assert set(state["bullets"][0]["scores"]) >= {"quality", "semantic", "thompson", "final"}


async def test_thirty_two_runs_that_wait_do_not_wait_for_each_other() -> None:
    async def agent(given: dict[str, Any]) -> str:
        waiting.append(1)
        most.append(len(waiting))
        await asyncio.sleep(0.05)
        waiting.pop()
        return "APPROVE"

    waiting: list[int] = []
    most: list[int] = []
    graph = create_ace_graph(agent=agent).compile()
    await graph.abatch([{"transaction": CALM} for _ in range(32)])
    assert max(most) > 16


def test_an_asynchronous_agent_under_invoke_says_what_to_do() -> None:
    async def agent(given: dict[str, Any]) -> str:
        return "APPROVE"

    with pytest.raises(TypeError, match="ainvoke"):
        create_ace_graph(agent=agent).compile().invoke({"transaction": CALM})


def test_a_model_error_of_a_collaborator_keeps_its_reason() -> None:
    def agent(given: dict[str, Any]) -> str:
        raise ModelUnavailable("the line is dead")

    result = create_ace_graph(agent=agent).compile().invoke({"transaction": CALM})
    assert result["undecided"] == "agent: the line is dead"


def test_a_payment_on_which_the_agent_failed_can_be_labelled_and_sent_again() -> None:
    playbook, lines = BulletPlaybook(), [ConnectionError("reset"), TimeoutError()]

    def agent(given: dict[str, Any]) -> str:
        if lines:
            raise lines.pop()
        return "APPROVE"

    graph = create_ace_graph(playbook=playbook, agent=agent).compile()
    given = {"transaction": CALM, "decision_id": "order-1"}
    assert graph.invoke(given)["decision"] == "UNDECIDED"
    assert feedback(playbook, "order-1", "DECLINE").changed
    assert graph.invoke(given)["decision"] == "UNDECIDED"
    answered = graph.invoke(given)
    assert (answered["decision"], answered["verdict"]) == ("APPROVE", "wrong")


def test_nobody_is_asked_about_a_payment_whose_label_is_known_if_the_agent_fails() -> None:
    def agent(given: dict[str, Any]) -> str:
        raise TimeoutError

    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook, agent=agent).compile()
    graph.invoke({"transaction": CALM, "decision_id": "known", "ground_truth": "DECLINE"})
    graph.invoke({"transaction": CALM, "decision_id": "open"})
    assert [one.id for one in waiting(playbook)] == ["open"]


@pytest.mark.parametrize("answer", [False, 0, "No", "yes", "fraud", {"decision": False}, None])
def test_a_word_that_may_mean_either_is_no_decision_of_an_agent(answer: Any) -> None:
    result = create_ace_graph(agent=lambda _: answer).compile().invoke({"transaction": CALM})
    assert result["decision"] == "UNDECIDED"
    assert "APPROVE or DECLINE wanted" in result["undecided"]


@pytest.mark.parametrize(
    "answer", ["declined", AIMessage("DECLINE"), {"decision": "REJECT", "reasons": 5}]
)
def test_an_agent_may_answer_in_a_word_a_message_or_a_mapping(answer: Any) -> None:
    result = create_ace_graph(agent=lambda _: answer).compile().invoke({"transaction": CALM})
    assert result["decision"] == "DECLINE"


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"context": "vanilla"}, "context is an AceContext or a mapping of settings, not str"),
        ({"context": {"mood": "online"}}, "mood"),
        ({"curator": "strict"}, "curator is a Curator, not str"),
        ({"embeddings": "text-embedding-3-small"}, "embeddings is an embedder of LangChain"),
    ],
)
def test_what_is_of_another_kind_is_refused_at_once(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidSettings, match=fault):
        create_ace_graph(**given)


class Till(TypedDict, total=False):
    transaction: Any
    warnings: list[str]


def test_settings_that_a_host_puts_in_the_wrong_place_are_not_ignored_silently() -> None:
    host: Any = StateGraph(Till)
    host.add_node("fraud", create_ace_graph().compile())
    host.add_edge(START, "fraud")
    host.add_edge("fraud", END)
    till = host.compile()
    (warning,) = till.invoke({"transaction": CALM}, context={"mode": "vanilla"})["warnings"]
    assert "mode not used" in warning
    for own in ({"ace": {"mode": "vanilla"}}, {"shop": 7}, None):
        assert till.invoke({"transaction": CALM}, context=own)["warnings"] == []
    with pytest.raises(InvalidSettings, match=r"a mapping of settings, not str"):
        till.invoke({"transaction": CALM}, context={"ace": "vanilla"})


def test_settings_in_the_configuration_are_told_and_what_was_to_be_redacted_is_refused() -> None:
    graph = create_ace_graph().compile()
    given, wrong = {"transaction": CALM}, {"configurable": {"mode": "vanilla", "shop": 7}}
    (warning,) = graph.invoke(given, wrong)["warnings"]
    assert warning == "mode not used; give them in the context, in a host's under 'ace'"
    assert graph.invoke(given, wrong, context=AceContext(mode="vanilla"))["warnings"] == []
    assert graph.invoke(given, wrong, context={"mode": "vanilla"})["warnings"] == []  # type: ignore[arg-type]
    with pytest.raises(InvalidSettings, match="setting 'redact' is gone"):
        graph.invoke(given, {"configurable": {"redact": ["card"]}})


def test_a_run_without_a_transaction_says_that_nothing_waits() -> None:
    with pytest.raises(InvalidTransaction, match="nothing that waits for an answer"):
        create_ace_graph().compile().invoke({"transaction": None})


def test_a_text_that_is_an_object_of_json_is_read_as_its_fields() -> None:
    graph = create_ace_graph().compile()
    known, asked = BulletPlaybook(), '{"amount": 12.5, "hour": 14}'
    known.remember([Case(str(i), {"amount": 5.0 + i}, "APPROVE") for i in range(60)], NODE)
    for one in (graph, create_ace_graph(playbook=known).compile()):
        assert one.invoke({"transaction": asked})["decision"] == "APPROVE"
        assert one.invoke({"transaction": '{"amount": 12.5'})["decision"] == "UNDECIDED"
    with pytest.raises(InvalidTransaction, match="occurs twice"):
        graph.invoke({"transaction": '{"amount": 1, "amount": 9000}'})


def test_a_label_for_a_kept_payment_counts_though_the_agent_fails_again() -> None:
    def broken(given: Any) -> Any:
        raise ModelUnavailable("no answer in time")

    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook, agent=broken).compile()
    given = {"transaction": CALM, "decision_id": "d"}
    graph.invoke(given)
    assert playbook.decision("d")["label"] is None
    graph.invoke({**given, "ground_truth": "DECLINE"})
    assert playbook.decision("d")["label"] == "DECLINE"


def test_a_run_with_a_context_that_is_no_settings_is_refused() -> None:
    with pytest.raises(InvalidSettings, match="not str"):
        create_ace_graph().compile().invoke({"transaction": CALM}, context="vanilla")


def test_settings_may_be_a_mapping_and_a_playbook_a_file(tmp_path: Path) -> None:
    file = tmp_path / "book.db"
    graph = create_ace_graph(playbook=file, context={"node": "payments"}).compile()
    graph.invoke({"transaction": CALM, "decision_id": "d"})
    with BulletPlaybook(f"sqlite:///{file}") as playbook:
        assert playbook.decision("d")["node"] == "payments"


def test_an_agent_without_bullets_heeds_costs_too() -> None:
    graph = create_ace_graph().compile()
    given = {"transaction": {"amount": 60.0, "hour": 4}}
    plain = graph.invoke(given, context=AceContext(mode="vanilla"))
    costs = {"base_rate": 0.3, "costs": {"missed_fraud": 100, "false_decline": 1}}
    dear = graph.invoke(given, context=AceContext(mode="vanilla", policy=costs))
    assert (plain["decision"], dear["decision"]) == ("APPROVE", "DECLINE")
    assert any("too few labels tell how frequent DECLINE is" in why for why in plain["reasons"])
    assert any("by the costs" in why for why in dear["reasons"])


def test_an_id_sent_again_gives_the_whole_first_answer() -> None:
    answers = [
        {"decision": "APPROVE", "risk_score": 0.1, "reasons": ["fine"]},
        {"decision": "DECLINE", "risk_score": 0.95, "reasons": ["looks stolen"]},
    ]
    graph = create_ace_graph(agent=lambda _: answers.pop(0)).compile()
    first, again = (graph.invoke({"transaction": CALM, "decision_id": "d"}) for _ in range(2))
    assert again == first
    assert (again["risk_score"], again["reasons"]) == (0.1, ["fine"])


def test_a_decision_stands_when_the_agent_fails_the_second_time() -> None:
    answers: list[Any] = [{"decision": "DECLINE", "risk_score": 0.9, "reasons": ["stolen"]}]

    def agent(_: Any) -> Any:
        if not answers:
            raise ModelUnavailable("down")
        return answers.pop()

    graph = create_ace_graph(agent=agent).compile()
    given = {"transaction": CALM, "decision_id": "d", "ground_truth": "DECLINE"}
    first, again = graph.invoke(given), graph.invoke(given)
    assert (first["decision"], again["decision"]) == ("DECLINE", "DECLINE")
    assert (again["verdict"], again["undecided"], again["reasons"]) == ("right", None, ["stolen"])
    with pytest.raises(DecisionConflict):
        graph.invoke({**given, "transaction": RISKY})
    assert graph.invoke({"transaction": CALM})["verdict"] == "undecided"


def test_two_nodes_do_not_share_a_decision() -> None:
    playbook = BulletPlaybook()
    fraud, aml = (
        create_ace_graph(playbook=playbook, context=AceContext(node=node)).compile()
        for node in ("fraud", "aml")
    )
    fraud.invoke({"transaction": CALM, "decision_id": "order-1"})
    with pytest.raises(DecisionConflict, match=r"decided by node 'fraud'"):
        aml.invoke({"transaction": CALM, "decision_id": "order-1"})
    assert playbook.decision("order-1")["node"] == "fraud"


def test_a_run_changes_only_the_settings_that_it_brings() -> None:
    playbook = hiding(["customer_id"], node="payments")
    context = AceContext(node="payments")
    graph = create_ace_graph(playbook=playbook, context=context).compile()
    given = {"transaction": {"amount": 1, "customer_id": "zz"}}
    for number, brought in enumerate(({"seed": 9}, AceContext(seed=9), None)):
        graph.invoke({**given, "decision_id": f"d{number}"}, context=brought)
        stored = playbook.decision(f"d{number}")
        assert stored["node"] == "payments"
        assert "zz" not in str(stored)
    with pytest.raises(InvalidSettings, match="setting 'redact' is gone"):
        graph.invoke({**given, "decision_id": "open"}, context={"redact": []})


def test_a_case_that_was_another_nodes_history_is_the_deciders() -> None:
    playbook, given = BulletPlaybook(), {"transaction": {"amount": 5}, "decision_id": "order-1"}
    fraud, cards = (
        create_ace_graph(playbook=playbook, context=AceContext(node=node)).compile()
        for node in ("fraud", "cards")
    )
    digest = Transaction.of(given["transaction"]).digest()
    playbook.remember([Case("order-1", {"amount": 5}, "APPROVE", "amount: 5", digest)], "history")
    assert cards.invoke(given)["decision"] == cards.invoke(given)["decision"]
    with pytest.raises(DecisionConflict, match=r"decided by node 'cards'"):
        fraud.invoke(given)


def test_a_hosts_own_settings_may_be_an_extension_of_ours() -> None:
    class Host(AceContext):
        tenant: str = ""

    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook, context=AceContext(node="cards")).compile()
    graph.invoke({"transaction": CALM, "decision_id": "d"}, context=Host(tenant="x", seed=3))
    stored = playbook.decision("d")
    assert (stored["node"], stored["settings"]["seed"]) == ("cards", 3)


def test_a_form_offers_the_fields_and_the_answers_of_a_task_that_was_set() -> None:
    posts = Task("posts", (Field("words", "number", usual=True),), answers=("KEEP", "REMOVE"))
    graph = create_ace_graph(task=posts).compile()
    given = graph.get_input_jsonschema()["properties"]
    (fields,) = given["transaction"]["anyOf"]
    assert fields["properties"]["words"]["type"] == "number"
    assert given["ground_truth"]["enum"] == ["KEEP", "REMOVE", None]
