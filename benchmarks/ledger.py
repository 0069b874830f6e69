"""What an outcome costs: the ledger beside the same rows written by hand with `sqlite3`.

One outcome is a case, a decision, three selections, its label and the counters of three bullets in
one database transaction. By hand means: the same tables and columns, statements prepared, nothing
checked, hashed or kept in memory. A third way writes by hand with the hashes that `acegraph verify`
checks.

    python benchmarks/ledger.py
"""

import json
import sqlite3
import sys
import tempfile
import time
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from acegraph.graph import feedback_many
from acegraph.state import BulletPlaybook, Label, Transaction, verify
from acegraph.state.database.base import Durability
from acegraph.state.database.writer import hash_values
from acegraph.state.values.decision import DecisionRecord, Shown

NODE = "fraud_detection"
BATCH = 50
AT = "2026-01-01T00:00:00.000000+00:00"
_ids = count()


def new_playbook(folder: str, durability: Durability) -> BulletPlaybook:
    """An empty playbook with three bullets."""
    playbook = BulletPlaybook(f"sqlite:///{folder}/{next(_ids)}.db", durability=durability)
    for amount in (1, 10, 100):
        playbook.add_bullet(f"DECLINE when amount >= {amount}", NODE)
    return playbook


def new_record(number: int) -> DecisionRecord:
    """A decision as the graph records it."""
    given = Transaction.of({"amount": number, "country": "NO", "channel": "web"})
    shown = tuple(Shown(n, True, "DECLINE") for n in (1, 2, 3))
    return DecisionRecord(
        id=f"d{number}",
        node=NODE,
        text=given.text,
        fields=given.fields,
        digest=given.digest(),
        decision="DECLINE",
        risk_score=0.9,
        reasons=("b1: DECLINE when amount >= 1",),
        settings={"mode": "offline_online", "seed": 0, "n_bullets": 5, "node": NODE},
        shown=shown,
    )


def ours(folder: str, durability: Durability, records: list[DecisionRecord], batch: int) -> float:
    """Outcomes per second through the playbook."""
    with new_playbook(folder, durability) as playbook:
        started = time.perf_counter()
        for start in range(0, len(records), batch):
            with playbook.writing() if batch > 1 else nullcontext():
                for record in records[start : start + batch]:
                    playbook.record(record, Label("DECLINE"))
        return len(records) / (time.perf_counter() - started)


CASE = "INSERT INTO cases VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?)"
DECISION = "INSERT INTO decisions VALUES (?, ?, ?, ?, ?, ?, 0, 0, 1, ?, NULL, NULL, ?, ?)"
SELECTION = "INSERT INTO selections VALUES (?, ?, ?, 1, 1, 'DECLINE', ?, ?)"
OUTCOME = "INSERT INTO outcomes VALUES (?, 1, 'DECLINE', 'label', ?, ?, ?)"
MOVE = """UPDATE bullets SET helpful_count = helpful_count + 1,
    times_selected = times_selected + 1, changed = ?, hash = ? WHERE number = ?"""


def connected(folder: str, durability: Durability) -> sqlite3.Connection:
    """The database of a new playbook, opened by hand."""
    with new_playbook(folder, durability) as playbook:
        file = playbook.url.removeprefix("sqlite:///")
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {durability.upper()}")
    return connection


