"""Screening: the safety checks that a proposed heuristic must pass before it may act.

Form, identifiers, support by several customers and merchants, and more for what lowers risk. What
a heuristic is and which cases support it counts, not a list of forbidden words: suspicious wording
only makes it wait for a person. A reason never repeats a value. The backtest is in proof.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from acegraph.nodes.curator import identity
from acegraph.nodes.evidence.columns.entities import is_entity, spread
from acegraph.nodes.evidence.columns.learnable_fields import CAN_TELL
from acegraph.nodes.evidence.columns.phrases import is_name
from acegraph.nodes.text import trade_words
from acegraph.nodes.text.category_words import is_category, is_field_name, is_terse
from acegraph.nodes.text.lookalikes import personal_data, skeleton, words_of
from acegraph.nodes.text.reader import read_fields
from acegraph.state import (
    APPROVE,
    DECLINE,
    Bullet,
    Condition,
    Transaction,
    UnknownDecision,
    parse_condition,
)
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.condition import MENTIONS, Comparison
from acegraph.state.values.memos import is_free_text
from acegraph.state.values.transaction import Fields, clean_text, is_observed

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook

MAX_LENGTH: Final = 400
_MAX_SENTENCES: Final = 3
_TRADE_SHARE: Final = 0.4
_READER_FIELDS: Final = frozenset(
    "amount usual_amount amount_ratio hour weekday account_age_days merchant_rating channel "
    "merchant_category tx_last_hour tx_last_day failed_attempts past_disputes past_purchases "
    "limit_share balance_share distance_km vpn ip_country card_country shipping_country "
    "new_device country_changed address_mismatch new_account verified travel_notice "
    "failed_check rush_shipping disposable_email recent_change "
    "recurring".split()
)
_LINK = re.compile(
    r"://|\bwww\.|\b[\w-]+\.(?:com|net|org|io|ru|cn|info|biz|xyz|top|de|uk|app|dev|me)\b"
)
_MARKUP = re.compile(
    r"</?[a-z!][^<>]*>|`|\*\*|__\w|\]\(|^\s*(?:[#>*|-]|\d+[.)])\s|\{[^}]*\}|\{\{|<\||\|>"
    r"|\[/?inst|###|&\w+;|\\[nux]"
)
_LETTER_BY_DIGIT = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_CODE = re.compile(
    r"\b(?:import|eval|exec|select .+ from|drop table|insert into|def|function|lambda|sudo|curl)\b"
    r".*[(;*/-]|\w\([^)]*\);?|[A-Za-z0-9+/]{28,}={0,2}|\$\w*\{|=>|;\s*--"
)


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

    @property
    def lowers(self) -> bool:
        """Whether it argues for APPROVE; where the text is unclear, its label decides."""
        if self.condition:
            return self.condition.verdict == APPROVE
        direction = trade_words.direction(self.text)
        return direction == "lowers" or (direction == "unclear" and self.label == APPROVE)


@dataclass(frozen=True)
class Screening:
    """The safety checks; a pair holds the figure for what raises risk, then for what lowers it."""

    min_entities: tuple[int, int] = (3, 5)
    """How many distinct customers and merchants must support a rule with labelled cases."""
    max_share: tuple[float, float] = (0.5, 0.34)
    """The largest share of the support that may come from one of them."""

    def __call__(self, proposal: Proposal) -> Objection | None:
        """The objection of the first check that fails; None if all pass."""
        checks = (
            _form,
            _identifiers,
            _observations,
            self._seen,
            self._support,
            _direction,
            _wording,
        )
        return next(filter(None, (check(proposal) for check in checks)), None)

    def _seen(self, proposal: Proposal) -> Objection | None:
        """Several labelled cases, of several customers, have each word that a condition tests.

        Also after "is not": a word that one customer made up excludes nothing.
        """
        tests = proposal.condition.comparisons if proposal.condition else ()
        table, needed = proposal.table, self.min_entities[0]
        if len(table) < CAN_TELL:
            return None
        entities = [n for n in table.field_names if is_entity(n, table)]
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
        names = {*proposal.table.field_names, *proposal.transaction_fields}
        entities = {name for name in names if is_entity(name, proposal.table)}
        if not entities or not (proposal.transaction or proposal.condition):
            return None
        if proposal.condition is None and proposal.lowers:
            return _held("prose that lowers risk, learned from one customer's transaction")
        needed, cap = self.min_entities[proposal.lowers], self.max_share[proposal.lowers]
        verdict = proposal.condition.verdict if proposal.condition else DECLINE
        supports = proposal.table.labelled(verdict)
        if proposal.condition:
            supports = supports & proposal.condition.holds_over(proposal.table)
        for name in sorted(entities):
            distinct, share = spread(name, proposal.table, supports)
            if distinct == 1 and _is_constant(name, entities, proposal.table):
                continue
            if distinct < needed:
                return _held(f"borne out by {distinct} distinct {name}; {needed} wanted")
            if share > cap:
                return _held(f"{share:.0%} of its support is one {name}; at most {cap:.0%}")
        return None


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
    """The text is one short rule about kinds of transactions, and its condition agrees with it."""
    content, text = proposal.content, proposal.text
    in_text = parse_condition(content)
    if not 3 <= len(clean_text(content)) <= MAX_LENGTH:
        return Objection(f"a heuristic has 3 to {MAX_LENGTH} characters")
    if proposal.condition and (objection := _fields(proposal, proposal.condition)):
        return objection
    if in_text and proposal.condition and not in_text.same_as(proposal.condition):
        return Objection("its text and its condition say different things")
    if in_text:  # a condition written as a sentence
        return None
    if proposal.condition and (objection := _agreement(proposal, proposal.condition)):
        return objection
    if "\n" in clean_text(content) or len(re.findall(r"[.!?](?:\s|$)", content)) > _MAX_SENTENCES:
        return Objection("one rule in at most three sentences on one line is wanted")
    for pattern, what in ((_LINK, "a link"), (_MARKUP, "markup"), (_CODE, "code")):
        if pattern.search(text) or pattern.search(clean_text(content)):
            return Objection(f"it contains {what}")
    if any(_mixes_alphabets(word) for word in re.findall(r"[^\W\d_]+", clean_text(content))):
        return Objection("a word mixes letters of several alphabets")
    if trade_words.ORDERS.search(text):
        return Objection("it speaks to whoever reads it instead of about transactions")
    if trade_words.trade_share(text) < _TRADE_SHARE or not trade_words.features_of(text):
        return _held("too little of it is about kinds of transactions, as far as can be read")
    return None


def _agreement(proposal: Proposal, condition: Condition) -> Objection | None:
    """A text beside a condition argues for its verdict, and for nothing else."""
    from acegraph.nodes.text.difference import contradicts

    if contradicts(proposal.content, condition):
        return _held("its text and its condition say different things")
    wanted: trade_words.Direction = "raises" if condition.verdict == DECLINE else "lowers"
    if not trade_words.argues_only_for(wanted, proposal.text):
        return _held("its text does not plainly say what its condition says")
    return None


def _fields(proposal: Proposal, condition: Condition) -> Objection | None:
    """A condition tests only fields that exist and describe a kind of transaction."""
    if not all(map(is_field_name, condition.fields)):
        return Objection("its condition names what no column is called")
    if objection := _values(proposal, condition):
        return objection
    names = _known_fields(proposal)
    if not all(name in names or is_terse(name) for name in condition.fields):
        return _held("its condition names a field that no case has, and not in a few short words")
    can_tell = len(proposal.table) > 0 or proposal.transaction is not None
    for test in condition.comparisons:
        name = test.field
        if can_tell and name not in names:
            return Objection("its condition is over a field that no known transaction has")
        if test.op == MENTIONS:
            if not is_free_text(name):
                return Objection(f"'mentions' asks for words of a free text, which {name} is not")
            continue
        if not isinstance(test.value, bool) and identity.is_identifying(name, proposal.table):
            return Objection(
                f"its condition is over {name}, which tells who it is, not of what kind"
            )
    return None


def _known_fields(proposal: Proposal) -> set[str]:
    return {*proposal.table.field_names, *_READER_FIELDS, *proposal.transaction_fields}


def _values(proposal: Proposal, condition: Condition) -> Objection | None:
    """The values of a condition are categories, not sentences."""
    words = [test.value for test in condition.comparisons if isinstance(test.value, str)]
    links = (_LINK.search(word.casefold()) for word in _free_words(proposal, condition))
    if not all(map(is_category, words)) or any(links):
        return Objection("its condition compares with text that is no category")
    return None


def _free_words(proposal: Proposal, condition: Condition) -> Iterator[str]:
    """The parts of a condition that could say anything: values, and names of unknown fields."""
    names = _known_fields(proposal)
    for test in condition.comparisons:
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
    tests = condition.comparisons if condition else ()
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


def _observations(proposal: Proposal) -> Objection | None:
    """What a model observed is a stranger's word: a rule over it raises risk, and tests a value."""
    tests = proposal.condition.comparisons if proposal.condition else ()
    observed = [test for test in tests if is_observed(test.field)]
    if any(test.op in ("is missing", "is not") for test in observed):
        return Objection("it tests that a model did not observe something, which proves nothing")
    if observed and proposal.condition and proposal.condition.verdict == APPROVE:
        return _held("it lowers risk for what a model observed in the text")
    return None


