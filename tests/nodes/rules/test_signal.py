"""Whether there is anything to learn, asked of all fields at once."""

from dataclasses import replace

import numpy as np
import pytest

from acegraph.nodes.evidence.proof_levels import gate_of
from acegraph.nodes.reflector.induction import Induced, induce
from acegraph.nodes.rules.learner.signal import chance_of_no_signal, has_signal, rows_of
from acegraph.state import Case
from acegraph.state.values.cases import CaseTable


def table_of(n: int, seed: int, *, cause: str) -> CaseTable:
    """Two flags, a number and a category; the label follows the named cause, or nothing."""
    rng = np.random.default_rng(seed)
    night, abroad = rng.random(n) < 0.5, rng.random(n) < 0.5
    amount, kind = rng.uniform(0, 100, n).round(2), rng.choice(["shop", "fuel", "net"], n)
    causes = {
        "nothing": rng.random(n) < 0.5,
        "amount": amount > 60,
        "either and not both": night ^ abroad,
        "a little of each": rng.random(n)
        < 0.1 + 0.25 * night + 0.25 * abroad + 0.3 * (amount > 50),
    }
    return CaseTable(
        Case(
            str(i),
            {"night": bool(a), "abroad": bool(b), "amount": float(c), "kind": str(d)},
            "DECLINE" if is_fraud else "APPROVE",
        )
        for i, (a, b, c, d, is_fraud) in enumerate(
            zip(night, abroad, amount, kind, causes[cause], strict=True)
        )
    )


def chance(table: CaseTable) -> float:
    return chance_of_no_signal(rows_of(table, np.zeros(len(table))))


@pytest.mark.parametrize("cause", ["amount", "either and not both", "a little of each"])
def test_what_is_there_is_noticed_from_a_hundred_cases(cause: str) -> None:
    found = [chance(table_of(100, seed, cause=cause)) for seed in range(20)]
    assert np.mean(np.array(found) <= 0.05) >= 0.7


def test_one_cause_among_forty_fields_is_noticed() -> None:
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        numbers = rng.uniform(0, 100, (60, 40)).round(1)
        fraud = (numbers[:, 0] > 60) ^ (rng.random(60) < 0.15)
        rows = [{f"f{i}": float(x) for i, x in enumerate(row)} for row in numbers]
        cases = zip(rows, fraud, strict=True)
        table = CaseTable(
            Case(str(i), row, "DECLINE" if is_fraud else "APPROVE")
            for i, (row, is_fraud) in enumerate(cases)
        )
        found.append(chance(table))
    assert np.mean(np.array(found) <= 0.05) >= 0.7


@pytest.mark.slow
def test_where_nothing_is_there_chance_is_told_as_chance() -> None:
    found = np.array([chance(table_of(60, seed, cause="nothing")) for seed in range(300)])
    # 5 % of 300 is 15; 27 or more would be three standard errors above.
    assert np.sum(found <= 0.05) <= 26
    assert 0.4 < found.mean() < 0.6


def test_what_the_playbook_explains_is_no_longer_there() -> None:
    table = table_of(200, 1, cause="amount")
    known = np.where([case.fields["amount"] > 60 for case in table], 4.0, -4.0)
    assert chance_of_no_signal(rows_of(table, known)) > 0.05


def test_what_was_learned_meanwhile_is_no_signal_any_more() -> None:
    table = table_of(200, 1, cause="amount")
    known = np.where([case.fields["amount"] > 60 for case in table], 4.0, -4.0)
    answers = [has_signal(table, log_odds, 0.02) for log_odds in (np.zeros(200), known)]
    assert answers == [True, False]
    assert has_signal(table, np.zeros(200), 0.02)


def test_a_score_that_says_too_much_is_no_pattern_in_the_fields() -> None:
    found = []
    for seed in range(100):
        table = table_of(150, seed, cause="nothing")
        sure = [2.0 * case.fields["night"] + 0.02 * case.fields["amount"] - 2 for case in table]
        found.append(chance_of_no_signal(rows_of(table, np.array(sure))))
    assert np.sum(np.array(found) <= 0.05) <= 12  # 5 % of 100, and three standard errors
    table = table_of(150, 1, cause="either and not both")
    wrong = np.array([2.0 * bool(case.fields["night"]) - 1 for case in table])
    assert chance_of_no_signal(rows_of(table, wrong)) <= 0.05


def test_the_same_cases_give_the_same_answer() -> None:
    table = table_of(80, 5, cause="a little of each")
    assert chance(table) == chance(table)


def rules_from(table: CaseTable, gate: str) -> list[Induced]:
    """What the first mistakes of an empty playbook teach."""
    log_odds = np.zeros(len(table))
    found = (
        induce(case.fields, case.label, table, log_odds, gate=gate_of(gate))
        for case in list(table)[:12]
    )
    return [rule for rule in found if rule is not None]


@pytest.mark.slow
def test_few_cases_of_a_cause_teach_more_than_their_single_rules_prove() -> None:
    tables = [table_of(40, seed, cause="either and not both") for seed in range(20)]
    with_signal = sum(bool(rules_from(table, "standard")) for table in tables)
    alone = sum(bool(rules_from(table, "strict")) for table in tables)
    assert with_signal >= alone + 5


@pytest.mark.slow
def test_few_cases_of_nothing_teach_nothing() -> None:
    tables = [table_of(50, seed, cause="nothing") for seed in range(60)]
    assert sum(bool(rules_from(table, "standard")) for table in tables) <= 6


def one_by_one(table: CaseTable) -> CaseTable:
    return CaseTable(
        replace(case, known_at=f"2026-01-01T00:00:{i:06}") for i, case in enumerate(table)
    )


def test_labels_that_come_one_by_one_are_looked_at_only_at_growing_sizes() -> None:
    noise, signal = table_of(90, 1, cause="nothing"), table_of(44, 1, cause="amount")
    both = CaseTable([*noise, *(replace(case, id=f"s{case.id}") for case in signal)])
    zeros = np.zeros(len(both))
    assert has_signal(both, zeros, 0.05)
    assert not has_signal(one_by_one(both), zeros, 0.05), "the first 90 are looked at"
    assert has_signal(one_by_one(table_of(90, 1, cause="amount")), np.zeros(90), 0.05)


@pytest.mark.slow
def test_cases_that_come_all_at_once_need_less_because_they_are_tested_once() -> None:
    tables = [table_of(40, seed, cause="a little of each") for seed in range(20)]
    at_once = sum(has_signal(table, np.zeros(40), 0.05) for table in tables)
    streamed = sum(has_signal(one_by_one(table), np.zeros(40), 0.05) for table in tables)
    assert at_once > streamed


@pytest.mark.slow
def test_streams_of_noise_rarely_pass_however_often_they_are_asked() -> None:
    passed = 0
    for seed in range(60):
        stream = one_by_one(table_of(200, seed, cause="nothing"))
        sizes = range(40, 201, 10)
        passed += any(has_signal(stream.first(n), np.zeros(n), 0.05) for n in sizes)
    # At 5 % three are expected; nine would be more than three standard errors above.
    assert passed <= 8
