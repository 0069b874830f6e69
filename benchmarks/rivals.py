"""Rivals of a playbook whose models people can read: EBM, FIGS, RuleFit and boosted rules.

They want interpret-core and imodels, which the extra `dev` has.
"""

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec

from acegraph.graph.data.files import Item
from acegraph.graph.experiments.baselines import Learner, run_baselines
from acegraph.graph.metrics.run import Run
from acegraph.state import DECLINE, InvalidSettings


def check_rivals(which: str) -> None:
    """Refuse, before any work is done, rivals that nobody knows or whose packages are missing."""
    if which not in ("none", "plain", "all"):
        raise InvalidSettings(f"rivals are none, plain or all, not {which!r}")
    missing = [name for name in ("interpret", "imodels") if find_spec(name) is None]
    if which == "all" and missing:
        raise InvalidSettings(f"all rivals need {' and '.join(missing)} (--baselines plain)")


def run_rivals(
    train: Sequence[Item], test: Sequence[Item], seed: int = 0, which: str = "all"
) -> dict[str, Run]:
    """The plain learners of `acegraph compare`, and with `all` those that can be read."""
    if which == "none":
        return {}
    frauds = sum(item["answer"] == DECLINE for item in train)
    more = readable(seed, fewest=min(frauds, len(train) - frauds)) if which == "all" else {}
    return run_baselines(train, test, seed, more=more)


def readable(seed: int, fewest: int) -> dict[str, Learner]:
    """Learners whose models people can read; `fewest` cases have the rarer of the two labels."""
    from imodels import BoostedRulesClassifier, FIGSClassifier, RuleFitClassifier
    from interpret.glassbox import ExplainableBoostingClassifier
    from sklearn.calibration import CalibratedClassifierCV

    figs = FIGSClassifier(max_rules=5)  # its own 12 do worse on few cases
    # Else its risks are squeezed into .27 to .73, and at 2 % fraud it would decline everything.
    figs.predict_proba = partial(figs.predict_proba, use_clipped_prediction=True)
    boosted = BoostedRulesClassifier(random_state=seed)
    if fewest > 1:  # its risks are squeezed too
        boosted = CalibratedClassifierCV(boosted, ensemble=False, cv=min(5, fewest))
    return {
        # Pairs of fields on its own 64 times 64 cells would take ten times as long.
        "ebm": ExplainableBoostingClassifier(
            random_state=seed, n_jobs=1, outer_bags=8, max_interaction_bins=16, max_rounds=5000
        ),
        "figs": figs,
        "rulefit": RuleFitClassifier(random_state=seed),
        "boosted_rules": boosted,
    }
