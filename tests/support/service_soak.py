"""A payment company in small: clients send decisions and labels to two services of two workers each
on one PostgreSQL.

Workers and supervisors are killed, the database is stopped, and proxies cut answers to clients and
to services in the middle. Labels come late, twice, out of order, and are corrected; ids are odd.
Whoever got no answer sends the same again, and keeps a journal of what was acknowledged. Afterwards
all of it must be in the ledger, once, every gauge must equal a count in SQL, and no worker may have
died by itself. At the end there is no trouble: there memory must not grow.

`python tests/support/service_soak.py` is the long form; DECISIONS WORKERS SUPERVISORS STOPS CUTS
are how much of each.
"""

import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import httpx
import psutil
import sqlalchemy as sa
from cutting_proxy import CuttingProxy
from postgres import Server, running_server

from acegraph.state import BulletPlaybook, verify

BATCH: Final = 20
LATE: Final = 3
"""Labels come so many batches after their decisions."""
_PATIENCE: Final = 600
_LONGEST: Final = 60
"""No request may take longer; whoever waits longer has a fault."""
_MOST_GROWTH: Final = 1.25
_ODD: Final = (
    "",
    " ü",
    "/x?y=1#z",
    "%2F",
    "'\"",
    "😀",
    "; DROP TABLE cases; --",
    "<b>",
    "\\",
    "x" * 150,
)
"""What ids end in."""
_LONG: Final = (20_000, 60, 10, 5, 1_000)
"""Decisions, kills of workers and of supervisors, stops of the database, cut answers."""
_OF_DATABASE: Final = 0.003
"""The chance of a part of the database's answers to be cut: a decision has many."""


