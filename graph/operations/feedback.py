"""Labels that come later: a chargeback, an analyst's word, a file of either. They take the same
road as ground truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from acegraph.graph.data.csv_files import read_sheet, read_text
from acegraph.nodes.curator.curator import Curation, Curator
from acegraph.nodes.curator.node import curate_lesson
from acegraph.nodes.reflector.custom import Reflecting, ReflectorLike, as_reflector
from acegraph.nodes.reflector.node import reflect_on
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.state import (
    APPROVE,
    InvalidDataset,
    InvalidInput,
    Label,
    Recorded,
    Transaction,
    Verdict,
    parse_verdict,
)
from acegraph.state.run.lesson import Lesson
from acegraph.state.values.times import as_past
from acegraph.state.values.verdict import is_absence

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


_BATCH: Final = 2_000
"""Labels of one database transaction: many, and yet others wait for a moment only."""


@dataclass(frozen=True)
class Feedback:
    """What a label changed."""

    decision: Verdict | None
    is_correct: bool | None
    changed: bool
    """False where the label said nothing new."""
    curation: Curation | None = None
    """What was learned, where the decision turned out wrong."""


@dataclass
class FeedbackReport:
    """What a file of labels changed."""

    labels: int = 0
    changed: int = 0
    wrong: int = 0
    """Decisions that the file says were wrong."""
    missing: int = 0
    """Labels that were none: no chargeback came, and the payment had been declined."""
    unknown: list[str] = field(default_factory=list)
    """Ids that this playbook does not hold."""
    bullets_added: list[str] = field(default_factory=list)


def feedback(
    playbook: BulletPlaybook,
    decision_id: str,
    label: str,
    *,
    source: str = "feedback",
    at: str = "",
    reflector: ReflectorLike = None,
    curator: Curator | None = None,
) -> Feedback:
    """Judge a stored decision by a label that became known now (or at `at`, ISO 8601).

    Counters move once; a changed label takes back what the first one moved; a decision that turns
    out wrong is learned from as if the label had been there at once.
    """
    answer = Label(parse_verdict(label), source, as_past(at) if at else "")
    recorded = playbook.label(decision_id, answer)
    if recorded.missing:
        raise InvalidInput(
            f"{decision_id} was declined: that no chargeback came proves nothing; no label written"
        )
    learned = None
    if _is_lesson(recorded):
        learned = _learn(playbook, decision_id, as_reflector(reflector), curator or Curator())
    return Feedback(recorded.decision, _is_correct(recorded), recorded.label_changed, learned)


def feedback_many(
    playbook: BulletPlaybook,
    labels: Iterable[tuple[str, Label]],
    *,
    learn: bool = True,
    reflector: ReflectorLike = None,
    curator: Curator | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> FeedbackReport:
    """Judge many stored decisions; what is unknown is reported and nothing else is lost by it.

    Labels are written in batches, each one step; a run that is broken off is simply repeated.
    """
    report = FeedbackReport()
    reflecting, curating = as_reflector(reflector), curator or Curator()
    waiting = iter(labels)
    while batch := list(islice(waiting, _BATCH)):
        given = _last_words(batch)
        found = playbook.label_many(given)
        report.labels += len(batch)
        report.unknown += [i for i in given if i not in found]
        for decision_id, recorded in found.items():
            report.changed += recorded.label_changed
            report.missing += recorded.missing
            report.wrong += not recorded.missing and _is_correct(recorded) is False
            if learn and _is_lesson(recorded):
                learned = _learn(playbook, decision_id, reflecting, curating)
                if learned.bullet_id is not None:
                    report.bullets_added.append(learned.bullet_id)
        progress(report.labels)
    return report


def _last_words(labels: Iterable[tuple[str, Label]]) -> dict[str, Label]:
    """Of two labels for one decision the later; that nothing came is no word against one."""
    given: dict[str, Label] = {}
    for decision_id, label in labels:
        if decision_id not in given or not is_absence(label.source):
            given[decision_id] = label
    return given


def read_labels(file: Path, source: str = "feedback", at: str = "") -> list[tuple[str, Label]]:
    """The labels of a CSV: columns `decision_id` and `label`, and `source` and `at` if given.

    `source` and `at` stand for what a row does not say. The whole file is checked before anything
    is written.
    """
    otherwise = Label(APPROVE, source, as_past(at) if at else "")
    names, rows = read_sheet(file, read_text(file))
    if not names:
        raise InvalidDataset(f"{file}: no rows")
    if missing := {"decision_id", "label"} - set(names):
        raise InvalidDataset(f"{file}: no column {' or '.join(sorted(missing))}")
    return list(_checked(rows, file, otherwise))


def _checked(
    rows: Iterable[tuple[int, Mapping[str, str]]], file: Path, otherwise: Label
) -> Iterator[tuple[str, Label]]:
    for line, row in rows:
        try:
            at, decision_id = row.get("at", "").strip(), row["decision_id"].strip()
            if not decision_id:
                raise InvalidInput("no decision_id")
            label = parse_verdict(row["label"])
            who = row.get("source", "").strip() or otherwise.source
            yield decision_id, Label(label, who, as_past(at) if at else otherwise.known_at)
        except InvalidInput as error:
            raise InvalidDataset(f"{file}: line {line}: {error}") from None


def _is_correct(recorded: Recorded) -> bool | None:
    if recorded.decision is None or recorded.label is None:
        return None
    return recorded.decision == recorded.label.value


def _is_lesson(recorded: Recorded) -> bool:
    return _is_correct(recorded) is False and recorded.counted and recorded.lesson is None


def _learn(
    playbook: BulletPlaybook, decision_id: str, reflector: Reflecting, curator: Curator
) -> Curation:
    stored = playbook.decision(decision_id)
    lesson = Lesson(
        decision_id=decision_id,
        transaction=Transaction(stored["text"], stored["fields"]),
        decision=stored["decision"],
        correct=stored["label"],
        reasons=stored["reasons"],
        settings=stored["settings"],
        label_source=stored["label_source"],
    )
    reflection = finish(reflect_on(lesson, reflector, playbook, BLOCKING))
    return curate_lesson(lesson, reflection, curator, playbook)
