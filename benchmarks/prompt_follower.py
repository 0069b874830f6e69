"""What a model can make of the agent's prompt: decisions of functions that read only the prompt.

A perfect follower does what the prompt says, and knows as much of fraud as the embedded scorecard.
One that knows the world is also right about 85 % of what the prompt leaves open. Both learn, over
generated cases told as text, beside the embedded analyst.

    python benchmarks/prompt_follower.py                       # 5 seeds, 400 and 600 cases
    python benchmarks/prompt_follower.py --package build/old   # and of another version

Another version of the package is installed with `pip install --no-deps --target build/old ...`.
Tokens are counted with cl100k if tiktoken has its vocabulary, else estimated, rather too high.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from followers import Follower
from token_counts import count_tokens

from acegraph.graph import TrainingPipeline, generate_transactions
from acegraph.nodes import LanguageModel
from acegraph.state import AceContext, BulletPlaybook

MODES = ("vanilla", "offline", "offline_online", "online")


def measure(
    kind: str, train: int, test: int, seed: int
) -> tuple[dict[str, Any], Follower | None, int]:
    """The runs of all modes of one seed, the follower, and how many decisions were made."""
    past, stream = (
        generate_transactions(n, seed=first + seed) for n, first in ((train, 1000), (test, 2000))
    )
    follower = None
    if kind != "embedded analyst":
        world = {e.query: e.answer for e in (*past, *stream)} if "world" in kind else {}
        follower = Follower(
            world=world, contradicted="first" if "first" in kind else "majority", seen={}
        )
    pipeline = TrainingPipeline(
        BulletPlaybook(),
        context=AceContext(seed=seed),
        agent=LanguageModel(follower, "prompt") if follower else None,
    )
    pipeline.train_offline(past)
    return pipeline.compare(stream), follower, train + 4 * test


def figures(kind: str, seeds: int, train: int, test: int) -> dict[str, Any]:
    """Accuracy by mode and seed, calls a decision, and tokens of prompts with five rules."""
    found: dict[str, Any] = {mode: [] for mode in MODES}
    tokens: list[int] = []
    found |= {"right": {mode: [] for mode in MODES}}
    for seed in range(seeds):
        runs, follower, decisions = measure(kind, train, test, seed)
        for mode in MODES:
            found[mode].append(round(float(np.mean(runs[mode].right)), 4))
            found["right"][mode] += [bool(r) for r in runs[mode].right]
        if follower:
            prompts = follower.seen.get("with_five_rules", [])
            tokens += [count_tokens(prompt) for prompt in prompts[::10]]
            found["calls a decision"] = round(follower.seen["calls"] / decisions, 4)
    if tokens:
        mean, most = np.mean(tokens), np.quantile(tokens, 0.95)
        found["tokens with 5 rules"] = f"{mean:.0f} (95 % up to {most:.0f})"
    return found


def p_value(ours: list[bool], theirs: list[bool]) -> float:
    """The two-sided exact sign test on the cases that only one of two agents has right."""
    from scipy.stats import binomtest

    gained = sum(a and not b for a, b in zip(ours, theirs, strict=True))
    lost = sum(b and not a for a, b in zip(ours, theirs, strict=True))
    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0


def show(name: str, found: dict[str, Any], beside: dict[str, Any] | None) -> None:
    """One line: mean accuracy by mode, and how it differs from the analyst."""
    cells = []
    for mode in MODES:
        cell = f"{np.mean(found[mode]):.3f}"
        if beside:
            ours, theirs = found["right"][mode], beside["right"][mode]
            gain = 100 * (np.mean(ours) - np.mean(theirs))
            cell += f" ({gain:+.1f}, p {p_value(ours, theirs):.2g})"
        cells.append(f"{cell:22}")
    about = [
        f"{key} {found[key]}" for key in ("tokens with 5 rules", "calls a decision") if key in found
    ]
    print(f"{name:34}{''.join(cells)}{', '.join(about)}", flush=True)


def main() -> None:
    """Measure every agent and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--train", type=int, default=400)
    parser.add_argument("--test", type=int, default=600)
    parser.add_argument("--package", help="folder of another installed version, measured too")
    parser.add_argument("--only", choices=["figures"], help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    kinds = ["embedded analyst", "follower", "follower that knows the world"]
    if chosen.only:  # the other version's own process
        kinds = ["embedded analyst", "follower, majority", "follower, first rule"]
    print(f"{'':34}" + "".join(f"{mode:22}" for mode in MODES))
    analyst = None
    for kind in kinds:
        found = figures(kind, chosen.seeds, chosen.train, chosen.test)
        show(kind, found, analyst)
        analyst = analyst or found
    if chosen.package and not chosen.only:
        print(f"the package in {chosen.package}:", flush=True)
        again = [a for a in sys.argv if a not in ("--package", chosen.package)]
        subprocess.run(
            [sys.executable, *again, "--only", "figures"],
            env={**os.environ, "PYTHONPATH": chosen.package},
            check=True,
        )


if __name__ == "__main__":
    main()
