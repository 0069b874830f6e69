"""The tables behind a playbook: their columns. What the rows mean is in ledger/ledger.py.

The tables in `LEDGER` only grow: a written row does not change until it is pruned or erased. The
others change in place: `bullets`, the clock, users, the values in `meta`, the vectors and answers
that are kept, and the queue of lessons.

JSON is stored as canonical text and truth values as 0 and 1, so that SQLite and PostgreSQL hold the
same values and the hash of a row is the same in both.
"""

from functools import partial
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem

from acegraph.state.errors import PlaybookError

SCHEMA_VERSION: Final = 6
metadata = sa.MetaData()
_text: Final = partial(sa.Column, type_=sa.Text, nullable=False)
_flag: Final = partial(sa.Column, type_=sa.SmallInteger, nullable=False)
_count: Final = partial(sa.Column, type_=sa.Integer, nullable=False, autoincrement=False)
_bigint: Final = partial(sa.Column, type_=sa.BigInteger, nullable=False, autoincrement=False)


def _ledger(name: str, *columns: SchemaItem, small: bool = False) -> sa.Table:
    """A table whose rows have a position in the one order of the ledger, and a hash.

    Small rows are stored in the tree of their key: SQLite then writes one page instead of two.
    """
    return sa.Table(
        name, metadata, *columns, _bigint("position"), _bigint("hash"), sqlite_with_rowid=not small
    )


def _of_version() -> tuple[sa.Column[Any], ...]:
    """The columns of a task or a policy: one version of what is set for a node."""
    key = (_text("node", primary_key=True), _count("version", primary_key=True))
    return (*key, *map(_text, ("at", "set_by", "reason", "content")))


