"""The desk without a browser: who may see and do what, and what the actions leave behind."""

import re
import time
from dataclasses import replace
from datetime import UTC, datetime

import html5lib
import pytest
from desk_office import PLACE, Office
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from acegraph.graph.desk import mounts
from acegraph.graph.desk.app import PAGES
from acegraph.graph.desk.desk import Desk
from acegraph.graph.metrics.records import Standing
from acegraph.graph.operations.decide import decide_many
from acegraph.graph.operations.policies import propose
from acegraph.graph.server.app import create_service
from acegraph.graph.server.guard import Guard
from acegraph.graph.server.service import ServiceSettings
from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL, log_odds_over
from acegraph.state import Field, Task, verify
from acegraph.state.database.kept_values import keep, kept
from acegraph.state.ledger.lookups import label_history
from acegraph.state.maintenance.people import sessions
from acegraph.state.maintenance.people.users import ROLES, User, add_user, remove_user

ADDRESSES = [
    ("GET", "/"),
    ("GET", "/playbook"),
    ("GET", "/playbook/b1"),
    ("GET", "/lab?rule=DECLINE+when+amount+%3E%3D+200"),
    ("GET", "/decisions"),
    ("GET", "/decisions/one?id=d3"),
    ("GET", "/decisions/one?id=d3&replay=1"),
    ("GET", "/review"),
    ("GET", "/decisions/one?id=d19"),
    ("GET", "/versions?before=0&after=1"),
    ("GET", "/versions?before=2&after=1"),
]
ACTIONS = {
    "/playbook/b1": {"action": "retire", "status": "active", "why": "tried"},
    "/lab": {"rule": 'DECLINE when country is "NG" and amount < 60', "why": "tried"},
    "/review/answer": {"id": "d19", "verdict": "DECLINE", "why": "tried"},
    "/review/policy": {"at": "2026-01-01T00:00:00+00:00"},
    "/versions": {"after": "1", "before": "2", "why": "tried"},
}


def test_every_action_is_tried_here() -> None:
    posted = {page.path for page in PAGES if page.method == "POST"}
    assert posted == {re.sub("b1", "{id}", path) for path in ACTIONS}


def test_without_a_session_no_page_and_no_action_answers(office: Office) -> None:
    browser, before = office.browser(), office.book.clock
    for _, path in ADDRESSES:
        answer = browser.get(f"/desk{path}", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, "/desk/login")
    for path, fields in ACTIONS.items():
        assert browser.post(f"/desk{path}", data=fields).status_code == 401
    assert office.book.clock == before


def test_every_page_answers_a_viewer_who_can_change_nothing(office: Office) -> None:
    viewer = office.person("viewer")
    for _, path in ADDRESSES:
        page = viewer.get(path)
        html5lib.HTMLParser(strict=True).parse(page)  # raises where the HTML is not valid
        assert re.findall('<form method="post" action="([^"]*)"', page) == ["/desk/logout"]
    before = office.book.clock
    for path, fields in ACTIONS.items():
        status, text = viewer.post(path, **fields)
        assert (status, "needs the role" in text) == (403, True), path
    assert office.book.clock == before


def test_every_page_of_an_empty_playbook_says_what_to_do_next(empty_office: Office) -> None:
    admin = empty_office.person("administrator")
    for path in ("/", "/playbook", "/lab", "/decisions", "/review", "/versions"):
        page = admin.get(path)
        assert re.search(r"<code>acegraph|Write|appears here", page), path


def test_a_forged_action_is_refused(office: Office) -> None:
    ann = office.person("ann")
    fields = {**ACTIONS["/playbook/b1"], "form_token": ann.form_token}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": f"{PLACE}.evil.example"},
    ):
        answer = ann.client.post("/desk/playbook/b1", data=fields, headers=headers)
        assert (answer.status_code, "another site" in answer.text) == (403, True)
    bob = office.person("bob")
    for token in ("", "x", bob.form_token):
        status, text = ann.post("/playbook/b1", **{**fields, "form_token": token})
        assert (status, "forged" in text) == (403, True)
    assert office.book.get_bullet("b1").status == "active"


