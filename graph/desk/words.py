"""How figures and times are written. The browser puts them into the reader's own notation."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final, Literal

from markupsafe import Markup

from acegraph.state import Bullet
from acegraph.state.database.encoding import as_utc
from acegraph.state.task.task import Task
from acegraph.state.values import written, written_risk

NOTHING = Markup('<span class="none">–</span>')
"""Where there is no figure."""


_WRITTEN: Final = {
    "number": "{:,.0f}",
    "money": "{:,.0f}",
    "decimal": "{:,.2f}",
    "percent": "{:.1%}",
}


def figure(value: float | None, kind: str) -> Markup:
    """A figure of a kind: number, money, decimal, percent or risk.

    >>> print(figure(0.00352, "risk"))
    <data value="0.00352" data-kind="risk">0.0035</data>
    """
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return Markup("∞")
    text = written_risk(value) if kind == "risk" else _WRITTEN[kind].format(value)
    return Markup('<data value="{}" data-kind="{}">{}</data>').format(value, kind, text)


def when(given: str | float | None, kind: Literal["minute", "day"] = "minute") -> Markup:
    """A time, given in ISO 8601 or in seconds since 1970."""
    if not given:
        return NOTHING
    if isinstance(given, str):
        given = datetime.fromisoformat(as_utc(given)).timestamp()
    at = datetime.fromtimestamp(given, UTC)
    text = at.strftime("%Y-%m-%d" if kind == "day" else "%Y-%m-%d %H:%M")
    return Markup('<time datetime="{}" data-kind="{}">{}</time>').format(at.isoformat(), kind, text)


def value_text(value: object) -> str:
    """A value of a field as a person would write it."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {value_text(one)}" for name, one in value.items())
    return written(value)


@dataclass(frozen=True)
class Nouns:
    """How the pages call cases and what they turn out to be: by the answers of the task, or as
    payments where it has their reader.
    """

    task: Task
    case: str
    bad: str
    bads: str
    goods: str
    turned_out: tuple[str, str]

    @classmethod
    def of(cls, task: Task) -> "Nouns":
        """The words for a task."""
        if task.reader:
            return cls(task, "payment", "fraud", "frauds", "good payments", ("Good", "Fraud"))
        good, bad = task.answers
        turned_out = (good.capitalize(), bad.capitalize())
        return cls(task, "case", bad, f"{bad} cases", f"{good} cases", turned_out)

    @property
    def cases(self) -> str:
        """Several of them."""
        return f"{self.case}s"

    def shown(self, text: str) -> str:
        """A text with the task's words for APPROVE and DECLINE."""
        return self.task.shown(text)

    def stored(self, text: str) -> str:
        """What somebody typed, with APPROVE or DECLINE for the task's words."""
        return str(self.task.stored(text)).rstrip() + text[len(text.rstrip()) :]


def sentence(bullet: Bullet) -> str:
    """What a bullet says: its condition as a sentence, or its own words."""
    return bullet.condition.render() if bullet.condition else bullet.content


FILTERS: Final[dict[str, Callable[..., str]]] = {
    one.__name__: one for one in (when, value_text, sentence)
} | {kind: partial(figure, kind=kind) for kind in (*_WRITTEN, "risk")}
"""What templates write values with."""
