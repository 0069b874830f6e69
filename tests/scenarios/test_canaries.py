"""Canaries: a password, a key and a redacted value go through every command, and leave nowhere."""

import base64
import io
import json
import logging
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import sqlalchemy as sa
import typer
from hidden import hiding
from openai_server import OpenAIServer, failed
from postgres import Server

from acegraph.graph import generate_transactions
from acegraph.graph.cli.main import app, main
from acegraph.state import BulletPlaybook

PASSWORD, KEY, VALUE = "pass/word-canary", "sk-key-canary-0123456789", "Canary Bird-Öztürk"
EMBEDDED = {f"ACE_{role}_MODEL": "embedded" for role in ("AGENT", "JUDGE", "REFLECTOR")}
GIVEN = json.dumps({"amount": 900, "hour": 3, "customerName": VALUE, "memo": f"for {VALUE}"})
COMMANDS = """
decide GIVEN --id one
decide GIVEN --id two --truth DECLINE --json
decide - --truth nonsense
decide '[1]'
train CASES --as customer_name=hidden
train CASES --online --json
train nowhere.csv
compare CASES --train 10 --test 10 --baselines none
compare CASES --against 0
compare --against 99
challenge 99
demo --rows 50 --json --report out/report.html
read CASES
read nowhere.csv
read
read --to json-schema
doctor --no-calls
doctor --no-calls --json
feedback one APPROVE
feedback one DECLINE --json
feedback nobody DECLINE
feedback --file nowhere.csv
review
review one --verdict DECLINE --who ann --why CANARY
review b99 --approve --who ann --why CANARY
replay one
replay nobody
verify
verify --json
playbook
playbook list
playbook list --all --json
playbook list b1
playbook list b99
playbook history
playbook history --json
playbook history 0
playbook history 0 99
playbook export export.json
playbook export nowhere/export.json
playbook add export.json
playbook add nowhere.json
playbook set b1 retired
playbook set b1 active
playbook set b99 retired
playbook rollback 0
playbook rollback 99
playbook purge --source feedback
playbook purge --source nobody --entity customer_name=nobody
copy URL backup.db
copy URL backup.db
copy backup.db restored.db
copy backup.db
erase --entity customer_name=nobody
erase --decision one
erase --decision nobody
erase --before 2020-01-01
erase --before 01.11.2099x
"""
BROKEN = (
    "postgresql://ann:{0}@127.0.0.1:1/x",
    "postgresql://ann@127.0.0.1:1/x?password={0}",
    "postgresql://ann@127.0.0.1:1/x?p%61ssword={0}",
    "postgresql://ann:a@{0}@127.0.0.1:1/x",
    "postgresql://127.0.0.1:1/x?user=ann&password={0}&options=-c%20{0}",
    "postgresql://ann:{0}/x",
    "mysql://ann:{0}@127.0.0.1/x",
    "ann:{0}@127.0.0.1/x",
    "sqlite:///ace.db?password={0}",
    "host=127.0.0.1 port=1 password={0}",
)


