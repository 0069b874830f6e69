"""Screening: the safety checks that a proposed heuristic must pass before it may act.

Form, identifiers, and support by several customers and merchants. What a condition tests and which
cases support it counts. No check reads prose for what it means: prose waits for a trial or a
person. A reason never repeats a value. The backtest is in proof.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from acegraph.nodes.curator import identity
from acegraph.nodes.evidence.backtest import chance, tally
from acegraph.nodes.evidence.columns.entities import case_shares, of_largest, parties, spread
from acegraph.nodes.evidence.columns.learnable_fields import CAN_TELL, is_protected, names_somebody
from acegraph.nodes.evidence.columns.phrases import is_name
from acegraph.nodes.evidence.residuals import Mask
from acegraph.nodes.text.category_words import is_category, is_field_name
from acegraph.nodes.text.lookalikes import personal_data, skeleton
from acegraph.nodes.text.understand import read_fields
from acegraph.state import UnknownDecision
from acegraph.state.values import (
    APPROVE,
    MAX_CONTENT,
    MENTIONS,
    Bullet,
    CaseTable,
    Comparison,
    Condition,
    Fields,
    Transaction,
    clean_text,
    parse_condition,
)

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook

MAX_LENGTH: Final = 400
_SURE: Final = 0.01
"""A rule that one party bears out most must do better on the others' cases than chance so often."""
_LINK = re.compile(
    r"://|\bwww\.|\b[\w-]+\.(?:com|net|org|io|ru|cn|info|biz|xyz|top|de|uk|app|dev|me)\b"
)
_LETTER_BY_DIGIT = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


@dataclass(frozen=True)
class Objection:
    """Why a proposal may not act."""

    reason: str
    held: bool = False
    """Whether the proposal waits for a person instead of being refused."""


def _held(reason: str) -> Objection:
    return Objection(reason, held=True)


@dataclass(frozen=True)
class Proposal:
    """A proposed heuristic, and where it came from."""

    content: str
    condition: Condition | None = None
    table: CaseTable = field(default_factory=CaseTable)
    """The labelled cases on which it can be tested."""
    transaction: Transaction | None = None
    """The transaction that it was drawn from, if one is known."""
    label: str | None = None
    """The right answer of that transaction."""
    decision: str = ""
    """The id of the decision on that transaction."""

    @cached_property
    def text(self) -> str:
        """The content in plain letters and separate words: see `skeleton`."""
        return skeleton(self.content).replace("_", " ")

    @property
    def transaction_fields(self) -> Fields:
        """The fields of the transaction that it was drawn from."""
        return read_fields(self.transaction) if self.transaction else {}


@dataclass(frozen=True)
class Screening:
    """The safety checks; a pair holds the figure for what raises risk, then for what lowers it."""

    min_entities: tuple[int, int] = (3, 5)
    """How many distinct customers and merchants must support a rule with labelled cases."""
    max_share: tuple[float, float] = (0.5, 0.34)
    """The largest share of the support that may come from one of them."""

    def __call__(self, proposal: Proposal) -> Objection | None:
        """The objection of the first check that fails; None if all pass."""
        checks = (_form, _identifiers, self._seen, self._support, _direction)
        return next(filter(None, (check(proposal) for check in checks)), None)

    def _seen(self, proposal: Proposal) -> Objection | None:
        """Several labelled cases, of several customers, have each word that a condition tests.

        Also after "is not": a word that one customer made up excludes nothing.
        """
        tests = proposal.condition.spelled if proposal.condition else ()
        table, needed = proposal.table, self.min_entities[0]
        if len(table) < CAN_TELL:
            return None
        entities = parties(table)
        for test in (test for test in tests if isinstance(test.value, str)):
            is_phrase = test.op == MENTIONS
            rows = Comparison(test.field, MENTIONS if is_phrase else "is", test.value).holds_over(
                table
            )
            counts = [int(rows.sum())] + [
                distinct
                for distinct, _ in (spread(name, table, rows) for name in entities)
                if distinct > 1 or len(entities) == 1
            ]
            if min(counts) < needed:
                return _held(f"too few cases or customers have the word it tests {test.field} for")
        return None

    def _support(self, proposal: Proposal) -> Objection | None:
        """Several customers and merchants must support it, if the cases say who they are."""
        condition = proposal.condition
        if condition is None:
            return None
        names = {*proposal.table.field_names, *proposal.transaction_fields}
        entities = {name for name in names if names_somebody(name, proposal.table)}
        lowers = condition.verdict == APPROVE
        needed, cap = self.min_entities[lowers], self.max_share[lowers]
        supports = proposal.table.labelled(condition.verdict)
        supports = supports & condition.holds_over(proposal.table)
        for name in sorted(entities):
            distinct, share = spread(name, proposal.table, supports)
            if distinct == 1 and _is_constant(name, entities, proposal.table):
                continue
            if distinct < needed:
                return _held(f"borne out by {distinct} distinct {name}; {needed} wanted")
            if share > cap and not _stands_without(condition, proposal.table, name, supports):
                return _held(
                    f"{share:.0%} of its support is one {name}, and without it chance does as well"
                )
        return None


def _stands_without(condition: Condition, table: CaseTable, name: str, rows: Mask) -> bool:
    """Whether a rule is better than chance on the cases of all but whoever has most of some."""
    others = ~of_largest(name, table, rows)
    fired, agreeing = condition.holds_over(table), table.labelled(condition.verdict)
    told = tally(fired[others], agreeing[others], case_shares(table)[others])
    return chance(*told) <= _SURE


