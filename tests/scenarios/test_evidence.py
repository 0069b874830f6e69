"""What labels said of an entity is the same in a file and in live decisions, and follows them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from postgres import Server

from acegraph.graph import create_ace_graph
from acegraph.graph.data.derived import with_derived, with_evidence
from acegraph.state import AceContext, BulletPlaybook, verify
from acegraph.state.maintenance.erase import erase
from acegraph.state.task.field import Field
from acegraph.state.task.task import Derived, Task
from acegraph.state.values import APPROVE, DECLINE, JUDGE, Evidence, Label

NODE = AceContext().node
START = datetime(2051, 3, 1, tzinfo=UTC)
EVIDENCE = Evidence(usual=0.01, days=7, delay=2, weight=1)
TASK = Task(
    "terminals",
    (
        Field("paid_at", "time", "time"),
        Field("who", "category", "entity", entity="customer"),
        Field("where", "category", "entity", entity="terminal"),
    ),
    (
        Derived("terminal.evidence_to_usual", "evidence", ("where", "paid_at"), evidence=EVIDENCE),
        Derived("customer.evidence_to_usual", "evidence", ("who", "paid_at"), evidence=EVIDENCE),
    ),
)
RULE = "DECLINE when terminal.evidence_to_usual >= 20"
FROZEN = AceContext(learn=False)


def book(url: str | None = None) -> BulletPlaybook:
    """A playbook with a rule about what labels said of terminals."""
    playbook = BulletPlaybook(url)
    playbook.set_task(TASK, NODE, by="ann", reason="terminals")
    playbook.add_bullet(RULE, NODE)
    return playbook


def pay(playbook: BulletPlaybook, number: int, hours: float, who: str, where: str) -> Any:
    """Decide on a payment; gives the result and what is stored of it."""
    at = (START + timedelta(hours=hours)).isoformat()
    graph = create_ace_graph(playbook=playbook).compile()
    payment = {"paid_at": at, "who": who, "where": where}
    graph.invoke({"transaction": payment, "decision_id": str(number)}, context=FROZEN)
    return playbook.decision(str(number))


def said(stored: Any, kind: str = "terminal") -> float:
    return float(stored["fields"][f"{kind}.evidence_to_usual"])


@st.composite
def streams(draw: Any) -> list[tuple[float, str, str, bool]]:
    """Payments in the order of time: hours since the start, who, where, and whether it is fraud."""
    hours, stream = 0.0, []
    for _ in range(draw(st.integers(3, 12))):
        hours += draw(st.sampled_from((0, 1, 24, 47, 48, 49, 24 * 7)))
        who, where = draw(st.sampled_from(("a", "b"))), draw(st.sampled_from(("T-1", "T-2")))
        stream.append((hours, who, where, draw(st.booleans())))
    return stream


def check_that_live_equals_file(
    url: str | None, stream: list[tuple[float, str, str, bool]]
) -> None:
    rows = [
        {"paid_at": (START + timedelta(hours=hours)).isoformat(), "who": who, "where": where}
        for hours, who, where, _ in stream
    ]
    labels = [DECLINE if is_fraud else APPROVE for *_, is_fraud in stream]
    wanted = with_derived(rows, TASK.sighting_columns, labels, TASK.evidence)
    with book(url) as playbook:
        for number, (hours, who, where, _) in enumerate(stream):
            for earlier, (then, *_) in enumerate(stream[:number]):
                if then + 48 <= hours:
                    playbook.label(str(earlier), Label(labels[earlier]))
            stored = pay(playbook, number, hours, who, where)
            for kind in ("terminal", "customer"):
                assert said(stored, kind) == wanted[number][f"{kind}.evidence_to_usual"]
        assert verify(playbook) == []


RANDOM = settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@settings(RANDOM, max_examples=12)
@given(streams())
def test_live_payments_have_the_evidence_of_a_file(stream: list[Any]) -> None:
    check_that_live_equals_file(None, stream)


@pytest.mark.slow
def test_they_have_it_on_postgres_too(postgres: Server) -> None:
    @settings(RANDOM, max_examples=4)
    @given(streams())
    def check(stream: list[Any]) -> None:
        check_that_live_equals_file(postgres.url(), stream)

    check()


def test_evidence_follows_labels_that_are_corrected_withdrawn_or_given_by_a_judge() -> None:
    with book() as playbook:
        pay(playbook, 0, 0, "a", "T-1")
        playbook.label("0", Label(DECLINE))
        bad = said(pay(playbook, 1, 72, "b", "T-1"))
        assert bad == EVIDENCE.of(1, 1)
        playbook.label("0", Label(APPROVE, "analyst:ann"))
        assert said(pay(playbook, 2, 73, "b", "T-1")) == EVIDENCE.of(1, 0)
        playbook.label("0", Label(DECLINE, "analyst:bob"))
        assert said(pay(playbook, 3, 74, "b", "T-1")) == bad
        playbook.withdraw("0", by="bob")
        assert said(pay(playbook, 4, 75, "b", "T-1")) == EVIDENCE.of(1, 0)
        playbook.label_many({"1": Label(DECLINE, JUDGE)})
        assert said(pay(playbook, 5, 200, "b", "T-1")) < 1
        assert verify(playbook) == []


def test_one_customer_has_one_voice_about_a_terminal() -> None:
    with book() as playbook:
        for number in range(6):
            pay(playbook, number, number, "a" if number < 5 else "b", "T-1")
            playbook.label(str(number), Label(DECLINE))
        assert said(pay(playbook, 6, 60, "c", "T-1")) == EVIDENCE.of(6, 2)
        assert said(pay(playbook, 7, 60, "a", "T-9"), "customer") == EVIDENCE.of(5, 5)


def test_whoever_is_erased_leaves_no_mark() -> None:
    with book() as playbook:
        pay(playbook, 0, 0, "a", "T-1")
        playbook.label("0", Label(DECLINE))
        erase(playbook, entity=("where", "T-1"))
        assert said(pay(playbook, 1, 72, "b", "T-1")) == 1
        assert verify(playbook) == []


def test_a_role_of_which_labels_tell_nothing_is_refused_by_name() -> None:
    rows, labels = [], []
    for number in range(3_000):
        at = (START + timedelta(hours=number)).isoformat()
        is_fraud = number % 30 == 0 or (number % 50 == 7 and number > 300)
        rows.append({"paid_at": at, "who": f"c{number % 97}", "where": f"T-{number % 50}"})
        labels.append(DECLINE if is_fraud else APPROVE)
    task, told = with_evidence(TASK, rows, labels, 2)
    assert list(task.evidence) == ["terminal"]
    assert (
        told[0]
        == "customer: what labels said of it tells nothing of its later rows, and is left out"
    )
    assert told[1].startswith("terminal.evidence_to_usual: how often labels called rows of ")
    assert with_evidence(TASK, rows, labels, None) == (TASK, [])
