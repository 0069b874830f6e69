"""The contract of a playbook: what a host can check before it asks."""

import json

import pytest
from rewordings import trained_playbook
from typer.testing import CliRunner

from acegraph.graph import generate_transactions
from acegraph.graph.cli.main import app
from acegraph.graph.operations.schema import expected_fields, json_schema, pydantic_source
from acegraph.state import BulletPlaybook, Case

NODE = "fraud_detection"


@pytest.fixture(scope="module")
def trained() -> BulletPlaybook:
    return trained_playbook(120)


def test_every_field_has_its_kind_its_values_and_its_rules(trained: BulletPlaybook) -> None:
    fields = {field.name: field for field in expected_fields(trained, NODE)}
    assert fields["amount"].kind == "number"
    assert fields["vpn"].kind == "flag"
    assert fields["channel"].kind == "word"
    assert all(field.is_required and field.share == 1 for field in fields.values())
    rules = [b for b in trained.get_bullets_for_node(NODE) if b.condition]
    assert {b.id for b in rules} == {i for field in fields.values() for i in field.bullets}


def test_the_json_schema_accepts_payments_and_refuses_what_is_not_one(
    trained: BulletPlaybook,
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json_schema(trained, NODE)
    payment = dict(generate_transactions(1, seed=7)[0].fields)
    jsonschema.validate(payment, schema)
    for broken in ({**payment, "amount": "a lot"}, {**payment, "vpn": "on"}, {"foo": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema)


def test_the_pydantic_model_runs(trained: BulletPlaybook) -> None:
    names: dict[str, object] = {"__name__": "made"}
    exec(pydantic_source(trained, NODE), names)
    payment = dict(generate_transactions(1, seed=7)[0].fields)
    assert names["Payment"](**payment).amount == payment["amount"]  # type: ignore[operator]
    with pytest.raises(ValueError, match="amount"):
        names["Payment"](**{**payment, "amount": "a lot"})  # type: ignore[operator]


def test_odd_names_and_parts_of_dates_are_written_so_that_the_source_compiles() -> None:
    with BulletPlaybook() as playbook:
        rows = ({"class": n, "card no": "x", "t": "2026-01-01 10:00:00"} for n in range(40))
        past = [Case(f"c{n}", {**row, "t.hour": 10}, "APPROVE") for n, row in enumerate(rows)]
        playbook.remember(past, NODE)
        names: dict[str, object] = {"__name__": "made"}
        exec(pydantic_source(playbook, NODE), names)
        fields = {field.name for field in expected_fields(playbook, NODE)}
        assert fields == {"class", "card no", "t"}


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
    assert "required" in table.output
    exported = run(app, ["read", "--to", "json-schema", "--playbook", url])
    assert "amount" in json.loads(exported.output)["required"]
    assert "class Payment" in run(app, ["read", "--to", "pydantic", "--playbook", url]).output
    none = run(app, ["read", "--playbook", f"sqlite:///{tmp_path / 'other.db'}"])
    assert none.exit_code != 0
