"""A generator of card transactions with known causes, for the demo, the tests and the notebooks.

Not real data. Five hidden causes make a transaction fraudulent, each with an exception; some fraud
leaves no trace at all and some transactions that look like it are honest, so that nobody can be
always right, and how right one can be is known (`best_decision`). No field decides alone and no
name gives a label away.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from acegraph.state import APPROVE, DECLINE, Verdict

NATURAL_FRAUD_RATE: Final = 0.02
"""The share of fraud in the natural variant; the balanced one has half."""
_POPULATION_FRAUD_RATE: Final = 0.0515
"""Share of fraud among the transactions that `_draw` gives, before any variant takes its share."""
_FRAUD_IF_CAUSE: Final = 0.90
_FRAUD_IF_NONE: Final = 0.004


_CATEGORIES: Final = {
    "grocery": (0.17, "a supermarket"),
    "restaurant": (0.13, "a restaurant"),
    "electronics": (0.11, "an electronics store"),
    "clothing": (0.10, "a clothing shop"),
    "fuel": (0.08, "a gas station"),
    "digital_services": (0.08, "a streaming service"),
    "transit": (0.07, "a taxi app"),
    "travel": (0.07, "a hotel"),
    "gaming": (0.05, "a gaming platform"),
    "gift_cards": (0.04, "a gift card reseller"),
    "jewelry": (0.03, "a jewelry shop"),
    "crypto": (0.04, "a crypto exchange"),
    "money_transfer": (0.03, "a money transfer service"),
}
_COUNTRIES: Final = ("Spain", "Poland", "Canada", "Brazil", "Japan", "Kenya", "Norway", "Mexico")


@dataclass(frozen=True)
class Example:
    """One generated transaction with its label and what a perfect judge of it would say."""

    id: str
    query: str
    fields: dict[str, Any]
    answer: Verdict
    best_decision: Verdict
    """The answer that is right most often, knowing the causes and the share of fraud."""

    def item(self) -> dict[str, Any]:
        """The form a data set has: text, label, id."""
        return {"id": self.id, "query": self.query, "answer": self.answer}


def generate_transactions(
    n: int, *, seed: int = 0, fraud_rate: float = 0.5, shuffle_labels: bool = False
) -> list[Example]:
    """Generate n transactions: balanced, or with `fraud_rate=NATURAL_FRAUD_RATE` at a natural rate.

    With `shuffle_labels` the labels are dealt out at random: then there is nothing to learn.
    """
    rng = np.random.default_rng([seed, 20])
    frauds = round(n * fraud_rate)
    wanted: dict[Verdict, int] = {DECLINE: frauds, APPROVE: n - frauds}
    drawn: list[tuple[dict[str, Any], Verdict, Verdict]] = []
    while len(drawn) < n:
        fields = _draw(rng)
        chance = _FRAUD_IF_CAUSE if any(cause(fields) for cause in CAUSES) else _FRAUD_IF_NONE
        answer: Verdict = DECLINE if rng.random() < chance else APPROVE
        if wanted[answer]:
            wanted[answer] -= 1
            drawn.append((fields, answer, _best(chance, fraud_rate)))
    order = [int(i) for i in rng.permutation(n)]
    dealt = [int(i) for i in rng.permutation(order)] if shuffle_labels else order
    return [
        Example(f"g{seed}-{i}", _describe(drawn[j][0], rng), drawn[j][0], drawn[k][1], drawn[j][2])
        for i, (j, k) in enumerate(zip(order, dealt, strict=True))
    ]


def _best(chance: float, fraud_rate: float) -> Verdict:
    """The more likely answer once the variant has changed the share of fraud (Bayes' rule)."""
    base = _POPULATION_FRAUD_RATE
    lift = (fraud_rate / (1 - fraud_rate)) / (base / (1 - base)) if fraud_rate < 1 else math.inf
    return DECLINE if lift * chance > 1 - chance else APPROVE


def _draw(rng: np.random.Generator) -> dict[str, Any]:
    """One transaction of the population, fraudulent or not."""
    usual = float(np.clip(rng.lognormal(4.0, 0.7), 8, 900))
    amount = float(np.clip(usual * rng.lognormal(0.0, 1.0), 1, 9000))
    if rng.random() < 0.04:
        amount = float(rng.uniform(1, 9))
    abroad = rng.random() < 0.11
    shares = np.array([share for share, _ in _CATEGORIES.values()])
    return {
        "amount": round(amount, 2),
        "usual_amount": round(usual, 2),
        "hour": int(rng.integers(0, 24)) if rng.random() < 0.4 else int(rng.normal(14, 4) % 24),
        "account_age_days": int(np.clip(rng.lognormal(5.9, 1.5), 1, 5000)),
        "merchant_category": str(rng.choice(list(_CATEGORIES), p=shares / shares.sum())),
        "merchant_rating": round(float(np.clip(rng.normal(3.9, 0.8), 1, 5)), 1),
        "channel": "online" if rng.random() < 0.6 else "in_store",
        "tx_last_hour": int(1 + rng.poisson(1.1))
        if rng.random() < 0.8
        else int(rng.integers(2, 12)),
        "distance_km": round(float(rng.exponential(120) + (2000 if abroad else 0)), 0),
        "new_device": bool(rng.random() < 0.12),
        "vpn": bool(rng.random() < 0.2),
        "country_changed": abroad,
        "travel_notice": bool(rng.random() < (0.35 if abroad else 0.03)),
        "verified": bool(rng.random() < 0.35),
        "address_mismatch": bool(rng.random() < 0.15),
    }


def _card_testing(f: dict[str, Any]) -> bool:
    small_and_often = f["amount"] < 9 and f["tx_last_hour"] >= 5
    return bool(small_and_often and f["merchant_category"] not in ("transit", "digital_services"))


def _bust_out(f: dict[str, Any]) -> bool:
    resold = f["merchant_category"] in ("electronics", "jewelry", "gift_cards")
    return bool(f["account_age_days"] < 90 and resold and f["amount"] > 60 and not f["verified"])


def _takeover(f: dict[str, Any]) -> bool:
    return bool(f["new_device"] and f["country_changed"] and not f["travel_notice"])


def _front_shop(f: dict[str, Any]) -> bool:
    poor = f["merchant_rating"] < 2.4 and f["channel"] == "online"
    return bool(poor and f["amount"] > 25 and f["account_age_days"] < 1500)


def _mule(f: dict[str, Any]) -> bool:
    moves_money = f["merchant_category"] in ("crypto", "money_transfer")
    return bool(moves_money and f["amount"] > 2 * f["usual_amount"] and not f["verified"])


CAUSES: Final[tuple[Callable[[dict[str, Any]], bool], ...]] = (
    _card_testing,
    _bust_out,
    _takeover,
    _front_shop,
    _mule,
)
"""The hidden causes. Nothing that learns may look at them."""


def _describe(f: dict[str, Any], rng: np.random.Generator) -> str:
    """The transaction as a person would note it down; the wording varies, the facts do not."""

    def pick(*wordings: str) -> str:
        return wordings[int(rng.integers(len(wordings)))]

    hour, age = f["hour"], f["account_age_days"]
    clock = f"{hour:02d}:{int(rng.integers(60)):02d}"
    twelve = f"{hour % 12 or 12} {'AM' if hour < 12 else 'PM'}"
    shop = _CATEGORIES[f["merchant_category"]][1]
    where = "online" if f["channel"] == "online" else "in store"
    country = str(rng.choice(_COUNTRIES))
    usual, rating, distance = f["usual_amount"], f["merchant_rating"], f"{f['distance_km']:.0f} km"
    new_device = pick("new device", "unrecognized device")
    old_device = pick("known device", "usual device")
    notes = [
        pick(
            f"account opened {age} days ago", f"account is {age} days old", f"{age}-day-old account"
        ),
        pick(f"average spend is ${usual}", f"usually pays about ${usual}"),
        pick(f"merchant rated {rating}", f"merchant rating {rating} out of 5"),
        f"{f['tx_last_hour']} {pick('transactions', 'purchases')} in the last hour",
        pick(f"{distance} from home", f"{distance} from the home address"),
        new_device if f["new_device"] else old_device,
        f"connected from {country}, a different country"
        if f["country_changed"]
        else "home country",
    ]
    if f["vpn"]:
        notes.append(pick("through a VPN", "via a proxy", "anonymous network"))
    elif rng.random() < 0.3:
        notes.append("no VPN")
    if f["travel_notice"]:
        notes.append(pick("travel notice on file", "trip announced to the bank"))
    if f["verified"]:
        notes.append(pick("identity verified", "3-D Secure passed"))
    if f["address_mismatch"]:
        notes.append(pick("shipping address differs from billing", "address mismatch"))
    rng.shuffle(notes)
    opening = pick(
        f"Payment of ${f['amount']:,} {where} at {shop}, {clock}",
        f"Customer spends ${f['amount']:,} {where} at {shop} at {twelve}",
        f"${f['amount']:,} charged {where} by {shop} at {clock}",
    )
    return f"{opening}; {'; '.join(notes)}."
