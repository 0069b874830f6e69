"""The lexicon: which phrases of a transaction or a heuristic mean the same concept.

reader.py takes its flags from here, nodes/models/concept_embeddings.py its concepts. The lexicon
knows no verdicts: it says that a VPN is mentioned; scorecard and bullets say whether that is bad.
"""

import re
from functools import cache, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

FLAGS: Final[dict[str, tuple[str, ...]]] = {
    "vpn": (
        "vpn", "proxy", "proxies", "tor exit", "tor network", "tor browser", "anonymizer", "anonymiser",
        "anonymous network", "anonymized connection", "masked ip", "hidden ip", "hosting provider ip",
        "data center ip", "datacenter ip", "residential relay",
    ),
    "new_device": (
        "new device", "unrecognized device", "unrecognised device", "unknown device", "unfamiliar device",
        "device never seen", "device not seen before", "first-time device", "first use of this device",
        "new phone", "new browser", "unrecognized browser", "unregistered device",
    ),
    "country_changed": (
        "different country", "another country", "country mismatch", "foreign ip", "foreign country",
        "ip from abroad", "from abroad", "overseas ip", "outside the home country", "cross-border",
        "geolocation mismatch", "impossible travel", "country differs", "countries differ",
    ),
    "address_mismatch": (
        "address mismatch", "addresses differ", "address differs", "shipping address differs",
        "billing mismatch", "avs mismatch", "avs failed", "different shipping address",
        "ship-to differs", "shipping and billing addresses do not match",
    ),
    "new_account": (
        "new account", "new user", "new customer", "newly created account", "newly opened account",
        "account just opened", "account just created", "first-time customer", "fresh account",
        "recently created account", "recently opened account", "brand-new account", "first purchase",
        "opened today", "opened yesterday", "created today", "created yesterday",
    ),
    "verified": (
        "identity verified", "verified identity", "verified customer", "3-d secure passed",
        "3ds passed", "3-d secure authenticated", "two-factor passed", "two-factor confirmed",
        "strong authentication passed", "passed strong authentication", "otp confirmed",
        "biometric confirmed", "document check passed", "kyc complete",
    ),
    "travel_notice": (
        "travel notice", "travel notification", "travel plan on file", "announced trip",
        "trip announced", "told the bank about the trip", "declared travel",
    ),
    "failed_check": (
        "cvv mismatch", "cvv failed", "wrong cvv", "wrong pin", "pin failed", "failed authentication",
        "failed login", "failed logins", "authentication failed", "failed verification",
    ),
    "rush_shipping": (
        "express shipping", "overnight shipping", "next-day delivery", "rush delivery",
        "expedited shipping", "same-day delivery",
    ),
    "disposable_email": (
        "disposable email", "temporary email", "throwaway email", "disposable e-mail",
        "temporary e-mail", "burner email",
    ),
    "recent_change": (
        "password was changed", "password changed", "password reset", "address was changed",
        "phone number was changed", "recent profile change", "contact details changed",
        "e-mail changed", "email changed", "sim swap",
    ),
    "recurring": (
        "recurring payment", "recurring charge", "subscription renewal", "standing order",
        "monthly subscription", "saved merchant", "regular merchant", "has paid this merchant before",
    ),
}  # fmt: skip
"""The flags of a transaction: for each field, the phrases that set it."""
OPPOSITES: Final[dict[str, tuple[str, ...]]] = {
    "new_device": (
        "known device", "usual device", "trusted device", "recognized device", "recognised device",
        "registered device", "own device", "same device as always",
    ),
    "country_changed": ("home country", "domestic ip", "same country", "usual country"),
    "address_mismatch": ("addresses match", "address matches", "avs match", "same shipping address"),
    "new_account": ("established account", "long-standing customer", "loyal customer"),
    "verified": ("unverified", "identity not checked"),
}  # fmt: skip
"""Phrases that say that a flag is not set."""
CATEGORIES: Final[dict[str, tuple[str, ...]]] = {
    "electronics": ("electronics", "electronic goods", "laptop", "laptops", "smartphone", "computer"),
    "crypto": ("crypto", "cryptocurrency", "bitcoin", "crypto exchange", "digital currency"),
    "gift_cards": ("gift card", "gift cards", "giftcard", "prepaid card", "prepaid cards", "voucher"),
    "grocery": ("grocery", "groceries", "supermarket", "food market"),
    "restaurant": ("restaurant", "cafe", "coffee shop", "food delivery", "diner"),
    "travel": ("airline", "hotel", "travel agency", "flight", "flights", "travel booking"),
    "fuel": ("gas station", "petrol station", "fuel", "gasoline"),
    "clothing": ("clothing", "fashion", "apparel", "shoes"),
    "jewelry": ("jewelry", "jewellery", "jeweler", "luxury watch", "watches"),
    "gaming": ("gaming", "video game", "game credits", "in-game"),
    "gambling": ("gambling", "betting", "casino", "sportsbook"),
    "pharmacy": ("pharmacy", "drugstore", "medicine"),
    "digital_services": ("streaming", "software subscription", "digital service", "app store"),
    "transit": ("transit", "train ticket", "bus ticket", "ride hailing", "taxi", "parking"),
    "money_transfer": ("wire transfer", "money transfer", "remittance", "bank transfer"),
    "household": ("furniture", "home improvement", "hardware store", "appliance", "appliances"),
}  # fmt: skip
"""The kinds of merchants."""
CHANNELS: Final[dict[str, tuple[str, ...]]] = {
    "in_store": ("in store", "in-store", "chip", "contactless", "card present", "point of sale", "pos"),
    "online": ("online", "e-commerce", "ecommerce", "web shop", "card not present", "website"),
    "phone": ("by phone", "telephone order", "phone order"),
    "atm": ("atm", "cash machine", "cash withdrawal"),
}  # fmt: skip
TOPICS: Final[dict[str, tuple[str, ...]]] = {
    "amount": ("amount", "price", "value", "purchase of", "usd", "dollar", "dollars", "spend",
               "spending", "cost"),
    "large amount": ("large purchase", "expensive", "high-value", "high value", "big-ticket",
                     "large sum", "costly"),
    "small amount": ("small payments", "small purchases", "tiny amount", "micro", "low-value",
                     "few dollars"),
    "velocity": ("velocity", "per hour", "last hour", "rapid", "burst", "in a row", "repeated",
                 "many transactions", "transactions in", "attempts", "frequency", "in quick succession",
                 "tx_last_hour", "tx_last_day", "minutes apart", "card testing"),
    "night": ("night", "midnight", "late hours", "small hours", "early morning", "after dark",
              "unusual hour", "odd hour", "night-time", "hour"),
    "account_age": ("account age", "account_age_days", "days old", "day-old", "age of the account",
                    "opened", "tenure", "years old", "months old"),
    "distance": ("distance", "far from home", "km from", "miles from", "distance_km", "far away"),
    "rating": ("rating", "rated", "stars", "reviews", "reputation", "merchant_rating"),
    "disputes": ("dispute", "disputes", "chargeback", "chargebacks", "fraud report", "fraud reports",
                 "past_disputes", "complaints"),
    "usual": ("usual spend", "average", "typical", "normal spend", "amount_ratio", "usual_amount",
              "times the usual", "out of pattern"),
    "country": ("country", "nigeria", "romania", "russia", "china", "brazil", "overseas", "abroad",
                "foreign", "geolocation", "location"),
}  # fmt: skip
"""The topics of a sentence, for the embedder; the name of a topic counts as one of its phrases."""
_FILLER = r"(?:\W{1,3}(?:a|an|the|any|via|from|using|on|of|use|in|through|been|for)){0,4}"
_NEGATION = re.compile(
    rf"\b(?:no|not|without|never|zero|\w+n't|cannot|nor|neither|nothing)\b{_FILLER}"
    rf"(?:\W{{1,3}}\w+)?{_FILLER}\W*$"
)
"""A negation with at most one meaningful word between it and what it denies."""
_CLAUSE = re.compile(r"[.;,!?]|\bbut\b|\band\b|\bnot only\b")
_DENIAL = re.compile(
    r"\s*(?:[:=]\s*|(?:is|was|has|had)\s+)?"
    r"(?:no|n|false|not|never|none|0|off|disabled|inactive|(?:is|was|has|had|did|does)n't)\b"
)
_SEPARATORS: Final = re.compile(r"[\s_-]+")
_LOOK_BACK: Final = 60
_LONGEST_KEPT: Final = 100


