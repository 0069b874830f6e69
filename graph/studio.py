"""The compiled graphs for `langgraph dev` and LangGraph Studio, and the service beside them.

They have no checkpointer and no store: the server brings its own. ACE_PLAYBOOK_URL (for example
sqlite:///ace.db) names the playbook; without it, a playbook in memory ends with the server.
"""

import os
from collections.abc import Sequence

from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from acegraph.graph.build import create_ace_graph
from acegraph.graph.server.app import create_service
from acegraph.graph.server.checkpoints import shut_server_folder
from acegraph.graph.server.guard import Guard
from acegraph.graph.server.service import Service, ServiceSettings
from acegraph.state import BulletPlaybook
from acegraph.state.gone import refuse_gone_variables


def _mounts(service: Service) -> Sequence[BaseRoute]:
    """The desk, where its packages are installed."""
    try:
        from acegraph.graph.desk.app import desk_routes
    except ImportError:
        return ()
    return desk_routes(service)


refuse_gone_variables()
shut_server_folder()
_playbook = BulletPlaybook(os.environ.get("ACE_PLAYBOOK_URL") or None)
refuse_gone_variables()
graph = create_ace_graph(playbook=_playbook).compile()
reviewed = create_ace_graph(playbook=_playbook, review=True).compile(name="ace_reviewed")
app = create_service(ServiceSettings(), _playbook, [Middleware(Guard)], _mounts)
"""The service's routes, and the desk, beside those of the server, behind the guard
(langgraph.secure.json)."""
