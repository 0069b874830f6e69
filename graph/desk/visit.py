"""Who visits the desk: logging in, sessions, and what protects the forms.

A page is for somebody with a session. An action also needs the form token of the session, and comes
from a page of this very server: other sites can send neither.
"""

import hmac
from dataclasses import dataclass, field
from typing import Final

from starlette.datastructures import FormData
from starlette.requests import Request

from acegraph.graph.server.access import NotAllowed
from acegraph.state.errors import InvalidInput
from acegraph.state.maintenance.people.sessions import Session
from acegraph.state.maintenance.people.users import User

COOKIE: Final = "acegraph_desk"
FORM_TOKEN: Final = "form_token"
NOBODY: Final = Session("", User("nobody", "viewer"))
"""The session of whoever has none."""


@dataclass
class Visit:
    """One request, and the session of whoever sent it."""

    request: Request
    session: Session = NOBODY
    form: FormData = field(default_factory=FormData)
    error: str = ""
    """Why what was sent was not done."""
    status: int = 200

    @property
    def user(self) -> User:
        """Who asks."""
        return self.session.user

    @property
    def base(self) -> str:
        """The path under which the desk is mounted."""
        return str(self.request.scope.get("root_path", ""))

    @property
    def wants_part(self) -> bool:
        """Whether the page asks for a part of itself (htmx), not the browser for all of it."""
        return self.request.headers.get("hx-request") == "true"

    def asked(self, name: str) -> str:
        """A parameter of the address."""
        return self.request.query_params.get(name, "").strip()

    def given(self, name: str) -> str:
        """A field of the form."""
        value = self.form.get(name)
        return value.strip() if isinstance(value, str) else ""

    def number(self, name: str, default: int) -> int:
        """A whole number in the address or the form; the default for anything else."""
        text = self.given(name) or self.asked(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else default

    def reason(self) -> str:
        """The reason in the form, which every change wants."""
        if not (why := self.given("why")):
            raise InvalidInput("Say why: the reason is kept in the history.")
        return why[:1_000]

    def part(self, name: str) -> str:
        """A part of the path."""
        return str(self.request.path_params[name])

    def check_form(self) -> None:
        """Refuse an action without the form token of the session."""
        given, wanted = self.given(FORM_TOKEN), self.session.form_token
        if not hmac.compare_digest(given.encode(), wanted.encode()):
            raise NotAllowed("The page was too old, or the action was forged: load it again.", 403)
