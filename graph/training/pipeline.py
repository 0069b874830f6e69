"""The training pipeline: learn from history, learn from a stream, measure, compare.

It adds only the order of the cases: in a stream every case is decided, scored, and only then
learned from. With `concurrency` many model calls are under way at once. A budget ends a pass
cleanly.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Final, Unpack

from langchain_core.embeddings import Embeddings

from acegraph.graph.build import Collaborators, Parts, gather_parts
from acegraph.graph.data.declare import declare
from acegraph.graph.data.files import Item, as_items, row_name
from acegraph.graph.data.rows import Progress
from acegraph.graph.data.synthetic import Example
from acegraph.graph.metrics.run import Run
from acegraph.graph.operations.decide import BATCH, asks_no_model, decide_block
from acegraph.graph.training.known_rows import Cases, known_rows, stored_results
from acegraph.graph.training.mistakes import mistakes_over
from acegraph.graph.training.refined_bullets import RefinedBullet, refined_bullets
from acegraph.nodes.agent.agent import SimpleFraudAgent
from acegraph.nodes.agent.custom import as_agent
from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.curator.refinement.refine import Count, Refinement, refine
from acegraph.nodes.evidence.drift import since_change
from acegraph.nodes.models import named
from acegraph.nodes.models.embedding_models import EmbeddingModel, named_embeddings
from acegraph.nodes.models.language_model import is_hopeless
from acegraph.nodes.reflector.case_by_case import learn_case_by_case
from acegraph.nodes.reflector.custom import as_reflector, induces_rules
from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL
from acegraph.nodes.runtime.sync_async import BLOCKING, OWN_LOOP, Wait, finish, run_to_end
from acegraph.nodes.runtime.usage import Budget, Prices, Spending, metered
from acegraph.state import (
    DECLINE,
    AceContext,
    AceInput,
    AceOutput,
    BulletPlaybook,
    Case,
    Condition,
)
from acegraph.state.errors import AceError, BudgetSpent, InvalidSettings, ModelUnavailable
from acegraph.state.run.context import Mode
from acegraph.state.run.modes import MODES, settle, settle_settings
from acegraph.state.run.schema import UsageByNode
from acegraph.state.task.task import Task
from acegraph.state.values.bullet import REFINEMENT, Source
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.times import now
from acegraph.state.values.verdict import UNDECIDED

if TYPE_CHECKING:
    from acegraph.graph.tables.labelled import DrawnRows, LabelledTable

logger = logging.getLogger(__name__)

_SAME_FAILURES: Final = 5
_FAILURES: Final = 10
"""So many failures in a row end a pass: of one kind, and of any kind."""
_STORED_AT_ONCE: Final = 5_000
_MOST_LOOKS: Final = 3
"""So often a set of rules is sought for the same cases."""
LabelledCases = Iterable[Mapping[str, object] | Example]


@dataclass(frozen=True)
class TrainingReport:
    """What a pass over labelled cases brought."""

    cases: int
    mistakes: int
    undecided: int
    repeated: int
    """Cases that this playbook had decided and learned from before; they are not learned twice."""
    bullets_added: int
    bullets_active: int
    run: Run = field(repr=False)
    """The decisions of the pass, in order."""
    calls: int = 0
    tokens: int = 0
    cost: float | None = None
    """In the currency of the prices; None if a model that was used has no price."""
    usage: UsageByNode = field(default_factory=dict, repr=False)
    stopped: str = ""
    """Why the pass ended early: the spent budget, or models that always fail. What was learned is
    kept; run again to go on."""
    failure: str = ""
    """The most frequent reason why a case was not decided or not learned from, if there is one."""
    frauds: int = 0
    evidence: int = 0
    """How many labelled cases of the playbook are evidence."""
    since_change: int = 0
    """How many of them still count: those since the last change (nodes/evidence/drift.py)."""
    held_out: dict[str, float] = field(default_factory=dict)
    """How it did on cases that had no part in what decided them: held out in turn where a set of
    rules was sought, all cases of a stream; else empty."""
    columns: str = ""
    """How the columns differ from those that the playbook knew before; empty if they do not."""
    refined: int = 0
    """How many bullets a look at the playbook as a whole has put in place of others."""
    refinement: list[RefinedBullet] = field(default_factory=list, repr=False)
    """What that did to each bullet; empty if nothing was refined."""
    corrected: int = 0
    """How many rows of a whole table were known with another label."""
    failed: bool = False
    """Whether the pass ended because models failed, or they failed in all of its cases."""

    @property
    def change(self) -> str:
        """Where a change was seen and what it leaves as evidence; empty if none was seen."""
        forgotten = self.evidence - self.since_change
        return (
            f"a change was seen at row {forgotten + 1:,}; {self.since_change:,} of "
            f"{self.evidence:,} labelled cases still count"
            if forgotten
            else ""
        )

    def to_json(self) -> dict[str, object]:
        """Everything except the decisions."""
        facts = {name: value for name, value in vars(self).items() if name != "run"}
        refinement = [asdict(bullet) for bullet in self.refinement]
        return {**facts, "refinement": refinement, "change": self.change}


class _Failures:
    """The failures of models in a pass. What fails again and again is not asked any more."""

    def __init__(self) -> None:
        self.cases = 0
        self.stop = ""
        """Why nothing more should be asked."""
        self._in_a_row: list[str] = []

    def note(self, result: AceOutput) -> None:
        """Take in the result of one case."""
        reason = result.get("undecided") or ""
        if reason.partition(":")[0] not in result["usage"]:  # no model was asked
            reason = ""
        self._in_a_row = [*self._in_a_row, reason] if reason else []
        self.cases += bool(reason)
        same = self._in_a_row.count(reason)
        if reason and (
            same >= _SAME_FAILURES or len(self._in_a_row) >= _FAILURES or is_hopeless(reason)
        ):
            self.stop = self.stop or f"{len(self._in_a_row)} case(s) in a row failed ({reason})"


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
        self._remembering: EmbeddingModel | None = None
        self._progress = progress or (lambda what, done, total: None)

    def train_offline(self, dataset: LabelledCases, task: Task | None = None) -> TrainingReport:
        """Turn a labelled set into bullets of source `offline`.

        All labels are history, known from the start: rules are sought for all cases together, and
        none is decided. If a language model learns, or parts of your own, one pass decides each
        case and learns from it. `task` says what the fields are, where the playbook does not know;
        else it is guessed.
        """
        items, task, difference = self._prepared(dataset, task)
        past = known_rows(items, self.playbook, self.context, "history", task)
        context = self.context.with_changes(
            mode="offline_online", source="offline", learn_as="offline"
        )
        node, bullets = context.node, len(self.playbook)
        was_learned = self.playbook.refined_from(node) > 0
        new, corrected = self._remember(past)
        if not self._is_refined(context):
            report = self._train(items, [case.id for case in past], "learning offline", context)
            return self._with_evidence(report, difference)
        refined = None
        if new or corrected or not was_learned:  # else a rollback would be undone
            refined = self._learn_at_once(context)
        cases = CaseTable(past)
        report = TrainingReport(
            cases=len(past),
            frauds=int(cases.fraud.sum()),
            mistakes=int(mistakes_over(cases, self.playbook, context).sum()),
            undecided=0,
            repeated=len({case.id for case in past}) - new - corrected,
            corrected=corrected,
            bullets_added=len(self.playbook) - bullets,
            bullets_active=len(self.playbook.get_bullets_for_node(node)),
            run=Run(),
        )
        return self._with_evidence(_with_refinement(report, refined), difference)

    def _remember(self, past: Sequence[Case]) -> tuple[int, int]:
        """Store labelled history; gives how many cases are new, and of how many it had another
        label.
        """
        new, corrected = 0, 0
        at = now()  # all at one time, although a large set is stored in parts
        for start in range(0, len(past), _STORED_AT_ONCE):
            part = past[start : start + _STORED_AT_ONCE]
            counts = Counter(case.label for case in part)
            added = self.playbook.remember_table(part, counts, self.context.node, at=at)
            new, corrected = new + added[0], corrected + added[1]
            self._progress("storing", start + len(part), len(past))
        return new, corrected

    def train_table(
        self, table: "LabelledTable", drawn: "DrawnRows", mature_days: float | None = None
    ) -> TrainingReport:
        """Turn a whole labelled table into bullets of source `offline`, from rows drawn of it.

        Rules are sought on the drawn rows, and proved and fitted on all. Honest rows of the last
        `mature_days` do not count.
        """
        from acegraph.graph.training.whole_tables import TableLearning  # wants pyarrow

        if why := self.why_row_by_row(self.context):
            raise InvalidSettings(f"{why}: learn row by row")
        bullets = len(self.playbook)
        items, _, difference = self._prepared(drawn.dataset.items, drawn.dataset.task)
        context = self.context.with_changes(source="offline", learn_as="offline")
        learning = TableLearning(
            table, drawn, items, self.playbook, context, mature_days, self._progress
        )
        new, corrected = learning.remember()
        is_new = new + corrected > 0
        refined = self._learn_at_once(context, learning.count) if is_new else None
        active = self.playbook.get_bullets_for_node(context.node)
        if not is_new:
            cases = self.playbook.cases(context.node)
            learning.count(cases, [b.condition for b in active if b.condition])
        figures = learning.figures()
        report = TrainingReport(
            cases=figures["cases"],
            frauds=figures["frauds"],
            mistakes=figures["mistakes"],
            undecided=0,
            repeated=0 if is_new else figures["cases"],
            corrected=corrected,
            bullets_added=len(self.playbook) - bullets,
            bullets_active=len(active),
            run=Run(),
        )
        return self._with_evidence(_with_refinement(report, refined), difference)

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
        items, task, difference = self._prepared(stream, task)
        ids = [row.id for row in known_rows(items, self.playbook, self.context, "stream", task)]
        context = self.context.with_changes(mode="online")
        is_learned = self._is_refined(context)
        learned = {i for i in ids if is_learned and i.startswith("history:")}
        report = self._train(items, ids, "learning online", context, learned)
        return replace(
            self._with_evidence(report, difference), held_out=_before_learning(report.run)
        )

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
        run = Run()
        for item, case_id in cases:
            result = results[case_id]
            run.add(item["answer"], result["decision"], result["risk_score"], row_name(item))
        logger.info("%s ended: %d of %d cases right", what or mode, run.right.sum(), len(cases))
        return run

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

    def _prepared(self, dataset: LabelledCases, task: Task | None) -> tuple[list[Item], Task, str]:
        """The items to learn from, the task by which they are read, and what is said of it."""
        items = as_items(dataset)
        task, said = declare(items, self.playbook, self.context.node, task)
        if columns := next(filter(None, (item.get("sighting_columns") for item in items)), None):
            self.playbook.set_sighting_columns(self.context.node, columns)
        return items, task, said

    def _train(
        self,
        items: Sequence[Item],
        ids: Sequence[str],
        what: str,
        context: AceContext,
        learned: Set[str] = frozenset(),
    ) -> TrainingReport:
        started, bullets_before, spent = monotonic(), len(self.playbook), Spending()
        all_cases = list(zip(items, ids, strict=True))
        results, pruned = stored_results(all_cases, self.playbook)
        pruned |= learned - results.keys()
        repeated = len(results) + len(pruned)
        cases = [(item, case_id) for item, case_id in all_cases if case_id not in pruned]
        still_open = [(item, case_id) for item, case_id in cases if case_id not in results]
        decided, failures = self._decide(self.playbook, context, still_open, what, spent)
        results |= decided
        reasons = Counter(filter(None, (result.get("undecided") for result in decided.values())))
        run, verdicts = Run(), []
        for item, case_id in cases:
            if result := results.get(case_id):
                run.add(item["answer"], result["decision"], result["risk_score"])
                verdicts.append(result["verdict"])
        whole = spent.whole()
        report = TrainingReport(
            cases=len(verdicts),
            mistakes=verdicts.count("wrong"),
            undecided=verdicts.count("undecided"),
            repeated=repeated,
            frauds=run.truths.count(DECLINE),
            bullets_added=len(self.playbook) - bullets_before,
            bullets_active=len(self.playbook.get_bullets_for_node(self.context.node)),
            run=run,
            calls=whole.total.calls,
            tokens=whole.total.tokens,
            cost=self.prices.cost(whole.by_model),
            usage=spent.to_json(),
            stopped=failures.stop
            or self._why_stopped(results, len({case_id for _, case_id in cases})),
            failure=reasons.most_common(1)[0][0] if reasons else "",
            failed=bool(failures.stop or (decided and failures.cases == len(decided))),
        )
        logger.info("%s ended after %.1f s: %s", what, monotonic() - started, report)
        return report

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

    def _learn_at_once(
        self, context: AceContext, count: Count | None = None
    ) -> tuple[Refinement, list[RefinedBullet]] | None:
        """Put a better set of rules in place of what was learned before, if one is proved."""
        node, version, curator = context.node, self.playbook.version, self._curator()
        acted = self.playbook.get_bullets_for_node(node)
        self._progress("learning", 0, 1)
        done = (
            self._best_set(context, curator)
            if count is None
            else refine(self.playbook, node, curator, costs=self._costs(context), count=count)
        )
        if done is None:
            self._learn_case_by_case(node, curator)
            counted = None
            if count is not None:
                rules = [b.condition for b in self.playbook.get_bullets_for_node(node)]
                counted = count(self.playbook.cases(node), [rule for rule in rules if rule])
            curator.tend(node, self.playbook, counted=counted)
        self._progress("learning", 1, 1)
        if done is None:
            return None
        act, changes = self.playbook.get_bullets_for_node(node), self.playbook.history()
        why = {row["bullet"]: row["reason"] for row in changes if row["version"] > version}
        return done, refined_bullets(acted, act, self.playbook.cases(node), why)

    def _costs(self, context: AceContext) -> str | None:
        return settle(self.playbook, context).get("costs")

    def _best_set(self, context: AceContext, curator: Curator) -> Refinement | None:
        """The best set of rules for all cases; beside rules that stand others are found, and cut
        otherwise, so it is sought until nothing changes.
        """
        best, added = None, list[str]()
        for _ in range(_MOST_LOOKS):
            done = refine(
                self.playbook,
                context.node,
                curator,
                costs=self._costs(context),
            )
            if done is None:
                break
            best, added = done, [b for b in (*added, *done.added) if b in done.active]
            if not (done.added or done.retired):
                break
        return replace(best, added=tuple(added)) if best else None

    def _learn_case_by_case(self, node: str, curator: Curator) -> None:
        """Learn single rules where no set is proved and none stands: from few frauds."""
        bullets = self.playbook.get_bullets_for_node(node, status=None)
        if any(b.status == "active" and REFINEMENT in b.origin for b in bullets):
            return
        table = since_change(self.playbook.cases(node), bullets)
        for case, reflection in learn_case_by_case(table, bullets, curator.gate):
            condition = reflection.get("condition")
            curator.curate(
                reflection["new_bullet"],
                node,
                self.playbook,
                "offline",
                condition=Condition.from_json(condition) if condition else None,
                problem_types=reflection["problem_types"],
                confidence=reflection["confidence"],
                origin={"decision": case.id, "label": case.label, "author": NO_LANGUAGE_MODEL},
            )

    def _with_evidence(self, report: TrainingReport, difference: str) -> TrainingReport:
        """The report with how many labelled cases count, how many still do after a change, and how
        the columns differ.
        """
        node = self.context.node
        table = self.playbook.cases(node)
        bullets = self.playbook.get_bullets_for_node(node, status=None)
        counted = len(since_change(table, bullets))
        return replace(
            report,
            evidence=len(table),
            since_change=counted,
            columns=difference,
        )

    def _why_stopped(self, results: Mapping[str, AceOutput], cases: int) -> str:
        """The spent budget, if a case was not decided or not learned from because of it."""
        spent = self.budget.spent
        reasons = [str(result.get("undecided")) for result in results.values()]
        was_cut = len(results) < cases or any(reason.endswith(spent) for reason in reasons)
        return spent if was_cut else ""

    def _decide(
        self, book: BulletPlaybook, context: AceContext, cases: Cases, what: str, spent: Spending
    ) -> tuple[dict[str, AceOutput], _Failures]:
        """The results by id, in order, and the failures among them; cases that the budget did not
        suffice for, or that came after too many failures, are left out.
        """
        results: dict[str, AceOutput] = {}
        failures = _Failures()

        def may_begin() -> bool:
            return not (self.budget.spent or failures.stop)

        def note(case_id: str, result: AceOutput) -> None:
            spent.add(result["usage"])
            if result["decision"] != UNDECIDED or not self.budget.spent:
                results[case_id] = result
                failures.note(result)
            self._progress(what, len(results), len(cases))

        logger.info("%s: %d cases to decide, %d at a time", what, len(cases), self.concurrency)
        self._progress(what, 0, len(cases))
        is_embedded = self._is_embedded(context)
        derived = [bool(item.get("sighting_columns")) for item, _ in cases]
        parts = replace(self._parts(book, context), keeps_derived=bool(cases) and all(derived))
        is_independent = not settle_settings(context)["learn"]
        size = BATCH if is_embedded and is_independent else self.concurrency

        async def decide_all(wait: Wait) -> None:
            begun = 0
            while begun < len(cases) and may_begin():
                some = [as_input(*case) for case in cases[begun : begun + size]]
                answers = await decide_block(parts, some, wait)
                for (_, case_id), answer in zip(cases[begun:], answers, strict=False):
                    if isinstance(answer, AceError):
                        raise answer
                    note(case_id, answer)
                begun += len(answers)

        with metered(self.budget):
            if self.concurrency == 1 or is_embedded:
                finish(decide_all(BLOCKING))
            else:
                run_to_end(decide_all(OWN_LOOP))
        return results, failures

    def _is_embedded(self, context: AceContext) -> bool:
        """Whether parts of our own decide and judge, and no model is asked for that."""
        given = {name for name, part in self._collaborators.items() if part is not None}
        return given <= {"curator", "reflector"} and asks_no_model(settle_settings(context))

    def _parts(self, playbook: BulletPlaybook, context: AceContext) -> Parts:
        """The parts of the graph; copies of the playbook share one memory of paid vectors."""
        given = self._collaborators
        embeddings: Embeddings | EmbeddingModel | None = given.get("embeddings")
        if MODES[context.mode].selects:
            name = self.context.embedding_model
            model = named_embeddings(embeddings) if embeddings else named.embedding_model(name)
            if not model.is_free:
                memory = self._remembering
                if memory is None or memory.embeddings is not model.embeddings:
                    memory = self._remembering = model.remembering()
                embeddings = memory
        return gather_parts(
            playbook,
            given.get("agent"),
            given.get("judge"),
            given.get("reflector"),
            curator=given.get("curator"),
            embeddings=embeddings,
            context=context,
            prompts=given.get("prompts"),
        )


def _with_refinement(
    report: TrainingReport, refined: tuple[Refinement, list[RefinedBullet]] | None
) -> TrainingReport:
    if refined is None:
        return report
    done, changes = refined
    held_out = done.rule_set.held_out
    return replace(report, refined=len(done.added), held_out=held_out, refinement=changes)


def _before_learning(run: Run) -> dict[str, float]:
    """How a stream was decided, each case before it was learned from."""
    if not run.truths:
        return {}
    fraud, declined = run.fraud, run.declined
    return {
        "frauds": int(fraud.sum()),
        "caught": int((fraud & declined).sum()),
        "false_declines": round(int((declined & ~fraud).sum()) / max(int((~fraud).sum()), 1), 4),
    }


def as_input(item: Item, case_id: str) -> AceInput:
    """A labelled case as the graph takes it."""
    return AceInput(transaction=item["query"], ground_truth=item["answer"], decision_id=case_id)
