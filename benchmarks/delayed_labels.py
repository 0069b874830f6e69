"""A stream whose labels come later than its decisions, as chargebacks do.

Each case is decided without its label. The label is given by `feedback` as soon as the clock of the
stream has passed the moment when it becomes known, and nothing can learn from it before.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Unpack

from acegraph.graph.build import Collaborators, create_ace_graph
from acegraph.graph.data.files import Item, row_name
from acegraph.graph.metrics.run import Run
from acegraph.graph.operations.feedback import feedback
from acegraph.state import AceContext, BulletPlaybook, ModelError


def decide_delayed(
    playbook: BulletPlaybook,
    items: Sequence[Item],
    moments: Sequence[float],
    delay: float,
    context: AceContext,
    **collaborators: Unpack[Collaborators],
) -> Run:
    """Decide a stream in the order of its moments; each label is known `delay` after its case."""
    graph = create_ace_graph(playbook=playbook, **collaborators).compile()
    reflector, curator = collaborators.get("reflector"), collaborators.get("curator")
    give_label = partial(feedback, playbook, reflector=reflector, curator=curator)
    order = sorted(range(len(items)), key=lambda i: moments[i])
    labelled, run = 0, Run()
    for now in order:
        while (due := order[labelled]) != now and moments[due] + delay <= moments[now]:
            with suppress(ModelError):  # the label is stored before the reflector is asked
                give_label(f"delayed:{due}", items[due]["answer"])
            labelled += 1
        item = items[now]
        result = graph.invoke(
            {"transaction": item["query"], "decision_id": f"delayed:{now}"}, context=context
        )
        run.add(item["answer"], result["decision"], result["risk_score"], row_name(item))
    return run
