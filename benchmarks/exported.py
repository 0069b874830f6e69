"""A decision without us: the exported Python beside closures by hand, `Ruleset.decide` beside the
engines of others, all on the same rules and the same fitted payments, in turns.

`python benchmarks/exported.py` prints CPU times; with `equal` it decides 200,000 rows with odd
values by `Ruleset.decide`, the exported Python, DuckDB and the engines, and counts what differs;
with `million` the exported Python decides a million payments.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import rule_engine
import zen
from common import compare, rules_playbook, table
from exported_rules import COSTS, loaded, odd_rows, rules_of
from json_logic import jsonLogic

from acegraph.graph import generate_transactions
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.state import AceContext
from acegraph.state.values import UNDECIDED, Comparison

ROWS = 400
Decide = Callable[[dict[str, Any]], object]


def by_hand(ruleset: Ruleset) -> Decide:
    """Closures as one would write them, for rows that have all fields."""
    rules = [
        (one.points, one.bullet.id if one.bullet else "", eval(f"lambda p: {_plain(one.tests)}"))
        for one in ruleset.scored
    ]
    start, limit = ruleset.start, ruleset.scale.limit({})

    def decide(payment: dict[str, Any]) -> tuple[str, int, list[str]]:
        points, names = start, []
        for worth, name, holds in rules:
            if holds(payment):
                points += worth
                if name:
                    names.append(name)
        return "DECLINE" if points > limit else "APPROVE", points, names

    return decide


def _plain(tests: tuple[Comparison, ...], field: str = "p[{!r}]") -> str:
    signs = {"is": "==", "is not": "!="}
    said = (f"{field.format(t.field)} {signs.get(t.op, t.op)} {t.value!r}" for t in tests)
    return " and ".join(said)


def by_zen(ruleset: Ruleset) -> Decide:
    """A decision table as one would draw it, for rows that have all fields."""
    model = json.loads(TableRules(ruleset).written("jdm"))
    content = model["nodes"][1]["content"]
    for one, row in zip(ruleset.scored, content["rules"][1:], strict=True):
        row["when"] = _said(one.tests)
    model["nodes"][2]["content"]["expressions"][2]["value"] = (
        f"$.points > {ruleset.scale.limit({})} ? 'DECLINE' : 'APPROVE'"
    )
    decide: Decide = zen.ZenEngine().create_decision(json.dumps(model)).evaluate
    return decide


def by_rule_engine(ruleset: Ruleset) -> Decide:
    """rule-engine has one rule at a time; the sum is ours."""
    context = rule_engine.Context(default_value=None)
    rules = [
        (one.points, rule_engine.Rule(_said(one.tests), context=context)) for one in ruleset.scored
    ]

    def decide(payment: dict[str, Any]) -> object:
        points = ruleset.start + sum(n for n, rule in rules if rule.matches(payment))
        return points > ruleset.scale.limit({})

    return decide


def _said(tests: tuple[Comparison, ...]) -> str:
    return _plain(tests, "{}").replace("True", "true").replace("False", "false").replace("'", '"')


def deciders(rules: TableRules) -> dict[str, Decide]:
    """Everything that decides a fitted payment."""
    logic = json.loads(rules.written("jsonlogic"))
    model = zen.ZenEngine().create_decision(rules.written("jdm"))
    alone = loaded(rules)
    return {
        "closures by hand": by_hand(rules.ruleset),
        "exported Python": alone.ruling,
        "exported Python with fit": alone.decide,
        "Ruleset.decide": rules.ruleset.decide,
        "exported model": model.evaluate,
        "zen-engine": by_zen(rules.ruleset),
        "rule-engine": by_rule_engine(rules.ruleset),
        "json-logic (points and decision)": lambda p: (
            jsonLogic(logic["points"], p),
            jsonLogic(logic["decision"], p),
        ),
    }


def main() -> dict[str, float]:
    """Print and give the CPU of a decision, in microseconds, and the ratios."""
    rules = TableRules.of(rules_playbook())
    kinds, empty = rules.source().kinds, {"number": 0.0, "flag": False, "category": ""}
    payments = [rules.read(one.fields)[0] for one in generate_transactions(ROWS, seed=3)]
    fitted = [  # by hand nobody asks for what is missing
        {n: empty[kind] if one.get(n) is None else one[n] for n, kind in kinds.items()}
        for one in payments
    ]
    found = deciders(rules)

    def over(decide: Decide) -> Callable[[], None]:
        def work() -> None:
            for row in fitted:
                decide(row)

        return work

    seconds = compare(*(over(decide) for decide in found.values()))
    figures = {f"{n}, us": 1e6 * s / ROWS for n, s in zip(found, seconds, strict=True)}
    ratio = {name: figures[f"{name}, us"] for name in found}
    for ours, theirs in [
        ("exported Python", "closures by hand"),
        ("Ruleset.decide", "zen-engine"),
        ("Ruleset.decide", "rule-engine"),
        ("Ruleset.decide", "json-logic (points and decision)"),
    ]:
        figures[f"{ours} / {theirs}"] = ratio[ours] / ratio[theirs]
    table(
        f"A decision by {len(rules.ruleset.scored)} rules, CPU",
        [[name, f"{figure:.2f}"] for name, figure in figures.items()],
    )
    return figures


def equal(count: int) -> None:
    """Print how many of so many odd rows are decided otherwise than by `Ruleset.decide`."""
    policies: dict[str, Any] = {
        "as it is": {},
        "with costs": COSTS,
        "in doubt what is expected": {"undecided": "expect"},
    }
    for name, policy in policies.items():
        rules = rules_of(AceContext(policy=policy) if policy else None)
        alone, differing, decisions = loaded(rules), 0, Counter[str]()
        for row in odd_rows(count):
            wanted, found = rules.decide(row), alone.decide(row)
            told = (wanted.decision, wanted.points, wanted.risk, [b.id for b in wanted.fired])
            differing += told != tuple(found[n] for n in ("decision", "points", "risk", "rules"))
            decisions[wanted.decision] += 1
        print(f"exported Python, {name}: {differing} of {decisions.total():,} rows differ")
        print("  " + ", ".join(f"{n:,} {decision}" for decision, n in sorted(decisions.items())))


def in_engines(count: int) -> None:
    """The same of the fitted fields in the engines of others."""
    rules = rules_of()
    logic = json.loads(rules.written("jsonlogic"))
    model = zen.ZenEngine().create_decision(rules.written("jdm"))
    names, differing, unheld = logic["variables"], Counter[str](), 0
    for row in odd_rows(count):
        fields = {n: v for n, v in rules.read(row)[0].items() if n in names}
        ruling = rules.ruleset.weigh(fields)
        decision = UNDECIDED if rules.ruleset.why_unknown(fields) else ruling.decision
        wanted = (decision, ruling.points, [bullet.id for bullet in ruling.fired])
        data = {names[n]: v for n, v in fields.items()}
        said = tuple(jsonLogic(logic[part], data) for part in ("decision", "points", "rules"))
        differing["JSONLogic"] += said != wanted
        if any(isinstance(v, float) and abs(v) > 1e28 for v in fields.values()):
            unheld += 1
            continue
        found = model.evaluate(fields)["result"]
        differing["JDM"] += (found["decision"], found["points"], found["rules"]) != wanted
    print(f"fitted fields of {count:,} rows: JSONLogic {differing['JSONLogic']} differ")
    print(f"  JDM {differing['JDM']} differ; {unheld} have a number that its decimals cannot hold")


def million() -> None:
    """Print the CPU of a million payments, read and decided by the exported Python."""
    rules = TableRules.of(rules_playbook())
    alone, some = loaded(rules), [one.fields for one in generate_transactions(10_000, seed=3)]
    decisions, points, start = Counter[str](), 0, time.process_time()
    for place in range(1_000_000):
        found = alone.decide(some[place % len(some)])
        decisions[found["decision"]] += 1
        points += found["points"]
    seconds = time.process_time() - start
    wanted = [rules.decide(row) for row in some]
    same = points == 100 * sum(one.points for one in wanted)
    same &= decisions == Counter(
        {d: 100 * n for d, n in Counter(o.decision for o in wanted).items()}
    )
    print(f"exported Python: 1,000,000 payments in {seconds:.0f} s of CPU, as decided here: {same}")


if __name__ == "__main__":
    if "equal" in sys.argv:
        equal(200_000)
        in_engines(200_000)
    elif "million" in sys.argv:
        million()
    else:
        main()
