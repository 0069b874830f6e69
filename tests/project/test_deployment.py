"""The files in deploy/: commands that exist, a container without rights, a check that can fail."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pages import commands, options_of
from project_paths import ROOT

from acegraph.graph.cli.running.setup import SETTING_NAMES

DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()


def check_command(words: list[str]) -> None:
    """A command line whose command and options exist."""
    options = options_of(commands()[words[0]])
    assert {word for word in words[1:] if word.startswith("--")} <= set(options)


def test_the_container_starts_a_command_that_exists_and_is_not_root() -> None:
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.MULTILINE)
    assert json.loads(entry) == ["acegraph"]
    check_command(json.loads(re.findall(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)[0]))
    assert re.search(r"^USER [1-9]\d+$", DOCKERFILE, re.MULTILINE)
    assert DOCKERFILE.count("--require-hashes") == 2
    settings = set(re.findall(r"\bACE_\w+", DOCKERFILE))
    assert settings <= SETTING_NAMES


def test_the_health_check_fails_when_the_service_is_not_ready() -> None:
    (check,) = re.findall(r"^    CMD (.*)$", DOCKERFILE, re.MULTILINE)
    _, flag, code = json.loads(check)
    for status, expected in ((200, 0), (503, 1)):

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self, status: int = status) -> None:
                assert self.path == "/ready"
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        with HTTPServer(("127.0.0.1", 0), Answer) as server:
            Thread(target=server.handle_request, daemon=True).start()
            here = code.replace(":8000", f":{server.server_port}")
            done = subprocess.run([sys.executable, flag, here], capture_output=True, check=False)
        assert done.returncode == expected


def test_compose_gives_the_service_no_rights_and_a_database_that_is_ready() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    service = services["service"]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["depends_on"]["database"]["condition"] == "service_healthy"
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()


def test_the_unit_starts_a_command_that_exists() -> None:
    (line,) = re.findall(r"^ExecStart=(.*)$", (DEPLOY / "acegraph.service").read_text(), re.M)
    program, *words = line.split()
    assert program.endswith("/acegraph")
    check_command(words)


def test_the_locked_versions_have_hashes_and_are_those_that_the_package_wants() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = {
        DEPLOY / "requirements.txt": ["serve", "postgres"],
        ROOT / ".ci" / "requirements.txt": sorted(extras.keys() - {"dev"}),
    }
    for lock, names in wanted.items():
        locked = locked_versions(lock)
        asked = [*project["project"]["dependencies"], *(one for n in names for one in extras[n])]
        for requirement in map(Requirement, asked):
            if requirement.name != "acegraph":
                version = locked[canonicalize_name(requirement.name)]
                assert version in requirement.specifier, requirement
    built = locked_versions(DEPLOY / "build-requirements.txt")
    for requirement in map(Requirement, project["build-system"]["requires"]):
        assert built[requirement.name] in requirement.specifier


def locked_versions(lock: Path) -> dict[str, str]:
    """The version of each package in a lock file, in which each one has hashes."""
    blocks = re.split(r"^(?=\w)", lock.read_text(), flags=re.MULTILINE)
    found: dict[str, str] = {}
    for block in filter(None, blocks):
        name, version = re.findall(r"^([\w.-]+)(?:\[[\w,]+\])?==([\w.!+]+)", block)[0]
        assert "--hash=sha256:" in block, name
        found[canonicalize_name(name)] = version
    return found


def test_the_unit_gives_the_service_few_rights() -> None:
    unit = DEPLOY / "acegraph.service"
    words = ("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)
    if shutil.which(words[0]) is None:
        pytest.skip("systemd-analyze is not there")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-200:]


def test_compose_limits_memory_processors_and_processes() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for service in services.values():
        assert {"mem_limit", "cpus", "pids_limit"} <= service.keys()
        assert service["cap_drop"] == ["ALL"]
    assert all("size=" in place for place in services["service"]["tmpfs"])
    assert "PASSWORD" not in services["service"]["environment"]["ACE_PLAYBOOK_URL"]
