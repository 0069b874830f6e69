"""The trial of prose: only what helps an agent that reads it may act."""

from typing import Any

import numpy as np
import pytest
from followers import ProseReader
from prose_rules import NODE, attacks, labelled_playbook, true_rules

from acegraph.graph.operations.learning.trial import BORNE_OUT, Trial, try_bullet
from acegraph.nodes import Curator, LanguageModel
from acegraph.nodes.curator.screening import Objection
from acegraph.nodes.evidence.paired_bets import multiplied
from acegraph.state import AceContext, BulletPlaybook, InvalidSettings, verify

MULE = true_rules()[-15]
FALSE = ("Decline restaurant payments through a VPN.", "Decline fuel after 18:00.")


@pytest.fixture(scope="module")
def labelled() -> BulletPlaybook:
    return labelled_playbook(600)


@pytest.fixture
def playbook(labelled: BulletPlaybook) -> BulletPlaybook:
    return labelled.fork()


def reader(**options: Any) -> LanguageModel:
    return LanguageModel(ProseReader(**options), "prompt")


def tried(playbook: BulletPlaybook, sentence: str, **options: Any) -> Trial:
    held = Curator().curate(sentence, NODE, playbook)
    assert held.bullet_id is not None
    return try_bullet(playbook, held.bullet_id, **{"agent": reader(), **options})


def test_prose_that_helps_acts_with_its_trial_as_evidence(playbook: BulletPlaybook) -> None:
    trial = tried(playbook, MULE)
    bullet = playbook.get_bullet(trial.bullet_id)
    assert (trial.outcome, bullet.status, bullet.proof) == ("borne out", "active", "proven")
    assert bullet.evidence["right"] == trial.gained > trial.lost
    assert trial.evidence >= BORNE_OUT
    assert trial.calls <= 200
    assert "ProseReader" in playbook.history(bullet.id)[-1]["reason"]
    assert verify(playbook) == []


@pytest.mark.slow
def test_neither_attacks_nor_falsehoods_act(playbook: BulletPlaybook) -> None:
    for sentence in (*attacks(12), *FALSE):
        held = Curator().curate(sentence, NODE, playbook)
        if held.bullet_id is not None:
            try_bullet(playbook, held.bullet_id, max_calls=60, agent=reader())
    assert playbook.get_bullets_for_node(NODE) == []


def test_a_trial_ends_with_its_budget(playbook: BulletPlaybook) -> None:
    trial = tried(playbook, MULE, max_calls=20)
    assert (trial.outcome, trial.status) == ("open", "candidate")
    assert 0 < trial.calls <= 20


def test_a_harmful_bullet_is_retired_be_it_active_or_not(playbook: BulletPlaybook) -> None:
    harm = MULE.replace("Decline", "Approve")
    active = playbook.add_bullet(harm, NODE)
    trial = try_bullet(playbook, active, agent=reader(), context=AceContext(semantic_threshold=-1))
    assert (trial.outcome, playbook.get_bullet(active).status) == ("refuted", "retired")
    assert trial.lost > trial.gained


def test_what_the_embedded_analyst_cannot_read_stays_a_candidate(playbook: BulletPlaybook) -> None:
    with pytest.raises(InvalidSettings, match="b1 is prose, which the embedded analyst cannot"):
        tried(playbook, MULE, agent=None)
    assert playbook.get_bullet("b1").status == "candidate"
    rule = playbook.add_bullet("DECLINE when amount > 5", NODE)
    with pytest.raises(InvalidSettings, match="has a condition: a backtest tests it"):
        try_bullet(playbook, rule, agent=reader())


def test_what_waits_for_a_person_gets_no_trial(playbook: BulletPlaybook) -> None:
    Curator().awaiting_approval().curate(MULE, NODE, playbook)
    trial = try_bullet(playbook, "b1", agent=reader())
    assert (trial.calls, trial.reason) == (0, "waits for the approval of a person")
    held = Curator().curate("Approve payments of all customers at night.", NODE, playbook)
    assert held.bullet_id is not None
    careful = Curator(screen=lambda proposal: Objection("it is about all customers"))
    trial = try_bullet(playbook, held.bullet_id, agent=reader(), curator=careful)
    assert (trial.calls, trial.outcome) == (0, "open")
    assert trial.reason == "waits for a person: it is about all customers"


def test_the_setting_for_live_trials_is_gone_and_said_to_be(playbook: BulletPlaybook) -> None:
    with pytest.raises(InvalidSettings, match="setting 'trial' is gone: try_bullet asks"):
        AceContext(trial="b1")  # type: ignore[call-arg]


def test_chance_does_not_get_far_whenever_it_is_stopped() -> None:
    rng = np.random.default_rng(1)
    gains = rng.choice([-1.0, 1.0], size=(2_000, 150))
    reached = sum(max(multiplied(row[:n]) for n in (10, 20, 40, 80, 150)) >= 20 for row in gains)
    assert reached / len(gains) < 0.05


def test_a_model_that_fails_ends_the_trial_soon(playbook: BulletPlaybook) -> None:
    class Broken(ProseReader):
        def decide(self, prompt: str, text: str) -> tuple[str, float]:
            return "MAYBE", 0.5

    trial = tried(playbook, MULE, agent=LanguageModel(Broken(), "prompt"))
    assert trial.reason.startswith("the model fails: ")
    assert (trial.outcome, trial.cases) == ("open", 0)
    assert trial.calls <= 10
