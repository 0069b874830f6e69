"""How figures and times are written. The browser puts them into the reader's own notation."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from markupsafe import Markup

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
    }
    return known.get(source, f"by {source.removeprefix('analyst:')}")


def sentence(bullet: Bullet) -> str:
    """What a bullet says: its condition as a sentence, or its own words."""
    return bullet.condition.render() if bullet.condition else bullet.content


def said(bullet: Bullet) -> Markup:
    """What a bullet says, with its verdict as a tag."""
    verdict, space, rest = sentence(bullet).partition(" ")
    if bullet.verdict is None:
        return Markup.escape(sentence(bullet))
    return Markup('<b class="{}">{}</b>{}{}').format(verdict.lower(), verdict, space, rest)


FILTERS = {
    "number": number,
    "decimal": decimal,
    "percent": percent,
    "money": money,
    "when": when,
    "day": day,
    "value_text": value_text,
    "person": person,
    "sentence": sentence,
    "said": said,
}
