"""What acegraph costs beside what a person would write by hand, as ratios of CPU in one run.

Each piece of work has a process of its own, and the processes take turns, so that a busy moment
slows all alike. `python benchmarks/ratios.py [PARTS]` prints a table; `--beside PYTHON` adds the
graph of another environment, such as an earlier commit's.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "support"))

import by_hand
from common import rules_playbook, table

Work = Callable[[], Any]
BATCH = 250
CONNECTIONS = 32
LOADS = {"single": (1, 100, 1), "abreast": (CONNECTIONS, 8, 1), "batch": (1, 2, BATCH)}
"""Connections, requests of each, and payments of a request."""
TURNS = 15
FREE = {
    "StateGraph": "from langgraph.graph import StateGraph",
    "create_ace_graph": "from acegraph.graph import create_ace_graph",
    "typer": "import typer",
    "acegraph --help": "import sys; sys.argv = ['acegraph', '--help']\n"
    "from acegraph.graph.cli.main import main\ntry:\n    main()\nexcept SystemExit: pass",
}


def payments(size: int, seed: int = 3) -> Iterator[dict[str, Any]]:
    """Payments without end, each under an id of its own."""
    from acegraph.graph import generate_transactions

    some = [dict(one.fields) for one in generate_transactions(size, seed=seed)]
    for number in count():
        yield {"transaction": some[number % size], "decision_id": f"{os.getpid()}-{number}"}


def graph(kind: str, folder: str) -> tuple[int, Work]:
    """Frozen runs of a graph: bare, or ours in memory or on SQLite."""
    given, context = payments(200), None
    if kind == "bare":
        compiled = by_hand.bare_graph()
    else:
        from acegraph.graph import create_ace_graph
        from acegraph.state import AceContext

        book = rules_playbook(f"sqlite:///{folder}/{os.getpid()}.db" if kind == "sqlite" else None)
        compiled, context = create_ace_graph(playbook=book).compile(), AceContext(learn=False)
    return 50, lambda: [compiled.invoke(next(given), context=context) for _ in range(50)]


def learning(kind: str, folder: str) -> tuple[int, Work]:
    """Runs with a label that learn from what was wrong; bare, all five nodes."""
    if kind == "bare":
        compiled = by_hand.bare_graph("reflector", "curator")
        given = payments(200)
    else:
        from acegraph.graph import create_ace_graph, generate_transactions

        labelled = [
            {"transaction": dict(e.fields), "ground_truth": e.answer, "decision_id": f"l{i}"}
            for i, e in enumerate(generate_transactions(2_000, seed=4))
        ]
        given, book = iter(labelled), rules_playbook(f"sqlite:///{folder}/learning.db")
        compiled = create_ace_graph(playbook=book).compile()

    def run() -> float:
        times = []
        for _ in range(60):
            began = time.process_time()
            compiled.invoke(next(given))
            times.append(time.process_time() - began)
        return median(times)

    return 1, run


def service(kind: str, folder: str) -> tuple[int, Work]:
    """A service under uvicorn: requests one after another, from 32 connections at once, or of many
    payments each. Its client is a process of its own, whose CPU does not count.
    """
    import uvicorn

    whose, how = kind.split("-")
    book = rules_playbook(f"sqlite:///{folder}/{kind}.db")
    if whose == "hand":
        app: Any = by_hand.service(f"{folder}/{kind}-hand.db", *plain_rules(book))
    else:
        from acegraph.graph.server.app import create_service
        from acegraph.graph.server.service import ServiceSettings

        app = create_service(ServiceSettings(learn=False, without_users=True), book)
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_keep_alive=600)
    server = uvicorn.Server(config)
    Thread(target=server.run, args=([listening],), daemon=True).start()
    connections, requests, size = LOADS[how]
    command = [sys.executable, __file__, "--client", str(listening.getsockname()[1])]
    client = subprocess.Popen(
        [*command, str(connections), str(requests), str(size)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run() -> None:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write("\n")
        client.stdin.flush()
        assert client.stdout.readline() == "done\n"

    return connections * requests * size, run


def client(port: str, *load: str) -> None:
    """Send requests each time a line comes."""
    connections, requests, size = map(int, load)
    given = payments(500)
    open_ones = [HTTPConnection("localhost", int(port)) for _ in range(connections)]

    def send(connection: HTTPConnection, bodies: list[str]) -> None:
        for body in bodies:
            connection.request("POST", "/decisions", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()

    with ThreadPoolExecutor(connections) as pool:
        for _ in sys.stdin:
            bodies = [
                [
                    json.dumps([next(given) for _ in range(size)] if size > 1 else next(given))
                    for _ in range(requests)
                ]
                for _ in open_ones
            ]
            list(pool.map(send, open_ones, bodies))
            print("done", flush=True)


def plain_rules(book: Any) -> tuple[list[by_hand.Rule], int]:
    """The prior and the rules of a playbook as closures with points and a name."""
    from acegraph.nodes.rules.ruleset import Ruleset

    rules = Ruleset.of(book)
    scored = [
        (one.points, one.bullet.content if one.bullet else one.tests[0].render(), one.tests)
        for one in rules.scored
    ]
    plain = [
        (worth, name, by_hand.closure((t.field, t.op, t.value) for t in tests))
        for worth, name, tests in scored
    ]
    return plain, rules.start


def postgres(url: str, folder: str) -> tuple[int, Work]:
    """Single frozen runs on a shared server."""
    from acegraph.graph import create_ace_graph
    from acegraph.state import AceContext, BulletPlaybook

    compiled = create_ace_graph(playbook=BulletPlaybook(url)).compile()
    given, context = payments(200), AceContext(learn=False)
    return 40, lambda: [compiled.invoke(next(given), context=context) for _ in range(40)]


def whole_table(kind: str, folder: str) -> tuple[int, Work]:
    """Score, or backtest a rule on, a million rows; by us, or by a query of DuckDB."""
    import tables

    what, whose = kind.split("-")
    book, file = rules_playbook(), Path(folder, "rows.parquet")
    out = file.with_name(f"{kind}.parquet")
    rules = tables.TableRules.of(book)
    if what == "score" and whose == "ours":
        return 1, lambda: tables.score_files(rules, file, out)
    if what == "score":
        return 1, lambda: tables.duckdb.connect().execute(tables.by_hand(rules, file, out))
    subjects = tables.subjects_of(book, "DECLINE when amount >= 900 and hour < 6")
    if whose == "ours":
        return 1, lambda: tables.backtest_file(*subjects, file, tables.Labels("fraud"))
    query = f"""SELECT count(*) FILTER (amount >= 900 AND hour < 6),
        count(*) FILTER (amount >= 900 AND hour < 6 AND fraud), count(*), count(*) FILTER (fraud),
        count(*) FILTER ({tables.points_by_hand(rules, file)} > {rules.ruleset.scale.limit({})}
                         AND NOT fraud AND amount >= 900 AND hour < 6) FROM '{file}'"""
    return 1, lambda: tables.duckdb.connect().execute(query).fetchall()


WORKS = {f.__name__: f for f in (graph, learning, service, postgres, whole_table)}


class Worker:
    """A process that does its work when it is told to, and says what CPU each piece took."""

    def __init__(self, python: str, name: str, kind: str, folder: str) -> None:
        command = [python, __file__, "--work", name, kind, folder]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.seconds: list[float] = []
        self.answer()  # it is ready, and warm

    def ask(self) -> None:
        """Let it begin a turn."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def answer(self) -> float:
        """What the turn took."""
        assert self._process.stdout is not None
        return float(self._process.stdout.readline())

    def turn(self) -> None:
        """One turn, noted."""
        self.ask()
        self.seconds.append(self.answer())

    @property
    def milliseconds(self) -> float:
        """The median of its turns."""
        return 1e3 * median(self.seconds)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def work(name: str, kind: str, folder: str) -> None:
    """The body of a worker."""
    size, run = WORKS[name](kind, folder)
    run()
    print(0.0, flush=True)
    for _ in sys.stdin:
        began = time.process_time()
        found = run()
        taken = time.process_time() - began
        print(found if name == "learning" else taken / size, flush=True)


