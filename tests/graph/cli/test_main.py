"""The command line, run as a person runs it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import from_json, run
from project_paths import ROOMS, ROOT
from typer.testing import CliRunner

from acegraph.graph import generate_transactions
from acegraph.graph.cli.main import app
from acegraph.graph.cli.running.setup import SETTING_NAMES
from acegraph.state import BulletPlaybook, gone

ACEGRAPH = Path(sys.executable).with_name("acegraph")
RISKY = "User pays $2,500 at 3 AM via VPN, account is 2 days old"


def run_process(folder: Path, program: Sequence[str | Path], *words: str) -> str:
    """What the program prints in a process of its own."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OPENAI_", "ACE_"))}
    done = subprocess.run(
        [*program, *words], cwd=folder, env=clean, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a labelled file and a playbook trained on it."""
    folder = tmp_path_factory.mktemp("trained")
    cases = [e.item() for e in generate_transactions(150, seed=2)]
    (folder / "cases.json").write_text(json.dumps(cases))
    run(folder, "train", "cases.json")
    return folder


@pytest.mark.slow
def test_decide_gives_reasons_and_another_process_remembers(tmp_path: Path) -> None:
    decided = run_process(tmp_path, [ACEGRAPH], "decide", RISKY, "--id", "mine")
    assert decided.startswith("DECLINE")
    assert "no language model" in decided
    module = [sys.executable, "-m", "acegraph.graph.cli"]
    assert "is correct: True" in run_process(tmp_path, module, "feedback", "mine", "DECLINE")


def test_decide_reads_fields_and_speaks_json(tmp_path: Path) -> None:
    done = run(tmp_path, "decide", '{"amount": 12, "hour": 14}', "--json", "--truth", "APPROVE")
    result = from_json(done)
    assert (result["decision"], result["verdict"]) == ("APPROVE", "right")


def test_train_makes_a_playbook_that_lasts(trained: Path) -> None:
    listed = from_json(run(trained, "playbook", "list", "--json"))
    assert len(listed["bullets"]) >= 2
    shown = from_json(run(trained, "playbook", "list", "b1", "--json"))
    assert shown["proof"] == "proven"
    assert shown["history"][0]["change"] == "added"
    assert "heuristic" in run(trained, "playbook", "list").stdout


def test_a_playbook_is_carried_elsewhere(trained: Path, tmp_path: Path) -> None:
    run(trained, "playbook", "export", str(tmp_path / "book.json"))
    first = run(tmp_path, "playbook", "add", "book.json").stdout
    again = run(tmp_path, "playbook", "add", "book.json").stdout
    assert "held" in first
    assert "held" not in again
    assert "duplicate" in again


@pytest.fixture(scope="module")
def compared(trained: Path) -> Any:
    """What a comparison on that file prints for machines."""
    words = ["compare", "cases.json", "--train", "60", "--test", "40", "--seeds", "2", "--json"]
    elsewhere = "sqlite:///typo.db"  # a setting for other commands does no harm
    return from_json(run(trained, *words, ACE_PLAYBOOK_URL=elsewhere))


@pytest.mark.slow
def test_compare_prints_one_object_with_all_figures(compared: Any) -> None:
    assert set(compared["modes"]) >= {"vanilla", "offline", "offline_online", "online"}
    for mode in compared["modes"].values():
        for metric in ("accuracy", "balanced_accuracy", "average_precision"):
            assert mode[metric]["low"] <= mode[metric]["mean"] <= mode[metric]["high"]
    for name in ("logistic_regression", "depth_3_tree", "gradient_boosting"):
        assert 0 <= compared["challengers"][name]["balanced_accuracy"]["mean"] <= 1
    assert (compared["seeds"], compared["test_cases"]) == (2, 80)


@pytest.mark.slow
def test_compare_takes_two_files_and_any_columns(tmp_path: Path) -> None:
    for name, seed in (("a.csv", 1), ("b.csv", 2)):
        rows = ["amt,hour,outcome"]
        for e in generate_transactions(60, seed=seed):
            rows.append(
                f"{e.fields['amount']},{e.fields['hour']},{'Y' if e.answer == 'DECLINE' else 'N'}"
            )
        (tmp_path / name).write_text("\n".join(rows))
    done = run(
        tmp_path, "compare", "a.csv", "b.csv",
        "--label", "outcome", "--positive", "Y", "--baselines", "none",
    )  # fmt: skip
    assert "vanilla" in done.stdout
    assert "approving everything scores" in done.stdout.replace("\n", " ")


@pytest.mark.slow
def test_demo_prints_the_table(tmp_path: Path) -> None:
    done = run(tmp_path, "demo", "--rows", "100")
    for word in ("vanilla", "offline + online", "logistic regression", "best attainable"):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["decide", ""], "empty"),
        (["decide", "{nonsense"], "not JSON"),
        (["decide", "pays $1", "--mode", "telepathy"], "mode"),
        (["decide", "pays $1", "--truth", "perhaps"], "unknown label"),
        (["decide", "pays $1", "--playbook", "mysql://u:secret@x"], "cannot open"),
        (["decide", "pays $1", "--playbook", "ace"], "did you mean sqlite:///ace?"),
        (["decide", "pays $1", "--playbook", "sqlite://"], "in a file"),
        (["decide", "pays $1", "--playbook", "sqlite:///no/where.db"], "no folder"),
        (["feedback", "x", "APPROVE", "--playbook", "sqlite:///typo.db"], "no playbook"),
        (["playbook", "add", "."], "Is a directory"),
        (["train", "nowhere.csv"], "no such file"),
        (["compare"], "compare wants FILE"),
        (["compare", "nowhere.json"], "no such file"),
        (["playbook", "list"], "no playbook"),
        (["playbook", "add", "nowhere.json"], "No such file"),
        (["decide", "pays $1", "--model", "gpt-3.5-turbo"], "OPENAI_API_KEY"),
        (["fly"], "No such command 'fly'"),
        (["erase", "--before", "9", "--entity", "a=b"], "by time alone"),
        (["doctor", "--playbook", "ace"], "did you mean sqlite:///ace?"),
        (["playbook", "set", "b1", "retired", "--who", "a:b"], "who: a name has"),
        (["doctor", "--playbook", "sqlite:///no/where.db"], "no folder"),
        (["copy", "nowhere.db", "new.db"], "no playbook at sqlite:///nowhere.db"),
        (["read", "."], "cannot be read: Is a directory"),
        (["demo", "--playbook", "ace.db"], "demo takes no --playbook"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path, words: list[str], why: str) -> None:
    message = run(tmp_path, *words, code=2).stderr
    assert why in message
    assert "secret" not in message
    assert len(message.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_usage_says_where_to_read_on(tmp_path: Path) -> None:
    assert "(see acegraph demo --help)" in run(tmp_path, "demo", "--seeds", "0", code=2).stderr
    done = run(tmp_path, "decide", "pays $1", "--truth", "perhaps", code=2)
    assert "unknown label" in done.stderr
    assert list(tmp_path.iterdir()) == []


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return name


@pytest.mark.parametrize(
    ("text", "words", "why"),
    [
        ("a,y\n1,Betrug\n2,ok\n", ["--label", "y", "--positive", "Betrugg"], "found Betrug, ok"),
        ("a,y\n1,\n", ["--label", "y"], "field 'y' is empty"),
        ("a,b,z\n1,2,0\n", [], "say which one to take (--label)"),
        (f"a,y\n{'x' * 200_000},0\n", ["--label", "y"], "not CSV"),
        ("a:y\n1:0\n", ["--label", "y"], "it has a:y"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, text: str, words: list[str], why: str
) -> None:
    done = run(tmp_path, "train", write(tmp_path, "f.csv", text), *words, code=2)
    assert why in done.stderr
    assert not (tmp_path / "ace.db").exists()


@pytest.mark.parametrize(
    "bullets", ["5", "null", '[{"content": "x"}]', '[{"confidence": NaN, "condition": null}]']
)
def test_a_broken_export_is_refused(tmp_path: Path, bullets: str) -> None:
    body = {"format": "acegraph-playbook", "format_version": 2, "bullets": json.loads(bullets)}
    done = run(tmp_path, "playbook", "add", write(tmp_path, "b.json", json.dumps(body)), code=2)
    assert len(done.stderr.strip().splitlines()) == 1


def test_erase_and_purge_from_the_command_line(tmp_path: Path) -> None:
    fields = json.dumps({"amount": 9, "customer_id": "C-778"})
    run(tmp_path, "decide", fields, "--id", "d1")
    run(tmp_path, "feedback", "d1", "DECLINE", "--source", "feed")
    unknown = run(tmp_path, "playbook", "purge", "--source", "nobody", code=1).stderr
    assert "nothing in this playbook came from source 'nobody'" in unknown
    gone = run(tmp_path, "playbook", "purge", "--author", "gpt-4o-mini", code=2).stderr
    assert "--author is gone: acegraph playbook set ID retired" in gone
    both = ("--entity", "customer_id=C-1", "--entity", "customer_id=C-778")
    purged = run(tmp_path, "playbook", "purge", *both).stdout
    assert "  labels: 1\n" in purged
    assert "FIELD=VALUE wanted" in run(tmp_path, "erase", "--entity", "C-778", code=2).stderr
    done = run(tmp_path, "erase", "--entity", "customer_id=C-778").stdout
    assert done.startswith("  cases: d1\n")
    assert b"C-778" not in (tmp_path / "ace.db").read_bytes()
    assert run(tmp_path, "verify").stdout.startswith("clean")
    run(tmp_path, "erase", "--decision", "nobody", code=1)


def test_markup_in_what_a_stranger_wrote_is_only_text(tmp_path: Path) -> None:
    done = run(tmp_path, "decide", "pays $5 [/red] [bold]", "--id", "[/red]")
    assert "[/red]" in done.stdout
    assert run(tmp_path, "feedback", "[/red]", "APPROVE").stdout.startswith("[/red]")


@pytest.mark.slow
def test_a_file_of_any_size_is_split_by_default(tmp_path: Path) -> None:
    cases = [e.item() for e in generate_transactions(75, seed=1)]
    file = write(tmp_path, "cases.json", json.dumps(cases))
    figures = from_json(run(tmp_path, "compare", file, "--baselines", "none", "--json"))
    assert figures["test_cases"] == 45


def test_a_bullet_is_switched_off_and_on(trained: Path, tmp_path: Path) -> None:
    run(trained, "copy", "ace.db", str(tmp_path / "ace.db"))
    bullets = from_json(run(tmp_path, "playbook", "list", "--json"))["bullets"]
    first = next(one["id"] for one in bullets if one["content"].startswith("DECLINE"))
    run(tmp_path, "playbook", "set", first, "retired", "--why", "audit")
    shown = from_json(run(tmp_path, "playbook", "list", first, "--json"))
    assert (shown["status"], shown["history"][-1]["reason"]) == ("retired", "audit")
    again = run(tmp_path, "playbook", "set", first, "retired").stdout
    assert again == f"  bullet: {first}\n  status: retired\n  changed: False\n"
    run(tmp_path, "playbook", "set", first, "active")
    assert from_json(run(tmp_path, "playbook", "list", first, "--json"))["status"] == "active"


def test_training_again_adds_nothing(trained: Path) -> None:
    again = from_json(run(trained, "train", "cases.json", "--json"))
    assert again["bullets_added"] == 0
    assert again["repeated"] == again["cases"] == 150
    assert "repeated: 150" in run(trained, "train", "cases.json").stdout


def test_training_after_a_rollback_says_why_it_learns_nothing(
    trained: Path, tmp_path: Path
) -> None:
    run(trained, "copy", "ace.db", str(tmp_path / "ace.db"))
    run(tmp_path, "playbook", "rollback", "0")
    done = run(tmp_path, "train", str(trained / "cases.json"))
    assert "learned from all of these cases before" in done.stdout


def test_too_few_rows_are_one_line(trained: Path) -> None:
    done = run(trained, "compare", "cases.json", "--train", "1000", code=2)
    assert "1000 training and 0 test rows wanted; the file has 150" in done.stderr


def test_an_empty_playbook_says_that_it_knows_nothing(tmp_path: Path, trained: Path) -> None:
    assert "no bullets and no labelled cases" in run(tmp_path, "decide", RISKY).stderr
    assert "no bullets" not in run(trained, "decide", RISKY, "--no-learn").stderr


def test_what_could_not_be_read_is_said(tmp_path: Path) -> None:
    assert "nothing could be read" in run(tmp_path, "decide", "lorem ipsum", code=3).stdout
    rows = ["memo,fraud", *(f"lorem ipsum dolor amet {i},{i % 2}" for i in range(30))]
    file = write(tmp_path, "f.csv", "\n".join(rows))
    done = run(tmp_path, "train", file, "--label", "fraud", "--text", "memo")
    assert "nothing could be read from its texts" in done.stderr


def test_the_version_is_told(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout.startswith("acegraph 0.")


def test_an_unknown_decision_is_one_line(tmp_path: Path) -> None:
    run(tmp_path, "decide", "pays $5")
    done = run(tmp_path, "feedback", "nobody", "APPROVE", code=1)
    assert "no decision 'nobody'" in done.stderr


def test_a_bad_row_teaches_nothing(tmp_path: Path) -> None:
    rows = [e.item() for e in generate_transactions(30, seed=1)]
    (tmp_path / "cases.json").write_text(json.dumps([*rows, {"answer": "APPROVE"}]))
    done = run(tmp_path, "train", "cases.json", code=2)
    assert "row 31: field 'query' is missing" in done.stderr
    assert not (tmp_path / "ace.db").exists()


def test_help_teaches(tmp_path: Path) -> None:
    for words in (["--help"], ["demo", "--help"], ["compare", "--help"], ["playbook", "--help"]):
        assert "Usage" in run(tmp_path, *words).stdout


def test_compare_takes_a_playbook_only_where_it_means_something(trained: Path) -> None:
    words = ["compare", "cases.json", "--playbook", "sqlite:///typo.db"]
    assert "no playbook at" in run(trained, *words, code=2).stderr
    assert "no playbook at" in run(trained, *words, "--against", "1", code=2).stderr
    words = ["compare", "cases.json", "--playbook", "sqlite:///ace.db", "--against", "1"]
    assert "against in force" in run(trained, *words).stdout


@pytest.mark.slow
def test_the_figures_of_compare_are_named_in_its_documentation(compared: Any) -> None:
    page = (ROOT / "docs" / "json.md").read_text()
    assert [name for name in compared if f"`{name}`" not in page] == []


def test_options_in_groups_are_options_of_the_command() -> None:
    command: Any = typer.main.get_command(app)
    words = {word for option in command.commands["compare"].params for word in option.opts}
    files = {"file", "test_file", "--label", "--text", "--positive"}
    files |= {"--as", "--task"}
    splits = {"--train", "--test", "--seeds", "--split"}
    assert words == files | splits | {"--against", "--baselines", "--report", "--model"}


def test_a_source_is_purged_however_it_is_spaced(tmp_path: Path) -> None:
    run(tmp_path, "decide", "pays $9", "--id", "d1")
    run(tmp_path, "feedback", "d1", "DECLINE", "--source", "partner feed ")
    purged = run(tmp_path, "playbook", "purge", "--source", " partner feed\u200b").stdout
    assert "  labels: 1\n" in purged


def test_an_imported_file_is_purged_by_the_very_name_it_had(trained: Path, tmp_path: Path) -> None:
    name = "bu\u0308cher.json"  # as macOS writes it; text is cleaned to one letter
    run(trained, "playbook", "export", str(tmp_path / name))
    run(tmp_path, "playbook", "add", name)
    run(tmp_path, "playbook", "purge", "--source", name)
    with BulletPlaybook(f"sqlite:///{tmp_path / 'ace.db'}") as playbook:
        assert {bullet.status for bullet in playbook} == {"retired"}


def test_every_setting_that_the_code_names_is_in_the_example() -> None:
    modules = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    code = "".join(path.read_text() for path in modules if path.name != "setup.py")
    found = set(re.findall(r"\bACE_[A-Z_]+[A-Z]\b", code))
    assert found - gone.VARIABLES.keys() <= SETTING_NAMES
    assert not gone.VARIABLES.keys() & SETTING_NAMES


@pytest.mark.parametrize("name", gone.COMMANDS)
def test_a_command_that_is_gone_says_where_it_went(tmp_path: Path, name: str) -> None:
    said = run(tmp_path, *name.split(), "x", code=2).stderr
    assert said == f"acegraph: acegraph {name} is gone: {gone.COMMANDS[name]}\n"


@pytest.mark.parametrize("name", gone.OPTIONS)
def test_an_option_that_is_gone_says_where_it_went(tmp_path: Path, name: str) -> None:
    *words, option = name.split()
    said = run(tmp_path, *(words or ["verify"]), option, code=2).stderr
    assert said == f"acegraph: {option} is gone: {gone.OPTIONS[name]}\n"


def test_the_options_of_the_whole_may_stand_anywhere(tmp_path: Path) -> None:
    before = run(tmp_path, "--playbook", "a.db", "--json", "decide", "pays $5", "--id", "d1")
    behind = run(tmp_path, "decide", "pays $5", "--id", "d1", "--json", "--playbook=a.db")
    assert from_json(before)["decision_id"] == from_json(behind)["decision_id"] == "d1"
    assert [path.name for path in tmp_path.glob("*.db")] == ["a.db"]
    assert "What was read" in run(tmp_path, "read", "--", "--json").stdout  # a text, for people


@pytest.mark.parametrize("name", gone.VARIABLES)
def test_a_variable_that_is_gone_stops_with_a_line_that_says_where_it_went(
    tmp_path: Path, name: str
) -> None:
    said = run(tmp_path, "doctor", code=2, **{name: "x"}).stderr
    assert said == f"acegraph: {name} is gone: {gone.VARIABLES[name]}\n"


def test_a_setting_that_nobody_reads_is_named() -> None:
    known = {name: None for name in os.environ if name.startswith("ACE_")}
    done = CliRunner().invoke(app, ["playbook"], env=known | dict.fromkeys(SETTING_NAMES, ""))
    assert done.stderr == ""
    done = CliRunner().invoke(app, ["playbook"], env=known | {"ACE_PLAYBOK_URL": "sqlite:///x.db"})
    assert done.stderr == "ACE_PLAYBOK_URL is no setting; did you mean ACE_PLAYBOOK_URL?\n"


def test_a_shell_can_read_the_example_environment(tmp_path: Path) -> None:
    example = (ROOT / ".env.example").read_text()
    settings = re.sub(r"^# (?=[A-Z_]+=\S)", "", example, flags=re.MULTILINE)
    (tmp_path / ".env").write_text(settings)
    words = ["sh", "-c", "set -a; . ./.env; set +a; env"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    variables = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    assert done.stderr == ""
    assert json.loads(variables["ACE_PRICES"]) == {"gpt-4o-mini": [0.15, 0.6]}
