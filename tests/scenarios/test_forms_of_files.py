"""A live payment in the form of the file that a playbook learned from is read as the file was."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from acegraph.graph import TrainingPipeline, create_ace_graph
from acegraph.graph.data.files import FileLayout, read_dataset
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.database.copy import copy_ledger

NODE = "fraud_detection"
FROZEN = AceContext(learn=False)
Written = Callable[[datetime], object]


def excel(moment: datetime) -> float:
    return (moment - datetime(1899, 12, 30)) / timedelta(days=1)


FORMS: dict[str, Written] = {
    "the day first": lambda at: f"{at:%d.%m.%Y %H:%M}",
    "the month first": lambda at: f"{at:%m/%d/%Y %I:%M %p}",
    "the month in letters": lambda at: f"{at:%d-%b-%Y %H:%M}",
    "the year first": lambda at: f"{at:%Y/%m/%d %H:%M}",
    "days as Excel counts them": excel,
    "seconds since 1970": lambda at: round((at - datetime(1970, 1, 1)).total_seconds()),
}


def learn(folder: Path, playbook: BulletPlaybook, written: Written, days: int = 28) -> None:
    """Learn from a file in which payments of the night are fraud."""
    moments = [datetime(2026, 3, 1 + i % days, 5 * i % 24, 30) for i in range(60)]
    lines = [f"{written(at)},20,{int(at.hour < 6)}" for at in moments]
    file = folder / "paid.csv"
    file.write_text("\n".join(["paid_at,amount,fraud", *lines]))
    dataset = read_dataset(file, FileLayout(query=None, answer="fraud"))
    TrainingPipeline(playbook).train_offline(dataset.items, dataset.form)


def decision(playbook: BulletPlaybook, paid_at: object) -> str:
    graph = create_ace_graph(playbook=playbook).compile()
    given = {"transaction": {"paid_at": paid_at, "amount": 20}}
    return str(graph.invoke(given, context=FROZEN)["decision"])


NIGHT, DAY = datetime(2026, 4, 5, 3, 10), datetime(2026, 4, 5, 14, 10)


@pytest.mark.parametrize("form", FORMS)
def test_a_live_date_in_the_form_of_the_file_is_read_as_in_the_file(
    form: str, tmp_path: Path
) -> None:
    with BulletPlaybook() as playbook:
        learn(tmp_path, playbook, FORMS[form])
        for at, wanted in ((NIGHT, "DECLINE"), (DAY, "APPROVE")):
            assert decision(playbook, FORMS[form](at)) == wanted
            assert decision(playbook, f"{at:%Y-%m-%d %H:%M}") == wanted
        assert decision(playbook, "soon") == "UNDECIDED"


def test_a_date_that_has_two_meanings_is_not_read(tmp_path: Path) -> None:
    with BulletPlaybook() as playbook:
        learn(tmp_path, playbook, lambda at: f"{at:%m/%d/%Y %H:%M}", days=9)  # nothing above 12
        assert decision(playbook, "04/05/2026 14:10") == "UNDECIDED"
    with BulletPlaybook() as playbook:
        learn(tmp_path, playbook, FORMS["the day first"])
        assert decision(playbook, "04.31.2026 14:10") == "UNDECIDED"
        assert decision(playbook, "05.04.2026 14:10") == "APPROVE"
        learn(tmp_path, playbook, lambda at: f"{at:%m/%d/%Y %H:%M}")
        assert decision(playbook, "05.04.2026 14:10") == "UNDECIDED"  # two files, two forms


def test_the_form_goes_along_with_the_playbook(lasting_url: str, tmp_path: Path) -> None:
    written = FORMS["the day first"]
    with BulletPlaybook(lasting_url) as one, BulletPlaybook(lasting_url) as other:
        assert len(other.cases(NODE)) == 0
        learn(tmp_path, one, written)
        with one.fork() as fork, BulletPlaybook(f"sqlite:///{tmp_path / 'copy.db'}") as copy:
            copy_ledger(one.database, copy.database)
            copy.invalidate()
            assert [decision(b, written(NIGHT)) for b in (other, fork, copy)] == ["DECLINE"] * 3


def test_a_named_zone_is_an_offset(tmp_path: Path) -> None:
    playbook = BulletPlaybook()
    learn(tmp_path, playbook, lambda at: f"{at:%Y-%m-%d %H:%M}:00 CET")
    graph = create_ace_graph(playbook=playbook).compile()
    decided = [
        graph.invoke({"transaction": {"paid_at": at, "amount": 20}}, context=FROZEN)["decision"]
        for at in (
            "2026-05-12 03:30:00 CET",
            "2026-05-12 13:30:00 CET",
            "2026-05-12 22:30:00 EST",  # 04:30 there
            "2026-05-12 13:30:00 CST",  # in China or in Chicago
            "2026-05-12 13:30:00",
        )
    ]
    assert decided == ["DECLINE", "APPROVE", "DECLINE", "UNDECIDED", "UNDECIDED"]
