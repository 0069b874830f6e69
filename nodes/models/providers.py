"""Which model serves which role: the named one, or the embedded one. A key chooses nothing.

Only this module builds clients, each when it is first needed, and only it reads their settings from
the environment. (graph/operations/monitoring/doctor.py looks there for the origin of a model's
name; the variables that other modules read, as ACE_REDACT_KEY, concern no model.) An argument comes
before a run's `AceContext`, and that before the environment.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeVar, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

from acegraph.nodes.models.concept_embeddings import EMBEDDED_MODEL
from acegraph.nodes.models.embedding_models import EMBEDDED, EmbeddingModel
from acegraph.nodes.models.language_model import LanguageModel, Method, is_chat_model
from acegraph.nodes.models.recordings import Player, Recorder, Recording
from acegraph.nodes.models.retries import Retry
from acegraph.nodes.runtime.usage import Prices
from acegraph.state import InvalidSettings
from acegraph.state.errors import quoted

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from acegraph.nodes.models.http_client import AsyncClient, Client

Role = Literal["agent", "judge", "reflector"]
Number = TypeVar("Number", int, float)

EMBEDDED_NAME: Final = "embedded"
"""The name of the embedded analyst (or embedder), also if the environment names another one."""
_OPENAI: Final = "https://api.openai.com/v1"
_REPLAYED_KEY: Final = "replayed"
_LARGEST: Final = 1_000_000
"""Of a number of seconds or attempts: more than eleven days are a mistake."""
_WITHOUT_TEMPERATURE = re.compile(r"(?:^|/)(?:o\d|gpt-5)")
"""Models that reason before they answer; they refuse a temperature."""


class _Files(NamedTuple):
    """The file to record to and the file to replay."""

    record: Path | None = None
    replay: Path | None = None


@dataclass(frozen=True)
class Server:
    """How the model server is reached, according to the environment."""

    key: str | None = field(repr=False)
    base_url: str | None = field(repr=False)
    method: Method | None
    retry: Retry
    record: Path | None = None
    replay: Path | None = None

    @classmethod
    def configured(cls) -> "Server":
        """The server that the environment and `recording` or `replaying` describe."""
        method = _env("ACE_METHOD")
        if method is not None and method not in get_args(Method):
            raise InvalidSettings(
                f"ACE_METHOD is one of {', '.join(get_args(Method))}, not {method!r}"
            )
        record, replay = _recording_files()
        if record and replay:
            raise InvalidSettings("ACE_RECORD and ACE_REPLAY exclude each other; unset one")
        key = _env("OPENAI_API_KEY") or (_REPLAYED_KEY if replay else None)
        return cls(key, _env("OPENAI_BASE_URL"), method, _retry(), record, replay)  # type: ignore[arg-type]

    @property
    def address(self) -> str:
        """Where models are asked, without user name, password and query.

        >>> Server(None, "http://ann:secret@example.org/v1?api-key=secret", None, Retry()).address
        'http://example.org/v1'
        """
        return re.sub(r"^(\w+://)?.*@", r"\1", self.base_url or _OPENAI).partition("?")[0]

    def secrets(self) -> list[str]:
        """What a recording may not hold: the key, and what the URL says of a user or asks for."""
        url = urlsplit(self.base_url or "")
        return [
            self.key or "",
            unquote(url.password or ""),
            *(text for _, text in parse_qsl(url.query)),
        ]


_files_in_code: ContextVar[_Files | None] = ContextVar("recording_files", default=None)


@contextmanager
def recording(file: str | Path) -> Iterator[None]:
    """Record to this file every exchange made inside, as ACE_RECORD does."""
    if not Path(file).exists():
        _recorder.cache_clear()  # a deleted recording needs a new first line
    token = _files_in_code.set(_Files(record=Path(file)))
    try:
        yield
    finally:
        _files_in_code.reset(token)


@contextmanager
def replaying(file: str | Path) -> Iterator[None]:
    """Answer from the beginning of this recording, without a key, as ACE_REPLAY does."""
    _player.cache_clear()
    token = _files_in_code.set(_Files(replay=Path(file)))
    try:
        yield
    finally:
        _files_in_code.reset(token)
        _player.cache_clear()


def refuse_recording() -> None:
    """Refuse to record a run whose values may not be stored: its prompts hold them."""
    if has_key() and _recording_files().record:
        raise InvalidSettings(
            "a recording holds whole prompts, also what `redact` hides: unset ACE_RECORD (or leave "
            "`recording`), or give no `redact`"
        )


def has_key() -> bool:
    """Whether a model server can be asked: there is a key, or a recording to replay."""
    return _env("OPENAI_API_KEY") is not None or _recording_files().replay is not None


def model_name(role: str, name: str | None) -> str | None:
    """The model of a role: `name`, or the environment's; None is the embedded one.

    A key alone names no model: it may be there for other programs. `openai:` before a name, as
    LangChain writes it, changes nothing.
    """
    chosen = (name or _env(f"ACE_{role.upper()}_MODEL") or "").removeprefix("openai:") or None
    return None if chosen in (EMBEDDED_NAME, EMBEDDED_MODEL) else chosen


def chat_model(role: Role, name: str | None) -> LanguageModel | None:
    """The model of a role, ready to be asked; None is the embedded one."""
    chosen = model_name(role, name)
    if chosen is None:
        return None
    server = server_for(chosen)
    return _chat(chosen, server, _recording_of(server))


def resolve_model(
    role: Role, model: "BaseChatModel | LanguageModel | str | None", name: str | None
) -> LanguageModel | None:
    """The model of a role: that of its node, the run's choice, or the environment's."""
    if isinstance(model, LanguageModel):
        return model
    if is_chat_model(model):
        return LanguageModel(model)
    assert model is None or isinstance(model, str)
    return chat_model(role, model or name)


def embedding_model(name: str | None) -> EmbeddingModel:
    """The embedder: `name`, the environment's, or the embedded one."""
    chosen = model_name("embedding", name)
    if chosen is None:
        return EMBEDDED
    server = server_for(chosen)
    return _embeddings(chosen, server, _recording_of(server))


