"""Phrases: which words of a free text a condition may ask for, and which could name somebody.

Labels have no part in it, so what is offered can be counted by whoever proves a rule. A word is
offered if several cases of several customers and merchants have it and it cannot be a name: people
write it in small letters. Numbers, ids and addresses never are.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.entities import parties, spread
from acegraph.nodes.evidence.columns.learnable_fields import A_GROUP, CAN_TELL
from acegraph.nodes.text.category_words import is_category
from acegraph.nodes.text.lookalikes import skeleton, words_of
from acegraph.nodes.text.reader import find
from acegraph.state.values.cases import CaseTable, Column, stepped
from acegraph.state.values.texts import (
    MAX_PHRASE,
    SENTENCE,
    folded_words,
    memos_in,
    without_remarks,
)

_MOST_FIELDS: Final = 3
_MOST: Final = 200
"""So many phrases of a field are offered, the most frequent ones."""
_MIN_ENTITIES: Final = 3
_MAX_SHARE: Final = 0.5
"""The largest share of the cases with a phrase that one customer or merchant may have."""
_SHORTEST: Final = 3
_LOOKED_AT: Final = 1_000
"""So many letters of a text are looked at."""
_KEPT_TEXTS: Final = 1 << 14
_KEPT_LENGTH: Final = 300
"""Longer texts are taken apart anew each time."""
_ADDRESS = re.compile(r"[@/\\#\d]|\w\.\w")
"""What e-mails, links, ids and numbers have."""
_BREAK = re.compile(r"[^\w\s'’-]+")
_STOP: Final = frozenset(
    """
    a about above after again all also although an and any are as at be because been before being
    below between both but by can combine combined come could did do does done during each either
    else even every exactly follow for from had has have he her here his how i if in including
    instead into is it its itself just kind least less make many may mean might more most much must
    need neither no nor not of off on once one only onto or other others otherwise our out over own
    per rather right shall she should since so some such than that the their them then there these
    they this those though through to together too toward towards under unless until up upon use
    used using very via was we were what when where whether which while who whom whose why will with
    within without would yet you your redacted""".split()
)
"""Words that carry no meaning of their own: no phrase begins or ends with one."""
Rows = NDArray[np.bool_]


def text_fields(table: CaseTable) -> list[str]:
    """The fields of free text whose words are looked at."""
    names = [name for name in table.field_names if table.is_text(name)]
    columns = {name: column for name in names if (column := table.column(name)) is not None}
    often = sorted(columns, key=lambda name: -int(columns[name].known().sum()))
    return often[:_MOST_FIELDS]


def phrases_of(name: str, table: CaseTable) -> list[str]:
    """The phrases of a text that a condition may ask for: a group of cases has each, some have not,
    and it names nobody.
    """
    size, key = stepped(len(table)), f"phrases of {name}"
    kept = table.shared.get(key)
    if isinstance(kept, tuple) and kept[0] == size:
        return list(kept[1])
    found = _found(name, table.first(size)) if size else []
    table.shared[key] = (size, found)
    return list(found)


def is_name(phrase: str, field: str, table: CaseTable) -> bool:
    """Whether a word of a phrase may name a person or a merchant: it is part of the name of a
    customer or merchant, or not written small.
    """
    words, column = phrase.split(), table.column(field)
    has_facts = field == SENTENCE and table.tells_facts
    can_tell = column is not None and len(table) >= CAN_TELL
    small = _written_small(column, has_facts) if column is not None and can_tell else {}
    return any(_names(w, table) or (can_tell and small.get(w, 0) <= 0) for w in words)


def _names(word: str, table: CaseTable) -> bool:
    return skeleton(word) in _names_of_entities(table)


def _found(name: str, table: CaseTable) -> list[str]:
    column, has_facts = table.column(name), name == SENTENCE and table.tells_facts
    if column is None:
        return []
    in_texts: defaultdict[str, set[int]] = defaultdict(set)
    for code, text in _texts(column):
        for phrase in _taken_apart(text, has_facts).phrases:
            in_texts[phrase].add(code)
    small = _written_small(column, has_facts)

    def may_be_asked(phrase: str) -> bool:
        return is_category(phrase) and all(
            small.get(w, 0) > 0 and not _names(w, table) for w in phrase.split()
        )

    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    often = {p: sum(int(counts[c]) for c in codes) for p, codes in in_texts.items()}
    kept = [p for p in often if A_GROUP <= often[p] < len(table) and may_be_asked(p)]
    longest = {frozenset(in_texts[p]): p for p in sorted(kept, key=_length)}
    ranked = sorted(longest.values(), key=lambda phrase: (-often[phrase], phrase))
    return list(_widespread(ranked, column, table))


def _texts(column: Column) -> Iterator[tuple[int, str]]:
    """The different texts of a column by their codes, each as far as it is looked at."""
    for code in np.unique(column.codes[column.codes >= 0]).tolist():
        value = column.values[code]
        if isinstance(value, str):
            yield code, value[:_LOOKED_AT]


def _written_small(column: Column, has_facts: bool) -> Mapping[str, int]:
    """By word, in how many more places it is written small than with a capital in a sentence."""
    small = Counter[str]()
    for _, text in _texts(column):
        apart = _taken_apart(text, has_facts)
        small.update(apart.small)
        small.subtract(apart.capital)
    return small


def _length(phrase: str) -> tuple[int, str]:
    return len(phrase.split()), phrase


def _widespread(phrases: Iterable[str], column: Column, table: CaseTable) -> Iterator[str]:
    """The phrases that several customers and several merchants have, where these are known."""
    varied = [n for n in parties(table) if spread(n, table, np.ones(len(table), bool))[0] > 1]
    taken = 0
    for phrase in phrases:
        rows = column.mentions(phrase) if varied else None
        if rows is None or all(_is_spread(name, table, rows) for name in varied):
            yield phrase
            taken += 1
            if taken == _MOST:
                return


def _is_spread(name: str, table: CaseTable, rows: Rows) -> bool:
    distinct, share = spread(name, table, rows)
    return distinct == 0 or (distinct >= _MIN_ENTITIES and share <= _MAX_SHARE)


class _TakenApart(NamedTuple):
    """A text as its phrases and words."""

    phrases: tuple[str, ...]
    """The different ones in their order; of a sentence those beside its facts."""
    small: tuple[str, ...]
    """The words that are written small."""
    capital: tuple[str, ...]
    """The words with a capital inside of a sentence."""


def _taken_apart(text: str, has_facts: bool) -> _TakenApart:
    if len(text) > _KEPT_LENGTH:
        return _take_apart.__wrapped__(text, has_facts)
    return _take_apart(text, has_facts)


@lru_cache(maxsize=_KEPT_TEXTS)  # a table that grows is looked at again and again
def _take_apart(text: str, has_facts: bool) -> _TakenApart:
    runs = _runs(_beside_facts(text) if has_facts else [text])
    folded = ([folded_words(word) for word in words] for words in runs)
    phrases = dict.fromkeys(sys.intern(phrase) for words in folded for phrase in _phrases(words))
    words = list(_words_inside(text))
    return _TakenApart(
        tuple(phrases),
        tuple(folded_words(word) for word in words if not word[0].isupper()),
        tuple(folded_words(word) for word in words if word[0].isupper()),
    )


def _beside_facts(text: str) -> Iterator[str]:
    """The parts of a sentence that tell what no field does."""
    facts, done = without_remarks(text), 0
    for span in sorted(find(facts), key=lambda one: one.start):
        if span.start >= done:
            yield facts[done : span.start]
        done = max(done, span.end)
    yield facts[done:]
    yield from memos_in(text)


def _runs(parts: Iterable[str]) -> Iterator[list[str]]:
    """Words that stand beside each other, without addresses and numbers."""
    for part in parts:
        plain = " ".join("|" if _ADDRESS.search(word) else word for word in part.split())
        for run in _BREAK.split(plain):
            yield re.findall(r"[^\W_]+", run)


def _phrases(words: list[str]) -> Iterator[str]:
    """All phrases of one to three words that neither begin nor end with an empty word."""
    for start, first in enumerate(words):
        if first in _STOP:
            continue
        for length in range(1, MAX_PHRASE + 1):
            phrase = words[start : start + length]
            is_long = length > 1 or len(first) >= _SHORTEST
            if is_long and len(phrase) == length and phrase[-1] not in _STOP:
                yield " ".join(phrase)


def _words_inside(text: str) -> Iterator[str]:
    """The words whose first letter tells something: a capital at the start of a sentence, or where
    all are capitals, does not.
    """
    for run in _BREAK.split(text) if not text.isupper() else ():
        for place, word in enumerate(re.findall(r"[^\W_]+", run)):
            if place or not word[0].isupper():
                yield word


def _names_of_entities(table: CaseTable) -> frozenset[str]:
    """The words in the names of customers and merchants."""
    kept = table.shared.get("names of entities")
    if isinstance(kept, tuple) and kept[0] == stepped(len(table)):
        return frozenset(kept[1])
    found: set[str] = set()
    for name in parties(table):
        column = table.column(name)
        if column is not None:
            texts = (value for value in column.values if isinstance(value, str))
            found |= {word for text in texts for word in words_of(skeleton(text))}
    table.shared["names of entities"] = (stepped(len(table)), frozenset(found))
    return frozenset(found)