def payment(number: int) -> dict[str, object]:
    """Every third payment is a fraud that the scorecard and the bullet recognise."""
    if number % 3 == 0:
        return {"amount": 1000 + number % 50, "hour": 3, "vpn": True, "account_age_days": 2}
    return {"amount": 10 + number % 50, "hour": 14, "vpn": False, "account_age_days": 900}


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@dataclass
class Service:
    """One service at a time; each goes on where the one before was killed."""

    url: str
    options: tuple[str, ...]
    log: IO[str] | None = None
    """Where its standard error goes; else nowhere."""
    port: int = field(default_factory=free_port)
    killed: set[int] = field(default_factory=set)
    """The workers that we killed."""
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it; it listens after some seconds."""
        words = [sys.executable, "-m", "acegraph.graph.cli", "serve", "--without-users"]
        words += ["--port", str(self.port), "--playbook", self.url, *self.options]
        log = self.log or subprocess.DEVNULL
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=log)

    def workers(self) -> list[psutil.Process]:
        """The processes that answer."""
        found = psutil.Process(self.process.pid).children()
        alive = [one for one in found if one.status() != psutil.STATUS_ZOMBIE]
        return [one for one in alive if "spawn_main" in " ".join(one.cmdline())]

    def kill_worker(self, rng: random.Random) -> None:
        """End one worker on the spot."""
        worker = rng.choice(self.workers())
        self.killed.add(worker.pid)
        worker.kill()

    def kill(self) -> None:
        """End the supervisor on the spot; its workers must end by themselves."""
        workers = psutil.Process(self.process.pid).children() if self.process.poll() is None else []
        self.process.kill()
        self.process.wait()
        _, alive = psutil.wait_procs(workers, timeout=_LONGEST)
        for one in alive:
            one.kill()
        assert not alive, "workers outlive their supervisor"

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


class Client(threading.Thread):
    """Sends its own decisions and their labels, each until it is acknowledged."""

    def __init__(self, name: str, addresses: list[str], decisions: int, corrects: bool) -> None:
        super().__init__(daemon=True)
        self.label, self.addresses, self.decisions = name, addresses, decisions
        self.corrects = corrects
        self.goes_on = threading.Event()
        """While this is not set, it sends more than was asked for."""
        self.rng = random.Random(name)
        self.http = httpx.Client(timeout=2 * _LONGEST, verify=False)  # one: a new one takes long
        self.decided: dict[str, str] = {}
        """By id the answer."""
        self.labelled: dict[str, str] = {}
        """By id the label that stands."""
        self.longest = 0.0, ""
        """Seconds of a request, and how it ended."""
        self.faults: list[str] = []

    def name(self, number: int) -> str:
        """The id of a decision."""
        return f"{self.label}-{number}-{_ODD[number % len(_ODD)]}"

    def run(self) -> None:
        """Decide batch after batch; each is labelled some batches later."""
        unlabelled: list[range] = []
        try:
            while len(self.decided) < self.decisions or not self.goes_on.is_set():
                first = len(self.decided)
                unlabelled.append(range(first, first + BATCH))
                self.decide(unlabelled[-1])
                if len(unlabelled) > LATE:
                    self.give_labels(unlabelled.pop(0))
            for numbers in reversed(unlabelled):
                self.give_labels(numbers)
        except Exception as error:  # noqa: BLE001  the main thread tells it
            self.faults.append(f"{type(error).__name__}: {error}"[:300])

    def decide(self, numbers: range) -> None:
        given = [{"transaction": payment(n), "decision_id": self.name(n)} for n in numbers]
        answers = self.send("/decisions", given)["answers"]
        for n, answer in zip(numbers, answers, strict=True):
            expected = "APPROVE" if n % 3 else "DECLINE"
            if (answer.get("decision_id"), answer.get("decision")) != (self.name(n), expected):
                self.faults.append(f"{self.name(n)}: {answer}"[:300])
            self.decided[self.name(n)] = expected

    def give_labels(self, numbers: range) -> None:
        """Half of them get a label, twice; then every other one of these a correction."""
        right = {self.name(n): "APPROVE" if n % 3 else "DECLINE" for n in numbers if n % 2}
        wrong = {name: "DECLINE" if one == "APPROVE" else "APPROVE" for name, one in right.items()}
        corrected = dict(list(wrong.items())[::2]) if self.corrects else {}
        first = self._labels(right, "2026-01-01")
        self.acknowledged(first * 2, right)
        second = self._labels(corrected, "2026-02-01")
        self.acknowledged(second, corrected)
        self.acknowledged(first, {})  # delivered again: no correction is undone

    def _labels(self, labels: dict[str, str], at: str) -> list[dict[str, object]]:
        kept = {"source": "chargeback", "at": at}
        return [{"decision_id": name, "label": label, **kept} for name, label in labels.items()]

    def acknowledged(self, labels: list[dict[str, object]], standing: dict[str, str]) -> None:
        """Send labels until they are."""
        if labels:
            self.rng.shuffle(labels)
            if unknown := self.send("/labels", labels)["unknown"]:
                self.faults.append(f"unknown: {unknown[:3]}")
            self.labelled |= standing

    def send(self, path: str, body: list[dict[str, object]]) -> dict[str, list[dict[str, str]]]:
        """The answer of whichever service gives one."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            began = time.monotonic()
            try:
                url = f"{self.rng.choice(self.addresses)}{path}"
                response = self.http.post(url, json=body)
                ended = f"{path} {response.status_code}"
            except httpx.HTTPError as error:
                response, ended = None, f"{path} {type(error).__name__}"
            self.longest = max(self.longest, (time.monotonic() - began, ended))
            if response is not None and response.status_code == 200:
                answer: dict[str, list[dict[str, str]]] = response.json()
                return answer
            if response is not None and response.status_code not in (429, 503):
                self.faults.append(f"{path}: {response.status_code} {response.text[:200]}")
            time.sleep(0.1)
        raise TimeoutError(f"{path} was not answered within {_PATIENCE} s")


