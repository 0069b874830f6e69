"""Ask a language model to fill in a form: messages in, a filled-in form or a `ModelError` out.

Every LangChain chat model can be used. Structured output is requested in the way that the model
supports: by a JSON schema, by a function call, or as plain JSON in the answer. This module knows
nothing of fraud; the prompts are in the folders of the nodes.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from langchain_core.exceptions import LangChainException, OutputParserException
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import ValidationError

from acegraph.nodes.models.answers import first_complaint, has_duplicate_keys
from acegraph.nodes.models.background import in_background
from acegraph.nodes.models.fence import Fence
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.nodes.runtime.usage import begin_call, end_call, innermost
from acegraph.state import AceError, ModelUnavailable
from acegraph.state.errors import ModelAnswerInvalid, ModelRefused
from acegraph.state.run.model_forms import Form

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel, LanguageModelInput

Method = Literal["json_schema", "function_calling", "prompt"]
F = TypeVar("F", bound=Form)

_JSON = re.compile(r"\{.*\}", re.DOTALL)
_ERROR_CODE = re.compile(r"[a-z_]{1,40}")
_BEFORE_SCHEMAS = re.compile(r"gpt-3\.5|gpt-4(?:-|$)")
_ABOUT_THE_REQUEST: Final = frozenset({400, 422, 501})
"""Statuses with which servers without structured output answer a request for it."""
_HOPELESS = re.compile(r"\((?:HTTP )?(?:401|403|404)\)")
_FILTERED: Final = "content_filter"
_NOT_THE_METHOD: Final = frozenset({_FILTERED, "context_length_exceeded", "model_not_found"})
"""Codes of refusals that another method would not change."""
# Clients are known to raise these when the answer of a server does not follow the protocol.
_NOT_THE_PROTOCOL: Final = (
    AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError
)  # fmt: skip
_NORMAL_ENDS: Final = frozenset(
    "stop tool_calls tool_call tool_use function_call end_turn stop_sequence eos_token eos end "
    "complete completed".split()
)
"""How the servers of all providers say that an answer is whole."""
_CUT_OFF: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_END_NAMES: Final = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
_REPEATED: Final = 8_000
"""So much of an unreadable answer is sent back when the model is asked once more."""
_CLIENT_ERRORS: Final = {"openai": "OpenAIError", "httpx": "HTTPError", "httpx2": "HTTPError"}


class LanguageModel:
    """A chat model that fills in forms."""

    def __init__(
        self,
        model: "BaseChatModel",
        method: Method | None = None,
        *,
        secret: str | None = None,
        seconds: float | None = None,
    ) -> None:
        """Without a `method`, the model's name suggests one, and plain JSON is used once the server
        has refused that. With `seconds`, which limit a question, the model's own client counts.
        With a `secret` the prompts of a decision are the same in every process.
        """
        self.model = model
        self.name = str(getattr(model, "model_name", None) or type(model).__name__)
        self._chosen = method
        self.method: Method = method or _method_of(model, self.name)
        self._secret, self._seconds = secret, seconds
        self._structured = cache(partial(_structured, model))

    def fence(self, role: str, decision_id: str) -> Fence:
        """A fence for the untrusted texts of one prompt."""
        return Fence(f"{role} {decision_id}", self._secret)

    async def fill(
        self,
        form: type[F],
        messages: Sequence[BaseMessage],
        wait: Wait,
        complain: Callable[[F], str] = lambda _: "",
    ) -> F:
        """Send the messages and return the form that the model filled in, or raise `ModelError`.

        If the answer cannot be read, or if there is something to `complain` about, the model is
        told so and asked once more.
        """
        end = None if self._seconds is None else time.monotonic() + self._seconds
        ask = partial(self._ask, form, end=end, wait=wait)
        asked = list(messages)
        with as_model_errors(self.name):
            method = self.method
            try:
                answer = await ask(asked, method)
            except _client_errors() as error:
                status, code = (getattr(error, name, None) for name in ("status_code", "code"))
                refuses = status in _ABOUT_THE_REQUEST and code not in _NOT_THE_METHOD
                if self._chosen or method == "prompt" or not refuses:
                    raise
                answer = await ask(asked, "prompt")
                note = f"{self.name} refused {method}: it is asked in plain JSON instead"
                innermost().notes.append(note)
                self.method = method = "prompt"
            try:
                return self._accepted(form, answer, complain)
            except _Unreadable as error:
                complaint = str(error).removeprefix(f"{self.name}: ")
            text = _text(answer)[:_REPEATED] or "(nothing)"
            asked += [AIMessage(text), HumanMessage(REPAIR.format(complaint=complaint))]
            corrected = await ask(asked, method if method == "json_schema" else "prompt")
            return self._accepted(form, corrected, complain)

    async def _ask(
        self,
        form: type[F],
        messages: list[BaseMessage],
        method: Method,
        *,
        end: float | None,
        wait: Wait,
    ) -> object:
        """What the model said, as a message; its own client is given up at `end`."""
        runnable, prompt = self._prepared(form, messages, method)
        if end is not None:
            return _message_of(await in_background(lambda: runnable.ainvoke(prompt), end, wait))
        begin_call(self.name)
        answer = _message_of(
            await wait.either(lambda: runnable.invoke(prompt), lambda: runnable.ainvoke(prompt))
        )
        used = getattr(answer, "usage_metadata", None) or {}
        end_call(self.name, used.get("input_tokens"), used.get("output_tokens"))
        return answer

    def _prepared(
        self, form: type[F], messages: list[BaseMessage], method: Method
    ) -> "tuple[Runnable[LanguageModelInput, object], list[BaseMessage]]":
        """What to invoke, and with which messages."""
        if method == "prompt":
            schema = json.dumps(form.model_json_schema())
            return self.model, [*messages, HumanMessage(PLAIN_JSON.format(schema=schema))]
        return self._structured(form, method), messages

    def _accepted(self, form: type[F], answer: object, complain: Callable[[F], str]) -> F:
        """The form in an answer, if nothing is wrong with it."""
        message = check_that_it_answers(answer, self.name, form.__name__)
        try:
            filled = self._read(form, message)
        except ValidationError as error:
            raise _Unreadable(f"{self.name}: {first_complaint(error)}") from error
        if complaint := complain(filled):
            raise _Unreadable(f"{self.name}: {complaint}")
        return filled

    def _read(self, form: type[F], message: AIMessage) -> F:
        found = _JSON.search(message.text)
        if found and has_duplicate_keys(found[0]):
            raise _Unreadable(f"{self.name}: a key comes twice")
        if message.tool_calls:
            # By way of JSON: a lone surrogate, which no checkpoint can hold, is refused there.
            filled = form.model_validate_json(json.dumps(message.tool_calls[0]["args"]))
            beside = str(message.text)
        elif found is None:
            raise _Unreadable(f"{self.name} gave no JSON for {form.__name__}")
        else:
            filled, beside = form.model_validate_json(found[0]), message.text[found.end() :]
        if filled.is_contradicted_by(beside):
            raise _Unreadable(f"{self.name} gave two answers, not one")
        return filled


class _Unreadable(ModelAnswerInvalid):
    """The answer cannot be used as the form, so it is worth asking the model once more."""


def check_that_it_answers(message: object, name: str, asked: str | None = None) -> AIMessage:
    """The message; raise if the model refused, was cut off, or gave another or more answers.

    A call of the function that was `asked` for is an answer; any other call is none.
    """
    if not isinstance(message, AIMessage):
        raise ModelAnswerInvalid(f"{name} gave no message of an assistant")
    metadata = message.response_metadata
    ends = (metadata.get(end) for end in _END_NAMES)
    reason = next((end for end in ends if isinstance(end, str)), "stop").lower()
    if message.additional_kwargs.get("refusal") or reason in ("content_filter", "refusal"):
        raise ModelRefused(f"{name} declined to answer")
    if reason in _CUT_OFF:
        raise ModelAnswerInvalid(f"{name}: the answer was cut off")
    if reason not in _NORMAL_ENDS:
        raise ModelAnswerInvalid(f"{name}: the answer did not end normally")
    called = [call["name"] for call in (*message.tool_calls, *message.invalid_tool_calls)]
    if len(called) + ("function_call" in message.additional_kwargs) > 1:
        raise _Unreadable(f"{name} gave more than one answer")
    if any(one != asked for one in called) or "function_call" in message.additional_kwargs:
        wanted = f"another function than {asked}" if asked else "a function instead of answering"
        raise _Unreadable(f"{name} called {wanted}")
    return message


@contextmanager
def as_model_errors(name: str, *, all_of_them: bool = True) -> Iterator[None]:
    """Turn what a client raises because of the network or the server into a `ModelError`; unless
    it is a function of the host also what an answer outside the protocol leads to.
    """
    try:
        yield
    except AceError:
        raise
    except (TimeoutError, ConnectionError) as error:
        raise ModelUnavailable(f"{name}: {str(error) or type(error).__name__}") from error
    except Exception as error:  # of whatever client
        has_status = isinstance(getattr(error, "status_code", None), int)
        if isinstance(error, _client_errors()) or has_status:
            raise _translated(name, error) from error
        if not all_of_them or not isinstance(error, _NOT_THE_PROTOCOL):
            raise
        kind = type(error).__name__
        raise ModelAnswerInvalid(f"{name} gave an answer outside the protocol ({kind})") from error


def _method_of(model: "BaseChatModel", name: str) -> Method:
    from langchain_core.language_models import BaseChatModel  # 40 ms, only if there is a model

    if not isinstance(model, BaseChatModel):  # a wrapped one has no structured output
        return "prompt"
    if type(model).with_structured_output is BaseChatModel.with_structured_output and (
        type(model).bind_tools is BaseChatModel.bind_tools
    ):
        return "prompt"
    return "function_calling" if _BEFORE_SCHEMAS.search(name) else "json_schema"


def _structured(
    model: "BaseChatModel", form: type[Form], method: Method
) -> "Runnable[LanguageModelInput, object]":
    """A runnable that asks for the form, for any chat model."""
    from langchain_core.language_models import BaseChatModel

    # LangChain's default implementation has one method and accepts no argument for it.
    if type(model).with_structured_output is BaseChatModel.with_structured_output:
        return model.with_structured_output(form, include_raw=True)
    if method == "json_schema" and type(model).__module__.startswith("langchain_openai."):
        # With the class it would put the form into the message, and who writes that down is warned.
        schema = convert_to_openai_function(form, strict=True)
        return model.with_structured_output(schema, include_raw=True, method=method, strict=True)
    return model.with_structured_output(form, include_raw=True, method=method)


def _message_of(output: object) -> object:
    """What the model said, out of what LangChain's structured output gives."""
    return output["raw"] if isinstance(output, dict) else output


