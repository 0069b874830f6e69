"""What acts: selector, agent, judge, reflector, curator, and the maths and prompts they use.

It imports the state room, never the graph. Each name is imported on first use.
"""

from typing import TYPE_CHECKING

from acegraph.state.lazy import later

if TYPE_CHECKING:
    from acegraph.nodes.agent.agent import SimpleFraudAgent
    from acegraph.nodes.curator.curator import Curator
    from acegraph.nodes.judge.judge import LLMJudge, SimpleJudge
    from acegraph.nodes.models.language_model import LanguageModel
    from acegraph.nodes.reflector.reflector import Reflector
    from acegraph.nodes.selector.selector import HybridSelector

__getattr__, __dir__ = later(__name__)

__all__ = [
    "Curator", "HybridSelector", "LLMJudge", "LanguageModel", "Reflector", "SimpleFraudAgent",
    "SimpleJudge",
]  # fmt: skip
