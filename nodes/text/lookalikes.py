"""The skeleton of a text, which is how it looks to a reader, and the personal data in it.

Look-alike letters, accents, widths and capitals make no difference to a skeleton. This module knows
nothing of bullets or playbooks.
"""

import re
import unicodedata
from collections.abc import Iterator

from acegraph.state.values.texts import LOOKALIKES
from acegraph.state.values.transaction import clean_text

_CARD = re.compile(r"(?<!\d)\d(?:[ .\-–/]?\d){12,18}(?!\d)")
_IBAN = re.compile(r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]){11,30}\b")
_EMAIL = re.compile(r"[\w.+-]\s?(?:@|\(at\)|\[at\])\s?[\w-]+(?:\s?\.\s?\w{2,}|\s?(?:\(|\[)dot)")
_IP = re.compile(
    r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])|\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f:]+\b"
)
_PHONE = re.compile(
    r"(?:\+|\b00)\d(?:[ .()\-/]{0,2}\d){7,14}|\b\(?\d{3}\)?[ .\-]\d{3}[ .\-]\d{4}\b"
)
_DIGITS = re.compile(r"(?<![\d.,])\d{9,}|(?<![\d.,])\d(?:[ \-]\d){8,}")
_TOKEN = re.compile(r"\b(?=[a-z\d]*\d)(?=[a-z\d]*[a-z])[a-z\d]{12,}\b")


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
    return next((kind for kind, is_present in _kinds(text) if is_present), None)


def _kinds(text: str) -> Iterator[tuple[str, bool]]:
    """Every kind of identifier, and whether the text contains one."""
    yield "a card number", any(_is_card(match[0]) for match in _CARD.finditer(text))
    yield "an IBAN", any(_is_iban(match[0]) for match in _IBAN.finditer(text))
    yield "an e-mail address", bool(_EMAIL.search(text))
    yield "an IP address", bool(_IP.search(text))
    yield "a phone number", bool(_PHONE.search(text))
    yield "a long row of digits", bool(_DIGITS.search(text))
    yield "an identifier", bool(_TOKEN.search(text))


def _is_card(text: str) -> bool:
    """Whether the digits pass Luhn's check.

    >>> _is_card("4111-1111-1111-1111"), _is_card("4111-1111-1111-1112")
    (True, False)
    """
    digits = [int(c) for c in text if c.isdigit()]
    doubled = [d if i % 2 == 0 else (2 * d - 9 * (d > 4)) for i, d in enumerate(digits[::-1])]
    return sum(doubled) % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether a text begins with an IBAN (ISO 13616: its remainder by 97 is 1)."""
    plain = text.replace(" ", "")
    for length in range(min(len(plain), 34), 14, -1):
        moved = plain[4:length] + plain[:4]
        if int("".join(str(int(c, 36)) for c in moved)) % 97 == 1:
            return True
    return False
