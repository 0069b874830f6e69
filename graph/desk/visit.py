"""Who visits the desk: logging in, sessions, and what protects the forms.

A page is for somebody with a session. An action also needs the form token of the session, and comes
from a page of this very server: other sites can send neither.
"""

import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from acegraph.graph.server.access import NotAllowed, check_site
from acegraph.graph.server.service import Service
from acegraph.state.errors import InvalidInput
from acegraph.state.maintenance.people.sessions import (
    LONGEST_SECONDS,
    Session,
    begin_session,
    end_session,
    find_session,
)
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


class Entrance:
    """Lets people in: with their token, or with the address that `acegraph desk` prints."""

    def __init__(self, service: Service, owner: User | None = None) -> None:
        self._service, self._owner = service, owner
        self._once = ""
        """The token in the address, until it is used."""

    def one_time_token(self) -> str:
        """A token that lets the owner in once."""
        self._once = secrets.token_urlsafe(24)
        return self._once

    def check_site(self, request: Request) -> None:
        """Refuse what a page of another site sends."""
        is_open = self._owner is not None or self._service.settings.without_users
        check_site(request, is_open=is_open)

    def session(self, request: Request) -> Session:
        """The session of a request."""
        token = request.cookies.get(COOKIE, "")
        return (token and find_session(self._service.playbook.database, token)) or NOBODY

    def owner_of(self, token: str) -> User:
        """Who is meant by the token in the address, which counts once."""
        is_right = hmac.compare_digest(token.encode("utf-8", "replace"), self._once.encode())
        if self._owner is None or not self._once or not is_right:
            raise NotAllowed("This address has been used: 'acegraph desk' prints a new one.", 401)
        self._once = ""
        return self._owner

    def begin(self, visit: Visit, user: User, *, is_local: bool = False) -> Response:
        """Begin a session; one from before must not become this one."""
        self.end(visit)
        session = begin_session(self._service.playbook.database, user, is_local=is_local)
        response = RedirectResponse(f"{visit.base}/", 303)
        is_safe = visit.request.url.scheme == "https"
        response.set_cookie(  # which no script can read
            COOKIE, session.token, LONGEST_SECONDS, path=f"{visit.base}/", secure=is_safe,
            httponly=True, samesite="lax",
        )  # fmt: skip
        return response

    def end(self, visit: Visit) -> None:
        """End the session of a request."""
        if token := visit.request.cookies.get(COOKIE):
            end_session(self._service.playbook.database, token)
