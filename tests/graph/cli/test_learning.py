"""`acegraph train` ends with what a person wants to know, and says the same as JSON."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import invoke as run

from acegraph.graph.cli.printing import print_experiment
from acegraph.graph.experiments.experiment import Experiment
from acegraph.graph.metrics.run import Run
from acegraph.graph.training.report import TrainingReport

pytestmark = pytest.mark.usefixtures("folder")


def write(rows: int, *, flip_at: int) -> None:
    """Large sizes are fraud, and from one row on the small ones are; two rows have no label."""
    rng = np.random.default_rng(0)
    lines = ["paid_at,size,kind,fraud", "2025-12-30 10:00,5,web,", "2025-12-31 10:00,5,web,"]
    for i in range(rows):
        size = int(rng.integers(0, 200))
        is_fraud = ((size >= 100) == (i < flip_at)) != (rng.random() < 0.05)
        day = f"2026-{1 + i // 28 % 12:02}-{1 + i % 28:02} 12:00"
        lines.append(f"{day},{size},{rng.choice(['web', 'shop'])},{int(is_fraud)}")
    Path("f.csv").write_text("\n".join(lines))


CHANCE = "chance hardly ever explains as much, and "
TRAIN = ("train", "f.csv", "--label", "fraud")


@pytest.mark.slow
def test_train_ends_with_rows_frauds_what_was_held_out_and_warnings() -> None:
    write(50, flip_at=50)
    for name in ("a.db", "b.db"):
        delays = ("policy", "mature_days=history=3", "--why", "late", "--alone")
        run(*delays, "--playbook", name)
    said = json.loads(run(*TRAIN, "--playbook", "a.db", "--json").stdout)
    lines = run(*TRAIN, "--playbook", "b.db").stdout.splitlines()
    end = lines[lines.index("  rows: 52") :]
    assert end[1:3] == ["  unlabelled: 2", f"  too young: {said['too_young']}"]
    assert (said["rows"], said["unlabelled"]) == (52, 2)
    assert said["too_young"] > 0
    cases, frauds = said["cases"], said["frauds"]
    assert cases == 50 - said["too_young"]
    assert end[3:5] == [f"  cases: {cases}", f"  frauds: {frauds}"]
    held_out = said["held_out"]
    wanted = f"  held out: {held_out['caught']} of" if held_out else "nothing was held out"
    assert any(line.startswith(wanted) for line in end)
    assert [w.removeprefix("warning: ") for w in end if w.startswith("warning")] == said["warnings"]
    assert "2 rows have no label" in " ".join(said["warnings"])


def test_where_nothing_was_held_out_train_names_what_measures_it() -> None:
    write(30, flip_at=30)
    assert "nothing was held out; acegraph compare says how" in run(*TRAIN).stdout


def test_train_says_that_the_frauds_it_catches_are_old_ones() -> None:
    rng = np.random.default_rng(0)
    lines = ["paid_at,size,fraud"]
    for i in range(300):
        size, by_chance = int(rng.integers(0, 200 if i < 250 else 100)), rng.random() < 0.3
        is_fraud = size >= 100 if i < 250 else by_chance
        lines.append(f"2026-{1 + i // 28:02}-{1 + i % 28:02} 12:00,{size},{int(is_fraud)}")
    last = next(line[:10] for line in reversed(lines[:251]) if line.endswith("1"))
    lines[1:] = reversed(lines[1:])  # the time counts, and not the place
    Path("f.csv").write_text("\n".join(lines))
    held_out = json.loads(run(*TRAIN, "--playbook", "a.db", "--json").stdout)["held_out"]
    new = held_out["newest_frauds"]
    assert (held_out["newest_caught"], new > 10) == (0, True)
    assert held_out["caught"] >= held_out["frauds"] - new - 5
    said = f"{held_out['frauds']} frauds are caught, of the newest sixth of the cases 0 of {new};"
    assert said in run(*TRAIN, "--playbook", "b.db").stdout
    bullets = json.loads(run("playbook", "list", "--playbook", "a.db", "--json").stdout)["bullets"]
    assert last in [bullet["last_right"][:10] for bullet in bullets]
    shown = run("playbook", "list", "--playbook", "a.db").stdout
    assert f"last right {last}" in " ".join(shown.split())


def test_where_fraud_is_rare_train_says_how_much_more_of_it_a_rule_finds() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 200, 1200)
    lines = [f"{size},{int(size >= 190 and rng.random() < 0.9)}" for size in sizes]
    Path("rare.csv").write_text("\n".join(["size,fraud", *lines]))
    train = ("train", "rare.csv", "--label", "fraud", "--as", "size=number", "--playbook")
    told, said = run(*train, "a.db").stdout, json.loads(run(*train, "b.db", "--json").stdout)
    assert re.search(r"1\d(\.\d)? x usual share", told)
    assert ("standard errors" in told, "standard errors" in said["refinement"]) == (False, True)
    assert "  refinement: held-out cases are explained better" in told.replace(CHANCE, "")
    assert "mistakes:" not in told  # on the cases that it learned from


def test_with_costs_and_dates_train_says_what_each_rule_saves_and_stops() -> None:
    rng = np.random.default_rng(0)
    prices = rng.integers(100, 300, 1200)
    days = (f"2026-{1 + i // 280:02}-{1 + i // 10 % 28:02} 12:00" for i in range(1200))
    rows = zip(days, prices, rng.random(1200), strict=True)
    lines = [f"{day},{price},{int(price >= 290 and chance < 0.9)}" for day, price, chance in rows]
    Path("rare.csv").write_text("\n".join(["paid_at,price,fraud", *lines]))
    costs = ("policy", "costs=missed_fraud=1,false_decline=0.1", "--why", "prices", "--alone")
    run(*costs, "--playbook", "a.db")
    train = ("train", "rare.csv", "--label", "fraud", "--as", "price=amount", "--playbook", "a.db")
    told = " ".join(run(*train).stdout.split())
    assert re.search(r"saves [\d,]+ a week", told)
    assert re.search(r"stops 1 honest in \d+ days", told)
    (one, *_) = json.loads(run("playbook", "list", "--playbook", "a.db", "--json").stdout)[
        "bullets"
    ]
    assert one["saved_a_week"] > 0
    assert 0 < one["stopped_a_day"] < 1


@pytest.mark.slow
def test_a_change_is_said_with_its_row_and_can_be_switched_off() -> None:
    write(140, flip_at=80)
    done = run(*TRAIN, "--online", "--playbook", "a.db", "--json")
    said = json.loads(done.stdout)
    assert (said["evidence"], said["rows"]) == (140, 142)
    row = 141 - said["since_change"]
    assert 70 <= row <= 95
    sentence = f"a change was seen at row {row}; {141 - row} of 140 labelled cases still count"
    assert (said["change"], sentence in done.stderr) == (sentence, True)
    held_out = said["held_out"]
    assert held_out["frauds"] == said["frauds"]
    assert 0 < held_out["newest_frauds"] < held_out["frauds"] / 3


def test_compare_says_where_a_change_was_seen(capsys: pytest.CaptureFixture[str]) -> None:
    runs = [Run(["DECLINE", "APPROVE"], ["DECLINE", "APPROVE"], [0.9, 0.1], [None, None])]
    report = TrainingReport(220, 30, 0, 0, 2, 2, Run(), evidence=220, since_change=50)
    modes = ("vanilla", "offline", "offline_online", "online")
    experiment = Experiment(dict.fromkeys(modes, runs), training=[report])
    print_experiment(experiment)
    wanted = "Seed 1, training: a change was seen at row 171; 50 of 220 labelled cases still count"
    assert wanted in capsys.readouterr().out


def test_train_warns_that_a_playbook_approves_every_payment() -> None:
    lines = [f"r{i},{5 + i % 7},{int(i % 40 == 0)}" for i in range(800)]
    Path("rare.csv").write_text("\n".join(["ref,amount,fraud", *lines]))
    train = ("train", "rare.csv", "--label", "fraud", "--as", "ref=id", "--playbook", "r.db")
    (warning,) = json.loads(run(*train, "--json").stdout)["warnings"]
    assert warning == (
        "this playbook approves every payment that it understands: it declines above a risk of "
        "0.091, and no labelled case has one above 0.025"
    )
    schema = json.loads(run("read", "--playbook", "r.db", "--json").stdout)
    assert "ref" not in json.dumps(schema)
    decided = json.loads(run("decide", '{"amount": 7}', "--playbook", "r.db", "--json").stdout)
    assert decided["decision"] == "APPROVE"
    assert not any("not understood" in reason for reason in decided["reasons"])


def test_a_file_of_one_label_teaches_nothing_and_train_says_why() -> None:
    Path("honest.csv").write_text("amount,fraud\n5,0\n7,0\n")
    said = run("train", "honest.csv", "--label", "fraud", "--playbook", "h.db").stdout
    assert "Nothing was learned: all cases have the same label. The scorecard decides alone" in said
    Path("new.csv").write_text("amount\n5\n")
    assert "no bullet acts" in run("score", "new.csv", "--playbook", "h.db").stderr
    Path("chargebacks.csv").write_text("amount,fraud\n5,1\n7,\n")
    said = run("train", "chargebacks.csv", "--label", "fraud", "--playbook", "c.db").stdout
    assert "an empty cell is no label" in said
