"""What is known: transactions, conditions, bullets, the playbook and its ledger, and what flows.

Imports nothing of the other two rooms.
"""

from acegraph.state.bullet import Bullet, Source, Status
from acegraph.state.cases import Case, CaseTable
from acegraph.state.condition import Comparison, Condition, parse_condition
from acegraph.state.errors import (
    AceError,
    BudgetSpent,
    DecisionConflict,
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
    UnknownBullet,
    UnknownDecision,
)
from acegraph.state.flow import AceContext, AceInput, AceOutput, AceState, Mode, Weights
from acegraph.state.forms import ConditionForm, DecisionForm, Form, ReflectionForm, VerdictForm
from acegraph.state.ledger import DecisionRecord, Label, Recorded, Shown
from acegraph.state.playbook import BulletPlaybook
from acegraph.state.transaction import Fields, Scalar, Transaction, clean_text
from acegraph.state.verdict import APPROVE, DECLINE, Verdict, other, parse_verdict

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
    "Comparison",
    "Condition",
    "ConditionForm",
    "DecisionConflict",
    "DecisionForm",
    "DecisionRecord",
    "Fields",
    "Form",
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
    "Weights",
    "clean_text",
    "other",
    "parse_condition",
    "parse_verdict",
]
