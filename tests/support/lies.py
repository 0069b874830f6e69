"""What a model server may say that is no answer: generated, for chats and for embeddings.

Each shape is a function from the good reply to the bad one, so that every role can be lied to.
"""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from openai_server import Body, Reply, Response, broken_off, changed, hung_up, raw, sent

Lie = Callable[[Reply], Reply]
CALLED, WRITTEN, EITHER = "called", "written", "either"
"""Whether a lie is about a function call, about a written form, or about anything."""

_STATUSES = [
    *(201, 202, 203, 206, 207, 226, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 405, 409),
    *(410, 413, 418, 422, 429, 451, 500, 501, 502, 503, 504, 520, 529, 599),
]
_ENDS = [
    *("error", "ERROR", "length", "content_filter", "abort", "cancelled", "timeout", "max_tokens"),
    *("recitation", "insufficient_system_resource", "model_length", "", " ", "stopped", "null"),
    *(None, 0, 1, False, True, [], ["stop"], {"stop": 1}),
]
_ROLES = [
    "user",
    "system",
    "developer",
    "tool",
    "function",
    "",
    "Assistant",
    None,
    7,
    ["assistant"],
]


def _with_status(status: int) -> Lie:
    def lie(good: Reply) -> Reply:
        def reply(body: Body) -> Response:
            headers = {"retry-after-ms": "1", "location": "/v1/elsewhere"}
            return replace(_given(good, body), status=status, headers=headers)

        return reply

    return lie


def _given(reply: Reply, body: Body) -> Response:
    response = reply(body)
    assert response is not None
    return response


def _bytes(change: Callable[[bytes], bytes], **headers: str) -> Lie:
    def lie(good: Reply) -> Reply:
        def reply(body: Body) -> Response:
            response = _given(good, body)
            named = {n.replace("_", "-"): v for n, v in headers.items()}
            return replace(response, content=change(response.content), headers=named)

        return reply

    return lie


def _json(change: Callable[[Any], object]) -> Lie:
    return lambda good: changed(good, change)


def _choice(**changes: object) -> Lie:
    return _json(lambda a: {**a, "choices": [{**a["choices"][0], **changes}]})


def _message(change: Callable[[Any], object]) -> Lie:
    def of(answer: Any) -> object:
        [choice] = answer["choices"]
        return {**answer, "choices": [{**choice, "message": change(choice["message"])}]}

    return _json(of)


def _calls(change: Callable[[Any], object]) -> Lie:
    """Another list of calls, made of the good one."""
    return _message(lambda m: {**m, "tool_calls": change(m["tool_calls"][0])} if _is_call(m) else m)


def _is_call(message: Any) -> bool:
    # The second question is asked without a function: a call is then a lie in itself.
    return bool(message.get("tool_calls"))


def _function(**changes: object) -> Lie:
    return _calls(lambda call: [{**call, "function": {**call["function"], **changes}}])


def _form(change: Callable[[str], object]) -> Lie:
    """Another text where the form is expected."""

    def of(message: Any) -> object:
        if not _is_call(message):
            return {**message, "content": change(message["content"])}
        call = message["tool_calls"][0]
        text = change(call["function"]["arguments"])
        return {
            **message,
            "tool_calls": [{**call, "function": {**call["function"], "arguments": text}}],
        }

    return _message(of)


def _twice(name: str) -> Callable[[str], str]:
    """The JSON with a key of its first object a second time, at the end."""
    return lambda text: (
        f"{text.rstrip()[:-1]}, {json.dumps(name)}: {json.dumps(json.loads(text)[name])}}}"
    )


def _envelope_twice(path: str) -> Lie:
    def of(answer: Any) -> str:
        text = json.dumps(answer)
        return text.replace(f'"{path}":', f'"{path}": null, "{path}":', 1)

    return _json(of)


def _first_key_twice(text: str) -> str:
    return _twice(next(iter(json.loads(text))))(text)


def _escaped_key_twice(text: str) -> str:
    name = next(iter(json.loads(text)))
    value = json.dumps(json.loads(text)[name])
    return f'{text.rstrip()[:-1]}, "\\u{ord(name[0]):04x}{name[1:]}": {value}}}'


def _without_last_key(text: str) -> str:
    form = json.loads(text)
    for name in ("decision", "is_correct", "new_bullet"):
        form.pop(name, None)
    return json.dumps(form)


def _spoilt(text: str, value: object) -> str:
    form = json.loads(text)
    names = [n for n in ("decision", "is_correct", "confidence") if n in form]
    return json.dumps({**form, **dict.fromkeys(names, value)})


def _bad_call(call: Any) -> Any:
    return {**call, "id": "call_9", "function": {**call["function"], "arguments": "{"}}


