"""What a caller gave, in the words of a task, and what is in doubt.

Fields fit the task or they do not (state/task). A sentence is read by the reader that the task
names, else it is the field `text`. Everything after this sees canonical values only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import is_
from typing import Final

from acegraph.state import InvalidTransaction
from acegraph.state.errors import some
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.growth import grown
from acegraph.state.task.task import Fitted, Task
from acegraph.state.values import (
    SENTENCE,
    Bullet,
    CaseTable,
    Fields,
    Transaction,
    is_derived,
    is_observed,
    render_fields,
)
from acegraph.state.values.plain import fold

_UNCLEAR: Final = "may be another number: write it as 9000 or 9,000"


@dataclass(frozen=True)
class Understood:
    """A transaction in the words of a task, with what is in doubt."""

    transaction: Transaction
    fields: Fields
    """What is kept: the fields that rules test and, where the task grows, also all others."""
    doubts: Mapping[str, str] = field(default_factory=dict)
    """The fields that were not understood, and why; never their values."""
    overlooked: tuple[str, ...] = ()
    """The keys that were given and are no field of the task, where it ignores them."""
    task: Task = CARD_PAYMENTS
    sighting_columns: Mapping[str, str] = field(default_factory=dict)
    """The fields from which later payments see it, by what they hold; else empty."""


def read_fields(transaction: Transaction) -> Fields:
    """The fields of a transaction: those of its mapping as they are, or what its text states.

    >>> read_fields(Transaction.of("User pays $2,500 at 3 AM via VPN, account is 2 days old"))
    {'amount': 2500.0, 'hour': 3, 'account_age_days': 2.0, 'vpn': True}
    """
    if transaction.fields:
        return dict(transaction.fields)
    from acegraph.nodes.text.reader import read_whole  # only sentences need it

    return dict(read_whole(transaction.text))


def fields_to_test(transaction: Transaction) -> Fields:
    """The fields that conditions test: those that are read, and a text itself as `text`."""
    if transaction.fields:
        return dict(transaction.fields)
    return {**read_fields(transaction), SENTENCE: transaction.text}


def understand_given(transaction: Transaction, task: Task) -> Understood:
    """A transaction as a task reads it.

    >>> from acegraph.state.task.card_payments import CARD_PAYMENTS
    >>> understood = understand_given(Transaction.of("pays $20 at 2 PM"), CARD_PAYMENTS)
    >>> understood.fields
    {'amount': 20.0, 'hour': 14, 'text': 'pays $20 at 2 PM'}
    """
    if not transaction.fields:
        return _of_text(transaction, task)
    given: Fields = {}
    ours: Fields = {}
    for name, value in transaction.fields.items():
        if fold(name) not in task.folded_part_names or task.field_of(name):
            (ours if is_derived(name) or is_observed(name) else given)[name] = value
    fitted = task.fit(given)
    if task.unknown == "refuse" and fitted.unknown:
        raise _refused(fitted, task)
    fields = fitted.fields | ours | (fitted.unknown if task.unknown == "grow" else {})
    came = transaction.fields
    if came.keys() != fields.keys() or not all(map(is_, came.values(), fields.values())):
        text = render_fields(fields) or transaction.text
        transaction = replace(transaction, text=text, fields=fields)
    overlooked = fitted.unknown if task.unknown == "ignore" else ()
    return Understood(transaction, fields, fitted.doubts if fitted.misfits else {}, (*overlooked,))


def understand_alone(given: object, bullets: Iterable[Bullet] = ()) -> Transaction:
    """A transaction where no playbook tells the task: the shipped one, and what bullets test.

    >>> understand_alone({"Amount": "40.00", "vpn": 1}).text
    'amount: 40.0; vpn: true'
    """
    conditions = (bullet.condition for bullet in bullets if bullet.condition)
    tests = [test for condition in conditions for test in condition.spelled]
    task = grown(CARD_PAYMENTS, CaseTable(), tests)
    return understand_given(Transaction.of(given), task).transaction


def _of_text(transaction: Transaction, task: Task) -> Understood:
    """A sentence; only what its reader found is a field."""
    if not task.reader:
        fields: Fields = {SENTENCE: transaction.text}
        return Understood(replace(transaction, fields=fields), fields)
    from acegraph.nodes.text.reader import amount_is_unclear

    read = {**read_fields(transaction), SENTENCE: transaction.text}
    fitted = task.fit(read)
    fields = {name: value for name, value in fitted.fields.items() if name in read}
    fields |= fitted.unknown if task.unknown == "grow" else {}
    fields[SENTENCE] = transaction.text
    doubts = fitted.doubts
    amount = task.of_role("amount")
    if amount and amount_is_unclear(transaction.text):
        doubts[amount.name] = _UNCLEAR
    return Understood(transaction, fields, doubts)


def _refused(fitted: Fitted, task: Task) -> InvalidTransaction:
    """The error about keys that no field has; it names all other faults, too."""
    error = InvalidTransaction(f"no field of the task: {some(sorted(fitted.unknown))}")
    wanted = f"one of {some(sorted(task.by_name))}"
    unknown = [{"field": n, "why": "unknown", "wanted": wanted} for n in fitted.unknown]
    misfits = [{"field": m.field, "why": m.why, "wanted": m.wanted} for m in fitted.misfits]
    error.faults = [*unknown, *misfits]
    return error
