"""The prompt of the agent: what the playbook knows of a transaction, and the transaction.

The instructions can be replaced (`prompts=` of the graph); the facts below them and the fence round
what strangers wrote stay. The version of a prompt is stored with every decision made by it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from acegraph.nodes.models.fence import Fence, instructions_of, one_line
from acegraph.nodes.rules.points import UNIT, points_here, weight_of
from acegraph.nodes.text.category_words import is_category, is_field_name
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.task import Task
from acegraph.state.values import (
    Bullet,
    Comparison,
    Condition,
    Scalar,
    Verdict,
    log_odds_of,
    rounded_risk,
    sign_of,
    written_risk,
)

AGENT: Final = """\
APPROVE or DECLINE one case. That a rule holds was checked: trust it. Follow the playbook's opinion, \
the sum of its rules, unless something in the case that no rule covers speaks against it: name it. If \
it is open, your own reading decides."""

_OPEN: Final = math.log(5)
"""The opinion is open where the odds are within five to one of the limit: on payments that had no
part in learning it is right about three times of four there (EXPERIMENTS.md)."""
_FARTHEST: Final = 3.0
"""A model that is always sure departs no farther than this: its own scale of risk is unknown."""
_TITLES: Final = {
    True: "Rules that hold here, best first (right/cases, log-odds):",
    None: "Rules not checked, to be read (right/cases):",
    False: "Rules that do not hold here:",
}
_STRENGTHS: Final = ((2.0, "strong"), (1.0, "fair"), (0.0, "weak"))


@dataclass(frozen=True)
class Opinion:
    """What scorecard and rules together say of a transaction: what the embedded analyst decides."""

    verdict: Verdict
    risk: float
    limit: float
    """The risk above which a case is declined."""
    rules: int
    """How many rules hold."""

    @property
    def is_open(self) -> bool:
        """Whether the answer is left open: the risk is near the limit.

        That no rule holds does not leave it open: most rules decline, and on honest payments none
        of them holds.
        """
        return abs(log_odds_of(self.risk) - log_odds_of(self.limit)) < _OPEN

    def departure(self, decision: Verdict, risk: float) -> float:
        """By how much a decision departs from the opinion as it is told, in log-odds; a risk that
        contradicts its decision counts as one near the limit.
        """
        limit, said = log_odds_of(self.limit), log_odds_of(risk)
        side = sign_of(decision)
        if (said - limit) * side <= 0 and decision != self.verdict:
            said = limit + side
        departure = said - log_odds_of(rounded_risk(self.risk))
        return round(min(max(departure, -_FARTHEST), _FARTHEST), 2)


@dataclass(frozen=True)
class Known:
    """What is known of a transaction beside the bullets that are shown."""

    fields: Mapping[str, Scalar] = field(default_factory=dict)
    opinion: Opinion | None = None
    """None without rules that were checked: the model is alone."""
    unshown: Sequence[Bullet] = ()
    """Rules that hold and for which there was no room."""


NOTHING: Final = Known()


def agent_messages(
    text: str,
    bullets: Iterable[Bullet],
    fence: Fence,
    known: Known = NOTHING,
    instructions: str = AGENT,
    task: Task = CARD_PAYMENTS,
) -> list[BaseMessage]:
    """The agent's prompt: what never changes, the rules, the playbook's opinion, the case."""
    groups: dict[str, list[str]] = {title: [] for title in _TITLES.values()}
    # What holds counts by its weight; what was not checked keeps the selector's order.
    for bullet in sorted(bullets, key=lambda b: -abs(weight_of(b)) if b.condition else 0.0):
        holds = bullet.condition.holds(known.fields) if bullet.condition else None
        rule = task.shown(_rule(bullet, known.fields, text, fence))
        groups[_TITLES[holds]].append(f"[{bullet.id}] {rule}")
    if known.unshown:
        points = sum(points_here(bullet, known.fields) for bullet in known.unshown) / UNIT
        groups[_TITLES[True]].append(f"{len(known.unshown)} more: {points:+.1f} together")
    rules = "\n".join("\n".join([title, *lines]) for title, lines in groups.items() if lines)
    return [
        SystemMessage(instructions_of(task, instructions, AGENT)),
        HumanMessage(
            f"{rules or 'Rules: none'}\nPlaybook: {task.shown(_in_words(known.opinion))}\n\n"
            f"Case:\n{fence(text)}"
        ),
    ]


