"""What acts: selector, agent, judge, reflector, curator, and the maths and prompts they use.

Imports the state room, never the graph.
"""

from acegraph.nodes.agent import Decision, SimpleFraudAgent
from acegraph.nodes.curator import Curation, Curator
from acegraph.nodes.embedder import ConceptEmbeddings
from acegraph.nodes.evidence import Backtest, backtest, wilson_interval
from acegraph.nodes.judge import Judgement, LLMJudge, SimpleJudge
from acegraph.nodes.models import LanguageModel
from acegraph.nodes.providers import recording, replaying
from acegraph.nodes.reader import read_fields
from acegraph.nodes.reflector import Reflection, Reflector
from acegraph.nodes.selector import HybridSelector
from acegraph.nodes.stages import Selection

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