@contextmanager
def workers(folder: str, *asked: tuple[str, str, str]) -> Iterator[list[Worker]]:
    """The processes of some works, each by an interpreter, a name and a kind."""
    with ExitStack() as stack:
        found = [Worker(python, name, kind, folder) for python, name, kind in asked]
        for one in found:
            stack.callback(one.close)
        yield found


def compared(folder: str, turns: int, *asked: tuple[str, str, str]) -> list[float]:
    """The milliseconds of some works, which take turns."""
    with workers(folder, *asked) as found:
        for _ in range(turns):
            for one in found:
                one.turn()
        return [one.milliseconds for one in found]


Row = list[str]


def row(what: str, ours: float, theirs: float, wanted: float) -> Row:
    """A line of the table."""
    return [what, f"{ours:.3f}", f"{theirs:.3f}", f"{ours / theirs:.2f}", f"{wanted:g}"]


def graphs(folder: str, beside: str | None) -> list[Row]:
    """Our graph beside a bare one, and beside that of another environment."""
    me = sys.executable
    others = [(beside, "graph", "memory")] if beside else []
    kinds = [(me, "graph", kind) for kind in ("bare", "memory", "sqlite")]
    bare, memory, sqlite, *earlier = compared(folder, TURNS, *kinds, *others)
    rows = [
        row("graph.invoke, in memory / bare graph of 3 nodes", memory, bare, 1.6),
        row("graph.invoke, SQLite / bare graph of 3 nodes", sqlite, bare, 1.8),
    ]
    rows += [row("graph.invoke, in memory / earlier", memory, one, 0.6) for one in earlier]
    kinds = [(me, "learning", kind) for kind in ("bare", "ours")]
    bare, ours = compared(folder, TURNS, *kinds)
    return [*rows, row("learning call, p50 / bare graph of 5 nodes", ours, bare, 2.5)]


