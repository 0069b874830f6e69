"""What the tests of the language-model path share: transactions, answers, ways to run a graph."""

import asyncio
from collections.abc import Callable
from typing import Any

from acegraph.state import AceContext, BulletPlaybook

CANARY = "test-key-canary"
NODE = "fraud_detection"
FUNCTIONS, SCHEMAS = "gpt-3.5-turbo", "gpt-4o-mini"
MODELS = {
    "AGENT": FUNCTIONS,
    "JUDGE": SCHEMAS,
    "REFLECTOR": SCHEMAS,
    "EMBEDDING": "text-embedding-3-small",
}
"""The models that the tests name in the environment, by role."""
SUSPICIOUS = {"amount": 2500, "account_age_days": 2, "merchant_category": "electronics"}
UNSUSPICIOUS = {"amount": 25, "account_age_days": 900, "merchant_category": "grocery"}
RULE = "DECLINE when amount >= 1000 and account_age_days < 30"
PROSE = "Look twice at electronics bought late at night"

APPROVAL = {"reasons": ["usual"], "bullets_used": [], "risk_score": 0.1, "decision": "APPROVE"}
DENIAL = {"reasons": ["new"], "bullets_used": ["b1"], "risk_score": 0.9, "decision": "DECLINE"}
AGREEMENT = {"reasoning": "it fits", "is_correct": True, "confidence": 0.8}
OBJECTION = {"reasoning": "too new", "is_correct": False, "confidence": 0.7}
LESSON = {
    "new_bullet": "DECLINE when account_age_days < 7",
    "problem_types": ["account_risk"],
    "confidence": 0.6,
    "condition": {
        "all": [{"field": "account_age_days", "op": "<", "value": 7}],
        "verdict": "DECLINE",
    },
}

Run = Callable[..., dict[str, Any]]


def run_once(graph: Any, given: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """The whole last state of one run."""
    compiled = graph.compile()
    return list(compiled.stream(given, stream_mode="values", context=AceContext(**settings)))[-1]


def arun_once(graph: Any, given: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """The same, asynchronously, in an event loop of its own."""

    async def last() -> dict[str, Any]:
        stream = graph.compile().astream(
            given, stream_mode="values", context=AceContext(**settings)
        )
        return [state async for state in stream][-1]

    return asyncio.run(last())


def counters(playbook: BulletPlaybook, bullet_id: str) -> tuple[int, int, int]:
    """Helpful, harmful, selected."""
    bullet = playbook.get_bullet(bullet_id)
    return bullet.helpful_count, bullet.harmful_count, bullet.times_selected
