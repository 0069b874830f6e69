"""The words of rows to learn from, each in one spelling.

In one column "ja" and "Ja" mean the same. Live payments are read in the spelling that the playbook
knows, so a rule about another spelling would never hold.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, cast

from acegraph.graph.data.files import Item
from acegraph.nodes.text.field_contract import FieldContract
from acegraph.state.values.memos import is_free_text
from acegraph.state.values.transaction import Scalar

_MOST_WORDS: Final = 1_000
"""A column of more different words, or of words that rarely repeat, is one of names or texts."""
_NAMED: Final = 8


def in_one_spelling(items: Sequence[Item], contract: FieldContract) -> tuple[list[Item], list[str]]:
    """The rows with one spelling for each word of a column, and what was changed, in words.

    A spelling that the playbook knows is taken, else the most frequent one.
    """
    counts: dict[str, Counter[str]] = {}
    for item in items:
        if isinstance(given := item["query"], Mapping):
            for name, value in given.items():
                if isinstance(value, str) and not is_free_text(name):
                    counts.setdefault(name, Counter())[value] += 1
    changes: dict[str, dict[Scalar, Scalar]] = {}
    for name, words in counts.items():
        if changed := _meanings(words, contract, name):
            changes[name] = changed
        elif len(words) <= min(_MOST_WORDS, words.total() / 2):
            changes[name] = _changes(words, contract.spellings(name))
    for known in contract.fields.values():
        changes.setdefault(known.name, {}).update(known.words_for_flags.items())
    changes = {name: changed for name, changed in changes.items() if changed}
    if not changes:
        return list(items), []
    said = [
        f"{n}: {was} is read as {now}"
        for n, some in changes.items()
        for was, now in some.items()
        if isinstance(was, str)
    ]
    if len(said) > _NAMED:
        said = [*said[:_NAMED], f"and {len(said) - _NAMED} more spellings"]
    return [_respelt(item, changes) for item in items], said


def _meanings(words: Counter[str], contract: FieldContract, name: str) -> dict[Scalar, Scalar]:
    """By word of a field that is known for numbers, or for yes and no, the value that it means."""
    known = contract.fields.get(name)
    if known is None or known.kind not in ("number", "flag"):
        return {}
    read = ((word, contract.understand_value(name, word)) for word in words)
    return {word: value for word, (value, why) in read if not why and value is not None}


def _changes(words: Counter[str], known: frozenset[str]) -> dict[Scalar, Scalar]:
    """By word that is spelt otherwise, the spelling to take."""
    alike: dict[str, list[str]] = {}
    for word, _ in words.most_common():
        alike.setdefault(_folded(word), []).append(word)
    by_folded = {_folded(word): word for word in sorted(known)}
    changes: dict[Scalar, Scalar] = {}
    for folded, spellings in alike.items():
        taken = by_folded.get(folded) or spellings[0]
        changes |= {word: taken for word in spellings if word != taken and word not in known}
    return changes


def _folded(word: str) -> str:
    """A word without case, width and spare blanks; less is folded than in a live payment, because
    what is folded here is lost.
    """
    return " ".join(unicodedata.normalize("NFKC", word).casefold().split())


def _respelt(item: Item, changes: Mapping[str, Mapping[Scalar, Scalar]]) -> Item:
    given = item["query"]
    if not isinstance(given, Mapping):
        return item
    fields = {
        name: changes[name].get(value, value)
        if name in changes and isinstance(value, str | bool)
        else value
        for name, value in given.items()
    }
    return cast(Item, {**item, "query": fields})
