"""Whatever a server says instead of an answer: nothing is decided, counted, labelled or learned.

`make soak` runs every lie in every role, synchronously and asynchronously; here every third lie has
one role and one of the two, in turn.
"""

import asyncio
import gzip
import itertools
import json
import os
import tracemalloc
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import pytest
from lies import CALLED, CHATS, EMBEDDINGS, WRITTEN, Lie, as_call
from model_samples import (
    AGREEMENT,
    APPROVAL,
    DENIAL,
    FUNCTIONS,
    LESSON,
    NODE,
    PROSE,
    RULE,
    SCHEMAS,
    SUSPICIOUS,
    UNSUSPICIOUS,
    arun_once,
    counters,
    run_once,
)
from openai_server import (
    Body,
    OpenAIServer,
    Reply,
    Response,
    delayed,
    dripped,
    embedded,
    filled,
    raw,
    said,
)

from acegraph.graph import create_ace_graph
from acegraph.nodes import SimpleFraudAgent
from acegraph.state import BulletPlaybook, ModelUnavailable
from acegraph.state.errors import ModelAnswerInvalid

ROLES = ("agent", "judge", "reflector")
WAYS = (run_once, arun_once)
METHODS = (FUNCTIONS, SCHEMAS)
EVERYTHING = bool(os.environ.get("ACE_SOAK"))


def _marks(number: int) -> Any:
    """`make test` has every ninth lie."""
    return pytest.mark.slow if number % 9 else ()


