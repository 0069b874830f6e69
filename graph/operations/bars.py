"""How a decision came about in points of log-odds, as bars in words."""

from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Final

from acegraph.nodes.rules.points import UNIT
from acegraph.nodes.rules.ruleset import Ruleset, Ruling
from acegraph.state.values import Scalar

_WIDTH: Final = 30


def bars(ruleset: Ruleset, fields: Mapping[str, Scalar], ruling: Ruling) -> Iterator[str]:
    """Start, prior and each rule that holds, each from where the one before ended, then their sum;
    `|` marks the limit, above which is declined.
    """
    points_of = {bullet.id: points for bullet, points in ruleset.points_by_bullet}
    rules, start = {one.id: points_of[one.id] for one in ruling.fired}, ruleset.start
    prior = {"scorecard": ruling.points - start - sum(rules.values())}
    steps = {"start": start} | prior | rules
    ends, limit = [0, *accumulate(steps.values())], ruleset.scale.limit(fields)
    least, reach = min(*ends, limit), max(*ends, limit) - min(*ends, limit)
    places = {one: round((one - least) / max(reach, 1) * _WIDTH) for one in (*ends, limit)}
    for name, (begin, end) in zip([*steps, "sum"], [*pairwise(ends), (0, ends[-1])], strict=True):
        first, last = sorted((places[begin], places[end]))
        drawn = "".join(" █"[first <= place < last] for place in range(_WIDTH))
        marked = f"{drawn[: places[limit]]}|{drawn[places[limit] :]}".rstrip()
        yield f"{name:10}{(end - begin) / UNIT:+6.2f}  {marked}"
    yield f"{'limit':10}{limit / UNIT:+6.2f}  {' ' * places[limit]}|"
