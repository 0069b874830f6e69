"""The settings of a run, as a caller gives them; mode and policy settle what they leave open."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from typing_extensions import TypedDict

from acegraph.state.errors import InvalidSettings
from acegraph.state.task.policy import USUAL, Policy
from acegraph.state.task.reading import first_fault
from acegraph.state.values import Data, Source

if TYPE_CHECKING:  # it stands above this folder, and loads the database library
    from acegraph.state.playbook.playbook import BulletPlaybook
    from acegraph.state.run.schema import RunSettings

Mode = Literal["vanilla", "offline_online", "online"]


class Weights(TypedDict):
    """What the three components of a bullet's score weigh."""

    quality: float
    semantic: float
    thompson: float


class AceContext(BaseModel):
    """The settings of a run."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )

    mode: Mode = "offline_online"
    """`vanilla` shows no bullets, `offline_online` all, `online` online ones."""
    node: str = Field(default="fraud_detection", min_length=1)
    """The agent node whose bullets are used."""
    n_bullets: int = Field(default=5, ge=0, le=50)
    """How many bullets the agent sees at most."""
    source: Literal["offline", "online"] | None = None
    """The source of the bullets that are used; empty: the mode decides."""
    learn: bool | None = None
    """Whether to count outcomes and learn from mistakes; empty: the mode decides."""
    learn_as: Literal["offline", "online"] = "online"
    """The source written on bullets that this run learns."""
    learn_every: int = Field(default=0, ge=0)
    """Also learn from one of k right decisions; 0: from none."""
    learn_later: bool = False
    """Whether lessons wait in the ledger for `acegraph learn`, instead of being learned at once."""
    credit: Literal["part", "selected"] = "part"
    """Credit the bullets that had a part in the decision, or all selected ones."""
    quality_threshold: float = Field(default=0.3, ge=0, le=1)
    """Minimum success rate (stage 2)."""
    semantic_threshold: float | None = Field(default=None, ge=-1, le=1)
    """Minimum cosine (stage 3); empty: that of the embedding model."""
    diversity_weight: float = Field(default=0.15, ge=0)
    """Weight of the diversity bonus (stage 5)."""
    weights: Weights = Weights(quality=0.3, semantic=0.4, thompson=0.3)
    """What success rate, cosine and Thompson draw weigh in the score (stage 4)."""
    agent_model: str | None = None
    """Chat model of the agent; empty: the default."""
    judge_model: str | None = None
    """Chat model of the judge; empty: the default."""
    reflector_model: str | None = None
    """Chat model of the reflector; empty: the default."""
    embedding_model: str | None = None
    """Embedding model; empty: the default."""
    seed: int = Field(default=0, ge=0)
    """Seed of the Thompson draws."""
    policy: Data | None = None
    """What counts for this run instead of the playbook's policy: `explore`, `costs`, by name."""

    if not TYPE_CHECKING:  # type checkers see the generated signature

        def __init__(self, **settings: object) -> None:
            try:
                super().__init__(**settings)
            except ValidationError as error:
                raise InvalidSettings(_first_fault(error)) from None

    @field_validator("policy", mode="before")
    @classmethod
    def _check_policy(cls, given: object) -> object:
        if isinstance(given, Mapping):
            policy = Policy.from_json(given)
            return {name: getattr(policy, name) for name in given}
        return asdict(given) if isinstance(given, Policy) else given

    @cached_property
    def dumped(self) -> Data:
        """The settings as plain data; nobody changes it."""
        return self.model_dump()

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
            raise InvalidSettings(_NO_SETTINGS.format(type(settings).__name__))
        if isinstance(settings, cls):
            if not default.model_fields_set:
                return settings
            settings = settings.model_dump(exclude_unset=True, include=set(cls.model_fields))
        return default.with_changes(**settings) if isinstance(settings, Mapping) else default

    @classmethod
    def given(cls, settings: "AceContext | Mapping[str, object] | None") -> "AceContext":
        """The settings of a graph, also as a mapping."""
        return cls.of({"ace": settings})

    def with_changes(self, **changes: object) -> "AceContext":
        """A copy of the settings with these changes, checked."""
        return type(self)(**{**self.model_dump(exclude_unset=True), **changes})


def overlooked_settings(given: object, configurable: Mapping[str, object]) -> list[str]:
    """Warnings about settings where nobody reads them: in a run's `configurable`, from which a
    server copies them into its context, and in a host graph's context outside of its entry `ace`.
    """
    if "redact" in configurable:
        from acegraph.state.gone import SETTINGS

        raise InvalidSettings(f"setting 'redact' is gone: {SETTINGS['redact']}")
    used = AceContext.of(given, _DEFAULTS).model_fields_set
    held = given if isinstance(given, Mapping) else getattr(given, "__dict__", {})
    is_ours = isinstance(given, AceContext) or "ace" in held
    if not (lost := {*configurable, *(() if is_ours else held)} - used):
        return []
    names = [name for name in AceContext.model_fields if name in lost]
    told = f"{', '.join(names)} not used; give them in the context, in a host's under 'ace'"
    return [told] if names else []


_DEFAULTS: Final = AceContext()
_NO_SETTINGS: Final = "the context is an AceContext or a mapping of settings, not {}"


def _first_fault(error: ValidationError) -> str:
    """The first fault that pydantic found, in one line."""
    from acegraph.state.gone import SETTINGS  # most settings are right

    name, told = first_fault(error)
    if not name:  # the fault concerns several settings
        return told
    if whither := SETTINGS.get(name):
        return f"setting {name!r} is gone: {whither}"
    return f"setting {name!r}: {told}; found {error.errors()[0].get('input')!r}"


@dataclass(frozen=True)
class ModePlan:
    """What a mode does unless the context says otherwise."""

    selects: bool
    """Whether bullets are shown; without them nothing is learned either."""
    source: Source | None = None


MODES: Final[dict[Mode, ModePlan]] = {
    "vanilla": ModePlan(selects=False),
    "offline_online": ModePlan(selects=True),
    "online": ModePlan(selects=True, source="online"),
}


def settle_settings(
    context: AceContext, policy: Policy = USUAL, hidden: Iterable[str] = ()
) -> "RunSettings":
    """All settings that the nodes need; mode and policy decide what the context leaves open.

    The mode `vanilla` neither selects nor learns, whatever the context says. The fields that are
    `hidden` are not stored.
    """
    plan = MODES[context.mode]
    settings = {
        **context.dumped,
        **policy.but(context.policy).settings(),
        "policy_version": policy.version or None,
        "redact": list(hidden),
        "selects": plan.selects,
        "source": context.source or plan.source,
        "learn": plan.selects and context.learn is not False,
    }
    return cast("RunSettings", settings)


def settle(playbook: "BulletPlaybook", context: AceContext | None = None) -> "RunSettings":
    """All settings of a run on a playbook, by its policy and its task."""
    context = context or AceContext()
    node = context.node
    return settle_settings(context, playbook.policy(node), playbook.task(node).hidden_names)
