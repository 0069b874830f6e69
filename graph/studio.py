"""The graphs compiled bare for `langgraph dev` and LangGraph Studio.

The server brings its own checkpointer and store. The playbook is the one of ACE_PLAYBOOK_URL (for
example sqlite:///ace.db), or one in memory that ends with the server.
"""

import os

from acegraph.graph.build import create_ace_graph
from acegraph.state import BulletPlaybook

_playbook = BulletPlaybook(os.environ.get("ACE_PLAYBOOK_URL"))
graph = create_ace_graph(playbook=_playbook).compile(name="ace")
reviewed = create_ace_graph(playbook=_playbook, review=True).compile(name="ace_reviewed")
