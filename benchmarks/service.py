"""What a batch is worth: decisions a second by single invokes, and through the service's route.

Frozen decisions on SQLite and on PostgreSQL, by one process and by two, and with learning; the CPU
of a decision, and what share of the latency writers wait.

    python benchmarks/service.py
"""

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

import psycopg
from common import table
from postgres import running_server
from starlette.testclient import TestClient

from acegraph.graph import TrainingPipeline, create_ace_graph, generate_transactions
from acegraph.graph.server.app import create_service
from acegraph.graph.server.service import ServiceSettings
from acegraph.state import AceContext, BulletPlaybook, verify

BATCH = 250
Figures = dict[str, float]


def payments(name: str, count: int) -> list[dict[str, Any]]:
    """Generated payments under ids of their own."""
    examples = generate_transactions(count, seed=sum(name.encode()))
    return [
        {"transaction": dict(e.fields), "decision_id": f"{name}-{i}", "answer": e.answer}
        for i, e in enumerate(examples)
    ]


def trained(url: str) -> None:
    """A playbook that has learned from generated payments."""
    examples = [{"query": dict(e.fields), "answer": e.answer} for e in generate_transactions(400)]
    with BulletPlaybook(url) as playbook:
        TrainingPipeline(playbook).train_offline(examples)


def measured(count: int, work: Any) -> Figures:
    """What some work took, for each of its decisions."""
    cpu, began = time.process_time(), time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    return {"per_second": count / seconds, "cpu_ms": 1e3 * (time.process_time() - cpu) / count}


def invokes(url: str, name: str, count: int, learns: bool = False) -> Figures:
    """Single invokes of the graph."""
    with BulletPlaybook(url) as playbook:
        graph = create_ace_graph(playbook=playbook).compile()
        context = AceContext(learn=learns)
        given = payments(name, count + 5)
        for one in given:
            answer = one.pop("answer")
            if learns:
                one["ground_truth"] = answer
        for one in given[:5]:
            graph.invoke(one, context=context)
        return measured(count, lambda: [graph.invoke(one, context=context) for one in given[5:]])


def batches(url: str, name: str, count: int) -> Figures:
    """The route POST /decisions, without the network."""
    settings = ServiceSettings(learn=False, without_users=True)
    with (
        BulletPlaybook(url) as playbook,
        TestClient(create_service(settings, playbook), base_url="http://localhost") as client,
    ):
        given = payments(name, count + 5)
        for one in given:
            one.pop("answer")
        client.post("/decisions", json=given[:5])

        def work() -> None:
            for start in range(5, len(given), BATCH):
                answer = client.post("/decisions", json=given[start : start + BATCH])
                assert answer.status_code == 200

        return measured(count, work)


def together(pool: Pool, work: Any, url: str, name: str, processes: int, *given: Any) -> Figures:
    """The same work by several processes at once: rates add up, the rest is the mean."""
    calls = [(url, f"{name}{processes}-{i}", *given) for i in range(processes)]
    results = pool.starmap(work, calls, chunksize=1)
    mean = {key: sum(r[key] for r in results) / processes for key in results[0]}
    return {**mean, "per_second": sum(r["per_second"] for r in results)}


