"""The one seam to language models: a prompt in, a filled-in form out, or an error of one family.

Any LangChain chat model fits. Structured output is asked for in the way the model has it: a JSON
schema, a function call, or plain JSON in the answer. It knows nothing of fraud.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeVar

from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic import ValidationError

from acegraph.nodes.waiting import Wait
from acegraph.state import Form, ModelAnswerInvalid, ModelError, ModelRefused, ModelUnavailable

Method = Literal["json_schema", "function_calling", "prompt"]
F = TypeVar("F", bound=Form)

_JSON = re.compile(r"\{.*\}", re.DOTALL)
# What clients are known to raise when a server answers with something that is not the protocol.
_NOT_THE_PROTOCOL: Final = (AttributeError, IndexError, KeyError, TypeError, json.JSONDecodeError)


class LanguageModel:
    """A chat model that fills in forms."""

    def __init__(self, model: BaseChatModel, method: Method | None = None) -> None:
        self.model = model
        self.name = str(getattr(model, "model_name", None) or type(model).__name__)
        self.method: Method = method or _method_of(model, self.name)

    async def fill(self, form: type[F], messages: Sequence[BaseMessage], wait: Wait) -> F:
        """Ask, and give the form filled in; `ModelError` for anything else."""
        runnable, prompt = self._prepared(form, list(messages))
        try:
            answer = await wait.either(
                lambda: runnable.invoke(prompt), lambda: runnable.ainvoke(prompt)
            )
        except ModelError:
            raise
        except (OutputParserException, ValidationError) as error:
            raise ModelAnswerInvalid(f"{self.name}: {_first_line(error)}") from error
        except _NOT_THE_PROTOCOL as error:
            raise ModelAnswerInvalid(f"{self.name} gave an answer outside the protocol") from error
        except (TimeoutError, ConnectionError) as error:
            raise ModelUnavailable(f"{self.name}: {_first_line(error)}") from error
        except _client_errors() as error:
            raise _translated(self.name, error) from error
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
        raw = answer["raw"] if isinstance(answer, dict) else answer
        if isinstance(raw, AIMessage):
            self._refuse_refusals(raw)
        if isinstance(answer, dict) and isinstance(answer.get("parsed"), form):
            parsed: F = answer["parsed"]
            return parsed
        text = raw.content if isinstance(raw, BaseMessage) else str(raw)
        found = _JSON.search(text if isinstance(text, str) else json.dumps(text))
        if not found:
            raise ModelAnswerInvalid(f"{self.name} gave no JSON for {form.__name__}")
        try:
            return form.model_validate_json(found[0])
        except ValidationError as error:
            raise ModelAnswerInvalid(f"{self.name}: {_first_line(error)}") from error

    def _refuse_refusals(self, message: AIMessage) -> None:
        refusal = message.additional_kwargs.get("refusal")
        reason = message.response_metadata.get("finish_reason")
        if refusal or reason == "content_filter":
            raise ModelRefused(f"{self.name} declined to answer")
        if reason == "length":
            raise ModelAnswerInvalid(f"{self.name}: the answer was cut off")


def _method_of(model: BaseChatModel, name: str) -> Method:
    if type(model).with_structured_output is BaseChatModel.with_structured_output and (
        type(model).bind_tools is BaseChatModel.bind_tools
    ):
        return "prompt"
    return "function_calling" if name.startswith("gpt-3.5") else "json_schema"


def _client_errors() -> tuple[type[BaseException], ...]:
    """The errors of the HTTP clients in use; imported only when something went wrong."""
    import httpx
    import openai

    return (openai.OpenAIError, httpx.HTTPError)


def _translated(name: str, error: BaseException) -> ModelError:
    import openai

    if isinstance(error, openai.ContentFilterFinishReasonError):
        return ModelRefused(f"{name} declined to answer")
    if isinstance(error, openai.LengthFinishReasonError):
        return ModelAnswerInvalid(f"{name}: the answer was cut off")
    if isinstance(error, openai.AuthenticationError):
        return ModelUnavailable(f"{name}: the server refused the key (401)")
    return ModelUnavailable(f"{name}: {type(error).__name__}: {_first_line(error)}")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
