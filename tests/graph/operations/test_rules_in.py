"""Rules that others have written come in as candidates with a backtest, all of a file or none."""

import json
from pathlib import Path
from typing import Any

import pytest
from odd_tables import NODE, playbook_of
from typer.testing import CliRunner

from acegraph.graph.cli.main import app
from acegraph.graph.operations.rules_in import MOST_RULES, propose_rules, read_rules
from acegraph.state import BulletPlaybook, InvalidDataset, Task
from acegraph.state.task.field import Field

TASK = Task(
    "payments",
    (
        Field("amount", "number", role="amount"),
        Field("hour", "number"),
        Field("mcc", "category"),
        Field("vpn", "flag"),
        Field("channel", "category"),
    ),
)
TABLE = """\
amount >=,hour,mcc,channel is,vpn,verdict,reason
900,< 6,,,,DECLINE,"Much, at night"
,,0742,gift cards,true,decline,
,,is missing,,,APPROVE,No code is a shop of ours
"1,000",>= 22,is not 5411,,,DECLINE,
"""
SENTENCES = [
    "DECLINE when amount >= 900 and hour < 6",
    'DECLINE when mcc is "0742" and channel is "gift cards" and vpn is true',
    "APPROVE when mcc is missing",
    'DECLINE when amount >= 1000 and hour >= 22 and mcc is not "5411"',
]
LOGIC: dict[str, Any] = {
    "if": [
        {"and": [{">=": [{"var": "amount"}, 900]}, {">": [6, {"var": "hour"}]}]},
        "DECLINE",
        {"or": [{"==": [{"var": "mcc"}, None]}, {"<=": [1, {"var": "amount"}, 5]}]},
        "APPROVE",
        "APPROVE",
    ]
}


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_a_decision_table_is_read_cell_by_cell(tmp_path: Path) -> None:
    rules = read_rules(written(tmp_path, "rules.csv", TABLE), TASK)
    assert [rule.condition.render() for rule in rules] == SENTENCES
    assert [rule.reason for rule in rules][::2] == ["Much, at night", "No code is a shop of ours"]


def test_json_logic_is_read_with_its_answers(tmp_path: Path) -> None:
    rules = read_rules(written(tmp_path, "rules.json", json.dumps(LOGIC)), TASK)
    assert [(rule.where, rule.condition.render()) for rule in rules] == [
        ("rule 1, condition 1", "DECLINE when amount >= 900 and hour < 6"),
        ("rule 1, condition 2", "APPROVE when mcc is missing"),
        ("rule 1, condition 2", "APPROVE when amount >= 1 and amount <= 5"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.csv", TABLE.replace("< 6", "< six"), r"row 1, column 'hour': a comparison wanted"),
        (
            "a.csv",
            TABLE.replace("APPROVE,No", "PASS,No"),
            "row 3, column 'verdict': APPROVE or DEC",
        ),
        ("a.csv", TABLE.replace(",,is missing,,,", ",,,,,"), "row 3: a condition has 1 to 3"),
        ("a.csv", TABLE.replace("verdict", "answer"), "no column 'verdict'"),
        ("a.csv", "hour >=,verdict\n", "no rules"),
        pytest.param(
            "a.csv",
            "hour >=,verdict\n" + "3,DECLINE\n" * (MOST_RULES + 1),
            "more than 10,000 rules",
            marks=pytest.mark.slow,
        ),
        (
            "a.json",
            json.dumps([LOGIC, {"if": [{"in": ["a", 1]}, "DECLINE"]}]),
            "rule 2, condition 1",
        ),
        ("a.json", json.dumps([LOGIC, {"and": []}]), 'rule 2: {"if"'),
        ("a.json", json.dumps({"if": [{">": [{"var": "a"}, "b"]}, "DECLINE"]}), "wants a number"),
    ],
)
def test_a_bad_cell_is_named_and_nothing_is_half_imported(
    tmp_path: Path, name: str, text: str, why: str
) -> None:
    with pytest.raises(InvalidDataset, match=why):
        read_rules(written(tmp_path, name, text), TASK)
    file, book = tmp_path / name, f"sqlite:///{tmp_path}/book.db"
    done = CliRunner().invoke(app, ["playbook", "add", str(file), "--playbook", book])
    assert isinstance(done.exception, InvalidDataset)
    assert list(BulletPlaybook(book)) == []


def test_what_passes_is_a_candidate_with_its_backtest(tmp_path: Path) -> None:
    cases = [
        ({"amount": 30.0 * i, "hour": i % 24}, "DECLINE" if i >= 30 and i % 24 < 6 else "APPROVE")
        for i in range(120)
    ]
    book = playbook_of(cases)
    text = "amount >=,hour,verdict,reason\n900,< 6,DECLINE,At night\n,>= 12,DECLINE,\n"
    rules = read_rules(written(tmp_path, "rules.csv", text), book.task(NODE))
    (_, good), (_, bad) = propose_rules(book, rules, NODE, "rules.csv")
    bullet = book.get_bullet(str(good.bullet_id))
    assert (bullet.status, bullet.proof) == ("candidate", "proven")
    assert bullet.evidence["precision"] == 1.0
    assert bullet.origin["place"] == "row 1"
    assert (bad.action, bad.bullet_id) == ("refused", None)
    assert "right on 0 of 60" in bad.reason


def test_the_command_tells_what_became_of_each_rule(tmp_path: Path) -> None:
    book = f"sqlite:///{tmp_path}/book.db"
    file = written(tmp_path, "rules.csv", TABLE + "900,< 6,,,,DECLINE,again\n")
    words = ["playbook", "add", str(file), "--playbook", book]
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [rule["rule"] for rule in told["rules"][:3]] == SENTENCES[:3]
    assert {bullet.status for bullet in BulletPlaybook(book)} == {"candidate"}
    assert "says the same" in CliRunner().invoke(app, words).stdout
