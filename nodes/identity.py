"""Who a transaction belongs to: which fields say so, and whether a text repeats what they say.

By the name of a field where that tells, by its values where it does not.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

from acegraph.nodes.marks import is_identifier
from acegraph.nodes.reader import read_fields
from acegraph.nodes.skeleton import skeleton, words_of
from acegraph.nodes.vocabulary import is_plain
from acegraph.state import CaseTable, Scalar, Transaction
from acegraph.state.remarks import is_remark

_PARTIES: Final = frozenset(
    "customer client user cardholder holder account card cc payer payee sender recipient receiver beneficiary merchant "
    "store shop seller vendor buyer member subscriber owner person employee iban pan".split()
)
_BARE: Final = frozenset(
    "customer client user username cardholder payer payee sender recipient receiver beneficiary merchant seller vendor "
    "buyer iban pan email".split()
)
_MARKS: Final = frozenset(
    "id num number nr no name hash token key uuid guid ref email iban".split()
)
_PERSONAL: Final = frozenset(
    "first last surname firstname lastname fullname name street address addr dob birthdate ssn passport phone mobile "
    "email mail ip imei mac iban pan cvv username login nickname url token uuid guid hash".split()
)
_DESCRIBES: Final = frozenset(
    "age days hours minutes count type category country rating score mismatch changed change verified match matches "
    "distance km limit amount avg average status known new flag risk level group region state city pop".split()
)
_RUN: Final = 5
"""So many words in a row, the same as in the transaction, are a copy."""
_GENERIC: Final = frozenset(
    "company limited service services trading international global group general center centre world online shop store "
    "market mart super house star best first national american united city king trade products solutions digital media "
    "customer payment order thanks thank please hello dear from with this that approve decline transaction".split()
)


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()))


def is_entity(name: str, table: CaseTable) -> bool:
    """Whether a field says which customer or merchant it is.

    >>> [is_entity(name, CaseTable()) for name in ("customer_id", "merchant", "merchant_category")]
    [True, True, False]
    """
    words = _words(name)
    if not words or not _PARTIES & set(words):
        return False
    if words[-1] not in _MARKS and words[-1] not in _BARE:
        return False
    column = table.column(name)
    # "merchant: supermarket" is a kind of merchant, not one of them.
    return column is None or not column.values or not all(_is_kind(v) for v in column.values)


def is_identifying(name: str, table: CaseTable) -> bool:
    """Whether the values of a field belong to somebody, or are a stranger's words."""
    words = _words(name)
    if is_remark(name) or is_entity(name, table):
        return True
    if words and words[-1] in _PERSONAL:
        return True
    if words and words[-1] in _DESCRIBES:
        return False
    return table.column(name) is not None and len(table) >= 20 and is_identifier(name, table)


def identifying_values(source: Transaction, table: CaseTable) -> Iterator[tuple[str, str]]:
    """Name and value of what a heuristic may not repeat, as skeletons."""
    fields = read_fields(source)
    for name, value in fields.items():
        if value is None or isinstance(value, bool):
            continue
        text = skeleton(_plain(value))
        is_sentence = isinstance(value, str) and len(words_of(text)) >= _RUN
        if is_sentence or (is_identifying(name, table) and not _is_kind(text)):
            yield name, text
    if not source.fields:
        described = {w for v in fields.values() for w in words_of(skeleton(str(v)))}
        yield "its text", skeleton(source.text)
        for found in re.finditer(r"[\"“'‘](?=\w)([^\"”’]+?)[\"”'’](?!\w)", source.text):
            yield "quotation marks", skeleton(found[1])
        for found in re.finditer(r"(?<=[a-z,:] )[A-Z][\w'&-]{2,}(?: [A-Z][\w'&-]+)*", source.text):
            name = skeleton(found[0])
            if not all(w in described or is_plain(w) for w in words_of(name)):
                yield "a name", name


def copied(value: str, text: str) -> bool:
    """Whether a text repeats a value, or a telling part of it; both are skeletons.

    >>> copied("lucky star trading ltd", "approve payments to lucky star")
    True
    >>> copied("pays 40 at a supermarket at noon", "decline at a supermarket")
    False
    """
    words, theirs = words_of(value), words_of(text)
    if not words:
        return False
    if len(words) > _RUN + 1:  # a sentence: only its wording can be copied
        runs = {tuple(words[i : i + _RUN]) for i in range(len(words) - _RUN + 1)}
        return any(tuple(theirs[i : i + _RUN]) in runs for i in range(len(theirs) - _RUN + 1))
    if len("".join(words)) >= 5 and "".join(words) in "".join(theirs) and not _is_kind(value):
        return True
    pairs = set(pairwise(words))
    if any(pair in pairs and not _is_kind(" ".join(pair)) for pair in pairwise(theirs)):
        return True
    telling = {w for w in words if len(w) >= 3 and not is_plain(w) and w not in _GENERIC}
    telling |= {w for w in words if w.isdigit() and len(w) >= 5}
    return bool(telling & set(theirs))


def _is_kind(value: Scalar) -> bool:
    """Whether a value is made of the trade's words only."""
    if isinstance(value, bool):
        return True
    return isinstance(value, str) and all(is_plain(w) for w in words_of(skeleton(value)))


def _plain(value: Scalar) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