def _other_call(call: Any) -> Any:
    return {**call, "id": "call_9", "function": {**call["function"], "name": "delete_everything"}}


_BIG = b" " * 12_000_000
CHATS: dict[str, tuple[str, Lie]] = {
    **{f"HTTP {s}": (EITHER, _with_status(s)) for s in _STATUSES},
    **{f"ends with {e!r}": (EITHER, _choice(finish_reason=e)) for e in _ENDS},
    **{
        f"role {r!r}": (EITHER, _message(lambda m, r=r: {**m, "role": r}))  # type: ignore[misc]
        for r in _ROLES
    },
    **{
        f"body {content[:12]!r}": (EITHER, lambda good, content=content: sent(content))  # type: ignore[misc]
        for content in ("", " ", "null", "[]", "{}", "true", '"yes"', "<html>", "{" * 50_000, "\0")
    },
    **{f"choices {v!r}": (EITHER, _json(lambda a, v=v: {**a, "choices": v}))  # type: ignore[misc]
       for v in (None, [], {}, "x", [None], [[]], ["x"], [{}], [{"message": None}])},
    **{f"message {v!r}": (EITHER, _message(lambda m, v=v: v))  # type: ignore[misc]
       for v in (None, "x", [], {}, {"role": "assistant"})},
    **{f"{name} twice": (EITHER, _envelope_twice(name))
       for name in ("choices", "message", "finish_reason", "role", "index", "id", "usage")},
    "a list round it": (EITHER, _json(lambda a: [a])),
    "two choices": (EITHER, _json(lambda a: {**a, "choices": a["choices"] * 2})),
    "an error beside": (EITHER, _json(lambda a: {**a, "error": {"message": "overloaded"}})),
    "no finish reason": (EITHER, _json(lambda a: {**a, "choices": [
        {k: v for k, v in a["choices"][0].items() if k != "finish_reason"}]})),
    "refusal beside": (EITHER, _message(lambda m: {**m, "refusal": "I cannot"})),
    "an old call beside": (EITHER, _message(
        lambda m: {**m, "function_call": {"name": "delete_everything", "arguments": "{}"}})),
    "events": (EITHER, _bytes(lambda content: b"data: " + content + b"\n\n")),
    "broken UTF-8": (EITHER, _bytes(lambda content: content.replace(b"assistant", b"\xff\xfe"))),
    "half a body": (EITHER, _bytes(lambda content: content[: len(content) // 2])),
    "all but the last byte": (EITHER, _bytes(lambda content: content[:-1])),
    "junk after it": (EITHER, _bytes(lambda content: content + b"x")),
    "two bodies": (EITHER, _bytes(lambda content: content * 2)),
    "large": (EITHER, _bytes(lambda content: content + _BIG)),
    "large, packed": (EITHER, _bytes(
        lambda content: gzip.compress(content + _BIG, 1), content_encoding="gzip")),
    "packed twice": (EITHER, _bytes(
        lambda content: gzip.compress(gzip.compress(content)), content_encoding="gzip, gzip")),
    "half packed": (EITHER, _bytes(
        lambda content: gzip.compress(content)[:-9], content_encoding="gzip")),
    "junk after the packed": (EITHER, _bytes(
        lambda content: gzip.compress(content) + b"x", content_encoding="gzip")),
    "called packed": (EITHER, _bytes(lambda content: content, content_encoding="gzip")),
    "packed in another way": (EITHER, _bytes(lambda content: content, content_encoding="br")),
    "no HTTP": (EITHER, lambda good: raw(lambda: [b"SSH-2.0-OpenSSH_9.6\r\n"])),
    "negative length": (EITHER, lambda good: raw(
        lambda: [b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}"])),
    "headers without end": (EITHER, lambda good: raw(
        lambda: [b"HTTP/1.1 200 OK\r\n", *[b"x: " + b"y" * 9_000 + b"\r\n"] * 40])),
    "broken off": (EITHER, broken_off),
    "closed": (EITHER, lambda good: hung_up),
    # What stands where the form should.
    "a list round the form": (EITHER, _form(lambda t: f"[{t}]")),
    "a list of two": (EITHER, _form(lambda t: f"[{t}, {t}]")),
    "lists round the form": (EITHER, _form(lambda t: f"[[\n{t}\n]]")),
    "a list with a note": (EITHER, _form(lambda t: f'["note", {t}]')),
    "a string round the form": (EITHER, _form(json.dumps)),
    "an object round the form": (EITHER, _form(lambda t: f'{{"answer": {t}}}')),
    "a first key twice": (EITHER, _form(_first_key_twice)),
    "an escaped key twice": (EITHER, _form(_escaped_key_twice)),
    "two forms": (EITHER, _form(lambda t: f"{t}\n{t}")),
    "half a form": (EITHER, _form(lambda t: t[: len(t) // 2])),
    "a form without its answer": (EITHER, _form(_without_last_key)),
    **{f"answer {v!r}": (EITHER, _form(lambda t, v=v: _spoilt(t, v)))  # type: ignore[misc]
       for v in ("MAYBE", "", None, [], {}, 7, float("nan"), "approve or decline")},
    **{f"form {v!r}": (EITHER, _form(lambda t, v=v: v))  # type: ignore[misc]
       for v in (None, "", " ", "APPROVE", "null", "[]", "{}", 7, True)},
    # Function calls.
    **{f"function {v!r}": (CALLED, _function(name=v))
       for v in ("delete_everything", "", None, "decisionform", "DecisionForm ", 7, ["x"])},
    **{f"arguments {v!r}": (CALLED, _function(arguments=v)) for v in (None, {}, [], 7)},
    "a good call and a bad one": (CALLED, _calls(lambda call: [call, _bad_call(call)])),
    "a bad call and a good one": (CALLED, _calls(lambda call: [_bad_call(call), call])),
    "the same call twice": (CALLED, _calls(lambda call: [call, call])),
    "a good call and another": (CALLED, _calls(lambda call: [call, _other_call(call)])),
    "many calls": (CALLED, _calls(lambda call: [call] * 5_000)),
    "a call of another type": (CALLED, _calls(
        lambda call: [{"id": "1", "type": "custom", "custom": {"name": "x", "input": "{}"}}])),
    "a call without a function": (CALLED, _calls(lambda call: [{**call, "function": None}])),
    "calls that are no list": (CALLED, _calls(lambda call: call)),
}  # fmt: skip


def as_call(form: str, good: Reply) -> Reply:
    """The form as a call of the right name, though no function was asked for."""
    tools = [{"function": {"name": form}}]
    return lambda body: good({**body, "tools": tools})


def _entries(change: Callable[[list[Any]], object]) -> Lie:
    return _json(lambda a: {**a, "data": change(a["data"])})


def _vectors(change: Callable[[int], object]) -> Lie:
    return _entries(lambda data: [{**e, "embedding": change(i)} for i, e in enumerate(data)])


def _numbered(number: Callable[[int], object]) -> Lie:
    return _entries(lambda data: [{**e, "index": number(i)} for i, e in enumerate(data)])


_UNNUMBERED = _entries(
    lambda data: [{k: v for k, v in e.items() if k != "index"} for e in reversed(data)]
)
EMBEDDINGS: dict[str, Lie] = {
    **{f"HTTP {s}": _with_status(s) for s in _STATUSES[::3]},
    **{f"body {c[:6]!r}": lambda good, c=c: sent(c) for c in ("", "{}", "[]", "<html>", "null")},  # type: ignore[misc]
    **{f"data {v!r}": _entries(lambda d, v=v: v) for v in (None, [], {}, "x", [None], [{}])},  # type: ignore[misc]
    **{f"vectors of {v!r}": _vectors(lambda i, v=v: v)  # type: ignore[misc]
       for v in (None, [], {}, "", "AAA", "AAAAAA==", [None] * 64, ["1"] * 64, [True] * 64,
                 [[1.0] * 64], [0.0] * 64, [1e39] * 64, [10**400], [float("nan")] * 64,
                 [float("inf")] * 64, [0.5] * 64, [1e-60] * 64)},
    "one vector of zeros": _vectors(lambda i: [float(i)] * 64),
    "vectors of two sizes": _vectors(lambda i: [1.0 + i] * (64 + i)),
    "one too few": _entries(lambda data: data[:-1]),
    "one too many": _entries(lambda data: [*data, {**data[-1], "index": len(data)}]),
    "one twice": _entries(lambda data: [*data[:-1], data[0]]),
    "backwards without numbers": _UNNUMBERED,
    "all the first": _numbered(lambda i: 0),
    "counted from one": _numbered(lambda i: i + 1),
    "numbered downwards": _numbered(lambda i: -i),
    "numbers as text": _numbered(str),
    "numbers as fractions": _numbered(lambda i: i + 0.0),
    "an error beside": _json(lambda a: {**a, "error": {"message": "overloaded"}}),
    "data twice": _envelope_twice("data"),
    "a vector twice": _envelope_twice("embedding"),
    "large": _bytes(lambda content: content + _BIG),
    "called packed": _bytes(lambda content: content, content_encoding="gzip"),
    "closed": lambda good: hung_up,
}  # fmt: skip
