"""The baselines: other learners, fitted on the same training cases, scored on the same test cases.

They need scikit-learn (`pip install acegraph[report]`), and see what the playbook sees: the fields
that the reader reads, without identifiers.
"""

import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acegraph.graph.data.declare import fields_of, task_of
from acegraph.graph.data.files import Item, row_name
from acegraph.graph.metrics.run import Run
from acegraph.nodes.evidence.columns.learnable_fields import learnable_fields
from acegraph.nodes.rules.scale import RiskScale
from acegraph.state import InvalidDataset, InvalidSettings
from acegraph.state.values import APPROVE, DECLINE, Case, CaseTable, CostMatrix

_RARE: Final = 0.04
"""A column is left out if fewer training rows than this share differ from its median."""


Learner = Any
"""A classifier as scikit-learn has them, which is not typed."""


def check_baselines(which: str = "plain") -> bool:
    """Whether other learners are wanted; refused, before any work is done, if there are none."""
    if which not in ("none", "plain"):
        raise InvalidSettings(
            f"baselines are none or plain, not {which!r}; scripts in benchmarks/ have more"
        )
    if which == "plain" and find_spec("sklearn") is None:
        raise InvalidSettings(
            "the plain learners need scikit-learn, the extra `report`: pip install "
            "'acegraph[report]' (--baselines none does without)"
        )
    return which == "plain"


def run_baselines(
    train: Sequence[Item],
    test: Sequence[Item],
    seed: int = 0,
    costs: CostMatrix | None = None,
    more: Mapping[str, Learner] | None = None,
) -> dict[str, Run]:
    """Logistic regression, a depth-3 tree, gradient boosting, and `more` on the same cases.

    They decline above the risk above which the embedded analyst declines (nodes/rules/scale.py).
    """
    check_baselines()
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    learners = {
        "logistic_regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        "depth_3_tree": DecisionTreeClassifier(max_depth=3, random_state=seed),
        "gradient_boosting": GradientBoostingClassifier(random_state=seed),
        **(more or {}),
    }
    seen, unseen = _matrices(train, test)
    labels = np.array([item["answer"] == DECLINE for item in train])
    if labels.all() or not labels.any():
        raise InvalidDataset("the training rows are all fraud or all honest")
    task = task_of(train)
    amount = task.of_role("amount")
    scale = RiskScale(
        base_rate=float(labels.mean()), costs=costs, amount_name=amount.name if amount else None
    )
    limits = [scale.decline_from(fields) for fields in fields_of(test, task)]
    runs = {}
    for name, learner in learners.items():
        run = runs[name] = Run()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some call scikit-learn in ways that will change
            risks = learner.fit(seen, labels).predict_proba(unseen)[:, 1]
        for item, risk, limit in zip(test, risks, limits, strict=True):
            decision = DECLINE if risk > limit else APPROVE
            run.add(item["answer"], decision, float(risk), row_name(item))
    return runs


def _matrices(
    train: Sequence[Item], test: Sequence[Item]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Training and test rows, with one column for each number, flag and frequent category."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    task = task_of(train)
    rows = fields_of((*train, *test), task)
    table = CaseTable(Case(str(i), row, APPROVE) for i, row in enumerate(rows[: len(train)]))
    table.task = task
    names = learnable_fields(table)
    if not names:  # one column without information, since a learner needs one
        return np.zeros((len(train), 1)), np.zeros((len(test), 1))
    numeric = {n for n in names if (column := table.column(n)) and column.is_numeric}
    flat = [
        {
            name: float("nan") if value is None else value
            for name in names
            if (value := row.get(name)) is not None or name in numeric
        }
        for row in rows
    ]
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    filled = make_pipeline(DictVectorizer(sparse=False), imputer)
    seen, unseen = filled.fit_transform(flat[: len(train)]), filled.transform(flat[len(train) :])
    # Rare categories only add noise to a small training set: without them the baselines do better.
    varied = np.mean(seen != np.median(seen, axis=0), axis=0) >= _RARE
    varied[0] |= not varied.any()
    return seen[:, varied], unseen[:, varied]
