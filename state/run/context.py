"""The settings of a run, as a caller gives them; modes.py settles what they leave open."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from typing_extensions import TypedDict

from acegraph.state.errors import InvalidSettings
from acegraph.state.run.costs import CostMatrix
from acegraph.state.run.gone import SETTINGS

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
        default="offline_online",
        description="`vanilla` shows no bullets, `offline_online` all, `online` online ones.",
    )
    node: str = Field(
        default="fraud_detection",
        min_length=1,
        description="The agent node whose bullets are used.",
    )
    n_bullets: int = Field(
        default=5, ge=0, le=50, description="How many bullets the agent sees at most."
    )
    source: Literal["offline", "online"] | None = Field(
        default=None,
        description="The source of the bullets that are used; empty: the mode decides.",
    )
    learn: bool | None = Field(
        default=None,
        description="Whether to count outcomes and learn from mistakes; empty: the mode decides.",
    )
    learn_as: Literal["offline", "online"] = Field(
        default="online", description="The source written on bullets that this run learns."
    )
    learn_every: int = Field(
        default=0, ge=0, description="Also learn from every k-th right decision; 0: from none."
    )
    learn_later: bool = Field(
        default=False,
        description="Whether lessons wait in the ledger for `acegraph learn`, instead of being "
        "learned within the run.",
    )
    credit: Literal["part", "selected"] = Field(
        default="part",
        description="Credit the bullets that had a part in the decision, or all selected ones.",
    )
    quality_threshold: float = Field(
        default=0.3, ge=0, le=1, description="Minimum success rate (stage 2)."
    )
    semantic_threshold: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="Minimum cosine (stage 3); empty: that of the embedding model.",
    )
    diversity_weight: float = Field(
        default=0.15, ge=0, description="Weight of the diversity bonus (stage 5)."
    )
    weights: Weights = Field(
        default=Weights(quality=0.3, semantic=0.4, thompson=0.3),
        description="What success rate, cosine and Thompson draw weigh in the score (stage 4).",
    )
    agent_model: str | None = Field(
        default=None, description="Chat model of the agent; empty: the default."
    )
    judge_model: str | None = Field(
        default=None, description="Chat model of the judge; empty: the default."
    )
    reflector_model: str | None = Field(
        default=None, description="Chat model of the reflector; empty: the default."
    )
    embedding_model: str | None = Field(
        default=None, description="Embedding model; empty: the default."
    )
    judge_bar: float = Field(
        default=0.8,
        ge=0,
        lt=1,
        description="A judge's opinions teach if it agrees with at least this share of the labels "
        "(lower bound); 0 believes any judge.",
    )
    seed: int = Field(default=0, ge=0, description="Seed of the Thompson draws.")
    redact: list[str] = Field(
        default_factory=list,
        description="Fields whose values are replaced before anything is stored or learned.",
    )
    challenger: int | None = Field(
        default=None,
        ge=0,
        description="A version of the playbook that decides in shadow; it counts nothing.",
    )
    costs: str | None = Field(
        default=None,
        description="What mistakes cost, as `missed_fraud=1,false_decline=0.1`; they decide from "
        "which risk on a payment is declined. Empty: the labelled cases decide.",
    )
    base_rate: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="The share of fraud among the payments, if the labelled cases have another.",
    )
    drift: bool = Field(
        default=True,
        description="Whether cases from before a change of the fraud stop being evidence.",
    )
    mature_days: dict[str, float] = Field(
        default_factory=dict,
        description="By source of labels, the age in days from which on a payment that it calls "
        "honest is so: chargebacks may still come before. As `no_chargeback=90`.",
    )
    explore: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="The share of would-be declines that is let through for review.",
    )
    review_from: float = Field(
        default=0.4,
        ge=0,
        le=1,
        description="With review: a person is asked from this risk on, and where undecided.",
    )
    review_to: float = Field(
        default=0.6,
        ge=0,
        le=1,
        description="With review: the highest risk at which a person is asked.",
    )

    if not TYPE_CHECKING:  # type checkers see the generated signature

        def __init__(self, **settings: object) -> None:
            try:
                super().__init__(**settings)
            except ValidationError as error:
                raise InvalidSettings(_first_fault(error)) from None

    @field_validator("mature_days", mode="before")
    @classmethod
    def _read_pairs(cls, given: object, field: ValidationInfo) -> object:
        if not isinstance(given, str):
            return given
        pairs = [part.rpartition("=") for part in given.split(",") if part.strip()]
        try:
            return {name.strip(): float(number) for name, _, number in pairs}
        except ValueError:
            raise ValueError(
                f"NAME=NUMBER wanted, several with commas, in {field.field_name}"
            ) from None

    @field_validator("mature_days")
    @classmethod
    def _check_positive(
        cls, given: dict[str, float] | None, field: ValidationInfo
    ) -> dict[str, float] | None:
        if not all(name and number > 0 for name, number in (given or {}).items()):
            raise ValueError("a name and a number above 0 wanted for each")
        return given

    @field_validator("costs")
    @classmethod
    def _check_costs(cls, costs: str | None) -> str | None:
        if costs:
            CostMatrix.parse(costs)
        return costs or None

    @model_validator(mode="after")
    def _check_band(self) -> "AceContext":
        # If only one limit is set, the other one is that of the graph's own settings.
        is_whole = {"review_from", "review_to"} <= self.model_fields_set
        if is_whole and self.review_from > self.review_to:
            raise ValueError(
                f"settings 'review_from' to 'review_to': nobody would be asked; found "
                f"{self.review_from:g} to {self.review_to:g}"
            )
        return self

    @classmethod
    def of(cls, given: object, default: "AceContext | None" = None) -> "AceContext":
        """The settings in `runtime.context`; the default fills in those that it does not set.

        LangGraph turns a mapping into an `AceContext` before a node sees it. Another object
        belongs to a host graph that contains this graph: its entry `ace` counts, if it has one.
        """
        default = default or cls()
        if isinstance(given, str | int | float | list):
            raise InvalidSettings(_NO_SETTINGS.format(type(given).__name__))
        settings = given
        if isinstance(given, Mapping):
            settings = given.get("ace")
        elif not isinstance(given, cls):
            settings = getattr(given, "ace", None)
        if settings is not None and not isinstance(settings, cls | Mapping):
            raise InvalidSettings(f"entry 'ace': {_NO_SETTINGS.format(type(settings).__name__)}")
        if isinstance(settings, cls):
            if not default.model_fields_set:
                return settings
            settings = settings.model_dump(exclude_unset=True, include=set(cls.model_fields))
        return default.with_changes(**settings) if isinstance(settings, Mapping) else default

    @classmethod
    def given(cls, settings: "AceContext | Mapping[str, object] | None") -> "AceContext":
        """The settings of a graph, also as a mapping."""
        if isinstance(settings, cls):
            return settings
        if settings is None or isinstance(settings, Mapping):
            return cls(**(settings or {}))
        raise InvalidSettings(_NO_SETTINGS.format(type(settings).__name__))

    def with_changes(self, **changes: object) -> "AceContext":
        """A copy of the settings with these changes, checked."""
        return type(self)(**{**self.model_dump(exclude_unset=True), **changes})


def unused_settings(given: object) -> list[str]:
    """A warning about settings in a host graph's context that has no entry `ace` for them."""
    held = given if isinstance(given, Mapping) else getattr(given, "__dict__", {})
    if isinstance(given, AceContext) or "ace" in held:
        return []
    names = ", ".join(name for name in held if name in AceContext.model_fields)
    if not names:
        return []
    return [f"context: {names} not used; settings of ACE belong into its entry 'ace'"]


