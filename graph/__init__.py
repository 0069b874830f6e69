"""In which order: the graph, the modes, training, evaluation, the command line."""

from acegraph.graph.ace import create_ace_graph
from acegraph.graph.dataset import load_dataset
from acegraph.graph.evaluation import Estimate, PairedTest, Run, estimate, mcnemar
from acegraph.graph.feedback import Feedback, FeedbackReport, feedback, feedback_many, read_labels
from acegraph.graph.generator import Example, generate_transactions
from acegraph.graph.modes import MODES, ModePlan
from acegraph.graph.replay import Replay, replay
from acegraph.graph.training import TrainingPipeline, TrainingReport

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
    "replay",
]
