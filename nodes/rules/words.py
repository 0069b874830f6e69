"""What a ruleset says of a decision, in words: never the value of a field that is in doubt."""

from collections.abc import Iterable, Mapping
from typing import Final

from acegraph.nodes.rules.points import weight_of
from acegraph.state import Bullet
from acegraph.state.values.condition import MENTIONS
from acegraph.state.values.transaction import Scalar

NOTHING_READ: Final = "nothing could be read from this sentence: the score is that of any case"
PROSE_UNREAD: Final = "{} bullet(s) in prose not used: only a language model can read them"
_NAMED: Final = 8
"""So many doubts and rules are named in a reason."""


def not_understood(doubts: Mapping[str, str]) -> str:
    """The doubts in words, those with the same reason together.

    >>> not_understood({"vpn": "is no flag", "amount": "missing", "hour": "missing"})
    'not understood: amount, hour missing; vpn is no flag'
    """
    named = [name for name in sorted(doubts) if name.rpartition(".")[0] not in doubts]
    alike: dict[str, list[str]] = {}
    for name in named[:_NAMED]:
        alike.setdefault(doubts[name], []).append(name)
    whole = "; ".join(f"{', '.join(fields)} {why}" for why, fields in alike.items())
    if len(named) > _NAMED:
        whole += f"; and {len(named) - _NAMED} more"
    return f"not understood: {whole}"


def could_not_be_tested(rules: Iterable[Bullet]) -> str:
    """Which rules a doubt keeps from being tested; empty if there are none."""
    names = ", ".join(bullet.id for bullet in list(rules)[:_NAMED])
    return f" (could not be tested: {names})" if names else ""


def bullet_reason(bullet: Bullet, fields: Mapping[str, Scalar]) -> str:
    """A rule that holds, with the values that it tested and its weight."""
    assert bullet.condition is not None
    # What a text mentions stands in the rule; the whole text may say anything.
    names = dict.fromkeys([c.field for c in bullet.condition.comparisons if c.op != MENTIONS])
    values = ", ".join([f"{name}={fields.get(name)}" for name in names])
    name, weight = f"{bullet.id}: " if bullet.id else "", f"{weight_of(bullet):+.2f}"
    return f"{name}{bullet.content} [{f'{values}; {weight}' if values else weight}]"
