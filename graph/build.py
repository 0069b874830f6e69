"""The graph: decide, judge, and learn from what was wrong.

    START -> selector -> agent -> judge -+-> END
                                         +-> reflector -> curator -> END

With `review` a person answers after the judge and after the curator (`add_review`). The graph comes
back uncompiled: the host compiles it with its own checkpointer and store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from langchain_core.embeddings import Embeddings
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer
from pydantic import Field as Described
from pydantic.config import JsonDict
from typing_extensions import TypedDict, Unpack

from acegraph.nodes.agent.agent import AgentLike, as_agent
from acegraph.nodes.agent.node import Agent, AgentNode
from acegraph.nodes.judge.judge import JudgeLike, SimpleJudge, as_judge
from acegraph.nodes.judge.node import JudgeNode
from acegraph.nodes.models.embedding_models import EmbeddingModel
from acegraph.nodes.models.named import is_model
from acegraph.nodes.runtime.sync_async import Body, Step, when_needed
from acegraph.nodes.selector.node import SelectorNode
from acegraph.nodes.selector.selector import Selectors
from acegraph.state import AceContext, AceInput, AceOutput, AceState, InvalidSettings
from acegraph.state.run.schema import GivenTransaction, RunSettings
from acegraph.state.task.card_payments import CARD_PAYMENTS, DEFAULT_NODE
from acegraph.state.task.task import Task

if TYPE_CHECKING:
    from acegraph.nodes.agent.challenger import Challenger
    from acegraph.nodes.curator.curator import Curator
    from acegraph.nodes.reflector.custom import Reflecting, ReflectorLike
    from acegraph.state import BulletPlaybook

    AceGraph = StateGraph[AceState, AceContext, AceInput, AceOutput]


def create_ace_graph(
    *,
    playbook: BulletPlaybook | str | PathLike[str] | None = None,
    task: object = None,
    context: AceContext | Mapping[str, object] | None = None,
    review: bool = False,
    name: str = "ace",
    **collaborators: Unpack[Collaborators],
) -> AceGraph:
    """The ACE workflow as a graph to compile or to build on.

    Every collaborator can be replaced: `agent`, `judge` and `reflector` are a chat model, the name
    of one, a runnable, or a function of one mapping; `embeddings` is any LangChain embedder. A
    collaborator that is left out is the language model that settings or environment name, else the
    embedded one. `playbook` may also be a database URL or a file. `task` says what the cases are: a
    Task, the path of a task.json, or a pydantic model; else the playbook's counts, else the shipped
    one of card payments. `context` holds the settings
    that count where a run sets none of its own. `prompts` replaces the instructions of `agent`,
    `judge` or `reflector`; facts and fences stay. With `review` a run stops for a person where the
    agent is unsure, and before a bullet becomes active; compile such a graph with a checkpointer.
    `name` is that of the compiled graph, for traces and supervisors.
    """
    from acegraph.state import BulletPlaybook

    book = playbook if isinstance(playbook, BulletPlaybook) else BulletPlaybook(playbook)
    parts = gather_parts(book, context=context, **collaborators)
    if task is not None:
        book.adopt_task(task, parts.context.node)
    return build_graph(replace(parts, review=review, name=name))


def build_graph(parts: Parts) -> AceGraph:
    """The nodes and the edges of the picture above."""
    given = described_input(parts.playbook, parts.context.node)
    graph = _Builder(
        AceState, context_schema=AceContext, input_schema=given, output_schema=AceOutput
    )
    graph.default_name = parts.name
    graph.read_task = partial(parts.playbook.task, parts.context.node)
    for step in (*deciding_steps(parts), *learning_steps(parts)):
        graph.add_node(step.step, step)

    graph.add_edge(START, "selector")
    graph.add_edge("selector", "agent")
    graph.add_edge("agent", "judge")
    graph.add_edge("reflector", "curator")
    if parts.review:
        add_review(graph, parts)
    else:
        graph.add_conditional_edges("judge", after_judge)
        graph.add_edge("curator", END)
    return graph


def described_input(playbook: BulletPlaybook, node: str) -> type[AceInput]:
    """What a caller gives: forms such as Studio's offer the fields and answers of a set task."""
    if not any(playbook.declared("task", name) for name in (node, DEFAULT_NODE)):
        return AceInput
    from acegraph.state.task.schema import json_schema

    task = playbook.task(node)
    kinds = [json_schema(task), *([{"type": "string"}] if task.reader else [])]
    case = cast(JsonDict, {"anyOf": kinds})
    answers: JsonDict = {"enum": [*task.answers, None]}
    fields: dict[str, object] = dict(AceInput.__annotations__)
    fields["transaction"] = Annotated[GivenTransaction, Described(json_schema_extra=case)]
    fields["ground_truth"] = Annotated[str | None, Described(json_schema_extra=answers)]
    return TypedDict("AceInput", fields, total=False)  # type: ignore[operator, no-any-return]


