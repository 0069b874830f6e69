"""A task: names, doubts about a whole case, versions, and its form as data."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acegraph.state.errors import InvalidSettings
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.task.field import Field
from acegraph.state.task.task import Task

CLAIMS = Task(
    "claims",
    (
        Field("claim_value", "number", role="amount", least=0, usual=True),
        Field("currency", "category", role="currency", words=("EUR",), closed=True),
        Field("at", "time", parts=("hour",), usual=True),
        Field("new", "flag"),
    ),
)
CASE = {"claim_value": 10, "at": "2026-01-01T10:00Z"}


def whys(case):
    return {misfit.field: misfit.why for misfit in CLAIMS.fit(case).misfits}


def test_names_fold_by_case_and_separators_alone():
    assert CLAIMS.fit({"Claim-Value": 3, "AT": "2026-01-01"}).fields["claim_value"] == 3
    assert CLAIMS.fit({"claimed_value": 3}).unknown == {"claimed_value": 3}


def test_two_keys_of_one_field_with_two_values_are_a_doubt_and_with_one_value_none():
    assert whys({**CASE, "CLAIM_VALUE": 11}) == {"claim_value": "twice"}
    assert whys({**CASE, "CLAIM_VALUE": 10}) == {}


def test_another_currency_is_a_doubt_of_the_amount():
    assert whys({**CASE, "currency": "USD"}) == {"claim_value": "currency"}
    assert whys({**CASE, "currency": "eur"}) == {}


def test_a_time_that_does_not_fit_leaves_its_hour_in_doubt():
    assert whys({**CASE, "at": "yesterday"}) == {"at": "kind", "at.hour": "kind"}
    assert whys({**CASE, "at": "2026-01-01"}) == {"at.hour": "missing"}
    assert whys({"claim_value": 1}) == {"at": "missing", "at.hour": "missing"}


def test_no_reason_holds_a_value():
    fitted = CLAIMS.fit(
        {"claim_value": "secret", "currency": "secret", "at": "secret", "new": "secret"}
    )
    assert len(fitted.misfits) == 4
    assert "secret" not in repr(fitted.misfits)


@given(
    st.dictionaries(
        st.text(max_size=8), st.none() | st.booleans() | st.floats() | st.text(), max_size=5
    )
)
def test_no_case_raises(case):
    CLAIMS.fit(case)


def test_the_shipped_task_is_data_and_comes_back_from_json():
    assert Task.from_json(json.loads(json.dumps(CARD_PAYMENTS.to_json()))) == CARD_PAYMENTS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"fields": [{"name": "a", "kind": "numbr"}], "name": "x"}', r"^task.json: fields.0.kind"),
        ('{"name": "x", "felds": []}', r"^task.json: felds: "),
        ('{"name": "x",\n "fields": [}', r"^task.json: line 2: "),
        ('{"name": "x", "fields":[{"name":"a b","kind":"flag"},{"name":"A_B","kind":"flag"}]}',
         "'a b' and 'A_B' are one name"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_line_with_its_place(text, said):
    with pytest.raises(InvalidSettings, match=said) as raised:
        Task.from_text(text, "task.json")
    assert "\n" not in str(raised.value)


def test_what_may_change_and_what_may_not():
    wider = Task(
        "claims", (*CLAIMS.fields[1:], Field("claim_value", "number", role="amount", most=5))
    )
    assert wider.differs(CLAIMS) == {}
    assert Task("claims", CLAIMS.fields[:3]).differs(CLAIMS) == {"new": "is gone"}
    other = Task("claims", (*CLAIMS.fields[:3], Field("new", "category")))
    assert other.differs(CLAIMS) == {"new": "has another kind"}


def test_two_times_or_amounts_are_refused():
    with pytest.raises(InvalidSettings, match="two fields of role amount: a, b"):
        Task("x", (Field("a", "number", role="amount"), Field("b", "number", role="amount")))


def test_what_is_not_stored_or_names_somebody_is_never_tested():
    task = Task("x", (Field("a", "number", stored=False), Field("b", "category", role="id"),
                      Field("c", "time", parts=("hour",))))  # fmt: skip
    assert task.names == {"c", "c.hour"}
