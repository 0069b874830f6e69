"""What is known: transactions, bullets, the playbook and its ledger, and the state of a run.

It imports nothing of `nodes` and `graph`. Names that take time to load (the database, the types of
LangGraph) are imported when they are first used.
"""

import logging
from typing import TYPE_CHECKING

from acegraph.state.errors import (
    AceError,
    BudgetSpent,
    CheckpointRefused,
    DecisionConflict,
    InvalidAnswer,
    InvalidCondition,
    InvalidDataset,
    InvalidInput,
    InvalidSettings,
    InvalidTransaction,
    ModelAnswerInvalid,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    PlaybookError,
    PrunedDecision,
    UnknownBullet,
    UnknownDecision,
    WriteConflict,
)
from acegraph.state.lazy import later
from acegraph.state.playbook.index import View
from acegraph.state.values.bullet import Bullet, Source, Status
from acegraph.state.values.cases import Case, CaseTable
from acegraph.state.values.condition import Comparison, Condition, parse_condition
from acegraph.state.values.decision import Clock, DecisionRecord, Label, Recorded, Shown
from acegraph.state.values.times import as_utc
from acegraph.state.values.transaction import Fields, Scalar, Transaction, clean_text
from acegraph.state.values.verdict import APPROVE, DECLINE, Verdict, other, parse_verdict

if TYPE_CHECKING:
    from acegraph.state.database.base import Durability
    from acegraph.state.maintenance.as_of import as_of
    from acegraph.state.maintenance.backup import back_up
    from acegraph.state.maintenance.erase import Erased, erase
    from acegraph.state.maintenance.label_withdrawal import Purged
    from acegraph.state.maintenance.prune import prune
    from acegraph.state.maintenance.verify import verify
    from acegraph.state.maintenance.versions import Difference, bullets_at, diff, rollback
    from acegraph.state.playbook.playbook import BulletPlaybook
    from acegraph.state.run.context import AceContext, Mode, Weights
    from acegraph.state.run.model_forms import (
        ConditionForm,
        DecisionForm,
        Form,
        ReflectionForm,
        VerdictForm,
    )
    from acegraph.state.run.schema import AceInput, AceOutput, AceState

_HOMES = {
    # A purge also learns again from the remaining labels, so its place is in `graph`.
    "graph.operations.learning.purge": "purge",
    "state.database.base": "Durability",
    "state.maintenance.as_of": "as_of",
    "state.maintenance.backup": "back_up",
    "state.maintenance.erase": "Erased erase",
    "state.maintenance.label_withdrawal": "Purged",
    "state.maintenance.prune": "prune",
    "state.maintenance.verify": "verify",
    "state.maintenance.versions": "Difference bullets_at diff rollback",
    "state.playbook.playbook": "BulletPlaybook",
    "state.run.context": "AceContext Mode Weights",
    "state.run.model_forms": "ConditionForm DecisionForm Form ReflectionForm VerdictForm",
    "state.run.schema": "AceInput AceOutput AceState",
}
__getattr__ = later(__name__, _HOMES)
# Silent unless the host listens; every room imports this one.
logging.getLogger("acegraph").addHandler(logging.NullHandler())

__all__ = ["APPROVE", "DECLINE", "Verdict", "other", "parse_verdict"]
__all__ += ["Fields", "Scalar", "Transaction", "as_utc", "clean_text"]
__all__ += ["Bullet", "Case", "CaseTable", "Comparison", "Condition", "Source", "Status"]
__all__ += ["Clock", "DecisionRecord", "Label", "Recorded", "Shown", "parse_condition"]
__all__ += ["AceContext", "AceInput", "AceOutput", "AceState", "Mode", "Weights"]
__all__ += ["ConditionForm", "DecisionForm", "Form", "ReflectionForm", "VerdictForm"]
__all__ += ["BulletPlaybook", "Difference", "Durability", "Erased", "Purged", "View"]
__all__ += ["as_of", "back_up", "bullets_at", "diff", "erase", "prune", "rollback", "verify"]
__all__ += ["AceError", "CheckpointRefused", "DecisionConflict", "PlaybookError", "PrunedDecision"]
__all__ += ["UnknownBullet", "UnknownDecision", "WriteConflict"]
__all__ += ["InvalidAnswer", "InvalidCondition", "InvalidDataset", "InvalidInput"]
__all__ += ["InvalidSettings", "InvalidTransaction"]
__all__ += ["BudgetSpent", "ModelAnswerInvalid", "ModelError", "ModelRefused", "ModelUnavailable"]