def by_hand(
    folder: str, durability: Durability, records: list[DecisionRecord], batch: int
) -> float:
    """Outcomes per second with the `sqlite3` module."""
    connection, place = connected(folder, durability), count(100)
    started = time.perf_counter()
    for start in range(0, len(records), batch):
        connection.execute("BEGIN IMMEDIATE")
        for r in records[start : start + batch]:
            p = next(place)
            connection.execute("SELECT digest FROM cases WHERE id = ?", (r.id,)).fetchone()
            fields = json.dumps(dict(r.fields))
            connection.execute(CASE, (r.id, r.node, r.text, fields, r.digest, AT, p, p))
            told = (json.dumps(r.reasons), json.dumps(dict(r.settings)))
            given = (r.id, r.node, r.decision, r.risk_score, *told, AT, p, p)
            connection.execute(DECISION, given)
            rows = [(r.id, s.bullet_number, i, p, p) for i, s in enumerate(r.shown)]
            connection.executemany(SELECTION, rows)
            connection.execute(OUTCOME, (r.id, AT, p, p))
            connection.executemany(MOVE, [(p, p, s.bullet_number) for s in r.shown])
        connection.execute("UPDATE clock SET position = ?, seal = ?", (p, p))
        connection.execute("COMMIT")
    rate = len(records) / (time.perf_counter() - started)
    connection.close()
    return rate


CASE_ROW, DECISION_ROW, SELECTION_ROW, OUTCOME_ROW = (
    f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})"
    for table, columns in (("cases", 9), ("decisions", 14), ("selections", 8), ("outcomes", 7))
)


def hashed_by_hand(
    folder: str, durability: Durability, records: list[DecisionRecord], batch: int
) -> float:
    """Outcomes per second by hand with every hash, so that `verify` finds nothing wrong."""
    connection = connected(folder, durability)
    p, seal = connection.execute("SELECT position, seal FROM clock").fetchone()
    bullets = connection.execute("SELECT number, hash, changed FROM bullets").fetchall()
    whole = {n: row_hash for n, row_hash, _ in bullets}
    lasting = {n: row_hash ^ hash_values((n, 0, 0, 0, at)) for n, row_hash, at in bullets}
    counts = dict.fromkeys(whole, 0)
    started = time.perf_counter()
    for start in range(0, len(records), batch):
        connection.execute("BEGIN IMMEDIATE")
        for r in records[start : start + batch]:
            connection.execute("SELECT digest FROM cases WHERE id = ?", (r.id,)).fetchone()
            fields = json.dumps(dict(r.fields))
            case = (r.id, r.node, r.text, fields, r.digest, 1, AT, p := p + 1)
            seal ^= (h := hash_values(case))
            connection.execute(CASE_ROW, (*case, h))
            told = (json.dumps(r.reasons), json.dumps(dict(r.settings)))
            decision = (r.id, r.node, r.decision, r.risk_score, *told, 0, 0, 1, AT, p := p + 1)
            seal ^= (h := hash_values(decision))
            # Without the versions of a task and a policy, which this playbook does not have.
            connection.execute(DECISION_ROW, (*decision[:-1], None, None, p, h))
            rows = []
            for i, s in enumerate(r.shown):
                row = (r.id, s.bullet_number, i, 1, 1, "DECLINE", p := p + 1)
                seal ^= (h := hash_values(row))
                rows.append((*row, h))
            connection.executemany(SELECTION_ROW, rows)
            outcome = (r.id, 1, "DECLINE", "label", AT, p := p + 1)
            seal ^= (h := hash_values(outcome))
            connection.execute(OUTCOME_ROW, (*outcome, h))
            moves = []
            for s in r.shown:
                n = s.bullet_number
                c = counts[n] = counts[n] + 1
                h = lasting[n] ^ hash_values((n, c, 0, c, p := p + 1))
                seal ^= whole[n] ^ h
                whole[n] = h
                moves.append((p, h, n))
            connection.executemany(MOVE, moves)
        connection.execute("UPDATE clock SET position = ?, seal = ?", (p, seal))
        connection.execute("COMMIT")
    rate = len(records) / (time.perf_counter() - started)
    connection.close()
    return rate


def check_hashed_by_hand() -> None:
    """Check with the ledger's own audit that the rows written by hand are right."""
    with tempfile.TemporaryDirectory() as folder:
        hashed_by_hand(folder, "normal", [new_record(n) for n in range(100)], BATCH)
        (file,) = Path(folder).glob("*.db")
        with BulletPlaybook(f"sqlite:///{file}") as playbook:
            assert not verify(playbook)


