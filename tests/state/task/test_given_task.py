"""The task that a host gives a playbook or a graph: set once, widened freely, changed with care."""

import json
from pathlib import Path

import pytest
from pydantic import BaseModel

from acegraph.graph import create_ace_graph
from acegraph.state import BulletPlaybook, Field, InvalidSettings, Task
from acegraph.state.task.schema import from_json_schema, json_schema

NODE = "fraud_detection"
CLAIMS = Task("claims", (Field("claim_value", "number", least=0), Field("police_report", "flag")))
NUMERIC = Task("claims", (Field("claim_value", "number"), Field("police_report", "number")))


class Claim(BaseModel):
    """Claims of insured cars."""

    claim_value: float
    police_report: bool | None = None


def names(playbook: BulletPlaybook) -> list[str]:
    return [field.name for field in playbook.task().fields]


def test_a_task_its_file_and_a_model_are_taken_alike(tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    file.write_text(json.dumps(CLAIMS.to_json()), encoding="utf-8")
    for given in (CLAIMS, file, str(file), Claim):
        assert names(BulletPlaybook(task=given)) == ["claim_value", "police_report"]
        playbook = BulletPlaybook()
        create_ace_graph(playbook=playbook, task=given)
        assert names(playbook) == ["claim_value", "police_report"]
    assert BulletPlaybook(task=Claim).task().about == "Claims of insured cars."


@pytest.mark.parametrize("given", [7, "no/such/task.json", {"name": "x"}])
def test_what_is_no_task_is_one_line(given: object) -> None:
    with pytest.raises(InvalidSettings, match=r"^(a task is a|the task 'no)[^\n]*$"):
        BulletPlaybook(task=given)


def test_a_task_given_again_is_not_set_again_also_where_it_was_widened_meanwhile() -> None:
    playbook = BulletPlaybook(task=CLAIMS)
    wider = Task("claims", (*CLAIMS.fields, Field("age", "number")))
    playbook.set_task(wider)
    create_ace_graph(playbook=playbook, task=CLAIMS)
    assert [one["version"] for one in playbook.declarations("task", NODE)] == [1, 2]
    assert names(playbook)[-1] == "age"


def test_a_field_that_an_active_rule_tests_stays_what_it_is() -> None:
    playbook = BulletPlaybook(task=CLAIMS)
    tested = playbook.add_bullet("DECLINE when police_report is false", NODE)
    other = playbook.add_bullet("DECLINE when claim_value >= 5000", NODE)
    said = rf"{tested} .police_report has another kind.; keep these fields"
    with pytest.raises(InvalidSettings, match=said):
        create_ace_graph(playbook=playbook, task=NUMERIC)
    assert playbook.task().by_name["police_report"].kind == "flag"
    playbook.set_task(NUMERIC, retire=True)
    status = {
        bullet.id: playbook.get_bullet(bullet.id).status
        for bullet in playbook.get_bullets([tested, other])
    }
    assert status == {tested: "candidate", other: "active"}


def test_what_nobody_set_is_changed_without_asking() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when police_report >= 1", NODE)
    assert playbook.set_task(CLAIMS).version == 1


def test_a_schema_keeps_what_a_task_is_about_and_its_answers() -> None:
    task = Task("posts", (Field("post", "text"),), answers=("KEEP", "REMOVE"), about="spam")
    back = from_json_schema(json_schema(task))
    assert (back.answers, back.about) == (("KEEP", "REMOVE"), "spam")
