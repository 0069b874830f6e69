"""The training pipeline: learn from history, learn from a stream, measure, compare.

It runs the compiled graph and adds nothing to it but order: in a stream every case is predicted,
scored, and only then learned from. With `concurrency` many model calls are under way at once
(lookahead.py); a budget ends a pass cleanly.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from acegraph.graph.build import gather_parts
from acegraph.graph.data.files import Item, as_items, row_name
from acegraph.graph.data.synthetic import Example
from acegraph.graph.metrics.run import Run
from acegraph.graph.training.known_rows import known_rows
from acegraph.graph.training.lookahead import Lookahead, turns
from acegraph.nodes.models import providers
from acegraph.nodes.models.embedding_models import EmbeddingModel, named_embeddings
from acegraph.nodes.runtime.sync_async import run_to_end
from acegraph.nodes.runtime.usage import Budget, Prices, Spending, metered
from acegraph.state import (
    AceContext,
    BudgetSpent,
    BulletPlaybook,
    InvalidSettings,
    Mode,
    PrunedDecision,
    Source,
    UnknownDecision,
)
from acegraph.state.ledger.ledger import ERASED
from acegraph.state.run.modes import MODES
from acegraph.state.values.verdict import UNDECIDED

Dataset = Iterable[Mapping[str, Any] | Example]
Progress = Callable[[str, int, int], None]
"""Told what is under way, how many cases are done, and how many there are."""


@dataclass(frozen=True)
class TrainingReport:
    """What a pass over labelled cases brought."""

    cases: int
    mistakes: int
    undecided: int
    repeated: int
    """Cases that this playbook had decided, and learned from, before: nothing is learned twice."""
    bullets_added: int
    bullets_active: int
    run: Run = field(repr=False)
    """The decisions on the way, in order."""
    calls: int = 0
    tokens: int = 0
    cost: float | None = None
    """In the currency of the prices; None where a model has none."""
    usage: dict[str, Any] = field(default_factory=dict, repr=False)
    """Node, then model, then calls and tokens."""
    stopped: str = ""
    """Why it ended early: the budget is spent. What was learned is kept; run again to go on."""

    def to_json(self) -> dict[str, Any]:
        """Everything but the decisions."""
        return {name: value for name, value in vars(self).items() if name != "run"}


class TrainingPipeline:
    """Trains and measures one playbook with one set of collaborators."""

    def __init__(
        self,
        playbook: BulletPlaybook | None = None,
        *,
        context: AceContext | None = None,
        progress: Progress | None = None,
        concurrency: int = 1,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        prices: Prices | Mapping[str, Any] | str | None = None,
        **collaborators: Any,
    ) -> None:
        """Collaborators are those of `create_ace_graph`: agent, judge, reflector, curator,
        embeddings.

        With `concurrency` n case i is decided on the playbook as it stood after the learning of
        case i - n. `max_calls` and `max_tokens` limit all that this pipeline asks of language
        models; `prices` (else ACE_PRICES) are per million tokens sent and received, by model.
        """
        if concurrency < 1:
            raise InvalidSettings(f"concurrency is a number from 1 on, not {concurrency}")
        self.playbook = BulletPlaybook() if playbook is None else playbook
        self.context = context or AceContext()
        self.concurrency = concurrency
        self.budget = Budget(max_calls, max_tokens)
        self.prices = providers.prices() if prices is None else Prices.of(prices)
        self.spending = Spending()
        self._collaborators = collaborators
        self._remembering: EmbeddingModel | None = None
        self._progress = progress or (lambda what, done, total: None)

    def train_offline(self, dataset: Dataset) -> TrainingReport:
        """Turn a labelled set into bullets of source `offline`.

        All labels are history and known from the start; one pass decides each case and learns from
        the mistakes.
        """
        items = as_items(dataset)
        past = known_rows(items, self.playbook, self.context, "history")
        self.playbook.remember(past, self.context.node)
        settings = {"mode": "offline_online", "source": "offline", "learn_as": "offline"}
        return self._train(items, [case.id for case in past], "learning offline", settings)

    def train_online(self, stream: Dataset) -> TrainingReport:
        """Decide a stream in order, learning from each case after it was decided.

        A case has the same decision id each time it comes: a stream sent again counts once, and so
        does what was history before.
        """
        items = as_items(stream)
        cases = known_rows(items, self.playbook, self.context, "stream")
        return self._train(
            items, [case.id for case in cases], "learning online", {"mode": "online"}
        )

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
        context = self.context.with_changes(mode=mode, learn=learn, source=source)
        cases = [(item, f"{mode}:{number}") for number, item in enumerate(items)]
        with self.playbook.fork() as fork:
            found = self._decide(fork, context, cases, what or mode)
        if len(found) < len(cases):  # a part of the cases is no measure of all
            raise BudgetSpent(f"{self.budget.spent} after {len(found)} of {len(cases)} cases")
        for item, case_id in cases:
            told = found[case_id]
            run.add(item["answer"], told["decision"], told["risk_score"], row_name(item))
        return run

    def compare(self, test: Dataset) -> dict[str, Run]:
        """The four ways of deciding on the same stream; `online` starts with an empty playbook.

        vanilla learns and shows nothing; offline shows what was trained and is frozen;
        offline_online starts from it and goes on learning.
        """
        items = as_items(test)
        fresh = copy(self)
        fresh.playbook = BulletPlaybook()
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
        before, spent = len(self.playbook), Spending()
        found: dict[str, Any] = {}
        pruned = set()  # learned from before they left the ledger: none is counted twice
        for item, case_id in zip(items, ids, strict=True):
            try:
                if told := self._told_before(item, case_id):
                    found[case_id] = told
            except PrunedDecision:
                pruned.add(case_id)
        repeated = len(found) + len(pruned)
        cases = [(item, i) for item, i in zip(items, ids, strict=True) if i not in pruned]
        still_open = [(item, case_id) for item, case_id in cases if case_id not in found]
        context = self.context.with_changes(**settings)
        found |= self._decide(self.playbook, context, still_open, what, spent)
        run = Run()
        verdicts = []
        for item, case_id in cases:
            if told := found.get(case_id):
                run.add(item["answer"], told["decision"], told["risk_score"])
                verdicts.append(told["verdict"])
        return TrainingReport(
            cases=len(verdicts),
            mistakes=verdicts.count("wrong"),
            undecided=verdicts.count("undecided"),
            repeated=repeated,
            bullets_added=len(self.playbook) - before,
            bullets_active=len(self.playbook.get_bullets_for_node(self.context.node)),
            run=run,
            calls=spent.total.calls,
            tokens=spent.total.tokens,
            cost=spent.cost(self.prices),
            usage=spent.to_json(),
            stopped=self.budget.spent if self._was_cut_short(found, {i for _, i in cases}) else "",
        )

    def _was_cut_short(self, found: Mapping[str, Any], ids: Collection[str]) -> bool:
        """Whether a case was not decided, or not learned from, because of the budget."""
        if len(found) < len(ids):
            return True
        reasons = [str(told.get("undecided")) for told in found.values()]
        return bool(self.budget.spent) and any(r.endswith(self.budget.spent) for r in reasons)

    def _told_before(self, item: Item, case_id: str) -> Mapping[str, Any] | None:
        """What an earlier pass said and learned, so that an interrupted one is not paid twice."""
        try:
            told = self.playbook.decision(case_id)
        except PrunedDecision:
            raise
        except UnknownDecision:
            return None
        if told["decision"] == item["answer"] == told["label"]:
            return {**told, "verdict": "right"}
        if told["decision"] and told["label"] == item["answer"] and told["lesson"] is not None:
            return {**told, "verdict": "wrong"}
        if told["digest"] == ERASED:
            raise PrunedDecision(f"what decision {case_id!r} was about was erased")
        return None

    def _decide(
        self,
        playbook: BulletPlaybook,
        context: AceContext,
        cases: Sequence[tuple[Item, str]],
        what: str,
        spent: Spending | None = None,
    ) -> dict[str, Any]:
        """The results by id, in order; without those that the budget left nothing for."""
        found: dict[str, Any] = {}
        spendings = [self.spending, spent] if spent else [self.spending]

        def note(case_id: str, result: dict[str, Any]) -> None:
            for spending in spendings:
                spending.add(result["usage"])
            if result["decision"] != UNDECIDED or not self.budget.spent:
                found[case_id] = result
            self._progress(what, len(found), len(cases))

        self._progress(what, 0, len(cases))
        parts = gather_parts(playbook, **self._given(context))
        with metered(self.budget):
            if self.concurrency == 1:
                turn = turns(parts, context)
                for item, case_id in cases:
                    if self.budget.spent:
                        break
                    note(case_id, turn(item, case_id))
            else:
                ahead = Lookahead(parts, context)
                run_to_end(self._overlapping(ahead, context, cases, note, spendings))
        return found

    async def _overlapping(
        self,
        ahead: Lookahead,
        context: AceContext,
        cases: Sequence[tuple[Item, str]],
        note: Callable[[str, dict[str, Any]], None],
        spendings: Sequence[Spending],
    ) -> None:
        turn = turns(ahead.parts, context)
        async with aclosing(
            ahead.results(cases, self.concurrency, turn, lambda: not self.budget.spent)
        ) as results:
            async for case_id, result in results:
                note(case_id, result)
        if ahead.bought.by_model:
            for spending in spendings:
                spending.add({"curator": ahead.bought.to_json()})

    def _given(self, context: AceContext) -> dict[str, Any]:
        """The collaborators; copies of the playbook share one memory of bought vectors."""
        if not MODES[context.mode].selects or self._embedding.is_free:
            return self._collaborators
        return {**self._collaborators, "embeddings": self._embedding}

    @property
    def _embedding(self) -> EmbeddingModel:
        """The model in use, with a memory that lasts as long as its client."""
        given = self._collaborators.get("embeddings")
        model = (
            named_embeddings(given)
            if given
            else providers.embedding_model(self.context.embedding_model)
        )
        if model.is_free:
            return model
        if self._remembering is None or self._remembering.embeddings is not model.embeddings:
            self._remembering = model.remembering()
        return self._remembering
