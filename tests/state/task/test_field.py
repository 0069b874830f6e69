"""What fits a field, and what is said where nothing does."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from acegraph.state.errors import InvalidSettings
from acegraph.state.task.field import Field
from acegraph.state.values.plain import Misfit

AMOUNT = Field("amount", "number", least=0, most=100_000, unit="EUR")
PAID = Field("paid_at", "time", zone="Europe/Berlin", parts=("hour", "weekday"))


@pytest.mark.parametrize("given", [12, 12.5, "12.5", "1e3", Decimal("7.25"), "0", 0])
def test_numbers_and_their_decimal_texts_fit(given):
    assert AMOUNT.fit(given) == float(given)


@pytest.mark.parametrize("given", ["1_000", "1,000", "12,5", "5 EUR", True, "", "٣", "0x10", "inf"])
def test_what_only_looks_like_a_number_is_no_number(given):
    fitted = AMOUNT.fit(given)
    assert fitted is None if given == "" else isinstance(fitted, Misfit) and fitted.why == "kind"


@pytest.mark.parametrize("given", [-1, "100001", 1e300, "1e308"])
def test_limits_hold_and_the_reason_names_them_but_not_the_value(given):
    fitted = AMOUNT.fit(given)
    assert str(fitted) == "amount does not fit; a number from 0 to 100,000 in EUR wanted"


def test_a_usual_field_without_a_value_is_missing_and_another_one_is_none():
    usual = Field("amount", "number", usual=True).fit(None)
    assert isinstance(usual, Misfit)
    assert usual.why == "missing"
    assert Field("amount", "number").fit("") is None


@pytest.mark.parametrize(
    ("given", "fitted"), [("JA", True), ("nein", False), (1, True), ("0", False)]
)
def test_a_flag_takes_its_own_words_and_those_of_json(given, fitted):
    assert Field("neu", "flag", words=("Nein", "Ja")).fit(given) is fitted


def test_a_flag_takes_no_word_of_another_language():
    assert isinstance(Field("neu", "flag").fit("ja"), Misfit)


def test_a_word_gets_its_known_spelling_and_a_code_loses_its_point():
    channel = Field("channel", "category", words=("Web", "Shop"))
    assert (channel.fit(" web "), channel.fit("phone"), channel.fit(5411.0)) == (
        "Web",
        "phone",
        "5411",
    )


def test_a_closed_category_doubts_another_word():
    fitted = Field("channel", "category", words=("Web", "Shop"), closed=True).fit("phone")
    assert str(fitted) == "channel does not fit; one of Web, Shop wanted"


def test_only_ascii_letters_are_folded():
    city = Field("city", "category", words=("İzmir", "STRASSE"))
    assert city.fit("i̇zmir") == "i̇zmir"
    assert city.fit("straße") == "straße"


@pytest.mark.parametrize(
    "given",
    [
        "2026-07-01 15:00",
        "2026-07-01T15:00:00",
        "2026-07-01T13:00:00Z",
        "2026-07-01T09:00:00-04:00",
        datetime(2026, 7, 1, 13, tzinfo=UTC),
    ],
)
def test_one_moment_is_one_value_however_it_is_written(given):
    fitted = PAID.fit(given)
    assert fitted == "2026-07-01T13:00:00+00:00"
    assert PAID.parts_of(fitted) == {"paid_at.hour": 15, "paid_at.weekday": "Wednesday"}


@pytest.mark.parametrize("given", ["20260131", 20260131, "31.01.2026", "2026-02-30", "soon", True])
def test_other_dates_do_not_fit(given):
    assert isinstance(PAID.fit(given), Misfit)


@pytest.mark.parametrize(("epoch", "given"), [("s", 1767225600), ("ms", "1767225600000")])
def test_a_number_is_a_time_only_if_the_field_says_what_it_counts(epoch, given):
    assert Field("at", "time", epoch=epoch).fit(given) == "2026-01-01T00:00:00+00:00"


def test_a_day_alone_has_a_weekday_and_no_hour():
    assert PAID.fit("2026-07-01") == "2026-07-01"
    assert PAID.parts_of("2026-07-01") == {"paid_at.weekday": "Wednesday"}


@pytest.mark.parametrize("kind", ["number", "flag", "category", "time", "text"])
@pytest.mark.parametrize(
    "given", [{}, [1], object(), 10**400, float("nan"), "\ud800", b"x", "x" * 30_000]
)
def test_no_value_raises(kind, given):
    Field("f", kind).fit(given)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kind": "number", "words": ("a", "b")}, "a number has no words"),
        ({"kind": "flag", "words": ("a",)}, "a flag has two words"),
        ({"kind": "number", "least": 5, "most": 1}, "least 5 is above most 1"),
        ({"kind": "number", "parts": ("hour",)}, "only a time has parts"),
        ({"kind": "time", "zone": "Mars/One"}, "no time zone 'Mars/One'"),
    ],
)
def test_a_field_that_contradicts_itself_is_refused(wrong, said):
    with pytest.raises(InvalidSettings, match=said):
        Field("f", **wrong)
