"""Stand-ins for a language model as the agent: functions of the prompt's text, and of nothing else.

`Follower` does what the prompt says. Where the prompt says nothing, it knows as much of fraud as
the embedded scorecard; with `world` it knows the world too, and is right about a share of what the
prompt leaves open, which is everything as long as the playbook has no opinion. `BlindSpot` has a
habit that no rule talks it out of.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from acegraph.nodes import SimpleFraudAgent
from acegraph.nodes.text.understand import read_fields
from acegraph.state import Transaction

_FENCED = re.compile(r"Case:\nDATA ([0-9a-f]{16})\n(.*?)\nDATA \1", re.DOTALL)
_RULE = re.compile(r"^\[(\S+)\] .*?\b(APPROVE|DECLINE) when ", re.MULTILINE)
_OPINION = re.compile(r"^Playbook: (APPROVE|DECLINE), risk (?:below )?([\d.]+)(.*)$", re.MULTILINE)
_EMBEDDED = SimpleFraudAgent(model="embedded")


class Follower(BaseChatModel):
    """Decides as it is told; counts its calls, and keeps its prompts with five rules."""

    world: Mapping[str, str] = {}
    """The right answers by text, for a follower that knows the world."""
    knows: float = 0.85
    """The share of `world` that it knows."""
    contradicted: Literal["majority", "first"] = "majority"
    """What it does with rules that contradict each other, where the prompt has no opinion."""
    seen: dict[str, Any] = Field(default_factory=dict)

    @property
    def _llm_type(self) -> str:
        return "follower"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        prompt = "\n".join(str(message.content) for message in messages[:2])
        self.seen |= {"calls": self.seen.get("calls", 0) + 1, "prompt": prompt}
        if len(_RULE.findall(prompt)) == 5:
            self.seen.setdefault("with_five_rules", []).append(prompt)
        text = transaction_of(prompt)
        if not text:  # it is asked for something else than a decision, and knows nothing of it
            return ChatResult(generations=[ChatGeneration(message=AIMessage("{}"))])
        verdict, risk = self.decide(prompt, text)
        answer = {
            "reasons": ["as told"],
            "bullets_used": [number for number, said in _RULE.findall(prompt) if said == verdict],
            "risk_score": risk,
            "decision": verdict,
        }
        return ChatResult(generations=[ChatGeneration(message=AIMessage(json.dumps(answer)))])

    def decide(self, prompt: str, text: str) -> tuple[str, float]:
        """The verdict and the risk."""
        told = _OPINION.search(prompt)
        if text in self.world and (told is None or "; open" in told[3]):
            reading = self._own_reading(text)
            return reading, 0.9 if reading == "DECLINE" else 0.1
        if told:
            return told[1], float(told[2])
        said = [verdict for _, verdict in _RULE.findall(prompt)]
        if said and self.contradicted == "first":
            return said[0], 0.5
        ahead = said.count("DECLINE") - said.count("APPROVE")
        if ahead:
            return ("DECLINE", 0.8) if ahead > 0 else ("APPROVE", 0.2)
        return own_opinion(text)

    def _own_reading(self, text: str) -> str:
        """The right answer, as often as `knows` says; else the other one."""
        right = self.world[text]
        is_known = zlib.crc32(text.encode()) < self.knows * 2**32
        return right if is_known else {"APPROVE": "DECLINE", "DECLINE": "APPROVE"}[right]


class BlindSpot(Follower):
    """Follows the prompt by day, and approves whatever comes at night."""

    def decide(self, prompt: str, text: str) -> tuple[str, float]:
        """The verdict and the risk."""
        return ("APPROVE", 0.05) if is_night(text) else super().decide(prompt, text)


def is_night(text: str) -> bool:
    """Whether the transaction was made between eight in the evening and eight in the morning."""
    hour = read_fields(Transaction.of(text)).get("hour")
    return isinstance(hour, int | float) and not 8 <= hour < 20


def own_opinion(text: str) -> tuple[str, float]:
    """What the embedded scorecard says of a text: as much as anybody knows of fraud."""
    decided = _EMBEDDED.decide(text)
    return decided.decision, decided.risk_score or 0.5


def transaction_of(prompt: str) -> str:
    """The transaction's text in a prompt."""
    found = _FENCED.search(prompt)
    return found[2] if found else ""


