"""The training pipeline: learn from history, learn from a stream, measure, compare.

It adds only the order of the cases: in a stream every case is decided, scored, and only then
learned from. With `concurrency` many model calls are under way at once. A budget ends a pass
cleanly.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

import numpy as np

from acegraph.graph.build import Collaborators, gather_parts
from acegraph.graph.data.declare import declare
from acegraph.graph.data.files import Item, as_items, row_name
from acegraph.graph.data.rows import Progress
from acegraph.graph.data.synthetic import Example
from acegraph.graph.metrics.run import Run
from acegraph.graph.operations.decide import BATCH, asks_no_model, decide_block
from acegraph.graph.training.at_once import History, Learned, ListedCases, learn_at_once
from acegraph.graph.training.known_rows import Cases, known_rows, stored_results
from acegraph.graph.training.report import Failures, TrainingReport
from acegraph.nodes.agent.agent import SimpleFraudAgent, as_agent
from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.evidence.drift import caught_in_counts, since_change
from acegraph.nodes.models import named
from acegraph.nodes.models.embedding_models import EmbeddingModel, named_embeddings
from acegraph.nodes.reflector.custom import as_reflector, induces_rules
from acegraph.nodes.runtime.sync_async import BLOCKING, OWN_LOOP, Wait, finish, run_to_end
from acegraph.nodes.runtime.usage import Budget, Prices, Spending, metered
from acegraph.state import AceContext, AceInput, AceOutput, BulletPlaybook
from acegraph.state.errors import AceError, BudgetSpent, InvalidSettings, ModelUnavailable
from acegraph.state.run.context import MODES, Mode, settle_settings
from acegraph.state.task.task import Task
from acegraph.state.values import DECLINE, UNDECIDED, Source

if TYPE_CHECKING:
    from acegraph.graph.tables.labelled import DrawnRows

logger = logging.getLogger(__name__)
LabelledCases = Iterable[Mapping[str, object] | Example]


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
        prices: Prices | Mapping[str, Sequence[float]] | str | None = None,
        **collaborators: Unpack[Collaborators],
    ) -> None:
        """Collaborators are those of `create_ace_graph`, from `agent` to `embeddings`.

        With `concurrency` n cases are decided n at a time, on the playbook as it stood before them,
        and learned from in their order. `max_calls` and `max_tokens` limit all that this pipeline
        asks of language models; `prices` (else ACE_PRICES) are per million tokens sent and
        received, by model.
        """
        names = Collaborators.__annotations__
        if unknown := sorted(collaborators.keys() - names.keys()):
            raise TypeError(f"no collaborator {unknown[0]!r}; there are {', '.join(names)}")
        if concurrency < 1:
            raise InvalidSettings(f"concurrency is a number from 1 on, not {concurrency}")
        self.playbook = BulletPlaybook() if playbook is None else playbook
        self.context = (context or AceContext()).with_changes(learn_later=False)
        self.concurrency = concurrency
        self.budget = Budget(max_calls, max_tokens)
        self.prices = named.prices() if prices is None else Prices.of(prices)
        self._collaborators = collaborators
        self._progress = progress or (lambda what, done, total: None)

    def train_offline(self, dataset: LabelledCases, task: Task | None = None) -> TrainingReport:
        """Turn a labelled set into bullets of source `offline`.

        All labels are history, known from the start: rules are sought for all cases together, and
        none is decided. If a language model learns, or parts of your own, one pass decides each
        case and learns from it. `task` says what the fields are, where the playbook does not know;
        else it is guessed.
        """
        items = as_items(dataset)
        task, said = self._task(items, task)
        past = known_rows(items, self.playbook, self.context, "history", task)
        context = self.context.with_changes(
            mode="offline_online", source="offline", learn_as="offline"
        )
        history = ListedCases(past, self.playbook, context, self._progress)
        if self._is_refined(context):
            return self._learn(history, context, said)
        history.remember()
        ids = [case.id for case in past]
        return replace(self._train(items, ids, "learning offline", context), columns=said)

    def train_table(self, drawn: "DrawnRows", mature_days: float | None = None) -> TrainingReport:
        """Turn rows that were drawn of a large labelled table into bullets of source `offline`.

        Honest rows of the last `mature_days` do not count.
        """
        from acegraph.graph.training.whole_tables import TableLearning  # wants pyarrow

        if why := self.why_row_by_row(self.context):
            raise InvalidSettings(f"{why}: learn row by row")
        _, said = self._task(drawn.dataset.items, drawn.dataset.task)
        context = self.context.with_changes(source="offline", learn_as="offline")
        history = TableLearning(drawn, self.playbook, context, mature_days)
        return self._learn(history, context, said)

    def _learn(self, history: History, context: AceContext, said: str) -> TrainingReport:
        """Learn from all cases of a history at once, if any is new."""
        node, bullets = context.node, len(self.playbook)
        was_learned, learned = self.playbook.refined_from(node) > 0, Learned()
        new, corrected = history.remember()
        if new or corrected or not was_learned:  # else a rollback would be undone
            self._progress("learning", 0, 1)
            learned = learn_at_once(self.playbook, context, self._curator())
            self._progress("learning", 1, 1)
        figures, (evidence, counted) = history.figures(new + corrected), self._evidence()
        return TrainingReport(
            **vars(figures),
            **vars(learned),
            undecided=0,
            corrected=corrected,
            bullets_added=len(self.playbook) - bullets,
            bullets_active=len(self.playbook.get_bullets_for_node(node)),
            run=Run(),
            evidence=evidence,
            since_change=counted,
            columns=said,
        )

    def why_row_by_row(self, context: AceContext) -> str:
        """Why a table must be learned row by row; empty if it may be learned as a whole."""
        if not self._is_refined(context) or self._curator().gate is None:
            return "a language model, a reflector of your own or no proof is asked for"
        return ""

    def train_online(self, stream: LabelledCases, task: Task | None = None) -> TrainingReport:
        """Decide a stream in order, learning from each case after it was decided.

        A case has one decision id however often it comes: it counts once. What was learned from as
        history is not decided.
        """
        items = as_items(stream)
        task, said = self._task(items, task)
        ids = [row.id for row in known_rows(items, self.playbook, self.context, "stream", task)]
        context = self.context.with_changes(mode="online")
        is_learned = self._is_refined(context)
        learned = {i for i in ids if is_learned and i.startswith("history:")}
        report = self._train(items, ids, "learning online", context, learned)
        return replace(report, columns=said, held_out=_before_learning(report.run))

    def evaluate(
        self,
        dataset: LabelledCases,
        mode: Mode = "offline_online",
        *,
        learn: bool | None = None,
        source: Source | None = None,
        what: str = "",
    ) -> Run:
        """Decide labelled cases in one mode on a copy of the playbook; `progress` shows `what`."""
        context = self.context.with_changes(mode=mode, learn=learn, source=source)
        items = as_items(dataset)
        cases = [(item, f"{mode}:{number}") for number, item in enumerate(items)]
        with self.playbook.fork() as fork:
            results, failures = self._decide(fork, context, cases, what or mode, Spending())
        if len(results) < len(cases):  # figures of some cases would pass for figures of all
            error = ModelUnavailable if failures.stop else BudgetSpent
            why = failures.stop or self.budget.spent
            raise error(f"{why} after {len(results)} of {len(cases)} cases")
        return _scored(cases, results)[0]

    def compare(self, test: LabelledCases) -> dict[str, Run]:
        """The four ways of deciding on the same stream; `online` starts with an empty playbook.

        vanilla learns and shows nothing; offline shows what was trained and is frozen;
        offline_online starts from it and goes on learning.
        """
        items = as_items(test)
        fresh = copy(self)
        fresh.playbook = BulletPlaybook()
        node = self.context.node
        if self.playbook.declared("task", node):
            fresh.playbook.set_task(self.playbook.task(node), node)
        fresh.playbook.set_policy(replace(self.playbook.policy(node), version=0), node)
        return {
            "vanilla": self.evaluate(items, "vanilla"),
            "offline": self.evaluate(
                items, "offline_online", learn=False, source="offline", what="offline (frozen)"
            ),
            "offline_online": self.evaluate(items, "offline_online", what="offline + online"),
            "online": fresh.evaluate(items, "online", what="online only"),
        }

    def _task(self, items: Sequence[Item], task: Task | None) -> tuple[Task, str]:
        """The task by which the items are read, and what is said of it."""
        task, said = declare(items, self.playbook, self.context.node, task)
        if columns := next(filter(None, (item.get("sighting_columns") for item in items)), None):
            self.playbook.set_sighting_columns(self.context.node, columns)
        return task, said

    def _train(
        self,
        items: Sequence[Item],
        ids: Sequence[str],
        what: str,
        context: AceContext,
        learned: Set[str] = frozenset(),
    ) -> TrainingReport:
        """Decide cases in order, and learn from each; those that are known are not asked again."""
        bullets, spent = len(self.playbook), Spending()
        cases = list(zip(items, ids, strict=True))
        results, gone = stored_results(cases, self.playbook)
        gone |= learned - results.keys()
        repeated = len(results) + len(gone)
        still_open = [(i, case_id) for i, case_id in cases if case_id not in results.keys() | gone]
        decided, failures = self._decide(self.playbook, context, still_open, what, spent)
        results |= decided
        reasons = Counter(filter(None, (result.get("undecided") for result in decided.values())))
        run, verdicts = _scored(cases, results)
        evidence, counted = self._evidence()
        # The spent budget, if a case was not decided or not learned from because of it.
        limit, why = self.budget.spent, (str(one.get("undecided")) for one in results.values())
        was_cut = len(results) < len({*ids} - gone) or any(one.endswith(limit) for one in why)
        return TrainingReport(
            cases=verdicts.total(),
            mistakes=verdicts["wrong"],
            undecided=verdicts["undecided"],
            repeated=repeated,
            frauds=run.truths.count(DECLINE),
            bullets_added=len(self.playbook) - bullets,
            bullets_active=len(self.playbook.get_bullets_for_node(self.context.node)),
            run=run,
            calls=spent.total.calls,
            tokens=spent.total.tokens,
            cost=self.prices.cost(spent.by_model),
            usage=spent.by_node(),
            stopped=failures.stop or (limit if was_cut else ""),
            failure=reasons.most_common(1)[0][0] if reasons else "",
            failed=bool(failures.stop or (decided and failures.cases == len(decided))),
            evidence=evidence,
            since_change=counted,
        )

    def _is_refined(self, context: AceContext) -> bool:
        """Whether what was learned may become a set of many rules: no language model reflects, and
        the agent counts the rules that are not shown (or is told their sum).
        """
        agent = as_agent(self._collaborators.get("agent"))
        reflector = as_reflector(self._collaborators.get("reflector"))
        counts_all = isinstance(agent, SimpleFraudAgent)
        return counts_all and induces_rules(reflector, context.reflector_model)

    def _curator(self) -> Curator:
        return self._collaborators.get("curator") or Curator()

    def _evidence(self) -> tuple[int, int]:
        """How many labelled cases the playbook has, and how many of them still count."""
        table = self.playbook.cases(self.context.node)
        bullets = self.playbook.get_bullets_for_node(self.context.node, status=None)
        return len(table), len(since_change(table, bullets))

    def _decide(
        self, book: BulletPlaybook, context: AceContext, cases: Cases, what: str, spent: Spending
    ) -> tuple[dict[str, AceOutput], Failures]:
        """The results by id, in order, and the failures among them; cases that the budget did not
        suffice for, or that came after too many failures, are left out.
        """
        results: dict[str, AceOutput] = {}
        given = {name for name, part in self._collaborators.items() if part is not None}
        is_ours = given <= {"curator", "reflector"}
        failures, is_embedded = Failures(), is_ours and asks_no_model(settle_settings(context))
        derived = [bool(item.get("sighting_columns")) for item, _ in cases]
        collaborators = self._collaborators.copy()
        if MODES[context.mode].selects:
            collaborators["embeddings"] = self._embeddings
        parts = gather_parts(book, context=context, **collaborators)
        parts = replace(parts, keeps_derived=bool(cases) and all(derived))
        is_independent = not settle_settings(context)["learn"]
        size = BATCH if is_embedded and is_independent else self.concurrency

        async def decide_all(wait: Wait) -> None:
            begun = 0
            while begun < len(cases) and not (self.budget.spent or failures.stop):
                some = cases[begun : begun + size]
                given = [
                    AceInput(
                        transaction=item["query"], ground_truth=item["answer"], decision_id=case_id
                    )
                    for item, case_id in some
                ]
                answers = await decide_block(parts, given, wait)
                for (_, case_id), answer in zip(some, answers, strict=False):
                    if isinstance(answer, AceError):
                        raise answer
                    spent.add_decision(answer["usage"])
                    if answer["decision"] != UNDECIDED or not self.budget.spent:
                        results[case_id] = answer
                        failures.note(answer)
                    self._progress(what, len(results), len(cases))
                begun += len(answers)

        self._progress(what, 0, len(cases))
        with metered(self.budget):
            if self.concurrency == 1 or is_embedded:
                finish(decide_all(BLOCKING))
            else:
                run_to_end(decide_all(OWN_LOOP))
        logger.info("%s: %d of %d cases decided", what, len(results), len(cases))
        return results, failures

    @cached_property
    def _embeddings(self) -> EmbeddingModel:
        """The model of vectors; paid ones are remembered for all copies of the playbook."""
        given = self._collaborators.get("embeddings")
        name = self.context.embedding_model
        model = named_embeddings(given) if given else named.embedding_model(name)
        return model if model.is_free else model.remembering()


def _scored(cases: Cases, results: Mapping[str, AceOutput]) -> tuple[Run, Counter[str]]:
    """The decisions as a run, and how many were right, wrong or undecided."""
    run, verdicts = Run(), Counter[str]()
    for item, case_id in cases:
        if result := results.get(case_id):
            run.add(item["answer"], result["decision"], result["risk_score"], row_name(item))
            verdicts[result["verdict"]] += 1
    return run, verdicts


def _before_learning(run: Run) -> dict[str, float]:
    """How a stream was decided, each case before it was learned from."""
    if not run.truths:
        return {}
    fraud, declined = run.fraud, run.declined
    newest = np.arange(len(fraud)) * 6 >= len(fraud) * 5
    return {
        **caught_in_counts(fraud, declined, newest),
        "false_declines": round(int((declined & ~fraud).sum()) / max(int((~fraud).sum()), 1), 4),
    }
