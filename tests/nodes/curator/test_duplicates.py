"""Duplicates, exactly as a full scan finds them; contradictions and revisions told apart."""

from difflib import SequenceMatcher

import pytest
from build_pairs import build
from hypothesis import example, given, settings
from hypothesis import strategies as st

from acegraph.nodes import Curator
from acegraph.nodes.curator.duplicates import alike, lengths_of
from acegraph.nodes.text.difference import says_the_same
from acegraph.state import BulletPlaybook

NODE = "fraud_detection"
SENTENCE = "Decline any card payment over $1,000 when the account is less than 30 days old"

words = st.sampled_from(
    [*SENTENCE.split(), "İstanbul", "ß", "naïve", "DECLINE", "支払い", "\u0130"]
)
texts = st.lists(words, min_size=1, max_size=60).map(" ".join)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts a few edits apart: those that a bound has to tell from one another."""
    text = draw(texts)
    other = text
    for _ in range(draw(st.integers(0, 6))):
        at, cut = draw(st.integers(0, len(other))), draw(st.integers(0, 12))
        other = (
            other[:at] + draw(st.sampled_from(["", "x", " not ", "eeee", "Ω"])) + other[at + cut :]
        )
    return text, other


def full_scan(candidate: str, existing: list[str], threshold: float) -> list[int]:
    return [
        i
        for i, text in enumerate(existing)
        if SequenceMatcher(None, candidate.lower(), text.lower()).ratio() > threshold
    ]


@settings(max_examples=150, deadline=None)
@given(edited(), st.lists(texts, max_size=3), st.sampled_from([0.0, 0.5, 0.85, 0.9, 1.0]))
@example(("ab" * 150, "ab" * 150), [], 0.85)  # autojunk: all characters are popular
@example(("a" * 17 + "b" * 3, "a" * 17), ["a" * 17 + "c" * 3], 0.85)  # exactly at the threshold
def test_the_text_test_answers_as_the_full_scan(
    pair: tuple[str, str], others: list[str], threshold: float
) -> None:
    candidate, existing = pair
    everybody = [existing, *others, candidate]
    lowered = [text.lower() for text in everybody]
    wanted = full_scan(candidate, everybody, threshold)
    assert alike(candidate.lower(), lowered, threshold) == wanted
    least, most = lengths_of(candidate.lower(), threshold)
    assert all(least <= len(lowered[i]) <= most for i in wanted)


@pytest.mark.slow
def test_held_out_contradictions_are_kept_and_near_duplicates_caught() -> None:
    counts: dict[str, list[int]] = {}
    for pair in build():
        if pair["half"] == "held out":
            playbook, curator = BulletPlaybook(), Curator()
            curator.merge_bullet(pair["left"], NODE, playbook)
            is_duplicate = curator.merge_bullet(pair["right"], NODE, playbook) is None
            counts.setdefault(pair["kind"], []).append(is_duplicate)
    different = counts["contradiction"] + counts["threshold"]
    assert sum(different) <= 0.02 * len(different)
    assert sum(counts["duplicate"]) >= 0.8 * len(counts["duplicate"])
    assert not any(counts["unrelated"])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Decline above $1,000", "Decline above $10,000"),
        ("Decline within 10 minutes", "Decline within 10 hours"),
        ("Decline when use is above 80%", "Decline when use is above 90%"),
        ("Decline over 5 in 100 days", "Decline over 100 in 5 days"),
        ("Decline at night but approve at noon", "Approve at night but decline at noon"),
        ("Decline no more than 5 tries", "Decline more than 5 tries"),
        ("Decline verified cards", "Decline unverified cards"),
        ("Decline transfers to Oslo", "Decline transfers from Oslo"),
        ("Decline unless a PIN was used", "Decline if a PIN was used"),
        ("A score above 0.9 means fraud", "A score above 0.5 means fraud"),
        ("A fraud score of 0.9 or more", "A fraud score of 0.5 or more"),
        ("A score>0.9 means fraud", "A score>0.5 means fraud"),
        ("Decline an amount >500", "Decline an amount <500"),
        ("A ratio over 20% is fraud", "A ratio over 80% is fraud"),
        ("Over 20% of past bills disputed", "Over 80% of past bills disputed"),
        ("Between 20% and 80% is fraud", "Between 20% and 60% is fraud"),
        ("Decline a balance below -100", "Decline a balance below 100"),
        ("Decline above 500 USD", "Decline above 500 EUR"),
        ("Decline above $500", "Decline above £500"),
        ("Decline above EUR 500", "Decline above 500 dollars"),
        ("Decline above $500 or €300", "Decline above €500 or $300"),
        ("Decline tx_last_1h above 5", "Decline tx_last_24h above 5"),
        ("Decline V14 below 5", "Decline V17 below 5"),
        ("Decline MCC5411 cards", "Decline MCC5141 cards"),
        ("拒绝超过1000元的付款", "拒绝超过2000元的付款"),
        ("拒绝超过一千元的付款", "拒绝超过两千元的付款"),
        ("Decline above 1,5 thousand", "Decline above 15 thousand"),
        ("Decline after 10 PM", "Decline after 10 AM"),
        ("Decline beyond 500 km", "Decline beyond 500 miles"),
        ("Decline cards of Iceland", "Decline cards of Ireland"),
        ("Decline hotel bookings", "Decline hostel bookings"),
        ("Decline another county", "Decline another country"),
        ("Decline merchant refunds", "Decline merchnat refunds"),
        ("Approve card reuse", "Approve card refuse"),
    ],
)
def test_sentences_that_say_something_else_are_told_apart(left: str, right: str) -> None:
    assert not says_the_same(left, right)
    assert not says_the_same(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("Decline, 80% of these are fraud", "Decline, 90% of these are fraud"),
        ("Decline, 90% are fraud", "Decline, 95% are fraud"),
        ("Decline, over 80% of these are fraud", "Decline, over 90% of these are fraud"),
        ("Decline ages 20-30", "Decline ages 20 - 30"),
        ("Decline more than ten payments", "Reject over 10 payment"),
    ],
)
def test_sentences_that_say_the_same_are_duplicates(left: str, right: str) -> None:
    assert says_the_same(left, right)
    assert says_the_same(right, left)


def test_equal_conditions_in_other_words_are_duplicates_whatever_their_texts() -> None:
    playbook, curator = BulletPlaybook(), Curator()
    rule = 'DECLINE when amount >= 1000 and vpn is true and card_country is not "US"'
    assert curator.merge_bullet(rule, NODE, playbook) == "b1"
    again = 'decline if card_country != "US" and amount >= 1,000 and vpn = true'
    assert curator.merge_bullet(again, NODE, playbook) is None
    other = 'DECLINE when amount > 1000 and vpn is true and card_country is not "US"'
    assert curator.merge_bullet(other, NODE, playbook) == "b2"
    assert playbook.get_bullet("b2").related == ("b1",)