class Cage:
    """Runs commands in a folder of their own, and looks for canaries in all that they leave."""

    def __init__(self, folder: Path, cases: Path) -> None:
        self.folder, self.cases = folder, cases
        self.words = {"GIVEN": GIVEN, "CASES": str(cases), "CANARY": "known"}

    def run(self, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
        words = [self.words.get(word, word) for word in shlex.split(line)]
        monkeypatch.setattr(sys, "argv", ["acegraph", *words])
        with pytest.raises(SystemExit):  # and nothing else: a traceback would be output too
            main()

    def canaries(self, *texts: str) -> list[str]:
        """The canaries, in any of their forms, that are in these texts or in the folder's files."""
        files = [f for f in self.folder.rglob("*") if f.is_file()]
        content = b"\n".join([*(text.encode() for text in texts), *(f.read_bytes() for f in files)])
        return sorted(form for form in FORMS if form.encode() in content)


def forms_of(secret: str) -> Iterator[str]:
    """A secret as a server may repeat it; of base64 the signs that do not depend on neighbours."""
    yield secret
    yield secret.upper()
    yield json.dumps(secret)[1:-1]
    yield "".join(f"\\u{ord(sign):04x}" for sign in secret)
    yield quote(secret, safe="")
    yield secret.encode().hex()
    for before in ("", "a", "an"):
        coded = base64.b64encode(f"{before}{secret}".encode()).decode()
        yield coded[4:-4]


FORMS = [form for secret in (PASSWORD, KEY, VALUE) for form in forms_of(secret)]
FORMS += ["word-canary", "word%2Dcanary", "Bird-Öztürk"]


@pytest.fixture
def cage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cage:
    for name in [name for name in os.environ if name.startswith(("OPENAI_", "ACE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = {"customer_name": VALUE, "memo": f"of {VALUE}"}
    generated = generate_transactions(40, seed=1)
    cases = [{"query": {**e.fields, **said}, "answer": e.answer} for e in generated]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with BulletPlaybook(f"sqlite:///{folder / 'ace.db'}") as book:
        hiding(["customer_name"], book)
    return Cage(folder, tmp_path / "cases.json")


def with_password(url: str) -> str:
    """The URL of the test server, which asks for no password, with one."""
    parsed = sa.make_url(url)
    given = parsed if parsed.password else parsed.set(password=PASSWORD)
    return given.render_as_string(hide_password=False)


@pytest.mark.slow
def test_no_command_tells_a_secret(
    cage: Cage,
    postgres: Server,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name, value in (EMBEDDED | {"ACE_EMBEDDING_MODEL": "embedded"}).items():
        monkeypatch.setenv(name, value)
    cage.words["URL"] = with_password(postgres.url())
    with BulletPlaybook(cage.words["URL"]) as book:
        hiding(["customer_name"], book)
    monkeypatch.setenv("ACE_PLAYBOOK_URL", cage.words["URL"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(GIVEN))
    with caplog.at_level(logging.DEBUG):
        for line in (*COMMANDS.strip().splitlines(), *unlisted_commands()):
            cage.run(line, monkeypatch)
            out, err = capfd.readouterr()
            assert cage.canaries(out, err, caplog.text) == [], line
            caplog.clear()
            if line == "verify":
                assert "postgresql://postgres:***@" in out
    names = {file.name for file in cage.folder.iterdir()}
    assert names >= {"export.json", "backup.db", "restored.db", "out"}
    assert oct((cage.folder / "out").stat().st_mode & 0o777) == "0o700"
    assert oct((cage.folder / "restored.db").stat().st_mode & 0o777) == "0o600"


def unlisted_commands() -> list[str]:
    """Commands that the list above does not know yet: they are at least run as they are."""
    group = typer.main.get_command(app)
    names = [*group.commands, *(f"playbook {n}" for n in group.commands["playbook"].commands)]  # type: ignore[attr-defined]
    serving = {"serve", "desk"}
    return [n for n in names if n not in serving and f"\n{n}" not in COMMANDS]


@pytest.mark.parametrize("url", BROKEN)
def test_a_url_that_cannot_be_opened_is_shown_without_its_password(
    cage: Cage, url: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ACE_PLAYBOOK_URL", url.format(quote(PASSWORD, safe="/")))
    for line in ("verify", "decide GIVEN", "doctor --no-calls", "playbook list", "train CASES"):
        cage.run(line, monkeypatch)
        out, err = capfd.readouterr()
        assert "acegraph: " in err or "problem" in out, (line, out, err)
        assert cage.canaries(out, err) == [], (line, out, err)


def test_a_server_that_repeats_the_key_tells_nobody(
    cage: Cage,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("ACE_PLAYBOOK_URL", "sqlite:///ace.db")
    for role in ("AGENT", "JUDGE", "REFLECTOR"):
        monkeypatch.setenv(f"ACE_{role}_MODEL", "gpt-4o-mini")
    in_base64 = [base64.b64encode(f"{name}:{KEY}".encode()).decode() for name in ("", "a", "an")]
    said = [form for form in forms_of(KEY) if form[:4] not in "".join(in_base64)] + in_base64
    with OpenAIServer() as server, caplog.at_level(logging.DEBUG):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url.replace("://", f"://ann:{PASSWORD[5:]}@"))
        for status in (401, 400, 404, 422, 500):
            server.on_all(failed(status, " ".join(said)))
            for line in ('decide "$40 at noon"', "decide '{\"amount\": 40}' --json", "doctor"):
                cage.run(line, monkeypatch)
                out, err = capfd.readouterr()
                assert cage.canaries(out, err, caplog.text) == [], (status, line, out, err)
        assert server.requests
    assert KEY not in "".join(str(r.body) for r in server.requests)


def test_no_value_passes_for_a_line_of_ours(
    cage: Cage, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in EMBEDDED.items():
        monkeypatch.setenv(name, value)
    forged = "one\nclean: FORGED\x1b[2J\u2028clean: FORGED"
    cage.words |= {"FORGED": forged, "GIVEN": json.dumps({"amount": 9, "memo": forged})}
    for line in (
        "decide GIVEN --id FORGED",
        "decide FORGED --id order",
        "decide GIVEN --truth FORGED",
        "feedback order DECLINE --source FORGED",
        "feedback FORGED DECLINE",
        "review order --verdict DECLINE --who FORGED --why FORGED",
        "playbook set FORGED retired",
        "playbook purge --source FORGED",
        "replay FORGED",
        "train FORGED",
        "copy ace.db FORGED/x.db",
        "erase --decision FORGED",
        "FORGED",
    ):
        cage.run(line, monkeypatch)
        out, err = capfd.readouterr()
        assert "\x1b" not in out + err, line
        assert not [said for said in (out + err).splitlines() if said.startswith("clean")], line
