"""`acegraph` as a person runs it, but in this process: a new one imports for two seconds."""

import json
import os
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from acegraph.graph.cli.main import app, main

Done = CompletedProcess[str]


def run(folder: Path, *words: str, code: int = 0, **env: str) -> Done:
    """Run a command in a folder without anybody's key or settings; a traceback fails the test."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        for name in [name for name in os.environ if name.startswith(("OPENAI_", "ACE_"))]:
            patch.delenv(name)
        for name, value in env.items():
            patch.setenv(name, value)
        patch.setattr("sys.argv", ["acegraph", *words])
        patch.setattr("__main__.__package__", "")  # else usage names pytest as the program
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == code, out.getvalue() + err.getvalue()
    return Done(words, code, out.getvalue(), err.getvalue())


def invoke(*words: str, code: int = 0, **env: str) -> Result:
    """Run a command here and now; an error that it does not tell in one line stays visible."""
    done = CliRunner().invoke(app, words, env=env)
    assert done.exit_code == code, (done.output, done.exception)
    return done


def from_json(done: Done) -> Any:
    return json.loads(done.stdout)
