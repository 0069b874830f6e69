"""Vectors are fetched once, kept by model and text, and never mixed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from model_samples import APPROVAL, DENIAL, LESSON, NODE, PROSE, RULE, SUSPICIOUS, run_once
from openai_server import Body, OpenAIServer, Response, embedded, filled

from acegraph.graph import TrainingPipeline, create_ace_graph
from acegraph.nodes import HybridSelector
from acegraph.nodes.models import named
from acegraph.nodes.models.embedding_models import EMBEDDED
from acegraph.nodes.runtime.usage import Budget, metered
from acegraph.state import BulletPlaybook

GIVEN = {"transaction": SUSPICIOUS, "ground_truth": "DECLINE"}
NEAR = {"transaction": PROSE, "ground_truth": "DECLINE"}


def _fetched(server: OpenAIServer) -> list[str]:
    return [text for r in server.embeddings for text in r.body["input"]]


def test_a_text_is_fetched_once_for_all_processes(server: OpenAIServer, tmp_path: Path) -> None:
    server.on("DecisionForm", filled(**DENIAL))
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as playbook:
        playbook.add_bullet(PROSE, NODE)
        run_once(create_ace_graph(playbook=playbook), GIVEN)
    with BulletPlaybook(url) as playbook:
        playbook.add_bullet(PROSE, "another_node")
        graph = create_ace_graph(playbook=playbook)
        run_once(graph, GIVEN)
        run_once(graph, GIVEN, node="another_node")
    assert len(_fetched(server)) == 2


@pytest.mark.slow
def test_the_copies_that_a_comparison_makes_buy_no_text_again(server: OpenAIServer) -> None:
    server.on("DecisionForm", filled(**APPROVAL))
    server.on("ReflectionForm", filled(**LESSON))
    cases = [{"query": {**SUSPICIOUS, "amount": n}, "answer": "DECLINE"} for n in (1, 2, 3)]
    pipeline = TrainingPipeline()
    pipeline.train_offline(cases)
    pipeline.compare(cases)
    assert len(_fetched(server)) == len(set(_fetched(server))) == 1 + 3


def test_texts_of_one_selection_are_fetched_in_one_batch(
    server: OpenAIServer, playbook: BulletPlaybook
) -> None:
    for text in (RULE, PROSE, "a third one"):
        playbook.add_bullet(text, NODE)
    HybridSelector().select_bullets(SUSPICIOUS, NODE, playbook)
    assert [len(r.body["input"]) for r in server.embeddings] == [4]


def test_vectors_without_numbers_are_refused_and_spoil_nothing(
    server: OpenAIServer, playbook: BulletPlaybook
) -> None:
    prose = playbook.add_bullet(PROSE, NODE)
    server.on("DecisionForm", filled(**DENIAL))
    server.on("embeddings", embedded(0, fill=1.0), embedded())
    graph = create_ace_graph(playbook=playbook)
    [warning] = run_once(graph, NEAR)["warnings"]
    assert warning.endswith("gave no usable vectors")
    assert [b["id"] for b in run_once(graph, NEAR)["bullets"]] == [prose]


def test_vectors_out_of_order_are_refused(server: OpenAIServer, playbook: BulletPlaybook) -> None:
    def backwards(body: Body) -> Response:
        answer = embedded()(body)
        assert answer is not None
        said = json.loads(answer.content)
        return replace(answer, content=json.dumps({**said, "data": said["data"][::-1]}).encode())

    for text in (PROSE, "gift cards for a stranger"):
        playbook.add_bullet(text, NODE)
    server.on("DecisionForm", filled(**DENIAL))
    server.on("embeddings", backwards)
    found = run_once(create_ace_graph(playbook=playbook), NEAR)
    assert found["warnings"][0].endswith("the vectors are not numbered in order")
    assert found["bullets"] == []


def test_another_model_embeds_the_bullets_at_first_use(
    server: OpenAIServer, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    server.on("DecisionForm", filled(**DENIAL))
    with BulletPlaybook(url) as playbook:
        prose = playbook.add_bullet(PROSE, NODE)
        graph = create_ace_graph(playbook=playbook)
        runs = [run_once(graph, NEAR, embedding_model=name) for name in (None, "another") * 2]
        assert [[b["id"] for b in found["bullets"]] for found in runs] == [[prose]] * 4
        assert [found["warnings"] for found in runs] == [[]] * 4
    fetched = [(r.body["model"], text) for r in server.embeddings for text in r.body["input"]]
    assert len(fetched) == len(set(fetched))  # nothing is fetched twice


def test_without_budget_for_another_model_only_rules_are_shown(
    server: OpenAIServer, playbook: BulletPlaybook
) -> None:
    playbook.add_bullet(PROSE, NODE)
    HybridSelector(embeddings=EMBEDDED).select_bullets(PROSE, NODE, playbook)
    with metered(Budget(max_calls=0)):
        assert HybridSelector().select_bullets(PROSE, NODE, playbook)[0] == []
    assert server.requests == []
    bullets, _ = HybridSelector().select_bullets(PROSE, NODE, playbook)
    assert [b.content for b in bullets] == [PROSE]


def test_what_a_server_gave_wrongly_is_forgotten_and_fetched_again(
    server: OpenAIServer, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    again = {"transaction": f"{PROSE} again", "ground_truth": "DECLINE"}
    server.on("DecisionForm", filled(**DENIAL))
    server.on("embeddings", embedded(8), embedded(64))
    with BulletPlaybook(url) as playbook:
        prose = playbook.add_bullet(PROSE, NODE)
        graph = create_ace_graph(playbook=playbook)
        run_once(graph, GIVEN)
        [warning] = run_once(graph, again)["warnings"]
        assert "gave vectors of [8, 64] dimensions" in warning
        assert "playbook.forget_vectors(model) lets them be fetched anew" in warning
        model = named.embedding_model(None).name
        assert playbook.forget_vectors(model) == 2  # this process forgets the old ones, too
        assert [b["id"] for b in run_once(graph, again)["bullets"]] == [prose]
        assert run_once(graph, GIVEN)["warnings"] == []
