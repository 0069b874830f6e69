"""What a person should know of a running playbook: drift, bullets that turned bad, queues, labels.

Nothing here holds a value of a transaction: an alert names fields, bullets and counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from acegraph.graph.metrics.intervals import band, of_share
from acegraph.graph.metrics.stability import Stability, of_field, of_numbers
from acegraph.nodes.evidence.backtest import wilson_interval
from acegraph.nodes.evidence.columns.learnable_fields import learnable_fields
from acegraph.nodes.evidence.drift import times_of
from acegraph.nodes.rules.points import log_odds_over
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.maintenance.activity import TRAINED, Activity, Record, activity_since
from acegraph.state.maintenance.people.review_queue import Waiting, waiting
from acegraph.state.playbook import decision_index as index
from acegraph.state.values import DECLINE, Bullet, CaseTable

RISK: Final = "risk"
"""The name under which the distribution of risk is reported."""
_FEWEST: Final = 50
"""Fewer payments, or fewer cases of training, tell nothing about a distribution."""
_FEWEST_OUTCOMES: Final = 10
_FEWEST_LABELS: Final = 10
_LATE_DAYS: Final = 30.0
"""From this age on outcomes should have come; from a later one where the policy says so."""
_SURELY: Final = 5
"""Of so many frauds to be expected at least one would be known but once in 150 times."""
_TOLD: Final = 3
"""So many outcomes should have come in a time in which none has."""


@dataclass(frozen=True)
class Alert:
    """One thing that somebody should look at."""

    kind: str
    """drift, bullet, queue or labels."""
    name: str
    text: str


@dataclass(frozen=True)
class Watch:
    """What was found in a time of some days."""

    decisions: int
    trained: int
    labels: int
    labels_before: int
    waiting: int
    stability: dict[str, float]
    """The population stability index of each field, and of risk, against the training data."""
    declines_right: dict[str, float | None]
    """The share of the declines of these days that was right; its ends alone where some have no
    label because they were declined."""
    alerts: list[Alert]
    label_coverage: index.Coverage


def watch(
    playbook: BulletPlaybook,
    *,
    days: float = 7.0,
    most_waiting: int = 100,
    node: str | None = None,
    now: datetime | None = None,
) -> Watch:
    """Compare the last days of a playbook with its training data and with the days before."""
    now, node = now or datetime.now(UTC), node or AceContext().node
    since = now - timedelta(days=days)
    activity = activity_since(playbook, node, since, now)
    columns = index.DecisionIndex(playbook.database).columns()
    active = playbook.get_bullets_for_node(node)
    moved = _stabilities(activity, active)
    entries = waiting(playbook)
    return Watch(
        len(activity.live),
        len(activity.trained),
        activity.labels,
        activity.labels_before,
        len(entries),
        {name: one.index for name, one in moved.items()},
        _declines_right(columns, since.timestamp()),
        [
            *(
                Alert("drift", name, f"{name} has moved from the training data: index {one.index}")
                for name, one in moved.items()
                if one.has_moved
            ),
            *(alert for bullet in active if (alert := _bad(bullet, activity.records))),
            *_halted(entries, most_waiting, activity, days),
            *_awaited(playbook, node, columns, now),
            *(() if playbook.policy(node).explore else _untold(playbook.cases(node), active)),
        ],
        index.label_coverage(columns),
    )


def _halted(entries: list[Waiting], most: int, activity: Activity, days: float) -> Iterator[Alert]:
    """Alerts for a queue that is too long, and for labels that have stopped coming."""
    if len(entries) > most:
        oldest = min(entry.since for entry in entries)[:16]
        text = f"{len(entries)} wait for a person, more than {most}; the oldest since {oldest}"
        yield Alert("queue", "review", text)
    now, before = activity.labels, activity.labels_before
    if now * 10 <= before and before >= _FEWEST_LABELS and len(activity.live):
        yield Alert("labels", "labels", f"{now} labels in {days:g} days, {before} in those before")


def _awaited(
    playbook: BulletPlaybook, node: str, columns: index.DecisionColumns, now: datetime
) -> Iterator[Alert]:
    """An alert where payments are old enough for outcomes, so many that there are frauds among
    them, and no outcome has come.
    """
    wait = max([_LATE_DAYS, *playbook.policy(node).mature_days.values()])
    days = (now.timestamp() - columns.seconds) / 86_400
    is_live = np.array([not one.startswith(TRAINED) for one in columns.ids], bool)
    awaited = is_live & ~columns.blocked & (days > wait) & (days <= 2 * wait)
    count, odds = int(np.count_nonzero(awaited)), playbook.cases(node).fraud_odds()
    is_known = columns.label[awaited] != index.UNLABELLED
    if count >= max(_FEWEST_LABELS, _SURELY * (1 + 1 / odds)) and not is_known.any():
        text = (
            f"no outcome is known of {count:,} payments decided {wait:g} to {2 * wait:g} days ago"
        )
        yield Alert("labels", "outcomes", text)


def _untold(table: CaseTable, active: list[Bullet]) -> Iterator[Alert]:
    """Alerts for bullets that decline where no outcome comes any more, by the times of payments."""
    times = np.array(times_of(table))
    newest = max(times.tolist(), default="")
    for bullet in active if newest else ():
        held = bullet.condition.holds_over(table) if bullet.condition else times == newest
        told = sorted(filter(None, times[held].tolist()))
        if bullet.verdict != DECLINE or not told:
            continue
        first, last = map(datetime.fromisoformat, (told[0], told[-1]))
        silent = datetime.fromisoformat(newest) - last
        if silent.days >= _LATE_DAYS and silent * len(told) >= _TOLD * (last - first):
            text = f"{bullet.id} declines: no outcome for {silent.days} days (policy explore=0.02)"
            yield Alert("bullet", bullet.id, text)


def _stabilities(activity: Activity, active: list[Bullet]) -> dict[str, Stability]:
    """The stability of each field that rules may use, and of the risk by today's rules."""
    trained, live = activity.trained, activity.live
    if min(len(trained), len(live)) < _FEWEST:
        return {}
    risks = (np.asarray(log_odds_over(table, active)) for table in (trained, live))
    moved = {RISK: of_numbers(*risks)}
    for name in learnable_fields(trained):
        column = trained.column(name)
        if column is not None:
            moved[name] = of_field(column, live.column(name), len(live))
    return moved


