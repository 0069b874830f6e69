"""Send alerts to a webhook: JSON by POST, tried again while its server fails.

The address of a webhook is a secret, so no message repeats it.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from http.client import HTTPException
from importlib.metadata import version
from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from acegraph.graph.operations.monitoring.watch import Alert
from acegraph.state.errors import AceError, InvalidSettings

_ATTEMPTS: Final = 4
_FIRST_PAUSE: Final = 0.5
_TIMEOUT: Final = 10.0
_PASSING: Final = (408, 425, 429)
"""Statuses besides 5xx after which the same request may succeed."""


class NotSent(AceError):
    """A webhook took no alert."""


class _NoRedirect(HTTPRedirectHandler):
    """Alerts go to the address that was given, and to no other."""

    def redirect_request(self, *args: object) -> None: ...


def send(address: str, alerts: Sequence[Alert], place: str) -> None:
    """Send alerts about the playbook at a place, which must hold no password.

    The id of the body is the same when the same alerts are sent again.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidSettings("a webhook is an address that begins with https:// or http://")
    content = {
        "source": f"acegraph {version('acegraph')}",
        "playbook": place,
        "alerts": [asdict(alert) for alert in alerts],
    }
    digest = sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    body = json.dumps({"id": digest, **content}).encode()
    headers = {"Content-Type": "application/json"}
    request = Request(address, body, headers, method="POST")
    reason = ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_FIRST_PAUSE * 2 ** (attempt - 1))
        try:
            build_opener(_NoRedirect).open(request, timeout=_TIMEOUT).close()
            return
        except HTTPError as error:
            error.close()
            reason = f"status {error.code}"
            if error.code < 500 and error.code not in _PASSING:
                break
        except (OSError, HTTPException, ValueError) as error:
            reason = type(error).__name__
    raise NotSent(f"the webhook at {parts.hostname} did not take the alerts: {reason}")
