"""A desk on a port, and a real browser to look at it."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from acegraph.graph.desk.app import create_desk
from acegraph.graph.desk.desk import Desk
from acegraph.graph.server.service import Service, ServiceSettings
from acegraph.state import BulletPlaybook
from acegraph.state.maintenance.people.users import User

CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome")
AXE = Path(__file__).parent / "axe" / "axe.min.js"
PAGES = (
    "/",
    "/playbook?status=all",
    "/playbook?sort=blocked",
    "/lab",
    "/lab?rule=DECLINE+when+amount+%3E%3D+200+and+amount+%3C+900",
    "/decisions",
    "/review",
    "/versions?before=0&after=1",
    "/nowhere",
)
"""Pages that every playbook has."""


class Served:
    """A desk that answers under an address."""

    def __init__(self, book: BulletPlaybook, place: str) -> None:
        self.book, self.place = book, place
        self.desk = Desk(Service(ServiceSettings(), book), User("pat", "administrator"))

    def one_time_address(self) -> str:
        return f"{self.place}/desk/enter?token={self.desk.one_time_token()}"


@contextmanager
def served(url: str) -> Iterator[Served]:
    """A desk over a playbook, on a free port of this machine."""
    with BulletPlaybook(url) as book, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        desk = Served(book, f"http://127.0.0.1:{listening.getsockname()[1]}")
        config = uvicorn.Config(
            create_desk(desk.desk), log_level="warning", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield desk
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A real browser."""
    with sync_playwright() as playwright:
        options: dict[str, Any] = {"executable_path": CHROMIUM, "args": ["--no-sandbox"]}
        browser = playwright.chromium.launch(**options)
        try:
            yield browser
        finally:
            browser.close()


class Looker:
    """Somebody with a browser, and all that the browser complained of."""

    def __init__(self, browser: Browser, desk: Served, token: str = "", **options: Any) -> None:
        self.desk = desk
        self.context = browser.new_context(base_url=desk.place, locale="en-GB", **options)
        self.context.set_default_timeout(300_000)
        self.complaints: list[str] = []
        self.page: Page = self.context.new_page()
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        self.page.add_init_script("window.ran = 0; window.pwned = () => { window.ran += 1; };")
        if token:
            self.go("/login")
            self.page.fill("#token", token)
            self.page.click("main button")
        else:
            self.page.goto(desk.one_time_address())
        assert self.page.locator("h1").inner_text() == "Overview"

    def _note(self, message: Any) -> None:
        # A page that answers 404 or 422 is told in the console; that is no complaint.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def go(self, path: str) -> Page:
        self.page.goto(f"/desk{path}")
        return self.page

    def press(self, name: str) -> None:
        """Press a button."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def is_unharmed(self) -> bool:
        """Whether no script of a stranger ran, and nothing is wider than the window."""
        script = "() => [window.ran, document.documentElement.scrollWidth <= innerWidth]"
        return self.page.evaluate(script) == [0, True] and not self.complaints

    def violations(self, *rules: str) -> list[str]:
        """What axe-core finds on the page, by all its rules or by these."""
        # A policy without inline scripts: the tool is put in from outside.
        if self.page.evaluate("typeof axe") == "undefined":
            self.page.evaluate(AXE.read_text())
        options = {"runOnly": rules} if rules else {}
        found = self.page.evaluate("async (of) => (await axe.run(of)).violations", options)
        return [f"{v['id']}: {re.sub(chr(10), ' ', v['nodes'][0]['html'])[:200]}" for v in found]

    def close(self) -> None:
        self.context.close()
