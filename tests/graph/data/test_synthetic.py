"""The generator: what it promises of its data."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from acegraph.graph.data.synthetic import NATURAL_FRAUD_RATE, generate_transactions


def test_the_same_seed_gives_the_same_transactions() -> None:
    assert generate_transactions(30, seed=5) == generate_transactions(30, seed=5)
    assert generate_transactions(30, seed=5) != generate_transactions(30, seed=6)


def test_both_variants_have_their_share_of_fraud() -> None:
    for rate in (0.5, NATURAL_FRAUD_RATE):
        found = generate_transactions(1000, seed=1, fraud_rate=rate)
        assert np.mean([e.answer == "DECLINE" for e in found]) == rate


@pytest.mark.slow
def test_no_single_field_decides() -> None:
    examples = generate_transactions(3000, seed=2)
    labels = np.array([e.answer == "DECLINE" for e in examples])
    for name in examples[0].fields:
        column = np.array([e.fields[name] for e in examples])
        if column.dtype.kind in "US":
            column = np.unique(column, return_inverse=True)[1]
        tree = DecisionTreeClassifier(max_leaf_nodes=8, class_weight="balanced", random_state=0)
        half = len(labels) // 2
        tree.fit(column[:half, None], labels[:half])
        assert tree.score(column[half:, None], labels[half:]) < 0.72, name


@pytest.mark.slow
def test_the_best_decision_is_good_and_not_perfect() -> None:
    examples = generate_transactions(3000, seed=3)
    right = np.mean([e.best_decision == e.answer for e in examples])
    assert 0.93 < right < 0.98


@pytest.mark.slow
def test_shuffled_labels_know_nothing() -> None:
    examples = generate_transactions(3000, seed=4, shuffle_labels=True)
    right = np.mean([e.best_decision == e.answer for e in examples])
    assert 0.47 < right < 0.53


def test_a_text_does_not_tell_its_label() -> None:
    words = ("fraud", "scam", "stolen", "approve", "decline", "legit", "suspicious")
    texts = " ".join(e.query.lower() for e in generate_transactions(500, seed=7))
    assert not [word for word in words if word in texts]
