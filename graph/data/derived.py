"""Rows of a file with the fields that are derived from the rows before them in time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from acegraph.nodes.evidence.sightings.columns import sighting_of
from acegraph.nodes.evidence.sightings.derivation import EVIDENCE, derive_all
from acegraph.state.task.task import Derived, Task
from acegraph.state.values import SIGHTED, Evidence, Scalar, Verdict

Rows = Sequence[dict[str, Scalar]]


def with_derived(
    rows: Rows,
    columns: Mapping[str, str],
    labels: Sequence[Verdict | None] = (),
    evidence: Mapping[str, Evidence] | None = None,
) -> list[dict[str, Scalar]]:
    """The rows with derived fields: each row sees the rows before it in time, and of their labels
    those that were known by then.

    `columns` are the fields that they come from, by what they hold; a field that a row has already
    stays as it is.
    """
    sightings = [sighting_of(row, columns) for row in rows]
    derived = derive_all(sightings, labels, evidence or {})
    return [row | fields | row for row, fields in zip(rows, derived, strict=True)]


def with_evidence(
    task: Task, rows: Rows, labels: Sequence[Verdict | None], late_days: float | None
) -> tuple[Task, list[str]]:
    """The task with what labels tell of those whom the rows name, if it is known how late labels
    come; and what was found, in sentences.
    """
    if late_days is None:
        return task, []
    from acegraph.nodes.evidence.sightings.fitting import fitted_evidence

    columns = task.sighting_columns
    found = fitted_evidence([sighting_of(row, columns) for row in rows], labels, late_days)
    kinds = [kind for kind in columns if kind not in SIGHTED]
    derived = [
        Derived(f"{kind}.{EVIDENCE}", "evidence", (columns[kind], columns["time"]), evidence=one)
        for kind, one in found.items()
    ]
    others = (one for one in task.derived if one.what != "evidence")
    task = replace(task, derived=(*others, *derived))
    return task, [_told(kind, found.get(kind)) for kind in kinds]


def _told(kind: str, evidence: Evidence | None) -> str:
    if evidence is None:
        return f"{kind}: what labels said of it tells nothing of its later rows, and is left out"
    return (
        f"{kind}.{EVIDENCE}: how often labels called rows of {evidence.days} days fraud, "
        f"{evidence.delay:g} days later, in times the usual share"
    )
