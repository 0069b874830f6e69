"""Tasks that are not payments: what they are is declared, and nothing else about them is known."""

import random
import re
from collections import Counter
from collections.abc import Callable
from urllib.parse import quote

import pytest
from desk_office import Office, Person

from acegraph.graph import create_ace_graph, create_fraud_tool
from acegraph.graph.desk.app import PAGES
from acegraph.graph.desk.desk import Desk
from acegraph.graph.operations.decide import decide_many
from acegraph.graph.operations.policies import propose
from acegraph.graph.server.service import Service, ServiceSettings
from acegraph.nodes.agent.prompt import Known, Opinion, agent_messages
from acegraph.nodes.judge.prompt import judge_messages
from acegraph.nodes.models.answers import in_answers
from acegraph.nodes.models.fence import Fence
from acegraph.nodes.reflector.prompt import Judged, reflector_messages
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.state import AceContext, AceInput, BulletPlaybook, Case, Field, Task, Transaction
from acegraph.state.maintenance.people.users import add_user
from acegraph.state.run.model_forms import DecisionForm, ReflectionForm, VerdictForm
from acegraph.state.values import render_fields
from acegraph.state.values.plain import Scalar

NODE = "fraud_detection"
SPAM = (
    "get a free phone today, click here now",
    "cheap watches with free shipping, click here",
    "you won a free prize, claim it now",
    "work from home and earn money fast, click here",
    "buy followers cheap, limited offer today",
    "free crypto bonus, send a small deposit now",
)
HONEST = (
    "thanks for the recipe, my family loved it",
    "does anybody know when the library opens",
    "the match yesterday was great to watch",
    "i planted tomatoes last week and they grow well",
    "our train was late again this morning",
    "which book would you read on a long trip",
)


def posts(seed: int) -> list[tuple[str, str]]:
    """120 posts of a forum, half of them spam."""
    rng = random.Random(seed)
    ends = ("", "!", " please", " everyone", " my friends", " really")
    half = [(rng.choice(SPAM) + rng.choice(ends), "DECLINE") for _ in range(60)]
    half += [(rng.choice(HONEST) + rng.choice(ends), "APPROVE") for _ in range(60)]
    rng.shuffle(half)
    return half


@pytest.mark.parametrize(
    ("task", "given"),
    [
        pytest.param(Task("posts"), str, id="sentence"),
        pytest.param(
            Task("posts", (Field("post", "text"),)),
            lambda text: {"post": text},
            id="field",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            None, lambda text: {"post": text}, id="nothing declared", marks=pytest.mark.slow
        ),
    ],
)
def test_spam_is_found_by_its_words(task: Task | None, given: Callable[[str], object]) -> None:
    playbook = BulletPlaybook(task=task)
    graph = create_ace_graph(playbook=playbook).compile()
    for text, label in posts(1):
        graph.invoke({"transaction": given(text), "ground_truth": label})
    later = Counter(
        (label, graph.invoke({"transaction": given(text)})["decision"]) for text, label in posts(2)
    )
    assert later["APPROVE", "APPROVE"] == 60
    assert later["DECLINE", "DECLINE"] >= 54
    rules = playbook.get_bullets_for_node(NODE)
    assert all(test.op == "mentions" for rule in rules for test in rule.condition.comparisons)


CLAIMS = Task(
    "claims",
    (
        Field("claim_value", "number", usual=True, least=0, unit="EUR"),
        Field("police_report", "flag"),
    ),
    answers=("SETTLE", "INVESTIGATE"),
    about="You examine claims of insured cars.",
)
FORUM = Task(
    "posts",
    (Field("text", "text"), Field("links", "number", least=0)),
    answers=("KEEP", "REMOVE"),
    about="You moderate a forum of gardeners.",
)
CREDIT = Task(
    "credit",
    (Field("delinquencies", "number", least=0), Field("debt_ratio", "number", least=0)),
    about="You decide on applications for a loan.",
)
EXAMPLES = {
    "claims": (CLAIMS, {"claim_value": 9500.0, "police_report": False}, "claim_value >= 5000"),
    "posts": (FORUM, {"text": "win a free phone", "links": 4.0}, "links >= 3"),
    "credit": (CREDIT, {"delinquencies": 4.0, "debt_ratio": 0.7}, "delinquencies >= 2"),
}
Example = tuple[BulletPlaybook, dict[str, Scalar]]
OTHER_DOMAIN = re.compile(
    r"\b(payments?|pays?|paid|cards?|fraud\w*|merchants?|transactions?|purchases?|customers?)\b",
    re.IGNORECASE,
)