def _chats() -> list[Any]:
    """Every lie with a role, a model and a way to run: all of them, or one of them in turn."""
    chosen = []
    for number, (name, (about, lie)) in enumerate(CHATS.items()):
        models = [FUNCTIONS] if about == CALLED else [SCHEMAS] if about == WRITTEN else METHODS
        ways = list(itertools.product(ROLES, models, WAYS))
        turn = [ways[number // 3 % len(ways)]] if number % 3 == 0 else []
        for role, model, way in ways if EVERYTHING else turn:
            title = f"{name}, {role} by {model}, {way.__name__}"
            chosen.append(pytest.param(lie, role, model, way, id=title, marks=_marks(number)))
    return chosen


@pytest.fixture(scope="module")
def playbooks() -> dict[str, BulletPlaybook]:
    """One for each role that is lied to, all lies long."""
    books = {role: BulletPlaybook() for role in ROLES}
    for playbook in books.values():
        playbook.add_bullet(RULE, NODE)
    return books


@pytest.mark.parametrize(("lie", "role", "model", "way"), _chats())
def test_a_lie_is_no_decision_no_label_and_no_bullet(
    server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    playbooks: dict[str, BulletPlaybook],
    lie: Lie,
    role: str,
    model: str,
    way: Any,
) -> None:
    good = {"DecisionForm": APPROVAL, "VerdictForm": AGREEMENT, "ReflectionForm": LESSON}
    form = dict(zip(ROLES, good, strict=True))[role]
    for name, values in good.items():
        server.on(name, lie(filled(**values)) if name == form else filled(**values))
    again = filled(**good[form])  # what is asked once more, in plain JSON, gets the same lie
    server.on("plain", lie(as_call(form, again) if model == FUNCTIONS else again))
    playbook = playbooks[role]
    before, version = len(playbook.cases(NODE)), playbook.version
    # The weights of the playbook must not settle the mistake that the reflector is asked about.
    given: dict[str, Any] = {"transaction": UNSUSPICIOUS if role == "reflector" else SUSPICIOUS}
    if role != "judge":
        given["ground_truth"] = "APPROVE" if role == "agent" else "DECLINE"
    found = way(create_ace_graph(playbook=playbook), given, **{f"{role}_model": model})
    assert found["undecided"].startswith(f"{role}: {model}")
    assert "\n" not in found["undecided"]
    assert (len(playbook), playbook.version, found["new_bullet"]) == (1, version, None)
    if role == "agent":
        assert (found["decision"], found["risk_score"]) == ("UNDECIDED", None)
        assert counters(playbook, "b1") == (0, 0, 0)
    if role == "judge":
        assert (found["verdict"], found["correct_answer"]) == ("undecided", None)
        assert counters(playbook, "b1")[:2] == (0, 0)
    assert len(playbook.cases(NODE)) == before + (role == "reflector")


def _embeddings() -> list[Any]:
    return [
        pytest.param(lie, way, id=f"{name}, {way.__name__}", marks=_marks(number))
        for number, (name, lie) in enumerate(EMBEDDINGS.items())
        for way in (WAYS if EVERYTHING else [WAYS[number % 2]] if number % 3 == 0 else [])
    ]


@pytest.mark.parametrize(("lie", "way"), _embeddings())
def test_a_vector_that_is_none_is_not_kept(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, lie: Lie, way: Any
) -> None:
    playbook = BulletPlaybook()
    rule, prose = playbook.add_bullet(RULE, NODE), playbook.add_bullet(PROSE, NODE)
    playbook.add_bullet("gift cards for a stranger", NODE)
    server.on("DecisionForm", filled(**DENIAL))
    server.on("embeddings", lie(embedded(64)))
    graph = create_ace_graph(playbook=playbook)
    given = {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
    found = way(graph, given)
    assert [b["id"] for b in found["bullets"]] == [rule]
    assert found["warnings"][0].startswith("selection without embeddings: ")
    texts = [bullet.content for bullet in playbook]
    assert playbook.text_vectors("text-embedding-3-small", texts) == {}
    server.on("embeddings", embedded(64))
    found = way(graph, {"transaction": PROSE, "ground_truth": "DECLINE"})
    assert (found["warnings"], [b["id"] for b in found["bullets"]]) == ([], [prose])


def test_a_long_reason_is_cut_off(server: OpenAIServer) -> None:
    server.on("DecisionForm", filled(**{**DENIAL, "reasons": ["x" * 1_000_000]}))
    found = run_once(create_ace_graph(), {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"})
    assert (found["decision"], len(json.dumps(found["reasons"]))) == ("DECLINE", 2_004)


# Each lasts for 5 to 20 seconds and ends with another error, or with an answer.
SLOW: dict[str, Reply] = {
    "headers": raw(lambda: [b"HTTP/1.1 200 OK\r\n", *[b"x: y\r\n"] * 400], 0.05),
    "status line": raw(lambda: [b"HTTP/1.1 200 ", *[b"O"] * 400], 0.05),
    "informational answers": raw(lambda: [b"HTTP/1.1 100 Continue\r\n\r\n"] * 400, 0.05),
    "chunk size": raw(lambda: [_CHUNKED + b"\r\n", *[b"0"] * 400], 0.05),
    "chunks": raw(lambda: [_CHUNKED + b"\r\n", *[b"1\r\n \r\n"] * 400], 0.05),
    "hanging": raw(lambda: [b"", b""], 5),
    "drips": dripped(filled(**APPROVAL), 0.05),
}
_CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["decide", "adecide"])
def test_however_slow_a_server_is_its_deadline_is_kept(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setenv("ACE_TIMEOUT", "0.6")

    def slow(body: Body) -> Response | None:
        return next(reply for name, reply in SLOW.items() if name in str(body["messages"]))(body)

    def give_up(name: str) -> None:
        agent = SimpleFraudAgent()
        with pytest.raises(ModelUnavailable, match="Timeout"):
            agent.decide(name) if way == "decide" else asyncio.run(agent.adecide(name))

    server.on_all(slow)
    with ThreadPoolExecutor(len(SLOW)) as at_once:
        list(at_once.map(give_up, SLOW))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_one_deadline_covers_the_question_and_its_repetition(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    monkeypatch.setenv("ACE_TIMEOUT", "2")
    replies = said("I would rather not."), filled(**DENIAL)
    server.on_all(*(delayed(reply, lambda body: 1.1) for reply in replies))
    found = way(create_ace_graph(), {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"})
    assert (found["decision"], len(server.chats)) == ("UNDECIDED", 2)
    assert "Timeout" in found["undecided"]


@pytest.mark.parametrize("way", ["decide", "adecide"])
def test_a_body_without_end_takes_no_memory(server: OpenAIServer, way: str) -> None:
    server.on_all(raw(lambda: chain([_ENDLESS], repeat(b"x" * 1_000_000))))
    tracemalloc.start()
    agent = SimpleFraudAgent()
    with pytest.raises(ModelAnswerInvalid, match="the answer has more than 4 MB"):
        agent.decide("x") if way == "decide" else asyncio.run(agent.adecide("x"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


_ENDLESS = b"HTTP/1.1 200 OK\r\n\r\n"


def test_a_redirection_is_not_followed(server: OpenAIServer) -> None:
    server.on_all(CHATS["HTTP 307"][1](filled(**APPROVAL)))
    with pytest.raises(ModelUnavailable, match=r"redirects \(HTTP 307\).* set OPENAI_BASE_URL"):
        SimpleFraudAgent().decide(SUSPICIOUS)
    assert len(server.requests) == 1


@pytest.mark.parametrize("packing", [gzip.compress, zlib.compress])
def test_what_is_packed_was_not_asked_for(server: OpenAIServer, packing: Any) -> None:
    name = packing.__module__.replace("zlib", "deflate")

    def packed(body: Body) -> Response:
        answer = filled(**DENIAL)(body)
        assert answer is not None
        return replace(answer, content=packing(answer.content), headers={"content-encoding": name})

    server.on_all(packed)
    with pytest.raises(ModelAnswerInvalid, match="packed"):
        SimpleFraudAgent().analyze(SUSPICIOUS)
    assert server.chats[0].headers["accept-encoding"] == "identity"
