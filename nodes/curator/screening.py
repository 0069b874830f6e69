"""What a proposed heuristic must be before it may act: checks in order, each with its reason.

Form, identifiers, support from several entities, and a stricter test for what lowers risk. The
defence is what a bullet is and who bears it out, not what it is forbidden to say: suspicious
wording holds a proposal back for a person. A reason never repeats a value it was refused for.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from acegraph.nodes.curator.identity import (
    copied,
    identifying_values,
    is_bound,
    is_domain,
    is_entity,
    is_identifying,
)
from acegraph.nodes.text import trade_words as vocabulary
from acegraph.nodes.text.lookalikes import personal_data, skeleton, words_of
from acegraph.nodes.text.reader import read_fields
from acegraph.state import (
    APPROVE,
    DECLINE,
    CaseTable,
    Condition,
    Transaction,
    UnknownDecision,
    Verdict,
    clean_text,
    parse_condition,
)

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


MAX_LENGTH: Final = 400
_MAX_SENTENCES: Final = 3
_TRADE_SHARE: Final = 0.4
_STANDS_OUT: Final = 0.1
_MORE_THAN_EQUAL: Final = 1.5
_KNOWN_TO_THE_READER: Final = frozenset(
    "amount usual_amount amount_ratio hour weekday account_age_days merchant_rating channel "
    "merchant_category tx_last_hour tx_last_day failed_attempts past_disputes distance_km vpn "
    "ip_country card_country shipping_country new_device country_changed address_mismatch "
    "new_account verified travel_notice failed_check rush_shipping disposable_email recent_change "
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
    """Held back for a person, not refused."""


@dataclass(frozen=True)
class Proposal:
    """A heuristic and what is known of where it came from."""

    content: str
    condition: Condition | None = None
    table: CaseTable = field(default_factory=CaseTable)
    """The labelled cases on which it can be tested."""
    source: Transaction | None = None
    """The transaction it was drawn from, where a machine drew it from one."""
    label: Verdict | None = None
    """The right answer of that transaction."""
    decision: str = ""
    """The id of that transaction."""

    @cached_property
    def text(self) -> str:
        """Its content by its looks."""
        return skeleton(self.content)

    @property
    def lowers(self) -> bool:
        """Whether it pushes towards APPROVE; what does not say is taken to mean its label."""
        if self.condition:
            return self.condition.verdict == APPROVE
        said = vocabulary.direction(self.text)
        return said == "lowers" or (said == "unclear" and self.label == APPROVE)


@dataclass(frozen=True)
class Screening:
    """The gate at activation: pairs are for what raises risk, and for what lowers it."""

    min_entities: tuple[int, int] = (3, 5)
    """Distinct customers and merchants whose labelled cases must bear a rule out."""
    max_share: tuple[float, float] = (0.5, 0.34)
    """The most that one of them may contribute."""

    def __call__(self, proposal: Proposal) -> Objection | None:
        """The first check that fails, in the order form, identifiers, support, direction."""
        checks: tuple[Callable[[Proposal], Objection | None], ...] = (
            _form,
            _identifiers,
            self._support,
            _direction,
            _wording,
        )
        return next((found for check in checks if (found := check(proposal))), None)

    def _support(self, proposal: Proposal) -> Objection | None:
        """Several customers and merchants bear it out, where it is known who they are."""
        known = {n for n in proposal.table.field_names if is_entity(n, proposal.table)}
        if proposal.source:
            known |= {n for n in read_fields(proposal.source) if is_entity(n, proposal.table)}
        if not known or not (proposal.source or proposal.condition):
            return None
        if proposal.condition is None and proposal.lowers:
            return Objection(
                "prose that lowers risk, learned from one customer's transaction", True
            )
        wanted, cap = self.min_entities[proposal.lowers], self.max_share[proposal.lowers]
        verdict = proposal.condition.verdict if proposal.condition else DECLINE
        bears_out = proposal.table.fraud == (verdict == DECLINE)
        if proposal.condition:
            bears_out = bears_out & proposal.condition.holds_over(proposal.table)
        for name in sorted(known):
            distinct, share = _spread(name, proposal.table, bears_out)
            if distinct == 1 and _is_ours(name, known, proposal.table):
                continue
            if distinct < wanted:
                return Objection(f"borne out by {distinct} distinct {name}; {wanted} wanted", True)
            if share > cap:
                return Objection(
                    f"{share:.0%} of its support is one {name}; at most {cap:.0%}", True
                )
        return None


def proposal_of(
    content: str,
    condition: Condition | None,
    playbook: BulletPlaybook,
    table: CaseTable,
    origin: Mapping[str, Any] | None,
) -> Proposal:
    """A proposal with the transaction it came from, as the ledger has it."""
    origin = origin or {}
    source = None
    if decision_id := origin.get("decision"):
        try:
            stored = playbook.decision(decision_id)
            source = Transaction(stored["text"], stored["fields"])
        except UnknownDecision:  # a bullet carried here from elsewhere
            source = None
    decision_id = str(origin.get("decision") or "")
    return Proposal(content, condition, table, source, origin.get("label"), decision_id)


def _form(proposal: Proposal) -> Objection | None:
    content, text = proposal.content, proposal.text
    said = parse_condition(content)
    if not 3 <= len(clean_text(content)) <= MAX_LENGTH:
        return Objection(f"a heuristic has 3 to {MAX_LENGTH} characters")
    if proposal.condition and (found := _fields(proposal, proposal.condition)):
        return found
    if said and proposal.condition and not said.same_as(proposal.condition):
        return Objection("its text and its condition say different things")
    if said:  # data, said as a sentence
        return _words_in(proposal, proposal.condition or said)
    if proposal.condition and _says_otherwise(content, proposal.condition):
        return Objection("its text and its condition say different things", True)
    if "\n" in clean_text(content) or len(re.findall(r"[.!?](?:\s|$)", content)) > _MAX_SENTENCES:
        return Objection("one rule in at most three sentences on one line is wanted")
    for pattern, what in ((_LINK, "a link"), (_MARKUP, "markup"), (_CODE, "code")):
        if pattern.search(text) or pattern.search(clean_text(content)):
            return Objection(f"it contains {what}")
    if any(_mixes_alphabets(word) for word in re.findall(r"[^\W\d_]+", clean_text(content))):
        return Objection("a word mixes letters of several alphabets")
    if vocabulary.ORDERS.search(text):
        return Objection("it speaks to whoever reads it instead of about transactions")
    if vocabulary.trade_share(text) < _TRADE_SHARE or not vocabulary.features_of(text):
        return Objection(
            "too little of it is about kinds of transactions, as far as can be read", True
        )
    return None


def _fields(proposal: Proposal, condition: Condition) -> Objection | None:
    """Conditions only over fields that exist and describe a kind of transaction."""
    known = _known_fields(proposal)
    can_tell = len(proposal.table) > 0 or proposal.source is not None
    for test in condition.comparisons:
        name = test.field
        if can_tell and name not in known:
            return Objection("its condition is over a field that no known transaction has")
        if not isinstance(test.value, bool) and is_identifying(name, proposal.table):
            return Objection(
                f"its condition is over {name}, which tells who it is, not of what kind"
            )
    return None


def _known_fields(proposal: Proposal) -> set[str]:
    known = set(proposal.table.field_names) | _KNOWN_TO_THE_READER
    return known | set(read_fields(proposal.source)) if proposal.source else known


def _says_otherwise(content: str, condition: Condition) -> bool:
    from acegraph.nodes.text.difference import contradicts

    return contradicts(content, condition)


def _words_in(proposal: Proposal, condition: Condition) -> Objection | None:
    """Values of a condition are words of a category, not sentences."""
    for word in _own_words(proposal, condition):
        if len(word) > 60 or _LINK.search(word.casefold()) or _MARKUP.search(word):
            return Objection("its condition compares with text that is no category")
    return None


def _own_words(proposal: Proposal, condition: Condition) -> Iterator[str]:
    """Where a condition could say anything: values, and names of fields that nobody knows."""
    known = _known_fields(proposal)
    for test in condition.comparisons:
        if test.field not in known:
            yield test.field
        if isinstance(test.value, str) and not is_domain(test, proposal.table):
            yield test.value
        if isinstance(test.value, int | float) and not is_bound(test, proposal.table):
            yield str(test.value)


def _identifiers(proposal: Proposal) -> Objection | None:
    """Nothing in it tells who somebody is."""
    said = parse_condition(proposal.content)
    condition = proposal.condition or said
    texts = [] if said else [proposal.text]
    if condition:
        texts += [skeleton(word) for word in _own_words(proposal, condition)]
        # Apart, letters and digits are no token: fields may be called transactionsLast24h.
        texts += [skeleton(_LETTER_BY_DIGIT.sub(" ", name)) for name in condition.fields]
    if kind := next(filter(None, map(personal_data, texts)), None):
        return Objection(f"it contains {kind}")
    values = [c.value for c in condition.comparisons] if condition else []
    for name in proposal.table.field_names:
        column = proposal.table.column(name) if is_identifying(name, proposal.table) else None
        if column and any(isinstance(v, str) and column.equals(v).any() for v in values):
            return Objection(f"it contains a value of {name}")
    if proposal.source is None:
        return None
    text = " ".join(texts)
    for name, value in identifying_values(proposal.source, proposal.table):
        if copied(value, text):
            return Objection(f"it contains what the transaction says in {name}")
    return None


def _direction(proposal: Proposal) -> Objection | None:
    """What lowers risk must be proven, or narrow; and nothing argues against its own label."""
    if proposal.condition:
        if proposal.label and proposal.condition.verdict != proposal.label:
            return Objection("it argues against the label of the decision it came from")
        return None
    said = vocabulary.direction(proposal.text)
    if proposal.label and said == ("raises" if proposal.label == APPROVE else "lowers"):
        return Objection("it argues against the label of the decision it came from", True)
    if said == "unclear" and vocabulary.IMPERATIVE.match(proposal.text):
        return Objection("it tells what to do and not which transactions are fraud", True)
    if not proposal.lowers:
        return None
    if len(vocabulary.features_of(proposal.text)) < 2:
        return Objection("prose that lowers risk names at least two things that limit it", True)
    if vocabulary.calls_risk_safe(proposal.text):
        return Objection("prose that calls safe what is usually risky, and does not say why", True)
    if any(_names(proposal.content)):
        return Objection("prose that lowers risk may name nobody", True)
    return None


def _wording(proposal: Proposal) -> Objection | None:
    if parse_condition(proposal.content) is None and vocabulary.SUSPICIOUS.search(proposal.text):
        return Objection("its wording wants a person's eye", True)
    return None


def _names(content: str) -> Iterator[str]:
    """Words that look like somebody's name: capitals or quotes, and not of the trade."""
    for found in re.finditer(r"(?<=[\w,;] )[A-Z][\w'&.-]+|[\"“'‘](?=\w)[^\"”'’]+[\"”'’]", content):
        if not all(vocabulary.is_plain(w) for w in words_of(skeleton(found[0]))):
            yield found[0]