def services(folder: str, beside: str | None) -> list[Row]:
    """Our service beside one by hand."""
    rows = []
    for how, wanted, what in (
        ("single", 3.0, "one payment a request"),
        ("abreast", 2.5, f"{CONNECTIONS} connections"),
        ("batch", 6.0, f"{BATCH} payments a request"),
    ):
        kinds = [(sys.executable, "service", f"{whose}-{how}") for whose in ("hand", "ours")]
        hand, ours = compared(folder, TURNS, *kinds)
        rows.append(row(f"service, {what} / by hand", ours, hand, wanted))
    return rows


def several_workers(folder: str, beside: str | None) -> list[Row]:
    """Single decisions on PostgreSQL by four workers beside one."""
    from postgres import running_server

    with running_server() as server:
        url = server.url()
        rules_playbook(url).close()
        with workers(folder, *[(sys.executable, "postgres", url)] * 4) as four:
            alone, together = [], []
            for turn in range(TURNS):
                four[turn % 4].turn()
                alone.append(four[turn % 4].seconds[-1])
                for one in four:
                    one.ask()
                together += [one.answer() for one in four]
    ms = [1e3 * median(seconds) for seconds in (together, alone)]
    return [row("PostgreSQL, single decision, 4 workers / 1", *ms, 1.1)]


def whole_tables(folder: str, beside: str | None) -> list[Row]:
    """A million rows beside a query by hand."""
    import tables

    tables.write_rows(Path(folder, "rows.parquet"), 1_000_000)
    rows = []
    for what, wanted in (("score", 0.84), ("backtest", 1.3)):
        kinds = [(sys.executable, "whole_table", f"{what}-{one}") for one in ("hand", "ours")]
        hand, ours = compared(folder, 5, *kinds)
        rows.append(row(f"{what}, 1,000,000 rows / DuckDB by hand", ours, hand, wanted))
    return rows


def imports(folder: str, beside: str | None) -> list[Row]:
    """What has to be loaded, in processes of their own."""
    times: dict[str, list[float]] = {name: [] for name in FREE}
    for _ in range(TURNS):
        for name, seconds in times.items():
            code = f"import time; t = time.process_time()\n{FREE[name]}\n"
            code += "import sys; print(time.process_time() - t, file=sys.stderr)"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            seconds.append(float(done.stderr))
    ms = {name: 1e3 * median(seconds) for name, seconds in times.items()}
    return [
        row("import create_ace_graph / StateGraph", ms["create_ace_graph"], ms["StateGraph"], 1.3),
        row("acegraph --help / import typer", ms["acegraph --help"], ms["typer"], 1.5),
    ]


PARTS = {f.__name__: f for f in (graphs, services, several_workers, whole_tables, imports)}


def main(names: list[str] | None = None, beside: str | None = None) -> dict[str, float]:
    """Measure the parts, print the table, and return the ratios."""
    found: dict[str, float] = {}
    for name in names or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            rows = PARTS[name](folder, beside)
        table(name.replace("_", " "), [["CPU, ms", "ours", "other", "ratio", "wanted"], *rows])
        found |= {what: float(ratio) for what, _, _, ratio, _ in rows}
    return found


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--work"]:
        work(*words[1:])
    elif words[:1] == ["--client"]:
        client(*words[1:])
    else:
        at = words.index("--beside") if "--beside" in words else len(words)
        main(words[:at] or None, words[at + 1] if words[at:] else None)