@dataclass
class Trouble:
    """Kills and stops in the first two thirds of the work, at random and spread evenly."""

    server: Server
    services: list[Service]
    clients: list[Client]
    events: list[str]

    def make(self) -> None:
        """Go on until all has happened."""
        total, rng = sum(client.decisions for client in self.clients), random.Random(47)
        rng.shuffle(self.events)
        for number, event in enumerate(self.events):
            due = total * 2 / 3 * number / len(self.events)
            self.wait_for(due)
            service = self.one_that_works(rng)
            if event == "database":
                self.server.stop_at_once()
                self.server.start_again()
            elif event == "worker":
                service.kill_worker(rng)
            else:
                service.kill()
                service.start()
            if number % 5 == 4:
                print(f"{number + 1} of {len(self.events)} troubles", file=sys.stderr, flush=True)
        for service in self.services:
            service.wait_until_ready()

    def calm(self, decisions: int) -> float:
        """Wait for so many more decisions; gives what all workers have resident then, in MB."""
        self.wait_for(sum(len(client.decided) for client in self.clients) + decisions)
        workers = [worker for service in self.services for worker in service.workers()]
        return sum(worker.memory_info().rss for worker in workers) / 1e6

    def wait_for(self, decisions: float) -> None:
        """Until so many are acknowledged, or no client works any more."""
        while sum(len(client.decided) for client in self.clients) < decisions:
            if not any(client.is_alive() for client in self.clients):
                return
            time.sleep(0.05)

    def one_that_works(self, rng: random.Random) -> Service:
        """A service that answers, with both of its workers."""
        while True:
            service = rng.choice(self.services)
            if len(service.workers()) == 2 and service.is_ready():
                return service
            time.sleep(0.1)


@dataclass(frozen=True)
class Plan:
    """How much of what."""

    decisions: int
    workers: int
    supervisors: int
    stops: int
    cuts: int
    learns: bool = False

    def events(self, server: Server) -> list[str]:
        """What is to happen; somebody else's server is not ours to stop."""
        stops = self.stops if server.handle else 0
        return ["worker"] * self.workers + ["supervisor"] * self.supervisors + ["database"] * stops