class Mention(NamedTuple):
    """One concept that a text mentions, with the phrase and its place."""

    group: str
    concept: str
    phrase: str
    start: int
    negated: bool


def _joined(phrase: str) -> str:
    """The phrase with spaces, whether it was written "new device", "new-device" or "new_device"."""
    return phrase if phrase.isalnum() else _SEPARATORS.sub(" ", phrase)


@cache
def _index() -> dict[str, tuple[str, str, bool]]:
    """By phrase: its group, its concept, whether it denies the concept; the first group wins."""
    index: dict[str, tuple[str, str, bool]] = {}
    groups = (
        ("flag", FLAGS, False),
        ("flag", OPPOSITES, True),
        ("category", CATEGORIES, False),
        ("channel", CHANNELS, False),
        ("topic", TOPICS, False),
    )
    for group, concepts, opposite in groups:
        for concept, phrases in concepts.items():
            for phrase in (*phrases, concept):
                index.setdefault(_joined(phrase), (group, concept, opposite))
    return index


@cache
def _pattern() -> re.Pattern[str]:
    """The pattern of all phrases, the longest first; compiled at its first use: that takes long.

    Phrases that begin alike stand together: so most are skipped at once.
    """
    phrases = sorted(_index(), key=lambda phrase: (phrase[:2], -len(phrase)))
    written = (
        "|".join(re.escape(phrase).replace(r"\ ", r"[\s_-]+") for phrase in alike)
        for _, alike in groupby(phrases, key=itemgetter(slice(2)))
    )
    return re.compile(rf"(?<![\w-])({'|'.join(f'(?:{ways})' for ways in written)})s?(?!\w)")


