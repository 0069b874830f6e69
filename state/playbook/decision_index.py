"""Every decision in a few numbers, in memory and in step with the ledger: to count and to search.

The first look reads all decisions, each later one only what is new. Texts stay in the database.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from acegraph.state.database.base import READ_CLOCK, Database
from acegraph.state.database.tables import cases, decisions, outcomes
from acegraph.state.ledger import queries as sql
from acegraph.state.ledger.counters import is_current_label, is_label_of_decision
from acegraph.state.ledger.lookups import ERASED
from acegraph.state.values import APPROVE, DECLINE, JUDGE, LET_THROUGH, Fields

FRAUD, HONEST, UNLABELLED = 1, 0, -1
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
AmountOf = Callable[[Fields], float | None]


@dataclass(frozen=True)
class DecisionColumns:
    """The decisions of one moment, oldest first, a number each."""

    ids: list[str]
    seconds: Floats
    """When the payment was, since 1970, in the field that says so, else when it was decided."""
    declined: Bools
    label: NDArray[np.int8]
    """FRAUD, HONEST or UNLABELLED; the opinion of a judge is no label."""
    counted: Bools
    let_through: Bools
    """Would-be declines that were let through."""
    may_ask: Bools
    """Whether its settings allow that a person is asked."""
    risk: Floats
    """NaN where there is none."""
    amount: Floats

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def blocked(self) -> Bools:
        """Without a label because they were declined: no chargeback can come."""
        return np.asarray((self.label == UNLABELLED) & self.declined & ~self.let_through)

    def followed_by(
        self, rows: Collection[Any], amount_of: AmountOf, time: str = ""
    ) -> "DecisionColumns":
        """The columns with those of later decisions below them."""
        fields = [json.loads(row.fields) for row in rows]
        pairs = zip(rows, fields, strict=True)
        moments = np.array([_moment(of.get(time), row.decided_at) for row, of in pairs], "M8[us]")
        values: Mapping[str, Iterable[object]] = {
            "seconds": moments.astype(float) / 1e6,
            "declined": [row.decision == DECLINE for row in rows],
            "label": [_label(row.label) for row in rows],
            "counted": [row.counted for row in rows],
            "let_through": [row.let_through for row in rows],
            "may_ask": [row.may_ask for row in rows],
            "risk": [row.risk_score for row in rows],
            "amount": list(map(amount_of, fields)),
        }
        old = {name: getattr(self, name) for name in values}
        new = {n: np.append(one, np.array(values[n], one.dtype)) for n, one in old.items()}
        return DecisionColumns([*self.ids, *(row.case for row in rows)], **new)


_HISTORY: Final = "history"
"""The source of labels that cases came with: nobody decided those."""
_AS_COUNTED: Final = {"counted": True, "let_through": False, "may_ask": False}
_KINDS: Final = (np.float64, bool, np.int8, bool, bool, bool, np.float64, np.float64)
_NONE: Final = DecisionColumns([], *(np.zeros(0, kind) for kind in _KINDS))


@dataclass(frozen=True)
class Coverage:
    """How many decisions have a label that is more than an opinion, and why others have none.

    A declined payment cannot be charged back. That no chargeback came then does not say whether the
    decline was right or wrong: the label is missing.
    """

    decided: int
    labelled: int
    blocked: int
    """Without a label because they were declined: no chargeback can come."""
    pending: int
    """Without a label yet: approved, or let through."""
    let_through: int
    """Would-be declines that were let through."""
    let_through_honest: int
    """Those of them that turned out to be honest payments: each stands for 1/explore of all."""


def label_coverage(columns: DecisionColumns) -> Coverage:
    """Count the labels of counted decisions, and the labels that declines hide."""
    counted, has_label = columns.counted, columns.label != UNLABELLED
    let_through = counted & columns.let_through
    blocked = int((counted & columns.blocked).sum())
    decided, labelled = int(counted.sum()), int((counted & has_label).sum())
    return Coverage(
        decided=decided,
        labelled=labelled,
        blocked=blocked,
        pending=decided - labelled - blocked,
        let_through=int(let_through.sum()),
        let_through_honest=int((let_through & (columns.label == HONEST)).sum()),
    )


class DecisionIndex:
    """Keeps the columns in step with a ledger."""

    def __init__(
        self, database: Database, amount_of: AmountOf = lambda fields: None, time: str = ""
    ) -> None:
        """`time` is the field that says when a payment was."""
        self._database, self._amount_of, self._time = database, amount_of, time
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._position, self._columns = -1, _NONE
        self._numbers: dict[str, int] = {}

    def columns(self) -> DecisionColumns:
        """The decisions as they are now."""
        with self._lock:
            if self._database.clock().position != self._position:
                with self._database.snapshot() as connection:
                    self._read_news(connection)
            return self._columns

    def with_undecided(self) -> DecisionColumns:
        """The decisions, and below them labelled transactions without one: each as the mistake that
        is possible there, fraud as approved, an honest payment as declined.
        """
        columns = self.columns()
        with self._database.snapshot() as connection:
            return columns.followed_by(connection.execute(_UNDECIDED).all(), self._amount_of)

    def number(self, decision_id: str) -> int | None:
        """The number of a decision in the columns."""
        return self._numbers.get(decision_id)

    def _read_news(self, connection: sa.Connection) -> None:
        if connection.scalar(sql.ADJUSTED_SINCE, {"since": max(self._position, 0)}):
            self._forget()  # decisions may have been pruned or erased
        since, before = self._position, len(self._columns)
        position = connection.execute(READ_CLOCK).one().position
        new = connection.execute(_decisions_since(since)).all()
        said = sa.select(outcomes).where(outcomes.c.position > since)
        labels = connection.execute(said.order_by(outcomes.c.position)).all() if before else ()
        self._columns = self._columns.followed_by(new, self._amount_of, self._time)
        self._numbers.update({row.case: before + n for n, row in enumerate(new)})
        for row in labels:
            number = self._numbers.get(row.case)
            if number is not None and row.source != JUDGE:
                self._columns.label[number] = _label(row.label)
        self._position = position


def _moment(time: object, decided_at: str) -> np.datetime64:
    try:
        return np.datetime64(str(time)[:19], "us")
    except ValueError:  # it has none
        return np.datetime64(decided_at[:26], "us")


def _label(value: str | None) -> int:
    return UNLABELLED if value is None else FRAUD if value == DECLINE else HONEST


def _decisions_since(position: int) -> sa.Select[Any]:
    newest = outcomes.alias("newest")
    names = ("case", "decision", "risk_score", "decided_at", "counted")
    return (
        sa.select(
            *(decisions.c[name] for name in names),
            decisions.c.settings.contains(LET_THROUGH).label("let_through"),
            decisions.c.settings.contains('"review":true').label("may_ask"),
            cases.c.fields,
            newest.c.label,
        )
        .join(cases, cases.c.id == decisions.c.case)
        .outerjoin(newest, is_label_of_decision(newest))
        .where(decisions.c.position > position)
        .order_by(decisions.c.position)
    )


_newest, _known = outcomes.alias("newest"), outcomes.alias("known")
_UNDECIDED: Final = (
    sa.select(
        cases.c.id.label("case"),
        sa.case((_newest.c.label == DECLINE, APPROVE), else_=DECLINE).label("decision"),
        sa.null().label("risk_score"),
        cases.c.created_at.label("decided_at"),
        *(sa.literal(value).label(name) for name, value in _AS_COUNTED.items()),
        cases.c.fields,
        _newest.c.label,
    )
    .join(_newest, _newest.c.case == cases.c.id)
    .outerjoin(decisions, decisions.c.case == cases.c.id)
    .where(
        decisions.c.case.is_(None),
        cases.c.digest != ERASED,
        is_current_label(_newest),
        _newest.c.label.is_not(None),
        _newest.c.source != JUDGE,
        ~sa.exists().where(_known.c.case == cases.c.id, _known.c.source == _HISTORY),
    )
    .order_by(cases.c.position)
)
