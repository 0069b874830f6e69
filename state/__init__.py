"""What is known: transactions, conditions, bullets, the playbook and its ledger, and what flows.

Imports nothing of the other two rooms. What takes time to load (the database, LangGraph's types) is
imported when it is first asked for: who has no use for it need not wait.
"""

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
    # There is one purge, and it learns again: it lives in the graph room.
    "graph.operations.purge": "purge",
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

__all__ = [
    "APPROVE",
    "DECLINE",
    "AceContext",
    "AceError",
    "AceInput",
    "AceOutput",
    "AceState",
    "BudgetSpent",
    "Bullet",
    "BulletPlaybook",
    "Case",
    "CaseTable",
    "CheckpointRefused",
    "Clock",
    "Comparison",
    "Condition",
    "ConditionForm",
    "DecisionConflict",
    "DecisionForm",
    "DecisionRecord",
    "Difference",
    "Durability",
    "Erased",
    "Fields",
    "Form",
    "InvalidAnswer",
    "InvalidCondition",
    "InvalidDataset",
    "InvalidInput",
    "InvalidSettings",
    "InvalidTransaction",
    "Label",
    "Mode",
    "ModelAnswerInvalid",
    "ModelError",
    "ModelRefused",
    "ModelUnavailable",
    "PlaybookError",
    "PrunedDecision",
    "Purged",
    "Recorded",
    "ReflectionForm",
    "Scalar",
    "Shown",
    "Source",
    "Status",
    "Transaction",
    "UnknownBullet",
    "UnknownDecision",
    "Verdict",
    "VerdictForm",
    "View",
    "Weights",
    "WriteConflict",
    "as_of",
    "as_utc",
    "back_up",
    "bullets_at",
    "clean_text",
    "diff",
    "erase",
    "other",
    "parse_condition",
    "parse_verdict",
    "prune",
    "rollback",
    "verify",
]
