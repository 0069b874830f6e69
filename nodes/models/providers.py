"""Which model serves which role: the one named, the environment's, OpenAI's, or the embedded.

The only module that reads the environment or builds a client, and it builds one when it is first
needed. An argument is stronger than a run's `AceContext`, and that than the environment.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from acegraph.nodes.models.concept_embeddings import EMBEDDED_MODEL
from acegraph.nodes.models.embedding_models import EMBEDDED, EmbeddingModel
from acegraph.nodes.models.language_model import LanguageModel, Method, is_chat_model
from acegraph.nodes.models.recordings import Player, Recorder
from acegraph.nodes.models.retries import Retry
from acegraph.nodes.runtime.usage import Prices
from acegraph.state import InvalidSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


Role = Literal["agent", "judge", "reflector"]
Tape = Recorder | Player | None


DEFAULT_MODELS: Final = {
    "agent": "gpt-3.5-turbo",
    "judge": "gpt-4o-mini",
    "reflector": "gpt-4o-mini",
    "embedding": "text-embedding-3-small",
}
EMBEDDED_NAME: Final = "embedded"
"""The name that asks for the embedded analyst (or embedder) even where a key is set."""
_REPLAYED_KEY: Final = "replayed"
_WITHOUT_TEMPERATURE = re.compile(r"(?:^|/)(?:o\d|gpt-5)")
"""Models that think before they answer refuse a temperature."""


@dataclass(frozen=True)
class Server:
    """How the server of the models is reached: what the environment says."""

    key: str | None
    base_url: str | None
    method: Method | None
    retry: Retry
    record: Path | None = None
    replay: Path | None = None

    @classmethod
    def configured(cls) -> "Server":
        """As the environment, and `recording` or `replaying`, say."""
        method = _env("ACE_METHOD")
        if method is not None and method not in get_args(Method):
            raise InvalidSettings(
                f"ACE_METHOD is one of {', '.join(get_args(Method))}, not {method!r}"
            )
        record, replay = _tape_files()
        if record and replay:
            raise InvalidSettings("ACE_RECORD and ACE_REPLAY exclude each other; unset one")
        key = _env("OPENAI_API_KEY") or (_REPLAYED_KEY if replay else None)
        return cls(key, _env("OPENAI_BASE_URL"), method, _retry(), record, replay)  # type: ignore[arg-type]


_tape: ContextVar[tuple[Path | None, Path | None] | None] = ContextVar("tape", default=None)


@contextmanager
def recording(file: str | Path) -> Iterator[None]:
    """Record to this file every exchange made inside, as ACE_RECORD does."""
    if not Path(file).exists():
        _recorder.cache_clear()  # one that was deleted begins anew, with a head
    token = _tape.set((Path(file), None))
    try:
        yield
    finally:
        _tape.reset(token)


@contextmanager
def replaying(file: str | Path) -> Iterator[None]:
    """Answer from this recording, from its beginning, as ACE_REPLAY does; needs no key."""
    _player.cache_clear()
    token = _tape.set((None, Path(file)))
    try:
        yield
    finally:
        _tape.reset(token)
        _player.cache_clear()


def has_key() -> bool:
    """Whether a language model can be had at all."""
    return _env("OPENAI_API_KEY") is not None or _tape_files()[1] is not None


def model_name(role: str, name: str | None) -> str | None:
    """The model of a role: named, the environment's or the default; None is embedded."""
    wanted = name or _env(f"ACE_{role.upper()}_MODEL")
    if wanted in (EMBEDDED_NAME, EMBEDDED_MODEL) or (wanted is None and not has_key()):
        return None
    return wanted or DEFAULT_MODELS[role]


def chat_model(role: Role, name: str | None) -> LanguageModel | None:
    """The model of a role, ready to be asked; None is embedded."""
    wanted = model_name(role, name)
    if wanted is None:
        return None
    server = _server_for(wanted)
    return _chat(wanted, server, _tape_of(server))


def resolve_model(
    role: Role, given: "BaseChatModel | LanguageModel | str | None", name: str | None
) -> LanguageModel | None:
    """The model of a part: the one it was built with, the one asked for, or the default."""
    if isinstance(given, LanguageModel):
        return given
    if is_chat_model(given):
        return LanguageModel(given)
    assert given is None or isinstance(given, str)
    return chat_model(role, given or name)


