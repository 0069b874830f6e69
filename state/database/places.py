"""Where things are stored: a URL as it may be shown, and files that only their owner may read."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from acegraph.state.errors import InvalidSettings

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


def private_file(file: Path) -> Path:
    """The file, which only its owner may read if it is new: what is stored names people."""
    with suppress(OSError):  # whoever opens it next says what is wrong
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with suppress(OSError):
            os.fchmod(descriptor, 0o600)  # whatever the umask is
        os.close(descriptor)
    return file


@contextmanager
def whole_file(file: Path, *, overwrite: bool = True) -> Iterator[Path]:
    """Another name for a file that is to be written; at the end it gets its own name.

    A crash or an error leaves all of the file or nothing. Unless it is to `overwrite`, a file that
    came to be in the meantime is a FileExistsError.
    """
    if not file.parent.is_dir():
        raise InvalidSettings(f"no folder {file.parent} for {file.name}")
    made = file.with_name(f".{file.name}.{token_hex(4)}.part")
    try:
        yield private_file(made)
        with made.open("rb") as written:
            os.fsync(written.fileno())
        if overwrite:
            os.replace(made, file)
        else:
            try:
                os.link(made, file)  # a second name, which nobody has
            except FileExistsError:
                raise
            except OSError:  # this file system has no links
                made.rename(file)
        with suppress(OSError):  # some systems cannot open a folder
            folder = os.open(file.parent, os.O_RDONLY)
            os.fsync(folder)  # so that it keeps the name through a loss of power
            os.close(folder)
    finally:
        for tail in ("", "-wal", "-shm", "-journal"):  # SQLite may have left those too
            made.with_name(made.name + tail).unlink(missing_ok=True)


def private_folder(folder: Path) -> None:
    """Make a folder, and those around it, that only its owner may enter; an old one stays."""
    for part in (*reversed(folder.parents), folder):
        if not part.is_dir():
            part.mkdir(mode=0o700, exist_ok=True)
