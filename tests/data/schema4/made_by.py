"""What made the playbooks of schema 4 in this folder; run by acegraph of commit d0641cd only.

Usage: python made_by.py URL FOLDER. With a SQLite URL it also writes cards.csv and decisions.json.
"""

import csv
import json
import random
import shutil
import sys
from pathlib import Path

from acegraph.graph import create_ace_graph, feedback, load_dataset
from acegraph.graph.training.pipeline import TrainingPipeline
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.maintenance.people.users import add_user

COUNTRIES = ["FR", "DE", "US", "NL", "ES"]
CHANNELS = ["web", "app", "shop"]


def payment(rng: random.Random, number: int) -> dict[str, object]:
    day = f"2026-0{1 + number // 28 % 9}-{1 + number % 28:02d}"
    return {
        "paid_at": f"{day}T{rng.randrange(24):02d}:15:00",
        "amount": round(rng.lognormvariate(4, 1.1), 2),
        "country": rng.choice(COUNTRIES),
        "channel": rng.choice(CHANNELS),
        "items": rng.randrange(1, 9),
        "account_days": rng.randrange(1, 900),
        "customer_id": f"C{rng.randrange(60):04d}",
    }


def is_fraud(one: dict[str, object], rng: random.Random) -> bool:
    looks_like_it = (one["channel"] == "web" and one["account_days"] < 150) or one["amount"] > 350
    return looks_like_it if rng.random() < 0.95 else not looks_like_it


def write_csv(file: Path, rng: random.Random) -> None:
    rows = []
    for number in range(200):
        one = payment(rng, number)
        rows.append({"id": f"p{number:03d}", **one, "is_fraud": int(is_fraud(one, rng))})
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def settings(number: int) -> dict[str, object]:
    """Of every ten decisions some have costs, a base rate, delays of labels, hidden fields."""
    return {
        6: {"costs": "missed_fraud=1,false_decline=0.1"},
        7: {"base_rate": 0.02},
        8: {"mature_days": {"no_chargeback": 90}},
        9: {"redact": ["customer_id", *(["memo"] if number > 50 else [])]},
    }.get(number % 10, {})


def fill(book: BulletPlaybook, file: Path, rng: random.Random) -> list[dict[str, object]]:
    items = load_dataset(file, query=None, answer="is_fraud")
    TrainingPipeline(book).train_offline(items)
    graph = create_ace_graph(playbook=book).compile()
    live = []
    for number in range(100):
        one = {**payment(rng, 200 + number), "memo": f"order {number} of Mr Lindqvist"}
        if number % 10 != 9:
            del one["memo"]
        truth = "DECLINE" if is_fraud(one, rng) else "APPROVE"
        given = {"transaction": one, "decision_id": f"live-{number}"}
        if number % 4 == 0:
            given["ground_truth"] = truth
        context = settings(number)
        made = graph.invoke(given, context=AceContext(**context))
        if number % 4 == 1:
            feedback(book, f"live-{number}", truth, source="chargeback")
        live.append({**given, "settings": context, "decision": made["decision"]})
    for name, role in (("ann", "approver"), ("bob", "viewer")):
        add_user(book.database, name, role, f"secret-of-{name}-0123456789")
    add_user(book.database, "eve", "analyst")
    return live


def held_out(book: BulletPlaybook, rng: random.Random) -> list[dict[str, object]]:
    graph = create_ace_graph(playbook=book).compile()
    context = AceContext(learn=False)
    answers = []
    for number in range(100):
        one = payment(rng, number)
        given = {"transaction": one, "decision_id": f"held-out-{number}"}
        copy = graph.invoke(given, context=context)
        answers.append({**given, "decision": copy["decision"], "risk": copy["risk_score"]})
    return answers


def main() -> None:
    url, folder = sys.argv[1], Path(sys.argv[2])
    rng = random.Random(44)
    write_csv(folder / "cards.csv", rng)
    with BulletPlaybook(url) as book:
        live = fill(book, folder / "cards.csv", rng)
    if url.startswith("sqlite"):  # what it would decide is asked of a copy
        copy = shutil.copy(url.removeprefix("sqlite:///"), folder / "copy.db")
        with BulletPlaybook(f"sqlite:///{copy}") as book:
            answers = {"live": live, "held_out": held_out(book, rng)}
        (folder / "decisions.json").write_text(json.dumps(answers, indent=0) + "\n")


if __name__ == "__main__":
    main()
