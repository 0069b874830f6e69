"""What is known: transactions, bullets, the playbook and its ledger, and the state of a run.

It imports nothing of `nodes` and `graph`. A name is imported when it is first used; what only the
package itself needs, and the types of what is returned, are imported from their modules.
"""

import logging
from typing import TYPE_CHECKING

from acegraph.state.errors import (
    AceError,
    BudgetSpent,
    CheckpointRefused,
    DecisionConflict,
    InvalidCondition,
    InvalidDataset,
    InvalidInput,
    InvalidSettings,
    InvalidTransaction,
    ModelError,
    ModelUnavailable,
    PlaybookError,
    UnknownBullet,
    UnknownDecision,
    WriteConflict,
)
from acegraph.state.lazy import later

if TYPE_CHECKING:
    from acegraph.state.maintenance.as_of import as_of
    from acegraph.state.maintenance.backup import back_up
    from acegraph.state.maintenance.erase import erase
    from acegraph.state.maintenance.prune import prune
    from acegraph.state.maintenance.verify import verify
    from acegraph.state.maintenance.versions import diff, rollback
    from acegraph.state.playbook.playbook import BulletPlaybook
    from acegraph.state.run.context import AceContext
    from acegraph.state.run.schema import AceInput, AceOutput, AceState
    from acegraph.state.task.field import Field
    from acegraph.state.task.policy import Policy
    from acegraph.state.task.task import Task
    from acegraph.state.values.bullet import Bullet
    from acegraph.state.values.cases import Case
    from acegraph.state.values.condition import Condition, parse_condition
    from acegraph.state.values.decision import Label
    from acegraph.state.values.transaction import Transaction
    from acegraph.state.values.verdict import APPROVE, DECLINE

__getattr__, __dir__ = later(__name__)
# Silent unless the host listens; every room imports this one.
logging.getLogger("acegraph").addHandler(logging.NullHandler())

__all__ = [
    "APPROVE", "DECLINE", "AceContext", "AceError", "AceInput", "AceOutput", "AceState",
    "BudgetSpent", "Bullet", "BulletPlaybook", "Case", "CheckpointRefused", "Condition",
    "DecisionConflict", "Field", "InvalidCondition", "InvalidDataset", "InvalidInput",
    "InvalidSettings", "InvalidTransaction", "Label", "ModelError", "ModelUnavailable",
    "PlaybookError", "Policy", "Task", "Transaction", "UnknownBullet",
    "UnknownDecision", "WriteConflict", "as_of", "back_up", "diff", "erase", "parse_condition",
    "prune", "rollback", "verify",
]  # fmt: skip
