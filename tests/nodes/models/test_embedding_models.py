"""Vectors are fetched once, kept by model and text, and never mixed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_samples import (
    APPROVAL,
    DENIAL,
    LESSON,
    NODE,
    PROSE,
    RULE,
    SUSPICIOUS,
    run_once,
)
from openai_server import Body, OpenAIServer, Response, embedded, failed, filled
from typer.testing import CliRunner

from acegraph.graph import TrainingPipeline, create_ace_graph, reembed
from acegraph.graph.cli.main import app, main
from acegraph.nodes import ConceptEmbeddings, HybridSelector
from acegraph.state import BulletPlaybook, InvalidSettings, ModelError

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


def test_vectors_out_of_order_find_their_texts(
    server: OpenAIServer, playbook: BulletPlaybook
) -> None:
    def backwards(body: Body) -> Response:
        answer = embedded()(body)
        assert answer is not None
        said = json.loads(answer.content)
        return replace(answer, content=json.dumps({**said, "data": said["data"][::-1]}).encode())

    prose = playbook.add_bullet(PROSE, NODE)
    playbook.add_bullet("gift cards for a stranger", NODE)
    server.on("embeddings", backwards)
    bullets, _ = HybridSelector().select_bullets(f"{PROSE} again", NODE, playbook)
    assert [b.id for b in bullets] == [prose]


def test_another_model_is_refused_and_the_command_is_told(
    server: OpenAIServer, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    server.on("DecisionForm", filled(**DENIAL))
    with BulletPlaybook(url) as playbook:
        prose = playbook.add_bullet(PROSE, NODE)
        graph = create_ace_graph(playbook=playbook)
        assert run_once(graph, NEAR)["bullets"][0]["id"] == prose
        version, asked = playbook.version, len(server.requests)
        with pytest.raises(InvalidSettings) as caught:
            run_once(graph, NEAR, embedding_model="text-embedding-3-large")
        assert str(caught.value).endswith(
            f"run: acegraph reembed --model text-embedding-3-large --playbook {url}"
        )
        assert (playbook.version, len(server.requests)) == (version, asked)


def test_after_the_command_selection_works(server: OpenAIServer, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    server.on("DecisionForm", filled(**DENIAL))
    with BulletPlaybook(url) as playbook:
        prose = playbook.add_bullet(PROSE, NODE)
        run_once(create_ace_graph(playbook=playbook), NEAR)
        with pytest.raises(InvalidSettings) as caught:
            run_once(create_ace_graph(playbook=playbook), NEAR, embedding_model="another")
    command = str(caught.value).partition("run: acegraph ")[2].split()
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, done.stdout) == (
        0,
        f"1 bullet(s) in {url} have vectors of another now\n",
    )
    with BulletPlaybook(url) as playbook:
        graph = create_ace_graph(playbook=playbook)
        found = run_once(graph, NEAR, embedding_model="another")
        assert [b["id"] for b in found["bullets"]] == [prose]
        with pytest.raises(InvalidSettings, match="text-embedding-3-small"):
            run_once(graph, NEAR)
    assert {r.body["model"] for r in server.embeddings} == {"text-embedding-3-small", "another"}


def test_a_key_that_appears_does_not_switch_models_in_silence(
    server: OpenAIServer, playbook: BulletPlaybook
) -> None:
    playbook.add_bullet(PROSE, NODE)
    HybridSelector(embeddings=ConceptEmbeddings()).select_bullets(PROSE, NODE, playbook)
    with pytest.raises(InvalidSettings, match=r"call acegraph.graph.reembed\(playbook, "):
        HybridSelector().select_bullets(PROSE, NODE, playbook)
    assert reembed(playbook, None) == 1
    bullets, _ = HybridSelector().select_bullets(PROSE, NODE, playbook)
    assert [b.content for b in bullets] == [PROSE]


def test_reembedding_that_fails_changes_nothing(
    server: OpenAIServer, playbook: BulletPlaybook
) -> None:
    playbook.add_bullet(PROSE, NODE)
    reembed(playbook, "embedded")
    bound = playbook.embedding_model
    server.on("embeddings", failed(401, "no"))
    with pytest.raises(ModelError):
        reembed(playbook, "another")
    assert playbook.embedding_model == bound == "acegraph-concepts-1"


def test_reembedding_with_the_same_model_replaces_what_a_server_gave_wrongly(
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
        assert "acegraph reembed replaces all" in warning
        assert reembed(playbook, None) == 1  # this process forgets the old ones, too
        assert [b["id"] for b in run_once(graph, again)["bullets"]] == [prose]
        assert run_once(graph, GIVEN)["warnings"] == []
        asked = len(_fetched(server))
    done = CliRunner().invoke(app, ["reembed", "--playbook", url])
    assert _fetched(server)[asked:] == [PROSE]
    assert done.exit_code == 0
    assert "1 vector(s) of 64 dimensions were fetched; the 3 stored before are gone" in done.stdout


def test_a_switch_on_the_command_line_is_one_line_and_exit_code_two(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with BulletPlaybook(url) as playbook:
        playbook.add_bullet(PROSE, NODE)
        reembed(playbook, "embedded")
    monkeypatch.setattr("sys.argv", ["acegraph", "decide", PROSE, "--playbook", url])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    _, line = capsys.readouterr().err.splitlines()  # the first says who is asked
    assert "acegraph reembed --model text-embedding-3-small --playbook" in line


def test_it_is_said_when_most_selections_stay_empty(no_key: None, playbook: BulletPlaybook) -> None:
    playbook.add_bullet("gift cards at night", NODE)
    graph = create_ace_graph(playbook=playbook)
    given = [{"transaction": f"pays {n} at a bakery"} for n in range(20)]
    warned = [run_once(graph, g, semantic_threshold=0.99)["warnings"] for g in given]
    assert not any(warned[:19])
    assert warned[19] == [
        "stage 3 left no bullet in 20 of 20 selections; "
        "lower semantic_threshold if these bullets should apply"
    ]


def test_a_learned_bullet_is_refused_a_vector_of_another_model(
    server: OpenAIServer, playbook: BulletPlaybook
) -> None:
    bullet = playbook.add_bullet(PROSE, NODE)
    playbook.store_vectors("one", {bullet: np.ones(3, np.float32)})
    with pytest.raises(InvalidSettings, match="have vectors of 'one', not of 'two'"):
        playbook.store_vectors("two", {bullet: np.ones(3, np.float32)})
