"""The embedded embedder: close where texts are about the same, and 0.5 parts the two."""

import itertools

import numpy as np
import pytest

from acegraph.graph import generate_transactions
from acegraph.nodes.models.concept_embeddings import _features_of, embed, features
from acegraph.state import Transaction


def cosine(left: str, right: str) -> float:
    return float(embed(left) @ embed(right))


# Each entry: a transaction and two heuristics about one thing; no two entries are about the same.
TOPICS = [
    (
        "Payment of $90 to a bitcoin exchange through a proxy",
        "VPN and crypto together are risky",
        "Anonymous network plus cryptocurrency merchant",
    ),
    (
        "Six purchases of $1.50 in the last hour at a gaming platform",
        "Many small amount transactions in quick succession mean card testing",
        "Repeated micro payments per hour in video game credits",
    ),
    (
        "A 3-day-old account buys a laptop for $1,900",
        "New users buying expensive electronics",
        "Newly created account and a high-value electronics order",
    ),
    (
        "Furniture delivered by express shipping, shipping address differs from billing",
        "Rush delivery to a different shipping address for appliances",
        "Overnight shipping with an address mismatch in home improvement",
    ),
    (
        "Merchant rated 1.2 with two chargebacks last year",
        "Shops with poor reviews and past disputes",
        "Low merchant rating and fraud reports on file",
    ),
    (
        "ATM withdrawal 900 km from home right after the password was changed",
        "Cash machine far from home and a recent profile change",
        "Cash withdrawal at a great distance after a sim swap",
    ),
]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("VPN", "proxy"),
        ("a 2-day-old account", "new user"),
        ("at 3 AM", "late at night"),
        ("an unrecognized device", "new device"),
        ("bitcoin", "crypto exchange"),
        ("DECLINE when account_age_days < 30", "new account"),
    ],
)
def test_words_for_the_same_thing_are_close(left: str, right: str) -> None:
    assert cosine(left, right) > 0.7


def test_half_is_the_threshold_between_related_and_unrelated() -> None:
    related = [cosine(a, b) for topic in TOPICS for a, b in itertools.combinations(topic, 2)]
    unrelated = [
        cosine(a, b) for one, other in itertools.combinations(TOPICS, 2) for a in one for b in other
    ]
    assert np.mean(np.array(related) >= 0.5) >= 0.9
    assert np.mean(np.array(unrelated) < 0.5) >= 0.98


def test_vectors_are_unit_finite_and_the_same_each_time() -> None:
    one, two = embed("a proxy"), embed("")
    assert np.linalg.norm(one) == pytest.approx(1, abs=1e-6)
    assert np.isfinite(two).all()
    embed.cache_clear()
    assert (embed("a proxy") == one).all()


def test_the_fields_of_a_mapping_have_the_features_of_their_whole_text() -> None:
    for example in generate_transactions(200, seed=3):
        text = Transaction.of(example.fields).text
        assert features(text) == _features_of(text)
