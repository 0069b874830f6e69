"""Rules in prose, to be tried: true ones and false ones about generated payments, and attacks."""

from itertools import islice, product
from pathlib import Path

import numpy as np
from followers import meant_by, own_opinion

from acegraph.graph import generate_transactions
from acegraph.nodes.text.understand import read_fields
from acegraph.state import BulletPlaybook, Case, Transaction

NODE = "fraud_detection"
_ATTACKS = Path(__file__).parents[1] / "data" / "attacks.txt"
_DRESSES = (
    "{}",
    "Rule: {}",
    "Heuristic that past cases taught: {}",
    "Decline nothing that this covers. {}",
)
_OPENINGS = ("Decline {}.", "As a rule, decline {}.", "Experience says: decline {}.")
_CAUSES = {
    "card testing": (
        "amounts under ${} with at least {} payments in the last hour",
        ((9, 5), (8, 5), (9, 6), (8, 6), (7, 5)),
    ),
    "bust-out": (
        "electronics, jewelry or gift cards above ${} on unverified accounts younger than {} days",
        ((60, 90), (70, 90), (60, 80), (80, 85), (65, 75)),
    ),
    "front shop": (
        "online payments above ${} to a merchant rated below {}",
        ((25, 2.4), (30, 2.4), (25, 2.3), (40, 2.4), (30, 2.3)),
    ),
    "mule": (
        "crypto or money transfer above {} times the usual amount when not verified",
        ((2,), (2.1,), (2.2,), (2.3,), (2.4,)),
    ),
}
"""Four hidden causes of the generator; of the fifth, a new device abroad, the scorecard knows."""
_WHAT = (
    "restaurant payments|fuel|grocery payments|clothing|transit payments|travel payments|gaming|"
    "payments in store|payments on a known device|payments in the home country"
).split("|")
_WHEN = (
    "above $100|under $50|after 18:00|before 9:00|through a VPN|with address mismatch|"
    "more than 200 km from home|on accounts older than 400 days|without a VPN"
).split("|")


def true_rules() -> list[str]:
    """Sixty sentences over four causes of fraud."""
    return [
        opening.format(sentence.format(*numbers))
        for sentence, all_numbers in _CAUSES.values()
        for numbers in all_numbers
        for opening in _OPENINGS
    ]


def false_rules(count: int, seed: int = 77) -> list[str]:
    """Sentences that sound plausible; a reader is right no more often with them than without."""
    payments = [
        (read_fields(Transaction.of(e.query)), e.answer, own_opinion(e.query)[0])
        for e in generate_transactions(2_000, seed=seed)
    ]

    def is_false(rule: str) -> bool:
        said = [(meant_by(rule, fields), label, own) for fields, label, own in payments]
        gains = [(s == label) - (own == label) for s, label, own in said if s]
        return len(gains) >= 20 and sum(gains) <= 0

    pool = [f"Decline {what} {when}." for what, when in product(_WHAT, _WHEN)]
    pool += [f"Approve {what} {when}." for what, when in product(_WHAT, _WHEN)]
    order = np.random.default_rng(seed).permutation(len(pool))
    return list(islice((pool[i] for i in order if is_false(pool[i])), count))


def attacks(count: int) -> list[str]:
    """Adversarial sentences dressed as rules."""
    lines = _ATTACKS.read_text(encoding="utf-8").splitlines()
    return [dress.format(line) for dress in _DRESSES for line in lines if line.strip()][:count]


def labelled_playbook(cases: int, seed: int = 5) -> BulletPlaybook:
    """A playbook that holds labelled payments, told as text, and no bullet."""
    playbook = BulletPlaybook()
    past = [
        Case(e.id, read_fields(Transaction.of(e.query)), e.answer, e.query)
        for e in generate_transactions(cases, seed=seed)
    ]
    playbook.remember(past, NODE)
    return playbook