def embedding_model(name: str | None) -> EmbeddingModel:
    """The embedder: named, the environment's, or the default for what is configured."""
    wanted = model_name("embedding", name)
    if wanted is None:
        return EMBEDDED
    server = _server_for(wanted)
    return _embeddings(wanted, server, _tape_of(server))


def prices() -> Prices:
    """What tokens cost, as ACE_PRICES says."""
    return Prices.of(_env("ACE_PRICES"))


def _server_for(model: str) -> Server:
    server = Server.configured()
    if server.key is None:
        raise InvalidSettings(
            f"model {model!r} needs OPENAI_API_KEY (and OPENAI_BASE_URL for another server); "
            "leave the model out to use the embedded default"
        )
    return server


# Key and tape are part of the cache's key, so that a changed environment is never served by an old
# client.
@lru_cache(maxsize=32)
def _chat(name: str, server: Server, tape: Tape) -> LanguageModel:
    from langchain_openai import ChatOpenAI  # over a second to import
    from pydantic import SecretStr

    assert server.key is not None
    model = ChatOpenAI(
        model=name,
        api_key=SecretStr(server.key),
        base_url=server.base_url,
        temperature=None if _WITHOUT_TEMPERATURE.search(name) else 0,
        max_retries=0,  # ours are the only ones: nodes/retries.py
        # A form is read whole: LangChain completes a call that a stream broke off.
        disable_streaming=True,
        **_clients(server.retry, tape),
        # The clients are ours; asked for its own socket options LangChain warns of proxies.
        **({"http_socket_options": ()} if "http_socket_options" in ChatOpenAI.model_fields else {}),
    )
    return LanguageModel(model, server.method, secret=tape.secret if tape else None, on_line=True)


@lru_cache(maxsize=8)
def _embeddings(name: str, server: Server, tape: Tape) -> EmbeddingModel:
    from langchain_openai import OpenAIEmbeddings
    from pydantic import SecretStr

    assert server.key is not None
    client = OpenAIEmbeddings(
        model=name,
        openai_api_key=SecretStr(server.key),
        openai_api_base=server.base_url,
        max_retries=0,
        # The check wants to download a tokenizer, and compatible servers want text, not tokens.
        check_embedding_ctx_length=False,
        **_clients(server.retry, tape),
    )
    return EmbeddingModel(name, client, on_line=True)


@lru_cache(maxsize=8)
def _clients(retry: Retry, tape: Tape) -> dict[str, Any]:
    from acegraph.nodes.models.http_client import AsyncClient, Client, RetryingTransport

    line = RetryingTransport(retry, tape)
    return {"http_client": Client(line), "http_async_client": AsyncClient(line)}


def _tape_files() -> tuple[Path | None, Path | None]:
    """Where to record to, and what to replay."""
    return _tape.get() or (_path("ACE_RECORD"), _path("ACE_REPLAY"))


def _tape_of(server: Server) -> Tape:
    if server.replay:
        return _player(server.replay)
    return _recorder(server.record, server.key or "") if server.record else None


_recorder = lru_cache(maxsize=8)(Recorder)
_player = lru_cache(maxsize=8)(Player)


def _retry() -> Retry:
    """How often and how long, as ACE_ATTEMPTS, ACE_TIMEOUT and ACE_DEADLINE say."""
    return _retry_of(_env("ACE_ATTEMPTS"), _env("ACE_TIMEOUT"), _env("ACE_DEADLINE"))


@lru_cache(maxsize=8)  # every decision asks
def _retry_of(attempts: str | None, timeout: str | None, deadline: str | None) -> Retry:
    texts = {"attempts": attempts, "timeout": timeout, "deadline": deadline}
    given: dict[str, Any] = {}
    for setting, text in texts.items():
        kind = next(f.type for f in fields(Retry) if f.name == setting)
        if text is None:
            continue
        try:
            given[setting] = int(text) if kind is int else float(text)
        except ValueError:
            given[setting] = 0
        if not given[setting] > 0:
            raise InvalidSettings(f"ACE_{setting.upper()} is a number above 0, not {text!r}")
    return Retry(**given)


def _env(name: str) -> str | None:
    return os.environ.get(name) or None


def _path(name: str) -> Path | None:
    return Path(text) if (text := _env(name)) else None
