"""What the sweep does: steps with a playbook, commands, and what must be so afterwards."""

import gzip
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from faulty_disk import Watched
from ledger_cases import NODE

from acegraph.graph import create_ace_graph, learn_waiting
from acegraph.graph.cli.main import main as command_line
from acegraph.graph.operations.feedback import feedback
from acegraph.nodes import Curator
from acegraph.nodes.curator.refine import refine
from acegraph.state import AceContext, AceError, BulletPlaybook, Case, rollback, verify
from acegraph.state.database import tables
from acegraph.state.database.open import open_database
from acegraph.state.database.places import left_by_killed

Note = Callable[[str], None]
_VOLATILE: Final = ("hash", "seal", "position", "changed", "seen", "covers", "at", "salt", "entity")
_CHANGES: Final = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.+]+|\b[0-9a-f]{32,}\b")
"""What differs between two runs of the same: times, and what is drawn."""


# What is done, each with an open playbook; done again it changes nothing.


def make(book: BulletPlaybook, note: Note) -> None:
    """A new playbook, and a rule by hand."""
    if not len(book):
        book.add_bullet("DECLINE when amount >= 500", NODE)
    note("bullet b1")


def decide(book: BulletPlaybook, note: Note) -> None:
    graph = create_ace_graph(
        playbook=book, agent=lambda given: "APPROVE", context=AceContext(learn_later=True)
    ).compile()
    for i in range(3):
        payment = {"amount": 300 + 100 * i, "hour": i}
        graph.invoke({"transaction": payment, "decision_id": f"d{i}"})
        note(f"decision d{i}")


def label(book: BulletPlaybook, note: Note) -> None:
    for i in range(3):
        feedback(book, f"d{i}", "DECLINE", source="chargeback", at=f"2026-01-0{i + 1}")
        note(f"label d{i} DECLINE")


def correct(book: BulletPlaybook, note: Note) -> None:
    feedback(book, "d1", "APPROVE", source="chargeback", at="2026-02-01")
    note("label d1 APPROVE")


def learn(book: BulletPlaybook, note: Note) -> None:
    learn_waiting(
        book,
        reflector=lambda given: {"new_bullet": f"Heuristic of {given['query']}"},
        curator=Curator(gate="off", screen=None, similarity_threshold=1),
    )
    note("bullet b2")


def remember(book: BulletPlaybook, note: Note) -> None:
    cases = []
    for i in range(60):
        amount = 10 + 37 * i % 900
        verdict = "DECLINE" if amount > 610 else "APPROVE"
        cases.append(Case(f"h{i}", {"amount": amount, "hour": i % 24}, verdict))
    book.remember(cases, NODE)


def refine_all(book: BulletPlaybook, note: Note) -> None:
    refine(book, NODE, Curator())


def retire(book: BulletPlaybook, note: Note) -> None:
    if not any(entry["change"] == "status" for entry in book.history("b1")):
        book.set_status("b1", "retired", "closed")


def roll_back(book: BulletPlaybook, note: Note) -> None:
    rollback(book, 1, "as it was")


def leave_a_lesson(book: BulletPlaybook, note: Note) -> None:
    context = AceContext(learn_later=True)
    graph = create_ace_graph(playbook=book, agent=lambda given: "APPROVE", context=context)
    payment = {"amount": 800, "hour": 4}
    graph.compile().invoke({"transaction": payment, "decision_id": "d3", "ground_truth": "DECLINE"})
    note("label d3 DECLINE")


