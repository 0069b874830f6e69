"""What one person may do, and what waits for a second one; said once for rules and policies.

A rule that declines more acts when one person says so, and is shown to a second one. Whatever
accepts more waits for the second one. Where there is nobody else, a person acts alone.
"""

from typing import Final

from acegraph.state.database.base import Database
from acegraph.state.database.encoding import now
from acegraph.state.database.kept_values import forget, keep, kept
from acegraph.state.errors import InvalidSettings
from acegraph.state.maintenance.people.users import users
from acegraph.state.values import DECLINE, Bullet, Data

_KEY: Final = "look:"


def check_alone(database: Database) -> None:
    """Refuse that somebody acts alone where there are users."""
    if users(database):
        raise InvalidSettings("--alone is for one person alone: here are users, ask one of them")


def acts_on_one_word(
    database: Database, bullet: Bullet, by: str, why: str, *, alone: bool = False
) -> bool:
    """Whether a bullet acts because one person says so; if it does, a second one is shown it."""
    if alone:
        check_alone(database)
        looked_at(database, bullet.id)
    elif bullet.verdict == DECLINE:
        keep(database, _KEY + bullet.id, {"by": by, "why": why, "at": now()})
    return alone or bullet.verdict == DECLINE


def to_look_at(database: Database) -> dict[str, Data]:
    """The bullets that act on the word of one person: who let each act, why, and when."""
    return kept(database, _KEY)


def looked_at(database: Database, bullet_id: str) -> None:
    """Take note that a second person has looked at a bullet."""
    forget(database, _KEY + bullet_id)
