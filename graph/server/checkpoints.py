"""Checkpoints that cannot execute code: a serializer that reads a short list of types and no other.

LangGraph's own serializer builds any class or function that a checkpoint names (CVE-2026-28277).
This one refuses the whole checkpoint then: data that was tampered with must not be used at all. The
development server keeps pickles of its own; only the owner is let into their folder.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import ormsgpack
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from acegraph.state import CheckpointRefused, InvalidSettings

_PLAIN: Final = ("null", "bytes", "bytearray", "msgpack")
"""The formats that are read: neither pickle nor JSON that names classes."""
_NAMED: Final = frozenset(range(6))
"""The codes of msgpack extensions that name something to call: constructors, methods, models."""
_SNAPSHOT: Final = 7
_OWN: Final = frozenset(
    {("langgraph.types", name) for name in ("Interrupt", "Command", "Send", "Overwrite")}
    | {("decimal", "Decimal"), ("datetime", "datetime"), ("datetime", "date")}
)
"""The classes that are built: those of LangGraph itself, and the values that a transaction may come
with. The rest of our state is plain JSON."""


def strict_serializer(*allowed: type) -> SerializerProtocol:
    """The `serde` argument of a checkpointer; `allowed` are the classes in the host's own state.

    `SqliteSaver(connection, serde=strict_serializer())`
    """
    return _Strict(_OWN | {(kind.__module__, kind.__qualname__) for kind in allowed})


class _Strict(SerializerProtocol):
    def __init__(self, allowed: frozenset[tuple[str, str]]) -> None:
        self._allowed = allowed
        self._inner = JsonPlusSerializer(allowed_msgpack_modules=sorted(allowed))

    def dumps_typed(self, obj: object) -> tuple[str, bytes]:
        return self._inner.dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> object:
        kind, content = data
        if kind not in _PLAIN:
            raise CheckpointRefused(f"a checkpoint of type {kind!r}; only plain data is read")
        if kind == "msgpack":
            self._check(content)
        return self._inner.loads_typed(data)

    def _check(self, content: bytes) -> None:
        """Look through everything, however deep, before anything is built."""
        calls: list[object] = []

        def note(code: int, inner: bytes) -> None:
            call = _unpack(inner, note) if code in _NAMED or code == _SNAPSHOT else code
            if code != _SNAPSHOT:
                calls.append(call)

        _unpack(content, note)
        for call in calls:
            target = call[:2] if isinstance(call, list) else [call]
            is_name = all(isinstance(part, str) for part in target)
            if not (is_name and tuple(target) in self._allowed):
                name = ".".join(map(str, target))
                raise CheckpointRefused(f"a checkpoint that wants {name[:100]!r} to be called")


def shut_server_folder(folder: Path = Path(".langgraph_api")) -> None:
    """Let only its owner into the folder that `langgraph dev` unpickles when it starts.

    Whoever can write there runs code as the user who starts the server.
    """
    if folder.is_dir():
        try:
            folder.chmod(0o700)
        except OSError:
            raise InvalidSettings(
                f"{folder} belongs to somebody else, and the server executes what is in it: "
                "remove it, or start the server in a folder of your own"
            ) from None


def _unpack(content: bytes, hook: Callable[[int, bytes], object]) -> object:
    try:
        return ormsgpack.unpackb(content, ext_hook=hook, option=ormsgpack.OPT_NON_STR_KEYS)
    except ValueError as error:
        raise CheckpointRefused(f"a checkpoint that cannot be read: {error}") from None
