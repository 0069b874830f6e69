"""In which order: the graph, the modes, training, evaluation, the command line.

What a host that only runs the graph does not need is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from acegraph.graph.ace import create_ace_graph
from acegraph.graph.feedback import Feedback, FeedbackReport, feedback, feedback_many, read_labels
from acegraph.graph.modes import MODES, ModePlan
from acegraph.graph.reembed import reembed
from acegraph.graph.replay import Replay, replay

if TYPE_CHECKING:
    from acegraph.graph.dataset import load_dataset
    from acegraph.graph.evaluation import Estimate, PairedTest, Run, estimate, mcnemar
    from acegraph.graph.generator import Example, generate_transactions
    from acegraph.graph.training import TrainingPipeline, TrainingReport

_LATER = {
    "load_dataset": "dataset",
    "Estimate": "evaluation",
    "PairedTest": "evaluation",
    "Run": "evaluation",
    "estimate": "evaluation",
    "mcnemar": "evaluation",
    "Example": "generator",
    "generate_transactions": "generator",
    "TrainingPipeline": "training",
    "TrainingReport": "training",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


__all__ = [
    "MODES",
    "Estimate",
    "Example",
    "Feedback",
    "FeedbackReport",
    "ModePlan",
    "PairedTest",
    "Replay",
    "Run",
    "TrainingPipeline",
    "TrainingReport",
    "create_ace_graph",
    "estimate",
    "feedback",
    "feedback_many",
    "generate_transactions",
    "load_dataset",
    "mcnemar",
    "read_labels",
    "reembed",
    "replay",
]
