"""Drift: which of the labelled cases are recent enough to be evidence for the present.

A rule that was right and then stops being right marks a change, and cases from before the change
would slow down the search for what is true now. But frauds that are missing mark none: the newest
labels of every file say "honest" where the chargeback has not come yet. So a rule that declines
marks a change only if frauds have come up elsewhere at the same time. And a rule that fires only at
times, such as one about a month, marks none: its next season is another one. The result depends
only on the cases and the rules: nothing has to be stored, a replay gives the same result, and what
later labels contradict is undone.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import Mask
from acegraph.state.values import DECLINE, Bullet, CaseTable, Condition

_MIN_FIRES: Final = 10
"""How often a rule must have fired on each side of a change."""
_MIN_WRONG: Final = 10
"""How often it must have been wrong since: a few frauds among many honest payments are no change,
however sure a normal distribution would be of them."""
_MIN_OF_EACH: Final = 15
"""Fewer cases of a label since a change prove nothing, and must not let any rule pass."""
_ELSEWHERE: Final = 3.0
"""Standard errors by which frauds elsewhere must have become more frequent."""
_SURE: Final = 4.5
"""Standard errors of the fall: many, since every row of every rule is tested after each mistake."""
_FIRES_A_BLOCK: Final = 5
_MOST_BLOCKS: Final = 20
_HARDLY: Final = 0.1
_OFTEN: Final = 0.3
"""A rule is of a season that in more than so many of the blocks of time fires less than a tenth as
often as in the mean; so many fires make a block, so that it is not by chance."""
_NEWEST: Final = 20
"""How many of the newest retired rules are tested besides the active ones."""


def times_of(table: CaseTable) -> list[str]:
    """When each payment was, in ISO 8601; empty where that is not known."""
    time = table.task.of_role("time") if table.task else None
    column = table.column(time.name) if time else None
    if column is None:
        return [""] * len(table)
    times = [*map(str, column.values), ""]  # the last is code -1
    return [times[code] for code in column.codes.tolist()]


def newest_sixth(table: CaseTable) -> Mask:
    """Which of the cases are the newest sixth: old frauds may hide that new ones are missed."""
    order, newest = (np.argsort(times_of(table), kind="stable"), np.zeros(len(table), bool))
    newest[order] = np.cumsum(table.weights[order]) > table.weights.sum() * 5 / 6
    return newest


def caught_in_counts(fraud: Mask, declined: Mask, newest: Mask) -> dict[str, float]:
    """How many frauds there are and how many are caught, of all and of the newest cases."""
    counted = {"frauds": fraud, "caught": fraud & declined}
    counted |= {f"newest_{name}": mask & newest for name, mask in counted.items()}
    return {name: int(mask.sum()) for name, mask in counted.items()}


def since_change(table: CaseTable, bullets: Sequence[Bullet]) -> CaseTable:
    """The cases since the last change that these bullets show."""
    retired = [b for b in bullets if b.status == "retired"][-_NEWEST:]
    tested = [*(b for b in bullets if b.status == "active"), *retired]
    rules = [b.condition for b in tested if b.condition]
    while True:
        start = max((change_point(rule, table) for rule in rules), default=0)
        newer = table.since(start)
        frauds = int(newer.fraud.sum())
        if not start or min(frauds, len(newer) - frauds) < _MIN_OF_EACH:
            break
        table = newer
    return table


def change_point(rule: Condition, table: CaseTable) -> int:
    """The row at which a rule stopped being better than its verdict's share of cases; 0 if never.

    It is the row with the largest fall in precision, by the test of two proportions.
    """
    agreeing = table.labelled(rule.verdict)
    rows, shares = np.flatnonzero(rule.holds_over(table)), case_shares(table)
    if _is_of_a_season(rows, len(table)):
        return 0
    fires, hits = np.cumsum(shares[rows]), np.cumsum(shares[rows] * agreeing[rows])
    n = float(fires[-1]) if len(rows) else 0.0
    splits = np.flatnonzero((fires >= _MIN_FIRES) & (n - fires >= _MIN_FIRES))
    if not len(splits):
        return 0
    before = fires[splits]
    earlier = hits[splits] / before
    later = (hits[-1] - hits[splits]) / (n - before)
    pooled = hits[-1] / n
    spread = np.sqrt(pooled * (1 - pooled) * (1 / before + 1 / (n - before)) + 1e-12)
    z = (earlier - later) / spread
    split = int(np.argmax(z))
    row = int(rows[splits[split]]) + 1  # right after the last case before the fall
    share = float(np.average(agreeing[row:], weights=shares[row:]))
    chance = share + 1.64 * float(np.sqrt(share * (1 - share) / (n - before[split])))
    wrong = (1 - later[split]) * (n - before[split])
    if z[split] < _SURE or later[split] > chance or wrong < _MIN_WRONG:
        return 0
    if rule.verdict == DECLINE and not _moved_elsewhere(rule.holds_over(table), table, row):
        return 0
    return row


def _is_of_a_season(rows: NDArray[np.intp], n: int) -> bool:
    """Whether a rule that fires on these rows of so many hardly fires for much of the time."""
    blocks = max(min(len(rows) // _FIRES_A_BLOCK, _MOST_BLOCKS), 1)
    fires = np.bincount(rows * blocks // n, minlength=blocks)
    return bool(np.mean(fires < _HARDLY * fires.mean()) > _OFTEN)


def _moved_elsewhere(fired: NDArray[np.bool_], table: CaseTable, row: int) -> bool:
    """Whether fraud has become more frequent since this row where a rule does not fire."""
    shares = case_shares(table) * ~fired
    counts = [shares[:row].sum(), shares[row:].sum()]
    frauds = [(shares * table.fraud)[:row].sum(), (shares * table.fraud)[row:].sum()]
    if min(counts) < 1:
        return False
    pooled = sum(frauds) / sum(counts)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / counts[0] + 1 / counts[1]) + 1e-12)
    return bool(frauds[1] / counts[1] - frauds[0] / counts[0] >= _ELSEWHERE * spread)
