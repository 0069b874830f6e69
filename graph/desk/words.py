"""How figures and times are written. The browser puts them into the reader's own notation."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from acegraph.nodes.evidence.backtest import Backtest
from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL
from acegraph.state import DECLINE
from acegraph.state.task.task import Task
from acegraph.state.values.notation import written_risk

if TYPE_CHECKING:
    from acegraph.state import Bullet

NOTHING = Markup('<span class="none">–</span>')
"""Where there is no figure."""


def _figure(value: float | None, text: str, kind: str) -> Markup:
    if value is None or math.isnan(value):
        return NOTHING
    return Markup('<data value="{}" data-kind="{}">{}</data>').format(value, kind, text)


def number(value: float | None) -> Markup:
    """A whole number.

    >>> print(number(1234))
    <data value="1234" data-kind="number">1,234</data>
    """
    return _figure(value, f"{value or 0:,.0f}", "number")


def decimal(value: float | None) -> Markup:
    """A number with two digits after the point."""
    return _figure(value, f"{value or 0:,.2f}", "decimal")


def risk(value: float | None) -> Markup:
    """A probability of fraud; a small one in two digits that count.

    >>> print(risk(0.00352))
    <data value="0.00352" data-kind="risk">0.0035</data>
    """
    return _figure(value, written_risk(value or 0), "risk")


def percent(value: float | None) -> Markup:
    """A share, as 12.5%."""
    return _figure(value, f"{100 * (value or 0):.1f}%", "percent")


def money(value: float | None) -> Markup:
    """An amount; the unit is that of the payments."""
    return _figure(value, f"{value or 0:,.0f}", "money")


def when(text: str | float | None) -> Markup:
    """A time, given in ISO 8601 or in seconds since 1970."""
    return _time(text, "minute", "%Y-%m-%d %H:%M")


def day(text: str | float | None) -> Markup:
    """The day of a time."""
    return _time(text, "day", "%Y-%m-%d")


def _time(text: str | float | None, kind: str, form: str) -> Markup:
    if not text:
        return NOTHING
    if isinstance(text, str):
        at = datetime.fromisoformat(text).astimezone(UTC)
    else:
        at = datetime.fromtimestamp(text, UTC)
    return Markup('<time datetime="{}" data-kind="{}">{}</time>').format(
        at.isoformat(), kind, at.strftime(form)
    )


def value_text(value: object) -> str:
    """A value of a transaction as a person would write it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def person(source: str) -> str:
    """Who made a change or gave a label, in words.

    >>> person("analyst:ann"), person("offline")
    ('by ann', 'from history')
    """
    known = {
        "offline": "from history",
        "online": "from the stream",
        "curator": "by the curator",
        "user": "by the command line",
        "history": "from history",
        "label": "sent along with it",
        "no_chargeback": "as no complaint came",
        "judge": "by the opinion of a model",
    }
    return known.get(source, f"by {source.removeprefix('analyst:')}")


def author(name: str) -> str:
    """Who wrote a rule or gave a reason."""
    return "the built-in analyst, without a language model" if name == NO_LANGUAGE_MODEL else name


def short(name: str) -> Markup:
    """An id on one line: without its middle if it is long, which the title still holds.

    >>> short("d7"), short("history:fraud:g1000-4978:9ba2615422f9").striptags()
    (Markup('d7'), 'history:fr…4978:9ba2615422f9')
    """
    if len(name) <= _ID_HEAD + _ID_TAIL:
        return Markup.escape(name)
    return Markup('<span class="id" title="{}">{}…{}</span>').format(
        name, name[:_ID_HEAD], name[-_ID_TAIL:]
    )


@dataclass(frozen=True)
class Nouns:
    """How the pages call cases and what they turn out to be; where nothing else is known, by the
    answers of the task.
    """

    case: str = "payment"
    bad: str = "fraud"
    bads: str = "frauds"
    goods: str = "good payments"
    turned_out: tuple[str, str] = ("Good", "Fraud")
    shown: Callable[[str], str] = str
    """A text with the task's words for APPROVE and DECLINE."""

    @classmethod
    def of(cls, task: Task) -> Nouns:
        """The words for a task: those for payments where it has their reader."""
        if task.reader:
            return cls(shown=task.shown)
        good, bad = task.answers
        turned_out = (good.capitalize(), bad.capitalize())
        return cls("case", bad, f"{bad} cases", f"{good} cases", turned_out, task.shown)


def sentence(bullet: Bullet) -> str:
    """What a bullet says: its condition as a sentence, or its own words."""
    return bullet.condition.render() if bullet.condition else bullet.content


