"""The labelled pairs on which the curator is judged, from pair_lines.txt: the same every time.

Lines take turns between the half on which wordings may be tuned and the half held out, so that no
sentence is in both. Kinds: duplicate, paraphrase, contradiction (another verdict, direction or
field), threshold, unrelated.
"""

import random
import re
from collections.abc import Iterator

from project_paths import DATA

SLOT = re.compile(r"\{([^}]*)\}")
CONDITIONS = [
    'DECLINE when amount >= 1000 and account_age_days < 60',
    'APPROVE when merchant_category is "grocery" and amount < 120',
    "DECLINE when tx_last_hour > 5",
    "DECLINE when vpn is true and hour <= 4 and amount > 250",
    "APPROVE when distance_km < 15 and chip is true",
    'DECLINE when ip_country is not "US" and amount >= 480.5',
    "DECLINE when merchant_rating < 2.5 and past_disputes >= 1",
    "APPROVE when verified is true and amount <= 900",
    "DECLINE when email_age_days < 3 and new_device is true",
    "DECLINE when travel_notice is missing and distance_km > 800",
    'APPROVE when channel is "in_store" and hour >= 8 and hour < 20',
    "DECLINE when amount_ratio > 6.5",
]  # fmt: skip


def sentence(parts: list[str], choice: dict[int, str]) -> str:
    """A line with some of its slots filled otherwise."""
    return "".join(
        choice.get(i, part.split("|")[0]) if i % 2 else part for i, part in enumerate(parts)
    )


def variants(parts: list[str], mark: str) -> list[tuple[int, str]]:
    """The alternatives of a kind, by slot."""
    found = []
    for i in range(1, len(parts), 2):
        for word in parts[i].split("|")[1:]:
            if mark == "" and word[0] not in "!#@":
                found.append((i, word))
            elif mark and word.startswith(mark):
                found.append((i, word[1:]))
    return found


def noisy(text: str, rng: random.Random) -> str:
    """The same text as another hand would type it."""
    words = text.split(" ")
    long = [i for i, w in enumerate(words) if len(w) > 6 and w.isalpha()]
    match rng.randrange(6):
        case 0:
            return text.upper()
        case 1:
            return text.rstrip(".") + "."
        case 2 if long:  # two letters change places
            i, at = rng.choice(long), rng.randrange(2, 5)
            word = words[i]
            words[i] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
            return " ".join(words)
        case 3:
            return text + f" ({rng.randrange(70, 99)}% confidence)"
        case 4:
            return text.replace(" ", "  ", 2).replace(",", "")
        case _:
            return text.replace(" the ", " ", 1) if " the " in text else "Please " + text.lower()


def of_line(line: str, rng: random.Random) -> Iterator[tuple[str, str, str]]:
    """The pairs of one heuristic."""
    body, _, told_differently = line.partition(" => ")
    parts = SLOT.split(body)
    base = sentence(parts, {})
    same = variants(parts, "")
    yield "duplicate", base, noisy(base, rng)
    for slot, word in rng.sample(same, min(2, len(same))):
        yield "duplicate", base, sentence(parts, {slot: word})
    yield "paraphrase", base, told_differently
    wrong = variants(parts, "!")
    for slot, word in rng.sample(wrong, min(2, len(wrong))):
        yield "contradiction", base, sentence(parts, {slot: word})
    for slot, word in rng.sample(others := variants(parts, "@"), min(1, len(others))):
        yield "contradiction", base, sentence(parts, {slot: word})
    for slot, word in rng.sample(bounds := variants(parts, "#"), min(1, len(bounds))):
        # A second slot in other words: a revision is seldom the same sentence otherwise.
        apart = [s for s in same if s[0] != slot]
        yield (
            "threshold",
            base,
            sentence(parts, dict([rng.choice(apart)] if apart else []) | {slot: word}),
        )


def of_condition(text: str, rng: random.Random) -> Iterator[tuple[str, str, str]]:
    """The pairs of one canonical sentence."""
    verdict, _, rest = text.partition(" when ")
    other = {"DECLINE": "APPROVE", "APPROVE": "DECLINE"}[verdict]
    tests = rest.split(" and ")
    yield "duplicate", text, f"{verdict.lower()} if {rest}."
    yield "duplicate", text, f"{verdict} when " + " and ".join(reversed(tests))
    yield "contradiction", text, f"{other} when {rest}"
    flipped = {">=": "<", "<": ">=", ">": "<=", "<=": ">", "is not": "is", "is": "is not"}
    op = next(o for o in (">=", "<=", " < ", " > ", "is not", " is ") if o in tests[0])
    turned = tests[0].replace(op.strip(), flipped[op.strip()], 1)
    if "missing" not in turned:
        yield "contradiction", text, f"{verdict} when " + " and ".join([turned, *tests[1:]])
    number = re.search(r"\d+(?:\.\d+)?", rest)
    if number:
        bound = f"{float(number[0]) * rng.choice([2, 3, 0.5]) + 1:g}"
        yield (
            "threshold",
            text,
            f"{verdict} when {rest[: number.start()]}{bound}{rest[number.end() :]}",
        )


def build() -> list[dict[str, str]]:
    """All pairs, each with its half."""
    rng = random.Random(20261115)
    text = (DATA / "pair_lines.txt").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = []
    for make, bases in ((of_line, lines), (of_condition, CONDITIONS)):
        for i, base in enumerate(bases):
            half = ("tune", "held out")[i % 2]
            found += [
                {"kind": k, "left": a, "right": b, "half": half} for k, a, b in make(base, rng)
            ]
    for half in ("tune", "held out"):
        lefts = sorted({p["left"] for p in found if p["half"] == half})
        for _ in range(40):
            a, b = rng.sample(lefts, 2)
            found.append({"kind": "unrelated", "left": a, "right": b, "half": half})
    return found
