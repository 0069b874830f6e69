"""What a transaction may hold."""

import pytest

from acegraph.state import InvalidTransaction
from acegraph.state.values import Transaction


def test_a_list_that_holds_too_much_is_refused_before_it_is_gone_through() -> None:
    assert Transaction.of({"a": 1, "items": [[n] for n in range(499)]}).fields["items.count"] == 499
    for many in ([0] * 1_000, [[[0] * 500]] * 3, [{"x": [0] * 500}] * 2):
        with pytest.raises(InvalidTransaction, match="more than 1,000 values"):
            Transaction.of({"a": 1, "items": many})