def _text(answer: object) -> str:
    """What the model wrote, as text or as the arguments of a function call."""
    if not isinstance(answer, AIMessage):
        return str(answer)
    calls = [json.dumps(call["args"]) for call in answer.tool_calls]
    return answer.text or "\n".join([*calls, *(str(c["args"]) for c in answer.invalid_tool_calls)])


def _client_errors() -> tuple[type[BaseException], ...]:
    """The errors of all loaded HTTP clients; one that is not loaded cannot have raised anything."""
    loaded = ((sys.modules.get(module), error) for module, error in _CLIENT_ERRORS.items())
    return (LangChainException, *(getattr(module, error) for module, error in loaded if module))


def _translated(name: str, error: BaseException) -> AceError:
    """What went wrong, without the server's message, which may repeat the key or the prompt."""
    import openai

    if isinstance(error.__cause__, AceError):  # our own error, such as a budget
        return error.__cause__
    if isinstance(error, OutputParserException):
        return ModelAnswerInvalid(f"{name} gave an answer that cannot be read")
    if isinstance(error, openai.ContentFilterFinishReasonError):
        return ModelRefused(f"{name} declined to answer")
    if isinstance(error, openai.LengthFinishReasonError):
        return ModelAnswerInvalid(f"{name}: the answer was cut off")
    if isinstance(error, openai.AuthenticationError):
        return ModelUnavailable(f"{name}: the server refused the key (401)")
    status, code = getattr(error, "status_code", None), str(getattr(error, "code", None) or "")
    if code == _FILTERED:
        return ModelRefused(f"{name}: the server's content filter declined to answer")
    where = f" (HTTP {status})" if status else ""
    what = f": {code}" if _ERROR_CODE.fullmatch(code) else ""
    return ModelUnavailable(f"{name}: {type(error).__name__}{where}{what}")


def is_hopeless(reason: str) -> bool:
    """Whether the reason of an error is that the server will never answer: wrong key or name.

    >>> is_hopeless("agent: gpt-4o: the server refused the key (401)"), is_hopeless("(HTTP 500)")
    (True, False)
    """
    return _HOPELESS.search(reason) is not None


REPAIR: Final = "That cannot be used: {complaint}. Give the whole answer again, corrected."
PLAIN_JSON: Final = "Answer with one JSON object that fits this schema, and nothing else:\n{schema}"