class Watcher(threading.Thread):
    """Looks a hundred times a second at what the sessions of a server do."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._end = threading.Event()
        self.looks = self.waiting = self.idle = 0
        """How often it looked; sessions that waited for a lock; looks that found one idle in a
        transaction that writes, that is, with the ledger locked."""

    def run(self) -> None:
        """Look until the end."""
        query = (
            "SELECT count(*) FILTER (WHERE wait_event_type = 'Lock'), count(*) FILTER (WHERE state"
            " LIKE 'idle in transaction%%' AND backend_xid IS NOT NULL) FROM pg_stat_activity"
        )
        with psycopg.connect(self._url, autocommit=True) as connection:
            while not self._end.wait(0.01):
                waiting, idle = connection.execute(query).fetchone() or (0, 0)
                self.looks += 1
                self.waiting += waiting
                self.idle += idle > 0

    def __enter__(self) -> "Watcher":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self.join()


def batch_and_single(pool: Pool, url: str, few: int, many: int, turns: range) -> dict[str, Figures]:
    """Frozen decisions of one process, by single invokes and in batches."""
    both: dict[str, list[Figures]] = {"single": [], "batch": []}
    for turn in turns:
        both["single"].append(together(pool, invokes, url, f"one{turn}", 1, few))
        both["batch"].append(together(pool, batches, url, f"batch{turn}", 1, many))
    return {name: _medians(figures) for name, figures in both.items()}


def lessons(pool: Pool, new_url: Callable[[], str], count: int, turns: range) -> list[Figures]:
    """The same number of lessons from the same start, by one process and by two."""
    by_processes: dict[int, list[Figures]] = {1: [], 2: []}
    for _ in turns:
        for processes, figures in by_processes.items():
            trained(url := new_url())
            each = count // processes
            figures.append(together(pool, invokes, url, "learn", processes, each, True))
            _verified(url)
    return [_medians(figures) for figures in by_processes.values()]


def measure(quick: bool) -> dict[str, Any]:
    """All figures; what is compared takes turns, so that a busy moment slows all alike."""
    few, many, turns = (60, 500, range(1)) if quick else (300, 3_000, range(3))
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server() as server,
        get_context("spawn").Pool(4) as pool,
    ):
        urls = {"SQLite": f"sqlite:///{folder}/ace.db", "PostgreSQL": server.url()}
        figures: dict[str, Any] = {}
        for name, url in urls.items():
            trained(url)
            figures[name] = batch_and_single(pool, url, few, many, turns)
        url = urls["PostgreSQL"]
        two = [together(pool, batches, url, f"two{turn}", 2, many) for turn in turns]
        figures["two frozen"] = _medians(two)
        figures["learning"], figures["two learning"] = lessons(pool, server.url, few, turns)
        with Watcher(url) as watcher:
            figures["four frozen"] = together(pool, batches, url, "four", 4, many // 2)
            figures["four learning"] = together(pool, invokes, url, "learn", 4, few // 4, True)
        figures["waiting share"] = watcher.waiting / max(4 * watcher.looks, 1)
        figures["idle share"] = watcher.idle / max(watcher.looks, 1)
        for url in urls.values():
            _verified(url)
    return figures


def main(quick: bool = False) -> dict[str, Any]:
    """Measure, print the tables, and return the figures."""
    figures = measure(quick)
    rows = [["", "single", "batch", "ratio", "single CPU ms", "batch CPU ms"]]
    for name in ("SQLite", "PostgreSQL"):
        one, many = figures[name]["single"], figures[name]["batch"]
        rates = [one["per_second"], many["per_second"], many["per_second"] / one["per_second"]]
        rows.append([name, *(f"{n:.2f}" for n in (*rates, one["cpu_ms"], many["cpu_ms"]))])
    table("Frozen decisions a second, by single invokes and in batches of 250", rows)
    frozen, learning = figures["PostgreSQL"]["batch"], figures["learning"]
    two, two_learning = figures["two frozen"], figures["two learning"]
    more = [
        ["two processes to one, frozen", two["per_second"] / frozen["per_second"]],
        ["two to one, learning", two_learning["per_second"] / learning["per_second"]],
        ["PostgreSQL's CPU to SQLite's, single", _cpu(figures, "single")],
        ["PostgreSQL's CPU to SQLite's, batch", _cpu(figures, "batch")],
        ["share of waiting for a lock, four processes", figures["waiting share"]],
        ["looks that found the ledger locked by a session that is idle", figures["idle share"]],
    ]
    table("On PostgreSQL", [[str(name), f"{value:.2f}"] for name, value in more])
    return figures


def _verified(url: str) -> None:
    with BulletPlaybook(url) as playbook:
        assert not verify(playbook)


def _medians(turns: Sequence[Figures]) -> Figures:
    return {key: median(turn[key] for turn in turns) for key in turns[0]}


def _cpu(figures: dict[str, Any], what: str) -> float:
    return float(figures["PostgreSQL"][what]["cpu_ms"] / figures["SQLite"][what]["cpu_ms"])


if __name__ == "__main__":
    main("--quick" in sys.argv)