@lru_cache(maxsize=32)
def prompt_version(instructions: str = AGENT) -> str:
    """The version of the prompt: it changes with the instructions and with the layout."""
    condition = Condition((Comparison("amount", "<", 9),), "DECLINE")
    bullets = [Bullet("b1", "a", "", condition=condition), Bullet("b2", "c", "")]
    known = Known({"amount": 4.2}, Opinion("DECLINE", 0.6, 0.5, 1), bullets[:1])
    messages = agent_messages("x", bullets, Fence("version", "version"), known, instructions)
    text = "\n".join(str(message.content) for message in messages)
    return blake2b(text.encode(), digest_size=4).hexdigest()


def _in_words(opinion: Opinion | None) -> str:
    if opinion is None:
        return "none"
    words = f"{opinion.verdict}, risk {written_risk(opinion.risk)} (limit {opinion.limit:.2g})"
    words += "" if opinion.rules else "; no rule holds here"
    return f"{words}; open" if opinion.is_open else words


def _rule(bullet: Bullet, fields: Mapping[str, Scalar], text: str, fence: Fence) -> str:
    """A bullet with its record and its weight."""
    (right, cases), facts = _record(bullet), []
    if cases:
        facts.append(f"{right}/{cases}")
    if bullet.is_on_trial:
        facts.append("not proved yet")
    elif bullet.condition:
        points = points_here(bullet, fields) / UNIT if bullet.is_graded else weight_of(bullet)
        word = next(word for least, word in _STRENGTHS if abs(points) >= least)
        facts.append(f"{word} {points:+.1f}")
    return f"{_heuristic(bullet, fields, text, fence)} ({', '.join(facts) or 'no record yet'})"


def _record(bullet: Bullet) -> tuple[int, int]:
    """How often it was right, of how many cases: decided with it, or before that in its backtest."""
    judged = bullet.helpful_count + bullet.harmful_count
    right, fires = bullet.evidence.get("right"), bullet.evidence.get("fires")
    if isinstance(right, int) and isinstance(fires, int) and fires > judged:
        return right, fires
    return bullet.helpful_count, judged


def _heuristic(bullet: Bullet, fields: Mapping[str, Scalar], text: str, fence: Fence) -> str:
    """A bullet's content and what it tests; fenced if a stranger could speak through its condition."""
    content, condition = one_line(bullet.content), bullet.condition
    if condition is None:
        return content
    rule = one_line(condition.render())
    values = (test.value for test in condition.spelled if isinstance(test.value, str))
    if not all(map(is_field_name, condition.fields)) or not all(map(is_category, values)):
        heuristic = rule if content == rule else f"{content} (it tests: {rule})"
        return f"{condition.verdict} when this holds:\n{fence(heuristic)}\n"
    tests = " and ".join(_with_value(test, fields, text) for test in condition.comparisons)
    tested = rule if bullet.is_graded else f"{condition.verdict} when {tests}"
    return tested if content == rule else f"{content} (it tests: {tested})"


def _with_value(test: Comparison, fields: Mapping[str, Scalar], text: str) -> str:
    """A comparison; with its number, as in `amount_ratio 4.2 >= 2`, if the text does not state it."""
    value, phrase = fields.get(test.field), test.render()
    if test.op[0] not in "<>" or isinstance(value, bool | str) or value is None:
        return phrase
    number = f"{value:.6g}"
    stated = number in text.replace(",", "")
    return phrase if stated else phrase.replace(f" {test.op} ", f" {number} {test.op} ", 1)