def proposal_of(draft: Bullet, playbook: BulletPlaybook) -> Proposal:
    """A drafted bullet with the transaction that it was drawn from, as the ledger has it."""
    origin, transaction = draft.origin, None
    if decision_id := str(origin.get("decision") or ""):
        # A bullet carried here from elsewhere names a decision that is not in this ledger.
        with suppress(UnknownDecision):
            stored = playbook.decision(decision_id)
            transaction = Transaction(stored["text"], stored["fields"])
    table, label = playbook.cases(draft.node), str(origin.get("label") or "") or None
    return Proposal(draft.content, draft.condition, table, transaction, label, decision_id)


def _form(proposal: Proposal) -> Objection | None:
    """The text is short, and its condition tests kinds of transactions and agrees with it."""
    in_text = parse_condition(proposal.content)
    most = MAX_CONTENT if in_text and in_text.graded else MAX_LENGTH
    if not 3 <= len(clean_text(proposal.content)) <= most:
        return Objection(f"a heuristic has 3 to {most} characters")
    if in_text and proposal.condition and not in_text.same_as(proposal.condition):
        return Objection("its text and its condition say different things")
    return _fields(proposal, proposal.condition) if proposal.condition else None


def _fields(proposal: Proposal, condition: Condition) -> Objection | None:
    """A condition tests only fields that exist and describe a kind of transaction."""
    if not all(map(is_field_name, condition.fields)):
        return Objection("its condition names what no column is called")
    if objection := _values(proposal, condition):
        return objection
    names = _known_fields(proposal)
    can_tell = len(proposal.table) > 0 or proposal.transaction is not None
    for test in condition.spelled:
        name = test.field
        if can_tell and name not in names:
            return _held("its condition is over a field that no known transaction has")
        if is_protected(name, proposal.table):
            return _held(f"its condition is over {name}, which is protected")
        if test.op == MENTIONS:
            if not proposal.table.is_text(name):
                return Objection(f"'mentions' asks for words of a free text, which {name} is not")
            continue
        is_flag = isinstance(test.value, bool)
        if not is_flag and identity.is_identifying(name, proposal.table, test.value):
            return Objection(
                f"its condition is over {name}, which tells who it is, not of what kind"
            )
    return None


def _known_fields(proposal: Proposal) -> set[str]:
    return {*proposal.table.field_names, *proposal.transaction_fields}


def _values(proposal: Proposal, condition: Condition) -> Objection | None:
    """The values of a condition are categories, not sentences."""
    words = [test.value for test in condition.spelled if isinstance(test.value, str)]
    links = (_LINK.search(word.casefold()) for word in _free_words(proposal, condition))
    if not all(map(is_category, words)) or any(links):
        return Objection("its condition compares with text that is no category")
    return None


def _free_words(proposal: Proposal, condition: Condition) -> Iterator[str]:
    """The parts of a condition that could say anything: values, and names of unknown fields."""
    names = _known_fields(proposal)
    for test in condition.spelled:
        if test.field not in names:
            yield test.field
        if isinstance(test.value, str) and not identity.is_domain(test, proposal.table):
            yield test.value
        if isinstance(test.value, int | float) and not identity.is_bound(test, proposal.table):
            yield str(test.value)


def _identifiers(proposal: Proposal) -> Objection | None:
    """Nothing in it tells who a person or a merchant is."""
    in_text, table = parse_condition(proposal.content), proposal.table
    condition = proposal.condition or in_text
    texts = [] if in_text else [proposal.text]
    if condition:
        texts += [skeleton(word) for word in _free_words(proposal, condition)]
        # Letters and digits apart are no token: a field may be called transactionsLast24h.
        texts += [skeleton(_LETTER_BY_DIGIT.sub(" ", name)) for name in condition.fields]
    if kind := next(filter(None, map(personal_data, texts)), None):
        return Objection(f"it contains {kind}")
    tests = condition.spelled if condition else ()
    if any(c.op == MENTIONS and is_name(str(c.value), c.field, table) for c in tests):
        return Objection("it asks for a name")
    values = [c.value for c in tests if c.op != MENTIONS]
    for name in table.field_names:
        column = table.column(name) if identity.is_identifying(name, table) else None
        if column and any(isinstance(v, str) and column.equals(v).any() for v in values):
            return Objection(f"it contains a value of {name}")
    if proposal.transaction is None:
        return None
    phrases = [skeleton(str(c.value)) for c in tests if c.op == MENTIONS]
    text = " ".join(text for text in texts if text not in phrases)
    for name, value in identity.identifying_values(proposal.transaction, table):
        if identity.copied(value, text):
            return Objection(f"it contains what the transaction says in {name}")
    return None


def _direction(proposal: Proposal) -> Objection | None:
    """A rule does not argue against the label that it was learned from."""
    condition, label = proposal.condition, proposal.label
    if condition and label and condition.verdict != label:
        return Objection("it argues against the label of the decision it came from")
    return None


def _is_constant(name: str, entities: set[str], table: CaseTable) -> bool:
    """Whether all cases have one value while others vary: one merchant with its customers."""
    rows = np.ones(len(table), dtype=bool)
    others = (spread(other, table, rows)[0] for other in entities if other != name)
    return spread(name, table, rows)[0] == 1 and any(n > 1 for n in others)
