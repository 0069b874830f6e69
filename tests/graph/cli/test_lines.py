"""`acegraph serve --stdin`: every line is answered after the commit, and counts once."""

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import psutil
import pytest
from postgres import Server

from acegraph.state import BulletPlaybook, verify

RISKY = {"amount": 2500, "hour": 3, "vpn": True, "account_age_days": 2}
LINES: list[Any] = [
    {"transaction": RISKY, "decision_id": "d1"},
    {"decision_id": "d1", "label": "fraud"},
    {"decision_id": "d2", "label": "legit"},  # its decision comes later
    {"transaction": {"amount": 5, "hour": 14}, "decision_id": "d2"},
    {"transaction": {"amount": 6}, "decision_id": "d1"},
    {"transaction": {"amount": 6}},
    {"decision_id": "d2", "label": "legit", "source": "judge"},
    [1],
]


def consumed(folder: Path, lines: list[Any], *options: str) -> list[Any]:
    words = [sys.executable, "-m", "acegraph.graph.cli", "serve", "--stdin", *options]
    given = "\n".join(map(json.dumps, lines)) + "\nnonsense\n"
    done = subprocess.run(
        words, cwd=folder, input=given, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_line_is_answered_and_one_that_repeats_counts_once(tmp_path: Path) -> None:
    with BulletPlaybook(f"sqlite:///{tmp_path}/ace.db") as book:
        book.add_bullet("DECLINE when amount >= 900", "fraud_detection")
    answers = consumed(tmp_path, LINES + LINES[:2])
    assert [a.get("decision") or a.get("status") or a["error"]["type"] for a in answers] == [
        *("DECLINE", "stored", "unknown", "APPROVE", "DecisionConflict"),
        *("InvalidInput", "InvalidInput", "InvalidInput", "DECLINE", "stored", "InvalidInput"),
    ]
    with BulletPlaybook(f"sqlite:///{tmp_path}/ace.db") as book:
        bullet = book.get_bullet("b1")
        assert (bullet.helpful_count, bullet.times_selected) == (1, 0)  # nobody reads it
        assert not verify(book)


@pytest.mark.slow
def test_what_was_answered_survives_a_kill(tmp_path: Path, postgres: Server) -> None:
    url = postgres.url()
    words = [sys.executable, "-m", "acegraph.graph.cli", "serve", "--stdin", "--no-learn"]
    with subprocess.Popen(
        [*words, "--playbook", url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for n in range(20):
            line = {"transaction": RISKY, "decision_id": f"k{n}"}
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.flush()
        answered = [json.loads(process.stdout.readline())["decision_id"] for _ in range(7)]
        process.kill()
    with BulletPlaybook(url) as book:
        assert all(book.decision(name)["decision"] == "DECLINE" for name in answered)
        assert not verify(book)


SLOW_WORKERS = """
import sys, time
if any("spawn_main" in word for word in sys.orig_argv):
    time.sleep(7)
"""


@pytest.mark.slow
def test_workers_that_start_slowly_live_and_end_with_their_supervisor(
    tmp_path: Path, postgres: Server
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_WORKERS)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = [sys.executable, "-m", "acegraph.graph.cli", "serve", "--without-users"]
    words += ["--workers", "2", "--port", port, "--playbook", postgres.url()]
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    ) as process:
        end = monotonic() + 120
        while monotonic() < end:
            with suppress(URLError), urlopen(f"http://127.0.0.1:{port}/ready") as answer:
                assert answer.status == 200
                break
            sleep(0.2)
        second = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        refused = second.stderr
        assert process.stderr is not None
        said = ""
        while said.count("Application startup complete") < 2:
            said += process.stderr.readline()
        workers = psutil.Process(process.pid).children()
        process.kill()
        said += process.stderr.read()
    _gone, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive
    assert "Address already in use" in refused
    assert "died" not in said
    assert "Traceback" not in said