def said(bullet: Bullet, nouns: Nouns) -> Markup:
    """What a bullet says, with its verdict as a tag."""
    verdict, space, rest = sentence(bullet).partition(" ")
    if bullet.verdict is None:
        return Markup.escape(sentence(bullet))
    return Markup('<b class="{}">{}</b>{}{}').format(
        verdict.lower(), nouns.shown(verdict), space, rest
    )


def reason(text: str, base: str, bad: str = "fraud") -> Markup:
    """A stored reason of a decision, with its rule as a link and its weight in words.

    >>> reason("b7: DECLINE when amount >= 9 [amount=12; +1.70]", "/desk").striptags()
    'b7 DECLINE when amount >= 9 amount=12; speaks for fraud, 1.70'
    """
    if match := _RULE_REASON.fullmatch(text):
        name, rule, values, weight = match.groups()
        return Markup(
            '<a href="{}/playbook/{id}">{id}</a> {} <span class="brief">{}; {}</span>'
        ).format(base, rule, _MISSING.sub(" is missing", values), _speaks(weight, bad), id=name)
    if match := _SCORECARD_REASON.fullmatch(text):
        return Markup('Whatever the rules say: {} <span class="brief">{}</span>').format(
            match[2], _speaks(match[1], bad)
        )
    return Markup.escape(f"decided by {author(text)}" if text == NO_LANGUAGE_MODEL else text)


def _speaks(weight: str, bad: str) -> str:
    """What a weight in log-odds says."""
    if not float(weight):
        return f"speaks neither for nor against {bad}"
    return f"speaks {'for' if weight[0] == '+' else 'against'} {bad}, {weight[1:]}"


def evidence(bullet: Bullet, nouns: Nouns) -> list[tuple[str, Markup]]:
    """The backtest that let a bullet in, in words; empty if there was none.

    >>> from acegraph.state import Bullet
    >>> figures = dict.fromkeys([f.name for f in fields(Backtest)], 0.5) | {"fires": 8, "right": 4}
    >>> lines = evidence(Bullet("b1", "DECLINE when a > 1", "n", evidence=figures), Nouns())
    >>> [f"{name} {figure.striptags()}" for name, figure in lines[1:3]]
    ['Right where it fired 4 of 8', 'As a share 50.0%, 95 % interval 50.0% to 50.0%']
    """
    of = {
        name: value
        for name in _BACKTEST
        if isinstance(value := bullet.evidence.get(name), int | float)
    }
    if len(of) < len(_BACKTEST):
        return []
    own, other = (nouns.bads, nouns.goods)[:: 1 if bullet.verdict == DECLINE else -1]
    chance = of["p_chance"]
    lucky = f"1 time in {1 / chance:,.0f}" if chance >= 1e-6 else "less than 1 time in 1,000,000"
    between = percent(of["precision_low"]), percent(of["precision_high"])
    return [
        ("Tried on", Markup("{} labelled cases").format(number(of["cases"]))),
        (
            "Right where it fired",
            Markup("{} of {}").format(number(of["right"]), number(of["fires"])),
        ),
        (
            "As a share",
            Markup("{}, 95 % interval {} to {}").format(percent(of["precision"]), *between),
        ),
        (f"Of all {own} it found", percent(of["recall"])),
        (f"Of all {other} it hit", percent(of["false_positive_rate"])),
        ("Chance alone does as well", Markup.escape(lucky)),
        (
            "Better than the playbook without it",
            Markup("by {} standard errors").format(decimal(of["gain"])),
        ),
    ]


_BACKTEST: Final = tuple(one.name for one in fields(Backtest))
_ID_HEAD, _ID_TAIL = 10, 17
"""So much of a long id is shown, from both ends: the end tells it from others."""
_RULE_REASON: Final = re.compile(r"(b\d+): (.*) \[(.*); ([+-]\d+\.\d\d)\]", re.DOTALL)
_MISSING: Final = re.compile(r"=None(?=, |$)")
_SCORECARD_REASON: Final = re.compile(r"scorecard ([+-]\d+\.\d): (.*)", re.DOTALL)
ORIGIN: Final = {
    "author": "Written by",
    "reason": "Because",
    "decision": "Learned from",
    "label": "Which turned out as",
    "label_source": "Said",
    "revises": "Instead of",
    "restates": "In other words than",
    "refinement": "When all rules were revised, after version",
    "imported_from": "Imported from",
}
"""Where a bullet comes from, in words, by the names of the record; the rest is for developers."""


FILTERS = {
    "number": number,
    "decimal": decimal,
    "risk": risk,
    "percent": percent,
    "money": money,
    "when": when,
    "day": day,
    "value_text": value_text,
    "person": person,
    "sentence": sentence,
    "said": said,
    "author": author,
    "short": short,
    "reason": reason,
    "evidence": evidence,
}
