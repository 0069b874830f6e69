"""What acts: selector, agent, judge, reflector, curator, and the maths and prompts they use.

Imports the state room, never the graph; each part when it is first asked for.
"""

from typing import TYPE_CHECKING

from acegraph.state.lazy import later

if TYPE_CHECKING:
    from acegraph.nodes.agent.agent import Decision, SimpleFraudAgent
    from acegraph.nodes.curator.curator import Curation, Curator
    from acegraph.nodes.evidence.backtest import Backtest, backtest, wilson_interval
    from acegraph.nodes.judge.judge import Judgement, LLMJudge, SimpleJudge
    from acegraph.nodes.models.concept_embeddings import ConceptEmbeddings
    from acegraph.nodes.models.language_model import LanguageModel
    from acegraph.nodes.models.providers import recording, replaying
    from acegraph.nodes.reflector.reflector import Reflection, Reflector
    from acegraph.nodes.selector.selector import HybridSelector
    from acegraph.nodes.selector.stages import Selection
    from acegraph.nodes.text.reader import read_fields

_HOME = {
    "agent.agent": (
        "Decision",
        "SimpleFraudAgent",
    ),
    "curator.curator": (
        "Curation",
        "Curator",
    ),
    "models.concept_embeddings": ("ConceptEmbeddings",),
    "evidence.backtest": (
        "Backtest",
        "backtest",
        "wilson_interval",
    ),
    "judge.judge": (
        "Judgement",
        "LLMJudge",
        "SimpleJudge",
    ),
    "models.language_model": ("LanguageModel",),
    "models.providers": (
        "recording",
        "replaying",
    ),
    "text.reader": ("read_fields",),
    "reflector.reflector": (
        "Reflection",
        "Reflector",
    ),
    "selector.selector": ("HybridSelector",),
    "selector.stages": ("Selection",),
}
__getattr__ = later(__name__, _HOME)

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
