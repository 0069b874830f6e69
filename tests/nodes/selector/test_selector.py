"""The five stages of selection."""

import hashlib

import numpy as np
import pytest
from scipy import stats

from acegraph.nodes import HybridSelector
from acegraph.nodes.selector.stages import Candidates, pass_quality, pick_diverse
from acegraph.state import BulletPlaybook, InvalidSettings

NODE = "fraud_detection"

QUERY = "User pays $900 at a crypto exchange at 3 AM through a VPN, account is 4 days old"
RELEVANT = [
    "Crypto purchases through a VPN deserve a decline",
    "Proxy connections to a bitcoin exchange at night",
    "A new account that buys cryptocurrency for a large amount",
    "Night-time crypto exchange payments by new users",
    "VPN and a fresh account together, buying digital currency",
]
SUBJECTS = ["fuel", "pharmacy", "grocery", "parking", "restaurant", "furniture", "shoes", "taxi"]
PLACES = [
    "in store by chip",
    "with a travel notice",
    "by recurring payment",
    "after a password reset",
]


def picks(scores: np.ndarray, vectors: np.ndarray, n: int, weight: float) -> list[int]:
    """Stage 5 for given scores."""
    rows, everybody = np.asarray(vectors, np.float32), np.arange(len(scores))
    nothing, query = np.zeros(len(scores)), np.zeros(rows.shape[1], np.float32)
    candidates = Candidates(rows, everybody, query, nothing, nothing, scores, 0.0)
    return pick_diverse(candidates, n, weight)


def irrelevant(n: int) -> list[str]:
    rng = np.random.default_rng(n)
    return [
        f"{rng.choice(SUBJECTS)} and {rng.choice(SUBJECTS)} bills {rng.choice(PLACES)}, lot {i}"
        for i in range(n)
    ]


def with_record(playbook: BulletPlaybook, content: str, helpful: int, harmful: int) -> str:
    bullet_id = playbook.add_bullet(content, NODE)
    for _ in range(helpful):
        playbook.update_stats(bullet_id, True)
    for _ in range(harmful):
        playbook.update_stats(bullet_id, False)
    return bullet_id


