"""A duel: two versions of one playbook, champion and challenger, compared on the same cases.

Either both versions decide labelled cases now, or the challenger has decided in shadow on the live
stream (`AceContext(challenger=VERSION)`) and the labels in the ledger say which one was right.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Final, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.build import Collaborators
from acegraph.graph.data.file_rows import Progress
from acegraph.graph.data.files import as_items
from acegraph.graph.metrics.intervals import Estimate
from acegraph.graph.metrics.paired import PairedTest, mcnemar
from acegraph.graph.metrics.rates import accuracy
from acegraph.graph.metrics.run import Run
from acegraph.graph.training.pipeline import LabelledCases, TrainingPipeline
from acegraph.nodes.agent.challenger import version_of
from acegraph.nodes.text.reader import read_fields
from acegraph.state import (
    DECLINE,
    AceContext,
    BulletPlaybook,
    InvalidDataset,
    InvalidSettings,
    Transaction,
)
from acegraph.state.ledger.lookups import challenged_decisions
from acegraph.state.run.costs import CostMatrix
from acegraph.state.values.transaction import Fields
from acegraph.state.values.verdict import UNDECIDED

_BOOTSTRAPS: Final = 2_000
_PER_CASE: Final = CostMatrix(missed_fraud=5.0, false_decline=1.0)
_PER_AMOUNT: Final = CostMatrix(missed_fraud=1.0, false_decline=1.0)


def duel_costs(text: str = "", amount: str | None = None) -> CostMatrix:
    """The costs of a duel: its defaults, with those changed that the text names.

    By default a missed fraud costs 5 and a false decline 1. Where a field holds the amount, either
    mistake costs the amount once. Only mistakes have a cost.
    """
    default = _PER_AMOUNT if amount else _PER_CASE
    return CostMatrix.parse(text, default, ("missed_fraud", "false_decline"))


class VersionFigures(TypedDict):
    """How one version decided."""

    version: int | None
    accuracy: float | None
    undecided_rate: float


class DuelFigures(TypedDict):
    """Every figure of a duel, for machines."""

    cases: int
    champion: VersionFigures
    challenger: VersionFigures
    paired: dict[str, float]
    cost_difference: dict[str, float | None]
    costs: dict[str, float | str | None]


@dataclass(frozen=True)
class Duel:
    """The decisions of two versions on the same cases."""

    champion_version: int | None
    """None in a live duel: each decision was made by the version then in force."""
    challenger_version: int
    champion: Run = field(repr=False)
    challenger: Run = field(repr=False)
    stakes: NDArray[np.float64] = field(repr=False)
    """What a cost is a share of, for each case."""
    costs: CostMatrix = _PER_CASE
    amount: str | None = None
    """The field that the stakes come from; without a field every case counts 1."""

    @property
    def paired(self) -> PairedTest:
        """McNemar's exact test: `gained` are the cases that only the challenger got right."""
        return mcnemar([self.challenger], [self.champion])

    def cost_difference(self) -> Estimate:
        """Challenger minus champion, over all cases; below zero the challenger is cheaper.

        The interval resamples cases, each with both decisions on it. A case that either version
        left undecided is left out.
        """
        decided = self.champion.is_decided & self.challenger.is_decided
        fraud = (np.array(self.champion.truths) == DECLINE)[decided]
        champion, challenger = (
            self.costs.of(
                fraud, (np.array(run.decisions) == DECLINE)[decided], self.stakes[decided]
            )
            for run in (self.champion, self.challenger)
        )
        gap = challenger - champion
        if not len(gap):
            return Estimate(0.0, 0.0, 0.0)
        rng = np.random.default_rng(0)
        draws = [gap[rng.integers(0, len(gap), len(gap))].sum() for _ in range(_BOOTSTRAPS)]
        low, high = np.quantile(draws, [0.025, 0.975])
        return Estimate(float(gap.sum()), float(low), float(high))

    def to_json(self) -> DuelFigures:
        """Every figure, for machines."""
        return {
            "cases": len(self.champion.truths),
            "champion": _figures(self.champion, self.champion_version),
            "challenger": _figures(self.challenger, self.challenger_version),
            "paired": asdict(self.paired),
            "cost_difference": self.cost_difference().to_json(),
            "costs": {
                "false_decline": self.costs.false_decline,
                "missed_fraud": self.costs.missed_fraud,
                "amount": self.amount,
            },
        }


def duel(
    playbook: BulletPlaybook,
    version: int,
    dataset: LabelledCases,
    *,
    costs: CostMatrix | None = None,
    amount: str | None = None,
    context: AceContext | None = None,
    progress: Progress | None = None,
    **collaborators: Unpack[Collaborators],
) -> Duel:
    """Decide labelled cases with today's bullets and with those of another version.

    Neither version learns, and nothing is stored. `amount` names the field that costs are a share
    of. The collaborators are those of `create_ace_graph`.
    """
    items, context = as_items(dataset), context or AceContext()
    runs = []
    with version_of(playbook, version, context.node) as challenger:
        for what, book in (("champion", playbook), ("challenger", challenger)):
            pipeline = TrainingPipeline(book, context=context, progress=progress, **collaborators)
            run = pipeline.evaluate(
                items, context.mode, learn=False, source=context.source, what=what
            )
            runs.append(run)
    stakes = _stakes((read_fields(Transaction.of(item["query"])) for item in items), amount)
    costs = costs or duel_costs(amount=amount)
    return Duel(playbook.version, version, runs[0], runs[1], stakes, costs, amount)


def live_duel(
    playbook: BulletPlaybook,
    version: int,
    *,
    costs: CostMatrix | None = None,
    amount: str | None = None,
) -> Duel:
    """Compare what a version decided in shadow with what was decided, on the labelled cases."""
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
    stakes = _stakes((case.fields for case in cases), amount)
    costs = costs or duel_costs(amount=amount)
    return Duel(None, version, champion, challenger, stakes, costs, amount)


def _stakes(cases: Iterable[Fields], amount: str | None) -> NDArray[np.float64]:
    """The amount of each case; 1 where the case has no number there, or no field is named."""
    values = [None if amount is None else fields.get(amount) for fields in cases]
    if amount is not None and not any(isinstance(value, int | float) for value in values):
        raise InvalidSettings(f"no case has a number in field {amount!r}")
    return np.array([float(v) if isinstance(v, int | float) else 1.0 for v in values])


def _figures(run: Run, version: int | None) -> VersionFigures:
    undecided = round(run.undecided_rate, 4)
    right = None if undecided == 1 else round(accuracy(run), 4)
    return {"version": version, "accuracy": right, "undecided_rate": undecided}
