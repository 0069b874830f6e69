"""Crafted inputs, and the public functions that must read them in time linear in their length.

A family repeats what some pattern or loop of ours may read twice: digits, separators, quotation
marks, words of the readers, marks that combine, deep nesting. A function is named after the public
name that a stranger's data reaches it by. `benchmarks/growth.py` measures all pairs.
"""

import asyncio
import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from langchain_core.language_models import FakeListChatModel
from starlette.applications import Starlette

from acegraph.graph import (
    TrainingPipeline,
    create_ace_graph,
    create_fraud_tool,
    feedback,
    feedback_many,
    load_dataset,
    purge,
    score,
    strict_serializer,
)
from acegraph.graph.cli.console import parse_transaction
from acegraph.graph.cli.printing import visible
from acegraph.graph.data.explain import explain
from acegraph.graph.data.forms import find_forms
from acegraph.graph.operations.decide import decide_many
from acegraph.graph.operations.feedback import read_labels
from acegraph.graph.operations.transfer import merge_bullets, read_bullets
from acegraph.graph.server.guard import Guard
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes import (
    Curator,
    HybridSelector,
    LanguageModel,
    LLMJudge,
    Reflector,
    SimpleFraudAgent,
    SimpleJudge,
)
from acegraph.nodes.agent.prompt import agent_messages
from acegraph.nodes.curator.screening import Proposal, Screening
from acegraph.nodes.evidence.backtest import backtest
from acegraph.nodes.models.concept_embeddings import embed
from acegraph.nodes.models.fence import Fence
from acegraph.nodes.reflector.prompt import Judged, reflector_messages
from acegraph.nodes.text.reader import read_exposed_fields
from acegraph.nodes.text.understand import read_fields
from acegraph.state import (
    AceContext,
    AceError,
    Bullet,
    BulletPlaybook,
    Case,
    Condition,
    Label,
    Transaction,
    erase,
    parse_condition,
)
from acegraph.state.database.encoding import as_utc
from acegraph.state.ledger.hidden_fields import HiddenFields
from acegraph.state.run.model_forms import ReflectionForm
from acegraph.state.run.review_answers import VerdictAnswer, read_answer
from acegraph.state.task.guess import guess
from acegraph.state.task.task import Task
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.condition import Comparison
from acegraph.state.values.decision import DecisionRecord
from acegraph.state.values.plain import clean_text
from acegraph.state.values.transaction import facts_text
from acegraph.state.values.verdict import parse_verdict

LONGEST: Final = 20_000
"""Characters of the longest text that a transaction may have."""
NODE: Final = "fraud_detection"
Call = Callable[[], object]


