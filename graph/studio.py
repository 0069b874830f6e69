"""The compiled graphs for `langgraph dev` and LangGraph Studio, and the service beside them.

They have no checkpointer and no store: the server brings its own. ACE_PLAYBOOK_URL (for example
sqlite:///ace.db) names the playbook; without it, a playbook in memory ends with the server.
"""

import os

from starlette.middleware import Middleware

from acegraph.graph.build import create_ace_graph
from acegraph.graph.desk import mounts
from acegraph.graph.server.app import create_service
from acegraph.graph.server.checkpoints import shut_server_folder
from acegraph.graph.server.guard import Guard
from acegraph.graph.server.service import ServiceSettings
from acegraph.state import BulletPlaybook
from acegraph.state.gone import refuse_gone_variables

refuse_gone_variables()
shut_server_folder()
_playbook = BulletPlaybook(os.environ.get("ACE_PLAYBOOK_URL") or None)
graph = create_ace_graph(playbook=_playbook).compile()
reviewed = create_ace_graph(playbook=_playbook, review=True).compile(name="ace_reviewed")
app = create_service(ServiceSettings(), _playbook, [Middleware(Guard)], mounts)
"""The service's routes, and the desk, beside those of the server, behind the guard
(langgraph.secure.json)."""
