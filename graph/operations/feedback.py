"""Labels that come after the decision, one or a file of them, and what is learned from them.

They count like ground truth. A run with `learn_later` ends when its decision is judged and
recorded, and leaves its lesson in the queue. A lesson leaves the queue in the write that stores
what was learned, so it is learned once, whoever is killed.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from acegraph.graph.data.rows import read_encoded, read_sheet
from acegraph.nodes.curator.curator import Curation, Curator
from acegraph.nodes.curator.node import curate_lesson
from acegraph.nodes.reflector.custom import Reflecting, ReflectorLike, as_reflector, induces_rules
from acegraph.nodes.reflector.node import reflect_on
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.nodes.selector.node import understand
from acegraph.state import AceContext, BulletPlaybook, ModelError, UnknownDecision
from acegraph.state.database.encoding import as_past
from acegraph.state.errors import InvalidDataset, InvalidInput, quoted
from acegraph.state.run.context import settle
from acegraph.state.run.lesson import Lesson
from acegraph.state.run.schema import RunSettings
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.task import Task
from acegraph.state.values import (
    UNDECIDED,
    Label,
    Recorded,
    Transaction,
    Verdict,
    check_id,
    check_source,
    is_absence,
    parse_verdict,
)

logger = logging.getLogger(__name__)

_BATCH: Final = 2_000
"""Labels written in one database transaction; it locks other writers out only for a moment."""


@dataclass(frozen=True)
class Feedback:
    """What a label changed."""

    decision: Verdict | None
    is_correct: bool | None
    changed: bool
    """False if the label was known before."""
    curation: Curation | None = None
    """What was learned, if the decision turned out to be wrong."""
    waits: bool = False
    """Whether the lesson waits for `acegraph learn`, because the run had `learn_later`."""


@dataclass
class FeedbackReport:
    """What a file of labels changed."""

    labels: int = 0
    changed: int = 0
    wrong: int = 0
    """Decisions that were wrong according to the file."""
    missing: int = 0
    """Labels that were ignored: no chargeback came, but the payment had been declined."""
    too_young: int = 0
    """Labels that were ignored: their source calls so young a payment honest too early."""
    replaced: int = 0
    """Labels that a different one for the same decision followed: the last one counts."""
    unknown: list[str] = field(default_factory=list)
    """Decision ids that this playbook does not hold."""
    waiting: int = 0
    """Lessons that wait for `acegraph learn`, because their runs had `learn_later`."""
    bullets_added: list[str] = field(default_factory=list)

    def note(self, recorded: Recorded) -> None:
        """Count what a label changed."""
        self.changed += recorded.label_changed
        self.missing += recorded.missing
        self.too_young += recorded.too_young
        is_ignored = recorded.missing or recorded.too_young
        self.wrong += not is_ignored and recorded.is_correct is False


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

    A label changes counters once; another label for the same decision first undoes that. A decision
    that turns out to be wrong is learned from as if the label had come with the transaction: at
    once, or in the background where the decision was made with `learn_later`. An
    honest label that comes before its source can know (`mature_days` of the
    policy) is refused.
    """
    if not isinstance(playbook, BulletPlaybook):
        raise InvalidInput(f"feedback wants the playbook first, not {quoted(playbook)}")
    check_id(decision_id)
    answer = _label(playbook.task().stored(label), source, at)
    recorded = playbook.label(decision_id, answer, learn=True)
    if recorded.missing:
        why = "was not approved: that no chargeback came proves nothing; no label written"
        raise InvalidInput(f"{decision_id} {why}")
    if recorded.too_young:
        why = f"is too young for {source!r} to call it honest; no label written, send it again when"
        raise InvalidInput(f"{decision_id} {why} it is old enough (mature_days)")
    curation = None
    if recorded.is_lesson:
        reflecting, curating = as_reflector(reflector), curator or Curator()
        curation = _learned(playbook, decision_id, reflecting, curating)
    waits = recorded.is_lesson and curation is None
    changed, is_correct = recorded.label_changed, recorded.is_correct
    return Feedback(recorded.decision, is_correct, changed, curation, waits)


