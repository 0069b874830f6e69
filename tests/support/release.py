"""Build the release into dist/ and try it as somebody would who has nothing else installed.

`python tests/support/release.py` builds wheel and source archive, has twine check them, runs the
demo and the hints for extras from the wheel alone, and runs the tests of the source archive from
the source archive: all of them, or those that are named. Then it writes the bill of materials and
the licences, and asks pip-audit for known holes. `... floors` and `... newest` run tests with the
lowest and the newest versions that pyproject.toml allows.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from project_paths import ROOT

DIST = ROOT / "dist"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = f"{PROJECT['name']}-{PROJECT['version']}"
FOR_DEVELOPERS = {"dev", "docs"}
FOR_USERS = ",".join(sorted(PROJECT["optional-dependencies"].keys() - FOR_DEVELOPERS))
HINTS = {
    "serve": "serve",
    "desk": "desk",
    "score x.parquet": "tables",
    "labels --playbook postgresql://nobody@127.0.0.1/none": "postgres",
    "compare x.csv": "report",
}
"""Commands that need an extra, and which one they must name."""
AT_ALL_VERSIONS = (
    "tests/project/test_packaging.py tests/project/test_imports.py tests/graph/test_build.py "
    "tests/graph/cli/test_conventions.py tests/graph/server tests/graph/tables "
    "tests/graph/experiments tests/graph/metrics tests/nodes/models tests/nodes/text tests/state"
).split()
"""Tests that touch every package that we depend on."""


def run(*words: object, cwd: Path = ROOT, code: int = 0) -> str:
    """Run a program as if this checkout were not there; what it printed."""
    own = ("PYTHON", "VIRTUAL_ENV", "ACE_", "OPENAI_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**clean, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout[-5000:]}")
    return done.stdout


def uv(*words: object) -> str:
    return run(sys.executable, "-m", "uv", *words)


def environment(folder: Path, *packages: object) -> Path:
    """A new environment with nothing but some packages; its folder of programs."""
    uv("venv", "--quiet", "--python", sys.executable, folder)
    uv("pip", "install", "--quiet", "--python", folder / "bin/python", *packages)
    return folder / "bin"


def build() -> tuple[Path, Path]:
    """The wheel and the source archive, as twine accepts them."""
    uv("build", "--quiet", "--clear", "--out-dir", DIST)
    wheel, archive = DIST / f"{NAME}-py3-none-any.whl", DIST / f"{NAME}.tar.gz"
    print(uv("tool", "run", "twine", "check", "--strict", wheel, archive).strip())
    return wheel, archive


def try_wheel(wheel: Path, folder: Path) -> None:
    """The demo, and the hint of every extra, where only the wheel is installed."""
    programs = environment(folder / "plain", wheel)
    version = run(programs / "acegraph", "--version", cwd=folder).strip()
    assert version == f"{PROJECT['name']} {PROJECT['version']}", version
    shown = run(programs / "acegraph", "demo", "--rows", "400", cwd=folder)
    assert "offline + online" in shown, shown
    for words, extra in HINTS.items():
        said = run(programs / "acegraph", *words.split(), cwd=folder, code=2)
        assert f"pip install 'acegraph[{extra}]'" in " ".join(said.split()), said
        assert "Traceback" not in said, said
    print(f"{version} from the wheel alone: the demo and {len(HINTS)} hints")


def try_archive(archive: Path, folder: Path, tests: list[str]) -> None:
    """The tests of the source archive, from the source archive."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    source = folder / NAME
    programs = environment(folder / "tests", f"{source}[dev]")
    words = ("-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *tests)
    print(run(programs / "python", *words, cwd=source).splitlines()[-1])


def write_materials(wheel: Path, folder: Path) -> None:
    """What the wheel with all extras for users brings along, and under which licences."""
    programs = environment(folder / "users", f"{wheel}[{FOR_USERS}]")
    bill = DIST / f"{NAME}.cdx.json"
    python = programs / "python"
    uv(
        *("tool", "run", "--from", "cyclonedx-bom", "cyclonedx-py", "environment", python),
        *("--pyproject", ROOT / "pyproject.toml", "--output-file", bill),
    )
    parts = json.loads(bill.read_text())["components"]
    rows = sorted(f"| {part['name']} | {part['version']} | {_licences(part)} |" for part in parts)
    texts = [
        f"## {path.relative_to(ROOT)}\n\n{path.read_text().strip()}\n"
        for path in sorted(ROOT.glob("graph/**/*LICENSE*"))
    ]
    head = f"# Licences\n\n{NAME} is under the MIT licence. It depends on:\n\n"
    table = "\n".join(["| package | version | licence |", "|---|---|---|", *rows])
    vendored = "\n# Files of others in the package\n\n" + "\n".join(texts) if texts else ""
    (DIST / "LICENSES.md").write_text(f"{head}{table}\n{vendored}")
    unknown = [part["name"] for part in parts if not part.get("licenses")]
    print(f"{bill.name}: {len(parts)} packages; without a licence that is told: {unknown}")


def look_for_holes() -> None:
    """End where a hole is known of a package that the image installs, or none can be asked for."""
    lock = ROOT / "deploy" / "requirements.txt"
    words = ("pip-audit", "--strict", "--disable-pip", "--require-hashes", "--requirement", lock)
    print(uv("tool", "run", *words).strip().splitlines()[-1])


def _licences(part: dict[str, list[dict[str, dict[str, str]]]]) -> str:
    """The licences of a component, on one line: some packages give the whole text for a name."""
    words = [
        str(one.get("expression") or one["license"].get("id") or one["license"].get("name", ""))
        for one in part.get("licenses", ())
    ]
    return ", ".join(dict.fromkeys(word.splitlines()[0][:80] for word in words if word)) or "?"


def try_versions(resolution: str, folder: Path) -> None:
    """Tests with the lowest or the newest versions of what pyproject.toml names."""
    programs = environment(folder / "tests", "--resolution", resolution, f"{ROOT}[dev]")
    # What newer versions deprecate, old ones among each other may still use.
    warnings = ("-W", "default") if resolution == "lowest-direct" else ()
    words = ("-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *warnings, *AT_ALL_VERSIONS)
    print(f"{resolution}: {run(programs / 'python', *words).splitlines()[-1]}")


def main(what: str = "", *tests: str) -> None:
    """All of it, or one part."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if what in ("floors", "newest"):
            try_versions("lowest-direct" if what == "floors" else "highest", folder)
            return
        wheel, archive = build()
        try_wheel(wheel, folder)
        write_materials(wheel, folder)
        look_for_holes()
        try_archive(archive, folder, [what, *tests] if what else [])


if __name__ == "__main__":
    main(*sys.argv[1:])
