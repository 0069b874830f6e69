"""Whatever of a command fails or is torn: the ledger is clean, and doing it again completes it."""

import subprocess
import sys
import tomllib

import pytest
from project_paths import DATA, SUPPORT
from swept_acts import COMMANDS

READ = {
    *("backtest", "doctor", "monitor", "replay", "desk", "serve"),
    *("playbook list", "playbook history", "entity show", "entity top", "list show"),
}
"""These write nothing of their own: what the service writes is what `decide` and `feedback` do."""

NOT_YET = {"list add", "list import", "list end"}
"""These write, and are not swept yet."""


def test_every_command_that_writes_is_swept() -> None:
    surface = tomllib.loads((DATA / "surface.toml").read_text("utf-8"))
    swept = {
        name
        for name in surface["commands"]["names"]
        if any(f"{words} ".startswith(f"{name} ") for words in COMMANDS.values())
    }
    assert set(surface["commands"]["names"]) - swept == READ | NOT_YET


@pytest.mark.slow
def test_one_write_of_each_kind_of_each_act_may_fail() -> None:
    words = [sys.executable, str(SUPPORT / "sweep.py"), "--again", "--most", "1", "--cuts", "20"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " 0 with findings" in done.stdout.splitlines()[-1]