def _declines_right(columns: index.DecisionColumns, since: float) -> dict[str, float | None]:
    lately, labels = columns.declined & (columns.seconds >= since), columns.label
    masks = (labels == index.FRAUD, labels == index.HONEST, columns.blocked)
    right, wrong, hidden = (int(np.count_nonzero(lately & mask)) for mask in masks)
    guesses = (0, hidden) if hidden else (0,)
    found = band([of_share(right + n, right + wrong + hidden) for n in guesses]).to_json()
    return {name: end for name, end in found.items() if end is not None and lately.any()}


def _bad(bullet: Bullet, records: dict[str, tuple[Record, Record]]) -> Alert | None:
    """An alert for a bullet whose newer record is worse than chance could make of its older one."""
    before, since = records.get(bullet.id, (Record(), Record()))
    fires, precision = (float(bullet.evidence.get(name) or 0) for name in ("fires", "precision"))
    right = before.helpful + fires * precision
    outcomes, known = since.helpful + since.harmful, before.helpful + before.harmful + round(fires)
    if outcomes < _FEWEST_OUTCOMES or not known:
        return None
    if wilson_interval(since.helpful, outcomes)[1] >= wilson_interval(right, known)[0]:
        return None
    text = f"{bullet.id} was right {since.helpful} times of {outcomes}, before {right / known:.0%}"
    return Alert("bullet", bullet.id, text)
