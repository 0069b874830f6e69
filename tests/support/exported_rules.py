"""A playbook with all kinds of rules, rows with odd values, and the exported Python."""

import random
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import ModuleType
from typing import Any

from odd_tables import playbook_of

from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.export.python import to_python
from acegraph.state import AceContext
from acegraph.state.task.field import Field
from acegraph.state.task.task import Task, Unknown

FIELDS = (
    Field("amount", "number", role="amount", usual=True, least=0, most=50_000),
    Field("hour", "number", least=0, most=23.99),
    Field("score", "number"),
    Field("vpn", "flag", usual=True),
    Field("new", "flag", words=("nein", "ja")),
    Field("channel", "category", words=("web", "Shop"), closed=True, usual=True),
    Field("city", "category", words=("Paris",)),
    Field("at", "time", parts=("hour", "weekday", "month"), zone="Europe/Berlin"),
    Field("odd name", "number"),
)
RULES = (
    "DECLINE when amount >= 500 and hour < 6",
    'DECLINE when channel is "web" and vpn is true',
    'APPROVE when channel is "Shop"',
    "DECLINE when at.hour >= 22 and new is not false",
    'APPROVE when at.weekday is "Monday" and city is known',
    "DECLINE when score is 12.5",
    'APPROVE when city is not "Paris" and amount <= 12.5',
    "DECLINE when absent is missing and at.month is 2",
    'DECLINE when city is "x\'y"',
    "DECLINE when new is missing and score is not 0",
    'DECLINE when score is "12" and "odd name" > 3',
    "DECLINE by score: +0.3, from 12.5 +2.5, from 500 +1, missing +0.8",
    'DECLINE by city: +0.4, "Paris" +0, "Oslo" +1.7',
    "APPROVE the more amount goes from 500 to 2500: up to +1.5",
    "DECLINE by hour: +0.9, from 6 +0, from 22 +1.4",
)
COSTS = {
    "costs": {"missed_fraud": 1, "false_decline": 0.2, "decline_fee": 5}, "base_rate": 0.05
}  # fmt: skip
_CUTS = [0.0, -0.0, 6, 12.5, 22, 23.99, 24, 499.99, 500, 500.01, 750, 2500, 50_000, 50_001]
_ODD = [None, "", " ", "12.5", "1e3", "x", True, float("nan"), float("inf"), -5, 1e300, 2**60]
VALUES: Mapping[str, Sequence[object]] = {
    "number": [*_CUTS, *_CUTS, *_ODD, b"12", [5], {"a": 1}],
    "flag": [True, False, True, False, None, "ja", "NEIN", "true", 0, 1, 2, 1.0, "maybe", ""],
    "category": ["web", "WEB", " web ", "Shop", "shop", "fax", "Paris", "pARIS", "Oslo", "x'y",
                 "", None, "café", "cafe\u0301", 5411.0, True, "a\u200bb", 12.5],
    "time": [datetime(2026, 1, 5, 22, 10), datetime(2026, 2, 28), "2026-01-05T23:30:00+00:00",
             "2026-01-05", "2026-02-30", "20260105", None, 1767652200, "now"],
}  # fmt: skip


def rules_of(
    context: AceContext | None = None, *rules: str, unknown: Unknown = "ignore"
) -> TableRules:
    """A playbook with all kinds of rules, some labelled cases, and a task that says much."""
    cases = [
        (
            {"amount": 30.0 * i, "vpn": i % 3 == 0, "score": 12.5 * (i % 4)},
            "APPROVE" if i % 5 else "DECLINE",
        )
        for i in range(120)
    ]
    task = Task("payments", FIELDS, unknown=unknown)
    return TableRules.of(playbook_of(cases, *(rules or RULES), task=task), context)


def odd_rows(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Rows with values of all kinds, some under other spellings of their names, some missing."""
    rng = random.Random(seed)
    rows = [
        {
            one.name.upper() if rng.random() < 0.03 else one.name: rng.choice(VALUES[one.kind])
            for one in FIELDS
            if rng.random() < 0.9
        }
        for _ in range(count)
    ]
    for row in rows[::50]:
        row["Amount"] = 700.0  # perhaps a second one
    return [{}, dict.fromkeys(one.name for one in FIELDS), *rows]


def loaded(rules: TableRules) -> Any:
    """The exported Python, loaded as a module."""
    module = sys.modules["exported_playbook"] = ModuleType("exported_playbook")
    exec(compile(to_python(rules.source()), "exported_playbook", "exec"), vars(module))
    return module
