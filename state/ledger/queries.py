"""The ledger's statements, built once: composing one costs SQLAlchemy more than running it."""

from typing import Any

import sqlalchemy as sa

from acegraph.state.database.tables import (
    adjustments,
    bullets,
    cases,
    clock,
    decisions,
    lessons,
    outcomes,
    policies,
    pruned,
    selections,
    tasks,
)
from acegraph.state.database.writer import Statement
from acegraph.state.ledger.counters import is_current_label
from acegraph.state.values import DEPARTURE, JUDGE

_id: sa.BindParameter[str] = sa.bindparam("id")
_ids: sa.BindParameter[str] = sa.bindparam("ids", expanding=True)
_since: sa.BindParameter[int] = sa.bindparam("since")
_newest = outcomes.alias("newest")
_is_label_of_case = sa.and_(_newest.c.case == cases.c.id, is_current_label(_newest))
_whole_cases = (
    cases.outerjoin(decisions, decisions.c.case == cases.c.id)
    .outerjoin(lessons, lessons.c.case == cases.c.id)
    .outerjoin(_newest, _is_label_of_case)
)

FIND_CASE = Statement(
    sa.union_all(
        sa.select(cases.c.digest, sa.literal_column("0")).where(cases.c.id == _id),
        sa.select(pruned.c.at, sa.literal_column("1")).where(pruned.c.case == _id),
    )
)
"""The digest of a stored case and 0, or the time at which it was pruned and 1."""
KNOWN_CASES = sa.select(cases.c.id).where(cases.c.id.in_(_ids))
PRUNED_CASES = sa.select(pruned.c.case).where(pruned.c.case.in_(_ids))
IS_PRUNED = sa.select(pruned.c.at).where(pruned.c.case == _id)
CASE_STATES = (
    sa.select(
        cases.c.id,
        cases.c.node,
        cases.c.evidence,
        cases.c.created_at,
        decisions.c.decision,
        decisions.c.node.label("decided_by"),
        decisions.c.counted,
        decisions.c.settings,
        lessons.c.lesson,
        _newest.c.label,
        _newest.c.revision,
        _newest.c.source.label("label_source"),
        _newest.c.known_at.label("label_known_at"),
    )
    .select_from(_whole_cases)
    .where(cases.c.id.in_(_ids))
)
WHOLE_DECISION = (
    sa.select(
        *(cases.c[name] for name in ("id", "node", "text", "fields", "digest", "created_at")),
        *(c for c in decisions.c if c.name not in ("case", "node", "position", "hash")),
        lessons.c.lesson,
        _newest.c.label,
        _newest.c.source.label("label_source"),
        _newest.c.known_at,
    )
    .select_from(_whole_cases)
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
"""One row for a stored case; its lesson is None where nothing was learned from it."""
SHOWN = (
    sa.select(selections.c.bullet, selections.c.selected, selections.c.credited)
    .where(selections.c.case == _id)
    .order_by(selections.c.rank)
)
CREDITED = (
    sa.select(
        selections.c.case,
        selections.c.bullet,
        sa.func.coalesce(selections.c.verdict, decisions.c.decision).label("argued_for"),
    )
    .select_from(selections)
    .join(decisions, decisions.c.case == selections.c.case)
    .where(selections.c.case.in_(_ids), selections.c.credited == 1)
)
_has_departed = decisions.c.settings.like(sa.literal_column(f"'%{DEPARTURE}%'"))


def _evidence(
    label: sa.FromClause, is_label_of_case: sa.ColumnElement[bool]
) -> sa.Select[tuple[Any, ...]]:
    """The columns of a `LabelledRow`."""
    return (
        sa.select(
            *(cases.c[name] for name in ("id", "node", "fields", "text", "digest")),
            *(label.c[name] for name in ("label", "revision", "source", "known_at")),
            sa.case((_has_departed, decisions.c.settings)).label("departed"),
        )
        .select_from(cases)
        .join(label, is_label_of_case)
        .outerjoin(decisions, decisions.c.case == cases.c.id)
        .where(cases.c.evidence == sa.literal_column("1"))
    )


_labelled = _evidence(_newest, _is_label_of_case)
_is_evidence = sa.and_(
    cases.c.node == sa.bindparam("node"), _newest.c.source != JUDGE, _newest.c.label.is_not(None)
)
_stored = (cases.c.created_at, cases.c.position.label("stored"))
LABELLED = _labelled.add_columns(_newest.c.position, *_stored).where(_is_evidence)
LABELS = (
    sa.select(
        cases.c.id, *(_newest.c[name] for name in ("label", "known_at", "position")), *_stored
    )
    .select_from(cases)
    .join(_newest, _is_label_of_case)
    .where(cases.c.evidence == 1, _is_evidence)
)
"""The labels without their cases."""
COUNT_LABELLED = LABELS.with_only_columns(_newest.c.label, sa.func.count().label("cases")).group_by(
    _newest.c.label
)
LABELLED_OF = _labelled.where(cases.c.id.in_(_ids))
LABELLED_BETWEEN = Statement(
    _evidence(outcomes, outcomes.c.case == cases.c.id)
    .where(outcomes.c.position > _since, outcomes.c.position <= sa.bindparam("until"))
    .order_by(outcomes.c.position)
)
"""All labels in a part of the ledger, also those that were corrected later."""
_update_bullet = (
    bullets.update()
    .where(bullets.c.number == sa.bindparam("bullet"))
    .values(changed=sa.bindparam("at_position"), hash=sa.bindparam("new_hash"))
)
ADD_TO_COUNTERS = Statement(
    _update_bullet.values(
        helpful_count=bullets.c.helpful_count + sa.bindparam("helpful"),
        harmful_count=bullets.c.harmful_count + sa.bindparam("harmful"),
        times_selected=bullets.c.times_selected + sa.bindparam("selected"),
    )
)
REWRITE_BULLET = Statement(
    _update_bullet.values(
        content=sa.bindparam("new_content"),
        condition=sa.bindparam("new_condition"),
        status=sa.bindparam("new_status"),
        proof=sa.bindparam("new_proof"),
        evidence=sa.bindparam("new_evidence"),
        weight=sa.bindparam("new_weight"),
    )
)
_is_adjusted = adjustments.c.position > _since
ADJUSTED_SINCE = sa.select(adjustments.c.number).where(_is_adjusted).limit(1)
CHANGED_SINCE = Statement(
    sa.select(
        clock.c.position,
        clock.c.version,
        sa.exists().where(_is_adjusted),
        sa.or_(*(sa.exists().where(table.c.position > _since) for table in (tasks, policies))),
        *bullets.c,
    )
    .select_from(clock.outerjoin(bullets, bullets.c.changed > _since))
    .order_by(bullets.c.number)
)
"""The clock, whether counters were adjusted, whether a task or a policy was set, and the bullets
that changed; at least one row."""
