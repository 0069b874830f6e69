"""What is learned where the agent has a blind spot: it approves every payment made at night.

The agent follows the prompt by day. Fraud at night is as frequent as by day, so what it gets wrong
is nothing that the scorecard or the other rules get wrong. Printed are the mistakes of the agent,
how often the reflector was asked, the active bullets that test the hour, and how many of the
frauds at night such a rule would decline.

    python benchmarks/blind_spot.py                       # 5 seeds, 600 cases
    python benchmarks/blind_spot.py --package build/old   # and with another installed version
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from followers import BlindSpot, is_night

from acegraph.graph import TrainingPipeline, generate_transactions
from acegraph.nodes import LanguageModel, Reflector
from acegraph.nodes.text.understand import read_fields
from acegraph.state import AceContext, BulletPlaybook, Transaction


class CountingReflector(Reflector):
    """The embedded reflector, which counts how often it is asked."""

    asked = 0

    async def reflect_with(self, *args: Any, **options: Any) -> Any:
        """Count and reflect."""
        self.asked += 1
        return await super().reflect_with(*args, **options)

    async def settle(self, *args: Any, **options: Any) -> Any:
        """The same, as it was called up to commit 632ec4d."""
        self.asked += 1
        return await super().settle(*args, **options)  # type: ignore[misc]


def measure(seed: int, cases: int) -> dict[str, Any]:
    """Learn one stream, and describe what was learned."""
    stream = generate_transactions(cases, seed=3000 + seed)
    agent, reflector = LanguageModel(BlindSpot(), "prompt"), CountingReflector()
    pipeline = TrainingPipeline(
        BulletPlaybook(), context=AceContext(seed=seed), agent=agent, reflector=reflector
    )
    report = pipeline.train_online(stream)
    rules = pipeline.playbook.get_bullets_for_node("fraud_detection")
    hourly = [b for b in rules if b.condition and "hour" in b.condition.fields]
    frauds = [e for e in stream if e.answer == "DECLINE" and is_night(e.query)]
    caught = sum(
        any(b.verdict == "DECLINE" and b.condition and b.condition.holds(fields) for b in hourly)
        for fields in (read_fields(Transaction.of(e.query)) for e in frauds)
    )
    return {
        "mistakes": report.mistakes,
        "reflections": reflector.asked,
        "bullets": len(rules),
        "bullets for the hour": len(hourly),
        "frauds at night": len(frauds),
        "of them met by a rule for the hour": caught,
        "rules": [b.content for b in hourly],
    }


def main() -> None:
    """Measure and print, one line a seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cases", type=int, default=600)
    parser.add_argument("--package", help="folder of another installed version, measured too")
    chosen = parser.parse_args()
    for seed in range(chosen.seeds):
        print(f"seed {seed}: {measure(seed, chosen.cases)}", flush=True)
    if chosen.package:
        print(f"the package in {chosen.package}:", flush=True)
        size = ["--seeds", str(chosen.seeds), "--cases", str(chosen.cases)]
        env = {**os.environ, "PYTHONPATH": chosen.package}
        subprocess.run([sys.executable, __file__, *size], env=env, check=True)


if __name__ == "__main__":
    main()
