"""The task of a playbook after rows that have more columns than it knows."""

from acegraph.graph import TrainingPipeline
from acegraph.state import BulletPlaybook


def test_a_second_amount_is_a_number_like_others() -> None:
    playbook = BulletPlaybook()
    for names in (["amount"], ["amount", "amt"]):
        rows = [
            {"id": str(i), "query": {"hour": 5, **dict.fromkeys(names, 20.5 + i)}, "answer": answer}
            for i, answer in enumerate(["APPROVE", "DECLINE"] * 20)
        ]
        TrainingPipeline(playbook).train_offline(rows)
    roles = {one.name: one.role for one in playbook.task().fields}
    assert roles == {"hour": "", "amount": "amount", "amt": ""}
