"""Playbooks that acegraph of commit d0641cd wrote, with schema 4: nothing in them is lost."""

import gzip
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres import Server
from project_paths import DATA

from acegraph.graph import create_ace_graph, load_dataset, replay
from acegraph.graph.training.pipeline import TrainingPipeline
from acegraph.state import AceContext, BulletPlaybook, verify
from acegraph.state.errors import DecisionConflict
from acegraph.state.maintenance.people.users import check_user, users
from acegraph.state.task.policy import Policy

NODE = "fraud_detection"
FOLDER = DATA / "schema4"
ANSWERS: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "decisions.json").read_text())
KEYS = ("transaction", "decision_id", "ground_truth")
LIVE, HELD_OUT = ANSWERS["live"], ANSWERS["held_out"]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return _restored(request.getfixturevalue("postgres"))
    file = tmp_path / "ace.db"
    with gzip.open(FOLDER / "playbook.db.gz") as packed, file.open("wb") as whole:
        shutil.copyfileobj(packed, whole)
    return f"sqlite:///{file}"


def _restored(postgres: Server) -> str:
    url = postgres.url()
    script = gzip.decompress((FOLDER / "playbook.sql.gz").read_bytes()).decode()
    with psycopg.connect(postgres.base_url) as connection:
        connection.execute(script.replace("the_schema", url.rpartition("%3D")[2]).encode())
    return url


@pytest.fixture
def book(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[BulletPlaybook]:
    monkeypatch.setenv("ACE_REDACT_KEY", "key-of-schema-4")
    with BulletPlaybook(url) as book:
        yield book


def test_it_opens_undamaged_with_all_that_it_holds(book: BulletPlaybook) -> None:
    assert verify(book) == []
    assert len(book) > 1
    assert len(book.cases("fraud_detection")) == 250
    assert [user.name for user in users(book.database)] == ["ann", "bob", "eve"]
    assert check_user(book.database, "ann", "secret-of-ann-0123456789") is not None
    assert check_user(book.database, "ann", "secret-of-bob-0123456789") is None


def test_its_settings_become_its_first_policy_and_hidden_fields(book: BulletPlaybook) -> None:
    assert book.policy() == Policy(mature_days={"no_chargeback": 90}, version=1)
    (said,) = book.declarations("policy", NODE)
    assert (said["set_by"], said["approved_by"]) == ("migration", "migration")
    assert book.task().hidden == ("customer_id", "memo")
    given = {"transaction": {"amount": 5.0, "customer_id": "C-new-1"}, "decision_id": "new"}
    create_ace_graph(playbook=book).compile().invoke(given)
    assert "C-new-1" not in str(book.decision("new"))


def test_training_on_its_own_file_again_adds_no_case(book: BulletPlaybook) -> None:
    items = load_dataset(FOLDER / "cards.csv", query=None, answer="is_fraud")
    report = TrainingPipeline(book).train_offline(items)
    assert (len(items), report.repeated) == (200, 200)
    assert len(book.cases("fraud_detection")) == 250
    assert verify(book) == []


def test_its_decisions_sent_again_were_recorded_before(book: BulletPlaybook) -> None:
    graph = create_ace_graph(playbook=book).compile()
    before = book.database.clock().position
    for one in LIVE:
        given = {key: one[key] for key in KEYS if key in one}
        made = graph.invoke(given)
        assert made["decision"] == one["decision"]
    assert book.database.clock().position == before
    assert verify(book) == []


def test_another_transaction_under_one_of_its_ids_is_refused(book: BulletPlaybook) -> None:
    graph = create_ace_graph(playbook=book).compile()
    for number in (0, 9, 99):
        other = {**LIVE[number]["transaction"], "amount": 1.0}
        given = {"transaction": other, "decision_id": f"live-{number}"}
        with pytest.raises(DecisionConflict):
            graph.invoke(given)


def test_a_replay_repeats_its_decisions(book: BulletPlaybook) -> None:
    for one in LIVE[::8]:
        if "redact" in one["settings"]:
            continue
        again = replay(book, one["decision_id"])
        assert again.replayed == again.shown
        assert again.decision == one["decision"]


def test_it_decides_as_it_did(book: BulletPlaybook) -> None:
    graph = create_ace_graph(playbook=book).compile()
    for one in HELD_OUT:
        given = {"transaction": one["transaction"], "decision_id": one["decision_id"]}
        made = graph.invoke(given, context=AceContext(learn=False))
        assert (made["decision"], made["risk_score"]) == (one["decision"], one["risk"])
