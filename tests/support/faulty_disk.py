"""A disk that is built from what was done to it, and a process whose disk fails (faulty_disk.c)."""

import ctypes
import json
import os
import random
import signal
import struct
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Final

ONCE, FULL = 1, 2
"""How it fails: with an error, or with no room from then on."""
_SECTOR: Final = 512
_LONGEST_SECONDS: Final = 300
_HEAD: Final = struct.Struct("=ciqq")


@dataclass(frozen=True)
class Op:
    """One thing that was done to the disk."""

    kind: str
    """Create, write, truncate, sync, rename, link, unlink; or a note of what was acknowledged."""
    path: str
    offset: int
    data: bytes


class Disk:
    """The files below a folder, built from what was done to them."""

    def __init__(self, start: Path, folder: Path) -> None:
        """The files of `start`, as if they were in `folder`."""
        self.folder = folder
        files = [path for path in sorted(start.rglob("*")) if path.is_file()]
        names = [str(folder / path.relative_to(start)) for path in files]
        self.names = {name: number for number, name in enumerate(names)}
        self.bytes = [bytearray(path.read_bytes()) for path in files]

    def changes(self, op: Op) -> dict[str, int | None]:
        """What an operation does to names: what has a name is a number in `bytes`."""
        if op.kind == "C":
            self.bytes.append(bytearray())
            return {op.path: len(self.bytes) - 1}
        file = self.names.get(op.path)
        return {op.path: file if op.kind == "L" else None} | (
            {} if op.kind == "U" else {op.data.decode(): file}
        )

    def name(self, changes: Mapping[str, int | None]) -> None:
        """Give names, and take them."""
        for path, file in changes.items():
            self.names.pop(path, None)
            if file is not None:
                self.names[path] = file

    def put(self, file: int, op: Op) -> None:
        """Change the bytes of a file."""
        there = self.bytes[file]
        if op.kind == "T":
            there[op.offset :] = b"\0" * (op.offset - len(there))
            return
        there.extend(b"\0" * (op.offset - len(there)))
        there[op.offset : op.offset + len(op.data)] = op.data

    def do(self, op: Op) -> None:
        """All of it, at once."""
        if op.kind in "WT":
            if op.path in self.names:  # else it was removed before
                self.put(self.names[op.path], op)
        elif op.kind not in "SN":
            self.name(self.changes(op))

    def write_into(self, folder: Path) -> None:
        """Make the files in another folder."""
        for path, file in self.names.items():
            place = folder / Path(path).relative_to(self.folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(self.bytes[file])


def after_power_cut(start: Path, folder: Path, ops: Sequence[Op], rng: random.Random) -> Disk:
    """What may be there after a power cut behind these.

    A flush keeps the bytes of its file and all names until then. Of later names the first few are
    kept, and of later writes each or not, or the sectors at its beginning.
    """
    live, kept = Disk(start, folder), Disk(start, folder)
    names: list[dict[str, int | None]] = []
    waiting: defaultdict[int, list[Op]] = defaultdict(list)
    for op in ops:
        if op.kind == "S":
            for each in names:
                kept.name(each)
            names.clear()
            for late in waiting.pop(live.names.get(op.path, -1), ()):
                kept.put(live.names[op.path], late)
        elif op.kind in "WT":
            if op.path in live.names:
                waiting[live.names[op.path]].append(op)
                live.do(op)
        elif op.kind != "N":
            names.append(live.changes(op))
            live.name(names[-1])
            kept.bytes += [bytearray() for _ in live.bytes[len(kept.bytes) :]]
    for each in names[: rng.randint(0, len(names))]:
        kept.name(each)
    for file, late_ops in waiting.items():
        for op in late_ops:
            if (luck := rng.randrange(5)) < 2:
                kept.put(file, op)
            elif luck == 2 and op.kind == "W":
                sectors = rng.randint(0, len(op.data) // _SECTOR)
                kept.put(file, Op("W", op.path, op.offset, op.data[: _SECTOR * sectors]))
    return kept


def read_ops(trace: Path) -> Iterator[Op]:
    """What faulty_disk.c has recorded."""
    body, at = trace.read_bytes(), 0
    while at < len(body):
        kind, path, offset, data = _HEAD.unpack_from(body, at)
        middle, end = at + _HEAD.size + path, at + _HEAD.size + path + data
        yield Op(kind.decode(), body[at + _HEAD.size : middle].decode(), offset, body[middle:end])
        at = end


def in_child(work: Callable[[], Any]) -> Any:
    """The result of a function in a forked process; a string that begins with `died` if none."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.alarm(_LONGEST_SECONDS)
            os.close(ours)
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                found = work()
            with os.fdopen(theirs, "w") as out:
                json.dump(found, out)
            code = 0
        finally:
            if code:
                os.write(theirs, f"died: {traceback.format_exc()[-1500:]}".encode())
            os._exit(code)
    os.close(theirs)
    with os.fdopen(ours) as told:
        text = told.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if not status else text or f"died: status {status}"


class Watched:
    """What the process does below a folder, from here on; armed, some of it fails."""

    def __init__(self, folder: Path, trace: Path | None = None, at: int = 0, how: int = 0) -> None:
        self._library = ctypes.CDLL(None)
        records = os.open(trace, os.O_CREAT | os.O_WRONLY | os.O_TRUNC) if trace else -1
        self._library.disk_arm(os.fsencode(folder), at, how, records)

    def note(self, text: str) -> None:
        """Something has been acknowledged."""
        self._library.disk_note(text.encode())

    def heal(self) -> None:
        """Nothing fails any more."""
        self._library.disk_arm(b"", 0, 0, -1)