def deciding_steps(parts: Parts) -> tuple[Step, Step, Step]:
    """The nodes that every run goes through, in their order."""
    book = parts.playbook
    selector = SelectorNode(book, parts.selectors, parts.context, parts.review, parts.keeps_derived)
    agent = AgentNode(book, parts.agent, lambda: parts.challenger)
    return Step(selector, "selector"), Step(agent, "agent"), Step(parts.judge_node, "judge")


def learning_steps(parts: Parts) -> tuple[Step, Step]:
    """The nodes of the learning branch, in their order; each is imported when it first runs."""

    def reflector() -> Body:
        from acegraph.nodes.reflector.node import ReflectorNode

        return ReflectorNode(parts.playbook, parts.reflector)

    def curator() -> Body:
        from acegraph.nodes.curator.node import CuratorNode

        embedding = parts.selectors.embedding
        return CuratorNode(parts.playbook, parts.curator, embedding, parts.refines)

    return Step(when_needed(reflector), "reflector"), Step(when_needed(curator), "curator")


def output_of(state: AceState) -> AceOutput:
    """What a run returns: the part of its state that is meant for callers."""
    return cast(AceOutput, {name: state.get(name) for name in AceOutput.__annotations__})


def add_review(graph: AceGraph, parts: Parts) -> None:
    """The end of the picture where a person answers after the judge and after the curator.

    judge -> review -+-> END
                     +-> reflector -> curator -> approval -> END
    """
    from acegraph.nodes.curator.approval import ApprovalNode
    from acegraph.nodes.judge.review import ReviewNode

    graph.add_node("review", Step(ReviewNode(parts.playbook), "review"))
    graph.add_node("approval", Step(ApprovalNode(parts.playbook, parts.curator), "approval"))

    graph.add_edge("judge", "review")
    graph.add_conditional_edges("review", after_judge)
    graph.add_edge("curator", "approval")
    graph.add_edge("approval", END)


class _Builder(StateGraph[AceState, AceContext, AceInput, AceOutput]):
    """A graph that has a name of its own also if it is compiled without one.

    LangGraph would call it `LangGraph`, which supervisors refuse as the name of an agent.
    """

    default_name = "ace"
    read_task: Callable[[], Task] = lambda: CARD_PAYMENTS
    """What tells the task of the node now."""

    def compile(
        self, checkpointer: Checkpointer = None, *, name: str | None = None, **options: Any
    ) -> CompiledStateGraph[AceState, AceContext, AceInput, AceOutput]:
        """Compile the graph as every `StateGraph` is compiled."""
        return super().compile(checkpointer, name=name or self.default_name, **options)


class LearningFlag(TypedDict):
    """The part of the state that the edge after the judge reads."""

    learning: bool


def after_judge(state: LearningFlag) -> Literal["reflector", "__end__"]:
    """To the reflector after a wrong decision, and after one of k right ones where a run asks for
    that; else to the end.
    """
    return "reflector" if state["learning"] else "__end__"


