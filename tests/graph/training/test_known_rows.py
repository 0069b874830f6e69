"""Training again with what was learned from before: nothing counts twice."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hidden import hiding
from ledger_cases import NODE

from acegraph.graph import TrainingPipeline, generate_transactions, load_dataset
from acegraph.graph.training.report import TrainingReport
from acegraph.state import AceContext, BulletPlaybook, ModelUnavailable, erase, prune, verify

Way = Literal["train_offline", "train_online"]
WAYS: list[Way] = ["train_offline", "train_online"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Rows without ids, of which some are the same."""
    file = tmp_path / "jan.csv"
    rows = [f"{amount},{int(amount >= 15)}" for amount in [*range(1, 26), 3, 3, 20]]
    file.write_text("\n".join(["amount,fraud", *rows]))
    return file


def _items(file: Path) -> list[dict[str, Any]]:
    return load_dataset(file, query=None, answer="fraud")


def _train(playbook: BulletPlaybook, items: list[dict[str, Any]], way: Way) -> TrainingReport:
    report: TrainingReport = getattr(TrainingPipeline(playbook), way)(items)
    return report


def _with_ids(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows with ids of their own."""
    return [{name: item[name] for name in ("query", "answer", "id")} for item in items]


def test_rows_that_were_added_to_it_since_are_new(playbook: BulletPlaybook, file: Path) -> None:
    _train(playbook, _items(file), "train_offline")
    file.write_text(file.read_text() + "\n3,0\n99,1")
    for repeated in (28, 30):
        assert _train(playbook, _items(file), "train_offline").repeated == repeated
    assert len(playbook.cases(NODE)) == 30


def test_what_was_pruned_since_is_not_taken_in_again(playbook: BulletPlaybook, file: Path) -> None:
    _train(playbook, _items(file), "train_online")
    prune(playbook, decisions_before="2999-01-01")
    assert _train(playbook, _items(file), "train_online").repeated == 28
    assert len(playbook.cases(NODE)) == 0


def test_rows_with_ids_of_their_own_are_told_apart_by_them(
    playbook: BulletPlaybook, file: Path
) -> None:
    rows = _with_ids(_items(file))
    _train(playbook, rows, "train_offline")
    others = [{**row, "id": f"other {row['id']}"} for row in rows]
    assert _train(playbook, others, "train_offline").repeated == 0
    assert len(playbook.cases(NODE)) == 56


@pytest.mark.parametrize(
    ("first", "then"), [WAYS, pytest.param(*WAYS[::-1], marks=pytest.mark.slow)]
)
def test_the_same_rows_by_the_other_road_count_once(
    playbook: BulletPlaybook, file: Path, first: Way, then: Way
) -> None:
    _train(playbook, _items(file), first)
    bullets = len(playbook)
    assert _train(playbook, _items(file), then).repeated == 28
    assert (len(playbook.cases(NODE)), len(playbook)) == (28, bullets)
    with_ids = [{**item, "id": f"own-{i}"} for i, item in enumerate(_with_ids(_items(file)))]
    assert _train(playbook, with_ids, first).repeated == 0
    assert _train(playbook, with_ids[:9], then).repeated == 9
    assert verify(playbook) == []


def _alike(seed: int, rows: int = 60) -> list[dict[str, Any]]:
    """Rows without ids of which many look the same."""
    rng = np.random.default_rng(seed)
    bands, flags = rng.integers(0, 4, rows), rng.random(rows) < 0.3
    noise = rng.random(rows) < 0.1
    return [
        {
            "query": {"band": int(band), "vpn": bool(vpn)},
            "answer": "DECLINE" if vpn != wrong else "APPROVE",
        }
        for band, vpn, wrong in zip(bands, flags, noise, strict=True)
    ]


@pytest.mark.slow
def test_a_new_stream_may_look_like_old_history() -> None:
    playbook = BulletPlaybook()
    past, stream = _alike(1), _alike(2)
    _train(playbook, past, "train_offline")
    labels = [case.label for case in playbook.cases(NODE)]
    assert _train(playbook, stream, "train_online").repeated == 0
    assert [case.label for case in playbook.cases(NODE)][:60] == labels
    assert len(playbook.cases(NODE)) == 120


def test_what_was_decided_frozen_can_still_be_learned_from() -> None:
    playbook, rows = BulletPlaybook(), generate_transactions(60, seed=3)
    TrainingPipeline(playbook, context=AceContext(learn=False)).train_online(rows)
    report = TrainingPipeline(playbook).train_offline(rows)
    alone = TrainingPipeline(BulletPlaybook()).train_offline(rows)
    assert (report.repeated, report.mistakes) == (0, alone.mistakes)
    assert len(playbook.cases(NODE)) == 60


@pytest.mark.parametrize("way", WAYS)
def test_an_erased_row_that_was_still_open_stops_nobody(way: Way) -> None:
    playbook, calls = BulletPlaybook(), []

    def agent(_: Any) -> str:
        calls.append(1)
        if len(calls) > 10:
            raise ModelUnavailable("down")
        return "APPROVE"

    rows = [
        {"id": f"r{i}", "query": {"customer_id": f"C-{i % 9}", "amount": i}, "answer": "APPROVE"}
        for i in range(20)
    ]
    TrainingPipeline(playbook, agent=agent).train_offline(rows)
    erase(playbook, entity=("customer_id", "C-2"))
    report = _train(playbook, rows, way)
    assert (report.repeated, report.undecided) == (20, 0)


def test_a_place_is_not_taken_for_anothers_id() -> None:
    playbook, query = BulletPlaybook(), {"amount": 5}
    _train(playbook, [{"id": "1", "query": query, "answer": "APPROVE"}], "train_offline")
    rows = [{"query": query, "answer": "APPROVE"}, {"id": "1", "query": query, "answer": "APPROVE"}]
    assert _train(playbook, rows, "train_offline").repeated == 1
    assert len(playbook.cases(NODE)) == 2


@pytest.mark.parametrize("way", WAYS)
def test_rows_that_differ_in_what_is_redacted_all_count(
    playbook: BulletPlaybook, tmp_path: Path, way: Way
) -> None:
    file = tmp_path / "cards.csv"
    file.write_text("\n".join(["card,amount,fraud", *(f"c{i},5,{i % 2}" for i in range(10))]))
    pipeline = TrainingPipeline(hiding(["card"], playbook))
    for repeated, order in ((0, 1), (10, 1), (10, -1)):
        assert getattr(pipeline, way)(_items(file)[::order]).repeated == repeated
        assert len(playbook.cases(NODE)) == 10


def test_storing_tells_how_far_it_is() -> None:
    told: list[tuple[str, int, int]] = []
    pipeline = TrainingPipeline(progress=lambda *words: told.append(words))
    pipeline.train_offline(generate_transactions(30, seed=1))
    assert told[0] == ("storing", 30, 30)
