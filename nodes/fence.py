"""Marks around what strangers wrote, which its author cannot guess.

A mark follows from a secret, the decision's id and its place in the prompt: the same decision
replayed under the same secret has the same marks, and nobody without the secret can write one.
"""

import hashlib
import hmac
import secrets

from acegraph.state import clean_text

_PROCESS_SECRET = secrets.token_hex(16)


class Fence:
    """Fences the untrusted texts of one prompt, each with a mark of its own."""

    def __init__(self, decision_id: str, secret: str | None = None) -> None:
        self._key = (secret or _PROCESS_SECRET).encode()
        self._of = decision_id
        self._count = 0

    def __call__(self, text: str) -> str:
        """Untrusted text between two lines with the same mark."""
        self._count += 1
        place = f"{self._count} {self._of}".encode("utf-8", "replace")
        mark = hmac.new(self._key, place, hashlib.sha256).hexdigest()[:16]
        return f"DATA {mark}\n{clean_text(text)}\nDATA {mark}"
