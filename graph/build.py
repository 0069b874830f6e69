"""The graph: decide, judge, and learn from what was wrong.

    START -> selector -> agent -> judge -+-> END
                                         +-> reflector -> curator -> END

The builder comes back uncompiled: the host compiles it with its own checkpointer and store.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from langchain_core.embeddings import Embeddings
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from acegraph.nodes.agent.challenger import Challenger
from acegraph.nodes.agent.custom import Agent, AgentLike, as_agent
from acegraph.nodes.agent.node import AgentNode
from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.curator.node import CuratorNode
from acegraph.nodes.judge.custom import JudgeLike, as_judge
from acegraph.nodes.judge.judge import SimpleJudge
from acegraph.nodes.judge.node import JudgeNode
from acegraph.nodes.models.embedding_models import EmbeddingModel
from acegraph.nodes.reflector.custom import Reflecting, ReflectorLike, as_reflector
from acegraph.nodes.reflector.node import ReflectorNode
from acegraph.nodes.runtime.step import Step
from acegraph.nodes.selector.factory import Selecting, Selectors
from acegraph.nodes.selector.node import SelectorNode
from acegraph.state import AceContext, AceInput, AceOutput, AceState

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook
    from acegraph.state.playbook.frozen_view import ReadablePlaybook

    AceGraph = StateGraph[AceState, AceContext, AceInput, AceOutput]


def create_ace_graph(
    *,
    playbook: BulletPlaybook | str | None = None,
    agent: AgentLike = None,
    judge: JudgeLike = None,
    reflector: ReflectorLike = None,
    curator: Curator | None = None,
    embeddings: Embeddings | None = None,
    context: AceContext | None = None,
    review: bool = False,
) -> AceGraph:
    """The ACE workflow as a graph to compile or to build on.

    Every collaborator can be replaced: `agent`, `judge` and `reflector` are a chat model, the name
    of one, a runnable, or a function of one mapping; `embeddings` is any LangChain embedder. What
    is left out is the configured default: language models where a key is set, else the embedded
    analyst. `playbook` may also be a database URL. `context` holds the settings that a run does not
    bring itself. With `review` a run stops for a person where the agent is unsure, and before a
    bullet becomes active; compile it with a checkpointer.
    """
    from acegraph.state import BulletPlaybook

    book = playbook if isinstance(playbook, BulletPlaybook) else BulletPlaybook(playbook)
    parts = gather_parts(
        book, agent, judge, reflector, curator=curator, embeddings=embeddings, context=context
    )
    return build_graph(replace(parts, review=review))


def build_graph(parts: Parts) -> AceGraph:
    """The five nodes in their order, and with `review` two more."""
    builder: AceGraph = StateGraph(
        AceState, context_schema=AceContext, input_schema=AceInput, output_schema=AceOutput
    )
    builder.add_node("selector", Step(parts.selector_node(), "selector"))
    builder.add_node("agent", Step(parts.agent_node(), "agent"))
    builder.add_node("judge", Step(JudgeNode(parts.playbook, parts.judge), "judge"))
    builder.add_node("reflector", Step(ReflectorNode(parts.playbook, parts.reflector), "reflector"))
    builder.add_node("curator", Step(parts.curator_node(), "curator"))
    builder.add_edge(START, "selector")
    builder.add_edge("selector", "agent")
    builder.add_edge("agent", "judge")
    builder.add_edge("reflector", "curator")
    if parts.review:
        add_review(builder, parts)
    builder.add_conditional_edges("review" if parts.review else "judge", after_judge)
    builder.add_edge("approval" if parts.review else "curator", END)
    return builder


class LearningFlag(TypedDict):
    """What the edge after the judge reads: LangGraph hands it no more than that."""

    learning: bool


def after_judge(state: LearningFlag) -> Literal["reflector", "__end__"]:
    """Into the learning branch after a wrong decision, and every k-th right one when asked."""
    return "reflector" if state["learning"] else "__end__"


def add_review(builder: AceGraph, parts: Parts) -> None:
    """Put a person after the judge and after the curator."""
    from acegraph.nodes.curator.approval import ApprovalNode
    from acegraph.nodes.judge.review import ReviewNode

    builder.add_node("review", Step(ReviewNode(parts.playbook), "review"))
    builder.add_node("approval", Step(ApprovalNode(parts.playbook, parts.curator), "approval"))
    builder.add_edge("judge", "review")
    builder.add_edge("curator", "approval")


@dataclass(frozen=True)
class Parts:
    """What the nodes work with; it comes in through the factory, never in state or context."""

    playbook: BulletPlaybook
    agent: Agent
    judge: SimpleJudge
    reflector: Reflecting
    curator: Curator
    selectors: Selecting
    challenger: Challenger
    context: AceContext = field(default_factory=AceContext)
    """The settings that a run does not bring itself."""
    stores_vectors: bool = True
    """Whether the curator stores the vector of a new bullet; False where somebody else does."""
    visible_playbook: Callable[[], ReadablePlaybook] | None = None
    """The playbook as the selector sees it, where that is not as it is now (lookahead.py)."""
    review: bool = False
    """Whether the graph stops for a person, and bullets that are learned wait for approval."""

    def selector_node(self) -> SelectorNode:
        """The node that chooses bullets."""
        visible = self.visible_playbook or (lambda: self.playbook)
        return SelectorNode(visible, self.selectors, self.context, self.review)

    def agent_node(self) -> AgentNode:
        """The node that decides."""
        return AgentNode(self.playbook, self.agent, self.challenger)

    def curator_node(self) -> CuratorNode:
        """The node that lets bullets in."""
        embedding = self.selectors.embedding if self.stores_vectors else None
        return CuratorNode(self.playbook, self.curator, embedding)


def gather_parts(
    playbook: BulletPlaybook,
    agent: AgentLike = None,
    judge: JudgeLike = None,
    reflector: ReflectorLike = None,
    *,
    curator: Curator | None = None,
    embeddings: Embeddings | EmbeddingModel | None = None,
    context: AceContext | None = None,
) -> Parts:
    """The collaborators of a graph, brought to the form its nodes call."""
    deciding, selectors = as_agent(agent), Selectors(embeddings)
    return Parts(
        playbook=playbook,
        agent=deciding,
        judge=as_judge(judge),
        reflector=as_reflector(reflector),
        curator=curator or Curator(),
        selectors=selectors,
        challenger=Challenger(playbook, deciding, selectors.select),
        context=context or AceContext(),
    )