meta = sa.Table(
    "ace_meta",
    metadata,
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("value", sa.String, nullable=False),
)
# One row. A writer holds a lock on it, so that the writes of all processes have one order.
clock = sa.Table(
    "clock",
    metadata,
    _count("id", primary_key=True),
    _bigint("position"),
    _count("version"),
    # All row hashes together: with it a deleted or restored row is noticed as well.
    _bigint("seal"),
)
bullets = sa.Table(
    "bullets",
    metadata,
    _count("number", primary_key=True),
    _text("node"),
    _text("content"),
    _text("condition", nullable=True),
    _text("source"),
    _text("problem_types"),
    sa.Column("confidence", sa.Double, nullable=False),
    *map(_text, ("status", "proof", "evidence", "origin", "related")),
    sa.Column("weight", sa.Double),
    *map(_count, ("helpful_count", "harmful_count", "times_selected")),
    _text("created_at"),
    # The ledger's position when the row last changed: other processes read only newer rows.
    _bigint("changed", index=True),
    _bigint("hash"),
)
# The version of a playbook is the number of its newest row.
history = _ledger(
    "history",
    _count("version", primary_key=True),
    _text("at"),
    _count("bullet"),
    *map(_text, ("change", "reason", "source", "content")),
    _text("condition", nullable=True),
    _text("status"),
)
# The vectors of bullets and transactions: no text is sent twice to an embedding model.
embeddings = sa.Table(
    "text_embeddings",
    metadata,
    _text("model", primary_key=True),
    _text("text_hash", primary_key=True),
    sa.Column("vector", sa.LargeBinary, nullable=False),
)
# The transactions. A case of labelled history is stored without a decision.
cases = _ledger(
    "cases",
    _text("id", primary_key=True),
    *map(_text, ("node", "text", "fields", "digest")),
    _flag("evidence"),
    _text("created_at"),
)
# The decisions, with the versions of the playbook, the task and the policy at that time.
decisions = _ledger(
    "decisions",
    _text("case", primary_key=True),
    _text("node"),
    _text("decision"),
    sa.Column("risk_score", sa.Double),
    _text("reasons"),
    _text("settings"),
    _count("playbook_version"),
    _bigint("seen"),
    _flag("counted"),
    _text("decided_at"),
    sa.Column("task_version", sa.Integer),
    sa.Column("policy_version", sa.Integer),
)
sa.Index("decisions_in_order", decisions.c.position)
selections = _ledger(
    "selections",
    _text("case", primary_key=True),
    _count("bullet", primary_key=True),
    _count("rank"),
    _flag("selected"),
    _flag("credited"),
    _text("verdict", nullable=True),
    small=True,
)
# The newest revision of a case is its label; earlier revisions are the labels before. A revision
# without a label withdraws the one before.
outcomes = _ledger(
    "outcomes",
    _text("case", primary_key=True),
    _count("revision", primary_key=True),
    _text("label", nullable=True),
    _text("source"),
    _text("known_at", index=True),
    small=True,
)
sa.Index("outcomes_in_order", outcomes.c.position)
# What people answered when they were asked about a transaction, and why.
answers = _ledger(
    "answers",
    _text("case", primary_key=True),
    _count("number", primary_key=True),
    *map(_text, ("verdict", "source", "why", "at")),
    small=True,
)
# Right decisions, as older versions numbered them; nothing is written here any more.
rights = _ledger(
    "rights",
    _text("case", primary_key=True),
    _text("node"),
    _count("number"),
    sa.Index("rights_of_node", "node", "number"),
    small=True,
)
# What was learned from a decision: a decision that is delivered again is not learned from again.
lessons = _ledger(
    "lessons", _text("case", primary_key=True), _text("lesson"), _text("at"), small=True
)
# Changes of counters without a stored decision: by hand, or by decisions that were pruned.
adjustments = _ledger(
    "adjustments",
    _count("number", primary_key=True),
    *map(_count, ("bullet", "helpful", "harmful", "selected")),
    _text("reason"),
    _text("at"),
    # The newest position that it sums up: no older state is known.
    _bigint("covers"),
)
# What later payments see of a payment, a row for each entity that it names; ids are keyed hashes.
# Older versions summed rows up when they pruned: hence `payments` and `known_amounts`.
sightings = _ledger(
    "sightings",
    *(_text(name, primary_key=True) for name in ("node", "kind", "entity")),
    _bigint("at", primary_key=True),
    _text("case", primary_key=True),
    *map(_count, ("payments", "known_amounts")),
    _bigint("amount"),
    _text("merchant", nullable=True),
    sa.Column("latitude", sa.Double),
    sa.Column("longitude", sa.Double),
    small=True,
)
sa.Index("sightings_of_case", sightings.c.case)
# What labels said of entities: 1 where a payment is called fraud, -1 where it is so no longer.
marks = _ledger(
    "marks",
    *(_text(name, primary_key=True) for name in ("node", "kind", "entity")),
    _bigint("at", primary_key=True),
    _text("case", primary_key=True),
    _count("revision", primary_key=True),
    _text("voice"),
    _count("frauds"),
    small=True,
)
# Whom a person blocks, allows or watches; what approves or ends an entry names its number.
list_entries = _ledger(
    "list_entries",
    *(_text(name, primary_key=True) for name in ("node", "kind", "entity")),
    _bigint("number", primary_key=True),
    _bigint("entry"),
    *map(_text, ("action", "list", "name", "reason", "by", "at", "until")),
    small=True,
)
# What the payments of a node are, and what is wanted: the newest version of each counts.
tasks = _ledger("tasks", *_of_version(), small=True)
policies = _ledger("policies", *_of_version(), _text("approved_by", nullable=True), small=True)
# The ids of pruned decisions: they are neither decided nor counted a second time.
pruned = _ledger("pruned", _text("case", primary_key=True), _text("at"), small=True)
# What a model answered in trials of bullets, by a hash of what it was asked: nobody pays twice.
trial_answers = sa.Table(
    "trial_answers", metadata, _text("asked", primary_key=True), _text("answer")
)
# Judged decisions whose lessons are learned in the background; a learned one leaves the table.
waiting_lessons = sa.Table(
    "waiting_lessons", metadata, _text("case", primary_key=True), _bigint("position")
)
# The users of the service and the desk. Without a salt the hash is a SHA-256 of a random secret.
users = sa.Table(
    "users",
    metadata,
    _text("name", primary_key=True),
    *map(_text, ("role", "hash")),
    _text("salt", nullable=True),
)
LEDGER = (
    *(history, cases, decisions, selections, outcomes, rights, lessons, adjustments, pruned),
    *(sightings, marks, list_entries, answers, tasks, policies),
)
"""The tables that only grow, unless rows are pruned or erased."""
SCHEMA_ROW: Final = meta.c.key == "schema"
_STRANGE: Final = "SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view')"


def schema_of(connection: sa.Connection) -> str | None:
    """The schema of a database that has our tables."""
    return connection.scalar(sa.select(meta.c.value).where(SCHEMA_ROW))


def is_current(connection: sa.Connection) -> bool:
    """Whether the tables are there and their schema is the present one."""
    names = set(sa.inspect(connection).get_table_names())
    if not names.issuperset(metadata.tables):
        return False
    is_file = connection.dialect.name == "sqlite"
    if is_file and (name := connection.exec_driver_sql(_STRANGE).scalar()) is not None:
        raise PlaybookError(f"somebody added {name!r} to the file: it could change every write")
    return schema_of(connection) == str(SCHEMA_VERSION)


def create_tables(connection: sa.Connection) -> None:
    """Create all tables where none is there."""
    metadata.create_all(connection, checkfirst=False)
    connection.execute(clock.insert().values(id=1, position=0, version=0, seal=0))
    connection.execute(meta.insert().values(key="schema", value=str(SCHEMA_VERSION)))
