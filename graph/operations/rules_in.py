"""Rules that others have written: a decision table as CSV, or JSONLogic; they become candidates.

A table has a column for each comparison (`amount >=` over 900, or `amount` over >= 900), and the
columns `verdict` and, if wanted, `reason`. Comparisons are read as in a sentence. All rules of a
file are read before one is proposed, so that nothing is half imported.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Final

from acegraph.graph.data.rows import read_encoded, read_sheet
from acegraph.nodes.curator.curator import Curation, Curator
from acegraph.state import BulletPlaybook, InvalidCondition, InvalidDataset, InvalidInput, Task
from acegraph.state.errors import quoted
from acegraph.state.values import Comparison, Condition, Verdict, is_number, parse_verdict

MOST_RULES: Final = 10_000
_TABLES: Final = (".csv", ".tsv")
_VERDICT: Final = "verdict"
_REASON: Final = "reason"
_SIGNS: Final = {"==": "is", "===": "is", "!=": "is not", "!==": "is not"}
_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class ReadRule:
    """A rule of a file, and where it stands there."""

    where: str
    condition: Condition
    reason: str = ""


def is_exported(file: Path) -> bool:
    """Whether a file is none of rules of others: what `read_bullets` reads, or refuses."""
    if file.suffix.lower() in _TABLES:
        return False
    try:
        tree = json.loads(read_encoded(file)[0])
    except (ValueError, RecursionError):
        return True
    return not (isinstance(tree, list) or (isinstance(tree, dict) and "if" in tree))


def read_rules(file: Path, task: Task) -> list[ReadRule]:
    """The rules of a file; the first cell that is none is named by its row and column."""
    text, _ = read_encoded(file)
    is_table = file.suffix.lower() in _TABLES
    found = _of_table(file, text, task) if is_table else _of_logic(json.loads(text), file, task)
    rules = []
    for rule in found:
        rules.append(rule)
        if len(rules) > MOST_RULES:
            raise InvalidDataset(f"{file}: more than {MOST_RULES:,} rules")
    if not rules:
        raise InvalidDataset(f"{file}: no rules")
    return rules


def propose_rules(
    playbook: BulletPlaybook, rules: list[ReadRule], node: str, file: str
) -> list[tuple[ReadRule, Curation]]:
    """Propose rules to the curator, in one database transaction: who passes its screening and its
    backtest is a candidate, which waits for a person.
    """
    curator = _Importing(similarity_threshold=0.999, capacity=MOST_RULES).awaiting_approval()
    with playbook.writing():
        return [
            (
                rule,
                curator.curate(
                    rule.condition.render(),
                    node,
                    playbook,
                    condition=rule.condition,
                    origin={"imported_from": file, "place": rule.where, "reason": rule.reason},
                ),
            )
            for rule in rules
        ]


class _Importing(Curator):
    """Candidates change no weight of others, so nothing is fitted after each of them."""

    def tend(self, node: str, playbook: BulletPlaybook, keep: str | None = None) -> list[str]:
        return []


def _of_table(file: Path, text: str, task: Task) -> Iterator[ReadRule]:
    """The rules of a decision table."""
    names, lines = read_sheet(file, text)
    known = {name.lower(): name for name in names if name.lower() in (_VERDICT, _REASON)}
    if _VERDICT not in known:
        raise InvalidDataset(f"{file}: no column {_VERDICT!r}, for what follows from a row")
    for number, (_, row) in enumerate(lines, start=1):
        where = f"row {number}"
        cells = {name: cell.strip() for name, cell in row.items() if cell.strip()}
        reason = cells.pop(known.get(_REASON, ""), "")
        said = cells.pop(known[_VERDICT], "")
        try:
            verdict = parse_verdict(task.stored(said))
        except ValueError:
            raise InvalidDataset(
                f"{file}: {where}, column {known[_VERDICT]!r}: {' or '.join(task.answers)} wanted"
            ) from None
        tests = [_of_cell(f"{file}: {where}", name, cell, task) for name, cell in cells.items()]
        yield ReadRule(where, _condition(f"{file}: {where}", tests, verdict), reason)


def _of_cell(where: str, column: str, cell: str, task: Task) -> Comparison:
    """The comparison that a column and a cell make; words need no quotes."""
    text = json.dumps(cell, ensure_ascii=False)
    plain = [] if cell[0] in "<>=!" else [f"is {cell}", f"is {text}"]
    for words in (cell, text, *plain):
        try:
            (test,) = Condition.parse(f"DECLINE when {column} {words}").comparisons
        except (InvalidCondition, ValueError):
            continue
        one, word = task.field_of(test.field), cell.split()[-1].lstrip("=!")
        is_code = (one and one.kind == "category") or re.fullmatch(r"0\d+", word)
        if is_code and is_number(test.value):
            return Comparison(test.field, test.op, word)
        return test
    raise InvalidDataset(f"{where}, column {column!r}: a comparison wanted, as >= 900 or is NG")


def _condition(where: str, tests: Sequence[Comparison], verdict: Verdict) -> Condition:
    try:
        return Condition(tuple(tests), verdict)
    except InvalidCondition as error:
        raise InvalidDataset(f"{where}: {error}") from None


def _of_logic(tree: object, file: Path, task: Task) -> Iterator[ReadRule]:
    """The rules of `if` with conditions and answers by turns, or of a list of such; an `or` makes
    several. Each counts for itself: that an `if` ends at the first that holds is not kept.
    """
    for number, one in enumerate(tree if isinstance(tree, list) else [tree], start=1):
        parts = one.get("if") if isinstance(one, dict) and len(one) == 1 else None
        if not isinstance(parts, list) or len(parts) < 2:
            raise InvalidDataset(f'{file}: rule {number}: {{"if": [condition, answer]}} wanted')
        for place in range(0, len(parts) - 1, 2):
            where = f"rule {number}, condition {place // 2 + 1}"
            try:
                verdict = parse_verdict(task.stored(parts[place + 1]))
                found = _conditions(parts[place])
            except (InvalidCondition, InvalidInput) as error:
                raise InvalidDataset(f"{file}: {where}: {error}") from None
            for tests in found:
                yield ReadRule(where, _condition(f"{file}: {where}", tests, verdict))


def _conditions(tree: object) -> list[tuple[Comparison, ...]]:
    """The ways in which a condition can hold, each as comparisons that must all hold."""
    if not isinstance(tree, dict) or len(tree) != 1:
        raise InvalidCondition(f"and, or or a comparison wanted, found {quoted(tree)}")
    ((op, parts),) = tree.items()
    if op not in ("and", "or", *_SIGNS, *_FLIPPED) or not isinstance(parts, list):
        raise InvalidCondition(f"no rule has {quoted(op)}; and, or, ==, !=, <, <=, >, >= are read")
    if op == "or":
        return [way for part in parts for way in _conditions(part)]
    if op == "and":
        ways = product(*map(_conditions, parts))
        return [tuple(test for tests in way for test in tests) for way in islice(ways, MOST_RULES)]
    if len(parts) == 3 and op in ("<", "<="):  # a value between two others
        low, high = _comparison(op, *parts[:2]), _comparison(op, *parts[1:])
        return [(low, high)]
    if len(parts) != 2:
        raise InvalidCondition(f"{op} compares a field with a value")
    return [(_comparison(op, *parts),)]


def _comparison(op: str, left: object, right: object) -> Comparison:
    """A comparison of a field, which may stand on either side."""
    if not isinstance(left, dict):
        op, left, right = _FLIPPED.get(op, op), right, left
    names = left.get("var") if isinstance(left, dict) and len(left) == 1 else None
    name = names[0] if isinstance(names, list) and names else names
    sign = _SIGNS.get(op, op)
    if not isinstance(name, str) or isinstance(right, dict | list):
        raise InvalidCondition(f"{op} compares one field with one value")
    if right is None:
        return Comparison(name, {"is": "is missing", "is not": "is known"}.get(sign, sign))
    return Comparison(name, sign, right if isinstance(right, str | bool | int | float) else None)
