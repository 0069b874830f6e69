"""Derived fields for the rows of files: each row sees the rows before it in time, and no label."""

from collections.abc import Mapping, Sequence

from acegraph.nodes.evidence.sightings.columns import sighting_of
from acegraph.nodes.evidence.sightings.derivation import derive_all
from acegraph.state.values.decision import Sighting
from acegraph.state.values.transaction import Scalar


class EarlierRows:
    """The payments of the files that were read so far: a file sees those of the files before."""

    def __init__(self) -> None:
        self._seen: list[Sighting | None] = []

    def derive(self, rows: Sequence[dict[str, Scalar]], columns: Mapping[str, str]) -> None:
        """Add the derived fields to the rows; a field that a row has already stays as it is.

        `columns` are the fields that they come from, by what they hold.
        """
        sightings = [sighting_of(row, columns) for row in rows]
        derived = derive_all([*self._seen, *sightings])[len(self._seen) :]
        self._seen += sightings
        for row, fields in zip(rows, derived, strict=True):
            row |= {name: value for name, value in fields.items() if name not in row}
