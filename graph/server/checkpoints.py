"""Checkpoints that cannot execute code: a serializer that reads a short list of types and no other.

LangGraph's own builds whatever class or function a checkpoint names (CVE-2026-28277). This one
refuses the whole checkpoint: what was tampered with is not to be worked on, not even as plain data.
"""

from typing import Any, Final

import ormsgpack
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from acegraph.state import CheckpointRefused

_PLAIN: Final = ("null", "bytes", "bytearray", "msgpack")
"""Never pickle, nor JSON that names classes."""
_NAMED: Final = frozenset(range(6))
"""The codes of extensions that name something to call: constructors, methods, models."""
_SNAPSHOT: Final = 7
_OWN: Final = frozenset(
    {("langgraph.types", name) for name in ("Interrupt", "Command", "Send", "Overwrite")}
    | {("decimal", "Decimal"), ("datetime", "datetime"), ("datetime", "date")}
)
"""Our own state is plain JSON: beyond it a checkpoint holds what LangGraph itself puts there, and
the values that a transaction may come with."""


def strict_serializer(*allowed: type) -> SerializerProtocol:
    """For the `serde` of a checkpointer; `allowed` are the classes that a host's own state holds.

    `SqliteSaver(connection, serde=strict_serializer())`
    """
    return _Strict(_OWN | {(kind.__module__, kind.__qualname__) for kind in allowed})


class _Strict(SerializerProtocol):
    def __init__(self, allowed: frozenset[tuple[str, str]]) -> None:
        self._allowed = allowed
        self._inner = JsonPlusSerializer(allowed_msgpack_modules=sorted(allowed))

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return self._inner.dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        kind, content = data
        if kind not in _PLAIN:
            raise CheckpointRefused(f"a checkpoint of type {kind!r}; only plain data is read")
        if kind == "msgpack":
            self._check(content)
        return self._inner.loads_typed(data)

    def _check(self, content: bytes) -> None:
        """Look through everything, however deep, before anything is built."""
        named: list[Any] = []

        def note(code: int, inner: bytes) -> None:
            found = _unpack(inner, note) if code in _NAMED or code == _SNAPSHOT else code
            if code != _SNAPSHOT:
                named.append(found)

        _unpack(content, note)
        for found in named:
            if not (isinstance(found, list) and len(found) >= 2 and self._is_allowed(found)):
                what = ".".join(map(str, found[:2])) if isinstance(found, list) else str(found)
                raise CheckpointRefused(f"a checkpoint that wants {what[:100]!r} to be called")

    def _is_allowed(self, found: list[Any]) -> bool:
        return all(isinstance(f, str) for f in found[:2]) and tuple(found[:2]) in self._allowed


def _unpack(content: bytes, hook: Any) -> Any:
    try:
        return ormsgpack.unpackb(content, ext_hook=hook, option=ormsgpack.OPT_NON_STR_KEYS)
    except ValueError as error:
        raise CheckpointRefused(f"a checkpoint that cannot be read: {error}") from None
