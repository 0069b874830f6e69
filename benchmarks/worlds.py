"""One default for all: every learner on made-up data of eighteen kinds, from 50 to 2,000 labels.

The playbook is trained offline by the pipeline and frozen; *unrefined* is one that learned case by
case alone and was never looked at as a whole. All learners see the same rows and decide 1,000
others, half of them fraud. A line of JSON goes to `--out` for each learner, world, size and seed:
what is there already is not run again, so that a long run can be interrupted and goes on where it
was.

A loss is called significant if neither the luck of the test rows nor, from eight seeds on, that of
the training rows explains it.

    python benchmarks/worlds.py --seeds 5 --out worlds.jsonl
    python benchmarks/worlds.py --worlds xor,text --sizes 50,500 --baselines plain
    python benchmarks/worlds.py --out worlds.jsonl --tabulate
"""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from rivals import check_rivals, run_rivals
from side_by_side import side_by_side
from world_kinds import WORLDS, World
from world_tables import (
    OURS,
    TEST,
    UNREFINED,
    VANILLA,
    Key,
    Record,
    Results,
    packed,
    read_records,
    run_of,
)

from acegraph.graph import TrainingPipeline
from acegraph.graph.data.files import Item
from acegraph.graph.metrics.rates import balanced_accuracy
from acegraph.graph.metrics.run import Run
from acegraph.nodes import Curator, Reflector
from acegraph.nodes.rules.points import log_odds_over
from acegraph.nodes.rules.scale import RiskScale
from acegraph.nodes.selector.stages import Pool
from acegraph.nodes.text.understand import fields_to_test
from acegraph.state import AceContext, Bullet, BulletPlaybook, Case, Transaction
from acegraph.state.values.cases import CaseTable

SIZES: Final = (50, 100, 200, 500, 2000)
ALIKE: Final = 0.9
"""Two bullets say the same if they fire, or exactly one of them fires, on more of the cases."""
PLAIN: Final = ("logistic_regression", "depth_3_tree", "gradient_boosting")
LAST_RIVAL: Final = {"plain": PLAIN[-1], "all": "boosted_rules"}
"""Whose figures are known if those of all these baselines are."""
EMBEDDED: Final = AceContext(
    agent_model="embedded",
    judge_model="embedded",
    reflector_model="embedded",
    embedding_model="embedded",
)


def table_of(items: Sequence[Item]) -> CaseTable:
    """The items as columns, as the analyst reads them."""
    return CaseTable(
        Case(str(i), fields_to_test(Transaction.of(item["query"])), item["answer"])
        for i, item in enumerate(items)
    )


@dataclass(frozen=True)
class Learned:
    """What a playbook decides by at one moment."""

    active: Sequence[Bullet]
    acting: Sequence[Bullet]
    """Those that the selector does not hold back for their record."""
    scale: RiskScale

    @classmethod
    def by(cls, playbook: BulletPlaybook) -> "Learned":
        """What this playbook decides by now."""
        node, cases = EMBEDDED.node, playbook.cases(EMBEDDED.node)
        active, view = playbook.get_bullets_for_node(node), playbook.view(node)
        limits, odds = (EMBEDDED.quality_threshold, EMBEDDED.n_bullets), cases.fraud_odds()
        acting = view.bullets(np.flatnonzero(Pool.of(view, None, *limits, odds=odds).is_good))
        return cls(active, acting, RiskScale.of(cases, active))

    def decide(self, table: CaseTable) -> Run:
        """What the embedded analyst decides, for a whole table at once."""
        return run_of(table.fraud, self.scale.declines(log_odds_over(table, self.acting), {}))


def check(pipeline: TrainingPipeline, test: Sequence[Item], run: Run, rows: int = 20) -> None:
    """Stop if the graph decides some of the rows in another way."""
    by_graph = pipeline.evaluate(test[:rows], learn=False).decisions
    if by_graph != run.decisions[:rows]:
        raise AssertionError(f"the graph decides {by_graph}, the table {run.decisions[:rows]}")


def pairs_alike(bullets: Sequence[Bullet], table: CaseTable) -> dict[str, int]:
    """How many pairs of bullets are opposites, and how many of one verdict say the same."""
    rules = [(b.verdict, b.condition.holds_over(table)) for b in bullets if b.condition]
    counts = {"opposites": 0, "twins": 0}
    for (verdict, a), (other, b) in itertools.combinations(rules, 2):
        counts["opposites"] += bool((a != b).mean() > ALIKE)
        common = (a & b).sum() / max((a | b).sum(), 1)
        counts["twins"] += bool(verdict == other and common > ALIKE)
    return counts


class CaseByCase(TrainingPipeline):
    """A pipeline that never looks at the playbook as a whole."""

    def _refine(self, *_: object) -> None:
        """Find nothing."""


