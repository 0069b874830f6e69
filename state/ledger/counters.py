"""What the counters of all bullets must be, summed up from the rows of the ledger.

It shares nothing with the code that adds to the counters one by one: each checks the other.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from acegraph.state.database.tables import adjustments, decisions, history, outcomes, selections
from acegraph.state.values import DECLINE, JUDGE, LET_THROUGH, CounterDeltas, add_deltas

Until = int | None
"""A position in the ledger's order: later rows do not count. None: all rows count."""


def was_there(table: sa.FromClause, until: Until) -> sa.ColumnElement[bool]:
    """Which rows of a table were there."""
    return table.c.position <= until if until is not None else sa.true()


def is_current_label(label: sa.FromClause, until: Until = None) -> sa.ColumnElement[bool]:
    """Which labels, or withdrawals of labels, are the newest of their cases."""
    later = outcomes.alias()
    is_overtaken = sa.exists().where(
        later.c.case == label.c.case, later.c.revision > label.c.revision, was_there(later, until)
    )
    return sa.and_(was_there(label, until), ~is_overtaken)


def is_label_of_decision(label: sa.FromClause) -> sa.ColumnElement[bool]:
    """Which labels count for a decision beside which they stand; a judge's opinion is none."""
    return sa.and_(
        label.c.case == decisions.c.case, is_current_label(label), label.c.source != JUDGE
    )


def is_blocked(label: sa.FromClause) -> sa.ColumnElement[bool]:
    """Which decisions beside labels have none because they were declined."""
    was_let_through = decisions.c.settings.contains(LET_THROUGH)
    return sa.and_(label.c.label.is_(None), decisions.c.decision == DECLINE, ~was_let_through)


def count(
    connection: sa.Connection, until: Until = None, decided_before: str | None = None
) -> dict[int, tuple[int, int, int]]:
    """Helpful, harmful and selected per bullet number, without the adjustments."""
    newest = outcomes.alias("newest")
    is_counted = sa.and_(decisions.c.counted == 1, was_there(decisions, until))
    if decided_before is not None:
        is_counted &= decisions.c.decided_at < decided_before
    was_right = sa.func.coalesce(selections.c.verdict, decisions.c.decision) == newest.c.label
    judged = (
        sa.select(
            selections.c.bullet,
            sa.func.sum(sa.case((was_right, 1), else_=0)),
            sa.func.sum(sa.case((was_right, 0), else_=1)),
        )
        .select_from(selections)
        .join(decisions, decisions.c.case == selections.c.case)
        .join(newest, newest.c.case == selections.c.case)
        .where(
            is_counted,
            selections.c.credited == 1,
            newest.c.label.is_not(None),
            is_current_label(newest, until),
        )
        .group_by(selections.c.bullet)
    )
    shown = (
        sa.select(selections.c.bullet, sa.func.count())
        .select_from(selections)
        .join(decisions, decisions.c.case == selections.c.case)
        .where(is_counted, selections.c.selected == 1)
        .group_by(selections.c.bullet)
    )
    credit: CounterDeltas = {n: (int(h), int(f), 0) for n, h, f in connection.execute(judged)}
    return add_deltas(credit, {n: (0, 0, int(s)) for n, s in connection.execute(shown)})


def adjusted(connection: sa.Connection, until: Until = None) -> dict[int, tuple[int, int, int]]:
    """What was counted without a stored decision: by hand, or by a decision that was pruned."""
    columns = (adjustments.c.helpful, adjustments.c.harmful, adjustments.c.selected)
    rows = connection.execute(
        sa.select(adjustments.c.bullet, *(sa.func.sum(c) for c in columns))
        .where(sa.or_(adjustments.c.covers > 0, was_there(adjustments, until)))
        .group_by(adjustments.c.bullet)
    )
    return {n: (int(h), int(f), int(s)) for n, h, f, s in rows}


def bullet_texts(connection: sa.Connection, where: sa.ColumnElement[bool]) -> Sequence[Any]:
    """For each bullet the newest of some rows of the history, in the order of the bullets."""
    last = (
        sa.select(sa.func.max(history.c.version).label("version"))
        .where(where)
        .group_by(history.c.bullet)
        .subquery()
    )
    return connection.execute(
        sa.select(history.c.bullet, history.c.content, history.c.condition, history.c.status)
        .join(last, last.c.version == history.c.version)
        .order_by(history.c.bullet)
    ).all()
