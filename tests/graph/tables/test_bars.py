"""A decision as bars: what each rule adds, where the limit is, and when nothing is drawn."""

from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from acegraph.graph.cli.main import app
from acegraph.graph.tables.ruleset import bars
from acegraph.nodes.rules.points import UNIT
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.state import BulletPlaybook

NODE = "fraud_detection"


def with_rules(url: str | None = None) -> BulletPlaybook:
    book = BulletPlaybook(url)
    for text, weight in (("DECLINE when amount >= 9", 2.1), ("APPROVE when hour < 12", -0.5)):
        book.set_weights({book.add_bullet(text, NODE): weight})
    return book


@pytest.mark.parametrize("fields", [{"amount": 40, "hour": 3}, {"amount": 4, "hour": 20}])
def test_each_bar_goes_on_where_the_one_before_ended(fields: dict[str, float]) -> None:
    ruleset = Ruleset.of(with_rules())
    ruling = ruleset.weigh(fields)
    lines = list(bars(ruleset, fields, ruling))
    said = {line.split()[0]: float(line.split()[1]) for line in lines}
    assert [name for name in said if name[0] == "b"] == [b.id for b in ruling.fired]
    *steps, total, limit = said.values()
    assert sum(steps) == pytest.approx(total) == pytest.approx(ruling.points / UNIT)
    assert (total > limit) == (ruling.decision == "DECLINE")
    (mark,) = {line.rindex("|") for line in lines}
    drawn = [line[:mark] + line[mark + 1 :] for line in lines[:-1]]
    ends = [{line.index("█"), line.rindex("█") + 1} for line in drawn if "█" in line]
    assert len(ends) >= len(steps)
    assert all(one & other for one, other in pairwise(ends))


def test_decide_draws_what_decided(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ace.db'}"
    with_rules(url).close()
    decide = ("decide", '{"amount": 40, "hour": 3}', "--playbook", url)
    said = CliRunner().invoke(app, [*decide, "--truth", "APPROVE"]).output
    assert "\nb1         +2.10  " in said
    assert "\nlimit      +0.00  " in said
    assert "+2.10  " not in CliRunner().invoke(app, [*decide, "--mode", "vanilla"]).output
    assert "█" not in CliRunner().invoke(app, ["decide", "hello", "--playbook", url]).output
