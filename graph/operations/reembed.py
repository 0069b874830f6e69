"""Give the bullets of a playbook the vectors of another embedding model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from langchain_core.embeddings import Embeddings

from acegraph.nodes.models import providers
from acegraph.nodes.models.embedding_models import EmbeddingModel, named_embeddings
from acegraph.nodes.runtime.sync_async import BLOCKING, finish

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


def reembed(playbook: BulletPlaybook, model: str | Embeddings | EmbeddingModel | None) -> int:
    """Embed every bullet with this model (None: the configured one) and use it from now on.

    Gives how many bullets there are. Fails as a whole: the playbook then stays as it was.
    """
    chosen = (
        providers.embedding_model(model)
        if model is None or isinstance(model, str)
        else named_embeddings(model)
    )
    contents = [bullet.content for bullet in playbook]
    finish(chosen.vectors(contents, BLOCKING, playbook))
    playbook.rebind_vectors(chosen.name)
    return len(contents)
