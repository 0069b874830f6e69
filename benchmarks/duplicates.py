"""The curator's search for duplicates, beside a full scan with `SequenceMatcher`."""

import random
from difflib import SequenceMatcher
from typing import Any

from common import NODE, REPEATS, compare, table

from acegraph.nodes import Curator
from acegraph.nodes.curator.duplicates import alike
from acegraph.state import Bullet, BulletPlaybook

SIZES = (100, 1_000, 5_000)
THRESHOLD = 0.85
ABOVE = 20
PAIRS = 10_000
WORDS = (
    "decline approve card payment merchant account days amount night vpn proxy country device "
    "email shipping gift crypto exchange travel usual hour rating disputes new old large small "
    "transfer wire velocity rapid burst"
).split()
ODD = "İstanbul naïve ß 支払い ÅNGSTRÖM".split()


def sentence(rng: random.Random, words: int = 12, vocabulary: list[str] = WORDS) -> str:
    """Random words, and a number."""
    number = rng.randint(1, 5000)
    return " ".join(rng.choice(vocabulary) for _ in range(words)) + f" above {number}"


def neighbour(text: str, rng: random.Random) -> str:
    """The text with one word changed."""
    words = text.split(" ")
    words[rng.randrange(len(words))] = rng.choice(WORDS)
    return " ".join(words)


def full_scan(candidate: str, texts: list[str]) -> list[int]:
    """The duplicates by definition: every text is compared."""
    return [
        i
        for i, text in enumerate(texts)
        if SequenceMatcher(None, candidate.lower(), text.lower()).ratio() > THRESHOLD
    ]


def playbook_of(texts: list[str]) -> BulletPlaybook:
    """A playbook with these texts, filled in memory only."""
    playbook = BulletPlaybook()
    for number, text in enumerate(texts, start=1):
        playbook._bullets[number] = Bullet(f"b{number}", text, NODE)
    playbook.view(NODE)
    return playbook


def merging(size: int) -> dict[str, float]:
    """Times to merge one candidate among so many bullets, twenty of them alike.

    Each turn merges another candidate.
    """
    rng = random.Random(size)
    candidates = [sentence(rng) for _ in range(REPEATS + 1)]
    texts = [sentence(rng, rng.randint(8, 18)) for _ in range(size)]
    if size < ABOVE * len(candidates):
        candidates = candidates[:1] * len(candidates)
    alike_rows = iter(rng.sample(range(size), ABOVE * len(set(candidates))))
    for candidate in dict.fromkeys(candidates):
        for _ in range(ABOVE):
            texts[next(alike_rows)] = neighbour(candidate, rng)
    candidate = candidates[0]
    lowered = [text.lower() for text in texts]
    assert alike(candidate.lower(), lowered, THRESHOLD) == full_scan(candidate, texts)
    playbook, curator, turns = playbook_of(texts), Curator(capacity=10**6), iter(candidates)
    slow, test, whole = compare(
        lambda: full_scan(candidate, texts),
        lambda: alike(candidate.lower(), lowered, THRESHOLD),
        lambda: curator.merge_bullet(next(turns), NODE, playbook),
    )
    return {
        "full scan ms": 1e3 * slow,
        "text test ms": 1e3 * test,
        "merge ms": 1e3 * whole,
        "scan / text test": slow / test,
        "scan / merge": slow / whole,
    }


def answers() -> int:
    """How many random and adversarial pairs were tried; it raises if the two answers differ."""
    rng = random.Random(0)
    for i in range(PAIRS):
        vocabulary = WORDS + ODD * rng.randrange(3)
        text = sentence(rng, rng.choice([3, 12, 60]), vocabulary)
        other = text
        for _ in range(rng.randrange(8)):
            kind, at = rng.randrange(4), rng.randrange(len(other) + 1)
            cut = other[at + rng.randrange(9) :]
            piece = ["", rng.choice("aeİßx \u00e9"), "e" * 9, rng.choice(vocabulary)][kind]
            other = (other[:at] + piece + cut) or "x"
        if i % 5 == 0:
            other = sentence(rng, rng.choice([3, 12, 60]), vocabulary)
        if alike(text.lower(), [other.lower()], THRESHOLD) != full_scan(text, [other]):
            raise AssertionError(f"another answer for {text!r} and {other!r}")
    return PAIRS


def main() -> dict[str, Any]:
    """Measure at all sizes and print the table."""
    by_size = {size: merging(size) for size in SIZES}
    rows = [["CPU", *(f"{size:,}" for size in SIZES)]]
    rows += [[name, *(f"{by_size[s][name]:.2f}" for s in SIZES)] for name in by_size[SIZES[0]]]
    table(f"Merging one candidate, {ABOVE} above the bound", rows)
    same = answers()
    print(f"same answer as the full scan on {same:,} pairs of {PAIRS:,}")
    sizes = {str(size): figures for size, figures in by_size.items()}
    return {"sizes": sizes, "same answers": same}


if __name__ == "__main__":
    main()
