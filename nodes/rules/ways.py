"""In which ways the tests of one field can come out together, whatever its value is."""

import math
from collections.abc import Sequence
from itertools import pairwise

from acegraph.state.task.field import Field
from acegraph.state.values import BY, MENTIONS, Comparison, Scalar, is_number


def ways_of(
    name: str, rules: Sequence[Sequence[Comparison]], declared: Field | None
) -> list[frozenset[int]]:
    """The ways: each has the places of the rules over a field whose tests of it hold.

    None where a rule asks what a text mentions: it may mention anything.
    """
    of_it = {
        place: [test for test in tests if test.field == name]
        for place, tests in enumerate(rules)
        if any(test.field == name for test in tests)
    }
    tests = [test for some in of_it.values() for test in some]
    if any(test.op == MENTIONS for test in tests):
        return []
    ways = (
        frozenset(i for i, some in of_it.items() if all(test.holds({name: value}) for test in some))
        for value in telling_values(tests, declared)
    )
    return list(dict.fromkeys(ways))


def telling_values(tests: Sequence[Comparison], declared: Field | None) -> list[Scalar]:
    """Values of one field, of which tests of it come out in every way they can together.

    A field that cases usually have has a value, known or not, unless rules ask for its absence.

    >>> telling_values([Comparison("hour", "<", 6)], Field("hour", "number", least=0, most=23))
    [None, 0, 6.0, 23, 3.0, 14.5]
    """
    kind = declared.kind if declared else ""
    has_one = declared and declared.usual and not any(test.is_of_presence for test in tests)
    values: list[Scalar] = [] if has_one else [None]
    if kind in ("number", ""):
        least = -math.inf if declared is None or declared.least is None else declared.least
        most = math.inf if declared is None or declared.most is None else declared.most
        cuts = sorted({float(test.value) for test in tests if is_number(test.value)})
        cuts = [least, *(cut for cut in cuts if least < cut < most), most]
        values += [*cuts, *(low / 2 + high / 2 for low, high in pairwise(cuts))]
    if kind in ("flag", ""):
        values += [True, False]
    if declared and declared.closed:
        values += declared.words
    elif kind not in ("number", "flag"):
        words = [test.value for test in tests if isinstance(test.value, str) and test.op != BY]
        values += [*words, "-".join(["", *words])]
    return values
