"""A signal handler may raise anywhere: no lock stays, nothing is half written, nothing is lost."""

import asyncio
import gc
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from interrupting import Interrupted, interrupt_writes, open_at_once
from langgraph.graph.state import CompiledStateGraph
from ledger_cases import NODE, record
from postgres import Server

from acegraph.graph import create_ace_graph
from acegraph.state import BulletPlaybook, Label, verify
from acegraph.state.database.encoding import file_of

ROOM = f"{os.sep}state{os.sep}"


class Moments:
    """Raises at the n-th line of our code that a thread executes."""

    def __init__(self, error: type[BaseException], at: int) -> None:
        self.error, self.left = error, at

    def __call__(self, frame: FrameType, event: str, _: object) -> "Moments | None":
        if ROOM not in frame.f_code.co_filename:
            return None
        if event in ("line", "return"):
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise self.error
        return self


@contextmanager
def interrupted(error: type[BaseException], at: int) -> Iterator[Moments]:
    """Interrupt what is inside, at the n-th line."""
    moments = Moments(error, at)
    sys.settrace(moments)
    try:
        yield moments
    finally:
        sys.settrace(None)


def write_elsewhere(book: BulletPlaybook) -> None:
    """Another process would be let in, and so is another thread; both within a moment."""
    if file := file_of(book.url):
        with closing(sqlite3.connect(file, timeout=0.2, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
    length = []
    reader = threading.Thread(target=lambda: length.append(len(book)), daemon=True)
    reader.start()
    reader.join(10)
    assert length


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, pytest.param(Interrupted, marks=pytest.mark.slow)]
)
def test_no_line_of_a_write_can_be_interrupted_to_harm(
    error: type[BaseException], url: str | None, kind: str
) -> None:
    step = {"memory": 2, "sqlite": 5, "postgres": 11}[kind]  # in memory every line, by one of both
    start = 1 if error is KeyboardInterrupt else 2
    kept: list[BaseException] = []
    with BulletPlaybook(url) as book:
        book.add_bullet("DECLINE when amount >= 1", NODE)
        for tries, at in enumerate(range(start, 5_000, step), start=1):
            given = record(f"d{at}", 1, amount=at)
            try:
                with interrupted(error, at) as moments:
                    book.record(given, Label("DECLINE"))
            except error as raised:
                kept.append(raised)  # with its traceback, as a notebook keeps it
            write_elsewhere(book)
            book.record(given, Label("DECLINE"))
            assert book.get_bullet("b1").times_selected == tries
            if moments.left > 0:
                break
        assert moments.left > 0
        assert len(kept) > 20
        kept.clear()
        gc.collect()  # a connection that was not returned warns when it goes
        assert verify(book) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_signals_at_random_leave_a_playbook_that_works(url: str | None) -> None:
    found = interrupt_writes(url, 40)
    assert found.signals >= 40
    assert found.is_exact, found


HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process_writes(file: Path) -> Iterator[None]:
    """Another process holds the write lock of a file."""
    held = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert held.stdin
    assert held.stdout
    with held:
        held.stdout.readline()
        try:
            yield
        finally:
            held.stdin.close()


def test_readers_do_not_wait_for_writers_that_wait(tmp_path: Path) -> None:
    file = tmp_path / "ace.db"
    with BulletPlaybook(f"sqlite:///{file}") as book:
        book.add_bullet("DECLINE when amount >= 1", NODE)
        writers = [
            threading.Thread(target=book.record, args=(record(f"d{i}", 1, amount=i),))
            for i in range(8)
        ]
        with another_process_writes(file):
            for writer in writers:
                writer.start()
            for _ in range(20):
                assert len(book) == 1
            assert all(writer.is_alive() for writer in writers)
        for writer in writers:
            writer.join(30)
        assert book.get_bullet("b1").times_selected == 8


@pytest.mark.slow
def test_many_processes_may_open_a_new_playbook_at_once(postgres: Server) -> None:
    assert open_at_once([postgres.url() for _ in range(3)]) == ""


def test_writers_that_wait_leave_the_threads_of_asyncio_alone(tmp_path: Path) -> None:
    file = tmp_path / "ace.db"

    async def decide(graph: CompiledStateGraph[Any, Any, Any, Any]) -> None:
        given = [{"transaction": {"amount": i}, "decision_id": f"d{i}"} for i in range(12)]
        with another_process_writes(file):
            runs = [asyncio.create_task(graph.ainvoke(one)) for one in given]
            while threading.active_count() < 8:  # until some of them wait
                await asyncio.sleep(0.01)
            async with asyncio.timeout(10):
                assert await asyncio.to_thread(len, "abc") == 3
            assert not any(run.done() for run in runs)
        assert len(await asyncio.gather(*runs)) == 12

    with BulletPlaybook(f"sqlite:///{file}") as book:
        asyncio.run(decide(create_ace_graph(playbook=book).compile()))
        assert verify(book) == []
