"""A playbook whose task does not store some fields."""

from collections.abc import Iterable
from dataclasses import replace

from acegraph.state import BulletPlaybook


def hiding(
    names: Iterable[str], playbook: BulletPlaybook | None = None, node: str = "fraud_detection"
) -> BulletPlaybook:
    """The playbook, a new one unless it is given, with these fields and no others hidden."""
    playbook = BulletPlaybook() if playbook is None else playbook
    task = playbook.task(node)
    fields = tuple(replace(one, stored=True) for one in task.fields)
    playbook.set_task(replace(task, fields=fields).hiding(names), node)
    return playbook
