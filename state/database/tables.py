"""The tables behind a playbook. It knows columns; what the rows mean is said in ledger.py.

Every table but `bullets` only grows: what was once written stays as it is until it is pruned.
JSON is kept as canonical text and truth values as 0 and 1, so that SQLite and PostgreSQL hold the
same bytes and one hash per row holds for both.
"""

from typing import Any, Final

import sqlalchemy as sa

SCHEMA_VERSION: Final = 2


metadata = sa.MetaData()


def _ledger(name: str, *columns: Any, small: bool = False) -> sa.Table:
    """A table whose rows have a place in the ledger's one order and a hash over their columns.

    Small rows live in their key's tree: SQLite then writes one page for them instead of two.
    """
    return sa.Table(
        name,
        metadata,
        *columns,
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.BigInteger, nullable=False),
        sqlite_with_rowid=not small,
    )


def _text(name: str, **options: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text, **{"nullable": False, **options})


def _count(name: str, **options: Any) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, **{"nullable": False, **options})


def _flag(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.SmallInteger, nullable=False)


meta = sa.Table(
    "ace_meta",
    metadata,
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("value", sa.String, nullable=False),
)
# One row. Whoever writes holds it, so that all writes of all processes have one order.
clock = sa.Table(
    "clock",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    _count("version"),
    # All row hashes together: a row that is gone or was put back is noticed too.
    sa.Column("seal", sa.BigInteger, nullable=False),
)
bullets = sa.Table(
    "bullets",
    metadata,
    _count("number", primary_key=True, autoincrement=False),
    _text("node"),
    _text("content"),
    _text("condition", nullable=True),
    _text("source"),
    _text("problem_types"),
    sa.Column("confidence", sa.Double, nullable=False),
    _text("status"),
    _text("proof"),
    _text("evidence"),
    _text("origin"),
    _text("related"),
    sa.Column("weight", sa.Double),
    _count("helpful_count", default=0),
    _count("harmful_count", default=0),
    _count("times_selected", default=0),
    _text("created_at"),
    # The ledger's position when the row last changed: other processes read only what is newer.
    sa.Column("changed", sa.BigInteger, nullable=False, index=True),
    sa.Column("hash", sa.BigInteger, nullable=False),
)
# A playbook version is the number of its newest row.
history = _ledger(
    "history",
    _count("version", primary_key=True, autoincrement=False),
    _text("at"),
    _count("bullet"),
    _text("change"),
    _text("reason"),
    _text("source"),
    _text("content"),
    _text("condition", nullable=True),
    _text("status"),
)
# Of any text, bullet or transaction: what a model was once paid for is never bought again.
embeddings = sa.Table(
    "text_embeddings",
    metadata,
    _text("model", primary_key=True),
    _text("text_hash", primary_key=True),
    sa.Column("vector", sa.LargeBinary, nullable=False),
    sa.Column("hash", sa.BigInteger, nullable=False),
)
# What was asked. A case may be known before it is decided: labelled history is.
cases = _ledger(
    "cases",
    _text("id", primary_key=True),
    _text("node"),
    _text("text"),
    _text("fields"),
    _text("digest"),
    _flag("evidence"),
    _text("created_at"),
)
# What was said about it, and what the playbook was then.
decisions = _ledger(
    "decisions",
    _text("case", primary_key=True),
    _text("node"),
    _text("decision"),
    sa.Column("risk_score", sa.Double),
    _text("reasons"),
    _text("settings"),
    _count("playbook_version"),
    sa.Column("seen", sa.BigInteger, nullable=False),
    _flag("counted"),
    _text("decided_at"),
)
selections = _ledger(
    "selections",
    _text("case", primary_key=True),
    _count("bullet", primary_key=True, autoincrement=False),
    _count("rank"),
    _flag("selected"),
    _flag("credited"),
    _text("verdict", nullable=True),
    small=True,
)
# The newest revision of a case is its label; the earlier ones say what was thought before. No
# label: the one before was withdrawn.
outcomes = _ledger(
    "outcomes",
    _text("case", primary_key=True),
    _count("revision", primary_key=True, autoincrement=False),
    _text("label", nullable=True),
    _text("source"),
    _text("known_at", index=True),
    small=True,
)
sa.Index("outcomes_in_order", outcomes.c.position)
# Numbers the right decisions of a node, so that "every k-th" holds for all processes.
rights = _ledger(
    "rights",
    _text("case", primary_key=True),
    _text("node"),
    _count("number"),
    sa.Index("rights_of_node", "node", "number"),
    small=True,
)
# What was learned from a decision; one delivered again is not reflected on again.
lessons = _ledger(
    "lessons", _text("case", primary_key=True), _text("lesson"), _text("at"), small=True
)
# Counters moved outside a stored decision: by hand, or by decisions that were pruned.
adjustments = _ledger(
    "adjustments",
    _count("number", primary_key=True, autoincrement=False),
    _count("bullet"),
    _count("helpful"),
    _count("harmful"),
    _count("selected"),
    _text("reason"),
    _text("at"),
    # The newest position it stands for, as `at` is the newest time: before that nobody can tell.
    sa.Column("covers", sa.BigInteger, nullable=False),
)
# Ids of pruned decisions: they are neither decided nor counted a second time.
pruned = _ledger("pruned", _text("case", primary_key=True), _text("at"), small=True)


LEDGER: Final = (
    history,
    cases,
    decisions,
    selections,
    outcomes,
    rights,
    lessons,
    adjustments,
    pruned,
)
"""The tables that only grow."""


MODEL_KEY: Final = "embedding_model"
"""Under which the database says whose vectors its bullets have."""
