"""The one seam to language models: a prompt in, a filled-in form out, or an error of one family.

Any LangChain chat model fits. Structured output is asked for in the way the model has it: a JSON
schema, a function call, or plain JSON in the answer. It knows nothing of fraud.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeGuard, TypeVar

from langchain_core.exceptions import LangChainException, OutputParserException
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import ValidationError

from acegraph.nodes.waiting import Wait
from acegraph.state import (
    AceError,
    Form,
    ModelAnswerInvalid,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Method = Literal["json_schema", "function_calling", "prompt"]
F = TypeVar("F", bound=Form)

_JSON = re.compile(r"\{.*\}", re.DOTALL)
_ERROR_CODE = re.compile(r"[a-z_]{1,40}")
# What clients are known to raise when a server answers with something that is not the protocol.
_NOT_THE_PROTOCOL: Final = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    RecursionError,
)
_CLIENT_ERRORS: Final = {"openai": "OpenAIError", "httpx": "HTTPError", "httpx2": "HTTPError"}


class LanguageModel:
    """A chat model that fills in forms."""

    def __init__(self, model: "BaseChatModel", method: Method | None = None) -> None:
        self.model = model
        self.name = str(getattr(model, "model_name", None) or type(model).__name__)
        self.method: Method = method or _method_of(model, self.name)

    async def fill(self, form: type[F], messages: Sequence[BaseMessage], wait: Wait) -> F:
        """Ask, and give the form filled in; `ModelError` for anything else."""
        runnable, prompt = self._prepared(form, list(messages))
        with as_model_errors(self.name):
            answer = await wait.either(
                lambda: runnable.invoke(prompt), lambda: runnable.ainvoke(prompt)
            )
            return self._read(form, answer)

    def _prepared(
        self, form: type[F], messages: list[BaseMessage]
    ) -> tuple[Any, list[BaseMessage]]:
        if self.method != "prompt":
            structured: Any = self.model.with_structured_output(
                form, method=self.method, include_raw=True
            )
            return structured, messages
        schema = json.dumps(form.model_json_schema())
        order = f"Answer with one JSON object that fits this schema, and nothing else:\n{schema}"
        return self.model, [*messages, HumanMessage(order)]

    def _read(self, form: type[F], answer: Any) -> F:
        given = answer if isinstance(answer, dict) else {"raw": answer}
        raw = given["raw"]
        if isinstance(raw, AIMessage):
            self._refuse_what_is_no_answer(raw)
        if isinstance(given.get("parsed"), form):
            parsed: F = given["parsed"]
            parsed.model_dump_json()  # fails on lone surrogates, which no checkpoint can hold
            return parsed
        found = _JSON.search(raw.text if isinstance(raw, BaseMessage) else str(raw))
        if found:
            return form.model_validate_json(found[0])
        if isinstance(error := given.get("parsing_error"), ValidationError):
            raise error
        raise ModelAnswerInvalid(f"{self.name} gave no JSON for {form.__name__}")

    def _refuse_what_is_no_answer(self, message: AIMessage) -> None:
        refusal = message.additional_kwargs.get("refusal")
        reason = message.response_metadata.get("finish_reason")
        if refusal or reason == "content_filter":
            raise ModelRefused(f"{self.name} declined to answer")
        if reason == "length":
            raise ModelAnswerInvalid(f"{self.name}: the answer was cut off")
        if len(message.tool_calls) > 1:
            raise ModelAnswerInvalid(f"{self.name} gave {len(message.tool_calls)} answers, not one")


@contextmanager
def as_client_errors(name: str) -> Iterator[None]:
    """What a client raises because of the line or the server, as one family of errors."""
    try:
        yield
    except (TimeoutError, ConnectionError) as error:
        raise ModelUnavailable(f"{name}: {str(error) or type(error).__name__}") from error
    except _client_errors() as error:
        raise _translated(name, error) from error


@contextmanager
def as_model_errors(name: str) -> Iterator[None]:
    """Whatever the client of this model raises, as one family of errors."""
    try:
        with as_client_errors(name):
            yield
    except AceError:
        raise
    except ValidationError as error:
        raise ModelAnswerInvalid(f"{name}: {_first_complaint(error)}") from error
    except _NOT_THE_PROTOCOL as error:
        raise ModelAnswerInvalid(f"{name} gave an answer outside the protocol") from error


def is_chat_model(given: object) -> TypeGuard["BaseChatModel"]:
    """Whether it is a LangChain chat model; if one exists its module is loaded, so none is
    imported.
    """
    loaded = sys.modules.get("langchain_core.language_models.chat_models")
    return loaded is not None and isinstance(given, loaded.BaseChatModel)


def _method_of(model: "BaseChatModel", name: str) -> Method:
    from langchain_core.language_models import BaseChatModel  # 40 ms, for those who have a model

    if type(model).with_structured_output is BaseChatModel.with_structured_output and (
        type(model).bind_tools is BaseChatModel.bind_tools
    ):
        return "prompt"
    return "function_calling" if name.startswith("gpt-3.5") else "json_schema"


def _client_errors() -> tuple[type[BaseException], ...]:
    """The errors of the HTTP clients in use; one that has raised is loaded, so none is imported."""
    loaded = ((sys.modules.get(module), error) for module, error in _CLIENT_ERRORS.items())
    return (LangChainException, *(getattr(module, error) for module, error in loaded if module))


def _translated(name: str, error: BaseException) -> ModelError:
    """What went wrong, without the server's own words: they may repeat the key or the prompt."""
    import openai

    if isinstance(error, OutputParserException):
        return ModelAnswerInvalid(f"{name} gave an answer that cannot be read")
    if isinstance(error, openai.ContentFilterFinishReasonError):
        return ModelRefused(f"{name} declined to answer")
    if isinstance(error, openai.LengthFinishReasonError):
        return ModelAnswerInvalid(f"{name}: the answer was cut off")
    if isinstance(error, openai.AuthenticationError):
        return ModelUnavailable(f"{name}: the server refused the key (401)")
    status, code = getattr(error, "status_code", None), str(getattr(error, "code", None) or "")
    where = f" (HTTP {status})" if status else ""
    what = f": {code}" if _ERROR_CODE.fullmatch(code) else ""
    return ModelUnavailable(f"{name}: {type(error).__name__}{where}{what}")


def _first_complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
