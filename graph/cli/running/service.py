"""`acegraph serve`, `desk` and `users ...`: the HTTP service, its pages, and who may use them."""

import getpass
import re
import socket
import webbrowser
from dataclasses import asdict
from importlib.util import find_spec
from typing import Annotated, Final

import typer

from acegraph.graph.cli.console import (
    DEFAULT_URL,
    AsJson,
    Learn,
    PlaybookUrl,
    Redact,
    lasting,
    print_json,
    say,
)
from acegraph.state import InvalidSettings
from acegraph.state.database.encoding import file_of

_EXTRA: Final = "acegraph serve needs two packages more: pip install 'acegraph[serve]'"
_DESK: Final = "acegraph desk needs some packages more: pip install 'acegraph[desk]'"
users_app = typer.Typer(
    no_args_is_help=True, help="The users of the service: add, list, remove.", add_completion=False
)


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on.")] = 8000,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes; more than one needs PostgreSQL.")
    ] = 1,
    learn: Learn = True,
    rate: Annotated[
        float, typer.Option(min=0, help="Transactions a second of each user; 0: no limit.")
    ] = 0.0,
    most_waiting: Annotated[
        int, typer.Option(min=1, help="Transactions that may wait at once in one process.")
    ] = 2000,
    without_users: Annotated[
        bool,
        typer.Option("--without-users", help="Ask for no token; only for this machine's address."),
    ] = False,
    redact: Redact = None,
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Serve decisions, labels, review and the playbook over HTTP.

    Example: acegraph users add ann --role administrator; acegraph serve. GET /openapi.json
    describes the paths.
    """
    try:
        import uvicorn

        from acegraph.graph.operations.monitoring.logs import is_asked_for
        from acegraph.graph.server.access import is_local
        from acegraph.graph.server.service import ServiceSettings, to_environment
    except ImportError:
        raise InvalidSettings(_EXTRA) from None
    if without_users and not is_local(host):
        raise InvalidSettings(f"--without-users is for 127.0.0.1 only, not for {host}")
    if workers > 1 and file_of(playbook) is not None:
        raise InvalidSettings("several workers need a playbook in PostgreSQL")
    hidden = redact or []
    to_environment(ServiceSettings(playbook, learn, without_users, rate, most_waiting, hidden))
    uvicorn.run(
        f"acegraph.graph.{'desk' if _has_desk() else 'server'}.app:from_environment",
        factory=True,
        host=host,
        port=port,
        workers=workers,
        log_level="info",
        log_config=None if is_asked_for() else uvicorn.config.LOGGING_CONFIG,
        access_log=False,  # paths hold the ids of decisions
    )


def _has_desk() -> bool:
    """Whether the packages of the extra `desk` are installed."""
    return all(map(find_spec, ("jinja2", "python_multipart", "pyarrow")))


def desk(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen on; 0: any that is free.")
    ] = 8765,
    who: Annotated[
        str, typer.Option(help="Your name, as the history will have it. Else that of your login.")
    ] = "",
    browser: Annotated[bool, typer.Option(help="Open the address in a browser.")] = True,
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Open the desk: pages to look at a playbook, try rules, review payments and go back.

    It listens on this machine only, and prints an address that lets one person in, once. Others log
    in with their tokens (acegraph users add).
    """
    if not _has_desk() or not all(map(find_spec, ("uvicorn", "starlette"))):
        raise InvalidSettings(_DESK)
    import uvicorn

    from acegraph.graph.desk.app import create_desk
    from acegraph.graph.desk.desk import Desk
    from acegraph.graph.server.service import Service, ServiceSettings
    from acegraph.state.maintenance.people.users import User

    name = re.sub(r"[^A-Za-z0-9_-]", "-", who or getpass.getuser())[:64]
    with socket.socket() as listening, lasting(playbook) as book:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError:
            raise InvalidSettings(f"port {port} is in use; --port names another one") from None
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


@users_app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Letters, digits, - or _.")],
    role: Annotated[
        str, typer.Option(help="viewer, analyst, approver or administrator.")
    ] = "viewer",
    tenant: Annotated[
        str, typer.Option(help="Whose playbook the user sees: small letters and digits.")
    ] = "",
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Add a user, or give one another role and token; the token is printed once.

    Only a hash of it is stored.
    """
    from acegraph.state.maintenance.people.users import add_user

    with lasting(playbook) as book:
        secret = add_user(book.database, name, role, tenant=tenant)  # type: ignore[arg-type]
    of = f" of {tenant}" if tenant else ""
    say(f"{name} is {role}{of}; the token, which is shown only now:")
    say(f"{name}.{secret}")


@users_app.command("list")
def list_users(playbook: PlaybookUrl = DEFAULT_URL, as_json: AsJson = False) -> None:
    """List the users and their roles."""
    from acegraph.state.maintenance.people.users import users

    with lasting(playbook, must_exist=True) as book:
        known = users(book.database)
    if as_json:
        print_json({"users": [asdict(user) for user in known]})
        return
    for user in known:
        say(f"{user.role:<14} {user.name}" + (f" of {user.tenant}" if user.tenant else ""))
    if not known:
        say("no users yet: acegraph users add NAME --role administrator")


@users_app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(help="The user's name.")],
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Remove a user; the token is refused from then on."""
    from acegraph.state.maintenance.people.users import remove_user

    with lasting(playbook, must_exist=True) as book:
        remove_user(book.database, name)
    say(f"{name} is no user any more")
