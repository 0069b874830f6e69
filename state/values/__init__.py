"""Plain values without a database: transactions, verdicts, conditions, bullets, decisions.

What belongs to one run of the graph is in `run`; stored values are in `ledger` and `playbook`. This
is their door: a name is imported from its module when it is first used.
"""
# ruff: isort: skip_file
# ruff: noqa: F401

from typing import TYPE_CHECKING

from acegraph.state.lazy import later

if TYPE_CHECKING:
    from acegraph.state.values.plain import Fields, MAX_TEXT, Scalar, clean_text, plain_value
    from acegraph.state.values.bullet import Bullet, MAX_CONTENT, NOT_PROVED, REFINEMENT, Source
    from acegraph.state.values.bullet import Status, WAITS_FOR, newest_set, number_of, of_source
    from acegraph.state.values.cases import Case, CaseTable, Column, Columns, grown, stepped
    from acegraph.state.values.condition import BY, Comparison, Condition, ConditionData
    from acegraph.state.values.condition import MAX_COMPARISONS, MENTIONS, is_meant_as_condition
    from acegraph.state.values.condition import parse_condition, stated_condition, written_field
    from acegraph.state.values.costs import CostMatrix
    from acegraph.state.values.decision import ACTED, Clock, CounterDeltas, DAY, DEPARTURE
    from acegraph.state.values.decision import DecisionRecord, Evidence, HELD_BACK, HOUR, KINDS
    from acegraph.state.values.decision import LET_THROUGH, Label, PAYERS, PURGED, Past, Recorded
    from acegraph.state.values.decision import SHOWN, SIGHTED, Shown, Sighting
    from acegraph.state.values.decision import WINDOWS, add_deltas, calls_fraud, credit, marks_of
    from acegraph.state.values.decision import voice_of
    from acegraph.state.values.draw import ALL_COUNT, Draw, TABLE, drawing_number, is_drawn
    from acegraph.state.values.draw import is_in_share
    from acegraph.state.values.notation import POINTS
    from acegraph.state.values.notation import decimal_commas, is_nothing, is_number
    from acegraph.state.values.notation import may_be_thousands, rounded_risk, with_point, written
    from acegraph.state.values.notation import written_number, written_risk
    from acegraph.state.values.transaction import Data, DataView, LOOKALIKES, MAX_PHRASE, SENTENCE
    from acegraph.state.values.transaction import Transaction, each_name_once, facts_text, folded
    from acegraph.state.values.transaction import folded_words, is_derived, is_named, is_observed
    from acegraph.state.values.transaction import memos_in, names_of, render_fields
    from acegraph.state.values.transaction import without_quotes, without_remarks
    from acegraph.state.values.verdict import ANALYST, APPROVE, BY_ITSELF, DECLINE, GIVEN_LABEL
    from acegraph.state.values.verdict import JUDGE, UNDECIDED, Verdict, check_id, check_source
    from acegraph.state.values.verdict import folded_source, giver_of, is_absence, kind_of
    from acegraph.state.values.verdict import log_odds_of, other, parse_decision, parse_verdict
    from acegraph.state.values.verdict import sign_of

__getattr__, __dir__ = later(__name__)
