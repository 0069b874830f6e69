"""A stream whose labels come later than its decisions, as chargebacks do.

Each case is decided without its label; a label takes the road of `feedback` once the stream's own
clock has passed its time. Nothing may know it before.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from acegraph.graph.build import create_ace_graph
from acegraph.graph.data.files import Item, row_name
from acegraph.graph.metrics.run import Run
from acegraph.graph.operations.feedback import feedback
from acegraph.state import AceContext, BulletPlaybook, ModelError
from acegraph.state.values.verdict import UNDECIDED


def decide_delayed(
    playbook: BulletPlaybook,
    items: Sequence[Item],
    moments: Sequence[float],
    delay: float,
    context: AceContext,
    **collaborators: Any,
) -> Run:
    """Decide a stream in the order of its moments; each label is known `delay` after its case."""
    graph = create_ace_graph(playbook=playbook, **collaborators).compile()
    learning = {k: collaborators[k] for k in ("reflector", "curator") if k in collaborators}
    order = sorted(range(len(items)), key=lambda i: moments[i])
    due, run, undecided = 0, Run(), set()
    for place in order:
        while moments[order[due]] + delay <= moments[place] and order[due] != place:
            known = order[due]
            if known not in undecided:
                with suppress(ModelError):  # the label is written before its lesson is drawn
                    feedback(playbook, f"delayed:{known}", items[known]["answer"], **learning)
            due += 1
        result = graph.invoke(
            {"transaction": items[place]["query"], "decision_id": f"delayed:{place}"},
            context=context,
        )
        if result["decision"] == UNDECIDED:
            undecided.add(place)
        item = items[place]
        run.add(item["answer"], result["decision"], result["risk_score"], row_name(item))
    return run