def learned(world: World, n: int, seed: int, gate: str) -> Iterator[tuple[str, Run, Record]]:
    """The runs of the playbook: refined, not yet refined, and of the scorecard alone."""
    train, test = world.train(n, seed), world.test(TEST, seed)
    unseen = table_of(test)
    for name, kind in ((OURS, TrainingPipeline), (UNREFINED, CaseByCase)):
        pipeline = kind(
            context=EMBEDDED.with_changes(seed=seed),
            curator=Curator(gate=gate),  # type: ignore[arg-type]
            reflector=Reflector(gate=gate),  # type: ignore[arg-type]
        )
        if name == UNREFINED:
            pipeline.playbook.keep_refined_from(EMBEDDED.node, sys.maxsize)  # no look is due
        pipeline.train_offline(train)
        cases, known = pipeline.playbook.cases(EMBEDDED.node), Learned.by(pipeline.playbook)
        run, bullets = known.decide(unseen), known.active
        if name == OURS:
            check(pipeline, test, run)
        held_back = len(bullets) - len(known.acting)
        facts: Record = {"bullets": len(bullets), "held_back": held_back}
        facts |= pairs_alike(bullets, cases)
        if world.causes is not None:
            rules = [b.condition for b in bullets if b.condition]
            facts["false"] = sum(bool(set(rule.fields) - world.causes) for rule in rules)
        yield name, run, facts
    yield VANILLA, Learned((), (), RiskScale()).decide(unseen), {}


def run_all(chosen: argparse.Namespace, known: set[Key]) -> Iterator[tuple[Key, Record]]:
    """Every learner that is not known yet, seed by seed, so that each seed gives a table."""
    places = itertools.product(range(chosen.seeds), chosen.sizes, chosen.worlds)
    for records in side_by_side(partial(run_one, chosen, known), places, chosen.jobs):
        yield from records


def run_one(
    chosen: argparse.Namespace, known: set[Key], place: tuple[int, int, str]
) -> list[tuple[Key, Record]]:
    """The learners that are not known yet, for one seed, size and world."""
    seed, n, name = place
    world = WORLDS[name]
    runs: list[tuple[str, Run, Record]] = []
    if not chosen.no_playbook and (name, n, seed, OURS) not in known:
        runs += learned(world, n, seed, chosen.gate)
    last = LAST_RIVAL.get(chosen.baselines)
    if last and (name, n, seed, last) not in known:
        train, test = world.train(n, seed), world.test(TEST, seed)
        rivals = run_rivals(train, test, seed, chosen.baselines)
        runs += [(rival, run, {}) for rival, run in rivals.items()]
    records: list[tuple[Key, Record]] = []
    for learner, run, facts in runs:
        figures = {"balanced_accuracy": round(float(balanced_accuracy(run)), 4), **facts}
        bits = {"fraud": packed(run.fraud), "declined": packed(run.declined)}
        records.append(((name, n, seed, learner), {**figures, **bits}))
    return records


def main(words: list[str] | None = None) -> int:
    """Run what is missing, and print tables and tests."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", default="", help="names with commas; else all")
    parser.add_argument("--sizes", default="", help="training rows, as 50,500; else all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="seeds and worlds that run at once")
    parser.add_argument("--gate", default="standard", help="off, lenient, standard or strict")
    parser.add_argument("--baselines", default="all", help="none, plain or all")
    parser.add_argument("--no-playbook", action="store_true", help="only the baselines")
    parser.add_argument("--out", type=Path, help="append a line of JSON for every run here")
    parser.add_argument("--tabulate", action="store_true", help="only print what --out holds")
    chosen = parser.parse_args(words)
    chosen.sizes = [int(n) for n in chosen.sizes.split(",")] if chosen.sizes else list(SIZES)
    chosen.worlds = chosen.worlds.split(",") if chosen.worlds else list(WORLDS)
    if unknown := set(chosen.worlds) - set(WORLDS):
        parser.error(f"no world {min(unknown)!r}; there are {', '.join(WORLDS)}")
    check_rivals(chosen.baselines)
    records = read_records(chosen.out)
    for key, record in () if chosen.tabulate else run_all(chosen, set(records)):
        records[key] = record
        if chosen.out:
            names = dict(zip(("world", "size", "seed", "learner"), key, strict=True))
            with chosen.out.open("a") as file:
                file.write(json.dumps({**names, **record}) + "\n")
    learners = {OURS, UNREFINED, VANILLA, *PLAIN[: 3 * (chosen.baselines != "none")]}
    shown = {
        key: record
        for key, record in records.items()
        if key[0] in chosen.worlds
        and key[1] in chosen.sizes
        and (chosen.baselines == "all" or key[3] in learners)
    }
    results = Results(shown, chosen.sizes)
    for line in (*results.tables(), "", *results.verdicts()):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
