"""The graph: decide, judge, and learn from what was wrong.

    START -> selector -> agent -> judge -+-> END
                                         +-> reflector -> curator -> END

The builder comes back uncompiled: the host compiles it with its own checkpointer and store.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.embeddings import Embeddings
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from acegraph.graph.steps import Parts
from acegraph.nodes.agent.custom import as_agent
from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.judge.custom import as_judge
from acegraph.nodes.models.embedding_models import EmbeddingModel
from acegraph.nodes.reflector.custom import as_reflector
from acegraph.nodes.runtime.step import Step
from acegraph.nodes.selector.factory import selectors
from acegraph.state import AceContext, AceInput, AceOutput, AceState

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


def create_ace_graph(
    *,
    playbook: BulletPlaybook | str | None = None,
    agent: Any = None,
    judge: Any = None,
    reflector: Any = None,
    curator: Curator | None = None,
    embeddings: Embeddings | None = None,
    context: AceContext | None = None,
    review: bool = False,
) -> StateGraph[AceState, AceContext, AceInput, AceOutput]:
    """The ACE workflow as a graph to compile or to build on.

    Every collaborator can be replaced: `agent`, `judge` and `reflector` are a chat model, the name
    of one, a runnable, or a function of one mapping; `embeddings` is any LangChain embedder. What
    is left out is the configured default: language models where a key is set, else the embedded
    analyst. `playbook` may also be a database URL. `context` holds the settings that a run does not
    bring itself. With `review` a run stops for a person where the agent is unsure, and before a
    bullet becomes active (see review.py); compile it with a checkpointer.
    """
    from acegraph.state import BulletPlaybook

    book = playbook if isinstance(playbook, BulletPlaybook) else BulletPlaybook(playbook)
    parts = gather_parts(
        book, agent, judge, reflector, curator=curator, embeddings=embeddings, context=context
    )
    return build_graph(replace(parts, review=review))


def gather_parts(
    playbook: BulletPlaybook,
    agent: Any = None,
    judge: Any = None,
    reflector: Any = None,
    *,
    curator: Curator | None = None,
    embeddings: Embeddings | EmbeddingModel | None = None,
    context: AceContext | None = None,
) -> Parts:
    """The collaborators of a graph, brought to the form its nodes call."""
    return Parts(
        playbook=playbook,
        agent=as_agent(agent),
        judge=as_judge(judge),
        reflector=as_reflector(reflector),
        curator=curator or Curator(),
        selector_for=selectors(embeddings),
        context=context or AceContext(),
    )


def build_graph(parts: Parts) -> StateGraph[AceState, AceContext, AceInput, AceOutput]:
    """The five nodes in their order, and where `review` is asked for two more."""
    builder = StateGraph(
        AceState, context_schema=AceContext, input_schema=AceInput, output_schema=AceOutput
    )
    builder.add_node("selector", Step(parts.select, "selector"))
    builder.add_node("agent", Step(parts.decide, "agent"))
    builder.add_node("judge", Step(parts.judge_decision, "judge"))
    builder.add_node("reflector", Step(parts.reflect, "reflector"))
    builder.add_node("curator", Step(parts.curate, "curator"))
    builder.add_edge(START, "selector")
    builder.add_edge("selector", "agent")
    builder.add_edge("agent", "judge")
    builder.add_edge("reflector", "curator")
    if parts.review:
        add_review(builder, parts)
    builder.add_conditional_edges("review" if parts.review else "judge", after_judge)
    builder.add_edge("approval" if parts.review else "curator", END)
    return builder


def add_review(
    builder: StateGraph[AceState, AceContext, AceInput, AceOutput], parts: Parts
) -> None:
    """Put a person after the judge and after the curator."""
    from acegraph.graph.review import Review

    people = Review(parts)
    builder.add_node("review", Step(people.review, "review"))
    builder.add_node("approval", Step(people.approve, "approval"))
    builder.add_edge("judge", "review")
    builder.add_edge("curator", "approval")


class LearningFlag(TypedDict):
    """What the edge after the judge reads: LangGraph hands it no more than that."""

    learning: bool


def after_judge(state: LearningFlag) -> Literal["reflector", "__end__"]:
    """Into the learning branch after a wrong decision, and every k-th right one when asked."""
    return "reflector" if state["learning"] else "__end__"
