"""The first guess at what columns are."""

import random

from acegraph.state.task.guess import guess, guess_task, told

RANDOM = random.Random(7)
ROWS = 400


def found(**columns):
    return {one.field.name: one for one in guess(columns)}


def field(values, name="x"):
    return found(**{name: values})[name].field


def test_kinds_follow_the_values():
    kinds = {
        "number": [RANDOM.random() for _ in range(ROWS)],
        "flag": [RANDOM.random() < 0.5 for _ in range(ROWS)],
        "category": [RANDOM.choice("abc") for _ in range(ROWS)],
        "time": [f"2026-01-{RANDOM.randint(1, 28):02} 10:00:00" for _ in range(ROWS)],
        "text": [f"please send it to {n} as we said on the phone yesterday" for n in range(ROWS)],
    }
    assert {kind: field(values).kind for kind, values in kinds.items()} == {
        kind: kind for kind in kinds
    }


def test_zero_and_one_or_the_words_of_a_file_are_no_and_yes():
    assert field([0, 1, 1, 0]).kind == "flag"
    assert field(["ja", "nein", "ja"]).words == ("nein", "ja")
    assert field(["ja", "nein", "vielleicht"]).kind == "category"


def test_a_number_that_rises_with_the_rows_is_a_clock_or_a_time():
    noisy = [n // 20 * 20 + RANDOM.choice([0, 0, 15, -15]) for n in range(ROWS - 1)]
    for values in ([n // 3 for n in range(ROWS)], [*noisy, 5]):
        assert field(values).role == "time"
        dated = {"at": [f"2026-01-01 {n // 60:02}:{n % 60:02}" for n in range(ROWS)]}
        assert found(**dated, x=values)["x"].field.role == "ignored"
        assert guess({"x": values}, {"x": "number"})[0].field.role == ""
    sorted_by_label = sorted((RANDOM.random() + (n > 300) for n in range(ROWS)), key=int)
    for values in (sorted_by_label, [RANDOM.randrange(9) for _ in range(ROWS)]):
        assert field(values).role == ""
    seconds = field([1_767_225_600 + 60 * (n // 2) for n in range(ROWS)])
    assert (seconds.kind, seconds.epoch, seconds.role) == ("time", "s", "time")


def test_what_names_a_row_or_somebody_is_an_id_whatever_it_is_called():
    assert field([f"T{n}" for n in range(ROWS)]).role == "id"
    assert field([4_000_000_000_000_000 + RANDOM.randrange(50) for _ in range(ROWS)]).role == "id"
    assert field([RANDOM.randrange(1, 3) for _ in range(ROWS)], "cardholder").role == ""


def test_of_two_times_the_one_that_rises_with_the_rows_is_the_time_and_it_is_said():
    days = [f"2026-{1 + n // 28:02}-{1 + n % 28:02} 08:00:00" for n in range(200)]
    booked = found(opened=RANDOM.sample(days, len(days)), paid=days)
    assert (booked["paid"].field.role, booked["opened"].field.role) == ("time", "")
    assert "rises with the rows; derived: opened.hours_before" in booked["paid"].why
    assert booked["paid"].correct == "else --as opened=time"
    named = guess({"opened": days, "paid": days}, {"paid": "time"})
    assert [one.field.role for one in named] == ["", "time"]


def test_where_no_date_rises_the_latest_is_the_time():
    born = [f"19{RANDOM.randint(50, 99)}-05-{RANDOM.randint(10, 28)}" for _ in range(50)]
    happened = [f"2026-05-{RANDOM.randint(10, 28)}" for _ in range(50)]
    times = found(born=born, happened=happened)
    assert [one.field.role for one in times.values()] == ["", "time"]
    assert "is the latest" in times["happened"].why


def test_how_old_somebody_is_is_no_field() -> None:
    days = [f"2026-{1 + n // 28:02}-{1 + n % 28:02}" for n in range(200)]
    guesses = guess({"dob": ["1980-02-03", "1999-04-05"] * 100, "opened": days[::-1], "at": days})
    assert [one.field.role for one in guesses] == ["protected", "", "time"]
    assert [one.name for one in guess_task("t", guesses).derived] == ["opened.days_before"]


def test_what_is_not_plain_is_told_in_one_line_a_reason():
    columns = {
        "pin": [0, 1] * 200,
        "new": [1, 0] * 200,
        "state": [RANDOM.randrange(1, 50) for _ in range(ROWS)],
        "gender": [RANDOM.choice("FM") for _ in range(ROWS)],
        "who": [f"C{RANDOM.randrange(90)}" for _ in range(ROWS)],
        "amount": [RANDOM.random() for _ in range(ROWS)],
    }
    assert told(guess(columns)) == [
        "pin, new: 0 and 1 are no and yes; else --as pin=number",
        "state: whole numbers of few kinds, tried as codes, too; "
        "if they are no quantities, --as state=category",
        "gender: protected: a person approves its rules; else --as gender=category",
        "who: many words, each in some rows; "
        "if it names somebody, --as who=customer (card, device, merchant)",
    ]


def test_limits_are_loose():
    amounts = field([5.5, 120.25])
    assert (amounts.least, amounts.most) == (0, 120_250)
    assert field([-5.5, 7.25]).least == -7_250


def test_few_words_that_all_came_often_are_closed_and_many_are_open():
    assert field([RANDOM.choice(["Web", "Shop"]) for _ in range(ROWS)]).closed
    assert not field([f"city {RANDOM.randrange(200)}" for _ in range(ROWS)]).closed


def test_json_says_its_kinds_itself():
    counts = guess({"n": [0, 1] * 100, "mcc": [5411, 7011] * 100}, is_file=False)
    assert {one.field.kind for one in counts} == {"number"}


def test_a_file_that_uses_the_names_of_card_payments_gets_their_prior_and_reader():
    rows = {"Amount": [5.0, 20.5] * 9, "hour": [3, 14] * 9, "colour": ["red", "blue"] * 9}
    task = guess_task("cards", guess(rows))
    assert task.reader == "card_payments"
    assert {rule.test.field for rule in task.prior if rule.test} == {"amount", "hour"}
    other = guess_task("claims", guess({"claim": [5.0, 20.5] * 9, "hour": [3, 14] * 9}))
    assert (other.reader, other.prior) == ("", ())
