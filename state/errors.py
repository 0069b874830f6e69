"""The errors that this package raises on purpose; it imports no other module of ours.

Those of one module alone are defined there: `NotAllowed` and `TooMuch` are an AceError.

AceError
├── InvalidInput              the caller's input cannot be used (the command line exits with 2)
│   ├── InvalidTransaction
│   ├── InvalidDataset
│   ├── InvalidSettings
│   ├── InvalidAnswer         a person's answer without its form, or from the wrong person
│   └── InvalidCondition
├── PlaybookError
│   ├── UnknownBullet
│   ├── UnknownDecision
│   │   └── PrunedDecision    `prune` has removed the decision
│   ├── DecisionConflict      one decision id with two different contents
│   ├── OutdatedVersion       another one has set the task or the policy meanwhile
│   └── WriteConflict         two writers collided; trying again may succeed
├── CheckpointRefused         a checkpoint that would have executed code
└── ModelError                a model gave no usable answer; this is never a verdict
    ├── ModelUnavailable      time-out, refused connection, overload, wrong key
    ├── ModelRefused          the model or its content filter declined to answer
    ├── ModelAnswerInvalid    the answer does not have the form that was asked for
    └── BudgetSpent           the model was not asked: the budget of the run is spent

What a caller can mend is a ValueError or a LookupError too: after these LangGraph's retry policy
does not try a node again, and of a ValueError its server shows the message.
"""

from collections.abc import Iterable, Mapping, Sequence

_QUOTED = 60


def quoted(value: object) -> str:
    """A value as an error message may repeat it: not more than 60 characters of it.

    >>> quoted("maybe"), len(quoted("x" * 100_000))
    ("'maybe'", 65)
    """
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        return f"a {type(value).__name__}"
    return text if len(text) <= _QUOTED + 2 else f"{text[: _QUOTED + 1]}...{text[-1]}"


def some(names: Iterable[str], most: int = 8) -> str:
    """The first of some names, and how many more there are.

    >>> some(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


class AceError(Exception):
    """The base of all errors; a message says what was wanted, what was found, what to do."""


class InvalidInput(AceError, ValueError):
    """The caller's input cannot be used; nothing was written."""


class InvalidTransaction(InvalidInput):
    """A transaction is empty or too large, or contains values that are not data."""

    faults: Sequence[Mapping[str, str]] = ()
    """What is wrong, field by field, where a task says what is wanted."""


class InvalidDataset(InvalidInput):
    """A file, a row or a label of a data set cannot be read."""


class InvalidSettings(InvalidInput):
    """A setting is outside its range, or needs something that is missing."""


class InvalidAnswer(InvalidInput):
    """A person's answer does not have its form, or this person may not give it."""


class InvalidCondition(InvalidInput):
    """A text or a mapping is not a condition."""


class PlaybookError(AceError):
    """The playbook cannot do what was asked."""


class UnknownBullet(PlaybookError, LookupError):
    """No bullet has this id."""


class UnknownDecision(PlaybookError, LookupError):
    """No decision has this id."""


class DecisionConflict(PlaybookError, ValueError):
    """A decision id came back with another transaction or another answer."""


class PrunedDecision(UnknownDecision):
    """The decision was pruned: it can be neither judged nor replayed."""


class OutdatedVersion(PlaybookError, ValueError):
    """A task or a policy was set by another one since it was read; nothing was changed."""


class WriteConflict(PlaybookError):
    """The database gave up this database transaction in favour of another one."""


class CheckpointRefused(AceError, ValueError):
    """A checkpoint names a class or function that no state of a run holds; nothing was called."""


class ModelError(AceError):
    """A model gave no usable answer."""


class ModelUnavailable(ModelError):
    """The model could not be reached or did not answer in time."""


class ModelRefused(ModelError):
    """The model, or a filter in front of it, declined to answer."""


class ModelAnswerInvalid(ModelError):
    """The answer of the model does not have the form that was asked for."""


class BudgetSpent(ModelError):
    """The model was not asked, because the budget of the run is spent."""
