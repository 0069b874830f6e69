"""acegraph: a fraud-detection workflow on LangGraph that learns from its mistakes and proves it.

    from acegraph import BulletPlaybook, create_ace_graph, feedback

These are the names that most programs need; `acegraph.graph`, `acegraph.nodes` and `acegraph.state`
have all of them. A name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from acegraph.graph import TrainingPipeline, create_ace_graph, feedback, load_dataset, replay
    from acegraph.nodes import Curator, HybridSelector, SimpleFraudAgent
    from acegraph.state import (
        AceContext,
        AceError,
        AceInput,
        AceOutput,
        Bullet,
        BulletPlaybook,
        Condition,
        verify,
    )

    __version__: str

_ROOMS: Final = ("graph", "nodes", "state")
_HOMES: Final = {  # of Decider, which is gone, the room says where it went
    "graph": "Decider TrainingPipeline create_ace_graph feedback load_dataset replay",
    "nodes": "Curator HybridSelector SimpleFraudAgent",
    "state": "AceContext AceError AceInput AceOutput Bullet BulletPlaybook Condition verify",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("acegraph")
    if name in _ROOMS:
        return import_module(f"acegraph.{name}")
    for room, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"acegraph.{room}"), name)
    raise AttributeError(f"module 'acegraph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS]


__all__ = [
    "AceContext", "AceError", "AceInput", "AceOutput", "Bullet", "BulletPlaybook", "Condition",
    "Curator", "HybridSelector", "SimpleFraudAgent", "TrainingPipeline", "__version__",
    "create_ace_graph", "feedback", "load_dataset", "replay", "verify",
]  # fmt: skip
