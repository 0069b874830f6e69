"""A payment company in small: clients send decisions and labels to two services on one PostgreSQL,
while services are killed and the database is stopped.

Labels come late, twice and out of order; whoever got no answer sends the same again. Afterwards
everything acknowledged must be in the ledger, once, and metrics must equal counts in SQL. One of
the services is never killed: its memory must not grow. `python tests/support/service_soak.py
DECISIONS KILLS STOPS` is a shorter form: so many decisions with one kill a minute and so many stops
of the database, then so many kills as fast as services start.
"""

import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, Any

import httpx
import psutil
from postgres import Server, running_server

from acegraph.state import BulletPlaybook, verify

BATCH = 100
LATE = 3
"""Labels come so many batches after their decisions."""
_PATIENCE = 300
_MOST_GROWTH = 1.25
"""By so much more than after a third of the decisions a service may take at the end."""


def payment(number: int) -> dict[str, object]:
    """Every third payment is a fraud that the scorecard and the bullet recognise."""
    if number % 3 == 0:
        return {"amount": 1000 + number % 50, "hour": 3, "vpn": True, "account_age_days": 2}
    return {"amount": 10 + number % 50, "hour": 14, "vpn": False, "account_age_days": 900}


@dataclass
class Service:
    """One service process at a time; each goes on where the one before was killed."""

    url: str
    options: tuple[str, ...]
    port: int = 0
    log: IO[str] | None = None
    """Where its standard error goes; else nowhere."""
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start a process; it listens after some seconds."""
        words = [sys.executable, "-m", "acegraph.graph.cli", "serve", "--without-users"]
        words += ["--port", str(self.port), "--playbook", self.url, *self.options]
        log = self.log or subprocess.DEVNULL
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=log)

    def kill(self) -> None:
        """End it on the spot."""
        self.process.kill()
        self.process.wait()

    def is_ready(self) -> bool:
        """Whether it says so."""
        try:
            return httpx.get(f"{self.address}/ready", timeout=10).status_code == 200
        except httpx.HTTPError:
            return False

    def wait_until_ready(self) -> None:
        """Until it is ready."""
        end = time.monotonic() + _PATIENCE
        while not self.is_ready():
            if time.monotonic() > end:
                raise TimeoutError(f"the service was not ready within {_PATIENCE} s")
            time.sleep(0.2)

    def memory(self) -> float:
        """Resident memory in megabytes."""
        return psutil.Process(self.process.pid).memory_info().rss / 1e6


class Client(threading.Thread):
    """Sends its own decisions and their labels, each until it is acknowledged."""

    def __init__(
        self, name: str, services: list[Service], decisions: int, goes_on: threading.Event
    ) -> None:
        super().__init__()
        self.label, self.services, self.decisions = name, services, decisions
        self.goes_on = goes_on
        """While this is not set, it sends more than was asked for."""
        self.rng = random.Random(name)
        self.decided: set[str] = set()
        self.labelled: set[str] = set()
        self.seconds: list[float] = []
        self.faults: list[str] = []

    def run(self) -> None:
        """Decide batch after batch; each is labelled some batches later."""
        unlabelled: list[range] = []
        while len(self.decided) < self.decisions or not self.goes_on.is_set():
            first = len(self.decided)
            unlabelled.append(range(first, first + BATCH))
            self.decide(unlabelled[-1])
            if len(unlabelled) > LATE:
                self.give_labels(unlabelled.pop(0))
        for numbers in reversed(unlabelled):
            self.give_labels(numbers)

    def decide(self, numbers: range) -> None:
        given = [{"transaction": payment(n), "decision_id": f"{self.label}-{n}"} for n in numbers]
        answers = self.send("/decisions", given)["answers"]
        for n, answer in zip(numbers, answers, strict=True):
            expected = "DECLINE" if n % 3 == 0 else "APPROVE"
            if answer.get("decision") != expected:
                self.faults.append(f"{self.label}-{n}: {answer}"[:300])
        self.decided |= {one["decision_id"] for one in given}

    def give_labels(self, numbers: range) -> None:
        labels = [
            {"decision_id": f"{self.label}-{n}", "label": "APPROVE" if n % 3 else "DECLINE"}
            for n in numbers
            if n % 2
        ] * 2
        self.rng.shuffle(labels)
        if labels and (report := self.send("/labels", labels))["unknown"]:
            self.faults.append(f"unknown: {report['unknown'][:3]}")
        self.labelled |= {one["decision_id"] for one in labels}

    def send(self, path: str, body: list[dict[str, object]]) -> dict[str, list[dict[str, str]]]:
        """The answer of whichever service gives one."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            service, began = self.rng.choice(self.services), time.monotonic()
            try:
                response = httpx.post(f"{service.address}{path}", json=body, timeout=60)
            except httpx.HTTPError:
                time.sleep(0.1)
                continue
            if response.status_code == 200:
                self.seconds.append(time.monotonic() - began)
                answer: dict[str, list[dict[str, str]]] = response.json()
                return answer
            if response.status_code not in (429, 503):
                self.faults.append(f"{path}: {response.status_code} {response.text[:200]}")
            time.sleep(0.1)
        raise TimeoutError(f"{path} was not answered within {_PATIENCE} s")


