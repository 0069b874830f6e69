"""Many calls under way at once, and still one run: the order, and the number of calls."""

import asyncio
import random
import re
import zlib
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import pytest
from model_samples import APPROVAL, DENIAL, LESSON, NODE, PROSE, RULE, SUSPICIOUS
from openai_server import Body, OpenAIServer, Reply, Response, delayed, failed, filled, held

from acegraph.graph import TrainingPipeline, create_ace_graph, generate_transactions
from acegraph.nodes import Curator
from acegraph.state import AceContext, BulletPlaybook, InvalidSettings

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def _stream(cases: int) -> list[dict[str, Any]]:
    """Transactions that each name themselves; the agent is always wrong about them."""
    return [{"query": f"payment number {n}", "answer": "DECLINE"} for n in range(cases)]


def _number(body: Body) -> int:
    found = re.search(r"\npayment number (\d+)\n", str(body["messages"]))
    found = found or re.search(r"payment number (\d+)", str(body["messages"]))
    assert found is not None
    return int(found[1])


def _lesson(body: Body) -> Response | None:
    """A heuristic that names the case it came from."""
    text = f"payment number, as in {NUMBERS[_number(body)]}"
    return filled(**{**LESSON, "new_bullet": text, "condition": None})(body)


def _at_random(reply: Reply, seed: int) -> Reply:
    """Answers that come in any order."""
    return delayed(reply, lambda body: random.Random(f"{seed} {body}").uniform(0, 0.05))


def _shown(server: OpenAIServer) -> dict[int, set[str]]:
    """Which heuristics the agent was shown, by case."""
    return {
        _number(r.body): set(re.findall(r"as in (\w+)", r.prompt))
        for r in server.chats
        if "tools" in r.body
    }


