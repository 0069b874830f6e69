"""The ledger's statements, built once: composing one costs SQLAlchemy more than running it."""

from typing import Any

import sqlalchemy as sa

from acegraph.state.tables import bullets, cases, decisions, outcomes, selections
from acegraph.state.verdict import JUDGE

_id: sa.BindParameter[Any] = sa.bindparam("id")
_newest = outcomes.alias("newest")
_later = outcomes.alias("later")
_is_newest = ~sa.exists().where(
    _later.c.case == _newest.c.case, _later.c.revision > _newest.c.revision
)
_known = sa.and_(_newest.c.case == cases.c.id, _is_newest)

CASE_IDS = sa.select(cases.c.id)
ADD_CASE = cases.insert()
ADD_DECISION = decisions.insert()
ADD_SELECTION = selections.insert()
ADD_OUTCOME = outcomes.insert()
STANDING = (
    sa.select(
        cases.c.digest,
        cases.c.node,
        decisions.c.decision,
        decisions.c.counted,
        decisions.c.right_number,
        decisions.c.lesson,
        _newest.c.label,
        _newest.c.revision,
        _newest.c.source.label("label_source"),
    )
    .select_from(cases)
    .outerjoin(decisions, decisions.c.case == cases.c.id)
    .outerjoin(_newest, _known)
    .where(cases.c.id == _id)
)
WHOLE_DECISION = (
    sa.select(
        *(c for c in cases.c if c.name not in ("evidence", "digest")),
        *(c for c in decisions.c if c.name not in ("case", "node", "right_number")),
        _newest.c.label,
        _newest.c.source.label("label_source"),
        _newest.c.known_at,
    )
    .select_from(cases)
    .outerjoin(decisions, decisions.c.case == cases.c.id)
    .outerjoin(_newest, _known)
    .where(cases.c.id == _id)
)
SHOWN = (
    sa.select(selections.c.bullet, selections.c.selected, selections.c.credited)
    .where(selections.c.case == _id)
    .order_by(selections.c.rank)
)
CREDITED = (
    sa.select(selections.c.bullet, sa.func.coalesce(selections.c.verdict, decisions.c.decision))
    .select_from(selections)
    .join(decisions, decisions.c.case == selections.c.case)
    .where(selections.c.case == _id, selections.c.credited)
)
LABELLED = (
    sa.select(cases.c.id, cases.c.fields, _newest.c.label, cases.c.text, cases.c.digest)
    .select_from(cases)
    .join(_newest, _known)
    .where(cases.c.node == sa.bindparam("node"), cases.c.evidence, _newest.c.source != JUDGE)
    .order_by(_newest.c.known_at.desc(), sa.literal_column("cases.rowid").desc())
    .limit(sa.bindparam("last"))
)
MOVE = (
    bullets.update()
    .where(bullets.c.number == sa.bindparam("bullet"))
    .values(
        helpful_count=bullets.c.helpful_count + sa.bindparam("helpful"),
        harmful_count=bullets.c.harmful_count + sa.bindparam("harmful"),
        times_selected=bullets.c.times_selected + sa.bindparam("selected"),
    )
)
_peers = decisions.alias("peers")
NUMBER = (
    decisions.update()
    .where(decisions.c.case == _id)
    .values(
        right_number=sa.select(sa.func.coalesce(sa.func.max(_peers.c.right_number), 0) + 1)
        .where(_peers.c.node == sa.bindparam("of_node"))
        .scalar_subquery()
    )
)
CONCLUDE = decisions.update().where(decisions.c.case == _id).values(lesson=sa.bindparam("learned"))
RIGHT_NUMBER = sa.select(decisions.c.right_number).where(decisions.c.case == _id)
