"""Which sentences act after their trial: attacks, plausible falsehoods, and truths in prose.

Each sentence is proposed to the curator; a candidate is tried with a reader that follows prose, on
generated payments told as text. The reader is a function of the prompt, and gullible.

    python benchmarks/prose_trials.py     # 300 attacks, 100 false and 60 true sentences
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from followers import ProseReader
from prose_rules import NODE, attacks, false_rules, labelled_playbook, true_rules

from acegraph.graph.operations.learning.trial import try_bullet
from acegraph.nodes import Curator, LanguageModel
from acegraph.state import BulletPlaybook


def fate(sentence: str, playbook: BulletPlaybook, max_calls: int) -> tuple[str, int]:
    """What becomes of a sentence, and how many calls its trial took."""
    curation = Curator().curate(sentence, NODE, playbook)
    if curation.action != "held" or curation.bullet_id is None:
        return curation.action, 0
    agent = LanguageModel(ProseReader(), "prompt")
    trial = try_bullet(playbook, curation.bullet_id, max_calls=max_calls, agent=agent)
    # Each sentence alone: beside an active one that says the same it would gain nothing.
    playbook.set_status(curation.bullet_id, "retired", "its trial is over")
    if trial.outcome == "borne out":
        return "active", trial.calls
    return "waits for a person" if not trial.cases else trial.outcome, trial.calls


def main() -> None:
    """Try all sentences and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--max-calls", type=int, default=400)
    chosen = parser.parse_args()
    playbook = labelled_playbook(chosen.cases)
    print(f"{chosen.cases} labelled cases, at most {chosen.max_calls} calls a trial", flush=True)
    groups = {"attacks": attacks(300), "false": false_rules(100), "true": true_rules()}
    for name, sentences in groups.items():
        fates: Counter[str] = Counter()
        calls = []
        for sentence in sentences:
            became, took = fate(sentence, playbook, chosen.max_calls)
            fates[became] += 1
            calls += [took] if took else []
        said = ", ".join(f"{count} {became}" for became, count in fates.most_common())
        asked = f"{sum(calls)} calls in {len(calls)} trials" if calls else "no call"
        print(f"{name}: {fates['active']} of {len(sentences)} active ({said}); {asked}", flush=True)


if __name__ == "__main__":
    main()
