"""Two versions of a playbook on the same labelled cases: a paired test, and what they cost.

Either two rulesets decide labelled cases now, or the challenger has decided in shadow on the live
stream (`shadow` of the policy) and the labels in the ledger say which one was right.
"""

from collections.abc import Sequence
from typing import Final

from acegraph.graph.data.declare import fields_of
from acegraph.graph.data.files import as_items, row_name
from acegraph.graph.data.rows import Progress
from acegraph.graph.experiments.experiment import Experiment
from acegraph.graph.metrics.run import Run
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.training.pipeline import LabelledCases
from acegraph.state import AceContext, BulletPlaybook, InvalidDataset
from acegraph.state.ledger.lookups import challenged_decisions
from acegraph.state.values.costs import CostMatrix
from acegraph.state.values.transaction import Fields
from acegraph.state.values.verdict import UNDECIDED

IN_FORCE: Final = "in force"
"""The side that decides today, or in a live duel the version that decided then."""


def duel(
    playbook: BulletPlaybook,
    version: int,
    dataset: LabelledCases,
    *,
    context: AceContext | None = None,
    progress: Progress | None = None,
) -> Experiment:
    """Decide labelled cases by today's rules and by those of another version.

    Neither version learns, and nothing is stored.
    """
    items, runs = as_items(dataset), (Run(), Run())
    today = TableRules.of(playbook, context)
    rows = fields_of(items, today.task)
    sides = (today, TableRules.of_version(playbook, version, context))
    for run, rules in zip(runs, sides, strict=True):
        for item, row in zip(items, rows, strict=True):
            decided = rules.decide(row)
            run.add(item["answer"], decided.decision, decided.risk, row_name(item))
            if progress:
                progress("cases", len(run.truths), len(items))
    return _duel(playbook, version, runs, rows)


def live_duel(playbook: BulletPlaybook, version: int) -> Experiment:
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
    return _duel(playbook, version, (champion, challenger), [case.fields for case in cases])


def _duel(
    playbook: BulletPlaybook, version: int, runs: tuple[Run, Run], rows: Sequence[Fields]
) -> Experiment:
    """Both sides with the costs of the policy, and the amounts and groups of the task."""
    node = AceContext().node
    experiment = Experiment(costs=CostMatrix(**(playbook.policy(node).costs or {})))
    sides = dict(zip((IN_FORCE, f"version {version}"), runs, strict=True))
    experiment.add_seed(sides, rows, playbook.task(node))
    return experiment
