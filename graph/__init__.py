"""In which order: the graph, the modes, training, evaluation, the command line."""

from acegraph.graph.ace import create_ace_graph
from acegraph.graph.dataset import load_dataset
from acegraph.graph.evaluation import Estimate, PairedTest, Run, estimate, mcnemar
from acegraph.graph.feedback import Feedback, feedback
from acegraph.graph.generator import Example, generate_transactions
from acegraph.graph.modes import MODES, ModePlan
from acegraph.graph.reembed import reembed
from acegraph.graph.training import TrainingPipeline, TrainingReport

__all__ = [
    "MODES",
    "Estimate",
    "Example",
    "Feedback",
    "ModePlan",
    "PairedTest",
    "Run",
    "TrainingPipeline",
    "TrainingReport",
    "create_ace_graph",
    "estimate",
    "feedback",
    "generate_transactions",
    "load_dataset",
    "mcnemar",
    "reembed",
]