def _spread(name: str, table: CaseTable, rows: Any) -> tuple[int, float]:
    """How many entities some cases are of, and the share of the most frequent one."""
    column = table.column(name)
    if column is None:
        return 0, 0.0
    numbers = column.numbers[rows & ~np.isnan(column.numbers)]
    codes = column.codes[rows & (column.codes >= 0)]
    counts = np.concatenate(
        [np.unique(values, return_counts=True)[1] for values in (numbers, codes)]
    )
    return len(counts), float(counts.max() / counts.sum()) if len(counts) else 0.0


def without_largest(
    condition: Condition, table: CaseTable, source: Transaction | None
) -> CaseTable | None:
    """The cases without those who bear a rule out most, and without those it was learned from.

    None where that leaves all: nobody is known, or nobody has more than a tenth of the support.
    """
    bears_out = condition.holds_over(table) & (table.fraud == (condition.verdict == DECLINE))
    own = read_fields(source) if source else {}
    gone: dict[str, set[Any]] = {}
    for name in (name for name in table.field_names if is_entity(name, table)):
        held = [c.fields.get(name) for c, bears in zip(table, bears_out, strict=True) if bears]
        counts = Counter(value for value in held if value is not None)
        if len(counts) > 1:
            equal = counts.total() / len(counts)
            least = max(1.0, _STANDS_OUT * counts.total(), _MORE_THAN_EQUAL * equal)
            large = {v for v, n in counts.items() if n > least}
            gone[name] = large | ({own[name]} if name in own else set())
    if not any(gone.values()):
        return None
    return CaseTable(
        case
        for case in table
        if not any(case.fields.get(n) in values for n, values in gone.items())
    )


def _is_ours(name: str, known: set[str], table: CaseTable) -> bool:
    """A merchant's own system sees one merchant only: then its customers are what must vary."""
    everyone = np.ones(len(table), dtype=bool)
    others = (_spread(other, table, everyone)[0] for other in known if other != name)
    return _spread(name, table, everyone)[0] == 1 and any(n > 1 for n in others)


def _mixes_alphabets(word: str) -> bool:
    looks = skeleton(word)
    latin = [c for c in word.casefold() if c.isascii()]
    return bool(latin) and looks.isascii() and len(latin) < len(word) and not _is_accented(word)


def _is_accented(word: str) -> bool:
    """Latin letters with accents are one alphabet."""
    return all("LATIN" in unicodedata.name(c, "LATIN") for c in word)
