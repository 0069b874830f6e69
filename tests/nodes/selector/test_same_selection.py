"""What the five stages chose at d0641cd, they choose now: bullets, order, scores and funnel.

The data were written at d0641cd: by playbook and embedder, and for each hundred payments, a digest
of ids and funnels, and the sums of the components of all scores.
"""

import json
import random
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import Embeddings
from project_paths import ROOT

from acegraph.graph import create_ace_graph, generate_transactions
from acegraph.state import AceContext, BulletPlaybook, Condition

NODE = "fraud_detection"
KNOWN = json.loads((ROOT / "tests/data/five_stages.json").read_text())
FIELDS = ("amount", "hour", "account_age_days", "distance_km", "tx_last_hour", "merchant_rating")
PROSE = (
    "Gift cards bought at night by a new customer deserve a decline",
    "A VPN or proxy with a young account is often fraud",
    "Payments of regular customers in person are fine",
    "Crypto exchanges with large amounts are risky",
    "Travel far from home with many payments in an hour",
)
SIZES = {"small": 6, "rules": 40, "prose": 60}
COMPONENTS = ("quality", "semantic", "thompson", "combined", "diversity_bonus", "final")


def number_of(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big")


class Words(Embeddings):
    """The sum of a fixed direction for each word."""

    model = "words"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        total = np.full(24, 0.8)
        for word in text.lower().replace(";", " ").replace(":", " ").split():
            total += np.random.default_rng(number_of(word)).standard_normal(24) * 0.35
        return total.tolist()


def rule(rng: random.Random, tests: int, values: dict[str, list[float]]) -> str:
    """A rule over some fields, at values that occur."""
    parts = []
    for name in rng.sample(FIELDS, tests):
        value = values[name][int(rng.random() * (len(values[name]) - 1))]
        parts.append(f"{name} {rng.choice(['>=', '<'])} {value:g}")
    return f"{rng.choice(['DECLINE', 'APPROVE'])} when {' and '.join(parts)}"


def playbook_of(kind: str) -> BulletPlaybook:
    """Few rules, many rules, or rules and prose, all with records."""
    rng, book = random.Random(kind), BulletPlaybook()
    known = [one.fields for one in generate_transactions(300, seed=9)]
    values = {
        name: sorted(fields[name] for fields in known if fields.get(name) is not None)
        for name in FIELDS
    }
    for i in range(SIZES[kind]):
        is_prose = kind == "prose" and i % 2
        text = f"{PROSE[i % 5]}, case {i}" if is_prose else rule(rng, 1 + i % 2, values)
        condition = None if is_prose else Condition.parse(text)
        source = rng.choice(["offline", "online"])
        bullet_id = book.add_bullet(text, NODE, source, condition=condition)
        for _ in range(rng.randrange(12)):
            book.update_stats(bullet_id, rng.random() < 0.6)
    return book


def selections(kind: str, embedder: str) -> Iterator[dict[str, Any]]:
    """What the selector writes for each of a thousand payments."""
    embeddings = Words() if embedder == "words" else None
    graph = create_ace_graph(playbook=playbook_of(kind), embeddings=embeddings).compile()
    context = AceContext(learn=False, seed=5)
    for i, one in enumerate(generate_transactions(1_000, seed=21)):
        given = {"transaction": dict(one.fields), "decision_id": f"t{i}"}
        updates = graph.stream(given, context=context, stream_mode="updates")
        yield next(update["selector"] for update in updates if "selector" in update)


def told(some: list[dict[str, Any]]) -> tuple[str, list[float]]:
    """The digest and the sums of some selections."""
    chosen = [[[bullet["id"] for bullet in one["bullets"]], one["funnel"]] for one in some]
    scores = [bullet["scores"] for one in some for bullet in one["bullets"]]
    digest = blake2b(json.dumps(chosen, sort_keys=True).encode(), digest_size=8).hexdigest()
    return digest, [round(sum(score[name] for score in scores), 4) for name in COMPONENTS]


@pytest.mark.slow
@pytest.mark.parametrize("embedder", ["embedded", "words"])
@pytest.mark.parametrize("kind", SIZES)
def test_the_five_stages_choose_as_they_always_did(kind: str, embedder: str) -> None:
    found = list(selections(kind, embedder))
    for place, (digest, sums) in enumerate(KNOWN[f"{kind} {embedder}"]):
        now, now_sums = told(found[100 * place : 100 * (place + 1)])
        assert now == digest
        assert now_sums == pytest.approx(sums, abs=1e-3)
