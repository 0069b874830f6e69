"""The input, state and output of a run: what flows through the graph, typed and JSON-native.

Clients, playbooks and embedders are never part of it: graph/build.py gives them to the nodes.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired

from langgraph.channels import EphemeralValue
from pydantic import Field
from typing_extensions import TypedDict

from acegraph.state.run.context import Mode, Weights
from acegraph.state.values import (
    APPROVE,
    DECLINE,
    ConditionData,
    Data,
    Fields,
    Source,
    Status,
    Verdict,
)

GivenTransaction = str | Mapping[str, object]
UsageByNode = dict[str, dict[str, dict[str, int]]]
"""By node and model: `calls`, `input_tokens` and `output_tokens`."""


class CaseData(TypedDict):
    """The transaction of a run, as the first node read it."""

    id: str
    text: str
    given_fields: Fields
    """The fields that the caller gave."""
    fields: Fields
    """The fields that the nodes use; nodes/text/reader.py reads them."""
    digest: str
    came: NotRequired[str | Fields]
    """The transaction as it came, where it is written anew."""
    ground_truth: Verdict | None
    sighting_columns: NotRequired[dict[str, str]]
    """The fields from which later payments see this one, by what they hold, where any do."""


class ChallengerDecision(TypedDict):
    """The decision of another playbook version on the same transaction; it counts nothing."""

    version: int
    decision: Verdict | None
    risk_score: float | None
    undecided: NotRequired[str]
    bullets: NotRequired[list[str]]


class OpinionData(TypedDict):
    """What a judge without a label takes for the right answer."""

    by: str
    verdict: Verdict


class RunSettings(TypedDict):
    """The settings of `AceContext` after the mode has decided what they leave open (context.py)."""

    mode: Mode
    node: str
    n_bullets: int
    source: Source | None
    learn: bool
    learn_as: Source
    learn_every: int
    learn_later: NotRequired[bool]
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
    policy: NotRequired[Data | None]
    """What a run changed in the playbook's policy."""
    policy_version: NotRequired[int | None]
    """The policy that decided what the context left open; None where none was set."""
    listed: NotRequired[list[int]]
    """The entries of lists that spoke; the outcome counts for no bullet then."""
    watched: NotRequired[str]
    """Why a person is asked, where somebody is on the watch list."""
    redact: list[str]
    """The fields that are not stored."""
    challenger: int | None
    judge_bar: NotRequired[float]
    costs: NotRequired[str | None]
    base_rate: NotRequired[float | None]
    limit: NotRequired[float | None]
    undecided: NotRequired[Literal["hold", "expect"]]
    mature_days: NotRequired[dict[str, float]]
    explore: float
    review_from: float
    review_to: float
    selects: bool
    """Whether the mode shows bullets to the agent."""
    reads: NotRequired[bool]
    """False where nobody reads bullets: no stage of the selection ran, and all rules counted."""
    review: NotRequired[bool]
    """Whether the graph stops to ask a person."""
    review_pays: NotRequired[bool]
    """With costs of a review: whether asking a person costs less than the expected mistake."""
    let_through: NotRequired[bool]
    """Whether this decline was let through for review (explored)."""
    shadow: NotRequired[ChallengerDecision]
    opinion: NotRequired[OpinionData]
    """The opinion of a judge, if one was asked; whether it counts is decided by its agreement."""
    decided_by: NotRequired[str]
    """The language model that decided, if one did."""
    prompt: NotRequired[str]
    """The version of the prompt by which it decided."""
    departure: NotRequired[float]
    """By how much it departed from the playbook's opinion, in log-odds, if it did."""


class DoubtData(TypedDict):
    """A field of the transaction that was not understood, and why; never its value."""

    field: str
    why: str


class ShownBullet(TypedDict):
    """A bullet that was shown to the agent, with its score by component."""

    id: str
    content: str
    verdict: Verdict | None
    source: Source
    scores: dict[str, float]


