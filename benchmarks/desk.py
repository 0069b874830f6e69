"""Time the pages of the desk over 100,000 decisions and 25 bullets, and the backtest of its lab.

A page may take 20 times the time of SELECT count(*) on the decisions, or 150 ms. A decision is made
before each look, so that no page is kept from the look before. The backtest over 100,000 labelled
cases may take three times the bare numpy comparison. Each is the best of several.
Run: python benchmarks/desk.py [DECISIONS]
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sqlalchemy as sa
from starlette.testclient import TestClient

from acegraph.graph.desk.app import create_desk
from acegraph.graph.desk.desk import Desk
from acegraph.graph.desk.pages.lab import other_cuts
from acegraph.graph.metrics.records import Cases
from acegraph.graph.operations.decide import decide_many
from acegraph.graph.server.service import Service, ServiceSettings
from acegraph.state import AceContext, BulletPlaybook, Case, Condition, Label
from acegraph.state.maintenance.people.users import User
from acegraph.state.run.context import settle_settings
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.decision import DecisionRecord, Shown

NODE, BULLETS, TIMES = AceContext().node, 25, 5
PAGES = (
    "/",
    "/playbook",
    "/playbook/b1",
    "/lab?rule=DECLINE+when+amount+%3E%3D+900",
    "/decisions",
    "/decisions?verdict=DECLINE&bullet=b3",
    "/decisions?q=field3+17.5",
    "/decisions/one?id=d100",
    "/review",
    "/versions?before=0&after=25",
    "/versions?before=25&after=12",
)


def best(
    work: Callable[[], object], times: int = TIMES, before: Callable[[], object] = lambda: None
) -> float:
    """The shortest time of several, in milliseconds; what is done before each does not count."""
    taken = []
    for _ in range(times):
        before()
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return 1000 * min(taken)


def filled(url: str, count: int) -> None:
    """A playbook with so many labelled decisions."""
    rng = np.random.default_rng(0)
    amounts, others = rng.lognormal(4, 1.5, count).round(2), rng.normal(50, 20, (count, 6)).round(1)
    fraud = rng.random(count) < 1 / (1 + np.exp(7 - amounts / 150))
    settings = settle_settings(AceContext())
    with BulletPlaybook(url) as book:
        for n in range(BULLETS):
            book.add_bullet(
                f"DECLINE when amount >= {300 + 20 * n} and field{n % 6} >= {30 + n}", NODE
            )
        for start in range(0, count, 2_000):
            batch = []
            for n in range(start, min(start + 2_000, count)):
                fields = {"amount": float(amounts[n])}
                fields |= {f"field{k}": float(v) for k, v in enumerate(others[n])}
                record = DecisionRecord(
                    f"d{n}",
                    NODE,
                    " ".join(f"{k} {v}" for k, v in fields.items()),
                    fields,
                    f"digest {n}",
                    "DECLINE" if amounts[n] >= 500 else "APPROVE",
                    float(rng.random()),
                    ("scorecard +0.1: no risk signal",),
                    settings,
                    BULLETS,
                    BULLETS,
                    tuple(Shown(int(b), bool(b % 2), "DECLINE") for b in {n % 25 + 1, n % 7 + 1}),
                )
                label = Label("DECLINE" if fraud[n] else "APPROVE", "chargeback")
                batch.append((record, label if n % 10 else None))
            book.record_many(batch)


def time_pages(count: int) -> list[str]:
    """The time of each page; gives those that are too slow."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'ace.db'}"
        filled(url, count)
        with BulletPlaybook(url) as book:
            desk = Desk(Service(ServiceSettings(), book), User("pat", "administrator"))
            with book.database.reading() as connection:
                counting = best(
                    lambda: connection.scalar(sa.text("SELECT count(*) FROM decisions"))
                )
            allowed = max(20 * counting, 150.0)
            client = TestClient(create_desk(desk), base_url="http://127.0.0.1")
            client.get(f"/desk/enter?token={desk.one_time_token()}")
            print(
                f"SELECT count(*) of {count:,}: {counting:.1f} ms; a page may take {allowed:.0f} ms"
            )
            slow: list[float] = []

            def decide() -> None:
                decide_many(book, [{"transaction": {"amount": 100.0, "field1": 3.0}}])

            for path in PAGES:
                assert client.get(f"/desk{path}").status_code == 200, path
                taken = best(lambda path=path: client.get(f"/desk{path}"), before=decide)
                slow += [path] if taken > allowed else []
                print(f"{taken:8.1f} ms  {path}" + ("  TOO SLOW" if taken > allowed else ""))
            return slow


def time_backtest(count: int) -> float:
    """How many times the bare comparison the backtest of the lab takes."""
    rng = np.random.default_rng(0)
    amounts, fraud = rng.lognormal(4, 1.5, count), rng.random(count) < 0.1
    cases = Cases(
        CaseTable(
            Case(str(n), {"amount": float(a)}, "DECLINE" if f else "APPROVE")
            for n, (a, f) in enumerate(zip(amounts, fraud, strict=True))
        )
    )
    rule, says_so = Condition.parse("DECLINE when amount >= 900"), amounts > 1000
    column, labels = cases.table.column("amount"), cases.table.fraud
    assert column is not None

    def bare() -> tuple[int, int]:
        fired = column.numbers >= 900
        return int((fired & labels).sum()), int((fired & ~labels).sum())

    def whole() -> object:
        return cases.tried(rule, rule.holds_over(cases.table), says_so)

    plain, ours = best(bare, 200), best(whole, 200)
    curve = best(lambda: other_cuts(cases, rule), 20)
    print(
        f"backtest of {count:,} cases: {ours:.3f} ms, {ours / plain:.1f} times the bare comparison "
        f"({plain:.3f} ms); the other cuts: {curve:.2f} ms"
    )
    return ours / plain


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    times = time_backtest(size)
    sys.exit(bool(time_pages(size)) or times > 3)
