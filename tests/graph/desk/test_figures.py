"""The figures of the desk, from columns of decisions."""

import numpy as np

from acegraph.graph.desk.pages.overview import course
from acegraph.state.playbook.decision_index import FRAUD, HONEST, UNLABELLED, DecisionColumns


def columns(labels: list[int]) -> DecisionColumns:
    """Decisions of one hour with these labels."""
    n = len(labels)
    nothing, numbers = np.zeros(n, bool), np.arange(n, dtype=float)
    none = np.zeros(0, np.int64)
    return DecisionColumns(
        ids=[str(i) for i in range(n)],
        position=np.arange(n),
        seconds=numbers,
        declined=nothing,
        label=np.array(labels, np.int8),
        counted=~nothing,
        let_through=np.zeros(n),
        may_ask=nothing,
        risk=numbers,
        amount=numbers,
        shown_row=none,
        shown_bullet=none,
        shown_credited=np.zeros(0, bool),
    )


def test_the_last_part_of_a_curve_has_as_many_labels_as_the_others() -> None:
    labels = [FRAUD, HONEST] * 50 + [UNLABELLED] * 60 + [FRAUD]
    found = course(columns(labels))
    known = np.array(labels) != UNLABELLED
    assert [int(known[part].sum()) for part in found] == [20, 20, 20, 20, 21]
    assert (found[0].start, found[-1].stop) == (0, len(labels))


def test_decisions_without_a_label_have_a_course_too() -> None:
    assert len(course(columns([UNLABELLED] * 100))) == 5
    assert course(columns([])) == []
