"""Who looks at what waits for a person, so that two people do not work on the same question.

A claim ends by itself. It only says who is at work: which answer counts is decided in
`review_queue.py`.
"""

import time
from typing import Final

from acegraph.state.database.base import Database
from acegraph.state.database.kept_values import forget, keep, kept

SECONDS: Final = 180
_KEY: Final = "claim:"


def claims(database: Database) -> dict[str, str]:
    """By what is looked at, who looks at it."""
    at = time.time()
    return {name: one["who"] for name, one in kept(database, _KEY).items() if one["until"] > at}


def claim(database: Database, name: str, who: str) -> str:
    """Look at something, or go on looking; returns who looks at it, who may be somebody else."""
    with database.writing():
        holder = claims(database).get(name, who)
        if holder == who:
            keep(database, _KEY + name, {"who": who, "until": time.time() + SECONDS})
    return holder


def release(database: Database, name: str, who: str) -> None:
    """Stop looking at something."""
    with database.writing():
        if claims(database).get(name, who) == who:
            forget(database, _KEY + name)
