"""What is taken from a server's answer: the few parts that are used, each of them checked.

A server may be wrong by mistake or on purpose. Whatever is not the one answer to the one question
that was asked is refused as a whole. What the answer means is read in language_model.py.
"""

import json
import zlib
from collections.abc import AsyncIterable, Mapping
from typing import Final

from acegraph.nodes.runtime.usage import token_count
from acegraph.state.errors import InvalidInput
from acegraph.state.values.transaction import each_name_once

_LIMIT: Final = 4_000_000
_LIMIT_PER_TEXT: Final = 100_000
"""Bytes for one vector: 4,096 numbers, written out."""
_MOST_PARTS: Final = 8
_MESSAGE: Final = ("role", "content", "refusal", "tool_calls", "function_call")
_COUNTS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")


class AnswerRefused(ValueError):
    """An answer that cannot be the answer to its question; the message says why."""


def size_limit(question: Mapping[str, object]) -> int:
    """How many bytes the answer to a question may have, unpacked."""
    texts = question.get("input")
    return _LIMIT + _LIMIT_PER_TEXT * (len(texts) if isinstance(texts, list) else 0)


async def read_body(chunks: AsyncIterable[bytes], encoding: str, limit: int) -> bytes:
    """The unpacked body; it is refused as soon as more than `limit` bytes are there."""
    encoding = encoding.strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise AnswerRefused("the answer is packed in a way that was not asked for")
    unpack = None if encoding in ("", "identity") else zlib.decompressobj(zlib.MAX_WBITS | 32)
    body, arrived = bytearray(), 0
    async for chunk in chunks:
        arrived += len(chunk)
        try:
            # Without the second argument 64 kB could become 64 MB before they are counted.
            body += unpack.decompress(chunk, limit + 1 - len(body)) if unpack else chunk
        except zlib.error:
            raise AnswerRefused("the answer cannot be unpacked") from None
        if max(arrived, len(body)) > limit:
            raise AnswerRefused(f"the answer has more than {limit / 1e6:g} MB")
    if unpack and arrived and (not unpack.eof or unpack.unused_data):
        raise AnswerRefused("the answer cannot be unpacked")
    return bytes(body)


def has_duplicate_keys(text: str | bytes) -> bool:
    """Whether JSON names a key twice in one object: readers differ in which value they take.

    >>> has_duplicate_keys('{"a": 1, "b": {"a": 1}}'), has_duplicate_keys('[{"a": 1, "a": 2}]')
    (False, True)
    """
    try:
        json.loads(text, object_pairs_hook=each_name_once, strict=False)
    except InvalidInput:
        return True
    except (ValueError, RecursionError):
        pass  # whoever reads it says what is wrong
    return False


def checked_answer(
    question: Mapping[str, object], answer: Mapping[str, object], received: bytes
) -> bytes:
    """The body of an answer without everything that is not used; raises `AnswerRefused`."""
    if has_duplicate_keys(received):
        raise AnswerRefused("the answer has a key twice")
    if not answer or answer.get("error"):
        raise AnswerRefused("the answer is outside the protocol")
    if "messages" in question:
        return json.dumps(_completion(answer)).encode()
    if "input" in question:
        return json.dumps(_embeddings(question, answer)).encode()
    return received


def _completion(answer: Mapping[str, object]) -> dict[str, object]:
    choices = answer.get("choices")
    if not isinstance(choices, list) or len(choices) != 1:
        raise AnswerRefused("the answer is not one choice")
    choice = as_mapping(choices[0])
    message = as_mapping(choice.get("message"))
    if message.get("role") != "assistant":
        raise AnswerRefused("the answer is not a message of the assistant")
    if not isinstance(choice.get("finish_reason"), str):
        raise AnswerRefused("the answer does not say that it is finished")
    calls, content = message.get("tool_calls") or [], message.get("content") or ""
    if not isinstance(content, str | list) or not isinstance(calls, list):
        raise AnswerRefused("the answer is outside the protocol")
    if max(len(calls), len(content) if isinstance(content, list) else 0) > _MOST_PARTS:
        raise AnswerRefused("the answer is outside the protocol")
    for call in calls:
        arguments = as_mapping(as_mapping(call).get("function")).get("arguments")
        if isinstance(arguments, str) and has_duplicate_keys(arguments):
            raise AnswerRefused("the answer has a key twice")
    usage = as_mapping(answer.get("usage"))
    return {
        **_head(answer),
        "object": "chat.completion",
        "usage": {name: token_count(usage.get(name)) for name in _COUNTS},
        "choices": [
            {
                "index": 0,
                "finish_reason": choice["finish_reason"],
                "message": {name: message[name] for name in _MESSAGE if name in message},
            }
        ],
    }


def _embeddings(question: Mapping[str, object], answer: Mapping[str, object]) -> dict[str, object]:
    """The vectors in the order of their texts, which LangChain relies on."""
    texts, data = question["input"], answer.get("data")
    expected = len(texts) if isinstance(texts, list) else 1
    if not isinstance(data, list) or len(data) != expected:
        found = f"{len(data)} vectors" if isinstance(data, list) else "no vectors"
        raise AnswerRefused(f"the answer has {found} for {expected} texts")
    entries = [as_mapping(entry) for entry in data]
    if expected == 1:
        entries = [{"index": 0, **entries[0]}]
    ordered = {entry.get("index"): entry for entry in entries if type(entry.get("index")) is int}
    if ordered.keys() != set(range(expected)):
        raise AnswerRefused("the vectors are not numbered, so their order is not known")
    vectors = [ordered[place].get("embedding") for place in range(expected)]
    if not all(map(_is_vector, vectors)):
        raise AnswerRefused("the answer has vectors that are not numbers")
    return {
        **_head(answer),
        "object": "list",
        "usage": {},
        "data": [
            {"object": "embedding", "index": place, "embedding": vector}
            for place, vector in enumerate(vectors)
        ],
    }


def _is_vector(value: object) -> bool:
    """Whether a value may be a vector: numbers, or those packed into base64."""
    if isinstance(value, list):
        return all(type(x) is float or (type(x) is int and abs(x) < 2**63) for x in value)
    return isinstance(value, str)


def _head(answer: Mapping[str, object]) -> dict[str, object]:
    named = {name: answer.get(name) for name in ("id", "model")}
    return {"created": 0, **{name: v if isinstance(v, str) else "" for name, v in named.items()}}


def as_mapping(value: object) -> dict[str, object]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
