"""The ledger's statements, built once: composing one costs SQLAlchemy more than running it."""

from typing import Any

import sqlalchemy as sa

from acegraph.state.database.tables import (
    adjustments,
    bullets,
    cases,
    decisions,
    lessons,
    outcomes,
    pruned,
    rights,
    selections,
)
from acegraph.state.database.writer import Statement
from acegraph.state.values.verdict import DECLINE, JUDGE

_id: sa.BindParameter[Any] = sa.bindparam("id")
_ids: sa.BindParameter[Any] = sa.bindparam("ids", expanding=True)
_newest = outcomes.alias("newest")
_later = outcomes.alias("later")
_is_newest = ~sa.exists().where(
    _later.c.case == _newest.c.case, _later.c.revision > _newest.c.revision
)
_known = sa.and_(_newest.c.case == cases.c.id, _is_newest)


IS_KNOWN = Statement(
    sa.union_all(
        sa.select(cases.c.digest, sa.literal_column("0")).where(cases.c.id == _id),
        sa.select(pruned.c.at, sa.literal_column("1")).where(pruned.c.case == _id),
    )
)
"""Whether a case was seen before: its digest, or when it was pruned."""
KNOWN_CASES = sa.select(cases.c.id).where(cases.c.id.in_(_ids))
PRUNED_CASES = sa.select(pruned.c.case).where(pruned.c.case.in_(_ids))
IS_PRUNED = sa.select(pruned.c.at).where(pruned.c.case == _id)
_standing = (
    sa.select(
        cases.c.id,
        cases.c.digest,
        cases.c.node,
        decisions.c.decision,
        decisions.c.node.label("decided_by"),
        decisions.c.counted,
        lessons.c.lesson,
        _newest.c.label,
        _newest.c.revision,
        _newest.c.source.label("label_source"),
        _newest.c.known_at.label("label_known_at"),
    )
    .select_from(cases)
    .outerjoin(decisions, decisions.c.case == cases.c.id)
    .outerjoin(lessons, lessons.c.case == cases.c.id)
    .outerjoin(_newest, _known)
)
STANDING = _standing.where(cases.c.id == _id)
ALL_STANDING = _standing.where(cases.c.id.in_(_ids))
WHOLE_DECISION = (
    sa.select(
        *(cases.c[name] for name in ("id", "node", "text", "fields", "digest", "created_at")),
        *(c for c in decisions.c if c.name not in ("case", "node", "position", "hash")),
        lessons.c.lesson,
        _newest.c.label,
        _newest.c.source.label("label_source"),
        _newest.c.known_at,
    )
    .select_from(cases)
    .outerjoin(decisions, decisions.c.case == cases.c.id)
    .outerjoin(lessons, lessons.c.case == cases.c.id)
    .outerjoin(_newest, _known)
    .where(cases.c.id == _id)
)
LABELS_GIVEN = (
    sa.select(outcomes.c.case, outcomes.c.label, outcomes.c.source, outcomes.c.known_at)
    .where(outcomes.c.case.in_(_ids))
    .order_by(outcomes.c.case, outcomes.c.revision)
)
LESSON = Statement(
    sa.select(lessons.c.lesson)
    .select_from(cases)
    .outerjoin(lessons, lessons.c.case == cases.c.id)
    .where(cases.c.id == _id)
)
"""A row for every case; its lesson is missing where nothing was learned."""
SHOWN = (
    sa.select(selections.c.bullet, selections.c.selected, selections.c.credited)
    .where(selections.c.case == _id)
    .order_by(selections.c.rank)
)
DECLINED = sa.select(decisions.c.case, decisions.c.settings).where(
    decisions.c.case.in_(_ids), decisions.c.decision == DECLINE
)
CREDITED = (
    sa.select(
        selections.c.case,
        selections.c.bullet,
        sa.func.coalesce(selections.c.verdict, decisions.c.decision).label("said"),
    )
    .select_from(selections)
    .join(decisions, decisions.c.case == selections.c.case)
    .where(selections.c.case.in_(_ids), selections.c.credited == 1)
)
_evidence = (
    sa.select(
        cases.c.id,
        cases.c.node,
        cases.c.fields,
        cases.c.text,
        cases.c.digest,
        _newest.c.label,
        _newest.c.revision,
        _newest.c.source,
        _newest.c.known_at,
    )
    .select_from(cases)
    .join(_newest, _known)
    .where(cases.c.evidence == 1)
)
LABELLED = (
    _evidence.where(
        cases.c.node == sa.bindparam("node"),
        _newest.c.source != JUDGE,
        _newest.c.label.is_not(None),
    )
    .order_by(_newest.c.known_at.desc(), _newest.c.position.desc())
    .limit(sa.bindparam("last"))
)
LABELLED_SINCE = _evidence.where(_newest.c.position > sa.bindparam("since")).order_by(
    _newest.c.position
)
MOVE = Statement(
    bullets.update()
    .where(bullets.c.number == sa.bindparam("bullet"))
    .values(
        helpful_count=bullets.c.helpful_count + sa.bindparam("helpful"),
        harmful_count=bullets.c.harmful_count + sa.bindparam("harmful"),
        times_selected=bullets.c.times_selected + sa.bindparam("selected"),
        changed=sa.bindparam("at_position"),
        hash=sa.bindparam("new_hash"),
    )
)
REWRITE = Statement(
    bullets.update()
    .where(bullets.c.number == sa.bindparam("bullet"))
    .values(
        content=sa.bindparam("new_content"),
        condition=sa.bindparam("new_condition"),
        status=sa.bindparam("new_status"),
        weight=sa.bindparam("new_weight"),
        changed=sa.bindparam("at_position"),
        hash=sa.bindparam("new_hash"),
    )
)
ALL_BULLETS = sa.select(bullets).order_by(bullets.c.number)
BULLETS_SINCE = ALL_BULLETS.where(bullets.c.changed > sa.bindparam("since"))
ADJUSTED_SINCE = (
    sa.select(adjustments.c.number).where(adjustments.c.position > sa.bindparam("since")).limit(1)
)
RIGHT_NUMBER = Statement(sa.select(rights.c.number).where(rights.c.case == _id))
LAST_RIGHT = Statement(
    sa.select(sa.func.max(rights.c.number)).where(rights.c.node == sa.bindparam("node"))
)