@pytest.fixture(params=EXAMPLES)
def example(request: pytest.FixtureRequest) -> Example:
    """A playbook with labelled cases, a rule, and a decision `d1` by it."""
    task, case, test = EXAMPLES[request.param]
    playbook = BulletPlaybook(task=task)
    cases = [Case(f"h{n}", case, "DECLINE" if n % 5 else "APPROVE") for n in range(20)]
    playbook.remember(cases, NODE)
    playbook.add_bullet(f"DECLINE when {test}", NODE)
    given: AceInput = {
        "transaction": case,
        "decision_id": "d1",
        "ground_truth": task.answers[1].lower(),
    }
    decide_many(playbook, [given], AceContext(learn=True))
    return playbook, case


def test_a_model_is_told_of_no_other_domain(
    example: tuple[BulletPlaybook, dict[str, Scalar]],
) -> None:
    playbook, case = example
    task, bullets = playbook.task(), playbook.get_bullets_for_node(NODE)
    ruleset, text = Ruleset.of(playbook), render_fields(case)
    opinion = Opinion("DECLINE", ruleset.weigh(case).risk or 0.0, 0.5, 1)
    table = playbook.cases(NODE)
    judged = Judged(Transaction(text, case), "APPROVE", "DECLINE", "why", table)
    similar = [(past, 0.5) for past in list(table)[:2]]
    messages = [
        *agent_messages(text, bullets, Fence("d"), Known(case, opinion), task=task),
        *judge_messages(text, "APPROVE", Fence("d"), task=task),
        *reflector_messages(judged, similar, Fence("d")),
    ]
    forms = [
        in_answers(DecisionForm, task.answers),
        VerdictForm,
        in_answers(ReflectionForm, task.answers),
    ]
    tool = create_fraud_tool(create_ace_graph(playbook=playbook))
    described = [part["description"] for part in tool.args.values()]
    told = [str(message.content) for message in messages]
    told += [str(form.model_json_schema()) for form in forms]
    told += [tool.name, tool.description, *described]
    assert not [word for one in told for word in OTHER_DOMAIN.findall(one)]
    assert sum(task.about in one for one in told) == 4
    words = re.findall(r"\b(?:APPROVE|DECLINE)\b", "".join(told))
    assert not words or task.answers == ("APPROVE", "DECLINE")


def test_reasons_and_pages_tell_of_no_other_domain(
    example: tuple[BulletPlaybook, dict[str, Scalar]],
) -> None:
    playbook, case = example
    task, office = playbook.task(), office_over(playbook)
    reasons = playbook.decision("d1")["reasons"]
    assert reasons[0].startswith(f"b1: {task.answers[1]} when ")
    shown = {path: what_it_says(office.get(path)) for path in all_pages(playbook, case)}
    found = {path: OTHER_DOMAIN.findall(text) for path, text in shown.items()}
    assert not any(OTHER_DOMAIN.findall(reason) for reason in reasons)
    assert {path: words for path, words in found.items() if words} == {}
    if task.answers != ("APPROVE", "DECLINE"):
        stored = {path: re.findall("APPROVE|(?i:decline)", text) for path, text in shown.items()}
        assert {path: words for path, words in stored.items() if words} == {}
    for path in ("/", "/playbook/b1", "/decisions/one?id=d1", "/decisions/one?id=d2"):
        assert task.answers[1].lower() in shown[path].lower(), path


def all_pages(playbook: BulletPlaybook, case: dict[str, Scalar]) -> list[str]:
    """The addresses of every page, with what fills it."""
    playbook.add_bullet("some advice", NODE, status="candidate")
    decide_many(
        playbook, [{"transaction": case, "decision_id": "d2"}], AceContext(policy={"explore": 1.0})
    )
    playbook.set_status("b1", "retired", "tried", "analyst:ann")
    playbook.set_status("b1", "active", "tried", "analyst:ann")
    propose(playbook, NODE, {"explore": 0.02}, "ann", "labels are wanted")
    one = quote(playbook.get_bullet("b1").condition.render())
    gets = (page.path for page in PAGES if page.method == "GET")
    named = {"/decisions/one": "?id=d1", "/versions": "?before=0&after=1"}
    paths = [path + named.get(path, "") for path in gets]
    filled = [path.replace("{id}", "b1") for path in paths]
    more = [f"/decisions/one?id=d1&f.{next(iter(case))}=7", "/decisions/one?id=d1&replay=1"]
    more += ["/decisions/one?id=d2", f"/versions?before={playbook.version}&after=1"]
    return [*filled, f"/lab?rule={one}", *more, "/login"]


def what_it_says(page: str) -> str:
    """What a page says: its text, and what its attributes show or read out."""
    main = page.partition("<main")[2] or page
    read = re.findall(r'(?:title|placeholder|aria-label|data-insert)="([^"]*)"', main)
    return " ".join([re.sub(r"<[^>]*>", " ", main), *read])


def office_over(playbook: BulletPlaybook) -> Person:
    """The desk of a playbook, for somebody who may do everything."""
    tokens = {"pat": f"pat.{add_user(playbook.database, 'pat', 'administrator')}"}
    return Office(Desk(Service(ServiceSettings(), playbook)), tokens, playbook).person("pat")
