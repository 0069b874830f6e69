"""What a user could once type or set, and where each went: whoever still uses one is told.

A command, an option or a setting that is gone gets its line from the same table.
"""

import os
from collections.abc import Mapping
from typing import Final

from acegraph.state.errors import InvalidSettings

VARIABLES: Final[Mapping[str, str]] = {
    "ACE_ATTEMPTS": "a request is attempted three times; ACE_TIMEOUT limits all of it",
    "ACE_DEADLINE": "ACE_TIMEOUT is the seconds for one question, with all attempts",
    "ACE_METHOD": "a server that refuses a form is asked in plain JSON from then on",
    "ACE_RECORD": "ACE_RECORDING=FILE answers from the file, and adds what it does not hold",
    "ACE_REPLAY": "ACE_RECORDING=FILE answers from the file; without a key it asks nobody",
    "ACE_WEBHOOK": "acegraph monitor exits with 1 and prints JSON, which cron can send anywhere",
}
"""Variables of the environment."""
COMMANDS: Final[Mapping[str, str]] = {}
"""Commands, without `acegraph` before them."""
OPTIONS: Final[Mapping[str, str]] = {
    "--webhook": VARIABLES["ACE_WEBHOOK"],
    "--also-embedded": "with --model the embedded analyst always stands among the other learners",
}
"""Options of commands that remain; `COMMAND --OPTION` where another command still has the name."""
SETTINGS: Final[Mapping[str, str]] = {
    "trial": "try_bullet asks the agent with and without a bullet on past labelled cases",
}
"""Settings of `AceContext`."""
NAMES: Final[Mapping[str, Mapping[str, str]]] = {
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
        "the variable ACE_RECORDING": "recording replaying",
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
"""Public names that a room had, by the module that has them now."""


def refuse_gone_variables() -> None:
    """Stop at the first variable of the environment that is set and gone."""
    for name, whither in VARIABLES.items():
        if os.environ.get(name):
            raise InvalidSettings(f"{name} is gone: {whither}")