@dataclass(frozen=True)
class Family:
    """Texts of one kind: a unit repeated, between a beginning and an end."""

    name: str
    unit: str
    head: str = ""
    tail: str = ""

    def text(self, size: int) -> str:
        """A text of so many characters."""
        room = size - len(self.head) - len(self.tail)
        if "#" not in self.unit:
            body = self.unit * (room // len(self.unit) + 1)
        else:  # every repetition is another one
            body = "".join(self.unit.replace("#", f"{i:x}") for i in range(room // len(self.unit)))
        return self.head + body[:room] + self.tail


FAMILIES: Final = (
    Family("digits", "1", tail="x"),
    Family("digits with commas", "1,234,", tail="."),
    Family("digits with dots", "1.", tail="!"),
    Family("digits with spaces", "1 ", tail="x"),
    Family("digits with dashes", "4-", tail="x"),
    Family("digits and letters", "a1", tail="!"),
    Family("hexadecimal with colons", "ab:", tail="!"),
    Family("amounts", "$1 "),
    Family("amounts beside marks", "1 $1"),
    Family("percentages", "1.5% "),
    Family("times", "1:3"),
    Family("commas", ","),
    Family("pairs", "a: 1; "),
    Family("pairs that never end", "a b-", tail="="),
    Family("blanks", " ", head="memo", tail="."),
    Family("new lines", "\n", head="note", tail="'"),
    Family("underscores", "new_", tail="-"),
    Family("double quotes", '"'),
    Family("quoted words", '"A b" '),
    Family("opening quotes", "„a", tail="'"),
    Family("memos", "memo: '"),
    Family("brackets", "[", tail="x"),
    Family("braces", '{"a":', tail="}"),
    Family("parentheses", "a(", tail=";"),
    Family("tags", "<a ", tail=";"),
    Family("flags", "no vpn, "),
    Family("negations", "not the ", tail="vpn"),
    Family("ages", "account is been for ", tail="2 days"),
    Family("counts", "3 failed orders ", tail="."),
    Family("places", "Card in Aa ", tail="."),
    Family("verdicts", "never approve "),
    Family("comparisons", "amount >= 1 and "),
    Family("rules", "DECLINE when amount is 7#. "),
    Family("names", "Anna Lee pays Aa-", tail="@"),
    Family("other words", "w# "),
    Family("e-mail addresses", "a.b@", tail=" "),
    Family("marks that combine", "\u0301\u0316", head="e"),
    Family("invisible characters", "a\u200b"),
    Family("look-alike letters", "раy ", tail="!"),
    Family("characters that expand", "ﷺ", tail="x"),
)


def pieces(text: str, size: int = 100) -> list[str]:
    """A text in pieces."""
    return [text[i : i + size] for i in range(0, len(text), size)]


def _fields(text: str) -> dict[str, str]:
    """A text as the names and the values of fields."""
    parts = [(part[:50], part[50:100]) for part in pieces(text, 120)]
    return {f"{number}{name}": value for number, (name, value) in enumerate(parts)}


def _nested(text: str) -> dict[str, object]:
    """A text as the values of fields five levels deep."""
    nested: dict[str, object] = {"a": text}
    for name in "bcde":
        nested = {name: nested}
    return nested


@cache
def _task() -> Task:
    words = ("web", "shop", "phone")
    known = {"amount": [1.5, 2] * 60, "vpn": [True, False] * 60, "channel": words * 40}
    return Task("known", tuple(one.field for one in guess(known)))


def _playbook(*contents: str) -> BulletPlaybook:
    """A playbook with these bullets and one stored decision."""
    book = BulletPlaybook()
    with book.writing():
        for content in contents:
            book.add_bullet(content, NODE)
        book.record(_record("d1", {"customer": "Ann Lee"}), Label("DECLINE", "test"))
    return book


def _record(name: str, fields: Mapping[str, object], text: str = "pays $5") -> DecisionRecord:
    return DecisionRecord(name, NODE, text, dict(fields), "", "APPROVE", 0.1)  # type: ignore[arg-type]


def _file(suffix: str, content: str) -> Path:
    file = Path(tempfile.gettempdir()) / f"acegraph_growth{suffix}"
    file.write_text(content, encoding="utf-8", errors="replace")
    return file


def _csv(text: str) -> Path:
    rows = (part.replace('"', '""').replace("\0", "") for part in pieces(text))
    return _file(".csv", "query,answer\n" + "".join(f'"pays {row}",fraud\n' for row in rows))


def _lines(text: str) -> Path:
    rows = ({"query": f"pays {part}", "answer": "fraud"} for part in pieces(text))
    return _file(".jsonl", "\n".join(map(json.dumps, rows)))


def _labels(text: str) -> Path:
    rows = (f'"{part.replace(chr(34), "")}x",fraud\n' for part in pieces(text))
    return _file(".labels.csv", "decision_id,label\n" + "".join(rows))


def _export(text: str) -> Path:
    bullets = [
        {
            "content": f"Decline orders {part}",
            "condition": None,
            "node": NODE,
            "source": "offline",
            "status": "active",
            "confidence": 0.5,
            "problem_types": [],
        }
        for part in pieces(text)
    ]
    body: dict[str, object] = {"format": "acegraph-playbook", "format_version": 2}
    body["bullets"] = bullets
    return _file(".export.json", json.dumps(body))


def _invoke(given: object) -> Call:
    book = _playbook("DECLINE when amount >= 100", "Decline orders over a vpn")
    graph: Any = create_ace_graph(playbook=book).compile()
    return lambda: graph.invoke({"transaction": given, "ground_truth": "DECLINE"})


def _select(given: Any) -> Call:
    book, selector = _playbook("DECLINE when amount >= 100", "Decline vpn"), HybridSelector()
    return lambda: selector.select_bullets(given, NODE, book)


def _curate(text: str, *contents: str) -> Call:
    book = _playbook(*contents)
    return lambda: Curator().curate(text, NODE, book)


def _add(text: str) -> Call:
    book = _playbook()
    return lambda: [book.add_bullet(part, NODE) for part in pieces(text + "x") if part.strip()]


@cache
def _full_playbook(text: str) -> BulletPlaybook:
    """A playbook with as many similar bullets as it may use: each further one costs the same."""
    book = BulletPlaybook()
    parts = [f"Decline {number} orders {part}" for number in range(3) for part in pieces(text)]
    merge_bullets(book, [Bullet("", part, NODE) for part in parts])
    return book


def _imported(text: str) -> Call:
    book, file = _full_playbook(text[:2_000]).fork(), _export(text)
    return lambda: merge_bullets(book, read_bullets(file))


def _guarded(text: str) -> object:
    scope = {"type": "http", "method": "GET", "path": f"/threads/{text}", "headers": []}

    async def send(_: object) -> None:
        return None

    return asyncio.run(Guard(Starlette())(scope, None, send))  # type: ignore[arg-type]


def _answered(text: str) -> Call:
    answer = '{"reasoning": "' + text
    judge = LLMJudge(LanguageModel(FakeListChatModel(responses=[answer] * 2), "prompt"))
    return lambda: asyncio.run(judge.judge(text, "APPROVE"))


def _recorded(text: str) -> Call:
    book, record = _playbook(), _record("d2", {"a": text}, text)
    return lambda: (book.record(record, Label("DECLINE", text)), book.decision("d2"))


def _trained(text: str) -> Call:
    items = [{"query": f"pays {part}", "answer": "fraud"} for part in pieces(text, 1_000)]
    return lambda: TrainingPipeline(BulletPlaybook()).train_offline(items)


def _erased(text: str) -> Call:
    book = _playbook()
    book.record(_record("d2", {"a": f"Ann {text[:100]}"}, f"Ann {text}"))
    return lambda: erase(book, ["d2"])


def _redacted(text: str) -> object:
    text = clean_text(text)
    fields = {"customer": text[:200], "card": text[:40], "memo": text}
    hidden = HiddenFields.of(fields, ["customer", "card", "memo"])
    return hidden.transaction(Transaction(text, dict(fields)))


def _compared(text: str) -> Condition:
    return Condition((Comparison("a", "is", text), Comparison(text, "is known")), "DECLINE")


def _table(text: str) -> CaseTable:
    return CaseTable(
        Case(str(i), {"amount": i, part: part}, "DECLINE") for i, part in enumerate(pieces(text))
    )


def _now(function: Callable[[str], object]) -> Callable[[str], Call]:
    """A function that needs no preparation."""
    return lambda text: lambda: function(text)


def _prepared(
    prepare: Callable[[str], Any], function: Callable[[Any], object]
) -> Callable[[str], Call]:
    """A function of what is made from the text before."""
    return lambda text: partial(function, prepare(text))


def _with_playbook(function: Callable[[BulletPlaybook, str], object]) -> Callable[[str], Call]:
    """A function of a playbook and a text."""
    return lambda text: partial(function, _playbook(), text)


_LONG_RULE: Final = _compared("a" * LONGEST)
FUNCTIONS: Final[dict[str, Callable[[str], Call]]] = {
    "clean_text": _now(clean_text),
    "Transaction.of, text": _now(Transaction.of),
    "Transaction.of, one field": _now(lambda t: Transaction.of({"a": t})),
    "Transaction.of, many fields": _prepared(_fields, Transaction.of),
    "Transaction.of, list": _prepared(pieces, lambda parts: Transaction.of({"a": parts})),
    "Transaction.of, nested": _now(lambda t: Transaction.of(_nested(t)).digest()),
    "parse_verdict": _now(parse_verdict),
    "as_utc": _now(as_utc),
    "parse_condition": _now(parse_condition),
    "parse_condition, field": _now(lambda t: parse_condition(f"DECLINE when {t}")),
    "parse_condition, value": _now(lambda t: parse_condition(f'DECLINE when a is "{t}"')),
    "parse_condition, number": _now(lambda t: parse_condition(f"DECLINE when a > {t}")),
    "Condition.from_json": _now(
        lambda t: Condition.from_json(
            {"verdict": "DECLINE", "all": [{"field": p, "op": "is", "value": p} for p in pieces(t)]}
        )
    ),
    "Comparison": _now(lambda t: _compared(t).render()),
    "AceContext": _now(lambda t: AceContext(node=t, policy=dict.fromkeys(pieces(t), t))),
    "AceContext, unknown settings": _now(lambda t: AceContext(**dict.fromkeys(pieces(t), t[:9]))),
    "ReflectionForm": _now(
        lambda t: ReflectionForm.model_validate_json(
            json.dumps({"new_bullet": t[:500], "confidence": 1, "problem_types": [t], "b": t})
        )
    ),
    "CaseTable": _now(lambda t: _table(t).field_names),
    "Condition.holds_over": _prepared(_table, lambda table: _LONG_RULE.holds_over(table)),
    "VerdictAnswer": _now(lambda t: read_answer(VerdictAnswer, {"who": t, "why": t, "verdict": t})),
    "facts_text": _now(lambda t: facts_text(Transaction(t, {}))),
    "facts_text, memos": _now(
        lambda t: facts_text(Transaction.of({f"m{i}.memo": p for i, p in enumerate(pieces(t))}))
    ),
    "BulletPlaybook.add_bullet": _add,
    "BulletPlaybook.get_bullet": _with_playbook(lambda book, t: book.get_bullet(t)),
    "BulletPlaybook.record": _recorded,
    "BulletPlaybook.label_many": _with_playbook(
        lambda book, t: book.label_many({part: Label("DECLINE", "test") for part in pieces(t)})
    ),
    "erase": _erased,
    "erase, entity": _with_playbook(lambda book, t: erase(book, entity=("customer", t))),
    "redaction": _now(_redacted),
    "redaction, long value": _prepared(
        clean_text,
        lambda t: HiddenFields.of({"a": t[: len(t) * 12 // 25]}, ["a"]).text(f"{t} a: {t}"),
    ),
    "redaction, many fields": _now(
        lambda t: HiddenFields.of(_fields(t), list(_fields(t))).transaction(
            Transaction(t, {**_fields(t)})
        )
    ),
    "read_fields, text": _now(lambda t: read_fields(Transaction(t, {}))),
    "read_fields, one field": _now(lambda t: read_fields(Transaction("", {"amount": t, "vpn": t}))),
    "read_fields, many fields": _now(lambda t: read_fields(Transaction("", {**_fields(t)}))),
    "read_exposed_fields": _now(read_exposed_fields),
    "Task.fit, value": _now(
        lambda t: _task().fit({"amount": t[:6_000], "vpn": t[:6_000], "channel": t[:6_000]})
    ),
    "Task.fit, names": _now(lambda t: _task().fit(Transaction.of(_fields(t)).fields)),
    "guess": _now(lambda t: guess({"a": pieces(t), "b": [t[:5_000]]})),
    "find_forms": _now(lambda t: find_forms({"a": pieces(t)}, is_continental=True)),
    "embed": _now(embed),
    "HybridSelector.select_bullets, text": _select,
    "HybridSelector.select_bullets, fields": lambda t: _select(_fields(t)),
    "SimpleFraudAgent.decide": _now(
        lambda t: SimpleFraudAgent([t, f"DECLINE when {t}"]).decide(f"{t}"[:LONGEST])
    ),
    "prompts": _now(
        lambda t: (
            agent_messages(t, [Bullet("b1", t, "", condition=_compared(t))], Fence("d")),
            reflector_messages(
                Judged(Transaction(t, dict.fromkeys(pieces(t), 1)), "APPROVE", "DECLINE", t),
                [],
                Fence("d"),
            ),
        )
    ),
    "SimpleJudge.judge": _now(lambda t: asyncio.run(SimpleJudge().judge(t, t, t))),
    "LLMJudge.judge, LanguageModel": _answered,
    "Reflector.reflect": _now(
        lambda t: asyncio.run(Reflector().reflect(t, "APPROVE", "DECLINE", NODE, t))
    ),
    # A bullet has at most 1,000 characters: a twentieth of the other texts.
    "Curator.curate": lambda t: _curate(t[: len(t) // 20]),
    "Curator.curate, longer": _curate,
    "Curator.curate, similar bullets": lambda t: _curate(
        t[: len(t) // 20] + "z", *(f"{t[: len(t) // 20 - 1]}{i}" for i in range(8))
    ),
    "Screening, prose": _now(lambda t: Screening()(Proposal(t))),
    "Screening, transaction": _now(
        lambda t: Screening()(Proposal("Decline vpn at night", transaction=Transaction(t, {})))
    ),
    "Screening, condition": _now(
        lambda t: Screening()(Proposal(f"Decline {t}"[:400], _compared(t)))
    ),
    "backtest": _prepared(_table, lambda table: backtest(_LONG_RULE, table, np.zeros(len(table)))),
    "load_dataset, CSV": _prepared(_csv, load_dataset),
    "load_dataset, JSON": _prepared(_lines, load_dataset),
    "read_labels": _prepared(_labels, read_labels),
    "feedback": _with_playbook(lambda book, t: feedback(book, t, t)),
    "feedback_many": _with_playbook(
        lambda book, t: feedback_many(
            book, [(part, Label("DECLINE", "test")) for part in pieces(t)]
        )
    ),
    "explain": _now(lambda t: explain(Transaction(t, {}))),
    "merge_bullets": _imported,
    "create_ace_graph, text": _invoke,
    "create_ace_graph, fields": lambda t: _invoke(_fields(t)),
    "create_fraud_tool": _with_playbook(
        lambda book, t: create_fraud_tool(create_ace_graph(playbook=book)).invoke(
            {"transaction": t}
        )
    ),
    "decide_many": _with_playbook(lambda book, t: decide_many(book, [{"transaction": t}])),
    "Ruleset.decide": _with_playbook(lambda book, t: TableRules.of(book).decide({"memo": t})),
    "score": _with_playbook(lambda book, t: score(book, pa.table({"merchant": pieces(t)}))),
    "TrainingPipeline.train_offline": _trained,
    "purge": _with_playbook(lambda book, t: purge(book, entities=[("customer", t)])),
    "strict_serializer": _now(
        lambda t: strict_serializer().loads_typed(strict_serializer().dumps_typed(pieces(t)))
    ),
    "command line": _now(lambda t: visible(str(parse_transaction(f'{{"a": {t}')))),
    "server paths": _now(_guarded),
}
"""By name: from a crafted text to the call that is timed; what is prepared does not count."""


NO_STRANGERS: Final = frozenset(
    # Values that are checked where they are made, types, and errors.
    "APPROVE DECLINE Verdict other Fields Scalar Case Source Status Clock Recorded Shown Label "
    "DecisionRecord AceInput AceOutput AceState Mode Weights ConditionForm DecisionForm Form "
    "VerdictForm Difference Durability Erased Purged View Backtest Curation Decision Judgement "
    "Reflection Selection Estimate Example Feedback FeedbackReport ModePlan MODES PairedTest Run "
    "Replay TrainingReport Bullet Field Policy "
    # Numbers, versions, times and files of the operator.
    "as_of back_up bullets_at diff prune rollback verify replay replaying estimate mcnemar "
    "try_bullet Trial learn_waiting LearnedLessons "
    "wilson_interval generate_transactions ScoreReport score_files".split()
)
"""Public names that no stranger's text, mapping or list reaches at first."""


def quietly(call: Call) -> None:
    """Call; our own errors are answers too."""
    with suppress(AceError):
        call()
