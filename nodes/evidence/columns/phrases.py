"""Phrases: which words of a free text a condition may ask for, and which could name somebody.

Labels have no part in it, so what is offered can be counted by whoever proves a rule. A word is
offered if several cases of several customers and merchants have it and it cannot be a name: people
write it in small letters. Numbers, ids and addresses never are.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.entities import parties, spread
from acegraph.nodes.evidence.columns.learnable_fields import A_GROUP, CAN_TELL
from acegraph.nodes.text.category_words import is_category
from acegraph.nodes.text.lookalikes import skeleton, words_of
from acegraph.nodes.text.reader import find
from acegraph.state.values import (
    MAX_PHRASE,
    SENTENCE,
    CaseTable,
    folded_words,
    memos_in,
    stepped,
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
_KEPT_TEXTS: Final = 1 << 12
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


def text_fields(table: CaseTable) -> list[str]:
    """The fields of free text whose words are looked at."""
    names = [name for name in table.field_names if table.is_text(name)]
    columns = {name: column for name in names if (column := table.column(name)) is not None}
    often = sorted(columns, key=lambda name: -int(columns[name].known().sum()))
    return often[:_MOST_FIELDS]


class _Seen(NamedTuple):
    """What the texts of a field say."""

    phrases: Sequence[str] = ()
    """Those that may be asked for."""
    small: frozenset[str] = frozenset()
    """The words that are written small in more places than with a capital in a sentence."""
    names: frozenset[str] = frozenset()
    """The words in the names of customers and merchants."""

    def names_nobody(self, phrase: str) -> bool:
        """Whether all words of a phrase are written small, and none is part of a name."""
        words = phrase.split()
        return self.small.issuperset(words) and self.names.isdisjoint(map(skeleton, words))


def phrases_of(name: str, table: CaseTable) -> list[str]:
    """The phrases of a text that a condition may ask for: a group of cases has each, some have not,
    and it names nobody.
    """
    return list(_seen(name, table).phrases)


def is_name(phrase: str, field: str, table: CaseTable) -> bool:
    """Whether a word of a phrase may name a person or a merchant: it is part of the name of a
    customer or merchant, or not written small.
    """
    seen = _seen(field, table)
    if table.column(field) is None or len(table) < CAN_TELL:  # then no text tells what is small
        seen = seen._replace(small=frozenset(phrase.split()))
    return not seen.names_nobody(phrase)


def _seen(name: str, table: CaseTable) -> _Seen:
    """What the texts of a field say; looked at again where the table has grown."""
    size, key = stepped(len(table)), f"phrases of {name}"
    kept = table.shared.get(key)
    if not isinstance(kept, tuple) or kept[0] != size:
        kept = table.shared[key] = (size, _looked_at(name, table.first(size)))
    return cast(_Seen, kept[1])


def _looked_at(name: str, table: CaseTable) -> _Seen:
    column, has_facts = (
        table.column(name),
        name == SENTENCE and (table.task is None or bool(table.task.reader)),
    )
    if column is None:
        return _Seen(names=_names_in(table))
    in_texts: defaultdict[str, set[int]] = defaultdict(set)
    small = Counter[str]()
    for code in np.unique(column.codes[column.codes >= 0]).tolist():
        apart = _taken_apart(str(column.values[code])[:_LOOKED_AT], has_facts)
        small.update(apart.small)
        small.subtract(apart.capital)
        for phrase in apart.phrases:
            in_texts[phrase].add(code)
    seen = _Seen((), frozenset(w for w, n in small.items() if n > 0), _names_in(table))
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
    often = {p: int(sum(counts[c] for c in codes)) for p, codes in in_texts.items()}
    kept = [p for p, n in often.items() if A_GROUP <= n < len(table) and seen.names_nobody(p)]
    by_length = sorted(filter(is_category, kept), key=lambda p: (len(p.split()), p))
    longest = {frozenset(in_texts[p]): p for p in by_length}
    ranked = sorted(longest.values(), key=lambda phrase: (-often[phrase], phrase))
    varied = [n for n in parties(table) if spread(n, table, np.ones(len(table), bool))[0] > 1]
    told = (p for p in ranked if all(_is_spread(n, table, column.mentions(p)) for n in varied))
    return seen._replace(phrases=tuple(islice(told, _MOST)))


def _names_in(table: CaseTable) -> frozenset[str]:
    """The words in the names of customers and merchants."""
    columns = (column for name in parties(table) if (column := table.column(name)))
    texts = (value for column in columns for value in column.values if isinstance(value, str))
    return frozenset(word for text in texts for word in words_of(skeleton(text)))


def _is_spread(name: str, table: CaseTable, rows: NDArray[np.bool_]) -> bool:
    """Whether several customers or merchants have a phrase, where these are known."""
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


@lru_cache(maxsize=_KEPT_TEXTS)  # a table that grows is looked at again and again
def _taken_apart(text: str, has_facts: bool) -> _TakenApart:
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
