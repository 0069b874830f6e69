"""What people expect of a command line: `init`, `.env`, dry runs, completion."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import from_json, run
from project_paths import ROOT

from acegraph.graph.cli.console import alone, playbook_url, who
from acegraph.graph.cli.printing import progress_bar, wants_json
from acegraph.graph.cli.running.setup import SETTINGS
from acegraph.state import BulletPlaybook


def test_init_writes_two_files_and_overwrites_none(tmp_path: Path) -> None:
    run(tmp_path, "init", "new/place")
    place = tmp_path / "new" / "place"
    assert "acegraph.graph.studio:graph" in (place / "langgraph.json").read_text()
    assert (place / ".env").read_text() == SETTINGS == (ROOT / ".env.example").read_text()
    assert stat.S_IMODE((place / ".env").stat().st_mode) == 0o600
    (place / ".env").write_text("ACE_LOG_FORMAT=json")
    assert "left as it is" in run(tmp_path, "init", "new/place").stdout
    assert (place / ".env").read_text() == "ACE_LOG_FORMAT=json"


def test_the_settings_of_a_file_count_unless_the_environment_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", os.environ.copy())  # what the file sets ends with the test
    (tmp_path / ".env").write_text(
        "# where\nexport ACE_PLAYBOOK_URL='sqlite:///here.db'\nPATH=/nowhere\nACE_REDACT=\n"
    )
    run(tmp_path, "decide", "pays 12 EUR at noon")
    assert (tmp_path / "here.db").exists()
    os.environ.pop("ACE_PLAYBOOK_URL")
    run(tmp_path, "decide", "pays 12 EUR at noon", ACE_PLAYBOOK_URL="sqlite:///there.db")
    assert (tmp_path / "there.db").exists()
    assert os.environ["PATH"] != "/nowhere"
    (tmp_path / ".env").write_text("nonsense\n")
    assert "line 1: NAME=VALUE wanted" in run(tmp_path, "monitor", code=2).stderr


@pytest.mark.parametrize(
    "words", ["erase --before 0d", "erase --decision d1", "playbook purge --source feedback"]
)
def test_a_dry_run_tells_and_changes_nothing(tmp_path: Path, words: str) -> None:
    with BulletPlaybook(f"sqlite:///{tmp_path}/ace.db") as book:
        book.add_bullet("DECLINE when amount >= 900", "fraud_detection")
    run(tmp_path, "decide", '{"amount": 1000}', "--id", "d1")
    run(tmp_path, "feedback", "d1", "DECLINE")
    before = (tmp_path / "ace.db").read_bytes()
    done = run(tmp_path, *words.split(), "--dry-run")
    assert "nothing was changed" in done.stderr
    assert (tmp_path / "ace.db").read_bytes() == before
    assert done.stdout == run(tmp_path, *words.split()).stdout
    assert (tmp_path / "ace.db").read_bytes() != before
    assert from_json(run(tmp_path, "verify", "--json"))


def test_a_shell_can_complete_commands() -> None:
    asked = {
        "_ACEGRAPH_COMPLETE": "complete_bash",
        "COMP_WORDS": "acegraph play",
        "COMP_CWORD": "1",
    }
    code = "import sys; sys.argv[0] = 'acegraph'; from acegraph.graph.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["playbook"]


def test_long_work_tells_how_far_it_is_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress_bar(silent=0.0) as of_seed:
        of_seed(None)("learning", 3, 9)
    assert "learning: 3 of 9, after 0 s" in capsys.readouterr().err
    with progress_bar() as of_seed:
        of_seed(None)("learning", 3, 9)
    assert not capsys.readouterr().err


@pytest.mark.slow
def test_an_interruption_says_that_what_was_done_is_kept(tmp_path: Path) -> None:
    BulletPlaybook(f"sqlite:///{tmp_path}/ace.db").close()
    words = [sys.executable, "-m", "acegraph.graph.cli", "serve", "--stdin"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(words, cwd=tmp_path, text=True, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write('{"transaction": "pays $5", "decision_id": "d1"}\n')
        process.stdin.flush()
        assert "d1" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said.strip().endswith("what was done until now is kept, run it again to go on")


def test_what_is_said_before_a_command_ends_with_it(tmp_path: Path) -> None:
    before = playbook_url.get(), who.get(), alone.get(), wants_json.get()
    said = ("--json", "--alone", "--who", "ann", "--playbook", "x.db")
    assert from_json(run(tmp_path, "policy", "explore=0.02", "--why", "labels", *said))
    run(tmp_path, "policy", "explore=2", "--why", "labels", *said, code=2)
    assert (playbook_url.get(), who.get(), alone.get(), wants_json.get()) == before
