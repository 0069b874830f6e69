"""The training pipeline: learn from history, learn from a stream, measure, compare.

It runs the compiled graph and adds nothing to it but order: in a stream every case is predicted,
scored, and only then learned from.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from acegraph.graph.ace import create_ace_graph
from acegraph.graph.dataset import Item, as_items
from acegraph.graph.evaluation import Run
from acegraph.graph.generator import Example
from acegraph.nodes.reader import read_fields
from acegraph.state import AceContext, BulletPlaybook, Case, Mode, Source, Transaction
from acegraph.state.redaction import Redaction, redacted_digest

Dataset = Iterable[Mapping[str, Any] | Example]
Progress = Callable[[str, int, int], None]
"""Told what is under way, how many cases are done, and how many there are."""


@dataclass(frozen=True)
class TrainingReport:
    """What a pass over labelled cases brought."""

    cases: int
    mistakes: int
    undecided: int
    bullets_added: int
    bullets_active: int
    run: Run = field(repr=False)
    """The decisions on the way, in order."""

    def to_json(self) -> dict[str, int]:
        """The counts, without the decisions."""
        return {name: n for name, n in vars(self).items() if isinstance(n, int)}


class TrainingPipeline:
    """Trains and measures one playbook with one set of collaborators."""

    def __init__(
        self,
        playbook: BulletPlaybook | None = None,
        *,
        context: AceContext | None = None,
        progress: Progress | None = None,
        **collaborators: Any,
    ) -> None:
        """Collaborators are those of `create_ace_graph`: agent, judge, reflector, curator,
        embeddings.
        """
        self.playbook = BulletPlaybook() if playbook is None else playbook
        self.context = context or AceContext()
        self._collaborators = collaborators
        self._progress = progress or (lambda what, done, total: None)

    def train_offline(self, dataset: Dataset) -> TrainingReport:
        """Turn a labelled set into bullets of source `offline`.

        All labels are history and known from the start; one pass decides each case and learns from
        the mistakes.
        """
        items = as_items(dataset)
        context = self.context
        past = [_as_case(item, f"history:{context.node}", context.redact) for item in items]
        self.playbook.remember(past, self.context.node)
        settings = {"mode": "offline_online", "source": "offline", "learn_as": "offline"}
        return self._train(items, [case.id for case in past], "learning offline", settings)

    def train_online(self, stream: Dataset) -> TrainingReport:
        """Decide a stream in order, learning from each case after it was decided.

        A case has the same decision id each time it comes: a stream sent again counts once.
        """
        items = as_items(stream)
        context = self.context
        ids = [_as_case(item, f"stream:{context.node}", context.redact).id for item in items]
        return self._train(items, ids, "learning online", {"mode": "online"})

    def evaluate(
        self,
        dataset: Dataset,
        mode: Mode = "offline_online",
        *,
        learn: bool | None = None,
        source: Source | None = None,
        what: str = "",
    ) -> Run:
        """Decide labelled cases in one mode on a copy of the playbook: measuring leaves no
        trace.
        """
        items = as_items(dataset)
        run = Run()
        with self.playbook.fork() as copy:
            graph = create_ace_graph(playbook=copy, **self._collaborators).compile()
            settings = {"mode": mode, "learn": learn, "source": source}
            context = self.context.with_changes(**settings)
            for done, item in enumerate(items):
                self._progress(what or mode, done, len(items))
                result = graph.invoke(
                    {
                        "transaction": item["query"],
                        "ground_truth": item["answer"],
                        "decision_id": f"{mode}:{done}",
                    },
                    context=context,
                )
                run.add(item["answer"], result["decision"], result["risk_score"])
        self._progress(what or mode, len(items), len(items))
        return run

    def compare(self, test: Dataset) -> dict[str, Run]:
        """The four ways of deciding on the same stream; `online` starts with an empty playbook.

        vanilla learns and shows nothing; offline shows what was trained and is frozen;
        offline_online starts from it and goes on learning.
        """
        items = as_items(test)
        fresh = TrainingPipeline(
            context=self.context, progress=self._progress, **self._collaborators
        )
        return {
            "vanilla": self.evaluate(items, "vanilla"),
            "offline": self.evaluate(
                items, "offline_online", learn=False, source="offline", what="offline (frozen)"
            ),
            "offline_online": self.evaluate(items, "offline_online", what="offline + online"),
            "online": fresh.evaluate(items, "online", what="online only"),
        }

    def _train(
        self, items: Sequence[Item], ids: Sequence[str], what: str, settings: dict[str, Any]
    ) -> TrainingReport:
        graph = create_ace_graph(playbook=self.playbook, **self._collaborators).compile()
        context = self.context.with_changes(**settings)
        before = len(self.playbook)
        mistakes = undecided = 0
        run = Run()
        for done, (item, case_id) in enumerate(zip(items, ids, strict=True)):
            self._progress(what, done, len(items))
            result = graph.invoke(
                {
                    "transaction": item["query"],
                    "ground_truth": item["answer"],
                    "decision_id": case_id,
                },
                context=context,
            )
            run.add(item["answer"], result["decision"], result["risk_score"])
            mistakes += result["verdict"] == "wrong"
            undecided += result["verdict"] == "undecided"
        self._progress(what, len(items), len(items))
        active = len(self.playbook.get_bullets_for_node(self.context.node))
        added = len(self.playbook) - before
        return TrainingReport(len(items), mistakes, undecided, added, active, run)


def _as_case(item: Item, kind: str, redact: Sequence[str] = ()) -> Case:
    """A labelled item as a case; its id follows from its content, so that it is taken in once."""
    transaction = Transaction.of(item["query"])
    fields, digest = read_fields(transaction), transaction.digest()
    if redact:
        hide = Redaction.of(fields, redact)
        transaction, fields = hide.transaction(transaction), hide.fields(fields)
        digest = redacted_digest(transaction.text)
    return Case(
        id=f"{kind}:{item['id'][:100]}:{digest[:12]}",
        fields=fields,
        label=item["answer"],
        text=transaction.text,
        digest=digest,
    )
