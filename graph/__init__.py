"""In which order: the graph, the modes, training, evaluation, the command line.

Everything is imported when it is first asked for: a command that needs no graph need not wait for
LangGraph.
"""

from typing import TYPE_CHECKING

from acegraph.state.later import later

if TYPE_CHECKING:
    from acegraph.graph.ace import create_ace_graph
    from acegraph.graph.dataset import load_dataset
    from acegraph.graph.evaluation import Estimate, PairedTest, Run, estimate, mcnemar
    from acegraph.graph.generator import Example, generate_transactions
    from acegraph.graph.late_labels import (
        Feedback,
        FeedbackReport,
        feedback,
        feedback_many,
        read_labels,
    )
    from acegraph.graph.modes import MODES, ModePlan
    from acegraph.graph.reembedding import reembed
    from acegraph.graph.replaying import Replay, replay
    from acegraph.graph.training import TrainingPipeline, TrainingReport

_HOME = {
    "ace": ("create_ace_graph",),
    "dataset": ("load_dataset",),
    "evaluation": ("Estimate", "PairedTest", "Run", "estimate", "mcnemar"),
    "generator": ("Example", "generate_transactions"),
    "late_labels": ("Feedback", "FeedbackReport", "feedback", "feedback_many", "read_labels"),
    "modes": ("MODES", "ModePlan"),
    "reembedding": ("reembed",),
    "replaying": ("Replay", "replay"),
    "training": ("TrainingPipeline", "TrainingReport"),
}
__getattr__ = later(__name__, _HOME)

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
