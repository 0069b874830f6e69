"""The models that are named, each built when it is first needed.

Only this module builds clients, and only it reads from the environment how a server is reached.
named.py says which model serves which role.
"""

import os
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from acegraph.nodes.models.embedding_models import EmbeddingModel
from acegraph.nodes.models.language_model import LanguageModel
from acegraph.state import InvalidSettings
from acegraph.state.errors import quoted
from acegraph.state.gone import refuse_gone_variables

_OPENAI: Final = "https://api.openai.com/v1"
_SECONDS: Final = 120.0
_MOST_SECONDS: Final = 1_000_000
"""More than eleven days are a mistake."""
_ATTEMPTS: Final = 3
_WITHOUT_TEMPERATURE = re.compile(r"(?:^|/)(?:o\d|gpt-5)")
"""Models that reason before they answer; they refuse a temperature."""


@dataclass(frozen=True)
class Server:
    """How the model server is reached, according to the environment."""

    key: str | None = field(repr=False)
    base_url: str | None = field(repr=False)
    seconds: float = _SECONDS
    """For one question, with all attempts at it."""

    @classmethod
    def configured(cls) -> "Server":
        """The server that the environment describes."""
        refuse_gone_variables()
        key, base_url = os.environ.get("OPENAI_API_KEY"), os.environ.get("OPENAI_BASE_URL")
        return cls(key or None, base_url or None, _seconds())

    @property
    def address(self) -> str:
        """Where models are asked, without user name, password and query.

        >>> Server(None, "http://ann:secret@example.org/v1?api-key=secret").address
        'http://example.org/v1'
        """
        return re.sub(r"^(\w+://)?.*@", r"\1", self.base_url or _OPENAI).partition("?")[0]


def chat_model(name: str) -> LanguageModel:
    """The model with this name, ready to be asked."""
    return _chat(name, server_for(name))


def embeddings(name: str) -> EmbeddingModel:
    """The embedder with this name, ready to be asked."""
    return _embeddings(name, server_for(name))


def server_for(model: str) -> Server:
    """The server that is asked for this model; a missing key is refused."""
    server = Server.configured()
    if server.key is None:
        raise InvalidSettings(
            f"model {model!r} needs OPENAI_API_KEY (and OPENAI_BASE_URL for another server); "
            "name no model to use the embedded default"
        )
    return server


# The server is in the cache's key, so that a changed environment gets a new client.
@lru_cache(maxsize=32)
def _chat(name: str, server: Server) -> LanguageModel:
    from langchain_openai import ChatOpenAI  # over a second to import
    from pydantic import SecretStr

    from acegraph.nodes.models.http_client import Client

    assert server.key is not None
    model = ChatOpenAI(
        model=name,
        api_key=SecretStr(server.key),
        base_url=server.base_url,
        temperature=None if _WITHOUT_TEMPERATURE.search(name) else 0,
        max_retries=_ATTEMPTS - 1,
        timeout=server.seconds / 2,  # one that hangs leaves time for another
        # A form is read as a whole: LangChain completes a call that a stream broke off.
        disable_streaming=True,
        http_async_client=Client(),
        # With its own socket options LangChain would warn about proxies.
        **({"http_socket_options": ()} if "http_socket_options" in ChatOpenAI.model_fields else {}),
    )
    return LanguageModel(model, seconds=server.seconds)


@lru_cache(maxsize=8)
def _embeddings(name: str, server: Server) -> EmbeddingModel:
    from langchain_openai import OpenAIEmbeddings
    from pydantic import SecretStr

    from acegraph.nodes.models.http_client import Client

    assert server.key is not None
    embeddings = OpenAIEmbeddings(
        model=name,
        openai_api_key=SecretStr(server.key),
        openai_api_base=server.base_url,
        max_retries=_ATTEMPTS - 1,
        request_timeout=server.seconds / 2,
        # The check would download a tokenizer, and compatible servers expect text, not tokens.
        check_embedding_ctx_length=False,
        http_async_client=Client(),
    )
    return EmbeddingModel(name, embeddings, server.seconds)


def _seconds() -> float:
    """ACE_TIMEOUT: a number of seconds above 0, and not beyond all sense."""
    text = os.environ.get("ACE_TIMEOUT") or str(_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= _MOST_SECONDS:
        raise InvalidSettings(
            f"ACE_TIMEOUT is a number above 0 and up to {_MOST_SECONDS:,}, not {quoted(text)}"
        )
    return seconds
