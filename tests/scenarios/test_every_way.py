"""The graph, a ruleset, its columns and `score` decide 5,000 rows with odd values alike."""

import math
import random
from collections.abc import Callable

import pytest
from odd_tables import Rows, codes, currencies, few_words, gaps, payments, table_of

from acegraph.graph import create_ace_graph, score
from acegraph.graph.tables.reading import TableReader
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.columns import DECISIONS, BatchDecider
from acegraph.state import AceContext, BulletPlaybook

Maker = Callable[[random.Random], tuple[BulletPlaybook, Rows]]
ROWS = 250
COSTS = {"missed_fraud": 1, "false_decline": 0.2, "decline_fee": 5}
CONTEXTS = {
    "plain": AceContext(learn=False),
    "expect": AceContext(learn=False, policy={"undecided": "expect", "base_rate": 0.05}),
    "costs": AceContext(learn=False, policy={"costs": COSTS}),
    "vanilla": AceContext(learn=False, mode="vanilla"),
}


def rows_of(make: Maker) -> Rows:
    """Rows that the graph takes: it refuses one in which nothing stands."""
    some = [row for seed in (11, 12) for row in make(random.Random(seed))[1]]
    return [row for row in some if any(value not in (None, "") for value in row.values())][:ROWS]


@pytest.mark.slow
@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
@pytest.mark.parametrize("make", [payments, codes, few_words, currencies, gaps])
def test_every_way_to_decide_gives_the_same(make: Maker, context: AceContext) -> None:
    book, _ = make(random.Random(0))
    table = table_of(rows_of(make)).combine_chunks()
    rules = TableRules.of(book, context)
    (batch,) = table.to_batches()
    columns = BatchDecider(rules.ruleset).decide(TableReader(rules, table.schema).read(batch))
    scored = score(book, table, context=context).to_pylist()
    graph = create_ace_graph(playbook=book).compile()
    assert len(scored) == ROWS
    names = [bullet.id for bullet, _ in rules.ruleset.points_by_bullet]
    for i, row in enumerate(table.to_pylist()):
        result, one = graph.invoke({"transaction": row}, context=context), rules.decide(row)
        found = result["decision"], result["risk_score"], result["undecided"] or ""
        assert found == (one.decision, one.risk, one.undecided), row
        risk = None if math.isnan(columns.risks[i]) else columns.risks[i]
        over_columns = DECISIONS[columns.decisions[i]], risk, columns.undecided.get(i, "")
        assert found == over_columns, row
        in_table = scored[i]["decision"], scored[i]["risk"], scored[i]["undecided"] or ""
        assert found == in_table, row
        fired = [bullet.id for bullet in one.fired]
        assert sorted(result["bullets_used"]) == sorted(fired), row
        assert [names[k] for k in columns.fired[:, i].nonzero()[0]] == fired, row
        assert [text.split()[0] for text in scored[i]["bullets"].split(", ") if text] == fired
