"""The graph room: the graph, training, metrics, operations on a live playbook, the command line.

A name is imported when it is first used: a command without a graph need not wait for LangGraph.
"""

from typing import TYPE_CHECKING

from acegraph.state.lazy import later

if TYPE_CHECKING:
    from acegraph.graph.build import create_ace_graph
    from acegraph.graph.data.files import load_dataset
    from acegraph.graph.data.synthetic import generate_transactions
    from acegraph.graph.operations.agent_tool import create_fraud_tool
    from acegraph.graph.operations.feedback import feedback, feedback_many, learn_waiting
    from acegraph.graph.operations.learning.purge import purge
    from acegraph.graph.operations.replay import replay
    from acegraph.graph.server.checkpoints import strict_serializer
    from acegraph.graph.tables.score import score, score_files
    from acegraph.graph.training.pipeline import TrainingPipeline
    from acegraph.nodes.rules.ruleset import Ruleset

__getattr__, __dir__ = later(__name__)

__all__ = [
    "Ruleset", "TrainingPipeline", "create_ace_graph", "create_fraud_tool", "feedback",
    "feedback_many", "generate_transactions", "learn_waiting", "load_dataset", "purge",
    "replay", "score", "score_files", "strict_serializer",
]  # fmt: skip
