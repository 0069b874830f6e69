"""The skeleton of a text, which is how it looks to a reader, and the personal data in it.

Look-alike letters, accents, widths and capitals make no difference to a skeleton. This module knows
nothing of bullets or playbooks.
"""

import re
import unicodedata
from typing import Final

from acegraph.state.values import LOOKALIKES, clean_text

_KINDS: Final = {
    "an IBAN": r"\b[a-z]{2}\d{2}(?: (?=[a-z]*\d)[a-z\d]{4}){2,7}",
    "a card number": r"(?<!\d)(?<!\d[.,])\d(?:[ \-–/]?\d){12,18}(?!\d)",
    "an e-mail address": (
        r"[\w.+-]\s?(?:@|\(at\)|\[at\])\s?[\w-]+(?:\s?\.\s?\w{2,}|\s?(?:\(|\[)dot)"
    ),
    "an IP address": (
        r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])|\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f:]+\b"
    ),
    "a phone number": (
        r"(?:\+|\b00)\d(?:[ .()\-/]{0,2}\d){7,14}|\b\(?\d{3}\)?[ .\-]\d{3}[ .\-]\d{4}\b"
    ),
    "a long row of digits": r"(?<![\d.,])\d{9,}|(?<![\d.,])\d(?:[ \-]\d){8,}",
    "an identifier": r"\b(?=[a-z\d]*\d)(?=[a-z\d]*[a-z])[a-z\d]{12,}\b",
}
_PATTERNS: Final = {kind: re.compile(pattern) for kind, pattern in _KINDS.items()}


def skeleton(text: str) -> str:
    """What a text looks like, in plain lower-case letters.

    >>> skeleton("P" + chr(0x430) + "ypal, Café")  # a Cyrillic letter, an accent
    'paypal, cafe'
    """
    folded = unicodedata.normalize("NFKC", clean_text(text)).casefold().translate(LOOKALIKES)
    parts = unicodedata.normalize("NFD", folded)
    bare = "".join(c for c in parts if unicodedata.category(c) != "Mn").translate(LOOKALIKES)
    # Digits of other scripts become ASCII digits.
    return "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in bare)


def words_of(text: str) -> list[str]:
    """The words of a skeleton."""
    return re.findall(r"[^\W_]+", text)


def personal_data(text: str) -> str | None:
    """The first kind of personal identifier that a skeleton contains, or None.

    >>> personal_data("decline card 4111 1111 1111 1111")
    'a card number'
    >>> personal_data("decline when amount >= 0.3333333333") is None
    True
    """
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.search(text)), None)
