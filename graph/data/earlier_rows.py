"""Derived fields for the rows of files: each row sees the rows before it in time, and no label."""

from collections.abc import Mapping, Sequence

from acegraph.graph.data.file_rows import flat_payment
from acegraph.nodes.evidence.columns.entities import names_somebody
from acegraph.nodes.evidence.sightings.columns import find_columns, says_who, sighting_of
from acegraph.nodes.evidence.sightings.derivation import derive_all
from acegraph.state import APPROVE, Case
from acegraph.state.errors import InvalidDataset
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.decision import KINDS, Sighting
from acegraph.state.values.transaction import Scalar

_ROWS_TRIED = 2_000
"""So many rows tell whether a column names single customers, or kinds of them."""


class EarlierRows:
    """The payments of the files that were read so far: a file sees those of the files before."""

    def __init__(self) -> None:
        self.columns: dict[str, str] = {}
        """The columns that sightings are read from, by what they hold; those of the first file."""
        self._seen: list[Sighting | None] = []

    def derive(
        self,
        rows: Sequence[dict[str, Scalar]],
        hidden: set[str],
        time: str | None,
        amount: str | None,
    ) -> bool:
        """Add the derived fields to the rows; a field that a row has already stays as it is.

        Gives whether any could be derived.
        """
        payments = [flat_payment(row, hidden) for row in rows]
        self.columns = self.columns or _columns_of(payments, hidden, time, amount)
        sightings = [sighting_of(payment, self.columns) for payment in payments]
        derived = derive_all([*self._seen, *sightings])[len(self._seen) :]
        self._seen += sightings
        for row, fields in zip(rows, derived, strict=True):
            row |= {name: value for name, value in fields.items() if name not in row}
        return any(derived)


def _columns_of(
    payments: Sequence[Mapping[str, Scalar]],
    hidden: set[str],
    time: str | None,
    amount: str | None,
) -> dict[str, str]:
    """The columns of a file; those of ids must name single customers, cards or merchants."""
    some = payments[:_ROWS_TRIED]
    table = CaseTable(Case("", row, APPROVE) for row in some)
    names = tuple(dict.fromkeys(name for row in some for name in row if name not in hidden))
    usable = tuple(n for n in names if not says_who(n) or names_somebody(n, table))
    columns = find_columns(usable, time, amount)
    if time and not columns.keys().isdisjoint(KINDS):
        return columns
    ids = f"an id of a {', '.join(KINDS[:-1])} or {KINDS[-1]}"
    wanted = ids if time else "a time for each row (see --time)"
    raise InvalidDataset(f"derived fields want {wanted}; the file has {', '.join(names)}")