def misplaced_settings(given: object, configurable: Mapping[str, object]) -> list[str]:
    """A warning about settings in a run's `configurable`, where nobody reads them; a server puts
    them into its context too. What was to be redacted is refused: it would be stored.
    """
    held = given if isinstance(given, Mapping) else getattr(given, "__dict__", {})
    known = held.get("ace") or held
    used = known if isinstance(known, Mapping) else getattr(known, "model_fields_set", ())
    used = getattr(given, "model_fields_set", used)
    names = [name for name in AceContext.model_fields if name in configurable and name not in used]
    if "redact" in names:
        raise InvalidSettings("redact is not read from 'configurable': give it in the context")
    return [f"configurable: {', '.join(names)} not used; give them in the context"] if names else []


_NO_SETTINGS: Final = "the context is an AceContext or a mapping of settings, not {}"


def _first_fault(error: ValidationError) -> str:
    """The first fault that pydantic found, in one line."""
    fault = error.errors()[0]
    if not fault["loc"]:  # the fault concerns several settings
        return fault["msg"].removeprefix("Value error, ")
    name = ".".join(str(part) for part in fault["loc"])
    if whither := SETTINGS.get(name):
        return f"setting {name!r} is gone: {whither}"
    return f"setting {name!r}: {fault['msg']}; found {fault.get('input')!r}"