@lru_cache(maxsize=256)  # reader and embedder ask for the same text
def mentions(text: str) -> tuple[Mention, ...]:
    """Every concept that a text mentions; "no VPN" and "VPN: no" are negated mentions.

    >>> [(m.concept, m.negated) for m in mentions("no proxy, but a new device")]
    [('vpn', True), ('new_device', False)]
    """
    all_mentions, start = [], 0
    for part in text.split(";"):  # no phrase and no negation goes across it
        mentioned = _mentions_in if len(part) <= _LONGEST_KEPT else _mentions_in.__wrapped__
        for group, concept, phrase, at, negated in mentioned(part):
            all_mentions.append(Mention(group, concept, phrase, at + start, negated))
        start += len(part) + 1
    return tuple(all_mentions)


@lru_cache(maxsize=4096)  # the fields of payments have the same few values
def _mentions_in(part: str) -> tuple[Mention, ...]:
    lowered, all_mentions = part.lower().replace("’", "'"), []
    for match in _pattern().finditer(lowered):
        group, concept, opposite = _index()[_joined(match[1])]
        before = lowered[max(0, match.start() - _LOOK_BACK) : match.start()]
        clause = _CLAUSE.split(before)[-1]
        is_after = clause.strip() and _NEGATION.search(clause)
        denied = bool(is_after) or bool(_DENIAL.match(lowered, match.end()))
        all_mentions.append(Mention(group, concept, match[1], match.start(), denied != opposite))
    return tuple(all_mentions)
