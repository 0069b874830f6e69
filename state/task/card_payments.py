"""The task of an empty playbook: card payments, as sentences or as fields. Data only.

Its names are an offer: a payment that uses them is understood at once. Its prior is a scorecard of
common sense, which is fitted again when cases are known.
"""

from typing import Final

from acegraph.state.task.field import Field
from acegraph.state.task.task import PriorRule, Task
from acegraph.state.values import Comparison

DEFAULT_NODE: Final = "fraud_detection"
"""The node whose task and policy count for a node that has none of its own."""
_NUMBERS: Final = {
    "usual_amount": "what the customer usually pays",
    "amount_ratio": "the amount as a multiple of the usual one",
    "account_age_days": "days since the account was opened",
    "merchant_rating": "stars, from 0 to 5",
    "tx_last_hour": "payments of the customer in the last hour",
    "tx_last_day": "payments of the customer in the last day",
    "failed_attempts": "failed attempts before this one",
    "past_disputes": "earlier disputes of the customer",
    "past_purchases": "earlier purchases at this merchant",
    "limit_share": "the amount as a share of the card's limit",
    "balance_share": "the amount as a share of the balance",
    "distance_km": "kilometres from home",
}
_FLAGS: Final = (
    "vpn new_device country_changed address_mismatch new_account verified travel_notice "
    "failed_check rush_shipping disposable_email recent_change recurring"
).split()
_WORDS: Final = ("merchant_category", "channel", "ip_country", "card_country", "shipping_country")
_TESTS: Final[tuple[tuple[str, str, str | float | bool, int], ...]] = (
    ("amount", ">=", 500, 5000),
    ("amount", ">=", 2000, 4000),
    ("amount_ratio", ">=", 4, 4000),
    ("hour", "<", 6, 4000),
    ("account_age_days", "<", 30, 8000),
    ("new_account", "is", True, 6000),
    ("vpn", "is", True, 6000),
    ("new_device", "is", True, 6000),
    ("country_changed", "is", True, 7000),
    ("address_mismatch", "is", True, 4000),
    ("failed_check", "is", True, 8000),
    ("disposable_email", "is", True, 7000),
    ("tx_last_hour", ">=", 6, 6000),
    ("failed_attempts", ">=", 3, 6000),
    ("past_disputes", ">=", 1, 6000),
    ("merchant_rating", "<", 2.5, 6000),
    ("distance_km", ">=", 1000, 3000),
    ("merchant_category", "is", "crypto", 4000),
    ("merchant_category", "is", "gift_cards", 4000),
    ("merchant_category", "is", "money_transfer", 4000),
    ("verified", "is", True, -5000),
    ("travel_notice", "is", True, -4000),
    ("recurring", "is", True, -5000),
    ("account_age_days", ">=", 1000, -3000),
)

CARD_PAYMENTS: Final = Task(
    name="card_payments",
    fields=(
        Field("amount", "number", role="amount", usual=True, least=0),
        Field("hour", "number", least=0, most=23.999, meaning="hour of the day"),
        *(Field(name, "number", meaning=meaning) for name, meaning in _NUMBERS.items()),
        *(Field(name, "flag") for name in _FLAGS),
        *(Field(name, "category") for name in _WORDS),
        Field("text", "text", meaning="the payment in words"),
    ),
    unknown="grow",
    reader="card_payments",
    prior=(
        PriorRule(-8000),
        *(PriorRule(points, Comparison(name, op, value)) for name, op, value, points in _TESTS),
    ),
    about="You are a fraud analyst of card transactions.",
)
