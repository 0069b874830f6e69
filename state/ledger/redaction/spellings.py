"""One value in its many spellings, found in a text: other capitals, accents, widths, signs between.

"Anna Müller" is also MUELLER, ANNA; a card number is the same with spaces, dots or dashes. This
module compares letters and digits only. What is done with a value that was found is not known here.
"""

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from acegraph.state.values.transaction import is_derived

LOOKALIKES: Final = str.maketrans(
    "авсеһнікӏјкмпорԛѕтуѵԝхуԁɡҽɩ" + "αβεηικνορτυχωγϲϳ" + "օսհոցզ" + "ıłøđħŧɑʀꜱ" + "ǀ∣",
    "abcehhikljkmnopqstyvwxydgei" + "abenikvoptuxwycj" + "ounngq" + "ilodhtars" + "ll",
)
"""Letters of other alphabets that look like Latin ones, after case folding."""
LONG: Final = 6
"""From so many letters and digits on, up to three other signs may stand between any two."""
_WIDEST_GAP: Final = 3
_LONG_NUMBER: Final = 7
"""A number of so many digits names somebody also where a letter touches it."""
_MOST_WORDS: Final = 4
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_WRITTEN_UMLAUT = re.compile("(?<=[aou])e")
_SIGNS: Final = {number: None for number in range(128) if not chr(number).isalnum()}
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


class Folded:
    """The letters and digits of a text, in plain small ones, and where each of them stands."""

    def __init__(self, whole: str) -> None:
        self.whole = whole
        self.plain = folded(whole)

    @cached_property
    def places(self) -> list[int]:
        """For each plain sign, where it stands in the whole text."""
        return [place for place, c in enumerate(self.whole) for _ in _plain(c)]

    @cached_property
    def breaks(self) -> list[int]:
        """The plain signs before which too many other signs stand for one spelling."""
        steps = enumerate(pairwise(self.places), start=1)
        return [i for i, (left, right) in steps if right - left > 1 + _WIDEST_GAP]


def folded(text: str) -> str:
    """The letters and digits of a text, in plain small ones.

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


class Spelling:
    """A value as it may be spelt elsewhere."""

    def __init__(self, value: str, *, as_name: bool = False) -> None:
        """With `as_name` it is found only where it begins with a capital."""
        self.value, self._as_name = value, as_name
        own = Folded(value)
        self.size = len(own.plain)
        self.forms = _forms(value)
        """Its letters and digits in all readings."""
        self._gaps = (
            {i for i in range(1, self.size) if own.places[i] - own.places[i - 1] > 1}
            if len(value) > self.size
            else set()
        )

    def equals(self, value: str) -> bool:
        """Whether a value is this one, differently spelt."""
        return folded(value) in self.forms

    def spans(self, text: Folded) -> Iterator[tuple[int, int]]:
        """Where the value stands in a text."""
        for form in self.forms:
            start = text.plain.find(form)
            period = _period(form) if start >= 0 else 0
            once_more = form[-period:]
            while start >= 0:
                end = start + len(form)
                if self._is_whole(text, start, end):
                    yield text.places[start], _end(text.whole, text.places[end - 1] + 1)
                start += period
                if not text.plain.startswith(once_more, end):
                    start = text.plain.find(form, start)

    def _is_whole(self, text: Folded, start: int, end: int) -> bool:
        """Whether a match is a word of its own, and not made up of scattered pieces."""
        places = text.places
        first, last = places[start], places[end - 1]
        if self._as_name and text.whole[first].islower():
            return False
        is_near = bisect_right(text.breaks, start) == bisect_left(text.breaks, end)
        if self.size < LONG:
            steps = ((i - start, places[i] - places[i - 1]) for i in range(start + 1, end))
            is_near = is_near and all(step <= 1 or i in self._gaps for i, step in steps)
        before = text.whole[first - 1] if first else " "
        after = text.whole[last + 1] if last + 1 < len(text.whole) else " "
        inside = (text.plain[start], text.plain[end - 1])
        return is_near and not any(map(self._touches, (before, after), inside))

    def _touches(self, beside: str, edge: str) -> bool:
        """Whether a neighbour makes the value a part of a longer word or number."""
        if edge.isdigit() and self.size >= _LONG_NUMBER:
            return beside.isdigit()
        # Scripts without capitals often have no spaces between words either.
        is_edge = edge.isdigit() or edge.lower() != edge.upper()
        return is_edge and (beside.isalnum() or (beside == "_" and not self._gaps))


def _period(form: str) -> int:
    """The least distance of two places in a text at both of which the form can stand.

    >>> _period("abab"), _period("abc")
    (2, 3)
    """
    borders = [0]  # of each beginning, how much of its end is its own beginning
    for sign in form[1:]:
        border = borders[-1]
        while border and sign != form[border]:
            border = borders[border - 1]
        borders.append(border + (sign == form[border]))
    return len(form) - borders[-1]


def _forms(value: str) -> list[str]:
    """The plain signs of a value in all its readings, the longest first."""
    small = value.casefold()
    words = small.split()
    readings = {small}
    if 1 < len(words) <= _MOST_WORDS and all(map(_is_word, words)):
        readings |= {" ".join(words[::-1]), " ".join(words[1:] + words[:1])}
    if not small.isascii():
        readings |= {unicodedata.normalize("NFC", text).translate(_UMLAUTS) for text in readings}
    forms = set(map(folded, readings))
    forms |= {_WRITTEN_UMLAUT.sub("", form) for form in forms if len(form) >= LONG}
    return sorted(filter(None, forms), key=len, reverse=True)


def parts_of_name(value: str) -> list[Spelling]:
    """The words of a name of several words; each is found where it begins with a capital."""
    words = value.split()
    is_name = 1 < len(words) <= _MOST_WORDS and all(_is_word(w) and not w.islower() for w in words)
    return [Spelling(w, as_name=True) for w in words if len(w) > 2] if is_name else []


def replaced(text: str, spellings: Iterable[tuple[Spelling, str]]) -> str:
    """A text with another one in the place of each value, also where it is escaped.

    >>> replaced("for Müller, ANNA", [(Spelling("Anna Mueller"), "***")])
    'for ***'
    """
    pairs = list(spellings)
    new = _replaced(text, pairs)
    decoded = _decoded(new)
    if decoded != new and (clear := _replaced(decoded, pairs)) != decoded:
        return clear
    return new


def _replaced(text: str, pairs: list[tuple[Spelling, str]]) -> str:
    whole = Folded(text)
    found = sorted(
        (start, -end, instead)
        for spelling, instead in pairs
        for start, end in spelling.spans(whole)
    )
    if not found:
        return text
    parts, done = [], 0
    for start, end, instead in found:
        if start >= done:
            parts += [text[done:start], instead]
        done = max(done, -end)
    return "".join([*parts, text[done:]])


def _decoded(text: str) -> str:
    """A text without the escapes of URLs, HTML and JSON."""
    if not any(sign in text for sign in "%&\\"):
        return text
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    return html.unescape(unquote(plain)).encode("utf-8", "replace").decode()


def _end(text: str, end: int) -> int:
    """The end of a match, with the accents that follow as characters of their own."""
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return end


def _is_word(text: str) -> bool:
    return text.replace("-", "").replace("'", "").replace(".", "").replace(",", "").isalpha()


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
