"""The bullets of a playbook: add, read and change them; their vectors, versions and history.

How they are kept in memory is in `cache.py`.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Literal, TypedDict, Unpack

import numpy as np
import sqlalchemy as sa

from acegraph.state.database import tables
from acegraph.state.database.encoding import chunks, now, stored_float, text_hash
from acegraph.state.database.tables import embeddings
from acegraph.state.database.writer import LedgerWriter
from acegraph.state.errors import InvalidInput, ModelAnswerInvalid, UnknownBullet
from acegraph.state.ledger.row_mapping import to_row
from acegraph.state.playbook.cache import PlaybookCache, retried
from acegraph.state.playbook.index import Bools, Vector, VectorMatrix, View
from acegraph.state.values import (
    MAX_CONTENT,
    Bullet,
    Condition,
    Data,
    Source,
    Status,
    clean_text,
    is_meant_as_condition,
    number_of,
    parse_condition,
    stated_condition,
)

_VECTORS: Final = 500
"""How many vectors are read at once: memory should not hold all of them twice."""
_STORED_VECTORS: Final = sa.select(embeddings.c.text_hash, embeddings.c.vector).where(
    embeddings.c.model == sa.bindparam("model"),
    embeddings.c.text_hash.in_(sa.bindparam("names", expanding=True)),
)
logger = logging.getLogger(__name__)


class BulletDetails(TypedDict, total=False):
    """What else is stored with a new bullet; `Bullet` says what it means."""

    proof: Literal["proven", "unproven"]
    evidence: Mapping[str, object]
    origin: Mapping[str, object]
    related: tuple[str, ...]
    weight: float | None


class Bullets(PlaybookCache):
    """What can be done with the bullets of a playbook."""

    @retried
    def add_bullet(
        self,
        content: str,
        node: str,
        source: Source = "offline",
        *,
        condition: Condition | None = None,
        problem_types: Iterable[str] = (),
        confidence: float = 0.5,
        status: Status = "active",
        reason: str = "added",
        **details: Unpack[BulletDetails],
    ) -> str:
        """Add a bullet and give its id. Without a `condition` it is read from the text."""
        content = clean_text(content)
        for fault in _faults(content, node, source):
            raise InvalidInput(fault)
        if condition is None:
            # A model's prose waits for a trial; a person would believe that the rule acts.
            read = parse_condition if "origin" in details else stated_condition
            condition = read(content)
        with self.writing() as writer:
            number = max(self._bullets, default=0) + 1
            bullet = Bullet(
                id=f"b{number}",
                content=content,
                node=node,
                source=source,
                condition=condition,
                problem_types=tuple(problem_types),
                confidence=float(confidence),
                status=status,
                created_at=now(),
                **details,
            )
            row = to_row(bullet)
            writer.add_bullet(row)
            self._keep(row)
            self.log(writer, bullet, "added", reason, source)
        return bullet.id

    def get_bullet(self, bullet_id: str) -> Bullet:
        """One bullet by its id, whatever its status."""
        return self.get_bullets([bullet_id])[0]

    def get_bullets(self, bullet_ids: Iterable[str]) -> list[Bullet]:
        """Several bullets by their ids, whatever their status, as they are at one moment."""
        with self._lock:
            self._read_news()
            return list(map(self._known_bullet, bullet_ids))

    def _known_bullet(self, bullet_id: str) -> Bullet:
        bullet = self._bullets.get(number_of(bullet_id))
        if bullet is None:
            raise UnknownBullet(
                f"no bullet {bullet_id!r} in playbook version {self._clock.version}; "
                f"it holds {len(self)} bullets"
            )
        return bullet

    def get_bullets_for_node(
        self, node: str, source: str | None = None, *, status: Status | None = "active"
    ) -> list[Bullet]:
        """The node's bullets with a status, oldest first; of one `source` if it is set."""
        with self._lock:
            self._read_news()
            return [
                b
                for b in self._bullets.of_node(node).rows
                if b.status != "removed"
                and (source is None or b.source == source)
                and (status is None or b.status == status)
            ]

    def view(self, node: str) -> View:
        """A node's bullets as arrays, as they are now."""
        with self._lock:
            self._read_news()
            return self._bullets.of_node(node).at(self._clock)

    def matrix(self, view: View, model: str, wanted: Bools) -> VectorMatrix | None:
        """The unit vectors of a view; wanted ones that memory lacks are read from the database."""
        with self._lock:
            lacking = view.bullets(view.lacking(model, wanted))
            for start in range(0, len(lacking), _VECTORS):
                some = lacking[start : start + _VECTORS]
                stored = self.text_vectors(model, [b.content for b in some])
                vectors = ((b.number, stored[b.content]) for b in some if b.content in stored)
                view.put_vectors(model, vectors)
            return view.matrix(model)

    @retried
    def update_stats(self, bullet_id: str, is_helpful: bool) -> None:
        """Count one outcome by hand: add one to helpful or harmful, and one to selected."""
        with self.writing() as writer:
            number = self.get_bullet(bullet_id).number
            deltas = {number: (int(is_helpful), int(not is_helpful), 1)}
            self.adjust(writer, deltas, "by hand")
            self.add_to_counters(deltas)

    @retried
    def set_status(
        self,
        bullet_id: str,
        status: Status,
        reason: str,
        source: str = "user",
        *,
        proven_by: Mapping[str, object] | None = None,
    ) -> None:
        """Make a bullet a candidate, active or retired; the history keeps what it was.

        `proven_by` is the evidence that has proved the bullet meanwhile, if there is any.
        """
        if status not in ("candidate", "active", "retired"):
            raise InvalidInput(f"a bullet is candidate, active or retired, not {status!r}")
        with self.writing() as writer:
            before = self.get_bullet(bullet_id)
            bullet = replace(before, status=status)  # its weight stays: a change can be undone
            if proven_by:
                bullet = replace(bullet, proof="proven", evidence=proven_by)
            self.rewrite(writer, [bullet])
            self.log(writer, bullet, status, reason, source)
            version = writer.version
        logger.info("%s: %s -> %s, version %d", bullet_id, before.status, status, version)

    @retried
    def set_weights(self, weights: Mapping[str, float | None]) -> None:
        """Store the fitted weights of bullets: evidence, like counters, not part of a version."""
        with self.writing() as writer:
            changed = [
                replace(bullet, weight=stored_float(weight))
                for bullet_id, weight in weights.items()
                if (bullet := self.get_bullet(bullet_id)).weight != weight
            ]
            self.rewrite(writer, changed)

    def history(self, bullet_id: str | None = None) -> list[Data]:
        """Every change to the bullets, or to one of them, oldest first."""
        columns = [c for c in tables.history.c if c.name not in ("position", "hash")]
        query = sa.select(*columns).order_by(tables.history.c.version)
        if bullet_id is not None:
            query = query.where(tables.history.c.bullet == number_of(bullet_id))
        with self.database.reading() as connection:
            rows = connection.execute(query).mappings()
            return [{**row, "bullet": f"b{row['bullet']}"} for row in rows]

    def keep_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of bullets in memory; those of two models are never compared."""
        with self._lock:
            self._bullets.put_vectors(model, {number_of(i): v for i, v in vectors.items()})

    def text_vectors(self, model: str, texts: Iterable[str]) -> dict[str, Vector]:
        """The stored vectors of texts, for those that have one."""
        names = {text_hash(text): text for text in texts}
        vectors: dict[str, Vector] = {}
        with self._vectors_in.reading() as connection:
            for some in chunks(list(names)):
                rows = connection.execute(_STORED_VECTORS, {"model": model, "names": some})
                vectors |= {names[name]: np.frombuffer(v, dtype="<f4") for name, v in rows}
        return vectors

    @retried
    def store_text_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Store vectors of texts, so that a model is asked once for each text; all vectors of a
        model have the same size, and those of two models are never compared.
        """
        with self._vectors_in.writing() as writer:
            length = sa.select(sa.func.length(embeddings.c.vector))
            stored = writer.connection.scalar(length.where(embeddings.c.model == model).limit(1))
            sizes = {len(vector) for vector in vectors.values()}
            sizes |= {stored // 4} if stored else set()
            if len(sizes) > 1:
                raise ModelAnswerInvalid(
                    f"{model} gave vectors of {sorted(sizes)} dimensions, which do not compare; "
                    "playbook.forget_vectors(model) lets them be fetched anew"
                )
            rows = []
            for text in vectors.keys() - self.text_vectors(model, vectors).keys():
                data = np.asarray(vectors[text], dtype="<f4").tobytes()
                rows.append({"model": model, "text_hash": text_hash(text), "vector": data})
            if rows:
                writer.connection.execute(embeddings.insert(), rows)

    @retried
    def forget_vectors(self, model: str) -> int:
        """Forget all vectors that a model gave, and say how many; a run fetches what it needs."""
        of_model = embeddings.delete().where(embeddings.c.model == model)
        with self.writing() as writer:
            self._bullets.forget_vectors()
            return writer.connection.execute(of_model).rowcount

    def tested_derived(self, node: str) -> frozenset[str]:
        """The derived fields that rules in memory test; nothing is read for the answer."""
        with self._lock:
            return self._bullets.of_node(node).tested_derived


def forget_texts(writer: LedgerWriter) -> None:
    """Delete the vectors of all texts but those of bullets: a vector tells of its text, and that of
    a transaction is needed once. Answers that older versions kept of trials go too.
    """
    writer.connection.execute(tables.trial_answers.delete())
    stored = set(writer.connection.scalars(sa.select(embeddings.c.text_hash)))
    contents = writer.connection.scalars(sa.select(tables.bullets.c.content))
    stored -= set(map(text_hash, contents))
    for some in chunks(sorted(stored)):
        writer.connection.execute(embeddings.delete().where(embeddings.c.text_hash.in_(some)))


def _faults(content: str, node: str, source: str) -> Iterator[str]:
    """What a new bullet cannot have, in words."""
    if not content or len(content) > MAX_CONTENT:
        yield f"a bullet has 1 to {MAX_CONTENT} characters, not {len(content)}"
    if source not in ("offline", "online"):
        yield f"the source of a bullet is offline or online, not {source!r}"
    if is_meant_as_condition(node):
        yield f"the text of a bullet comes first, then its node, not {node!r}"
