"""A playbook without us: what is exported decides as the ruleset does, in its own engine."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zen
from exported_rules import COSTS, loaded, odd_rows, rules_of
from json_logic import jsonLogic

from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.ruleset import Ruling
from acegraph.state import AceContext, InvalidSettings
from acegraph.state.values import UNDECIDED

EXPECTS = AceContext(policy={"undecided": "expect"})
CONTEXTS = [AceContext(), AceContext(policy=COSTS), EXPECTS, AceContext(policy={"limit": 0.3})]


def told(ruling: Ruling) -> tuple[object, ...]:
    return (
        ruling.decision,
        ruling.points,
        *([b.id for b in n] for n in (ruling.fired, ruling.graded)),
    )


@pytest.mark.parametrize("context", CONTEXTS)
def test_the_exported_python_decides_odd_rows_as_the_ruleset(context: AceContext) -> None:
    rules = rules_of(context)
    alone, seen = loaded(rules), set()
    for row in odd_rows(400):
        wanted, found = rules.decide(row), alone.decide(row)
        assert told(wanted) == tuple(found[n] for n in ("decision", "points", "rules", "graded")), (
            row
        )
        assert wanted.risk == found["risk"]
        assert bool(wanted.undecided) == bool(found["undecided"])
        seen.add(wanted.decision)
    assert seen == {"APPROVE", "DECLINE", "UNDECIDED"}


def test_a_task_that_refuses_unknown_fields_does_so_when_it_is_exported() -> None:
    rules = rules_of(None, "DECLINE when amount >= 500", unknown="refuse")
    alone = loaded(rules)
    for row in ({"amount": 600.0}, {"amount": 600.0, "score": 1}, {"amount": 600.0, "other": 1}):
        assert alone.decide(row)["decision"] == rules.decide(row).decision
    assert "refused" in alone.decide({"amount": 600.0, "other": 1})["undecided"]


def test_a_text_that_is_tested_for_words_is_tested_so_without_us() -> None:
    rules = rules_of(None, 'DECLINE when city mentions "gift cards"')
    for city in ("Gift-cards!", "giftcards", None, 5):
        row = {"city": city, "amount": 20.0, "vpn": False, "channel": "web"}
        assert loaded(rules).decide(row)["rules"] == [b.id for b in rules.decide(row).fired]
    for to in ("jdm", "jsonlogic", "sql"):
        with pytest.raises(InvalidSettings, match="mentions"):
            rules.written(to)


def test_the_exported_python_needs_the_standard_library_alone(tmp_path: Path) -> None:
    rules = rules_of()
    file = tmp_path / "rules.py"
    file.write_text(rules.written("python"), encoding="utf-8")
    code = "import sys, json; sys.path.insert(0, sys.argv[1]); import rules; "
    code += "print(json.dumps([rules.VERSION, rules.decide({'amount': 700, 'hour': 3})]))"
    words = [sys.executable, "-I", "-S", "-c", code, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    version, found = json.loads(done.stdout)
    wanted = rules.decide({"amount": 700, "hour": 3})
    assert (version, found["decision"]) == (rules.ruleset.version, wanted.decision)


def test_the_exported_python_is_readable_and_says_whether_it_was_changed() -> None:
    text = rules_of().written("python")
    assert (
        "    # b1 +1.31: DECLINE when amount >= 500 and hour < 6\n"
        "    if amount is not None and amount >= 500 and hour is not None and hour < 6:\n"
    ) in text
    line, below = text.partition("\nCHECKSUM = ")[2].split("\n", 1)
    assert line.strip('"') == hashlib.sha256(below.encode()).hexdigest()
    assert "nothing is recorded, and nothing is learned" in text.splitlines()[5]


def in_engines(rules: TableRules) -> Any:
    """What JSONLogic and the decision model say of fitted fields; None for what is no number."""
    logic = json.loads(rules.written("jsonlogic"))
    model = zen.ZenEngine().create_decision(rules.written("jdm"))
    names = logic["variables"]

    def decide(fields: dict[str, Any]) -> Any:
        fitted = {name: value for name, value in fields.items() if name in names}
        data = {names[name]: value for name, value in fitted.items()}
        yield tuple(jsonLogic(logic[part], data) for part in ("decision", "points", "rules"))
        if all(abs(v) < 1e20 for v in fitted.values() if isinstance(v, float)):
            found = model.evaluate(fitted)["result"]
            yield found["decision"], found["points"], found["rules"]

    return decide


@pytest.mark.parametrize("context", [AceContext(), AceContext(mode="vanilla")])
def test_engines_of_others_decide_fitted_rows_as_the_ruleset(context: AceContext) -> None:
    rules = rules_of(context)
    decide, seen = in_engines(rules), set()
    for row in odd_rows(200):
        fields, _ = rules.read(row)
        wanted = rules.ruleset.weigh(fields)
        decision = UNDECIDED if rules.ruleset.why_unknown(fields) else wanted.decision
        for found in decide(dict(fields)):
            assert found == (decision, wanted.points, [b.id for b in wanted.fired]), row
        seen.add(decision)
    assert seen >= {"APPROVE", "UNDECIDED"}


@pytest.mark.parametrize("odd", [{"amount": "700"}, {"vpn": 1}, {"amount": True}, {"city": 5}])
def test_engines_of_others_decide_nothing_on_a_value_of_another_kind(odd: dict[str, Any]) -> None:
    fields = {"amount": 700.0, "hour": 3.0, "vpn": True, "city": "Oslo"}
    for decision, *_ in in_engines(rules_of())(fields | odd):
        assert decision == UNDECIDED


@pytest.mark.parametrize("to", ["jdm", "jsonlogic"])
def test_an_exported_model_says_what_it_leaves_out(to: str) -> None:
    body = json.loads(rules_of().written(to))
    said = body.get("acegraph", body)
    assert said["version"] == rules_of().ruleset.version
    assert said["fields"]["at.hour"] == "number"
    assert any("nothing is recorded" in one for one in said["leaves_out"])


@pytest.mark.parametrize(
    ("to", "rule", "why"),
    [
        ("jsonlogic", "DECLINE when at_hour >= 3 and at.hour >= 3", "no dots in names"),
        ("jdm", 'DECLINE when city is "x\'y\\"z"', "both kinds of quotes"),
        ("jdm", "DECLINE when score >= 1e-30", "counts in decimals"),
        ("yaml", "DECLINE when score >= 1", "no export to 'yaml'"),
    ],
)
def test_what_a_language_cannot_hold_is_refused(to: str, rule: str, why: str) -> None:
    with pytest.raises(InvalidSettings, match=why):
        rules_of(None, rule, unknown="grow").written(to)


@pytest.mark.parametrize("to", ["jdm", "jsonlogic"])
def test_a_limit_by_the_amount_is_refused_where_there_is_no_logarithm(to: str) -> None:
    with pytest.raises(InvalidSettings, match="wants a logarithm"):
        rules_of(AceContext(policy=COSTS)).written(to)
