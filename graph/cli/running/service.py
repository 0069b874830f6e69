"""`acegraph serve` and `desk`: the HTTP service, and its pages for one person."""

import gc
import getpass
import re
import socket
import webbrowser
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final

import typer

from acegraph.graph.cli.console import lasting, need, place_of, playbook_url, who
from acegraph.graph.cli.printing import say
from acegraph.graph.cli.running.lines import answer_lines
from acegraph.graph.operations.monitoring.logs import is_asked_for, start_logging
from acegraph.state import AceContext, InvalidSettings
from acegraph.state.database.encoding import file_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.applications import Starlette

_DESK: Final = ("jinja2", "python_multipart", "pyarrow")
"""The packages of the extra `desk`, besides those of `serve`."""


def serve(
    *,
    host: str = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(min=1)] = 1,
    without_users: Annotated[bool, typer.Option("--without-users")] = False,
    stdin: Annotated[bool, typer.Option("--stdin")] = False,
    learn: bool = True,
) -> None:
    """Serve decisions, labels, review and the playbook over HTTP; or answer lines.

    What comes again counts once. GET /openapi.json describes the paths. Example: acegraph users ann
    --role administrator; acegraph serve

    Options:
        host: The address to listen on.
        port: The port to listen on.
        workers: Processes; more than one needs PostgreSQL.
        without_users: Ask for no token; only for this machine's address.
        stdin: Answer JSON lines of standard input instead, each after its commit: {"transaction":
            ..., "decision_id": ...} or {"decision_id": ..., "label": ...}.
        learn: Count decisions, and learn from labels that prove one wrong.
    """
    if stdin:
        with lasting() as book:
            answer_lines(book, AceContext(learn=None if learn else False))
        return
    need("serve", "uvicorn", "starlette", "prometheus_client")
    from acegraph.graph.server.access import is_local

    url = place_of(playbook_url.get())
    if without_users and not is_local(host):
        raise InvalidSettings(f"--without-users is for 127.0.0.1 only, not for {host}")
    if workers > 1 and file_of(url) is not None:
        raise InvalidSettings("several workers need a playbook in PostgreSQL")
    _run(partial(_application, url, learn, without_users), host, port, workers)


def _run(make: "Callable[[], Starlette]", host: str, port: int, workers: int) -> None:
    """Run the applications of so many processes until they are ended."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    config = uvicorn.Config(
        make,
        factory=True,
        host=host,
        port=port,
        workers=workers,
        log_config=None if is_asked_for() else uvicorn.config.LOGGING_CONFIG,
        access_log=False,  # paths hold the ids of decisions
    )
    if workers > 1:
        Multiprocess(config, sockets=[config.bind_socket()]).run()
    else:
        uvicorn.Server(config).run()


def _application(url: str, learn: bool, without_users: bool) -> "Starlette":
    """The application of a process; a new process must not import it before it answers uvicorn."""
    from acegraph.graph.server.app import create_service
    from acegraph.graph.server.service import ServiceSettings

    start_logging()
    settings = ServiceSettings(url, learn, without_users)
    if all(map(find_spec, _DESK)):
        from acegraph.graph.desk.app import desk_routes

        application = create_service(settings, mounts=desk_routes)
    else:
        application = create_service(settings)
    # What is there now stays: the garbage collector need not look through it again and again.
    gc.collect()
    gc.freeze()
    return application


def desk(
    *, port: Annotated[int, typer.Option(min=0, max=65535)] = 8765, browser: bool = True
) -> None:
    """Open the desk: pages to look at a playbook, try rules, review payments and go back.

    It listens on this machine only, and prints an address that lets one person in, once. Others log
    in with their tokens (acegraph users NAME). Example: acegraph desk --who ann

    Options:
        port: The port to listen on; 0: any that is free.
        browser: Open the address in a browser.
    """
    need("desk", *_DESK, "uvicorn", "starlette", "prometheus_client")
    import uvicorn

    from acegraph.graph.desk.app import create_desk
    from acegraph.graph.desk.desk import Desk
    from acegraph.graph.server.service import Service, ServiceSettings
    from acegraph.state.maintenance.people.users import User

    name = re.sub(r"[^A-Za-z0-9_-]", "-", who.get() or getpass.getuser())[:64]
    with _listening(port) as listening, lasting() as book:
        desk = Desk(Service(ServiceSettings(), book), User(name, "administrator"))
        place = f"http://127.0.0.1:{listening.getsockname()[1]}/desk"
        address = f"{place}/enter?token={desk.entrance.one_time_token()}"
        say(f"the desk, for {name}, once: {address}")
        if browser:
            webbrowser.open(address)
        config = uvicorn.Config(
            create_desk(desk),
            log_level="warning",
            access_log=False,  # paths hold the ids of decisions
            timeout_graceful_shutdown=2,
        )
        uvicorn.Server(config).run(sockets=[listening])


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError:
        raise InvalidSettings(f"port {port} is in use; --port names another one") from None
