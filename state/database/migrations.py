"""Bring a database of schema 4 or 5 to schema 6 when it is opened.

A newer database, or one of another program, is refused.
"""

import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.encoding import now, to_text
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.errors import InvalidSettings, PlaybookError
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.policy import Policy
from acegraph.state.task.task import Task
from acegraph.state.values import CostMatrix, Label, calls_fraud, marks_of

_DAMAGE_ERRORS: Final = (KeyError, TypeError, ValueError, AttributeError, RecursionError)
"""The errors that a step raises if a row does not have its form."""
_NEWEST: Final = 1_000
"""So many of the newest decisions of a node are looked at."""
_SAME: Final = ("base_rate", "explore", "judge_bar", "review_from", "review_to")
_NEW_IN_5: Final = (tables.tasks, tables.policies, tables.users)
_NEW_IN_6: Final = (tables.marks, tables.list_entries)
logger = logging.getLogger(__name__)


def _check_old(connection: sa.Connection, names: set[str], url: str) -> None:
    """Refuse what is no whole database of schema 4 or 5."""
    if tables.meta.name not in names:
        raise PlaybookError(f"{url} is another program's database; nothing was changed")
    schema = str(tables.schema_of(connection))
    if schema in ("1", "2", "3"):
        raise PlaybookError(
            f"{url} has schema {schema}: acegraph 0.1 made it; open it once with acegraph 0.2, "
            "then with this one"
        )
    if schema not in ("4", "5", str(tables.SCHEMA_VERSION)):
        raise PlaybookError(
            f"{url} has schema {schema[:20]}; this acegraph reads up to {tables.SCHEMA_VERSION}: "
            "a newer acegraph wrote it, or it is damaged"
        )
    later = {"4": (*_NEW_IN_5, *_NEW_IN_6), "5": _NEW_IN_6}.get(schema, ())
    new = {table.name for table in later}
    if missing := sorted(tables.metadata.tables.keys() - new - names):
        raise PlaybookError(
            f"{url} has schema {schema} but no table {', '.join(missing)}: it is damaged; open a "
            "backup or begin a new one"
        )


def migrate(connection: sa.Connection, url: str) -> None:
    """Bring the tables to the present schema."""
    if not tables.is_current(connection):  # else another process was faster
        _check_old(connection, set(sa.inspect(connection).get_table_names()), url)
        began, schema = time.monotonic(), tables.schema_of(connection)
        logger.info("migrating %s to schema %d", url, tables.SCHEMA_VERSION)
        try:
            if schema == "4":
                _to_5(connection)
            _to_6(connection)
        except (*_DAMAGE_ERRORS, sa.exc.DBAPIError) as error:
            damage = f"no {error}" if isinstance(error, KeyError) else getattr(error, "orig", error)
            raise PlaybookError(
                f"cannot open {url}: its tables of schema {schema} are damaged: {damage}"
            ) from error
        logger.info("migrated %s in %.1f s", url, time.monotonic() - began)


def _to_5(connection: sa.Connection) -> None:
    """Add tasks and policies, and their versions in decisions; give users a table of their own.

    Vectors lose their hashes: a model can be asked for them again.
    """
    for table in _NEW_IN_5:
        table.create(connection)
    for statement in (
        "ALTER TABLE decisions ADD COLUMN task_version INTEGER",
        "ALTER TABLE decisions ADD COLUMN policy_version INTEGER",
        "ALTER TABLE text_embeddings DROP COLUMN hash",
    ):
        connection.exec_driver_sql(statement)
    _move_users(connection)
    _move_settings(connection)
    connection.execute(tables.meta.update().where(tables.SCHEMA_ROW).values(value="5"))


