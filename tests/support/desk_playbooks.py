"""Playbooks to show on the desk: that of the demo, with decisions, labels and what waits."""

import sys

from acegraph.graph.data.files import as_items
from acegraph.graph.data.synthetic import generate_transactions
from acegraph.graph.operations.decide import decide_many
from acegraph.graph.training.pipeline import TrainingPipeline
from acegraph.nodes.curator.curator import Curator
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.maintenance.people.users import ROLES, add_user

NODE = "fraud_detection"


def demo_playbook(book: BulletPlaybook, train: int = 400, test: int = 600) -> None:
    """The playbook of the demo: learned from history, then from a stream; some payments wait."""
    pipeline = TrainingPipeline(book)
    pipeline.train_offline(as_items(generate_transactions(train, seed=1000)))
    pipeline.train_online(as_items(generate_transactions(test, seed=2000)))
    waiting = as_items(generate_transactions(40, seed=3000))
    decide_many(
        book,
        [
            {"transaction": item["query"], "decision_id": f"new-{n}"}
            for n, item in enumerate(waiting)
        ],
        AceContext(policy={"explore": 0.5}),
    )
    rule = "DECLINE when new_device is true and vpn is true"
    # A person may propose what no case proves.
    curator = Curator(gate="off").awaiting_approval()
    proposal = curator.curate(rule, NODE, book, origin={"author": "ann"})
    assert proposal.bullet_id, proposal.reason


def add_people(url: str) -> dict[str, str]:
    """A user of each role, and two more approvers, with their tokens."""
    with BulletPlaybook(url) as book:
        names = {**{role: role for role in ROLES}, "ann": "approver", "bob": "approver"}
        return {n: f"{n}.{add_user(book.database, n, r)}" for n, r in names.items()}  # type: ignore[arg-type]


if __name__ == "__main__":
    with BulletPlaybook(sys.argv[1]) as playbook:
        demo_playbook(playbook)
    for name, token in add_people(sys.argv[1]).items():
        print(name, token)
