"""Signals whose handlers raise, into a process that writes; and many first opens at once.

`python tests/support/interrupting.py 1000 25` is the long form.
"""

import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from types import FrameType

from ledger_cases import NODE, record
from postgres import running_server

from acegraph.state import BulletPlaybook, Label, PlaybookError, verify

OPENERS = 4


class Interrupted(Exception):
    """What a handler of the caller raises."""


@dataclass
class Found:
    """What was left after many signals."""

    signals: int
    other_errors: list[str]
    decided: int
    counted: int
    findings: list[str]

    @property
    def is_exact(self) -> bool:
        """Each decision counted once, in a ledger that is clean."""
        return self.decided == self.counted and not self.findings and not self.other_errors


def interrupt_writes(url: str | None, signals: int, seed: int = 0) -> Found:
    """Interrupt writes at random moments; what got no answer is sent again."""
    # A few writes: PostgreSQL connects anew after most signals.
    latest = 0.06 if url and url.startswith("postgres") else 0.006
    rng, kinds, others, number, heard = (
        random.Random(seed),
        (KeyboardInterrupt, Interrupted),
        [],
        0,
        0,
    )

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal heard
        heard += 1
        raise kinds[heard % 2]

    before = signal.signal(signal.SIGALRM, interrupt)
    kept: BaseException | None = None
    with BulletPlaybook(url) as book:
        book.add_bullet("DECLINE when amount >= 1", NODE)
        try:
            while heard < signals:
                so_far = heard
                try:
                    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, latest))
                    while heard == so_far:
                        book.record(record(f"d{number}", 1, amount=number), Label("DECLINE"))
                        number += 1
                except kinds as error:
                    kept = error  # with its traceback, as a notebook does
                except PlaybookError as error:
                    others += [] if heard > so_far else [str(error)]
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert kept is not None
        kept = None
        gc.collect()  # a connection that was not returned warns when it goes
        for i in range(number + 1):
            book.record(record(f"d{i}", 1, amount=i), Label("DECLINE"))
        counted = book.get_bullet("b1").times_selected
        return Found(heard, others, number + 1, counted, verify(book))


_OPEN = """
import os, sys, time
from acegraph.state import BulletPlaybook
import sqlalchemy.dialects.sqlite, sqlalchemy.dialects.postgresql.psycopg
failed = 0
for url in sys.argv[2:]:
    children, together = [], time.time() + 0.05
    for _ in range(int(sys.argv[1])):
        child = os.fork()
        if not child:
            while time.time() < together:
                pass
            try:
                BulletPlaybook(url).close()
            except Exception as error:
                print(error, flush=True)
                os._exit(1)
            os._exit(0)
        children.append(child)
    failed += sum(os.waitpid(child, 0)[1] != 0 for child in children)
sys.exit(min(failed, 99))
"""


def open_at_once(urls: list[str]) -> str:
    """Open each new playbook from several processes at the same moment; gives what went wrong."""
    ran = subprocess.run(
        [sys.executable, "-c", _OPEN, str(OPENERS), *urls], capture_output=True, text=True
    )
    return f"{ran.stdout}{ran.stderr}" if ran.returncode else ""


def waiting_times(url: str, threads: int = 4) -> list[float]:
    """After how many seconds each of some threads hears that another one does not stop writing."""
    with BulletPlaybook(url) as other, BulletPlaybook(url) as book:
        times: list[float] = []

        def try_to_write() -> None:
            began = time.monotonic()
            try:
                book.add_bullet("DECLINE when amount >= 1", NODE)
            except PlaybookError:
                times.append(time.monotonic() - began)

        with other.writing():
            waiting = [threading.Thread(target=try_to_write) for _ in range(threads)]
            for thread in waiting:
                thread.start()
            for thread in waiting:
                thread.join()
    return times


def main(signals: int = 1000, opens: int = 25) -> int:
    """The long form, with its figures."""
    with tempfile.TemporaryDirectory() as folder, running_server() as server:
        found = {
            "memory": interrupt_writes(None, signals),
            "SQLite": interrupt_writes(f"sqlite:///{folder}/ace.db", signals),
            "PostgreSQL": interrupt_writes(server.url(), signals),
        }
        places = (f"sqlite:///{folder}/ace.db", server.url())
        times = [seconds for url in places for seconds in waiting_times(url)]
        failed = open_at_once([f"sqlite:///{folder}/{i}.db" for i in range(opens)])
        failed += open_at_once([server.url() for _ in range(opens)])
    for name, result in found.items():
        sys.stdout.write(f"{name}: {result}\n  exact: {result.is_exact}\n")
    sys.stdout.write(f"{2 * OPENERS * opens} first opens, {OPENERS} at once: {failed or 'all'}\n")
    sys.stdout.write(f"waited for a lock, s: {', '.join(f'{t:.1f}' for t in times)}\n")
    is_good = all(result.is_exact for result in found.values()) and max(times) < 35
    return 0 if is_good and len(times) == 8 and not failed else 1


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(*(int(word) for word in sys.argv[1:])))