def test_retire_and_restore_are_signed_and_want_a_reason(office: Office) -> None:
    ann = office.person("ann")
    act = {"action": "retire", "status": "active"}
    assert ann.post("/playbook/b1", **act)[0] == 422
    status, page = ann.post("/playbook/b1", **act, why="blocks <b>good</b> customers")
    assert (status, "It no longer decides" in page) == (200, True)
    assert office.book.get_bullet("b1").status == "retired"
    assert "blocks &lt;b&gt;good&lt;/b&gt; customers" in page
    ann.post("/playbook/b1", action="restore", status="retired", why="a mistake")
    last = office.book.history("b1")[-1]
    assert (last["status"], last["reason"], last["source"]) == (
        "active",
        "a mistake",
        "analyst:ann",
    )


def test_a_proposed_rule_waits_for_an_approver_and_two_people_cannot_both_decide(
    office: Office,
) -> None:
    ann, bob, third = (office.person(name) for name in ("ann", "bob", "approver"))
    status, page = ann.post("/lab", rule="DECLINE when amount >= 160 and amount < 999", why="seen")
    assert (status, "waits until an approver" in page) == (200, True), page
    (bullet,) = [b for b in office.book if b.status == "candidate"]
    act = {"action": "approve", "status": "candidate", "why": "checked"}
    assert bob.post(f"/playbook/{bullet.id}", **act)[0] == 200
    assert office.book.get_bullet(bullet.id).status == "active"
    status, page = third.post(f"/playbook/{bullet.id}", **{**act, "action": "reject"})
    assert (status, "bob was faster" in page) == (409, True)
    assert office.book.get_bullet(bullet.id).status == "active"


def test_a_rule_that_approves_wants_somebody_else_and_one_that_declines_is_shown_to_them(
    office: Office,
) -> None:
    ann, bob, origin = office.person("ann"), office.person("bob"), {"author": "ann"}
    act = {"action": "approve", "status": "candidate", "why": "checked"}
    approves, declines = (
        office.book.add_bullet(text, "fraud_detection", status="candidate", origin=origin)
        for text in ("APPROVE when amount < 9", "DECLINE when amount >= 999")
    )
    status, page = ann.post(f"/playbook/{approves}", **act)
    assert (status, "ann wrote it" in page) == (422, True)
    assert ann.post(f"/playbook/{declines}", **act)[0] == 200
    statuses = [office.book.get_bullet(i).status for i in (approves, declines)]
    assert statuses == ["candidate", "active"]
    assert "let act by ann: “checked”" in bob.get(f"/playbook/{declines}")
    assert f">{declines}</a>" in bob.get("/review")
    assert bob.post(f"/playbook/{declines}", **{**act, "status": "active"})[0] == 200
    assert f">{declines}</a>" not in bob.get("/review")


def test_a_rule_that_the_gate_refuses_is_not_added_and_the_reason_is_told(office: Office) -> None:
    status, page = office.person("ann").post("/lab", rule="APPROVE when amount >= 300", why="x")
    assert (status, "The gate refused it" in page) == (422, True)


def test_a_question_is_answered_once_and_its_reason_is_kept(office: Office) -> None:
    ann, bob = office.person("ann"), office.person("bob")
    assert 'href="/desk/decisions/one?id=d19">Look at it' in bob.get("/review")
    status, _ = ann.post("/review/answer", id="d19", verdict="DECLINE", why="denied by phone")
    assert status == 200
    (said,) = label_history(office.book.database, "d19")
    assert (said.label, said.source, said.why) == ("DECLINE", "analyst:ann", "denied by phone")
    assert "denied by phone" in bob.get("/decisions/one?id=d19")
    assert verify(office.book) == []
    assert (
        "first answer stands" in bob.post("/review/answer", id="d19", verdict="APPROVE", why="k")[1]
    )


def test_a_looser_policy_is_shown_to_a_second_person_who_approves_it(office: Office) -> None:
    propose(office.book, "fraud_detection", {"explore": 0.02}, "ann", "labels of declines")
    ann, bob = office.person("ann"), office.person("bob")
    page = bob.get("/review")
    assert re.search("explore <span[^>]*>more risk</span></dt><dd>as usual → 0.02", page)
    at = re.findall('name="at" value="([^"]*)"', page)[0]
    status, page = ann.post("/review/policy", at=at)
    assert (status, "ann proposed it and cannot approve it" in page) == (422, True)
    assert "has changed meanwhile" in bob.post("/review/policy", at="before")[1]
    assert office.book.policy().explore == 0.0
    assert bob.post("/review/policy", at=at)[0] == 200
    assert office.book.policy().explore == 0.02
    assert office.book.declarations("policy", "fraud_detection")[-1]["approved_by"] == "bob"


