"""In which order: the graph, the modes, training, evaluation, the command line.

Everything is imported when it is first asked for: a command that needs no graph need not wait for
LangGraph.
"""

from typing import TYPE_CHECKING

from acegraph.state.lazy import later

if TYPE_CHECKING:
    from acegraph.graph.build import create_ace_graph
    from acegraph.graph.data.files import load_dataset
    from acegraph.graph.data.synthetic import Example, generate_transactions
    from acegraph.graph.metrics.intervals import Estimate, estimate
    from acegraph.graph.metrics.paired import PairedTest, mcnemar
    from acegraph.graph.metrics.run import Run
    from acegraph.graph.operations.feedback import (
        Feedback,
        FeedbackReport,
        feedback,
        feedback_many,
        read_labels,
    )
    from acegraph.graph.operations.reembed import reembed
    from acegraph.graph.operations.replay import Replay, replay
    from acegraph.graph.training.pipeline import TrainingPipeline, TrainingReport
    from acegraph.state.run.modes import MODES, ModePlan

_HOME = {
    "build": ("create_ace_graph",),
    "data.files": ("load_dataset",),
    "metrics.intervals": (
        "Estimate",
        "estimate",
    ),
    "metrics.paired": (
        "PairedTest",
        "mcnemar",
    ),
    "metrics.run": ("Run",),
    "data.synthetic": (
        "Example",
        "generate_transactions",
    ),
    "operations.feedback": (
        "Feedback",
        "FeedbackReport",
        "feedback",
        "feedback_many",
        "read_labels",
    ),
    "acegraph.state.run.modes": (
        "MODES",
        "ModePlan",
    ),
    "operations.reembed": ("reembed",),
    "operations.replay": (
        "Replay",
        "replay",
    ),
    "training.pipeline": (
        "TrainingPipeline",
        "TrainingReport",
    ),
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
