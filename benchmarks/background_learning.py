"""How long a wrong decision takes beside a right one, with learning in the run and after it.

A scripted server takes a second for each answer, so that what is asked dominates.

    python benchmarks/background_learning.py
"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from langchain_openai import ChatOpenAI
from model_samples import APPROVAL, LESSON, SCHEMAS
from openai_server import OpenAIServer, delayed, filled

from acegraph.graph import create_ace_graph, learn_waiting
from acegraph.nodes import LanguageModel
from acegraph.state import AceContext, BulletPlaybook

REPEATS = 5


def seconds(server: OpenAIServer, context: AceContext) -> dict[str, float]:
    """The median time of right and of wrong decisions; the agent approves everything."""
    model = LanguageModel(ChatOpenAI(model=SCHEMAS, base_url=server.url, api_key="none"))
    playbook = BulletPlaybook()
    graph = create_ace_graph(
        playbook=playbook, agent=model, reflector=model, context=context
    ).compile()
    took: dict[str, list[float]] = {"APPROVE": [], "DECLINE": []}
    for number in range(2 * REPEATS + 2):
        label = "DECLINE" if number % 2 else "APPROVE"
        given = {"transaction": f"pays {number + 20} USD at 2 PM", "ground_truth": label}
        began = time.perf_counter()
        graph.invoke({**given, "decision_id": f"d{number}"})
        took[label].append(time.perf_counter() - began)
    if context.learn_later:
        report = learn_waiting(playbook, reflector=model)
        print(f"  a worker then learned {report.lessons} lessons")
    return {label: statistics.median(times[1:]) for label, times in took.items()}


def main() -> None:
    """Measure both ways and print them."""
    with OpenAIServer() as server:
        server.on("DecisionForm", delayed(filled(**APPROVAL), lambda body: 1.0))
        server.on("ReflectionForm", delayed(filled(**LESSON), lambda body: 1.0))
        for name, later in (("in the run", False), ("in the background", True)):
            took = seconds(server, AceContext(learn_later=later))
            ratio = took["DECLINE"] / took["APPROVE"]
            print(
                f"learning {name}: right {took['APPROVE']:.3f} s, wrong {took['DECLINE']:.3f} s, "
                f"ratio {ratio:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
