"""What is in doubt of a payment, in words, and which rules it keeps from being tested."""

from collections.abc import Iterable, Mapping
from typing import Final

from acegraph.state.values import Bullet

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