def _move_settings(connection: sa.Connection) -> None:
    """Costs, delays and hidden fields were settings of runs; they become policies and tasks."""
    decisions = tables.decisions.c
    writer = _writer(connection)
    for node in connection.scalars(sa.select(decisions.node).distinct()).all():
        of_node = sa.select(decisions.settings).where(decisions.node == node)
        newest = of_node.order_by(decisions.position.desc()).limit(_NEWEST)
        settings = [json.loads(text) for text in connection.scalars(newest)]
        said = {"node": node, "version": 1, "at": now(), "set_by": "migration"}
        said["reason"] = "from the settings of the newest decisions"
        if (policy := policy_in(settings)) != Policy():
            row = {**said, "approved_by": "migration", "content": to_text(policy.to_json())}
            writer.add(tables.policies, [row])
        if hidden := hidden_in(settings):
            task = _with_ids(CARD_PAYMENTS.hiding(hidden))
            writer.add(tables.tasks, [{**said, "content": to_text(task.to_json())}])
    _keep_place(writer)


def _to_6(connection: sa.Connection) -> None:
    """Add lists, and note what the stored labels say of the entities of their payments."""
    for table in _NEW_IN_6:
        table.create(connection)
    for index in tables.sightings.indexes:
        index.create(connection)
    steps = dict[str, tuple[int, int]]()
    for row in connection.execute(sa.select(tables.outcomes).order_by(tables.outcomes.c.revision)):
        label = Label(row.label, row.source) if row.label else None
        steps[row.case] = int(calls_fraud(label)), row.revision
    frauds = {case: step for case, step in steps.items() if step[0]}
    seen = connection.execute(sa.select(tables.sightings)).all()
    writer = _writer(connection)
    writer.add(tables.marks, marks_of((row for row in seen if row.case in frauds), frauds))
    _keep_place(writer)
    connection.execute(tables.meta.update().where(tables.SCHEMA_ROW).values(value="6"))


def _writer(connection: sa.Connection) -> LedgerWriter:
    clock = connection.execute(sa.select(tables.clock)).one()
    return LedgerWriter(connection, clock.position, clock.version, clock.seal)


def _keep_place(writer: LedgerWriter) -> None:
    place = {"position": writer.position, "seal": writer.seal}
    writer.connection.execute(tables.clock.update().values(place))


def policy_in(settings: Sequence[Mapping[str, Any]]) -> Policy:
    """The policy by which decisions of schema 4, newest first, were made.

    What decides is as in the newest decision; what protects is as in any of them.
    """
    delays: dict[str, float] = {}
    for one in reversed(settings):
        delays |= one.get("mature_days") or {}
    newest = settings[0] if settings else {}
    wanted = {name: newest[name] for name in _SAME if newest.get(name) is not None}
    if costs := newest.get("costs"):
        wanted["costs"] = CostMatrix.named(costs)
    try:
        return Policy.from_json({**wanted, "mature_days": delays})
    except InvalidSettings:  # what was accepted then is no policy now, as costs below 0
        return Policy(mature_days=delays)


def hidden_in(settings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The fields that one of the decisions hid."""
    return sorted({name for one in settings for name in one.get("redact") or ()})


def _with_ids(task: Task) -> Task:
    """The task; hidden fields whose names hint at an id say whom a case belongs to."""
    from acegraph.state.task.guess import seems_an_id  # needed by databases of 0.2 alone

    fields = (
        replace(one, role="id") if not one.stored and seems_an_id(one.name) else one
        for one in task.fields
    )
    return replace(task, fields=tuple(fields))


def _move_users(connection: sa.Connection) -> None:
    """Users were values in `meta`; their secrets stay. Those of a tenant saw another playbook."""
    is_user = tables.meta.c.key.startswith("user:", autoescape=True)
    rows = connection.execute(sa.select(tables.meta).where(is_user)).all()
    logins = [{"name": row.key.removeprefix("user:"), **json.loads(row.value)} for row in rows]
    ours = [one for one in logins if not one.pop("tenant", "")]
    if ours:
        connection.execute(tables.users.insert(), ours)
    connection.execute(tables.meta.delete().where(is_user))
