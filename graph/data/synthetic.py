"""A generator of card transactions with known causes, for the demo, the tests and the notebooks.

It is not real data. Five hidden causes make a transaction fraudulent, each with an exception. Some
fraud leaves no trace and some honest transactions look like fraud, so nobody can always be right;
the best possible decision is known (`Example.best_decision`). No single field gives a label away.
"""

import csv
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypedDict

import numpy as np

from acegraph.state.database.places import whole_file
from acegraph.state.values import APPROVE, DECLINE, Verdict

NATURAL_FRAUD_RATE: Final = 0.02
"""The share of fraud in the natural variant; in the balanced variant it is one half."""
_POPULATION_FRAUD_RATE: Final = 0.0515
"""The share of fraud among the transactions that `_draw` gives; a variant picks from these."""
_SAMPLE_START: Final = datetime(2025, 1, 6)
_SAMPLE_DAYS: Final = 182
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
_CATEGORY_NAMES: Final = tuple(_CATEGORIES)
_CUMULATED_SHARES: Final = np.cumsum([share for share, _ in _CATEGORIES.values()])
_COUNTRIES: Final = ("Spain", "Poland", "Canada", "Brazil", "Japan", "Kenya", "Norway", "Mexico")


class CardPayment(TypedDict):
    """The fields of a generated transaction."""

    amount: float
    usual_amount: float
    hour: int
    account_age_days: int
    merchant_category: str
    merchant_rating: float
    channel: str
    tx_last_hour: int
    distance_km: float
    new_device: bool
    vpn: bool
    country_changed: bool
    travel_notice: bool
    verified: bool
    address_mismatch: bool


@dataclass(frozen=True)
class Example:
    """One generated transaction with its label and the best decision about it."""

    id: str
    query: str
    fields: CardPayment
    answer: Verdict
    best_decision: Verdict
    """The answer that is right most often for whoever knows the causes and the share of fraud."""

    def item(self) -> dict[str, str]:
        """The example as a row of a data set: text, label, id."""
        return {"id": self.id, "query": self.query, "answer": self.answer}


def generate_transactions(
    n: int, *, seed: int = 0, fraud_rate: float = 0.5, shuffle_labels: bool = False
) -> list[Example]:
    """Generate n transactions: balanced, or with `fraud_rate=NATURAL_FRAUD_RATE` at a natural rate.

    With `shuffle_labels` the labels are assigned at random: then there is nothing to learn.
    """
    rng = np.random.default_rng([seed, 20])
    frauds = round(n * fraud_rate)
    wanted: dict[Verdict, int] = {DECLINE: frauds, APPROVE: n - frauds}
    drawn: list[tuple[CardPayment, Verdict, Verdict]] = []
    while len(drawn) < n:
        fields = _draw(rng)
        chance = _FRAUD_IF_CAUSE if any(cause(fields) for cause in CAUSES) else _FRAUD_IF_NONE
        answer: Verdict = DECLINE if rng.random() < chance else APPROVE
        if wanted[answer]:
            wanted[answer] -= 1
            drawn.append((fields, answer, _best(chance, fraud_rate)))
    order = [int(i) for i in rng.permutation(n)]
    labelled_as = [int(i) for i in rng.permutation(order)] if shuffle_labels else order
    return [
        Example(f"g{seed}-{i}", _describe(drawn[j][0], rng), drawn[j][0], drawn[k][1], drawn[j][2])
        for i, (j, k) in enumerate(zip(order, labelled_as, strict=True))
    ]


