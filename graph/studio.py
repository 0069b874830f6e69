"""The graph compiled bare for `langgraph dev` and LangGraph Studio.

The server brings its own checkpointer and store. The playbook is the one of ACE_PLAYBOOK_URL (for
example sqlite:///ace.db), or one in memory that ends with the server.
"""

import os

from acegraph.graph.ace import create_ace_graph

graph = create_ace_graph(playbook=os.environ.get("ACE_PLAYBOOK_URL")).compile(name="ace")
