"""A state machine over everything that can happen to a playbook: the counters always equal what
an independent bookkeeper has written down, and every past selection comes out again.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from ledger_cases import NODE, content
from postgres import Server

from acegraph.graph import create_ace_graph, feedback, replay
from acegraph.state import AceContext, BulletPlaybook, rollback, verify
from acegraph.state.errors import PlaybookError
from acegraph.state.ledger.ledger import DecisionAndLabel
from acegraph.state.values.decision import SHOWN, Recorded

LABELS = st.sampled_from(["APPROVE", "DECLINE"])
SIDES = st.sampled_from(["APPROVE", "DECLINE"])


class Bookkeeper(RuleBasedStateMachine):
    """Drives a playbook and keeps books of its own."""

    playbook_class: ClassVar[type[BulletPlaybook]] = BulletPlaybook
    new_url: ClassVar[Any]

    bullets = Bundle("bullets")
    decisions = Bundle("decisions")

    def __init__(self) -> None:
        super().__init__()
        self.url = type(self).new_url()
        self._open()
        self.labels: dict[str, str] = {}
        self.versions = [content(self.playbook)]
        self.amounts: dict[str, float] = {}
        self.playbook.add_bullet("DECLINE when amount >= 1", NODE)
        self._note()

    @initialize(target=decisions, label=LABELS)
    def decide_first(self, label: str) -> str:
        """A labelled decision in which a bullet had a part: there is something to get wrong."""
        return self._decide_new(9, label)

    def _open(self) -> None:
        self.playbook = self.playbook_class(self.url)
        self.graph = create_ace_graph(
            playbook=self.playbook, agent=lambda given: "DECLINE", reflector=lambda given: None
        ).compile()

    def teardown(self) -> None:
        try:
            for decision_id in self.amounts:
                assert replay(self.playbook, decision_id).is_reproduced
        finally:
            self.playbook.close()

    def _note(self) -> None:
        self.versions.append(content(self.playbook))

    @rule(target=bullets, side=SIDES, amount=st.integers(0, 9))
    def add(self, side: str, amount: int) -> str:
        bullet_id = self.playbook.add_bullet(f"{side} when amount >= {amount}", NODE)
        self._note()
        return bullet_id

    @rule(target=decisions, amount=st.integers(0, 9), label=st.none() | LABELS)
    def decide(self, amount: int, label: str | None) -> str:
        return self._decide_new(amount, label)

    def _decide_new(self, amount: int, label: str | None) -> str:
        decision_id = f"d{len(self.amounts)}"
        self.amounts[decision_id] = amount
        self._decide(decision_id, label)
        if label:
            self.labels[decision_id] = label
        return decision_id

    @rule(decision_id=decisions)
    def decide_again(self, decision_id: str) -> None:
        self._decide(decision_id, self.labels.get(decision_id))

    def _decide(self, decision_id: str, label: str | None) -> None:
        given = {
            "transaction": {"amount": self.amounts[decision_id]},
            "ground_truth": label,
            "decision_id": decision_id,
        }
        self.graph.invoke(given, context=AceContext(n_bullets=2, seed=5))
        self._catch_up()

    @rule(decision_id=decisions, label=LABELS)
    def say(self, decision_id: str, label: str) -> None:
        feedback(self.playbook, decision_id, label, reflector=lambda given: None)
        self.labels[decision_id] = label
        self._catch_up()

    @rule(bullet_id=bullets, status=st.sampled_from(["active", "retired", "candidate"]))
    def switch(self, bullet_id: str, status: Any) -> None:
        self.playbook.set_status(bullet_id, status, "because")
        self._note()

    @rule(data=st.data())
    def go_back(self, data: st.DataObject) -> None:
        version = data.draw(st.integers(0, len(self.versions) - 1))
        rollback(self.playbook, version)
        assert content(self.playbook) == self.versions[version]
        self._catch_up()

    @rule()
    def reopen(self) -> None:
        self.playbook.close()
        self._open()

    def _catch_up(self) -> None:
        """Versions that the curator, or a rollback, has added: one for each bullet it changed."""
        for row in self.playbook.history()[len(self.versions) - 1 :]:
            bullets = {entry[0]: entry for entry in self.versions[-1]}
            bullets.pop(row["bullet"], None)
            if row["status"] != "removed":
                bullets[row["bullet"]] = (row["bullet"], row["content"], row["status"])
            self.versions.append(sorted(bullets.values(), key=lambda entry: int(entry[0][1:])))
        assert content(self.playbook) == self.versions[-1]

    @invariant()
    def the_counters_equal_the_books(self) -> None:
        expected: dict[str, list[int]] = {}
        for decision_id in self.amounts:
            label = self.labels.get(decision_id)
            for bullet_id, selected, credited, verdict in self._shown(decision_id):
                tally = expected.setdefault(bullet_id, [0, 0, 0])
                tally[2] += selected == SHOWN
                if label and credited:
                    tally[0 if (verdict or "DECLINE") == label else 1] += 1
        for bullet in self.playbook:
            found = [bullet.helpful_count, bullet.harmful_count, bullet.times_selected]
            assert found == expected.get(bullet.id, [0, 0, 0]), bullet.id

    def _shown(self, decision_id: str) -> Iterator[tuple[str, int, int, str | None]]:
        with self.playbook.database.reading() as connection:
            rows = connection.exec_driver_sql(
                'SELECT bullet, selected, credited, verdict FROM selections WHERE "case" = '
                f"'{decision_id}'"
            ).all()
        for number, selected, credited, verdict in rows:
            yield f"b{number}", selected, credited, verdict

    @invariant()
    def the_ledger_is_clean(self) -> None:
        assert verify(self.playbook) == []


def run_machine(playbook_class: type[BulletPlaybook], new_url: Any, examples: int) -> None:
    class Machine(Bookkeeper):
        pass

    Machine.playbook_class, Machine.new_url = playbook_class, staticmethod(new_url)
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Machine,
        settings=settings(
            max_examples=examples * int(os.environ.get("ACE_SOAK", "1")),
            stateful_step_count=15,
            deadline=None,
            derandomize=True,
            database=None,
            report_multiple_bugs=False,
            phases=(Phase.generate,),  # shrinking would take longer than reading a failure
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.fixture
def sqlite_urls() -> Iterator[Any]:
    folder = tempfile.mkdtemp()
    yield lambda: f"sqlite:///{tempfile.mkdtemp(dir=folder)}/ace.db"
    shutil.rmtree(folder)


def test_the_counters_equal_replay_on_sqlite(sqlite_urls: Any) -> None:
    run_machine(BulletPlaybook, sqlite_urls, examples=6)


def test_the_counters_equal_replay_on_postgres(postgres: Server) -> None:
    run_machine(BulletPlaybook, postgres.url, examples=2)


class CountsWithoutTheKey(BulletPlaybook):
    """A planted bug: a decision delivered again is counted again."""

    def record_many(self, given: Sequence[DecisionAndLabel]) -> list[Recorded | PlaybookError]:
        results = super().record_many(given)
        for (record, _), found in zip(given, results, strict=True):
            if isinstance(found, Recorded) and not found.is_new_decision:
                with self.writing():
                    self.add_to_counters({s.bullet_number: (0, 0, 1) for s in record.shown})
        return results


class ForgetsToTakeBack(BulletPlaybook):
    """A planted bug: a changed label adds, and takes nothing back."""

    def label_many(self, labels: Any, *given: Any, **more: Any) -> dict[str, Recorded]:
        with self.writing():
            before = {i: self.decision(i)["label"] for i in labels}
            found = super().label_many(labels, *given, **more)
            for decision_id, recorded in found.items():
                if recorded.label_changed and before[decision_id]:
                    moved = {
                        n: (-min(h, 0), -min(f, 0), 0) for n, (h, f, _) in recorded.deltas.items()
                    }
                    self.add_to_counters(moved)
        return found


@pytest.mark.slow
@pytest.mark.parametrize("bug", [CountsWithoutTheKey, ForgetsToTakeBack])
def test_a_planted_bug_is_caught(bug: type[BulletPlaybook], sqlite_urls: Any) -> None:
    with pytest.raises(AssertionError):
        run_machine(bug, sqlite_urls, examples=60)
