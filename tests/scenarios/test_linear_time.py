"""No crafted text makes a public function slow (at length: benchmarks/growth.py)."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from crafted_inputs import FAMILIES, FUNCTIONS, LONGEST, NO_STRANGERS, quietly

from acegraph import graph, nodes, state
from acegraph.graph.operations.transfer import export_bullets, read_bullets
from acegraph.state import BulletPlaybook, Case, Condition, InvalidDataset
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.condition import Comparison
from acegraph.state.values.plain import clean_text

FACTOR = 16
MOST = 40
"""Linear time would be 16 and the square 256."""
PAIRS = [
    ("clean_text", "marks that combine"),
    ("Transaction.of, one field", "marks that combine"),
    ("parse_condition, value", "digits"),
    ("facts_text", "double quotes"),
    ("read_fields, text", "pairs that never end"),
    ("explain", "commas"),
    ("explain", "amounts"),
    ("Task.fit, names", "names"),
    ("embed", "flags"),
    ("Screening, transaction", "memos"),
    ("redaction", "characters that expand"),
    ("redaction, many fields", "other words"),
    ("redaction, long value", "blanks"),
    ("erase", "underscores"),
    ("erase", "memos"),
    ("LLMJudge.judge, LanguageModel", "braces"),
    ("load_dataset, CSV", "quoted words"),
]


def cpu_seconds(function: str, text: str) -> Iterator[float]:
    for turn in range(3):
        call = FUNCTIONS[function](text[:-1] + str(turn))  # another text: nothing is remembered
        start = time.process_time()
        quietly(call)
        yield time.process_time() - start


@pytest.mark.parametrize(("function", "kind"), PAIRS)
def test_sixteen_times_the_text_takes_about_sixteen_times_as_long(function: str, kind: str) -> None:
    (family,) = (family for family in FAMILIES if family.name == kind)
    quietly(FUNCTIONS[function](family.text(200)))  # imports and patterns
    most = MOST * max(0.0005, min(cpu_seconds(function, family.text(LONGEST // FACTOR))))
    assert any(seconds < most for seconds in cpu_seconds(function, family.text(LONGEST)))


def test_every_public_name_is_measured_or_takes_nothing_from_strangers() -> None:
    public = {*state.__all__, *nodes.__all__, *graph.__all__} - NO_STRANGERS
    errors = {name for name in state.__all__ if issubclass_of_error(name)}
    measured = {word for name in FUNCTIONS for word in re.findall(r"\w+", name)}
    assert public - errors - measured == set()


def issubclass_of_error(name: str) -> bool:
    value = getattr(state, name)
    return isinstance(value, type) and issubclass(value, Exception)


def test_no_letter_keeps_more_marks_than_any_writing_has() -> None:
    piled = clean_text("e" + "\u0301\u0316" * 5_000 + " n\u0303o")
    assert len(piled) < 40
    assert piled.endswith(" ño")


def test_an_import_refuses_a_long_condition_before_it_writes(tmp_path: Path) -> None:
    book, file = BulletPlaybook(), tmp_path / "bullets.json"
    rule = Condition((Comparison("merchant_category", "is", "a" * 1_000),), "DECLINE")
    book.add_bullet("Decline these", "fraud_detection", condition=rule)
    export_bullets(book, file)
    with pytest.raises(InvalidDataset, match="at most 1000 characters each"):
        read_bullets(file)


def test_of_very_many_names_those_of_the_most_cases_count() -> None:
    table = CaseTable()
    for i in range(50):
        names = {f"x{i}_{j}": 1 for j in range(40)}
        table.add(Case(str(i), {**names, "amount": i, "vpn": i % 2 == 0}, "APPROVE"))
    assert {"amount", "vpn"} <= set(table.field_names)
    assert len(table.field_names) == 600