def test_a_rollback_is_previewed_made_and_undone(office: Office) -> None:
    bob = office.person("bob")
    page = bob.get("/versions?before=2&after=1")
    assert re.search(r'Approve instead</h2>\s*<p class="figure"><data value="\d', page)
    status, _ = bob.post("/versions", after="1", before="2", why="too strict")
    assert (status, office.book.get_bullet("b2").status) == (200, "removed")
    status, page = bob.post("/versions", after="2", before="2", why="late")
    assert (status, "has changed meanwhile" in page) == (409, True)
    bob.post("/versions", after="2", before="3", why="it was fine")
    assert office.book.get_bullet("b2").status == "active"


def test_what_if_tells_another_verdict_and_stores_nothing(office: Office) -> None:
    viewer, before = office.person("viewer"), office.book.clock
    high = viewer.get("/decisions/one?id=d1&f.amount=900&f.country=NG")
    low = viewer.get("/decisions/one?id=d1&f.amount=5&f.country=FR")
    decided = [
        re.findall(r'role="status">\s*<p><span class="tag (\w+)', page) for page in (high, low)
    ]
    assert decided == [["decline"], ["approve"]]
    for page in (high, viewer.get("/decisions/one?id=d15")):
        assert re.search(r"\nb1 +\+\d\.\d\d [ |]*█.*\n(b2.*\n)?sum .*\nlimit ", page)
    assert office.book.clock == before


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=d12", ["d12"]),
        ("q=amount:+330", ["d11"]),
        ("label=fraud", ["d9", "d8"]),
        ("verdict=DECLINE&label=honest&q=d7", ["d7"]),
        ("bullet=b1&label=none&until=2000-01-01", []),
        ("bullet=zz", []),
    ],
)
def test_decisions_are_found_by_id_words_verdict_bullet_and_time(
    office: Office, query: str, found: list[str]
) -> None:
    page = office.person("viewer").get(f"/decisions?{query}")
    assert re.findall(r'<th scope="row"><a [^>]*>(\w+)</a>', page) == found


def test_a_session_is_new_at_each_login_and_ends(office: Office) -> None:
    browser, entry = office.browser(), {"token": office.tokens["ann"]}
    headers = {"Origin": PLACE}
    browser.cookies.set("acegraph_desk", "planted", domain="127.0.0.1", path="/desk/")
    browser.post("/desk/login", data=entry, headers=headers)
    first = browser.cookies.get("acegraph_desk", path="/desk/", domain="127.0.0.1")
    ann = office.person("ann")
    second = ann.client.cookies["acegraph_desk"]
    assert len({"planted", first, second}) == 3
    assert ann.post("/logout")[0] == 200
    ann.client.cookies.set("acegraph_desk", second, domain="127.0.0.1", path="/desk/")
    assert ann.client.get("/desk/", follow_redirects=False).status_code == 303


def test_a_session_ends_by_age_by_idleness_and_with_its_user(office: Office) -> None:
    database = office.book.database
    at = time.time()
    for began, used in ((at - sessions.LONGEST_SECONDS, at), (at, at - sessions.IDLE_SECONDS)):
        session = sessions.begin_session(database, User("ann", "approver"))
        (key,) = [
            key for key in kept(database, "session:") if sessions._key(session.token)[8:] == key
        ]
        keep(
            database,
            f"session:{key}",
            {**kept(database, "session:")[key], "began": began, "used": used},
        )
        assert sessions.find_session(database, session.token) is None
    session = sessions.begin_session(database, User("ann", "approver"))
    add_user(database, "ann", "viewer")
    assert sessions.find_session(database, session.token) is None
    session = sessions.begin_session(database, User("bob", "approver"))
    remove_user(database, "bob")
    assert sessions.find_session(database, session.token) is None