@pytest.mark.parametrize("others", [45, pytest.param(995, marks=pytest.mark.slow)])
def test_five_planted_bullets_are_all_found(others: int) -> None:
    playbook = BulletPlaybook()
    crowd = irrelevant(others)
    for content in crowd[: others // 2]:
        playbook.add_bullet(content, NODE)
    planted = {playbook.add_bullet(content, NODE) for content in RELEVANT}
    for content in crowd[others // 2 :]:
        playbook.add_bullet(content, NODE)
    for seed in range(5):
        chosen, _ = HybridSelector(seed=seed).select_bullets(QUERY, NODE, playbook, 5)
        assert {b.id for b in chosen} == planted


def test_quality_relaxes_to_024_and_no_further() -> None:
    playbook = BulletPlaybook()
    good = with_record(playbook, RELEVANT[0], 3, 7)
    relaxed = with_record(playbook, RELEVANT[1], 6, 19)
    with_record(playbook, RELEVANT[2], 23, 77)
    chosen, _ = HybridSelector().select_bullets(QUERY, NODE, playbook, 5)
    assert {b.id for b in chosen} == {good, relaxed}
    chosen, _ = HybridSelector().select_bullets(QUERY, NODE, playbook, 1)
    assert [b.id for b in chosen] == [good]


def test_a_bullet_that_never_helped_never_fills_a_slot() -> None:
    playbook = BulletPlaybook()
    with_record(playbook, RELEVANT[0], 0, 20)
    for seed in range(20):
        assert HybridSelector(seed=seed).select_bullets(QUERY, NODE, playbook, 5) == ([], {})


def test_relaxing_keeps_a_rate_of_exactly_024() -> None:
    assert pass_quality(np.array([6 / 25, 0.2399]), 0.3, wanted=2).tolist() == [True, False]


def test_nothing_relevant_means_no_bullets() -> None:
    playbook = BulletPlaybook()
    for content in irrelevant(30):
        playbook.add_bullet(content, NODE)
    assert HybridSelector().select_bullets(QUERY, NODE, playbook, 5)[0] == []


def test_a_rule_that_holds_is_relevant_whatever_its_cosine() -> None:
    playbook = BulletPlaybook()
    holds = playbook.add_bullet("DECLINE when zeta >= 3", NODE)
    playbook.add_bullet("DECLINE when zeta >= 30", NODE)
    chosen, scores = HybridSelector().select_bullets({"zeta": 5, "amount": 2}, NODE, playbook, 5)
    assert [b.id for b in chosen] == [holds]
    assert scores[holds]["semantic"] >= 0.5


def test_only_the_source_asked_for_is_selected() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet(RELEVANT[0], NODE, "offline")
    playbook.add_bullet(RELEVANT[1], NODE, "online")
    for source in ("offline", "online"):
        chosen, _ = HybridSelector().select_bullets(QUERY, NODE, playbook, 5, source)
        assert [b.source for b in chosen] == [source]


def test_a_source_that_is_none_is_refused_and_no_query_gives_no_choice() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet(RELEVANT[0], NODE, "offline")
    with pytest.raises(InvalidSettings, match="'onlin'"):
        HybridSelector().select_bullets(QUERY, NODE, playbook, 5, "onlin")


def test_the_diversity_stage_changes_the_choice() -> None:
    scores = np.array([0.90, 0.89, 0.80])
    vectors = np.array([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0]])
    assert picks(scores, vectors, 2, 0.0) == [0, 1]
    assert picks(scores, vectors, 2, 0.15) == [0, 2]


def test_the_diversity_stage_lowers_the_mean_similarity_of_what_is_shown() -> None:
    def mean_similarity(weight: float) -> float:
        found = []
        for trial in range(60):
            rng = np.random.default_rng(trial)
            vectors = rng.standard_normal((40, 6))
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            shown = picks(rng.uniform(0.5, 0.6, 40), vectors, 5, weight)
            cosines = vectors[shown] @ vectors[shown].T
            found.append(cosines[np.triu_indices(5, 1)].mean())
        return float(np.mean(found))

    assert mean_similarity(0.15) < mean_similarity(0.0) - 0.05


def test_equal_scores_go_to_the_older_bullet() -> None:
    assert picks(np.array([0.4, 0.5, 0.5]), np.eye(3), 3, 0.15) == [1, 2, 0]


@pytest.mark.parametrize(("helpful", "harmful"), [(0, 0), (7, 2), (1, 30)])
def test_thompson_draws_follow_the_beta_law(helpful: int, harmful: int) -> None:
    playbook, selector = BulletPlaybook(), HybridSelector(0.0)
    bullet_id = with_record(playbook, RELEVANT[0], helpful, harmful)
    draws = []
    for i in range(500):
        _, scores = selector.select_bullets(QUERY, NODE, playbook, 5, decision_id=f"d{i}")
        draws.append(scores[bullet_id]["thompson"])
    assert stats.kstest(draws, stats.beta(helpful + 1, harmful + 1).cdf).pvalue > 0.01


def test_the_same_seed_and_decision_give_the_same_choice() -> None:
    playbook = BulletPlaybook()
    for content in RELEVANT + irrelevant(5):
        playbook.add_bullet(content, NODE)

    def choice(seed: int, decision: str) -> list[str]:
        selector = HybridSelector(seed=seed)
        chosen, _ = selector.select_bullets(QUERY, NODE, playbook, 3, decision_id=decision)
        return [b.id for b in chosen]

    assert choice(1, "a") == choice(1, "a")
    assert len({tuple(choice(1, f"d{i}")) for i in range(20)}) > 1
    assert len({tuple(choice(seed, "a")) for seed in range(20)}) > 1


def test_selecting_writes_no_counter_and_no_version() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet(RELEVANT[0], NODE)
    before = playbook.version, list(playbook)
    HybridSelector().select_bullets(QUERY, NODE, playbook, 5)
    assert (playbook.version, list(playbook)) == before


def test_scores_give_every_component() -> None:
    playbook = BulletPlaybook()
    bullet_id = with_record(playbook, RELEVANT[0], 3, 1)
    _, scores = HybridSelector().select_bullets(QUERY, NODE, playbook, 5)
    s = scores[bullet_id]
    assert s["quality"] == 0.75
    assert s["combined"] == pytest.approx(
        0.3 * s["quality"] + 0.4 * s["semantic"] + 0.3 * s["thompson"]
    )
    assert s["final"] == pytest.approx(s["combined"] + s["diversity_bonus"])


def test_unknown_weights_are_refused() -> None:
    with pytest.raises(InvalidSettings, match="weights"):
        HybridSelector(weights={"beauty": 1.0})


@pytest.mark.parametrize("seed", [0, 7, 2**32, 2**70 + 1])
def test_the_draws_of_a_decision_are_those_of_a_plain_generator(seed: int) -> None:
    digest = hashlib.blake2b(b"d1", digest_size=8).digest()
    plain = np.random.default_rng([seed, int.from_bytes(digest, "big")])
    playbook = BulletPlaybook()
    ids = [with_record(playbook, content, i, 4 - i) for i, content in enumerate(RELEVANT)]
    selector = HybridSelector(0.0, seed=seed)
    _, scores = selector.select_bullets(QUERY, NODE, playbook, 5, decision_id="d1")
    drawn = [scores[bullet_id]["thompson"] for bullet_id in ids]
    assert drawn == plain.beta(np.arange(1, 6), np.arange(5, 0, -1)).round(6).tolist()
