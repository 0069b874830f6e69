"""Which models are named: by an argument, by a run's `AceContext`, or by the environment.

A key chooses nothing. What is not named is embedded, and then providers.py is not imported.
"""

import os
import sys
from typing import TYPE_CHECKING, Final, Literal, Union

from langchain_core.runnables import Runnable
from typing_extensions import TypeIs

from acegraph.nodes.models.embedding_models import EMBEDDED, EMBEDDED_MODEL, EmbeddingModel
from acegraph.nodes.runtime.usage import Prices

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from acegraph.nodes.models.language_model import LanguageModel

AnyModel = Union["BaseChatModel", "LanguageModel", str, None]
"""What may be given as a model: one of LangChain or of ours, a name, or nothing."""
Role = Literal["agent", "judge", "reflector"]

EMBEDDED_NAME: Final = "embedded"
"""The name of the embedded analyst (or embedder), also if the environment names another one."""

_WRAPPED: Final = ("bound", "runnable", "default")
"""Where LangChain keeps the model that has options, fallbacks, or fields to configure."""


def model_name(role: str, name: str | None) -> str | None:
    """The model of a role: `name`, or the environment's; None is the embedded one.

    A key alone names no model: it may be there for other programs. `openai:` before a name, as
    LangChain writes it, changes nothing.
    """
    named = name or os.environ.get(f"ACE_{role.upper()}_MODEL") or EMBEDDED_NAME
    chosen = named.removeprefix("openai:")
    return None if chosen in ("", EMBEDDED_NAME, EMBEDDED_MODEL) else chosen


def resolve_model(role: Role, model: AnyModel, name: str | None) -> "LanguageModel | None":
    """The model of a role: that of its node, the run's choice, or the environment's; None is the
    embedded one.
    """
    if model is None or isinstance(model, str):
        chosen = model_name(role, model or name)
        if chosen is None:
            return None
        from acegraph.nodes.models.providers import chat_model

        return chat_model(chosen)
    from acegraph.nodes.models.language_model import LanguageModel

    return model if isinstance(model, LanguageModel) else LanguageModel(model)


def embedding_model(name: str | None) -> EmbeddingModel:
    """The embedder: `name`, the environment's, or the embedded one."""
    chosen = model_name("embedding", name)
    if chosen is None:
        return EMBEDDED
    from acegraph.nodes.models.providers import embeddings

    return embeddings(chosen)


def is_model(value: object) -> TypeIs[AnyModel]:
    """Whether a collaborator is a model, or the name of one; nothing is the default one."""
    if value is None or isinstance(value, str):
        return True
    # Nothing is imported: without its module no model can exist.
    ours = sys.modules.get("acegraph.nodes.models.language_model")
    if ours is not None and isinstance(value, ours.LanguageModel):
        return True
    theirs = sys.modules.get("langchain_core.language_models.chat_models")
    if theirs is None:
        return False
    while isinstance(value, Runnable) and not isinstance(value, theirs.BaseChatModel):
        value = next((getattr(value, n) for n in _WRAPPED if hasattr(value, n)), None)
    return isinstance(value, theirs.BaseChatModel)


def prices() -> Prices:
    """The prices of tokens in ACE_PRICES."""
    return Prices.of(os.environ.get("ACE_PRICES"))
