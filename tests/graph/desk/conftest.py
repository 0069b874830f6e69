"""A desk over a small playbook, and one over an empty playbook."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copy

import pytest
from desk_office import Office, fill
from desk_playbooks import add_people

from acegraph.graph.desk.desk import Desk
from acegraph.graph.server.service import Service, ServiceSettings
from acegraph.state import BulletPlaybook

Built = tuple[Path, dict[str, str]]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A playbook with people only, and their tokens."""
    file = tmp_path_factory.mktemp("desk") / "empty.db"
    return file, add_people(f"sqlite:///{file}")


@pytest.fixture(scope="module")
def filled(empty: Built) -> Built:
    """The same with rules, decisions and labels."""
    file = empty[0].with_name("filled.db")
    copy(empty[0], file)
    with BulletPlaybook(f"sqlite:///{file}") as book:
        fill(book)
    return file, empty[1]


def open_copy(built: Built, folder: Path) -> Iterator[Office]:
    copy(built[0], folder / "ace.db")
    with BulletPlaybook(f"sqlite:///{folder / 'ace.db'}") as book:
        yield Office(Desk(Service(ServiceSettings(), book)), built[1], book)


@pytest.fixture
def office(filled: Built, tmp_path: Path) -> Iterator[Office]:
    yield from open_copy(filled, tmp_path)


@pytest.fixture
def empty_office(empty: Built, tmp_path: Path) -> Iterator[Office]:
    yield from open_copy(empty, tmp_path)
