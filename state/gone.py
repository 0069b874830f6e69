"""What is gone: a word that somebody may still type or write, and where it went.

Whoever reads such words (the command line, the environment, `AceContext`, an import) refuses one of
these with its sentence, so that nothing is ignored in silence.
"""

from typing import Final

PUBLIC_NAMES: Final[dict[str, dict[str, str]]] = {
    "state": {
        "acegraph.state.database.base": "Durability",
        "acegraph.state.errors": "InvalidAnswer ModelAnswerInvalid ModelRefused PrunedDecision",
        "acegraph.state.maintenance.erase": "Erased",
        "acegraph.state.maintenance.label_withdrawal": "Purged",
        "acegraph.state.maintenance.versions": "Difference bullets_at",
        "acegraph.state.playbook.index": "View",
        "acegraph.state.run.context": "Mode Weights",
        "acegraph.state.run.model_forms": "ConditionForm DecisionForm Form "
        "ReflectionForm VerdictForm",
        "acegraph.state.values.bullet": "Source Status",
        "acegraph.state.values.cases": "CaseTable",
        "acegraph.state.values.condition": "Comparison",
        "acegraph.state.values.decision": "Clock DecisionRecord Recorded Shown",
        "acegraph.state.values.times": "as_utc",
        "acegraph.state.values.transaction": "Fields Scalar clean_text",
        "acegraph.state.values.verdict": "Verdict other parse_verdict",
        "acegraph.graph": "purge",
    },
    "nodes": {
        "acegraph.nodes.agent.decision": "Decision",
        "acegraph.nodes.curator.curator": "Curation",
        "acegraph.nodes.evidence.backtest": "Backtest backtest wilson_interval",
        "acegraph.nodes.judge.judge": "Judgement",
        "acegraph.nodes.models.concept_embeddings": "ConceptEmbeddings",
        "acegraph.nodes.selector.stages": "Selection",
        "acegraph.nodes.text.reader": "read_fields",
        "acegraph.state.run.schema": "Reflection",
    },
    "graph": {
        "acegraph.graph.data.synthetic": "Example",
        "acegraph.graph.metrics.intervals": "Estimate estimate",
        "acegraph.graph.metrics.paired": "PairedTest mcnemar",
        "acegraph.graph.metrics.run": "Run",
        "acegraph.graph.operations.feedback": "Feedback FeedbackReport read_labels",
        "acegraph.graph.operations.learning.background": "LearnedLessons",
        "acegraph.graph.operations.learning.trial": "Trial try_bullet",
        "acegraph.graph.operations.replay": "Replay",
        "acegraph.graph.tables.engines.expression": "as_expression",
        "acegraph.graph.tables.score": "ScoreReport",
        "acegraph.graph.training.pipeline": "TrainingReport",
        "acegraph.state.run.modes": "MODES ModePlan",
    },
}
"""The names that a room had once, by the module that has them now."""
