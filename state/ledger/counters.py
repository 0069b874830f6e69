"""What the counters of all bullets must be, summed up from the ledger's rows.

It shares nothing with the code that moves the counters one by one: each checks the other.
"""

from dataclasses import dataclass

import sqlalchemy as sa

from acegraph.state.database.tables import adjustments, decisions, history, outcomes, selections
from acegraph.state.values.bullet import Status
from acegraph.state.values.decision import CounterDeltas, add_deltas


@dataclass(frozen=True)
class AsOf:
    """A moment: a position in the ledger's order, or a time; all rows where it is neither."""

    position: int | None = None
    time: str | None = None

    def holds(self, table: sa.FromClause, time: str) -> sa.ColumnElement[bool]:
        """Which rows of a table were there; `time` is the column that says when."""
        if self.position is not None:
            return table.c.position <= self.position
        return table.c[time] <= self.time if self.time is not None else sa.true()

    def describe(self) -> str:
        """For an error."""
        return f"position {self.position}" if self.position is not None else str(self.time)


ALWAYS = AsOf()


def is_current_label(label: sa.FromClause, until: AsOf = ALWAYS) -> sa.ColumnElement[bool]:
    """Which labels, or withdrawals, are the newest of their cases."""
    later = outcomes.alias()
    is_overtaken = sa.exists().where(
        later.c.case == label.c.case,
        later.c.revision > label.c.revision,
        _was_said(later, until),
    )
    return sa.and_(_was_said(label, until), ~is_overtaken)


def _was_said(label: sa.FromClause, until: AsOf) -> sa.ColumnElement[bool]:
    """Which labels were there; what was said anew after a withdrawal was not there before it."""
    there = until.holds(label, "known_at")
    if until.time is None:
        return there
    withdrawn = outcomes.alias()
    is_anew = sa.exists().where(
        withdrawn.c.case == label.c.case,
        withdrawn.c.label.is_(None),
        withdrawn.c.revision < label.c.revision,
        withdrawn.c.known_at > until.time,
    )
    return sa.and_(there, ~is_anew)


def count(
    connection: sa.Connection, until: AsOf = ALWAYS, decided_before: str | None = None
) -> dict[int, tuple[int, int, int]]:
    """Helpful, harmful and selected per bullet number, adjustments left out."""
    newest = outcomes.alias("newest")
    counted = sa.and_(decisions.c.counted == 1, until.holds(decisions, "decided_at"))
    if decided_before is not None:
        counted &= decisions.c.decided_at < decided_before
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
            counted,
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
        .where(counted, selections.c.selected == 1)
        .group_by(selections.c.bullet)
    )
    credit: CounterDeltas = {n: (int(h), int(f), 0) for n, h, f in connection.execute(judged)}
    return add_deltas(credit, {n: (0, 0, int(s)) for n, s in connection.execute(shown)})


def adjusted(connection: sa.Connection, until: AsOf = ALWAYS) -> dict[int, tuple[int, int, int]]:
    """What was counted without a stored decision: by hand, or before it was pruned."""
    columns = (adjustments.c.helpful, adjustments.c.harmful, adjustments.c.selected)
    was_there = sa.or_(adjustments.c.covers > 0, until.holds(adjustments, "at"))
    rows = connection.execute(
        sa.select(adjustments.c.bullet, *(sa.func.sum(c) for c in columns))
        .where(was_there)
        .group_by(adjustments.c.bullet)
    )
    return {n: (int(h), int(f), int(s)) for n, h, f, s in rows}


def bullet_texts(
    connection: sa.Connection, where: sa.ColumnElement[bool]
) -> list[tuple[int, str, str | None, Status]]:
    """The bullets as the newest of some history rows says: number, content, condition, status."""
    last = (
        sa.select(sa.func.max(history.c.version).label("version"))
        .where(where)
        .group_by(history.c.bullet)
        .subquery()
    )
    rows = connection.execute(
        sa.select(history.c.bullet, history.c.content, history.c.condition, history.c.status)
        .join(last, last.c.version == history.c.version)
        .order_by(history.c.bullet)
    )
    return [(row[0], row[1], row[2], row[3]) for row in rows]
