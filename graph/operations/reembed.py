"""Give the bullets of a playbook new vectors, of the same embedding model or of another one."""

from dataclasses import dataclass

from langchain_core.embeddings import Embeddings

from acegraph.nodes.models import named
from acegraph.nodes.models.embedding_models import EmbeddingModel, named_embeddings
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.state import BulletPlaybook


@dataclass(frozen=True)
class Reembedding:
    """What was done."""

    bullets: int
    fetched: int
    """Vectors; two bullets with the same text share one."""
    dimensions: int
    replaced: int
    """Vectors that the same model had given before, for bullets and for transactions."""


def reembed(playbook: BulletPlaybook, model: str | Embeddings | EmbeddingModel | None) -> int:
    """Embed every bullet with this model (None: the configured one) and use it from now on.

    Returns the number of bullets. If one vector fails, the playbook stays as it was.
    """
    return replace_vectors(playbook, model).bullets


def replace_vectors(
    playbook: BulletPlaybook, model: str | Embeddings | EmbeddingModel | None
) -> Reembedding:
    """`reembed`, and what it did: every vector is fetched, also where one was stored."""
    if model is None or isinstance(model, str):
        chosen = named.embedding_model(model)
    else:
        chosen = named_embeddings(model)
    contents = [bullet.content for bullet in playbook]
    fetched = finish(chosen.fetch(contents, BLOCKING))
    dimensions = max(map(len, fetched.values()), default=0)
    # Vectors that cost nothing are not stored.
    replaced = playbook.replace_vectors(chosen.name, {} if chosen.is_free else fetched)
    return Reembedding(len(contents), len(fetched), dimensions, replaced)
