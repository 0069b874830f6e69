"""The embedded embedder: it makes vectors without a model, a network or a key.

The vector of a text is the sum of fixed pseudo-random directions: one for each concept that the
text mentions and, with a lower weight, one for each word. "VPN" and "proxy" are one concept, and so
are "2-day-old account" and "new user". It knows only the vocabulary of nodes/text/lexicon.py.
"""

import hashlib
import math
import re
from functools import lru_cache
from itertools import starmap
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.text.field_patterns import FIELD_PATTERNS, MONEY
from acegraph.nodes.text.lexicon import mentions
from acegraph.nodes.text.reader import read_text
from acegraph.state.values import Fields, is_number, parse_condition

DIMENSIONS: Final = 384
_WORD_WEIGHT: Final = 0.3
_RAW_THRESHOLD: Final = 0.25
"""Above this cosine of the summed directions two texts are about the same thing, as measured on
pairs of transactions and heuristics (tests/nodes/models/test_concept_embeddings.py)."""
# A shared component of squared length c2 turns a raw cosine r into (r + c2) / (1 + c2). This c2
# moves the raw threshold to 0.5, which is the threshold that the rest of the system uses.
_SHARED: Final = 1 - 2 * _RAW_THRESHOLD
_STOP_WORDS: Final = frozenset(
    "a an and are as at be been but by can decline declined approve approved fraud fraudulent for "
    "from has have if in into is it its legit legitimate more of on or over per risk than that the "
    "then this to transaction transactions true false under user using via was when which while "
    "with within".split()
)
_LONGEST_KEPT: Final = 100
_SUFFIX = re.compile(r"(?:ing|ed|es|s|ly)$")
_WORD = re.compile(r"[a-z][a-z'-]+")


@lru_cache(maxsize=4096)
def embed(text: str) -> NDArray[np.float32]:
    """The unit vector of a text, scaled so that a cosine of 0.5 means "about the same thing"."""
    directions = list(starmap(_direction, features(text).items()))
    total = np.add.reduce(directions) if directions else np.zeros(DIMENSIONS - 1)
    length = math.sqrt(total @ total)
    vector = np.empty(DIMENSIONS)
    vector[:-1] = total / length if length > 0 else total
    vector[-1] = math.sqrt(_SHARED)
    unit = (vector / math.sqrt(vector @ vector)).astype(np.float32)
    unit.flags.writeable = False  # it is kept
    return unit


def features(text: str) -> dict[str, float]:
    """The concepts and words of a text with their weights: a concept weighs 1, a word less.

    >>> sorted(name for name, weight in features("via proxy at 3 AM").items() if weight == 1)
    ['night', 'vpn']
    """
    pairs = text.split("; ")
    if len(pairs) == 1 or not all(": " in pair for pair in pairs):
        return _features_of(text)
    weights: dict[str, float] = {}
    for pair in pairs:  # the fields of a mapping: each speaks for itself
        is_short = len(pair) <= _LONGEST_KEPT
        weights |= _features_of_pair(_without_number(pair)) if is_short else _features_of(pair)
    return weights


def _features_of(text: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for mention in mentions(text):
        weights[f"no {mention.concept}" if mention.negated else mention.concept] = 1.0
    fields = _stated_fields(text)
    for name, at_most, below, above in _BINS:
        if is_number(value := fields.get(name)):
            weights[below if value <= at_most else above] = 1.0
    weights.pop("", None)
    for word in _WORD.findall(text.lower()):
        if word not in _STOP_WORDS:
            weights.setdefault(f"word {_SUFFIX.sub('', word)}", _WORD_WEIGHT)
    return weights


_features_of_pair = lru_cache(maxsize=4096)(_features_of)  # payments have the same few


def _without_number(pair: str) -> str:
    """A pair of a name and a value; all numbers from which nothing is read become one.

    0 is the answer no, and stays.
    """
    name, _, value = pair.partition(": ")
    is_number = value.replace(".", "", 1).isdigit() and value[0] != "0"
    return f"{name}: 5" if is_number and not _states_a_field(f"{name}: 5") else pair


@lru_cache(maxsize=4096)
def _states_a_field(pair: str) -> bool:
    return any(one.pattern.search(pair) for one in (MONEY, *FIELD_PATTERNS))


def _stated_fields(text: str) -> Fields:
    """The fields that a text states; a condition states each bound as the value of its field."""
    condition = parse_condition(text)
    if condition is None:
        return read_text(text)
    stated: Fields = {}
    for c in condition.comparisons:
        if is_number(c.value):
            stated[c.field] = c.value - 1e-9 if c.op == "<" else c.value
    return stated


_BINS: Final = (
    ("account_age_days", 60, "new_account", "established"),
    ("hour", 5, "night", ""),
    ("amount", 20, "small amount", ""),
    ("amount", 400, "", "large amount"),
    ("tx_last_hour", 3, "", "velocity"),
    ("distance_km", 200, "", "distance"),
    ("merchant_rating", 3, "rating", ""),
    ("past_disputes", 0, "", "disputes"),
    ("amount_ratio", 3, "", "usual"),
)
"""The concepts that numbers stand for: a young account, a night hour, a large amount."""


@lru_cache(maxsize=65536)
def _direction(feature: str, weight: float) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")
    direction = np.random.default_rng(seed).standard_normal(DIMENSIONS - 1)
    return np.asarray(weight * (direction / np.linalg.norm(direction)))
