"""Which model serves which role: the one named, the environment's, OpenAI's, or the embedded.

The only module that reads the environment or builds a client, and it builds one when it is first
needed.
"""

import os
from functools import lru_cache
from typing import Any, Final, Literal

from acegraph.nodes.embedder import EMBEDDED_MODEL
from acegraph.nodes.embeddings import EMBEDDED, EmbeddingModel
from acegraph.nodes.models import LanguageModel
from acegraph.state import InvalidSettings

Role = Literal["agent", "judge", "reflector"]

DEFAULT_MODELS: Final = {
    "agent": "gpt-3.5-turbo",
    "judge": "gpt-4o-mini",
    "reflector": "gpt-4o-mini",
    "embedding": "text-embedding-3-small",
}
EMBEDDED_NAME: Final = "embedded"
"""The name that asks for the embedded analyst (or embedder) even where a key is set."""
_TIMEOUT_SECONDS: Final = 60
_MAX_RETRIES: Final = 2


def has_key() -> bool:
    """Whether a language model can be had at all."""
    return bool(os.environ.get("OPENAI_API_KEY"))


def chat_model(role: Role, name: str | None) -> LanguageModel | None:
    """The model of a role: named, the environment's or the default; None is embedded."""
    wanted = name or os.environ.get(f"ACE_{role.upper()}_MODEL")
    if wanted == EMBEDDED_NAME or (wanted is None and not has_key()):
        return None
    wanted = wanted or DEFAULT_MODELS[role]
    _need_key(wanted)
    return _chat(wanted, os.environ["OPENAI_API_KEY"], os.environ.get("OPENAI_BASE_URL"))


def embedding_model(name: str | None) -> EmbeddingModel:
    """The embedder: named, the environment's, or the default for what is configured."""
    wanted = name or os.environ.get("ACE_EMBEDDING_MODEL")
    if wanted in (EMBEDDED_NAME, EMBEDDED_MODEL) or (wanted is None and not has_key()):
        return EMBEDDED
    wanted = wanted or DEFAULT_MODELS["embedding"]
    _need_key(wanted)
    return _embeddings(wanted, os.environ["OPENAI_API_KEY"], os.environ.get("OPENAI_BASE_URL"))


def _need_key(model: str) -> None:
    if not has_key():
        raise InvalidSettings(
            f"model {model!r} needs OPENAI_API_KEY (and OPENAI_BASE_URL for another server); "
            "leave the model out to use the embedded default"
        )


# The key is part of the cache's key, so that a changed environment is never served by an old
# client.
@lru_cache(maxsize=32)
def _chat(name: str, key: str, base_url: str | None) -> LanguageModel:
    from langchain_openai import ChatOpenAI  # over a second to import
    from pydantic import SecretStr

    return LanguageModel(
        ChatOpenAI(
            model=name,
            api_key=SecretStr(key),
            base_url=base_url,
            temperature=0,
            timeout=_TIMEOUT_SECONDS,
            max_retries=_MAX_RETRIES,
            http_async_client=_async_client(),
            # A form is read whole: LangChain completes a call that a stream broke off.
            disable_streaming=True,
        )
    )


@lru_cache(maxsize=8)
def _embeddings(name: str, key: str, base_url: str | None) -> EmbeddingModel:
    from langchain_openai import OpenAIEmbeddings
    from pydantic import SecretStr

    client = OpenAIEmbeddings(
        model=name,
        openai_api_key=SecretStr(key),
        openai_api_base=base_url,
        request_timeout=_TIMEOUT_SECONDS,
        max_retries=_MAX_RETRIES,
        http_async_client=_async_client(),
        # The check wants to download a tokenizer, and compatible servers want text, not tokens.
        check_embedding_ctx_length=False,
    )
    return EmbeddingModel(name, client)


@lru_cache(maxsize=1)
def _async_client() -> Any:
    """A client that keeps no connection: one that is kept belongs to the event loop it was opened
    in, and a script that calls `asyncio.run` twice would find it dead.
    """
    import openai

    return openai.DefaultAsyncHttpxClient(headers={"Connection": "close"})
