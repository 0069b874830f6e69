"""The graph room: the graph, training, metrics, operations on a live playbook, the command line.

A name is imported when it is first used: a command without a graph need not wait for LangGraph.
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
    from acegraph.graph.operations.agent_tool import create_fraud_tool
    from acegraph.graph.operations.decide import Decider
    from acegraph.graph.operations.feedback import (
        Feedback,
        FeedbackReport,
        feedback,
        feedback_many,
        read_labels,
    )
    from acegraph.graph.operations.learning.background import LearnedLessons, learn_waiting
    from acegraph.graph.operations.learning.purge import purge
    from acegraph.graph.operations.learning.trial import Trial, try_bullet
    from acegraph.graph.operations.reembed import reembed
    from acegraph.graph.operations.replay import Replay, replay
    from acegraph.graph.server.checkpoints import strict_serializer
    from acegraph.graph.tables.engines.expression import as_expression
    from acegraph.graph.tables.ruleset import Ruleset
    from acegraph.graph.tables.score import ScoreReport, score, score_files
    from acegraph.graph.training.pipeline import TrainingPipeline, TrainingReport
    from acegraph.state.run.modes import MODES, ModePlan

_HOMES = {
    "graph.build": "create_ace_graph",
    "graph.data.files": "load_dataset",
    "graph.data.synthetic": "Example generate_transactions",
    "graph.metrics.intervals": "Estimate estimate",
    "graph.metrics.paired": "PairedTest mcnemar",
    "graph.metrics.run": "Run",
    "graph.operations.agent_tool": "create_fraud_tool",
    "graph.operations.learning.background": "LearnedLessons learn_waiting",
    "graph.operations.decide": "Decider",
    "graph.operations.feedback": "Feedback FeedbackReport feedback feedback_many read_labels",
    "graph.operations.learning.purge": "purge",
    "graph.operations.reembed": "reembed",
    "graph.operations.replay": "Replay replay",
    "graph.operations.learning.trial": "Trial try_bullet",
    "graph.server.checkpoints": "strict_serializer",
    "graph.tables.engines.expression": "as_expression",
    "graph.tables.ruleset": "Ruleset",
    "graph.tables.score": "ScoreReport score score_files",
    "graph.training.pipeline": "TrainingPipeline TrainingReport",
    "state.run.modes": "MODES ModePlan",
}
__getattr__ = later(__name__, _HOMES)

__all__ = [
    "MODES", "Decider", "Estimate", "Example", "Feedback", "FeedbackReport", "LearnedLessons",
    "ModePlan", "PairedTest", "Replay", "Ruleset", "Run", "ScoreReport", "TrainingPipeline",
    "TrainingReport", "Trial", "as_expression", "create_ace_graph", "create_fraud_tool", "estimate",
    "feedback", "feedback_many", "generate_transactions", "learn_waiting", "load_dataset",
    "mcnemar", "purge", "read_labels", "reembed", "replay", "score", "score_files",
    "strict_serializer", "try_bullet",
]  # fmt: skip