STEPS: Final = (
    *(make, decide, label, correct, learn, remember, refine_all, retire, roll_back),
    leave_a_lesson,
)
_TRAIN: Final = "train rows.csv --label is_fraud --as id=id"
COMMANDS: Final[Mapping[str, str]] = {
    "demo": "demo --write new.csv --rows 200",
    "train": _TRAIN,
    "read": "read rows.csv --label is_fraud --out task.json",
    "decide command": "decide {'amount':700,'hour':3} --id o1",
    "feedback": "feedback o1 APPROVE",
    "feedback file": "feedback --file labels.csv",
    "learn command": "learn",
    "review": "review d0 --verdict DECLINE --who ann --why seen",
    "policy": "policy explore=0.02 --why labels --who ann",
    "policy approve": "policy --approve --who bob",
    "users": "users ann --role administrator",
    "copy": "copy ace.db copy.db",
    "playbook export": "playbook export bullets.json",
    "playbook export sql": "playbook export rules.sql --to sql",
    "playbook add": "playbook add exported.json",
    "playbook set": "playbook set b1 retired --why closed",
    "playbook rollback": "playbook rollback 2 --why before",
    "playbook purge": "playbook purge --source chargeback",
    "score csv": "score rows.csv --out scores.csv --allow-missing",
    "score parquet": "score rows.csv --out scores.parquet --allow-missing",
    "score lines": "score rows.csv --out scores.jsonl.gz --allow-missing",
    "compare": "compare rows.csv --label is_fraud --baselines none --report report.html",
    "erase": "erase --decision d0",
    "erase before": "erase --before 0d",
    "init": "init shop",
    "migrate": "verify --playbook old.db",
}
"""Everything that a person can type and that writes."""


def act(name: str, folder: Path, watched: Watched | None = None) -> None:
    """Do it. Where the disk fails, it is an error of ours; with room again it can be done."""
    os.chdir(folder)
    note = watched.note if watched else lambda text: None
    step = next((step for step in STEPS if step.__name__ == name), None)
    if step is None:
        run_command(name)
        return
    book: BulletPlaybook | None = None
    for attempt in range(3):
        try:
            book = book or BulletPlaybook("sqlite:///ace.db", durability="full")
            step(book, note)
            break
        except (AceError, OSError):
            if watched is None:
                raise
            if attempt:
                watched.heal()
    if book is not None:
        book.close()


def run_command(name: str) -> None:
    """A command, as a person types it; an error that is told in one line is none here."""
    sys.argv = ["acegraph", *COMMANDS[name].replace("'", '"').split()]
    try:
        command_line()
    except SystemExit as ended:
        if ended.code not in (0, None, 1, 2, 3):
            raise


def state_of(folder: Path) -> dict[str, str]:
    """What is there, but for times and what is drawn: by file or table a hash."""
    found: dict[str, str] = {}
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    named = tuple(part.name for one in folders for part in left_by_killed(one))
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name.startswith(named):
            continue  # the doctor names what was left
        if path.name.endswith(("-wal", "-shm", "-journal")):
            found["a log that nobody merged"] = path.name
        elif path.suffix == ".db":
            with closing(open_database(path)) as database, database.snapshot() as connection:
                for table in tables.metadata.sorted_tables:
                    if table is not tables.meta and table is not tables.clock:
                        found[f"{path.name} {table.name}"] = _hash(_rows(connection, table))
        elif ".part" in path.name:
            found["a part that nobody names"] = path.name
        else:
            body = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            found[path.name] = _hash(_CHANGES.sub("", body.decode("latin-1")))
    return found


def _rows(connection: sa.Connection, table: sa.Table) -> str:
    columns = [c for c in table.c if c.name not in _VOLATILE and not c.name.endswith("_at")]
    rows = sorted(repr(tuple(row)) for row in connection.execute(sa.select(*columns)))
    return _CHANGES.sub("", "\n".join(rows))


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def audit(folder: Path, notes: Sequence[str]) -> list[str]:
    """What is wrong with what is there: each playbook is clean, and what was said is so."""
    findings = []
    for path in sorted(folder.glob("*.db")):
        with BulletPlaybook(path) as book:
            findings += [f"{path.name}: {one}" for one in verify(book)]
            if path.name == "ace.db":
                findings += [f"lost: {note}" for note in notes if not _stands(book, note, notes)]
    return findings


def _stands(book: BulletPlaybook, note: str, notes: Sequence[str]) -> bool:
    what, name, *given = note.split()
    try:
        if what == "label":
            newest = [one for one in notes if one.startswith(f"label {name} ")][-1]
            return note != newest or book.decision(name)["label"] == given[0]
        return bool(book.get_bullet(name) if what == "bullet" else book.decision(name))
    except AceError:
        return False


def audit_and_repeat(name: str, folder: Path, notes: Sequence[str]) -> dict[str, Any]:
    """Audit, do it again, and tell what is there."""
    findings = audit(folder, notes)
    act(name, folder)
    return {"findings": findings + audit(folder, notes), "state": state_of(folder)}