@dataclass
class Trouble:
    """Kills services and stops the database while clients work."""

    server: Server
    services: list[Service]
    clients: list[Client]
    kills: int
    stops: int
    minutes: bool
    """Whether to kill once a minute, as long as the clients work; else `kills` times, at once."""
    killed: int = 0
    stopped: int = 0
    middle_memory: float = 0.0

    def make(self) -> None:
        """Go on until the clients have all their answers."""
        total, rng = sum(client.decisions for client in self.clients), random.Random(self.kills)
        last_kill = time.monotonic()
        while any(client.is_alive() for client in self.clients):
            time.sleep(rng.random())  # no synchronisation: it moves the blow about
            done = sum(len(client.decided) for client in self.clients)
            if not self.middle_memory and done >= total / 3:
                self.middle_memory = self.services[1].memory()
            if self.stopped < self.stops and done >= total * (self.stopped + 1) / (self.stops + 1):
                self.server.stop_at_once()
                self.server.start_again()
                self.stopped += 1
            due = time.monotonic() - last_kill >= 60 if self.minutes else self.killed < self.kills
            if due:
                last_kill, self.killed = time.monotonic(), self.killed + 1
                self.services[0].kill()
                self.services[0].start()
                self.services[0].wait_until_ready()
            if self.minutes or self.killed >= self.kills:
                self.clients[0].goes_on.set()


def soak(
    server: Server,
    decisions: int,
    kills: int = 0,
    stops: int = 0,
    *,
    learns: bool = True,
    minutes: bool = False,
) -> dict[str, object]:
    """Run it, and say what was found; `faults` is empty if all is exact."""
    url = server.url()
    with BulletPlaybook(url) as playbook:
        playbook.add_bullet("DECLINE when amount >= 500", "fraud_detection")
    options = () if learns else ("--no-learn",)
    services = [Service(url, options) for _ in range(2)]
    with ExitStack() as end:
        for service in services:
            end.callback(lambda service=service: service.kill())
        for service in services:
            service.wait_until_ready()
        enough = threading.Event()
        clients = [Client(f"c{i}", services, decisions // 2, enough) for i in range(2)]
        began = time.monotonic()
        for client in clients:
            client.start()
        trouble = Trouble(server, services, clients, kills, stops, minutes)
        trouble.make()
        seconds = time.monotonic() - began
        for service in services:
            service.wait_until_ready()
        text = httpx.get(f"{services[0].address}/metrics", timeout=60).text
        last_memory = services[1].memory()
    result = _account(url, clients, text, learns)
    faults: list[str] = result["faults"]  # type: ignore[assignment]
    if minutes and last_memory > _MOST_GROWTH * trouble.middle_memory:
        faults.append("memory grows")
    times = sorted(one for client in clients for one in client.seconds)
    sent = sum(len(client.decided) for client in clients)
    return result | {
        "kills": trouble.killed,
        "stops": trouble.stopped,
        "decisions_per_second": round(sent / seconds),
        "p50_p99_seconds_of_a_batch": [round(times[len(times) * p // 100], 2) for p in (50, 99)],
        "memory_mb_after_a_third_and_last": [round(trouble.middle_memory), round(last_memory)],
    }


def _account(url: str, clients: list[Client], metrics: str, learns: bool) -> dict[str, object]:
    """Compare what was acknowledged, the ledger and the metrics."""
    faults = [fault for client in clients for fault in client.faults]
    decided = {name for client in clients for name in client.decided}
    labelled = {name for client in clients for name in client.labelled}
    sent = {f"{c.label}-{n}" for c in clients for n in range(len(c.decided))}
    asked = sum(client.decisions for client in clients)
    with BulletPlaybook(url) as playbook:
        with playbook.database.reading() as connection:
            stored = connection.exec_driver_sql('SELECT "case" FROM decisions').scalars().all()
            given = connection.exec_driver_sql('SELECT "case" FROM outcomes').scalars().all()
            counted = connection.exec_driver_sql(
                "SELECT decision, count(*) FROM decisions GROUP BY decision"
            ).all()
        bullet = playbook.get_bullet("b1")
        findings = verify(playbook)
    frauds = {name for name in stored if int(name.partition("-")[2]) % 3 == 0}
    expected = (len(frauds & labelled), 0, len(frauds)) if learns else (0, 0, 0)
    counters = (bullet.helpful_count, bullet.harmful_count, bullet.times_selected)
    checks = {
        "every decision is acknowledged": decided == sent and len(sent) >= asked,
        "every acknowledged decision is stored, once": sorted(stored) == sorted(decided),
        "every acknowledged label is stored, once": sorted(given) == sorted(labelled),
        f"counters are {expected}": counters == expected,
        "verify is clean": not findings,
        "metrics equal SQL": all(
            re.search(rf'^acegraph_decisions{{verdict="{verdict}"}} {count}\.0$', metrics, re.M)
            for verdict, count in counted
        ),
    }
    faults += [name for name, holds in checks.items() if not holds]
    return {"acknowledged": len(decided), "labels": len(labelled), "faults": faults}


def main(decisions: int = 200_000, kills: int = 200, stops: int = 3) -> int:
    """The long form, with its figures."""
    code = 0
    runs: dict[str, dict[str, Any]] = {
        "a payment company in small": {"decisions": decisions, "stops": stops, "minutes": True},
        "kills, learning": {"decisions": 1_000, "kills": kills // 2},
        "kills, frozen": {"decisions": 1_000, "kills": kills // 2, "learns": False},
    }
    with running_server() as server:
        for name, given in runs.items():
            result = soak(server, **given)
            sys.stdout.write(f"{name}: {result}\n")
            code |= bool(result["faults"])
    return code


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
