"""Which models are named: by an argument, by a run's `AceContext`, or by the environment.

A key chooses nothing. What is not named is embedded, and then providers.py is not imported.
"""

import os
from typing import Final, Literal

from acegraph.nodes.models.concept_embeddings import EMBEDDED_MODEL
from acegraph.nodes.runtime.usage import Prices

Role = Literal["agent", "judge", "reflector"]

EMBEDDED_NAME: Final = "embedded"
"""The name of the embedded analyst (or embedder), also if the environment names another one."""


def setting(name: str) -> str | None:
    """A variable of the environment; None where it is empty."""
    return os.environ.get(name) or None


def model_name(role: str, name: str | None) -> str | None:
    """The model of a role: `name`, or the environment's; None is the embedded one.

    A key alone names no model: it may be there for other programs. `openai:` before a name, as
    LangChain writes it, changes nothing.
    """
    chosen = (name or setting(f"ACE_{role.upper()}_MODEL") or "").removeprefix("openai:") or None
    return None if chosen in (EMBEDDED_NAME, EMBEDDED_MODEL) else chosen


def prices() -> Prices:
    """The prices of tokens in ACE_PRICES."""
    return Prices.of(setting("ACE_PRICES"))
