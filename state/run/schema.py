"""What flows through the graph: input, state and output of a run, all JSON-native.

No client, playbook or embedder is ever in here: those come in through the factory.
"""

from typing import Annotated, Any

from langgraph.channels import EphemeralValue
from pydantic import Field
from typing_extensions import TypedDict

GivenTransaction = str | dict[str, Any]


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
    usage: dict[str, Any]
    """What language models cost: node, then model, then calls, input_tokens and output_tokens."""
    review: dict[str, Any] | None
    """What a person said of it: who, verdict, why. The decision above is then theirs, and
    `verdict` says whether the agent's own had been right."""


class AceState(TypedDict, total=False):
    """Everything a run knows. The first node writes every key, so nothing is inherited."""

    # The three inputs live for one step only: the first node copies them into `case`. A later run
    # on the same thread that leaves one out therefore never sees the earlier run's value.
    transaction: Annotated[GivenTransaction, EphemeralValue(Any)]
    ground_truth: Annotated[str | None, EphemeralValue(Any)]
    decision_id: Annotated[str | None, EphemeralValue(Any)]

    case: dict[str, Any]
    """id, text, fields and ground truth of the transaction."""
    settings: dict[str, Any]
    """The resolved run settings; a resumed run finds them here, since context is not
    checkpointed."""
    bullets: list[dict[str, Any]]
    """The bullets shown to the agent, best first, each with its score by component."""
    shadow: list[dict[str, Any]]
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
    correct_answer: str | None
    label_source: str | None
    """Who says what would have been right: `label`, `judge`, ..."""
    learning: bool
    """Whether the run goes on into reflector and curator."""
    reflection: dict[str, Any] | None
    curation: dict[str, Any] | None
    """What the curator did with the reflection, and why."""
    new_bullet: str | None
    usage: dict[str, Any]
    review: dict[str, Any] | None
    """A person's verdict on the transaction, where one was asked for and given."""
    approval: dict[str, Any] | None
    """A person's word on the bullet that was learned."""
