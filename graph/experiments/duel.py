"""Champion and challenger: two versions of one playbook on the same cases, compared in pairs.

Either both decide labelled cases now, or the challenger has decided in shadow on the live stream
(`AceContext(challenger=VERSION)`) and the ledger's labels say who was right.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.data.files import as_items
from acegraph.graph.metrics.costs import parse_prices
from acegraph.graph.metrics.intervals import Estimate
from acegraph.graph.metrics.paired import PairedTest, mcnemar
from acegraph.graph.metrics.rates import accuracy
from acegraph.graph.metrics.run import Run
from acegraph.graph.training.pipeline import Dataset, Progress, TrainingPipeline
from acegraph.nodes.agent.challenger import version_of
from acegraph.nodes.text.reader import read_fields
from acegraph.state import (
    APPROVE,
    DECLINE,
    AceContext,
    BulletPlaybook,
    InvalidDataset,
    InvalidSettings,
    Transaction,
)
from acegraph.state.ledger.lookups import challenged_decisions
from acegraph.state.values.verdict import UNDECIDED

_BOOTSTRAPS: Final = 2_000


@dataclass(frozen=True)
class Costs:
    """What a mistake costs: a price, times the amount of the payment where a field names it."""

    false_decline: float = 1.0
    missed_fraud: float = 5.0
    amount: str | None = None
    """The field that holds the amount; a payment without one counts as 1."""

    @classmethod
    def parse(cls, text: str, amount: str | None = None) -> "Costs":
        """Read `missed_fraud=5,false_decline=1`; what is not named keeps its default.

        Where an amount is at stake, a missed fraud costs it once.
        """
        prices = parse_prices(text, ("missed_fraud", "false_decline"))
        return cls(**{**({"missed_fraud": 1.0} if amount else {}), **prices}, amount=amount)

    def of(self, run: Run, stakes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cost of each decision of a run."""
        fraud, said = np.array(run.truths) == DECLINE, np.array(run.decisions)
        price = self.missed_fraud * (fraud & (said == APPROVE))
        price = price + self.false_decline * (~fraud & (said == DECLINE))
        return np.asarray(price * stakes, dtype=np.float64)


@dataclass(frozen=True)
class Duel:
    """Two versions on the same cases."""

    champion_version: int | None
    """None: live, the champion was whatever version was in force."""
    challenger_version: int
    champion: Run = field(repr=False)
    challenger: Run = field(repr=False)
    stakes: NDArray[np.float64] = field(repr=False)
    costs: Costs = field(default_factory=Costs)

    @property
    def paired(self) -> PairedTest:
        """McNemar's exact test: `gained` are the cases that only the challenger got right."""
        return mcnemar([self.challenger], [self.champion])

    def cost_difference(self) -> Estimate:
        """Challenger minus champion, over all cases; below zero the challenger is cheaper.

        The interval resamples cases, both decisions on each together. A case on which either was
        undecided costs neither.
        """
        decided = np.isin(self.champion.decisions, (APPROVE, DECLINE))
        decided &= np.isin(self.challenger.decisions, (APPROVE, DECLINE))
        theirs, ours = (self.costs.of(r, self.stakes) for r in (self.champion, self.challenger))
        gap = (ours - theirs)[decided]
        if not len(gap):
            return Estimate(0.0, 0.0, 0.0)
        rng = np.random.default_rng(0)
        draws = [gap[rng.integers(0, len(gap), len(gap))].sum() for _ in range(_BOOTSTRAPS)]
        low, high = np.quantile(draws, [0.025, 0.975])
        return Estimate(float(gap.sum()), float(low), float(high))

    def to_json(self) -> dict[str, Any]:
        """Every figure, for machines."""
        return {
            "cases": len(self.champion.truths),
            "champion": _figures(self.champion, self.champion_version),
            "challenger": _figures(self.challenger, self.challenger_version),
            "paired": asdict(self.paired),
            "cost_difference": self.cost_difference().to_json(),
            "costs": asdict(self.costs),
        }


def duel(
    playbook: BulletPlaybook,
    version: int,
    dataset: Dataset,
    *,
    costs: Costs | None = None,
    context: AceContext | None = None,
    progress: Progress | None = None,
    **collaborators: Any,
) -> Duel:
    """Decide labelled cases with today's bullets and with those of a version. Both are frozen, and
    nothing of it is stored. Collaborators are those of `create_ace_graph`.
    """
    items, costs, context = as_items(dataset), costs or Costs(), context or AceContext()
    runs = []
    with version_of(playbook, version, context.node) as challenger:
        for what, book in (("champion", playbook), ("challenger", challenger)):
            pipeline = TrainingPipeline(book, context=context, progress=progress, **collaborators)
            run = pipeline.evaluate(
                items, context.mode, learn=False, source=context.source, what=what
            )
            runs.append(run)
    fields = (read_fields(Transaction.of(item["query"])) for item in items)
    stakes = _stakes(fields, costs.amount, len(items))
    return Duel(playbook.version, version, runs[0], runs[1], stakes, costs)


def live_duel(playbook: BulletPlaybook, version: int, *, costs: Costs | None = None) -> Duel:
    """Compare what a version said in shadow with what was decided, where a label is known."""
    costs = costs or Costs()
    champion, challenger = Run(), Run()
    cases = challenged_decisions(playbook.database, version)
    for case in cases:
        champion.add(case.label, case.decision, case.risk_score)
        decision = case.challenger_decision or UNDECIDED
        challenger.add(case.label, decision, case.challenger_risk_score)
    if not cases:
        raise InvalidDataset(
            f"no labelled decision with version {version} in shadow; run with "
            f"AceContext(challenger={version}), or give a file of labelled cases"
        )
    stakes = _stakes((case.fields for case in cases), costs.amount, len(cases))
    return Duel(None, version, champion, challenger, stakes, costs)


def _stakes(
    fields: Iterable[Mapping[str, Any]], amount: str | None, count: int
) -> NDArray[np.float64]:
    if amount is None:
        return np.ones(count)
    given = [row.get(amount) for row in fields]
    if not any(isinstance(value, int | float) for value in given):
        raise InvalidSettings(f"no case has a number in field {amount!r}")
    return np.array([float(v) if isinstance(v, int | float) else 1.0 for v in given])


def _figures(run: Run, version: int | None) -> dict[str, Any]:
    undecided = round(run.undecided_rate, 4)
    right = None if undecided == 1 else round(accuracy(run), 4)
    return {"version": version, "accuracy": right, "undecided_rate": undecided}
