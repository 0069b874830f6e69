"""Several playbooks on one database, and several threads on one playbook."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from ledger_cases import NODE, record

from acegraph.graph import purge
from acegraph.nodes import Curator, HybridSelector
from acegraph.state import BulletPlaybook, Case, Label, erase, prune
from acegraph.state.values.verdict import JUDGE


@pytest.fixture
def pair(lasting_url: str) -> Iterator[tuple[BulletPlaybook, BulletPlaybook]]:
    """The same database, opened twice."""
    with BulletPlaybook(lasting_url) as one, BulletPlaybook(lasting_url) as other:
        yield one, other


class UndoneError(Exception):
    """Somebody's step failed."""


def add_and_undo(playbook: BulletPlaybook, text: str, node: str) -> None:
    with suppress(UndoneError), playbook.writing():
        playbook.add_bullet(text, node)
        raise UndoneError


def test_a_bullet_that_was_undone_leaves_nothing_behind(
    pair: tuple[BulletPlaybook, BulletPlaybook],
) -> None:
    one, other = pair
    one.add_bullet("DECLINE when amount > 5", NODE)
    assert one.view(NODE).size == other.view(NODE).size == 1
    add_and_undo(one, "DECLINE when amount > 1", NODE)
    assert other.add_bullet("APPROVE when vpn is false", "login") == "b2"
    assert [b.id for b in one.get_bullets_for_node(NODE)] == ["b1"]
    shown, _ = HybridSelector().select_bullets({"amount": 3}, NODE, one, decision_id="d")
    assert shown == []


def test_a_number_that_is_used_again_has_the_new_source(
    pair: tuple[BulletPlaybook, BulletPlaybook],
) -> None:
    one, other = pair
    add_and_undo(one, "DECLINE when hour < 3", NODE)
    assert one.view(NODE).size == 0
    add_and_undo(one, "DECLINE when hour < 3", NODE)
    other.add_bullet("DECLINE when hour < 3", NODE, "online")
    assert one.view(NODE).in_context("online").tolist() == [True]


def test_what_another_erased_or_pruned_is_evidence_no_more(
    pair: tuple[BulletPlaybook, BulletPlaybook],
) -> None:
    one, other = pair
    for name in ("x1", "x2", "x3"):
        one.record(record(name, amount=int(name[1])), Label("DECLINE"))
    assert len(one.cases(NODE)) == len(other.cases(NODE)) == 3
    erase(other, ["x1"])
    assert [case.id for case in one.cases(NODE)] == ["x2", "x3"]
    prune(other, "2099-01-01")
    assert len(one.cases(NODE)) == 0


def test_a_purge_that_leaves_an_opinion_is_noticed(
    pair: tuple[BulletPlaybook, BulletPlaybook],
) -> None:
    one, other = pair
    one.record(record("x1"), Label("DECLINE", JUDGE))
    one.label("x1", Label("APPROVE", "feed"))
    assert [case.id for case in other.cases(NODE)] == ["x1"]
    purge(one, "feed")
    assert len(one.cases(NODE)) == len(other.cases(NODE)) == 0


