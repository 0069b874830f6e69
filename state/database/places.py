"""Where things are stored: a URL as it may be shown, and files that only their owner may read."""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from acegraph.state.errors import InvalidInput, InvalidSettings

if TYPE_CHECKING:
    from sqlalchemy import URL

_SECRET_FROM: Final = 4
"""A shorter text is part of many words; to strike it out there would tell what it is."""


def shown_url(url: str) -> str:
    """A database URL as it may be printed or logged: without password and without options.

    >>> shown_url("postgresql://ann:secret@db/ace?password=secret&sslmode=require")
    'postgresql://ann:***@db/ace'
    >>> shown_url("postgresql://ann:se@cret@db/ace")  # what is the host here?
    'postgresql://***'
    """
    if url.startswith("sqlite:"):  # what stands after ? names a file, or is a mistake
        return re.sub(r"[?&][^=&/]*=[^&]*", "", url)
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    with suppress(ArgumentError, ValueError):
        parsed = make_url(url)
        # A bare @ in a password moves its end into the name of the host or of the database.
        if "@" not in f"{parsed.host}{parsed.database}":
            shown = parsed.set(drivername=parsed.drivername.partition("+")[0], query={})
            return shown.render_as_string(hide_password=True)
    scheme = url.partition("://")[0] if "://" in url else ""
    return f"{scheme}://***" if re.fullmatch(r"[\w+]{1,30}", scheme) else "***"


def secrets_in(url: "URL") -> list[str]:
    """What an error message may not repeat of a URL, the longest text first."""
    options = (str(text) for name, text in url.query.items() if "pass" in name)
    texts = (url.password or "", *options)
    return sorted((t for t in texts if len(t) >= _SECRET_FROM), key=len, reverse=True)


@contextmanager
def whole_file(file: Path, *, overwrite: bool = True) -> Iterator[Path]:
    """Another name for a file that is to be written; at the end it gets its own name.

    A crash or an error leaves all of the file or nothing. Unless it is to `overwrite`, a file that
    is there, or came to be in the meantime, is refused. Only its owner may read it: what is stored
    names people. What killed ones have left in the folder is removed.
    """
    if not file.parent.is_dir():
        raise InvalidSettings(f"no folder {file.parent} for {file.name}")
    for part in left_by_killed(file.parent):
        _remove(part)
    if not overwrite and file.exists():
        raise InvalidInput(f"{file} exists; nothing is overwritten")
    made, lock = _begun(file)
    try:
        made.touch(0o600, exist_ok=False)
        yield made
        with made.open("rb") as written:
            os.fsync(written.fileno())
        if overwrite:
            os.replace(made, file)
        else:
            try:
                os.link(made, file)  # a second name, which nobody has
            except FileExistsError:
                raise InvalidInput(f"{file} exists; nothing is overwritten") from None
            except OSError:  # this file system has no links
                made.rename(file)
        with suppress(OSError):  # some systems cannot open a folder
            folder = os.open(file.parent, os.O_RDONLY)
            os.fsync(folder)  # so that it keeps the name through a loss of power
            os.close(folder)
    finally:
        _remove(made)
        os.close(lock)


def left_by_killed(folder: Path) -> Iterator[Path]:
    """The files of a folder whose writers ended before they were whole."""
    for lock in sorted(folder.glob(".*.part-lock")):
        with suppress(OSError), lock.open("rb") as opened:  # it is gone, or its writer lives
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield lock.with_name(lock.name.removesuffix("-lock"))


def _begun(file: Path) -> tuple[Path, int]:
    """A file to write into, empty, and the lock by which others see that its writer lives."""
    while True:
        made = file.with_name(f".{file.name}.{token_hex(4)}.part")
        lock = os.open(f"{made}-lock", os.O_CREAT | os.O_EXCL, 0o600)
        # Not on the file itself: to close it would end the locks of SQLite in this process.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:  # else somebody took it for one that was left
            return made, lock
        os.close(lock)


def _remove(made: Path) -> None:
    for tail in ("", "-wal", "-shm", "-journal", "-lock"):  # SQLite may have left some of those
        made.with_name(made.name + tail).unlink(missing_ok=True)
