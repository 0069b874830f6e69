"""Two versions of a playbook on the same labelled cases: a paired test, and what they cost.

Either two rulesets decide labelled cases now, or the challenger has decided in shadow on the live
stream (`shadow` of the policy) and the labels in the ledger say which one was right.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from acegraph.graph.data.declare import fields_of
from acegraph.graph.data.files import as_items, row_name
from acegraph.graph.data.rows import Progress
from acegraph.graph.metrics.costs import cost_difference
from acegraph.graph.metrics.intervals import rounded
from acegraph.graph.metrics.paired import Difference, PairedTest, mcnemar
from acegraph.graph.metrics.rates import accuracy
from acegraph.graph.metrics.run import Run
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.training.pipeline import LabelledCases
from acegraph.nodes.rules.points import amount_of
from acegraph.state import AceContext, BulletPlaybook, InvalidDataset
from acegraph.state.ledger.lookups import challenged_decisions
from acegraph.state.values.costs import CostMatrix
from acegraph.state.values.transaction import Fields
from acegraph.state.values.verdict import UNDECIDED


@dataclass(frozen=True)
class Duel:
    """The decisions of two versions on the same cases."""

    champion_version: int | None
    """None in a live duel: each decision was made by the version then in force."""
    challenger_version: int
    champion: Run = field(repr=False)
    challenger: Run = field(repr=False)
    costs: CostMatrix = field(default_factory=CostMatrix)
    amount: str | None = None
    """The field that costs are a share of; without a field every case counts 1."""

    @property
    def paired(self) -> PairedTest:
        """McNemar's exact test: `gained` are the cases that only the challenger got right."""
        return mcnemar([self.challenger], [self.champion])

    def cost_difference(self) -> Difference:
        """What the challenger costs more per 1,000 cases; below zero it is cheaper."""
        return cost_difference([self.challenger], [self.champion], self.costs)

    def to_json(self) -> dict[str, object]:
        """Every figure, for machines."""
        versions = {"champion": self.champion_version, "challenger": self.challenger_version}
        runs = {"champion": self.champion, "challenger": self.challenger}
        sides = {
            name: {
                "version": versions[name],
                "accuracy": rounded(accuracy(run)),
                "undecided_rate": round(run.undecided_rate, 4),
            }
            for name, run in runs.items()
        }
        return {
            "cases": len(self.champion.truths),
            **sides,
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
    context: AceContext | None = None,
    progress: Progress | None = None,
) -> Duel:
    """Decide labelled cases by today's rules and by those of another version.

    Neither version learns, and nothing is stored.
    """
    items = as_items(dataset)
    today = TableRules.of(playbook, context)
    rows, runs = fields_of(items, today.task), (Run(), Run())
    sides = (today, TableRules.of_version(playbook, version, context))
    for run, rules in zip(runs, sides, strict=True):
        for item, row in zip(items, rows, strict=True):
            decided = rules.decide(row)
            run.add(item["answer"], decided.decision, decided.risk, row_name(item))
            if progress:
                progress("cases", len(run.truths), len(items))
    return _duel(playbook, (playbook.version, version), *runs, rows)


def live_duel(playbook: BulletPlaybook, version: int) -> Duel:
    """Compare what a version decided in shadow with what was decided, on the labelled cases."""
    cases = challenged_decisions(playbook.database, version)
    if not cases:
        raise InvalidDataset(
            f"no labelled decision with version {version} in shadow; run with "
            f"AceContext(policy={{'shadow': {version}}}), or give a file of labelled cases"
        )
    champion, challenger = Run(), Run()
    for case in cases:
        champion.add(case.label, case.decision, case.risk_score)
        decision = case.challenger_decision or UNDECIDED
        challenger.add(case.label, decision, case.challenger_risk_score)
    rows = [case.fields for case in cases]
    return _duel(playbook, (None, version), champion, challenger, rows)


def _duel(
    playbook: BulletPlaybook,
    versions: tuple[int | None, int],
    champion: Run,
    challenger: Run,
    rows: Iterable[Fields],
) -> Duel:
    """Both sides with the costs of the policy, and the amounts in the field that is one."""
    node = AceContext().node
    field = playbook.task(node).of_role("amount")
    amount = field.name if field else None
    champion.amounts = challenger.amounts = [amount_of(row, amount) for row in rows]
    costs = CostMatrix(**(playbook.policy(node).costs or {}))
    return Duel(*versions, champion, challenger, costs, amount)
