"""`acegraph serve` and `desk`: the HTTP service, its pages for one person, and JSON lines instead.

Of lines one goes out for each that came in, after the commit. Whoever forwards lines remembers the
last one that was answered: what comes again counts once.
"""

import gc
import getpass
import json
import os
import re
import socket
import sys
import webbrowser
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from multiprocessing import parent_process
from signal import SIGTERM
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from acegraph.graph.cli.console import lasting, need, place_of, playbook_url, who
from acegraph.graph.cli.printing import say
from acegraph.graph.desk import PACKAGES, mounts
from acegraph.graph.operations.monitoring.logs import is_asked_for, start_logging
from acegraph.state import AceContext, AceError, InvalidInput, InvalidSettings
from acegraph.state.database.encoding import file_of
from acegraph.state.values import each_name_once

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from starlette.applications import Starlette

    from acegraph.graph.build import Parts
    from acegraph.state import AceInput, BulletPlaybook, Label

_AT_ONCE: Final = 65_536
"""So many bytes are read at a time."""
_PATIENCE: Final = 60
"""Seconds in which a worker must answer its supervisor: one that is being imported is silent."""
_DECISION: Final = ("transaction", "decision_id", "ground_truth")


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
            _answer_lines(book, AceContext(learn=None if learn else False))
        return
    need("serve", "uvicorn", "starlette", "prometheus_client")
    from acegraph.graph.server.door import is_local

    url = place_of(playbook_url.get())
    if without_users and not is_local(host):
        raise InvalidSettings(f"--without-users is for 127.0.0.1 only, not for {host}")
    if workers > 1 and file_of(url) is not None:
        raise InvalidSettings("several workers need a playbook in PostgreSQL")
    _run(partial(_application, url, learn, without_users), host, port, workers)


def _run(make: Callable[[], "Starlette"], host: str, port: int, workers: int) -> None:
    """Run the applications of so many processes until they are ended."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from acegraph.graph.server.connections import BACKLOG, Connection

    config = uvicorn.Config(
        make,
        factory=True,
        http=Connection,
        backlog=BACKLOG,
        host=host,
        port=port,
        workers=workers,
        log_config=None if is_asked_for() else uvicorn.config.LOGGING_CONFIG,
        access_log=False,  # paths hold the ids of decisions
        timeout_worker_healthcheck=_PATIENCE,
    )
    if workers > 1:
        Multiprocess(config, sockets=[config.bind_socket()]).run()
    else:
        uvicorn.Server(config).run()


def _end_with(supervisor: "BaseProcess") -> None:
    supervisor.join()
    os.kill(os.getpid(), SIGTERM)


def _application(url: str, learn: bool, without_users: bool) -> "Starlette":
    """The application of a process; a new process must not import it before it answers uvicorn."""
    from acegraph.graph.server.app import create_service
    from acegraph.graph.server.service import ServiceSettings

    if supervisor := parent_process():  # a worker that it no longer watches would never end
        Thread(target=_end_with, args=(supervisor,), daemon=True).start()
    start_logging()
    application = create_service(ServiceSettings(url, learn, without_users), mounts=mounts)
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
    need("desk", *PACKAGES, "uvicorn", "starlette", "prometheus_client")
    import uvicorn

    from acegraph.graph.desk.app import create_desk
    from acegraph.graph.desk.desk import Desk
    from acegraph.graph.server.connections import Connection
    from acegraph.graph.server.service import Service, ServiceSettings
    from acegraph.state.maintenance.people.users import User

    name = re.sub(r"[^A-Za-z0-9_-]", "-", who.get() or getpass.getuser())[:64]
    try:
        listening = socket.create_server(("127.0.0.1", port))
    except OSError:
        raise InvalidSettings(f"port {port} is in use; --port names another one") from None
    with listening, lasting() as book:
        desk = Desk(Service(ServiceSettings(), book), User(name, "administrator"))
        place = f"http://127.0.0.1:{listening.getsockname()[1]}/desk"
        address = f"{place}/enter?token={desk.one_time_token()}"
        say(f"the desk, for {name}, once: {address}")
        if browser:
            webbrowser.open(address)
        config = uvicorn.Config(
            create_desk(desk),
            http=Connection,
            log_level="warning",
            access_log=False,  # paths hold the ids of decisions
            timeout_graceful_shutdown=2,
        )
        uvicorn.Server(config).run(sockets=[listening])


def _answer_lines(playbook: "BulletPlaybook", context: AceContext) -> None:
    """Answer the lines of standard input until it ends."""
    from acegraph.graph.build import gather_parts

    parts = gather_parts(playbook, context=context)
    for lines in _batches():
        for answer in _answers(parts, lines, learn=context.learn is not False):
            typer.echo(json.dumps(answer))
        sys.stdout.flush()


def _batches() -> Iterator[list[bytes]]:
    """The lines that have come by the time at which those before are answered."""
    begun = b""
    while come := os.read(0, _AT_ONCE):
        *lines, begun = (begun + come).split(b"\n")
        yield lines
    yield [begun]


def _answers(parts: "Parts", lines: list[bytes], *, learn: bool) -> Iterator[dict[str, object]]:
    from acegraph.graph.operations.decide import decide_many
    from acegraph.graph.operations.feedback import feedback_many

    for kind, some in groupby((_read(line) for line in lines if line.strip()), key=type):
        if kind is dict:
            given = [cast("AceInput", one) for one in some]
            for item, answer in zip(given, decide_many(parts, given), strict=True):
                if isinstance(answer, AceError):
                    yield _refused(item["decision_id"], answer)
                else:
                    yield dict(answer)
        elif kind is tuple:
            labels = [cast("tuple[str, Label]", one) for one in some]
            unknown = feedback_many(parts.playbook, labels, learn=learn).unknown
            for decision_id, label in labels:
                status = "unknown" if decision_id in unknown else "stored"
                yield {"decision_id": decision_id, "label": label.value, "status": status}
        else:
            yield from (json.loads(str(answer)) for answer in some)


def _read(line: bytes) -> object:
    """A decision as its input, a label with the id of its decision, or a refusal as text."""
    from acegraph.graph.operations.feedback import check_names, read_label

    item: object = {}
    try:
        item = json.loads(line, object_pairs_hook=each_name_once)
        if not isinstance(item, dict):
            raise InvalidInput("a line is one JSON object")
        if "label" in item:
            return read_label(item)
        check_names(item, _DECISION, _DECISION[:2])
    except ValueError as error:  # InvalidInput is one
        why = error if isinstance(error, InvalidInput) else InvalidInput("a line is no JSON")
        decision_id = item.get("decision_id") if isinstance(item, dict) else None
        return json.dumps(_refused(decision_id, why))
    return item


def _refused(decision_id: object, error: AceError) -> dict[str, object]:
    return {
        "decision_id": decision_id,
        "error": {"type": type(error).__name__, "message": str(error)},
    }