def prices() -> Prices:
    """The prices of tokens in ACE_PRICES."""
    return Prices.of(_env("ACE_PRICES"))


def server_for(model: str) -> Server:
    """The server that is asked for this model; a missing key is refused."""
    server = Server.configured()
    if server.key is None:
        raise InvalidSettings(
            f"model {model!r} needs OPENAI_API_KEY (and OPENAI_BASE_URL for another server); "
            "name no model to use the embedded default"
        )
    return server


# Server and recording are in the cache's key, so that a changed environment gets a new client.
@lru_cache(maxsize=32)
def _chat(name: str, server: Server, recording: Recording | None) -> LanguageModel:
    from langchain_openai import ChatOpenAI  # over a second to import
    from pydantic import SecretStr

    assert server.key is not None
    client, async_client = _clients(server.retry, recording)
    model = ChatOpenAI(
        model=name,
        api_key=SecretStr(server.key),
        base_url=server.base_url,
        temperature=None if _WITHOUT_TEMPERATURE.search(name) else 0,
        max_retries=0,  # retries.py decides about retries
        # A form is read as a whole: LangChain completes a call that a stream broke off.
        disable_streaming=True,
        http_client=client,
        http_async_client=async_client,
        # The clients are ours; with its own socket options LangChain would warn about proxies.
        **({"http_socket_options": ()} if "http_socket_options" in ChatOpenAI.model_fields else {}),
    )
    secret = recording.secret if recording else None
    return LanguageModel(model, server.method, secret=secret, on_line=True)


@lru_cache(maxsize=8)
def _embeddings(name: str, server: Server, recording: Recording | None) -> EmbeddingModel:
    from langchain_openai import OpenAIEmbeddings
    from pydantic import SecretStr

    assert server.key is not None
    client, async_client = _clients(server.retry, recording)
    embeddings = OpenAIEmbeddings(
        model=name,
        openai_api_key=SecretStr(server.key),
        openai_api_base=server.base_url,
        max_retries=0,
        # The check would download a tokenizer, and compatible servers expect text, not tokens.
        check_embedding_ctx_length=False,
        http_client=client,
        http_async_client=async_client,
    )
    return EmbeddingModel(name, embeddings, on_line=True)


@lru_cache(maxsize=8)
def _clients(retry: Retry, recording: Recording | None) -> "tuple[Client, AsyncClient]":
    from acegraph.nodes.models.http_client import AsyncClient, Client, RetryingTransport

    transport = RetryingTransport(retry, recording)
    return Client(transport), AsyncClient(transport)


def _recording_files() -> _Files:
    return _files_in_code.get() or _Files(_path("ACE_RECORD"), _path("ACE_REPLAY"))


def _recording_of(server: Server) -> Recording | None:
    if server.replay:
        return _player(server.replay)
    return _recorder(server.record, *server.secrets()) if server.record else None


_recorder = lru_cache(maxsize=8)(Recorder)
_player = lru_cache(maxsize=8)(Player)


def _retry() -> Retry:
    return Retry(
        attempts=_positive("ACE_ATTEMPTS", int, Retry.attempts),
        timeout=_positive("ACE_TIMEOUT", float, Retry.timeout),
        deadline=_positive("ACE_DEADLINE", float, Retry.deadline),
    )


def _positive(variable: str, kind: type[Number], default: Number) -> Number:
    """The number above 0, and not beyond all sense, in a variable of the environment."""
    text = _env(variable)
    if text is None:
        return default
    try:
        number = kind(text)
    except ValueError:
        number = kind(0)
    if not 0 < number <= _LARGEST:
        raise InvalidSettings(
            f"{variable} is a number above 0 and up to {_LARGEST:,}, not {quoted(text)}"
        )
    return number


def _env(name: str) -> str | None:
    return os.environ.get(name) or None


def _path(name: str) -> Path | None:
    return Path(text) if (text := _env(name)) else None
