"""The settings of a run, as a caller gives them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from typing_extensions import TypedDict

from acegraph.state.errors import InvalidSettings

Mode = Literal["vanilla", "offline_online", "online"]


class Weights(TypedDict):
    """What the three components of a bullet's score weigh."""

    quality: float
    semantic: float
    thompson: float


class AceContext(BaseModel):
    """The settings of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    mode: Mode = Field(
        "offline_online",
        description="vanilla (no bullets), offline_online, or online (online bullets)",
    )
    node: str = Field(
        "fraud_detection", min_length=1, description="the agent node whose bullets are used"
    )
    n_bullets: int = Field(5, ge=0, le=50, description="how many bullets the agent sees at most")
    source: Literal["offline", "online"] | None = Field(
        None, description="use only bullets of this source; the mode decides when empty"
    )
    learn: bool | None = Field(
        None, description="move counters and learn from mistakes; the mode decides when empty"
    )
    learn_as: Literal["offline", "online"] = Field(
        "online", description="the source written on bullets that this run learns"
    )
    learn_every: int = Field(
        0, ge=0, description="also learn from every k-th right decision; 0 is never"
    )
    credit: Literal["part", "selected"] = Field(
        "part",
        description="credit the bullets that had a part in the decision, or all selected ones",
    )
    quality_threshold: float = Field(0.3, ge=0, le=1, description="minimum success rate (stage 2)")
    semantic_threshold: float | None = Field(
        None,
        ge=-1,
        le=1,
        description="minimum cosine (stage 3); the embedding model's own when empty",
    )
    diversity_weight: float = Field(
        0.15, ge=0, description="weight of the diversity bonus (stage 5)"
    )
    weights: Weights = Field(
        Weights(quality=0.3, semantic=0.4, thompson=0.3),
        description="what success rate, cosine and Thompson draw weigh in the score (stage 4)",
    )
    agent_model: str | None = Field(None, description="chat model of the agent; empty: the default")
    judge_model: str | None = Field(None, description="chat model of the judge; empty: the default")
    reflector_model: str | None = Field(
        None, description="chat model of the reflector; empty: the default"
    )
    embedding_model: str | None = Field(None, description="embedding model; empty: the default")
    seed: int = Field(0, ge=0, description="seed of the Thompson draws")
    redact: list[str] = Field(
        default_factory=list,
        description="fields whose values are replaced before anything is stored or learned",
    )
    challenger: int | None = Field(
        None,
        ge=0,
        description="a version of the playbook that decides in shadow; it counts nothing",
    )
    explore: float = Field(
        0.0,
        ge=0,
        le=1,
        description="the share of would-be declines that is let through for review",
    )
    review_from: float = Field(
        0.4, ge=0, le=1, description="with review: a person is asked from this risk on ..."
    )
    review_to: float = Field(0.6, ge=0, le=1, description="... up to this one, and when undecided")

    if not TYPE_CHECKING:  # the generated signature stays visible to type checkers

        def __init__(self, **given: Any) -> None:
            try:
                super().__init__(**given)
            except ValidationError as error:
                raise InvalidSettings(_first_of(error)) from None

    @model_validator(mode="after")
    def _check_band(self) -> "AceContext":
        # One alone may be half a band: the other is that of the graph's own settings.
        is_given = {"review_from", "review_to"} <= self.model_fields_set
        if is_given and self.review_from > self.review_to:
            raise ValueError(
                f"settings 'review_from' to 'review_to': nobody would be asked; found "
                f"{self.review_from:g} to {self.review_to:g}"
            )
        return self

    @classmethod
    def of(cls, given: object, default: "AceContext | None" = None) -> "AceContext":
        """Settle a run's settings from whatever `runtime.context` is; what it does not set is the
        default's.

        LangGraph makes ours of a mapping before a node sees it. Anything else is the object of a
        host graph that composes this one: its `ace` entry counts, where it has one.
        """
        default = default or cls()
        own = given
        if not isinstance(given, cls):
            own = given.get("ace") if isinstance(given, Mapping) else getattr(given, "ace", None)
        if isinstance(own, cls):
            if not default.model_fields_set:
                return own
            given_here = own.model_dump(exclude_unset=True, include=set(cls.model_fields))
            return default.with_changes(**given_here)
        return default.with_changes(**own) if isinstance(own, Mapping) else default

    def with_changes(self, **changes: Any) -> "AceContext":
        """The same settings but for these, checked."""
        return type(self)(**{**self.model_dump(exclude_unset=True), **changes})


def _first_of(error: ValidationError) -> str:
    """The first thing that is wrong, in one line."""
    first = error.errors()[0]
    if not first["loc"]:  # of several settings together
        return first["msg"].removeprefix("Value error, ")
    name = ".".join(str(part) for part in first["loc"])
    return f"setting {name!r}: {first['msg']}; found {first.get('input')!r}"
