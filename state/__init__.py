"""What is known: transactions, conditions, bullets, the playbook and its ledger, and what flows.

Imports nothing of the other two rooms. What takes time to load (the database, LangGraph's types) is
imported when it is first asked for: who has no use for it need not wait.
"""

from typing import TYPE_CHECKING

from acegraph.state.bullet import Bullet, Source, Status
from acegraph.state.cases import Case, CaseTable
from acegraph.state.condition import Comparison, Condition, parse_condition
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
from acegraph.state.formats import as_utc
from acegraph.state.index import View
from acegraph.state.later import later
from acegraph.state.records import Clock, DecisionRecord, Label, Recorded, Shown
from acegraph.state.transaction import Fields, Scalar, Transaction, clean_text
from acegraph.state.verdict import APPROVE, DECLINE, Verdict, other, parse_verdict

if TYPE_CHECKING:
    from acegraph.state.audit import verify
    from acegraph.state.copying import back_up
    from acegraph.state.database import Durability
    from acegraph.state.erasure import Erased, erase
    from acegraph.state.flow import AceContext, AceInput, AceOutput, AceState, Mode, Weights
    from acegraph.state.forms import ConditionForm, DecisionForm, Form, ReflectionForm, VerdictForm
    from acegraph.state.past import as_of
    from acegraph.state.playbook import BulletPlaybook
    from acegraph.state.retention import prune
    from acegraph.state.versions import Difference, Purged, bullets_at, diff, purge, rollback

_HOME = {
    "forms": ("ConditionForm", "DecisionForm", "Form", "ReflectionForm", "VerdictForm"),
    "flow": ("AceContext", "AceInput", "AceOutput", "AceState", "Mode", "Weights"),
    "audit": ("verify",),
    "copying": ("back_up",),
    "database": ("Durability",),
    "erasure": ("Erased", "erase"),
    "past": ("as_of",),
    "playbook": ("BulletPlaybook",),
    "retention": ("prune",),
    "versions": ("Difference", "Purged", "bullets_at", "diff", "purge", "rollback"),
}
__getattr__ = later(__name__, _HOME)

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
    "purge",
    "rollback",
    "verify",
]
