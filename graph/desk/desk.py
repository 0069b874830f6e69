"""What the pages of the desk work with: the service, the decisions in memory, the templates."""

import hmac
import secrets
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar, cast

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from acegraph.graph.desk.visit import COOKIE, FORM_TOKEN, NOBODY, Visit
from acegraph.graph.desk.words import FILTERS, Nouns
from acegraph.graph.experiments.report import SHAPES
from acegraph.graph.metrics.records import Cases
from acegraph.graph.server.access import NotAllowed
from acegraph.graph.server.service import Service
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.points import amount_of
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.state import BulletPlaybook
from acegraph.state.database.places import shown_url
from acegraph.state.errors import AceError
from acegraph.state.maintenance.people.review_queue import Waiting, waiting
from acegraph.state.maintenance.people.sessions import LONGEST_SECONDS, begin_session, end_session
from acegraph.state.maintenance.people.users import Role, User
from acegraph.state.playbook.decision_index import UNLABELLED, DecisionColumns, DecisionIndex
from acegraph.state.task.card_payments import DEFAULT_NODE

_TEMPLATES: Final = Path(__file__).parent / "templates"
T = TypeVar("T")
Handler = Callable[["Desk", Visit], Response]


@dataclass(frozen=True)
class Page:
    """A path with its method, who may use it, and what answers."""

    method: str
    path: str
    role: Role | None
    """None: whoever has no session."""
    handler: Handler
    again: Handler | None = None
    """The page that was sent, which says why nothing was done."""


class Desk:
    """What the pages work with."""

    node: Final = DEFAULT_NODE
    """The name of the agent whose rules are shown."""

    def __init__(self, service: Service, owner: User | None = None) -> None:
        self.service, self._owner = service, owner
        self._once = ""
        """The token in the address that lets the owner in, until it is used."""
        self._opening = Lock()
        self._index: DecisionIndex | None = None
        self._named: tuple[str, ...] = ()
        """The fields of amount and time by which it was read."""
        self._moment: object = None
        self._made: dict[Hashable, object] = {}
        """What was computed at this moment of the ledger, by name."""
        self._templates = Environment(
            loader=FileSystemLoader([_TEMPLATES, SHAPES]),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        self._templates.filters.update(FILTERS)

    @property
    def playbook(self) -> BulletPlaybook:
        """The playbook that the service has, too."""
        return self.service.playbook

    @property
    def nouns(self) -> Nouns:
        """How the pages call what is decided."""
        return Nouns.of(self.playbook.task(self.node))

    def decisions(self) -> DecisionColumns:
        """All decisions, in a few numbers each."""
        found = map(self.playbook.task(self.node).of_role, ("amount", "time"))
        amount, time = named = tuple(field.name if field else "" for field in found)
        with self._opening:
            if self._index is None or self._named != named:
                read_amount = partial(amount_of, named=amount)
                self._index = DecisionIndex(self.playbook.database, read_amount, time)
                self._named = named
        return self._index.columns()

    def outcomes(self) -> DecisionColumns:
        """The decisions, and labelled transactions without one as the mistakes that they may be."""
        self.decisions()
        assert self._index
        return self.once("outcomes", self._index.with_undecided)

    def number_of(self, decision_id: str) -> int | None:
        """The number of a decision in `decisions`."""
        return self._index.number(decision_id) if self._index else None

    def cases(self) -> Cases:
        """The labelled cases on which rules are tried."""
        return self.once("cases", lambda: Cases(self.playbook.cases(self.node)))

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """What a function gives, which is kept until the ledger changes."""
        moment = self.playbook.clock
        with self._opening:
            if self._moment != moment:
                self._moment, self._made = moment, {}
            made = self._made
        if name not in made:
            made[name] = make()
        return cast(T, made[name])

    def table_rules(self) -> TableRules:
        """The playbook as it reads and decides now."""
        return self.once("rules", lambda: TableRules.of(self.playbook))

    def ruleset(self) -> Ruleset:
        """The playbook as it decides now."""
        return self.table_rules().ruleset

    def waiting(self) -> list[Waiting]:
        """Everything that waits for a person."""

        def found() -> list[Waiting]:
            columns = self.decisions()
            may_wait = (columns.may_ask | columns.let_through) & (columns.label == UNLABELLED)
            ids = [columns.ids[row] for row in np.flatnonzero(may_wait)]
            return waiting(self.playbook, ids)

        return self.once("waiting", found)

    def page(
        self, visit: Visit, template: str, found: Mapping[str, object], status: int = 0
    ) -> Response:
        """A page, or a part of one."""
        context: dict[str, object] = {"base": visit.base, "user": None}
        if visit.session is not NOBODY:
            context |= {
                "nouns": self.nouns,
                "user": visit.user,
                "form_token": visit.session.form_token,
                "form_token_name": FORM_TOKEN,
                "path": visit.request.url.path.removeprefix(visit.base),
                "place": shown_url(self.playbook.url),
                "version": self.playbook.version,
                "done": visit.asked("done"),
                "error": visit.error,
                "why": visit.given("why"),
            }
        text = self._templates.get_template(template).render({**context, **found})
        return HTMLResponse(text, status or visit.status, {"Vary": "HX-Request"})

    def failure(self, visit: Visit, error: Exception, status: int) -> Response:
        """A page, or a part of one, that says what went wrong."""
        template = "_error.html" if visit.wants_part else "error.html"
        found = {"message": str(error), "status": status}
        try:
            return self.page(visit, template, found, status)
        except AceError:  # the database is away
            return self.page(Visit(visit.request), template, found, status)

    def go(self, visit: Visit, path: str, done: str = "") -> Response:
        """Send the browser to another page, which says what was done."""
        return RedirectResponse(f"{visit.base}{path}" + (f"?done={done}" if done else ""), 303)

    def one_time_token(self) -> str:
        """A token that lets the owner in once."""
        self._once = secrets.token_urlsafe(24)
        return self._once

    @property
    def is_open(self) -> bool:
        """Whether somebody is let in without a token."""
        return self._owner is not None or self.service.settings.without_users

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
        session = begin_session(self.playbook.database, user, is_local=is_local)
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
            end_session(self.playbook.database, token)