@dataclass(frozen=True)
class Parts:
    """The objects that the nodes work with. They come in through the factory, never in the state or
    the context of a run.
    """

    playbook: BulletPlaybook
    agent: Agent
    judge: SimpleJudge
    selectors: Selectors
    context: AceContext
    """The settings that count where a run sets none of its own."""
    given_reflector: ReflectorLike = None
    reflector_prompt: str | None = None
    given_curator: Curator | None = None
    name: str = "ace"
    """The name of the compiled graph."""
    review: bool = False
    """Whether the graph stops for a person, and new bullets wait for approval."""
    keeps_derived: bool = False
    """Whether the transactions come with derived fields of our own: rows of files, and decisions
    that are repeated. Those of a caller are never believed."""

    @cached_property
    def judge_node(self) -> JudgeNode:
        """The judge, which remembers how often models were right."""
        return JudgeNode(self.playbook, self.judge)

    @cached_property
    def challenger(self) -> Challenger:
        """What decides by another version of the playbook; made when it is first needed."""
        from acegraph.nodes.agent.challenger import Challenger

        return Challenger(self.playbook)

    @cached_property
    def reflector(self) -> Reflecting:
        """Made when it is first needed: most decisions teach nothing."""
        from acegraph.nodes.reflector.custom import as_reflector

        return as_reflector(self.given_reflector, self.reflector_prompt)

    @cached_property
    def curator(self) -> Curator:
        """Made when it is first needed."""
        from acegraph.nodes.curator.curator import Curator

        return self.given_curator or Curator()

    def refines(self, settings: RunSettings) -> bool:
        """Whether a run may refine the whole playbook: no language model reflects."""
        from acegraph.nodes.reflector.custom import induces_rules

        return induces_rules(self.reflector, settings["reflector_model"])


Prompts = Mapping[str, str]
"""By role (`agent`, `judge`, `reflector`), the instructions of its language model."""


class Collaborators(TypedDict, total=False):
    """The collaborators of `create_ace_graph`, for functions that pass them on."""

    agent: AgentLike
    judge: JudgeLike
    reflector: ReflectorLike
    curator: Curator | None
    embeddings: Embeddings | EmbeddingModel | None
    prompts: Prompts | None


def gather_parts(
    playbook: BulletPlaybook,
    *,
    context: AceContext | Mapping[str, object] | None = None,
    **given: Unpack[Collaborators],
) -> Parts:
    """The collaborators in the form that the nodes call; a missing one becomes its default."""
    told, reflector = _checked_prompts(given), given.get("reflector")
    _refuse_other_kinds(given.get("curator"), given.get("embeddings"))
    parts = Parts(
        playbook,
        as_agent(given.get("agent"), told.get("agent")),
        as_judge(given.get("judge"), told.get("judge")),
        Selectors(given.get("embeddings")),
        AceContext.given(context),
        given_reflector=reflector,
        reflector_prompt=told.get("reflector"),
        given_curator=given.get("curator"),
    )
    if reflector is not None:
        _ = parts.reflector  # what cannot be one is refused at once
    return parts


def _refuse_other_kinds(curator: object, embeddings: object) -> None:
    """Say at once what would else fail in the middle of a run."""
    if curator is not None:
        from acegraph.nodes.curator.curator import Curator

        if not isinstance(curator, Curator):
            raise InvalidSettings(f"the curator is a Curator, not {type(curator).__name__}")
    if not isinstance(embeddings, Embeddings | EmbeddingModel | None):
        raise InvalidSettings(
            f"embeddings is an embedder of LangChain, not {type(embeddings).__name__}; "
            "AceContext(embedding_model=...) takes the name of one"
        )


def _checked_prompts(given: Collaborators) -> Prompts:
    """The prompts, if each is for a role that asks a model with the prompt of this package."""
    prompts = given.get("prompts") or {}
    asked = {role: dict(given).get(role) for role in ("agent", "judge", "reflector")}
    for role, prompt in prompts.items():
        if role not in asked:
            raise InvalidSettings(f"no prompt of {role!r}; there are {', '.join(asked)}")
        if not isinstance(prompt, str) or not prompt.strip():
            raise InvalidSettings(f"the prompt of {role!r} is a text of instructions")
        if not is_model(asked[role]):
            raise InvalidSettings(f"the {role} that was given has its own prompt; leave one out")
    return prompts