@pytest.mark.slow
@pytest.mark.parametrize("together", [1, 3])
def test_cases_are_decided_together_on_what_was_learned_before_them(
    server: OpenAIServer, together: int
) -> None:
    server.on("DecisionForm", _at_random(filled(**APPROVAL), together))
    server.on("ReflectionForm", _at_random(_lesson, together))
    context = AceContext(n_bullets=20, semantic_threshold=-1)
    prose_acts = Curator(gate="off")
    pipeline = TrainingPipeline(context=context, concurrency=together, curator=prose_acts)
    pipeline.train_online(_stream(6))
    expected = {n: set(NUMBERS[: n // together * together]) for n in range(6)}
    assert _shown(server) == expected


def _trained(server: OpenAIServer, seed: int) -> tuple[Any, ...]:
    server.on("DecisionForm", _at_random(filled(**APPROVAL), seed))
    server.on("ReflectionForm", _at_random(_lesson, seed))
    pipeline = TrainingPipeline(concurrency=4)
    report = pipeline.train_online(_stream(8))
    decisions = [pipeline.playbook.decision(i) for i in _ids(pipeline.playbook)]
    told = [
        (d["id"], d["decision"], d["playbook_version"], d["bullets"], d["lesson"])
        for d in decisions
    ]
    bullets = [
        (b.id, b.content, b.status, b.helpful_count, b.times_selected) for b in pipeline.playbook
    ]
    return report.run, told, bullets


def _ids(playbook: BulletPlaybook) -> list[str]:
    return [case.id for case in playbook.cases(NODE)]


@pytest.mark.slow
def test_the_same_concurrency_gives_the_same_run_whatever_comes_first(server: OpenAIServer) -> None:
    assert _trained(server, 1) == _trained(server, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [{"mode": "vanilla"}, {"mode": "offline_online", "learn": False, "source": "offline"}],
    ids=["vanilla", "frozen"],
)
def test_without_learning_concurrency_changes_nothing(
    server: OpenAIServer, playbook: BulletPlaybook, settings: dict[str, Any]
) -> None:
    def decided(body: Body) -> Response | None:
        prompt = str(body["messages"][-1]["content"])
        text = re.sub(r"DATA [0-9a-f]{16}", "", prompt)
        return filled(**(DENIAL if zlib.crc32(text.encode()) % 2 else APPROVAL))(body)

    for text in (RULE, PROSE, 'APPROVE when merchant_category is "grocery"'):
        playbook.add_bullet(text, NODE, "offline")
    server.on("DecisionForm", _at_random(decided, 1))
    cases = generate_transactions(16, seed=5)
    runs, prompts = [], []
    for concurrency in (1, 32):
        server.requests.clear()
        pipeline = TrainingPipeline(playbook, concurrency=concurrency)
        runs.append(pipeline.evaluate(cases, **settings))
        prompts.append(sorted(r.prompt for r in server.chats))
    assert runs[0] == runs[1]
    assert len(set(runs[0].decisions)) == 2
    assert prompts[0] == prompts[1]


def test_as_many_calls_are_under_way_as_asked_for(server: OpenAIServer) -> None:
    together = Barrier(8, timeout=60)  # nobody is answered before eight have asked

    def decided(body: Body) -> Response | None:
        together.wait()
        return filled(**DENIAL)(body)

    server.on("DecisionForm", decided)
    report = TrainingPipeline(concurrency=8).train_online(_stream(16))
    assert (report.cases, report.undecided, len(server.chats)) == (16, 0, 16)


def test_a_wrong_decision_costs_no_more_among_others(server: OpenAIServer) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("ReflectionForm", _lesson)
    TrainingPipeline(concurrency=4).train_online(_stream(8))
    fetched = [text for r in server.embeddings for text in r.body["input"]]
    assert len(server.chats) == 2 * 8
    assert len(server.embeddings) <= 2 * 8
    assert len(fetched) == len(set(fetched))


def _embedded(body: Body) -> Response | None:
    from openai_server import embedded

    return embedded()(body)


def test_who_waits_for_vectors_in_vain_is_told(
    server: OpenAIServer, playbook: BulletPlaybook
) -> None:
    rule = playbook.add_bullet(RULE, NODE)
    server.on("DecisionForm", filled(**DENIAL))
    server.on("embeddings", delayed(failed(401, "no"), lambda body: 0.1))
    graph = create_ace_graph(playbook=playbook).compile()

    async def states() -> list[Any]:
        async def last(amount: int) -> Any:
            given = {"transaction": {**SUSPICIOUS, "amount": amount}, "ground_truth": "DECLINE"}
            return [s async for s in graph.astream(given, stream_mode="values")][-1]

        return await asyncio.gather(*(last(1000 + i % 2) for i in range(4)))

    for state in asyncio.run(states()):
        assert [b["id"] for b in state["bullets"]] == [rule]
        assert state["warnings"][0].startswith("selection without embeddings: ")


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_a_request_for_vectors_that_hangs_holds_up_nobody_else(
    server: OpenAIServer, playbook: BulletPlaybook, way: str
) -> None:
    rule, asked, release = playbook.add_bullet(RULE, NODE), Event(), Event()
    server.on("DecisionForm", filled(**DENIAL))

    def hanging(body: Body) -> Response | None:
        asked.set()
        return held(release, _embedded)(body)

    server.on("embeddings", hanging, _embedded)
    graph = create_ace_graph(playbook=playbook).compile()

    def decide(amount: int) -> Any:
        given = {"transaction": {**SUSPICIOUS, "amount": amount}, "ground_truth": "DECLINE"}
        return list(graph.stream(given, stream_mode="values"))[-1]

    async def adecide(amount: int) -> Any:
        given = {"transaction": {**SUSPICIOUS, "amount": amount}, "ground_truth": "DECLINE"}
        return [s async for s in graph.astream(given, stream_mode="values")][-1]

    async def all_of_them() -> list[Any]:
        first = asyncio.create_task(adecide(1000))
        await asyncio.to_thread(asked.wait, 10)
        others = await asyncio.gather(*map(adecide, range(1001, 1005)))
        assert not first.done()
        release.set()
        return [await first, *others]

    if way == "ainvoke":
        found = asyncio.run(all_of_them())
    else:
        with ThreadPoolExecutor(5) as threads:
            first = threads.submit(decide, 1000)
            asked.wait(10)
            others = list(threads.map(decide, range(1001, 1005)))
            assert not first.done()
            release.set()
            found = [first.result(), *others]
    assert [s["warnings"] for s in found] == [[]] * 5
    assert [[b["id"] for b in s["bullets"]] for s in found] == [[rule]] * 5


async def test_a_pipeline_may_be_run_inside_an_event_loop(server: OpenAIServer) -> None:
    server.on_all(filled(**DENIAL))
    report = TrainingPipeline(concurrency=3).train_online(_stream(4))
    assert (report.cases, report.mistakes) == (4, 0)


def test_a_mistake_of_the_caller_ends_the_run_and_leaves_no_task(no_key: None) -> None:
    def buggy(given: dict[str, Any]) -> dict[str, Any]:
        if given["transaction"].endswith("3"):
            raise ZeroDivisionError
        return dict(APPROVAL)

    playbook = BulletPlaybook()
    pipeline = TrainingPipeline(playbook, concurrency=4, agent=buggy)
    with pytest.raises(ZeroDivisionError):
        pipeline.train_online(_stream(8))
    assert not playbook.cases(NODE)  # what is decided together is recorded together


def test_concurrency_is_a_number_from_one_on(no_key: None) -> None:
    with pytest.raises(InvalidSettings, match="concurrency is a number from 1 on, not 0"):
        TrainingPipeline(concurrency=0)