def _learned(
    playbook: BulletPlaybook, decision_id: str, reflector: Reflecting, curator: Curator
) -> Curation | None:
    """What was learned from a label; None where the lesson waits in the queue (`learn_later`)."""
    if settings_of(playbook, decision_id).get("learn_later"):
        return None
    return learn_from(playbook, decision_id, reflector, curator)


def feedback_many(
    playbook: BulletPlaybook,
    labels: Iterable[tuple[str, Label]],
    *,
    learn: bool = True,
    reflector: ReflectorLike = None,
    curator: Curator | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> FeedbackReport:
    """Judge many stored decisions; unknown ids are reported, and all other labels count.

    Labels are written in batches. A call that was interrupted may simply be repeated.
    """
    reflecting, curating = as_reflector(reflector), curator or Curator()
    report, waiting = FeedbackReport(), iter(labels)
    while batch := list(islice(waiting, _BATCH)):
        by_id = _last_labels(batch)
        report.replaced += len({(i, label.value) for i, label in batch}) - len(by_id)
        recorded_by_id = playbook.label_many(by_id, learn=learn)
        report.labels += len(batch)
        progress(report.labels)  # so many are recorded, whatever becomes of the lessons
        report.unknown += [i for i in by_id if i not in recorded_by_id]
        for decision_id, recorded in recorded_by_id.items():
            report.note(recorded)
            if learn and recorded.is_lesson:
                curation = _learned(playbook, decision_id, reflecting, curating)
                report.waiting += curation is None
                if curation and curation.bullet_id:
                    report.bullets_added.append(curation.bullet_id)
    logger.info("labels: %s", {n: v for n, v in vars(report).items() if isinstance(v, int)})
    return report


def _last_labels(labels: Iterable[tuple[str, Label]]) -> dict[str, Label]:
    """The last label of each decision; one that says "no chargeback came" replaces no other."""
    by_id: dict[str, Label] = {}
    for decision_id, label in labels:
        if decision_id not in by_id or not is_absence(label.source):
            by_id[decision_id] = label
    return by_id


def read_labels(file: Path, source: str = "feedback", at: str = "") -> list[tuple[str, Label]]:
    """The labels of a CSV with the columns `decision_id` and `label`, perhaps `source` and `at`.

    The arguments `source` and `at` count for rows without their own. Every row is checked.
    """
    names, lines = read_sheet(file, read_encoded(file)[0])
    if not names:
        raise InvalidDataset(f"{file}: no rows")
    if missing := {"decision_id", "label"} - set(names):
        raise InvalidDataset(f"{file}: no column {' or '.join(sorted(missing))}")
    labels = []
    for line, row in lines:
        cells = {name: cell.strip() for name, cell in row.items()}
        try:
            check_id(cells["decision_id"])
            answer = _label(row["label"], cells.get("source") or source, cells.get("at") or at)
        except InvalidInput as error:
            raise InvalidDataset(f"{file}: line {line}: {error}") from None
        labels.append((cells["decision_id"], answer))
    return labels


def read_label(
    item: Mapping[str, object], task: Task = CARD_PAYMENTS, sender: str = ""
) -> tuple[str, Label]:
    """The label in an object that somebody sent: `decision_id`, `label`, perhaps `source`, `at`;
    it is signed with the name of its `sender`.

    >>> read_label({"decision_id": "order-1", "label": "fraud", "source": "chargeback"})
    ('order-1', Label(value='DECLINE', source='chargeback', known_at=''))
    """
    check_names(item, ("decision_id", "label", "source", "at"), ("decision_id", "label"))
    given, at = item.get("source"), str(item.get("at") or "")
    source = check_source("feedback" if given is None else given, sender)
    return check_id(item["decision_id"]), _label(task.stored(item["label"]), source, at)


def _label(value: object, source: str, at: str) -> Label:
    return Label(parse_verdict(value), check_source(source), as_past(at) if at else "")


def check_names(
    item: Mapping[str, object], known: tuple[str, ...], needed: tuple[str, ...] = ()
) -> None:
    """Refuse an object that lacks a name, or has one that means nothing."""
    if unknown := sorted(set(item) - set(known)):
        raise InvalidInput(f"unknown: {', '.join(unknown)[:100]}; known are {', '.join(known)}")
    if missing := [name for name in needed if item.get(name) is None]:
        raise InvalidInput(f"{', '.join(missing)} is wanted")


@dataclass
class LearnedLessons:
    """What a pass through the queue did."""

    lessons: int = 0
    """Decisions that were learned from, even if no bullet came of it."""
    failed: int = 0
    """Decisions that stay in the queue, because a model failed."""
    dropped: int = 0
    """Decisions from which there is nothing to learn any more: corrected, pruned or erased."""
    bullets_added: list[str] = field(default_factory=list)


def learn_waiting(
    playbook: BulletPlaybook,
    *,
    reflector: ReflectorLike = None,
    curator: Curator | None = None,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> LearnedLessons:
    """Learn from every decision in the queue, once; reflector and curator are those of the graph.

    Several workers may run at the same time: the first to finish a lesson has learned it.
    """
    reflecting, curating = as_reflector(reflector), curator or Curator()
    report, waiting = LearnedLessons(), playbook.waiting_lessons()
    for number, decision_id in enumerate(waiting):
        progress("learning", number, len(waiting))
        if not _is_lesson(playbook, decision_id):
            playbook.drop_lesson(decision_id)
            report.dropped += 1
            continue
        try:
            curation = learn_from(playbook, decision_id, reflecting, curating)
        except ModelError as error:
            logger.warning("reflector undecided: %s", type(error).__name__)
            report.failed += 1
            continue
        playbook.drop_lesson(decision_id)  # one that taught nothing is in the queue still
        report.lessons += 1
        if curation.bullet_id:
            report.bullets_added.append(curation.bullet_id)
    logger.info("%d lessons learned, %d failed", report.lessons, report.failed)
    return report


def learn_from(
    playbook: BulletPlaybook, decision_id: str, reflector: Reflecting, curator: Curator
) -> Curation:
    """Learn from a stored decision whose label is known."""
    stored = playbook.decision(decision_id)
    settings = settings_of(playbook, decision_id)
    transaction = Transaction(stored["text"], stored["fields"])
    if stored["decision"] is None and not _leaves_open(playbook, settings, transaction):
        return Curation("refused", "what is known decides it: the agent failed, or it was learned")
    lesson = Lesson(
        decision_id=decision_id,
        transaction=transaction,
        decision=stored["decision"] or UNDECIDED,
        correct=stored["label"],
        reasons=stored["reasons"] or [],
        settings=settings,
        label_source=stored["label_source"],
    )
    reflection = finish(reflect_on(lesson, reflector, playbook, BLOCKING))
    refines = induces_rules(reflector, lesson.settings["reflector_model"])
    return curate_lesson(lesson, reflection, curator, playbook, refines=refines)


def settings_of(playbook: BulletPlaybook, decision_id: str) -> RunSettings:
    """The settings of the run that decided; of a case that none decided those of today."""
    stored = playbook.decision(decision_id)
    settings: RunSettings | None = stored["settings"]
    return settings or settle(playbook, AceContext(node=stored["node"]))


def _leaves_open(playbook: BulletPlaybook, settings: RunSettings, transaction: Transaction) -> bool:
    """Whether prior and rules cannot decide a case."""
    understood = understand(transaction, playbook, settings["node"], "", keeps_derived=False)
    ruleset = Ruleset.of(playbook, settings)
    return bool(ruleset.decide(understood.fields, understood.doubts).undecided)


def _is_lesson(playbook: BulletPlaybook, decision_id: str) -> bool:
    """Whether there is something to learn from a decision now."""
    try:
        stored = playbook.decision(decision_id)
    except UnknownDecision:  # a pruned one is
        return False
    if stored["label"] is None or not stored["text"] or stored["lesson"] is not None:
        return False
    learns_every = settings_of(playbook, decision_id)["learn_every"]
    return bool(stored["decision"] != stored["label"] or learns_every)