def write_sample(path: Path, rows: int, *, seed: int = 0, fraud_rate: float = 0.5) -> None:
    """Write generated transactions as a CSV with ids, customers and times in order.

    A file that exists is refused. The times tell the hour; about eight rows are of one customer.
    """
    examples = generate_transactions(rows, seed=seed, fraud_rate=fraud_rate)
    rng = np.random.default_rng([seed, 21])
    days = np.sort(rng.integers(0, _SAMPLE_DAYS, rows))
    moments = [
        _SAMPLE_START + timedelta(days=int(day), hours=e.fields["hour"], minutes=float(minute))
        for day, e, minute in zip(days, examples, rng.integers(0, 60, rows), strict=True)
    ]
    customers = rng.integers(1, max(2, rows // 8), rows)
    ordered = sorted(zip(moments, examples, customers, strict=True), key=lambda row: row[0])
    names = [name for name in CardPayment.__annotations__ if name != "hour"]
    with (
        whole_file(path, overwrite=False) as part,
        part.open("w", newline="", encoding="utf-8") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(["id", "time", "customer", *names, "is_fraud"])
        for number, (moment, example, customer) in enumerate(ordered, start=1):
            fields: Mapping[str, object] = {**example.fields}
            values = [fields[name] for name in names]
            is_fraud = int(example.answer == DECLINE)
            writer.writerow([f"p{number}", moment, f"C-{customer:05}", *values, is_fraud])


def _best(chance: float, fraud_rate: float) -> Verdict:
    """The more likely answer at the variant's share of fraud (Bayes' rule)."""
    base = _POPULATION_FRAUD_RATE
    lift = (fraud_rate / (1 - fraud_rate)) / (base / (1 - base)) if fraud_rate < 1 else math.inf
    return DECLINE if lift * chance > 1 - chance else APPROVE


def _draw(rng: np.random.Generator) -> CardPayment:
    """One transaction of the population, fraudulent or not."""
    usual = _within(8, rng.lognormal(4.0, 0.7), 900)
    amount = _within(1, usual * rng.lognormal(0.0, 1.0), 9000)
    if rng.random() < 0.04:
        amount = float(rng.uniform(1, 9))
    abroad = rng.random() < 0.11
    return {
        "amount": round(amount, 2),
        "usual_amount": round(usual, 2),
        "hour": int(rng.integers(0, 24)) if rng.random() < 0.4 else int(rng.normal(14, 4) % 24),
        "account_age_days": int(_within(1, rng.lognormal(5.9, 1.5), 5000)),
        "merchant_category": _category(rng.random()),
        "merchant_rating": round(_within(1, rng.normal(3.9, 0.8), 5), 1),
        "channel": "online" if rng.random() < 0.6 else "in_store",
        "tx_last_hour": int(1 + rng.poisson(1.1) if rng.random() < 0.8 else rng.integers(2, 12)),
        "distance_km": round(float(rng.exponential(120) + (2000 if abroad else 0)), 0),
        "new_device": bool(rng.random() < 0.12),
        "vpn": bool(rng.random() < 0.2),
        "country_changed": abroad,
        "travel_notice": bool(rng.random() < (0.35 if abroad else 0.03)),
        "verified": bool(rng.random() < 0.35),
        "address_mismatch": bool(rng.random() < 0.15),
    }


def _within(least: float, value: float, most: float) -> float:
    """A number of this range; `np.clip` is made for arrays and slow for one number."""
    return float(min(max(value, least), most))


def _category(share: float) -> str:
    """The category that this share of the payments reaches, in the order of the table."""
    at = _CUMULATED_SHARES.searchsorted(share * _CUMULATED_SHARES[-1], side="right")
    return _CATEGORY_NAMES[int(at)]


def _card_testing(p: CardPayment) -> bool:
    small_and_often = p["amount"] < 9 and p["tx_last_hour"] >= 5
    return small_and_often and p["merchant_category"] not in ("transit", "digital_services")


def _bust_out(p: CardPayment) -> bool:
    resold = p["merchant_category"] in ("electronics", "jewelry", "gift_cards")
    return resold and p["amount"] > 60 and p["account_age_days"] < 90 and not p["verified"]


def _takeover(p: CardPayment) -> bool:
    return p["new_device"] and p["country_changed"] and not p["travel_notice"]


def _front_shop(p: CardPayment) -> bool:
    poor = p["merchant_rating"] < 2.4 and p["channel"] == "online"
    return poor and p["amount"] > 25 and p["account_age_days"] < 1500


def _mule(p: CardPayment) -> bool:
    moves_money = p["merchant_category"] in ("crypto", "money_transfer")
    return moves_money and p["amount"] > 2 * p["usual_amount"] and not p["verified"]


CAUSES: Final = (_card_testing, _bust_out, _takeover, _front_shop, _mule)
"""The hidden causes. Nothing that learns may look at them."""


def _describe(payment: CardPayment, rng: np.random.Generator) -> str:
    """The transaction as a person would note it down; the wording varies, the facts do not."""

    def pick(*wordings: str) -> str:
        return wordings[int(rng.integers(len(wordings)))]

    hour = payment["hour"]
    clock = f"{hour:02d}:{int(rng.integers(60)):02d}"
    notes = _notes(payment, pick, str(rng.choice(_COUNTRIES)), rng)
    rng.shuffle(notes)
    twelve = f"{hour % 12 or 12} {'AM' if hour < 12 else 'PM'}"
    shop = _CATEGORIES[payment["merchant_category"]][1]
    where = "online" if payment["channel"] == "online" else "in store"
    amount = f"${payment['amount']:,}"
    opening = pick(
        f"Payment of {amount} {where} at {shop}, {clock}",
        f"Customer spends {amount} {where} at {shop} at {twelve}",
        f"{amount} charged {where} by {shop} at {clock}",
    )
    return f"{opening}; {'; '.join(notes)}."


def _notes(
    payment: CardPayment, pick: Callable[..., str], country: str, rng: np.random.Generator
) -> list[str]:
    age, usual = payment["account_age_days"], payment["usual_amount"]
    rating = payment["merchant_rating"]
    distance = f"{payment['distance_km']:.0f} km"
    new, known = pick("new device", "unrecognized device"), pick("known device", "usual device")
    abroad = f"connected from {country}, a different country"
    notes = [
        pick(
            f"account opened {age} days ago", f"account is {age} days old", f"{age}-day-old account"
        ),
        pick(f"average spend is ${usual}", f"usually pays about ${usual}"),
        pick(f"merchant rated {rating}", f"merchant rating {rating} out of 5"),
        f"{payment['tx_last_hour']} {pick('transactions', 'purchases')} in the last hour",
        pick(f"{distance} from home", f"{distance} from the home address"),
        new if payment["new_device"] else known,
        abroad if payment["country_changed"] else "home country",
    ]
    if payment["vpn"]:
        notes.append(pick("through a VPN", "via a proxy", "anonymous network"))
    elif rng.random() < 0.3:
        notes.append("no VPN")
    if payment["travel_notice"]:
        notes.append(pick("travel notice on file", "trip announced to the bank"))
    if payment["verified"]:
        notes.append(pick("identity verified", "3-D Secure passed"))
    if payment["address_mismatch"]:
        notes.append(pick("shipping address differs from billing", "address mismatch"))
    return notes