def test_writers_at_the_same_time_do_not_read_the_evidence_anew(
    pair: tuple[BulletPlaybook, BulletPlaybook], lasting_url: str
) -> None:
    """A label that comes with its decision is the newest, whoever else gives labels."""
    kept = [playbook.cases(NODE).shared for playbook in pair]

    def write(playbook: BulletPlaybook, name: str) -> None:
        for number in range(40):
            playbook.record(record(f"{name}{number}"), Label("DECLINE"))
            playbook.cases(NODE)

    threads = [threading.Thread(target=write, args=given) for given in zip(pair, "ab", strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with BulletPlaybook(lasting_url) as fresh:
        in_order = [case.id for case in fresh.cases(NODE)]
    assert len(in_order) == 80
    for playbook, shared in zip(pair, kept, strict=True):
        assert [case.id for case in playbook.cases(NODE)] == in_order
        assert playbook.cases(NODE).shared is shared  # of the table from the beginning


def test_late_labels_add_to_the_evidence_in_memory(
    pair: tuple[BulletPlaybook, BulletPlaybook], lasting_url: str
) -> None:
    kept = [playbook.cases(NODE).shared for playbook in pair]
    for number, playbook in enumerate(2 * pair):
        names = [f"{number}-{n}" for n in range(3)]
        playbook.record_many([(record(name), None) for name in names])
        playbook.label_many({name: Label("DECLINE") for name in reversed(names[1:])})
        playbook.record(record(names[0]), Label("DECLINE"))
    with BulletPlaybook(lasting_url) as fresh:
        in_order = [case.id for case in fresh.cases(NODE)]
    assert len(in_order) == 12
    for playbook, shared in zip(pair, kept, strict=True):
        assert [case.id for case in playbook.cases(NODE)] == in_order
        assert playbook.cases(NODE).shared is shared


def test_everybody_has_the_evidence_in_one_order(
    pair: tuple[BulletPlaybook, BulletPlaybook], lasting_url: str
) -> None:
    one, other = pair
    one.record(record("x1"), Label("DECLINE"))
    assert len(one.cases(NODE)) == len(other.cases(NODE)) == 1
    one.record(record("x2", amount=2), Label("DECLINE", "label", "2026-01-01"))
    one.record(record("x3", amount=3))
    one.label("x3", Label("DECLINE", "chargeback", "2026-01-02"))
    with BulletPlaybook(lasting_url) as fresh:
        for book in (one, other, fresh):
            assert [case.id for case in book.cases(NODE)] == ["x2", "x3", "x1"]


def test_a_case_of_another_node_is_read_anew(playbook: BulletPlaybook) -> None:
    given = record("x2")
    past = [Case("x1", {"amount": 1}, "APPROVE"), Case("x2", {}, "APPROVE", digest=given.digest)]
    playbook.remember(past, "login")
    assert [case.label for case in playbook.cases("login")] == ["APPROVE", "APPROVE"]
    playbook.record(given, Label("DECLINE"))
    assert [case.label for case in playbook.cases("login")] == ["APPROVE", "DECLINE"]


_OPENED_AT_ONCE = """
import os, sys, time
from acegraph.state import BulletPlaybook
failed = 0
for number in range(15):
    children, together = [], time.time() + 0.03
    for _ in range(4):
        child = os.fork()
        if not child:
            while time.time() < together:
                pass
            try:
                BulletPlaybook(f"sqlite:///{sys.argv[1]}/{number}.db").close()
            except Exception:
                os._exit(1)
            os._exit(0)
        children.append(child)
    failed += sum(os.waitpid(child, 0)[1] != 0 for child in children)
sys.exit(failed)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nobody forks here")
def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    code = ["-W", "ignore", "-c", _OPENED_AT_ONCE, str(tmp_path)]
    assert subprocess.run([sys.executable, *code], check=False).returncode == 0


_FORKED = """
import os, sys
from acegraph.state import BulletPlaybook, PlaybookError
playbook = BulletPlaybook(sys.argv[1])
playbook.add_bullet("DECLINE when amount >= 1", "node")
child = os.fork()
if not child:
    try:
        playbook.update_stats("b1", True)
    except PlaybookError as error:
        os._exit(7 if "before a fork" in str(error) else 1)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nobody forks here")
def test_a_forked_process_has_to_open_its_own(lasting_url: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", _FORKED, lasting_url]
    done = subprocess.run(command, check=False)
    assert done.returncode == 7


@pytest.mark.slow
def test_evidence_is_read_once_while_another_writes(
    pair: tuple[BulletPlaybook, BulletPlaybook],
) -> None:
    one, other = pair
    one.remember([Case(f"a{i}", {"amount": i}, "APPROVE") for i in range(30)], NODE)
    done = threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            other.record(record(f"b{number}", amount=number), Label("APPROVE"))
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for i in range(30):
            one.label(f"a{i}", Label("DECLINE", "chargeback"))  # the table is read anew
            one.cases(NODE)
            known = [case.id for case in one.cases(NODE)]
            assert len(known) == len(set(known))
    finally:
        done.set()
        writer.join()


@pytest.mark.slow
def test_rules_are_asked_while_others_are_added() -> None:
    playbook, curator, done = BulletPlaybook(), Curator(capacity=10_000), threading.Event()
    playbook.add_bullet("DECLINE when amount >= 1", NODE)
    view, failed = playbook.view(NODE), []

    def ask() -> None:
        try:
            while not done.is_set():
                view.holds({"amount": 5})
        except IndexError as error:
            failed.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    asking = [threading.Thread(target=ask) for _ in range(2)]
    try:
        for thread in asking:
            thread.start()
        for i in range(150):
            curator.merge_bullet(f"DECLINE when field_{i} >= 1", NODE, playbook)
    finally:
        done.set()
        for thread in asking:
            thread.join()
        sys.setswitchinterval(before)
    assert failed == []


def test_looking_for_missing_vectors_makes_no_room_for_them() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("Odd hours deserve a look", NODE)
    HybridSelector().select_bullets("pays at odd hours", NODE, playbook)
    model = HybridSelector().embedding.name
    playbook.add_bullet("New devices deserve a look", NODE)
    view = playbook.view(NODE)
    before = view._matrices[model].is_known
    assert view.lacking(model, view.in_context(None)).tolist() == [1]
    assert view._matrices[model].is_known is before
