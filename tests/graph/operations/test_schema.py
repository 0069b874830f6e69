"""What a playbook expects: what a host can check before it asks."""

import json
from datetime import datetime
from typing import Literal

import pytest
from pydantic import BaseModel, Field
from rewordings import trained_playbook
from typer.testing import CliRunner

from acegraph.graph import generate_transactions
from acegraph.graph.cli.main import app
from acegraph.state import BulletPlaybook
from acegraph.state.task.schema import as_task, json_schema

NODE = "fraud_detection"


@pytest.fixture(scope="module")
def trained() -> BulletPlaybook:
    return trained_playbook()


def test_the_json_schema_accepts_payments_and_refuses_what_is_not_one(
    trained: BulletPlaybook,
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json_schema(trained.task(NODE))
    payment = dict(generate_transactions(1, seed=7)[0].fields)
    jsonschema.validate(payment, schema)
    for broken in ({**payment, "amount": "a lot"}, {**payment, "vpn": "on"}, {"foo": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema)


def test_a_pydantic_model_is_a_task() -> None:
    class Claim(BaseModel):
        value: float = Field(ge=0, description="what is claimed")
        kind: Literal["car", "house"]
        at: datetime
        new: bool | None = None

    fields = {one.name: one for one in as_task(Claim).fields}
    kinds = {name: one.kind for name, one in fields.items()}
    assert kinds == {"value": "number", "kind": "category", "at": "time", "new": "flag"}
    assert (fields["value"].least, fields["value"].meaning) == (0, "what is claimed")
    assert (fields["kind"].words, fields["kind"].closed) == (("car", "house"), True)
    assert (fields["at"].usual, fields["new"].usual) == (True, False)


def test_the_command_shows_and_exports_the_contract(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "p.csv"
    rows = [e.fields | {"is_fraud": int(e.answer == "DECLINE")} for e in generate_transactions(60)]
    lines = [",".join(rows[0]), *(",".join(str(v) for v in row.values()) for row in rows)]
    file.write_text("\n".join(lines) + "\n")
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    run = CliRunner().invoke
    assert run(app, ["train", str(file), "--label", "is_fraud", "--playbook", url]).exit_code == 0
    table = run(app, ["read", "--playbook", url])
    assert "amount" in table.output
    assert "usual" in table.output
    told = json.loads(run(app, ["read", "--playbook", url, "--json"]).output)
    kinds = {field["name"]: field["kind"] for field in told["fields"]}
    assert (kinds["amount"], kinds["vpn"], kinds["channel"]) == ("number", "flag", "category")
    with BulletPlaybook(url) as book:
        rules = [b for b in book.get_bullets_for_node(NODE) if b.condition]
    assert {b.id for b in rules} == {i for some in told["bullets"].values() for i in some}
    exported = run(app, ["read", "--to", "json-schema", "--playbook", url])
    assert "amount" in json.loads(exported.output)["required"]
    none = run(app, ["read", "--playbook", f"sqlite:///{tmp_path / 'other.db'}"])
    assert none.exit_code != 0
