"""The desk: pages for the people who answer for the rules. It shows and asks; others decide."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from acegraph.graph.server.service import Service

PACKAGES = ("jinja2", "python_multipart", "pyarrow")
"""The packages of the extra `desk`, besides those of `serve`."""


def mounts(service: "Service") -> "Sequence[BaseRoute]":
    """The desk beside a service, where its packages are installed."""
    if not all(map(find_spec, PACKAGES)):
        return ()
    from acegraph.graph.desk.app import create_desk
    from acegraph.graph.desk.desk import Desk

    return create_desk(Desk(service)).routes