def test_the_one_time_address_lets_its_owner_in_once_and_only_on_this_machine(
    office: Office,
) -> None:
    office.desk = Desk(office.desk.service, User("pat", "administrator"))
    token = office.desk.one_time_token()
    browser = office.browser()
    assert browser.get("/desk/enter?token=wrong").status_code == 401
    assert "pat" in browser.get(f"/desk/enter?token={token}").text
    assert office.browser().get(f"/desk/enter?token={token}").status_code == 401
    rebound = browser.get("/desk/", headers={"Host": "evil.example"})
    assert rebound.status_code == 403


def test_every_answer_forbids_foreign_scripts_frames_and_caches(office: Office) -> None:
    answer = office.person("viewer").client.get("/desk/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-store"
    cookie = office.browser().post(
        "/desk/login",
        data={"token": office.tokens["ann"]},
        headers={"Origin": PLACE},
        follow_redirects=False,
    )
    assert re.search("HttpOnly.*SameSite=lax", cookie.headers["set-cookie"], re.IGNORECASE)


def test_the_service_has_the_desk_behind_the_guard_and_shares_its_users(office: Office) -> None:
    app = create_service(ServiceSettings(), office.book, [Middleware(Guard)], mounts)
    with TestClient(app, base_url=PLACE) as client:
        assert client.get("/desk").url.path == "/desk/login"
        entry = {"token": office.tokens["viewer"]}
        assert "Overview" in client.post("/desk/login", data=entry, headers={"Origin": PLACE}).text
        bearer = {"Authorization": f"Bearer {office.tokens['viewer']}"}
        assert client.get("/playbook", headers=bearer).json()["version"] == office.book.version


def test_scripts_and_styles_are_small(office: Office) -> None:
    browser = office.browser()
    names = ("htmx.min.js", "desk.js", "desk.css")
    sizes = [len(browser.get(f"/desk/static/{name}").content) for name in names]
    assert sum(sizes) < 150_000


def test_roles_are_those_of_the_service() -> None:
    assert {page.role for page in PAGES} <= set(ROLES)


def test_a_rule_blocks_whom_the_playbook_declines_because_of_it(office: Office) -> None:
    broad = office.book.add_bullet("DECLINE when amount >= 5", "fraud_detection")
    office.book.set_weights({broad: 0.05})
    desk = office.desk
    table, rules, scale = desk.cases().table, desk.ruleset().rules, desk.ruleset().scale
    page = office.person("viewer").get("/playbook?sort=number")
    rows = re.findall(r'playbook/(b\d+)"|<td class="num"><data value="(\d+)"', page)
    shown = {"".join(rows[n]): "".join(rows[n + 2]) for n in range(len(rows) - 2) if rows[n][0]}
    assert broad in shown
    for rule in rules:
        others = [other for other in rules if other is not rule]
        declined, without = (
            scale.declines(log_odds_over(table, some), {}) for some in (rules, others)
        )
        if rule.id in shown:
            assert int(shown[rule.id]) == int((declined & ~without & ~table.fraud).sum())
    assert int(shown[broad]) < 5, "it fires on nearly all good payments, and changes hardly any"


def test_evidence_and_origin_are_told_in_words_and_the_record_stays_behind(office: Office) -> None:
    evidence = {
        "cases": 399, "false_positive_rate": 0.0125, "fires": 51, "gain": 7.070648,
        "p_chance": 0.00001, "precision": 0.980392, "precision_high": 0.996,
        "precision_low": 0.896, "recall": 0.256281, "right": 50,
    }  # fmt: skip
    origin = {"author": NO_LANGUAGE_MODEL, "decision": "d9", "label_source": "label"}
    rule = office.book.add_bullet(
        "DECLINE when amount >= 222", "fraud_detection", evidence=evidence, origin=origin
    )
    page = office.person("viewer").get(f"/playbook/{rule}")
    open_text = re.sub("<details>.*?</details>|<[^>]*>", "", page, flags=re.DOTALL)
    for raw in ("p_chance", "p chance", "precision", "recall", "false positive", "label_source"):
        assert raw not in open_text
    for words in ("50 of 51", "98.0%", "1 time in 100,000", "beyond doubt", "1.2%"):
        assert words in open_text
    assert NO_LANGUAGE_MODEL in open_text
    assert '"p_chance"' in page


def test_the_reasons_of_a_decision_lead_to_their_rules(office: Office) -> None:
    viewer = office.person("viewer")
    page = viewer.get("/decisions/one?id=d19&f.amount=900&f.country=NG")
    assert re.search(r'<li><a href="/desk/playbook/b1">b1</a>: DECLINE when .*; \+\d', page)


def test_the_record_of_a_rule_says_what_is_counted(office: Office) -> None:
    viewer, rule = office.person("viewer"), office.book.get_bullet("b1")
    known = rule.helpful_count + rule.harmful_count
    assert known
    table, page = (re.sub("<[^>]*>", "", viewer.get(f"/playbook{end}")) for end in ("", "/b1"))
    assert "in which the rule had a part and whose outcome is known" in table
    assert f"{rule.helpful_count} of {known}" in table
    newest = Standing.of(rule, office.desk.cases()).last_right[:10]
    assert f"last {newest}" in table
    assert f"last on {newest}" in page
    assert f"Right in {rule.helpful_count} of the {known} decisions in which it had a part" in page


def test_a_graded_rule_is_drawn_with_its_cuts_and_points(office: Office) -> None:
    name = office.book.add_bullet(
        "DECLINE by amount: 0, from 120 +0.5, from 250 +2", office.desk.node
    )
    page = office.person("viewer").get(f"/playbook/{name}")
    drawn = page.partition('class="curve"')[2].partition("</svg>")[0]
    assert re.findall(r">([^<>]+)</text>", drawn) == ["0", "+0.5", "120", "+2", "250"]
    assert 'class="curve"' not in office.person("viewer").get("/playbook/b1")


def test_rules_are_shown_with_what_they_do_in_groups_of_protected_fields(office: Office) -> None:
    viewer = office.person("viewer")
    assert "which is protected" not in viewer.get("/playbook/b1")
    task = office.book.task()
    fields = [
        replace(one, role="protected") if one.name == "country" else one for one in task.fields
    ]
    office.book.set_task(replace(task, fields=tuple(fields)), retire=True)
    for path in ("/playbook/b1", "/lab?rule=DECLINE+when+amount+%3E%3D+250"):
        told = " ".join(re.sub("<[^>]*>", " ", viewer.get(path)).split())
        assert "By country, which is protected" in told, told
        assert re.search(r"NG \d+ of \d+ \d+.\d% \d+ of \d+", told)


def test_decisions_are_listed_and_found_by_the_time_of_the_payment(empty_office: Office) -> None:
    book, viewer = empty_office.book, empty_office.person("viewer")
    book.set_task(Task("shop", (Field("paid_at", "time", "time"), Field("amount", "number"))))
    book.add_bullet("DECLINE when amount >= 250", empty_office.desk.node)
    days = {"march": "2026-03-05 10:00", "july": "2026-07-02", "never": None}
    given = [
        {"transaction": {"amount": 9, "paid_at": day}, "decision_id": name}
        for name, day in days.items()
    ]
    assert [one["decision"] for one in decide_many(book, given)] == ["APPROVE"] * 3  # type: ignore[arg-type,index]
    page = viewer.get("/decisions")
    shown = re.findall(r'<td class="when"><time [^>]*>(.{10})', page)
    assert shown == [str(datetime.now(UTC).date()), "2026-07-02", "2026-03-05"]
    found = viewer.get("/decisions?since=2026-03-01&until=2026-03-31")
    assert re.findall(r'<th scope="row"><a [^>]*>(\w+)</a>', found) == ["march"]


def test_a_rule_that_waits_says_what_it_would_change(office: Office) -> None:
    rule = "DECLINE when amount >= 60"
    name = office.book.add_bullet(rule, office.desk.node, status="candidate", weight=9.0)
    page = " ".join(
        re.sub("<[^>]*>", " ", office.person("viewer").get(f"/playbook/{name}")).split()
    )
    cases, before = office.desk.cases(), office.desk.ruleset()
    would = cases.declined(replace(before, rules=(*before.rules, office.book.get_bullet(name))))
    turned = would & ~cases.declined(before)
    for kind in (cases.fraud, cases.honest):
        assert f"If it acts, {int((turned & kind).sum())} more of them are answered DECLINE" in page
    assert (turned & cases.honest).any()