def _direction(proposal: Proposal) -> Objection | None:
    """What lowers risk must be proven or narrow, and nothing argues against its own label."""
    if proposal.condition:
        if proposal.label and proposal.condition.verdict != proposal.label:
            return Objection("it argues against the label of the decision it came from")
        return None
    direction = trade_words.direction(proposal.text)
    if proposal.label and direction == ("raises" if proposal.label == APPROVE else "lowers"):
        return _held("it argues against the label of the decision it came from")
    if direction == "unclear" and trade_words.IMPERATIVE.match(proposal.text):
        return _held("it tells what to do and not which transactions are fraud")
    if not proposal.lowers:
        return None
    if len(trade_words.features_of(proposal.text)) < 2:
        return _held("prose that lowers risk names at least two things that limit it")
    if trade_words.calls_risk_safe(proposal.text):
        return _held("prose that calls safe what is usually risky, and does not say why")
    if _has_name(proposal.content):
        return _held("prose that lowers risk may name nobody")
    return None


def _wording(proposal: Proposal) -> Objection | None:
    if parse_condition(proposal.content) is None and trade_words.SUSPICIOUS.search(proposal.text):
        return _held("its wording wants a person's eye")
    return None


def _has_name(content: str) -> bool:
    """Whether words look like a name: with capitals or in quotes, and not of the trade."""
    names = re.findall(r"(?<=[\w,;] )[A-Z][\w'&.-]+|[\"“'‘](?=\w)[^\"”'’]+[\"”'’]", content)
    return not all(trade_words.is_plain(w) for name in names for w in words_of(skeleton(name)))


def _is_constant(name: str, entities: set[str], table: CaseTable) -> bool:
    """Whether all cases have one value while others vary: one merchant with its customers."""
    rows = np.ones(len(table), dtype=bool)
    others = (spread(other, table, rows)[0] for other in entities if other != name)
    return spread(name, table, rows)[0] == 1 and any(n > 1 for n in others)


def _mixes_alphabets(word: str) -> bool:
    """Whether a word has Latin letters beside look-alikes; accents are no other alphabet."""
    latin = sum(c.isascii() for c in word.casefold())
    is_accented = all("LATIN" in unicodedata.name(c, "LATIN") for c in word)
    return 0 < latin < len(word) and skeleton(word).isascii() and not is_accented
