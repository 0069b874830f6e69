"""A small playbook with decisions and people, a desk over it, and browsers without a screen."""

from dataclasses import dataclass, field

from desk_playbooks import NODE
from starlette.testclient import TestClient

from acegraph.graph.desk.app import create_desk
from acegraph.graph.desk.desk import Desk
from acegraph.graph.operations.decide import decide_many
from acegraph.state import AceContext, BulletPlaybook, Case, Label

PLACE = "http://127.0.0.1"


@dataclass
class Person:
    """Somebody with a browser."""

    name: str
    client: TestClient
    form_token: str = field(default="")

    def get(self, path: str, **options: str) -> str:
        answer = self.client.get(f"/desk{path}", headers=options)
        assert answer.status_code == 200, answer.text
        return answer.text

    def post(self, path: str, **fields: str) -> "tuple[int, str]":
        sent = {"form_token": self.form_token, **fields}
        answer = self.client.post(f"/desk{path}", data=sent, headers={"Origin": PLACE})
        return answer.status_code, answer.text


@dataclass
class Office:
    """A desk, and the people who may use it."""

    desk: Desk
    tokens: dict[str, str]
    book: BulletPlaybook

    def browser(self) -> TestClient:
        return TestClient(create_desk(self.desk), base_url=PLACE)

    def person(self, name: str) -> Person:
        client = self.browser()
        entered = client.post(
            "/desk/login", data={"token": self.tokens[name]}, headers={"Origin": PLACE}
        )
        assert entered.status_code == 200, entered.text
        token = entered.text.partition('name="form_token" value="')[2].partition('"')[0]
        return Person(name, client, token)


def fill(book: BulletPlaybook) -> None:
    """Twenty decisions, ten of them labelled, two rules, and a payment that waits."""
    cases = [
        Case(f"h{n}", {"amount": 10.0 * n, "country": "NG" if n % 3 else "FR"}, label)
        for n in range(40)
        for label in ["DECLINE" if n >= 25 or n == 5 else "APPROVE"]
    ]
    book.remember(cases, NODE)
    book.add_bullet("DECLINE when amount >= 250", NODE)
    book.add_bullet('DECLINE when amount >= 100 and country is "NG"', NODE, "online")
    decide_many(
        book,
        [
            {"transaction": {"amount": 30 * n, "country": "NG"}, "decision_id": f"d{n}"}
            for n in range(20)
        ],
        AceContext(policy={"explore": 1.0}),
    )
    for n in range(10):
        book.label(f"d{n}", Label("DECLINE" if n >= 8 else "APPROVE", "chargeback"))
