"""Where worker processes come from: a process that has everything imported already.

There is one such process, so what is to be imported is said here for all workers. The rooms import
their modules only when asked: these are the modules themselves.
"""

import multiprocessing

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    [
        "acegraph.graph.build",
        "acegraph.state.database.postgres",
        "acegraph.state.database.sqlite",
        "acegraph.state.playbook.playbook",
        "langgraph.checkpoint.postgres",
        "langgraph.checkpoint.sqlite",
    ]
)
