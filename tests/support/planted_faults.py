"""Plant each fault of tests/data/planted_faults.toml in a copy of the code, one after another.

A fault breaks one promise in a line or two, as a careless change could. The test files that hold
the promise pass without the fault and must fail with it: `make faults`.
"""

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from project_paths import DATA, ROOMS, ROOT

FAULTS: Final = DATA / "planted_faults.toml"
_LONGEST_SECONDS: Final = 900
_FAILED = re.compile(r"^FAILED (.+?)(?: - (.*))?$", re.MULTILINE)
_NO_FAILURE: Final = ("SyntaxError", "IndentationError", "NameError", "ImportError", "ModuleNot")
"""A test that fails by one of these says that the fault was planted badly, and nothing else."""


@dataclass(frozen=True)
class Fault:
    """A promise, what breaks it in one file, and the test files that fail then."""

    number: int
    promise: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def finds_its_place(self, tree: Path) -> bool:
        """Whether the text that it replaces stands in the file, once."""
        path = tree / self.file
        return path.is_file() and path.read_text("utf-8").count(self.old) == 1


def read_faults(file: Path = FAULTS) -> list[Fault]:
    """All faults, in their order."""
    return [
        Fault(
            entry["number"],
            entry["promise"],
            entry["file"],
            entry["old"].strip("\n"),
            entry["new"].strip("\n"),
            tuple(entry["tests"]),
        )
        for entry in tomllib.loads(file.read_text("utf-8"))["fault"]
    ]


@contextmanager
def copied() -> Iterator[Path]:
    """A copy of the last commit in a temporary folder, from which `acegraph` can be imported."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(tree)], check=True)
        package = tree.parent / "links" / "acegraph"
        package.mkdir(parents=True)
        for path in (*(tree / "package").iterdir(), *(tree / room for room in ROOMS)):
            (package / path.name).symlink_to(path)
        yield tree


def run_tests(tree: Path, files: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run test files of a copy until one fails."""
    links = str(tree.parent / "links")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rf", "--tb=line"]
    command += ["-p", "no:cacheprovider", "-k", "not postgres", *files]
    environment = {**os.environ, "PYTHONPATH": links, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        command,
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LONGEST_SECONDS,
        check=False,
    )


@contextmanager
def planted(fault: Fault, tree: Path) -> Iterator[None]:
    """The fault stands in the copy; afterwards the file is as it was."""
    path = tree / fault.file
    text = path.read_text("utf-8")
    try:
        _write(path, text.replace(fault.old, fault.new))
        yield
    finally:
        _write(path, text)


def _write(path: Path, text: str) -> None:
    """Write code; what was compiled of it before could be as long, and of the same second."""
    compile(text, str(path), "exec")
    path.write_text(text, "utf-8")
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def held_by(fault: Fault, tree: Path) -> tuple[bool, str]:
    """Whether a test fails with the fault, and which; or why that does not count."""
    if not fault.finds_its_place(tree):
        return False, "FINDS ITS PLACE NO LONGER"
    with planted(fault, tree):
        result = run_tests(tree, fault.tests)
    failed = _FAILED.search(result.stdout)
    if result.returncode == 0:
        return False, f"NOT HELD: {' '.join(fault.tests)} pass"
    if result.returncode != 1 or failed is None:
        return False, f"NO TEST FAILED: {' '.join(result.stdout.split()[-40:])}"
    why = failed[2] or ""
    if why.startswith(_NO_FAILURE):
        return False, f"PLANTED BADLY: {failed[1]}: {why}"
    return True, f"held by {failed[1]}"


def main() -> int:
    """Plant the faults, print a line for each, and give 0 if a test fails on each of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="N,N", help="plant only these")
    parser.add_argument("--unplanted", action="store_true", help="plant none, only run the tests")
    given = parser.parse_args()
    wanted = {int(number) for number in given.only.split(",") if number}
    faults = [fault for fault in read_faults() if not wanted or fault.number in wanted]
    files = list(dict.fromkeys(name for fault in faults for name in fault.tests))
    with copied() as tree:
        if (whole := run_tests(tree, files)).returncode:
            print(f"without any fault a test fails:\n{whole.stdout[-3000:]}")
            return 1
        print(f"without a fault {len(files)} test files pass", flush=True)
        if given.unplanted:
            return 0
        held = sum(_tell(fault, tree) for fault in faults)
    print(f"{held} of {len(faults)} faults make a test fail")
    return int(held < len(faults))


def _tell(fault: Fault, tree: Path) -> bool:
    """Plant a fault, and print what became of it."""
    begun = time.monotonic()
    is_held, what = held_by(fault, tree)
    took = time.monotonic() - begun
    print(f"{fault.number:2} {fault.promise}\n   {what} ({took:.0f} s)", flush=True)
    return is_held


if __name__ == "__main__":
    sys.exit(main())
