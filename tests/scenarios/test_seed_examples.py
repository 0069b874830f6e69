"""The examples of the document in which ACE was first described, as written there."""

import json
from pathlib import Path

import pytest

from acegraph.graph import generate_transactions, load_dataset
from acegraph.nodes import Curator, HybridSelector, Reflector, SimpleFraudAgent, SimpleJudge
from acegraph.state import BulletPlaybook


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
async def test_the_examples_run_and_do_something(tmp_path: Path, seed: int) -> None:
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps([e.item() for e in generate_transactions(200, seed=seed)]))

    train_set = load_dataset(cases)
    playbook, reflector, curator = BulletPlaybook(), Reflector(), Curator()
    for item in train_set:
        bullet = await reflector.reflect(
            query=item["query"],
            predicted=item["answer"],
            correct=item["answer"],
            node="fraud_detection",
        )
        if bullet:
            curator.merge_bullet(
                content=bullet["new_bullet"],
                node="fraud_detection",
                playbook=playbook,
                source="offline",
            )
    assert len(playbook) >= 3

    selector = HybridSelector(
        quality_threshold=0.3,
        semantic_threshold=0.5,
        diversity_weight=0.15,
        weights={"quality": 0.3, "semantic": 0.4, "thompson": 0.3},
    )
    bullets, scores = selector.select_bullets(
        query="Transaction: User 'john' attempts $2500 purchase...",
        node="fraud_detection",
        playbook=playbook,
        n_bullets=5,
        source="offline",
    )
    assert set(scores) == {b.id for b in bullets}

    judge, changed, selected = SimpleJudge(), 0, 0
    for example in generate_transactions(60, seed=seed + 50):
        transaction, ground_truth = example.query, example.answer
        bullets, scores = selector.select_bullets(
            query=transaction, node="fraud_detection", playbook=playbook, n_bullets=5
        )
        agent = SimpleFraudAgent(bullets=[b.content for b in bullets])
        decision = agent.analyze(transaction)
        is_correct, _confidence = await judge.judge(
            input_text=transaction, output=decision, ground_truth=ground_truth
        )
        if not is_correct:
            bullet = await reflector.reflect(
                query=transaction, predicted=decision, correct=ground_truth, node="fraud_detection"
            )
            if bullet:
                curator.merge_bullet(
                    content=bullet["new_bullet"],
                    node="fraud_detection",
                    playbook=playbook,
                    source="online",
                )
        selected += bool(bullets)
        changed += decision != SimpleFraudAgent().analyze(transaction)
    assert selected > 0
    assert changed > 0
