"""Every error this package raises on purpose. It knows nothing of models, databases or graphs.

AceError
├── InvalidInput              what the caller gave cannot be used (the command line exits with 2)
│   ├── InvalidTransaction
│   ├── InvalidDataset
│   ├── InvalidSettings
│   ├── InvalidAnswer         a person's answer that lacks something, or is not theirs to give
│   └── InvalidCondition
├── PlaybookError
│   ├── UnknownBullet
│   ├── UnknownDecision
│   ├── PrunedDecision        it was here, and retention has removed it
│   ├── DecisionConflict      one decision id, two different contents
│   └── WriteConflict         two writers in each other's way; trying again may succeed
├── CheckpointRefused         a checkpoint that would have executed code
└── ModelError                a model gave nothing that can be used; never a verdict
    ├── ModelUnavailable      time-out, refused connection, overload, wrong key
    ├── ModelRefused          the model or its content filter declined to answer
    ├── ModelAnswerInvalid    an answer came, but not one of the form asked for
    └── BudgetSpent           the model was not asked: the run may spend no more
"""


class AceError(Exception):
    """The root of the family: says what was wanted, what was found, what to do."""


class InvalidInput(AceError, ValueError):
    """What the caller gave cannot be used; nothing was written."""


class InvalidTransaction(InvalidInput):
    """A transaction that is empty, too large, or holds values that are not data."""


class InvalidDataset(InvalidInput):
    """A data set whose file, row or label cannot be read."""


class InvalidSettings(InvalidInput):
    """A setting with a value outside its range, or one that needs something that is missing."""


class InvalidAnswer(InvalidInput):
    """A person's answer that does not have its form, or that this person may not give."""


class InvalidCondition(InvalidInput):
    """A text or mapping that is not a condition."""


class PlaybookError(AceError):
    """The playbook cannot do what was asked."""


class UnknownBullet(PlaybookError, LookupError):
    """No bullet has this id."""


class UnknownDecision(PlaybookError, LookupError):
    """No decision has this id."""


class DecisionConflict(PlaybookError):
    """A decision id came back with another transaction or another answer."""


class PrunedDecision(UnknownDecision):
    """The decision was removed by retention: it can be neither judged nor replayed."""


class WriteConflict(PlaybookError):
    """The database gave this transaction up in favour of another one."""


class CheckpointRefused(AceError):
    """A checkpoint that names something to call which no state of ours holds; nothing was built."""


class ModelError(AceError):
    """A model gave nothing that can be used."""


class ModelUnavailable(ModelError):
    """The model could not be reached or did not answer in time."""


class ModelRefused(ModelError):
    """The model, or a filter in front of it, declined to answer."""


class ModelAnswerInvalid(ModelError):
    """The model's answer does not have the form it was asked for."""


class BudgetSpent(ModelError):
    """The model was not asked, because the budget of the run is spent."""
