"""Names and ids without their spelling: other capitals, accents, widths, signs between."""

import unicodedata
from functools import lru_cache
from typing import Final

from acegraph.state.values.transaction import is_derived

LOOKALIKES: Final = str.maketrans(
    "авсеһнікӏјкмпорԛѕтуѵԝхуԁɡҽɩ" + "αβεηικνορτυχωγϲϳ" + "օսհոցզ" + "ıłøđħŧɑʀꜱ" + "ǀ∣",
    "abcehhikljkmnopqstyvwxydgei" + "abenikvoptuxwycj" + "ounngq" + "ilodhtars" + "ll",
)
"""Letters of other alphabets that look like Latin ones, after case folding."""
_SIGNS: Final = {number: None for number in range(128) if not chr(number).isalnum()}


def folded(text: str) -> str:
    """The letters and digits of a text, in plain small ones; the hashes of stored ids are over it.

    >>> folded("C-7, Café")
    'c7cafe'
    """
    if text.isascii():
        return text.lower().translate(_SIGNS)
    return "".join(map(_plain, text))


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    """A character as letters and digits that look like it, or nothing."""
    if character.isascii():
        return character.lower() if character.isalnum() else ""
    folded = unicodedata.normalize("NFKC", character).casefold().translate(LOOKALIKES)
    bare = unicodedata.normalize("NFKD", folded).translate(LOOKALIKES)
    digits = (str(unicodedata.digit(c)) if c.isdigit() else c for c in bare)
    return "".join(c for c in digits if c.isalnum())


@lru_cache(maxsize=4096)
def names_of(path: str) -> frozenset[str]:
    """What a field may be called: its path, and every run of steps of it, folded.

    >>> sorted(names_of("payer.customerId"))
    ['customerid', 'payer', 'payercustomerid']
    """
    if is_derived(path):  # what it says of a customer is not their id
        return frozenset({folded(path)})
    steps = [folded(step) for step in path.split(".")]
    ends = range(1, len(steps) + 1)
    return frozenset("".join(steps[i:j]) for j in ends for i in range(j)) - {""}


def is_named(path: str, name: str) -> bool:
    """Whether a field is meant by a name: `card_number` also means `cardNumber` and `card.number`.

    >>> is_named("payer.customerId", "customer_id"), is_named("customer_id_type", "customer_id")
    (True, False)
    """
    return folded(name) in names_of(path)