def compare(durability: Durability, batch: int, outcomes: int, repeats: int) -> dict[str, Any]:
    """The three ways in turn, so that a busy moment slows each."""
    records = [new_record(n) for n in range(outcomes)]
    ways = (ours, by_hand, hashed_by_hand)
    rates = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(repeats):
            rates.append([way(folder, durability, records, batch) for way in ways])
    middle = [round(median(some)) for some in zip(*rates, strict=True)]
    return {
        "durability": durability,
        "batch": batch,
        "ours_per_second": middle[0],
        "by_hand_per_second": middle[1],
        "hashed_by_hand_per_second": middle[2],
        "ratio": round(median(ours / hand for ours, hand, _ in rates), 3),
        "hashed_ratio": round(median(hashed / hand for _, hand, hashed in rates), 3),
    }


def flush_ms(normal: dict[str, Any], full: dict[str, Any], wanted: float) -> tuple[float, float]:
    """The cost of a flush on this machine, and the cost from which on the wanted ratio holds.

    It is calculated: a slower flush slows both ways by the same time.
    """
    ours, by_hand = 1e3 / full["ours_per_second"], 1e3 / full["by_hand_per_second"]
    here = max(by_hand - 1e3 / normal["by_hand_per_second"], 0.0)
    return here, here + max(wanted * ours - by_hand, 0.0) / (1 - wanted)


def labels(number: int) -> dict[str, Any]:
    """The time that a file of labels for stored decisions takes."""
    with tempfile.TemporaryDirectory() as folder, new_playbook(folder, "normal") as playbook:
        for start in range(0, number, 1_000):
            with playbook.writing():
                for n in range(start, min(start + 1_000, number)):
                    playbook.record(new_record(n))
        given = [(f"d{n}", Label("DECLINE", "chargeback")) for n in range(number)]
        started = time.perf_counter()
        report = feedback_many(playbook, given)
        seconds = time.perf_counter() - started
        assert report.changed == number
        return {
            "labels": number,
            "seconds": round(seconds, 1),
            "labels_per_second": round(number / seconds),
        }


def main(quick: bool = False) -> dict[str, Any]:
    """Print the table and return the figures."""
    size, repeats = (200, 3) if quick else (1_000, 9)
    plans: list[tuple[Durability, int, int, float]] = [
        ("normal", 1, size, 0.25),
        ("normal", BATCH, size, 0.4),
        ("full", 1, size // 5, 0.8),
        ("full", BATCH, size, 0.0),
    ]
    rows = []
    out = sys.stdout.write
    check_hashed_by_hand()
    out(f"{'':<17}{'outcomes per second':>29}{'to by hand':>15}\n")
    out(f"{'durability':<11}{'batch':>6}{'ours':>9}{'by hand':>10}{'hashed':>10}")
    out(f"{'ours':>8}{'wanted':>8}{'hashed':>8}\n")
    for durability, batch, outcomes, wanted in plans:
        row = compare(durability, batch, outcomes, repeats)
        rows.append(row)
        out(
            f"{durability:<11}{batch:>6}{row['ours_per_second']:>9}{row['by_hand_per_second']:>10}"
            f"{row['hashed_by_hand_per_second']:>10}{row['ratio']:>8}{wanted or 'shown':>8}"
            f"{row['hashed_ratio']:>8}\n"
        )
    here, enough = flush_ms(rows[0], rows[2], plans[2][3])
    out(f"a flush costs {here:.2f} ms here; full reaches {plans[2][3]} from {enough:.2f} ms on\n")
    cost = labels(2_000 if quick else 100_000)
    rate = cost["labels_per_second"]
    out(f"{cost['labels']:,} labels by feedback: {cost['seconds']} s, {rate}/s\n")
    return {"outcomes": rows, "flush_ms": here, "flush_ms_wanted": enough, "feedback": cost}


if __name__ == "__main__":
    main("--quick" in sys.argv)
