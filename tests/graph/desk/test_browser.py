"""The desk in a real browser. All of it runs with `make test-desk`, some of it with `make test`."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copy
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx
import pytest

pytest.importorskip("playwright", reason="the desk is driven with playwright (pip install it)")

from desk_playbooks import NODE, demo_playbook
from desk_server import CHROMIUM, PAGES, Looker, Served, chromium, served
from injections import STRINGS
from playwright.sync_api import expect

from acegraph.graph.operations.decide import decide_many
from acegraph.state import AceContext, BulletPlaybook, verify
from acegraph.state.errors import AceError, InvalidInput
from acegraph.state.maintenance.people.users import add_user

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser: apt-get install chromium (make test-desk)"
)
whole = pytest.mark.skipif(
    "ACE_DESK" not in os.environ, reason="a longer test of the desk: make test-desk"
)
Built = tuple[Path, dict[str, str]]
GENEROUS = 300_000


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def demo(empty: Built) -> Built:
    """The playbook of the demo, with people."""
    file = empty[0].with_name("demo.db")
    copy(empty[0], file)
    with BulletPlaybook(f"sqlite:///{file}") as book:
        demo_playbook(book)
    return file, empty[1]


def served_copy(built: Built, folder: Path) -> Iterator[Served]:
    copy(built[0], folder / "ace.db")
    with served(f"sqlite:///{folder / 'ace.db'}") as one:
        yield one


@pytest.fixture
def desk(filled: Built, tmp_path: Path) -> Iterator[Served]:
    yield from served_copy(filled, tmp_path)


@pytest.fixture
def demo_desk(demo: Built, tmp_path: Path) -> Iterator[Served]:
    yield from served_copy(demo, tmp_path)


@pytest.fixture
def empty_desk(empty: Built, tmp_path: Path) -> Iterator[Served]:
    yield from served_copy(empty, tmp_path)


DEMO = pytest.param("demo_desk", marks=[whole, pytest.mark.xdist_group("demo")])
"""One worker makes the playbook of the demo, and has all tests of it."""
BOTH = pytest.mark.parametrize("kind", ["desk", DEMO])


@BOTH
def test_a_newcomer_finds_the_rule_that_blocks_most_good_customers_retires_it_and_undoes_that(
    browser: "Browser", kind: str, request: pytest.FixtureRequest
) -> None:
    desk: Served = request.getfixturevalue(kind)
    pat = Looker(browser, desk)
    page = pat.page
    page.click("text=Which rules block them")
    assert "Good payments blocked" in page.locator("th[aria-sort=descending]").inner_text()
    blocked = [int(t) for t in page.locator("tbody td:nth-child(3)").all_inner_texts() if t != "–"]
    assert blocked == sorted(blocked, reverse=True)
    page.click("tbody tr:first-child th a")
    worst = page.url.rpartition("/")[2]
    page.fill("#why", "blocks too many good customers")
    pat.press("Retire")
    assert "It no longer decides" in page.locator("[role=status]").inner_text()
    assert desk.book.get_bullet(worst).status == "retired"
    page.fill("#why", "a trial only")
    pat.press("Restore")
    assert desk.book.get_bullet(worst).status == "active"
    assert [row["source"] for row in desk.book.history(worst)[-2:]] == ["analyst:pat"] * 2
    assert pat.is_unharmed()
    pat.close()


@BOTH
def test_the_lab_tries_a_rule_while_it_is_typed(
    browser: "Browser", kind: str, request: pytest.FixtureRequest
) -> None:
    desk: Served = request.getfixturevalue(kind)
    pat = Looker(browser, desk)
    page = pat.go("/lab")
    assert "amount" in page.locator("#rule-hint code").all_inner_texts()
    page.fill("#rule", "DECLINE when amount >= 100")
    page.wait_for_selector("text=Frauds it would have caught")
    first = page.locator(".figure.fraud").inner_text()
    page.fill("#rule", "DECLINE when amount >= 330")
    expect(page.locator(".figure.fraud")).not_to_have_text(first, timeout=GENEROUS)
    assert page.locator("tr.here").count() == 1
    assert pat.is_unharmed()
    pat.close()


@whole
@pytest.mark.parametrize("kind", ["empty_desk", "desk", DEMO])
def test_no_page_has_a_violation_of_accessibility_and_none_is_too_wide(
    browser: "Browser", kind: str, request: pytest.FixtureRequest
) -> None:
    desk: Served = request.getfixturevalue(kind)
    pat = Looker(browser, desk)
    known = desk.desk.decisions().ids
    one = quote(known[-1], safe="") if known else ""
    of_one = [f"/decisions/one?id={one}&f.amount=5", f"/decisions/one?id={one}&replay=1"]
    newest = desk.book.version
    of_one += ["/playbook/b1", f"/versions?before={newest}&after=1"]
    for path in (*PAGES, *(of_one if known else ())):
        pat.go(path)
        for width in (375, 1920, 1280):
            pat.page.set_viewport_size({"width": width, "height": 900})
            assert pat.is_unharmed(), (path, width, pat.complaints)
        assert pat.violations() == [], path
        pat.page.emulate_media(color_scheme="dark")  # only colours differ
        assert pat.violations("color-contrast", "link-in-text-block") == [], (path, "dark")
        pat.page.emulate_media(color_scheme="light")
    pat.close()


@whole
def test_two_people_propose_approve_and_collide(
    browser: "Browser", desk: Served, filled: Built
) -> None:
    ann, bob = (Looker(browser, desk, filled[1][name]) for name in ("ann", "bob"))
    page = ann.go("/lab?rule=APPROVE+when+amount+%3C+150+and+amount+%3E%3D+20")
    page.fill("#why", "seen twice this week")
    ann.press("Propose")
    there = page.url.partition("/desk")[2].partition("?")[0]
    bullet = there.rpartition("/")[2]
    page.fill("#why", "I like it")
    ann.press("Approve")
    assert "ann wrote it and cannot approve" in page.locator("[role=alert]").inner_text()
    bob.go(there)
    third = Looker(browser, desk, filled[1]["approver"])
    third.go(there)
    bob.page.fill("#why", "checked against last month")
    bob.press("Approve")
    assert desk.book.get_bullet(bullet).status == "active"
    third.page.fill("#why", "no")
    third.press("Reject")
    assert "bob was faster" in third.page.locator("[role=alert]").inner_text()
    assert desk.book.get_bullet(bullet).status == "active"
    for one in (ann, bob, third):
        one.close()


@whole
def test_a_question_is_answered_with_keys(browser: "Browser", desk: Served, filled: Built) -> None:
    ann = Looker(browser, desk, filled[1]["ann"])
    ann.go("/review").click("text=Look at it >> nth=0")
    taken = ann.page.locator("h1").inner_text().split()[-1]
    ann.page.fill("#why", "the customer denies it")
    ann.page.keyboard.press("Alt+d")
    ann.page.wait_for_selector("text=Answer kept.")
    ann.go(f"/decisions/one?id={taken}")
    assert "the customer denies it" in ann.page.inner_text("main")
    assert verify(desk.book) == []
    ann.close()


@whole
def test_a_decision_is_found_replayed_and_asked_what_if(browser: "Browser", desk: Served) -> None:
    pat = Looker(browser, desk)
    page = pat.go("/decisions")
    page.fill("#q", "d7")
    pat.press("Find")
    page.click("tbody >> text=d7")
    page.click("text=Replay it")
    page.wait_for_selector("text=Reproduced")
    assert page.locator("ol.stages").count() == 2
    page.fill("#what-if [name='f.amount']", "900")
    page.click("#what-if button")
    page.wait_for_selector(".verdict-box .tag.decline")
    assert pat.is_unharmed()
    pat.close()


@whole
@BOTH
def test_a_rollback_is_previewed_made_and_undone(
    browser: "Browser", kind: str, request: pytest.FixtureRequest
) -> None:
    desk: Served = request.getfixturevalue(kind)
    pat = Looker(browser, desk)
    before = {b.id: b.status for b in desk.book}
    newest = desk.book.version
    page = pat.go(f"/versions?before={newest}&after={newest - 1}")
    assert page.locator("text=Decline instead").count() == 1
    page.fill("#why", "a trial")
    page.click("main form.stack button")
    assert {b.id: b.status for b in desk.book} != before
    page = pat.go(f"/versions?before={newest + 1}&after={newest}")
    page.fill("#why", "undone")
    page.click("main form.stack button")
    assert {b.id: b.status for b in desk.book} == before
    pat.close()


@whole
def test_the_command_prints_an_address_that_lets_one_person_in_once(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "acegraph.graph.cli", "desk", "--port", "0", "--no-browser"]
    words += ["--who", "Pat O-Neil", "--playbook", f"sqlite:///{tmp_path / 'ace.db'}"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        assert address.startswith("http://127.0.0.1:")
        try:
            with httpx.Client(follow_redirects=True) as first, httpx.Client() as second:
                assert "Pat-O-Neil" in first.get(address, timeout=120).text
                assert second.get(address, timeout=120).status_code == 401
        finally:
            process.terminate()


@whole
def test_pages_can_be_read_without_javascript(browser: "Browser", desk: Served) -> None:
    pat = Looker(browser, desk, java_script_enabled=False)
    page = pat.go("/lab")
    page.fill("#rule", "DECLINE when amount >= 330")
    pat.press("Try")
    assert page.locator(".figure.fraud").count() == 1
    for path in PAGES:
        assert pat.go(path).locator("h1").count() == 1
    pat.close()


@whole
def test_the_keyboard_alone_reaches_the_content_and_every_page(
    browser: "Browser", desk: Served
) -> None:
    pat = Looker(browser, desk)
    page = pat.go("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.focus("nav >> text=Playbook")
    page.keyboard.press("Enter")
    page.wait_for_url("**/playbook")
    pat.close()


@whole
@pytest.mark.parametrize("part", range(3))
def test_nothing_that_a_stranger_wrote_runs_or_breaks_a_page(
    browser: "Browser", empty_desk: Served, part: int
) -> None:
    strings = STRINGS[part::3]  # workers share them
    book, context = empty_desk.book, AceContext(policy={"explore": 1.0})
    for n, text in enumerate(strings):
        with pytest.raises(InvalidInput):
            add_user(book.database, text, "viewer")
        book.add_bullet(f"{text[:400]} {n}", NODE, status=("active", "candidate")[n % 2])
    fields = [{"amount": 900.0, "memo": t, "merchant": t, t[:60]: t} for t in strings]
    given = [
        {"transaction": one, "decision_id": f"{''.join(filter(str.isprintable, text))[:80]} {n}"}
        for n, (one, text) in enumerate(zip(fields, strings, strict=True))
    ]
    answers = decide_many(book, given, context)
    ids = [answer["decision_id"] for answer in answers if not isinstance(answer, AceError)]
    assert len(ids) == len(strings)
    pat = Looker(browser, empty_desk)
    for path in (*PAGES, "/playbook?status=candidate", "/versions?before=0&after=100"):
        pat.go(path)
        assert pat.is_unharmed(), (path, pat.complaints)
    start = len(empty_desk.desk.decisions())
    while start > 50:
        start -= 50
        pat.go(f"/decisions?from={start}")
        assert pat.is_unharmed(), pat.complaints
    for n, text in enumerate(strings):
        word = quote(text, safe="")
        for path in (
            f"/decisions/one?id={quote(ids[n], safe='')}",
            f"/playbook/b{n + 1}?done={word}",
            f"/decisions?q={word}&bullet={word}&since={word}",
            f"/lab?rule={word}",
            f"/decisions/one?id={quote(ids[n], safe='')}&replay=1",
        )[: 5 if n % 10 == 0 else 2]:
            pat.go(path)
            assert pat.is_unharmed(), (path, pat.complaints)
    pat.close()


@whole
def test_a_session_ends_in_the_browser_too(browser: "Browser", desk: Served, filled: Built) -> None:
    ann = Looker(browser, desk, filled[1]["viewer"])
    assert ann.go("/playbook/b1").locator("text=Retire").count() == 0
    ann.press("Log out")
    ann.page.wait_for_url("**/login")
    assert ann.go("/playbook").url.endswith("/login")
    ann.close()
