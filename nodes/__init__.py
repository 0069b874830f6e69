"""What acts: selector, agent, judge, reflector, curator, and the maths and prompts they use.

It imports the state room, never the graph. Each name is imported on first use.
"""

from typing import TYPE_CHECKING

from acegraph.state.lazy import later

if TYPE_CHECKING:
    from acegraph.nodes.agent.agent import SimpleFraudAgent
    from acegraph.nodes.agent.decision import Decision
    from acegraph.nodes.curator.curator import Curation, Curator
    from acegraph.nodes.evidence.backtest import Backtest, backtest, wilson_interval
    from acegraph.nodes.judge.judge import Judgement, LLMJudge, SimpleJudge
    from acegraph.nodes.models.concept_embeddings import ConceptEmbeddings
    from acegraph.nodes.models.language_model import LanguageModel
    from acegraph.nodes.models.providers import recording, replaying
    from acegraph.nodes.reflector.reflector import Reflector
    from acegraph.nodes.selector.selector import HybridSelector
    from acegraph.nodes.selector.stages import Selection
    from acegraph.nodes.text.reader import read_fields
    from acegraph.state.run.schema import Reflection

_HOMES = {
    "nodes.agent.agent": "SimpleFraudAgent",
    "nodes.agent.decision": "Decision",
    "nodes.curator.curator": "Curation Curator",
    "nodes.evidence.backtest": "Backtest backtest wilson_interval",
    "nodes.judge.judge": "Judgement LLMJudge SimpleJudge",
    "nodes.models.concept_embeddings": "ConceptEmbeddings",
    "nodes.models.language_model": "LanguageModel",
    "nodes.models.providers": "recording replaying",
    "nodes.reflector.reflector": "Reflector",
    "nodes.selector.selector": "HybridSelector",
    "nodes.selector.stages": "Selection",
    "nodes.text.reader": "read_fields",
    "state.run.schema": "Reflection",
}
__getattr__ = later(__name__, _HOMES)

__all__ = [
    "Backtest",
    "ConceptEmbeddings",
    "Curation",
    "Curator",
    "Decision",
    "HybridSelector",
    "Judgement",
    "LLMJudge",
    "LanguageModel",
    "Reflection",
    "Reflector",
    "Selection",
    "SimpleFraudAgent",
    "SimpleJudge",
    "backtest",
    "read_fields",
    "recording",
    "replaying",
    "wilson_interval",
]
