"""What flows through the graph: input, state and output of a run, all JSON-native and typed.

No client, playbook or embedder is ever in here: those come in through the factory.
"""

from typing import Annotated, Any, Literal, NotRequired

from langgraph.channels import EphemeralValue
from pydantic import Field
from typing_extensions import TypedDict

from acegraph.state.run.context import Mode, Weights
from acegraph.state.values.bullet import Source, Status
from acegraph.state.values.condition import ConditionData
from acegraph.state.values.transaction import Fields
from acegraph.state.values.verdict import Verdict

GivenTransaction = str | dict[str, Any]
UsageByNode = dict[str, dict[str, dict[str, int]]]
"""Node, then model, then `calls`, `input_tokens` and `output_tokens`."""


class CaseData(TypedDict):
    """The transaction of a run, as the first node took it in."""

    id: str
    text: str
    given_fields: Fields
    """The fields that the caller gave."""
    fields: Fields
    """The fields that the reader read."""
    digest: str
    ground_truth: Verdict | None


class ChallengerDecision(TypedDict):
    """What another version of the playbook decided on the same transaction; it counts nothing."""

    version: int
    decision: Verdict | None
    risk_score: float | None
    undecided: NotRequired[str]
    bullets: NotRequired[list[str]]


class RunSettings(TypedDict):
    """The settings of a run with no question left open: those of `AceContext`, by mode."""

    mode: Mode
    node: str
    n_bullets: int
    source: Source | None
    learn: bool
    learn_as: Source
    learn_every: int
    credit: Literal["part", "selected"]
    quality_threshold: float
    semantic_threshold: float | None
    diversity_weight: float
    weights: Weights
    agent_model: str | None
    judge_model: str | None
    reflector_model: str | None
    embedding_model: str | None
    seed: int
    redact: list[str]
    challenger: int | None
    explore: float
    review_from: float
    review_to: float
    selects: bool
    """Whether the mode shows bullets to the agent."""
    review: NotRequired[bool]
    """Whether the graph stops for a person."""
    let_through: NotRequired[bool]
    """Whether this would-be decline goes ahead, to be looked at."""
    shadow: NotRequired[ChallengerDecision]


class ShownBullet(TypedDict):
    """A bullet that the agent sees, with its score by component."""

    id: str
    content: str
    verdict: Verdict | None
    source: Source
    scores: dict[str, float]


class HeldBackRule(TypedDict):
    """A rule that holds, and that stage 2 held back for its record."""

    id: str
    verdict: Verdict | None


class Reflection(TypedDict):
    """One proposed heuristic."""

    new_bullet: str
    problem_types: list[str]
    confidence: float
    condition: NotRequired[ConditionData | None]
    author: NotRequired[str]
    prompt: NotRequired[str]
    """Version of the prompt that a language model was told."""


class CurationData(TypedDict):
    """What the curator did with a reflection, and why."""

    action: str
    reason: str
    bullet_id: str | None
    evidence: dict[str, Any]
    retired: list[str]


class HumanVerdictData(TypedDict):
    """What a person said of a transaction."""

    who: str
    verdict: Verdict
    why: str
    agent: Verdict | None
    """What the agent had decided."""


class ApprovalData(TypedDict):
    """What a person said of the bullet that was learned."""

    approve: bool
    who: NotRequired[str]
    why: str
    bullet: str
    status: Status


class AceInput(TypedDict, total=False):
    """What a caller gives."""

    transaction: Annotated[
        GivenTransaction, Field(description="the transaction: text, or a mapping of its fields")
    ]
    ground_truth: Annotated[
        str | None, Field(description="APPROVE or DECLINE where the right answer is known")
    ]
    decision_id: Annotated[
        str | None,
        Field(description="your id for this decision: it is counted once, however often sent"),
    ]


class AceOutput(TypedDict, total=False):
    """What a caller gets."""

    decision_id: str | None
    decision: str
    """APPROVE, DECLINE or UNDECIDED."""
    risk_score: float | None
    reasons: list[str]
    bullets_used: list[str]
    """Ids of the bullets that had a part in the decision."""
    undecided: str | None
    """Why there is no decision, or no verdict on it."""
    verdict: str
    """right, wrong, pending (nobody knows yet) or undecided."""
    is_correct: bool | None
    confidence: float | None
    new_bullet: str | None
    """Id of the bullet learned from this decision."""
    usage: UsageByNode
    """What language models cost."""
    review: HumanVerdictData | None
    """What a person said of it. The decision above is then theirs, and `verdict` says whether the
    agent's own had been right."""


class AceState(TypedDict, total=False):
    """Everything a run knows. The first node writes every key, so nothing is inherited."""

    # The three inputs live for one step only: the first node copies them into `case`. A later run
    # on the same thread that leaves one out therefore never sees the earlier run's value.
    transaction: Annotated[GivenTransaction, EphemeralValue(Any)]
    ground_truth: Annotated[str | None, EphemeralValue(Any)]
    decision_id: Annotated[str | None, EphemeralValue(Any)]

    case: CaseData
    settings: RunSettings
    """A resumed run finds its settings here: LangGraph does not checkpoint the context."""
    bullets: list[ShownBullet]
    """The bullets shown to the agent, best first."""
    held_back: list[HeldBackRule]
    """Rules that hold but were held back for their record: not shown, still tested by the
    outcome."""
    funnel: dict[str, int]
    """How many bullets were left after each stage of selection."""
    playbook_version: int
    playbook_position: int
    """How far the ledger had come when the bullets were chosen; with it the choice is replayed."""
    warnings: list[str]
    decision: str
    risk_score: float | None
    reasons: list[str]
    bullets_used: list[str]
    undecided: str | None
    verdict: str
    is_correct: bool | None
    confidence: float | None
    judge_reasoning: str
    correct_answer: Verdict | None
    label_source: str | None
    """Who says what would have been right: `label`, `judge`, ..."""
    learning: bool
    """Whether the run goes on into reflector and curator."""
    reflection: Reflection | None
    curation: CurationData | None
    new_bullet: str | None
    usage: UsageByNode
    review: HumanVerdictData | None
    """A person's verdict on the transaction, where one was asked for and given."""
    approval: ApprovalData | None


Update = AceState
"""What a node returns: the keys of the state that it writes. A misspelt key is a type error."""