class ProseReader(Follower):
    """Follows the prompt, and before it every rule in prose that it understands and that applies.

    It is gullible: what speaks of all payments applies to all of them.
    """

    def decide(self, prompt: str, text: str) -> tuple[str, float]:
        """The verdict and the risk."""
        fields = read_fields(Transaction.of(text))
        _, _, prose = prompt.partition("Rules not checked, to be read")
        for rule in re.findall(r"^\[\S+\] (.*)$", prose.partition("\nPlaybook:")[0], re.MULTILINE):
            verdict = meant_by(rule, fields)
            if verdict:
                return verdict, 0.9 if verdict == "DECLINE" else 0.1
        return super().decide(prompt, text)


_CATEGORIES = (
    "grocery restaurant electronics clothing fuel digital_services transit travel gaming "
    "gift_cards jewelry crypto money_transfer"
).split()
N = r"(\d+(?:\.\d+)?)"
_NUMBERS = (
    (rf"rated (below|under|above|over) {N}", "merchant_rating"),
    (rf"accounts? (younger|older) than {N} days", "account_age_days"),
    (rf"(above|more than|below|under) {N} km from home", "distance_km"),
    (rf"(after|before) {N}:00", "hour"),
    (rf"(above|over|under|below) \${N}", "amount"),
    (rf"(above|more than|under|below) {N} times the usual amount", "amount_ratio"),
    (rf"(at least|fewer than) {N} payments in the last hour", "tx_last_hour"),
)
"""How a rule bounds a field: the words before the bound, and its number."""
_FLAGS = (
    (r"unrecognized device|new device", "new_device", True),
    (r"known device", "new_device", False),
    (r"another country|abroad", "country_changed", True),
    (r"home country", "country_changed", False),
    (r"without a travel notice", "travel_notice", False),
    (r"with a travel notice", "travel_notice", True),
    (r"(?:not |un)verified", "verified", False),
    (r"(?<!not )(?<!un)verified", "verified", True),
    (r"without a VPN", "vpn", False),
    (r"through a VPN", "vpn", True),
    (r"address mismatch", "address_mismatch", True),
    (r"matching addresses", "address_mismatch", False),
    (r"\bonline\b", "channel", "online"),
    (r"\bin store\b", "channel", "in_store"),
)


def meant_by(rule: str, fields: Mapping[str, Any]) -> str | None:
    """What a rule in prose says of a payment; None if it does not apply, or says nothing."""
    verdict = re.search(r"\b(decline|approve)\b", rule, re.IGNORECASE)
    if verdict is None:
        return None
    tests = list(_tests_in(rule, fields))
    if not tests and not re.search(r"\b(all|every|any|always|everything)\b", rule, re.IGNORECASE):
        return None
    return verdict[1].upper() if all(tests) else None


def _tests_in(rule: str, fields: Mapping[str, Any]) -> Iterator[bool]:
    """Whether each thing holds that a rule names."""
    named = [word for word in _CATEGORIES if word.replace("_", " ") in rule.lower()]
    if named:
        yield fields.get("merchant_category") in named
    for pattern, name in _NUMBERS:
        for direction, number in re.findall(pattern, rule):
            value = fields.get(name)
            is_up = direction in ("above", "over", "more than", "older", "after", "at least")
            yield value is not None and (value >= float(number)) == is_up
    for pattern, name, wanted in _FLAGS:
        if re.search(pattern, rule):
            yield (fields.get(name) or False) == wanted