class HeldBackRule(TypedDict):
    """A rule that holds but was not shown: for its success rate, or for lack of room."""

    id: str
    verdict: Verdict | None


class Reflection(TypedDict):
    """A heuristic that the reflector proposes."""

    new_bullet: str
    problem_types: list[str]
    confidence: float
    condition: NotRequired[ConditionData | None]
    author: NotRequired[str]
    prompt: NotRequired[str]
    """The version of the reflector's prompt, if a language model was asked."""


class CurationData(TypedDict):
    """What the curator did with a reflection, and for what reason."""

    action: str
    reason: str
    bullet_id: str | None
    evidence: dict[str, object]
    retired: list[str]


class HumanVerdictData(TypedDict):
    """A person's verdict on a transaction."""

    who: str
    verdict: Verdict
    why: str
    agent: Verdict | None
    """The decision of the agent."""


class ApprovalData(TypedDict):
    """A person's answer to the question whether the learned bullet may act."""

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
        str | None,
        Field(
            description="APPROVE or DECLINE where the right answer is known",
            json_schema_extra={"enum": [APPROVE, DECLINE, None]},  # a form offers these words
        ),
    ]
    decision_id: Annotated[
        str | None,
        Field(description="your id for this decision: it is counted once, however often sent"),
    ]


class _Answer(TypedDict, total=False):
    """What a caller gets of the state."""

    decision: str
    """APPROVE, DECLINE or UNDECIDED."""
    risk_score: float | None
    reasons: list[str]
    bullets_used: list[str]
    """Ids of the bullets that had a part in the decision."""
    undecided: str | None
    """The reason why there is no decision, or no verdict on it."""
    verdict: str
    """right, wrong, pending (not known yet) or undecided."""
    is_correct: bool | None
    confidence: float | None
    new_bullet: str | None
    """Id of the bullet learned from this decision."""
    warnings: list[str]
    """What to know and to change: a selection without vectors, a name in `redact` of no field."""
    usage: UsageByNode
    """Calls and tokens of the language models."""
    review: HumanVerdictData | None
    """A person's verdict, if one was given. `decision` is then that of the person; `verdict` says
    whether the agent was right."""


class AceOutput(_Answer, total=False):
    """What a caller gets."""

    decision_id: str | None


class AceState(_Answer, total=False):
    """Everything a run knows. The first node writes every key: no value of an earlier run stays."""

    # The three inputs live for one step only: the first node copies them into `case`. A later run
    # on the same thread that leaves one out therefore never sees the value of the earlier run.
    transaction: Annotated[GivenTransaction, EphemeralValue(object)]
    ground_truth: Annotated[str | None, EphemeralValue(str)]
    decision_id: Annotated[str | None, EphemeralValue(str)]

    case: CaseData
    doubts: list[DoubtData]
    """The fields that were not understood: where they could matter, nothing is approved."""
    settings: RunSettings
    """The settings of the run: a resumed run needs them, and LangGraph stores no context."""
    bullets: list[ShownBullet]
    """The bullets shown to the agent, best first."""
    held_back: list[HeldBackRule]
    """Rules that hold but were not shown; the outcome counts for them all the same."""
    funnel: dict[str, int]
    """How many bullets were left after each stage of the selection."""
    playbook_version: int
    playbook_position: int
    """The ledger's position when the bullets were selected; a replay selects at this position."""
    held: str | None
    """The agent's decision while a person is asked; until then the run answers UNDECIDED."""
    judge_reasoning: str
    correct_answer: Verdict | None
    label_source: str | None
    """Who gave the label `correct_answer` (values/verdict.py)."""
    learning: bool
    """Whether the run continues with the reflector and the curator."""
    reflection: Reflection | None
    curation: CurationData | None
    approval: ApprovalData | None


Update = AceState
"""What a node returns: the keys of the state that it writes. A misspelt key is a type error."""
