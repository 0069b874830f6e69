"""Kill loops: worker processes on one playbook, ended at random with SIGKILL.

What they had acknowledged must be there, once; `python tests/support/killing.py` is the long form.
"""

import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass

from ledger_cases import NODE
from ledger_worker import counted, run
from postgres import Server, running_server
from processes import PROCESSES

from acegraph.state import BulletPlaybook, verify
from acegraph.state.task.field import Field
from acegraph.state.task.guess import derived_of
from acegraph.state.task.task import Task

_WORKERS = 3
_ENDLESS = 1_000_000
_PATIENCE = 120


@dataclass
class Killed:
    """What a kill loop found."""

    kills: int
    server_stops: int
    acknowledged: int
    missing: int
    decided: int
    counters: tuple[int, int, int]
    expected: tuple[int, int, int]
    seen: int
    """How many payments later payments look back on."""
    findings: list[str]

    @property
    def is_exact(self) -> bool:
        """Nothing lost, nothing counted twice."""
        is_counted = self.counters == self.expected and self.seen == self.decided
        return not self.missing and is_counted and not self.findings


class _Worker:
    """One process at a time, each going on where the one before was killed."""

    def __init__(self, url: str, number: int) -> None:
        self.url, self.number = url, number
        self.acknowledged: list[int] = []
        self.start()

    def start(self) -> None:
        """Go on: what was written and not acknowledged is sent again."""
        first = self.acknowledged[-1] + 1 if self.acknowledged else 0
        self._ours, theirs = PROCESSES.Pipe(duplex=False)
        given = (self.url, self.number, first, _ENDLESS, 1, theirs)
        self.process = PROCESSES.Process(target=run, args=given)
        self.process.start()
        theirs.close()

    def wait_for_one(self) -> None:
        """Until it has acknowledged something more."""
        if not self._ours.poll(_PATIENCE):
            raise TimeoutError(f"worker {self.number} has been silent for {_PATIENCE} s")
        self.acknowledged.append(self._ours.recv())

    def kill(self) -> None:
        """End it on the spot, and read what it had still said."""
        self.process.kill()
        self.process.join()
        try:
            while True:
                self.acknowledged.append(self._ours.recv())
        except EOFError:
            self._ours.close()
            self.process.close()


def kill_loop(
    url: str, kills: int, seed: int = 0, server: Server | None = None, stops: int = 0
) -> Killed:
    """Kill workers at random moments, and the server too where one is given."""
    rng = random.Random(seed)
    with BulletPlaybook(url) as playbook:
        of_customers = Field("customer_id", "category", role="entity", entity="customer")
        fields = (of_customers, Field("at", "time", role="time"), Field("amount", "number"))
        playbook.set_task(Task("cards", fields, derived_of(fields)))
        playbook.add_bullet("DECLINE when amount >= 500", NODE)
    workers = [_Worker(url, number) for number in range(_WORKERS)]
    stop_at = set(rng.sample(range(1, kills), stops)) if stops else set()
    try:
        for done in range(kills):
            worker = rng.choice(workers)
            worker.wait_for_one()
            time.sleep(rng.random() * 0.02)  # no synchronisation: it moves the blow about
            if done in stop_at and server is not None:
                server.stop_at_once()
                server.start_again()
            worker.kill()
            worker.start()
    finally:
        for worker in workers:
            worker.kill()
    return _account(url, workers, kills, stops)


def _account(url: str, workers: list[_Worker], kills: int, stops: int) -> Killed:
    """The independent expectation: from the rows that are there, by the rule of `case` alone."""
    with BulletPlaybook(url) as playbook:
        with playbook.database.reading() as connection:
            rows = connection.exec_driver_sql('SELECT "case" FROM decisions').scalars()
            decided = {tuple(map(int, name.split("-"))) for name in rows}
            seen = connection.exec_driver_sql("SELECT count(*) FROM sightings").scalar_one()
        said = {(w.number, n) for w in workers for n in w.acknowledged}
        moves = [counted(*key) for key in decided]
        helpful, harmful, selected = (sum(column) for column in zip(*moves, strict=True))
        bullet = playbook.get_bullet("b1")
        return Killed(
            kills=kills,
            server_stops=stops,
            acknowledged=len(said),
            missing=len(said - decided),
            decided=len(decided),
            counters=(bullet.helpful_count, bullet.harmful_count, bullet.times_selected),
            expected=(helpful, harmful, selected),
            seen=int(seen),
            findings=verify(playbook),
        )


def main(kills: int = 200, stops: int = 6) -> int:
    """The long form, with its figures."""
    with tempfile.TemporaryDirectory() as folder:
        found = {"SQLite": kill_loop(f"sqlite:///{folder}/ace.db", kills)}
    with running_server() as server:
        found["PostgreSQL"] = kill_loop(server.url(), kills, server=server, stops=stops)
    for name, result in found.items():
        sys.stdout.write(f"{name}: {result}\n  exact: {result.is_exact}\n")
    return 0 if all(result.is_exact for result in found.values()) else 1


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
