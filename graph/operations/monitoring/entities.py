"""What is known of a shop, a customer, a terminal: its payments, and what labels said of them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from acegraph.graph.operations.monitoring.lists import column_of
from acegraph.nodes.evidence.sightings.columns import id_of
from acegraph.state import BulletPlaybook
from acegraph.state.errors import InvalidInput
from acegraph.state.ledger.lookups import read_cases
from acegraph.state.ledger.marks import called_fraud, read_said
from acegraph.state.ledger.sightings import hashes_of, newest_payment, payments_of
from acegraph.state.values import DAY, Evidence

_DAYS = 30


@dataclass(frozen=True)
class Entity:
    """Somebody whom payments name, as of the newest payment of all."""

    kind: str
    name: str
    """As a stored payment has it; the start of its keyed hash where no field is stored."""
    payments: int
    last: str
    """The day of the newest one."""
    settled: int
    frauds: int
    days: int
    evidence: float | None
    """How often labels call its payments fraud, in times the usual share; None if nothing is
    learned from that.
    """
    usual: float | None
    cases: tuple[str, ...] = ()
    """The newest payments."""

    @property
    def told(self) -> str:
        """What labels said, in a sentence."""
        usual = f" (usual {self.usual:.2%})" if self.usual else ""
        return (
            f"{self.kind} {self.name}: {self.frauds} of {max(self.settled, self.frauds)} settled "
            f"payments of {self.days} days were called fraud{usual}"
        )


def entity_shown(playbook: BulletPlaybook, node: str, kind: str, name: str) -> Entity:
    """One entity by its name, as payments write it."""
    column_of(playbook, node, kind)
    entity = hashes_of(playbook.database, {kind: id_of(name) or ""}).get(kind, "")
    return _entity(playbook, node, kind, entity, name=name)


def entities_called_fraud(
    playbook: BulletPlaybook, node: str, kind: str, days: int
) -> Iterator[Entity]:
    """Those of a kind whom labels call fraud in the last days, those with most voices first."""
    column_of(playbook, node, kind)
    with playbook.database.reading() as connection:
        since = newest_payment(connection, node) - days * DAY
        rows = called_fraud(connection, node, kind, since)
    for entity, *_ in rows:
        yield _entity(playbook, node, kind, entity, days)


def _entity(
    playbook: BulletPlaybook, node: str, kind: str, entity: str, days: int = 0, name: str = ""
) -> Entity:
    task = playbook.task(node)
    learned = task.evidence.get(kind)
    with playbook.database.reading() as connection:
        now = newest_payment(connection, node)
        payments = payments_of(connection, node, kind, entity)
    if not payments:
        raise InvalidInput(f"no payment in this playbook names {kind} {name!r}")
    window = replace(learned, days=days or learned.days) if learned else Evidence(1, days or _DAYS)
    settled, frauds = read_said(playbook.database, (node, kind, entity), now, "", window)
    newest = tuple(row.case for row in payments[:10])
    _, fields = read_cases(playbook.database, newest[:1])[newest[0]]
    stored = fields.get(task.sighting_columns.get(kind, ""))
    last = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=payments[0].at)
    return Entity(
        kind,
        name or str(stored if stored is not None else f"#{entity[:8]}"),
        len(payments),
        f"{last:%Y-%m-%d}",
        settled,
        frauds,
        window.days,
        window.of(settled, frauds) if learned else None,
        learned.usual if learned else None,
        newest,
    )