def soak(server: Server, plan: Plan) -> dict[str, Any]:
    """Run it, and say what was found; `faults` is empty if all is exact."""
    url = server.url()
    with BulletPlaybook(url) as playbook:
        playbook.add_bullet("DECLINE when amount >= 500", "fraud_detection")
    with ExitStack() as end:
        folder = Path(end.enter_context(tempfile.TemporaryDirectory(prefix="soak-")))
        cut_url, proxies = _through_proxy(url, folder, plan.cuts // 10)
        options = ("--workers", "2", *(() if plan.learns else ("--no-learn",)))
        logs = [end.enter_context((folder / f"log{i}").open("w")) for i in range(2)]
        services = [Service(cut_url, options, log) for log in logs]
        for service in services:
            end.callback(service.kill)
        ports = [free_port() for _ in services]
        some = plan.cuts - plan.cuts // 10
        proxies += [
            CuttingProxy(port, service.port, 0.25, some // 2)
            for port, service in zip(ports, services, strict=True)
        ]
        for service in services:
            service.wait_until_ready()
        addresses = [f"http://127.0.0.1:{port}" for port in ports]
        each = plan.decisions // 4
        clients = [Client(f"c{i}", addresses, each, not plan.learns) for i in range(4)]
        began = time.monotonic()
        for client in clients:
            client.start()
        trouble = Trouble(server, services, clients, plan.events(server))
        trouble.make()
        middle, last = trouble.calm(plan.decisions // 12), trouble.calm(plan.decisions // 6)
        for client in clients:
            client.goes_on.set()
        for client in clients:
            client.join()
        seconds = time.monotonic() - began
        texts = [httpx.get(f"{one.address}/metrics", timeout=60).text for one in services]
        died = [
            int(pid)
            for i, service in enumerate(services)
            for pid in re.findall(r"Child process \[(\d+)\] died", (folder / f"log{i}").read_text())
            if int(pid) not in service.killed
        ]
    result = _account(url, clients, texts, plan)
    faults: list[str] = result["faults"]
    faults += [f"workers that died by themselves: {died}"] * bool(died)
    faults += [f"memory grows: {middle:.0f} to {last:.0f} MB"] * (last > _MOST_GROWTH * middle)
    cuts = [proxy.cuts for proxy in proxies]
    return result | {
        "happened": dict(Counter(trouble.events)),
        "cut_answers_of_database_and_services": [cuts[0], sum(cuts[1:])],
        "longest_request": max(client.longest for client in clients),
        "memory_mb": [round(middle), round(last)],
        "seconds": round(seconds),
    }


def _through_proxy(url: str, folder: Path, most: int) -> tuple[str, list[CuttingProxy]]:
    """The URL of the database behind a proxy."""
    place = re.search(r"host=([^&]+)", url)
    assert place is not None, "the soak stops its database: it starts its own"
    name = ".s.PGSQL.5432"
    proxy = CuttingProxy(f"{folder}/{name}", f"{place[1]}/{name}", _OF_DATABASE, most)
    return url.replace(place[1], str(folder)), [proxy]


_NEWEST: Final = """SELECT o."case", o.label FROM outcomes o WHERE o.label IS NOT NULL AND
o.revision = (SELECT max(revision) FROM outcomes n WHERE n."case" = o."case")"""
_GAUGES: Final = {
    "decisions{verdict=": "SELECT decision, count(*) FROM decisions GROUP BY decision",
    "labels{label=": f"SELECT label, count(*) FROM ({_NEWEST}) AS l GROUP BY label",
    "bullets{status=": "SELECT status, count(*) FROM bullets GROUP BY status",
    "reviews_waiting{kind=": "SELECT 'bullet', count(*) FROM bullets WHERE status = 'candidate'"
    " HAVING count(*) > 0",
    "labels_missing": "SELECT '', count(*) FROM decisions WHERE \"case\" NOT IN"
    f' (SELECT "case" FROM ({_NEWEST}) AS l)',
    "undecided": "SELECT '', count(*) FROM cases WHERE id NOT IN (SELECT \"case\" FROM decisions)",
}
"""Each gauge, and the same in SQL."""


def _account(url: str, clients: list[Client], metrics: list[str], plan: Plan) -> dict[str, Any]:
    """Compare the journals of the clients, the ledger and the metrics."""
    faults = [fault for client in clients for fault in client.faults]
    decided = {name: one for client in clients for name, one in client.decided.items()}
    labelled = {name: one for client in clients for name, one in client.labelled.items()}
    with BulletPlaybook(url) as playbook:
        with playbook.database.reading() as connection:
            rows = connection.execute(sa.text('SELECT "case", decision FROM decisions')).all()
            given = connection.execute(sa.text(_NEWEST)).all()
            wanted = {
                f"acegraph_{name}{f'{chr(34)}{key}{chr(34)}}}' if '{' in name else ''} {count}.0"
                for name, query in _GAUGES.items()
                for key, count in connection.execute(sa.text(query))
            }
        bullet, findings = playbook.get_bullet("b1"), verify(playbook)
    frauds = {name for name, answer in decided.items() if answer == "DECLINE"}
    expected = (len(frauds & labelled.keys()) if plan.learns else 0, 0, 0)  # nobody reads it
    counters = (bullet.helpful_count, bullet.harmful_count, bullet.times_selected)
    told = [{line for line in text.splitlines() if _is_gauge(line)} for text in metrics]
    checks = {
        "all decisions are acknowledged": len(decided) >= plan.decisions,
        "every acknowledged decision is stored, once, as it was told": sorted(
            (name, answer) for name, answer in rows
        )
        == sorted(decided.items()),
        "every acknowledged label stands": dict(map(tuple, given)) == labelled,
        f"counters are {expected}, not {counters}": counters == expected,
        f"verify is clean: {findings[:3]}": not findings,
        f"no request takes over {_LONGEST} s": max(c.longest for c in clients)[0] <= _LONGEST,
    }
    faults += [name for name, holds in checks.items() if not holds]
    faults += [f"gauges: {sorted(one ^ wanted)}" for one in told if one != wanted]
    gauges = set(re.findall(r"# TYPE acegraph_(\w+) gauge", metrics[0]))
    if gauges != {name.partition("{")[0] for name in _GAUGES}:
        faults.append(f"the gauges are {gauges}")
    return {"acknowledged": len(decided), "labels": len(labelled), "faults": faults}


def _is_gauge(line: str) -> bool:
    return any(line.startswith(f"acegraph_{name}") for name in _GAUGES)


def main(*given: int) -> int:
    """The long form, with its figures: labels are corrected; then, learning, they are right."""
    code, amounts = 0, given or _LONG
    plans = Plan(*amounts), Plan(*(amount // 10 for amount in amounts), learns=True)
    with running_server() as server:
        for plan in plans:
            result = soak(server, plan)
            sys.stdout.write(f"{plan}\n{result}\n")
            code |= bool(result["faults"])
    return code


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
