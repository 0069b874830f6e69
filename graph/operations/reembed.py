"""Give the bullets of a playbook the vectors of another embedding model."""

from langchain_core.embeddings import Embeddings

from acegraph.nodes.models import providers
from acegraph.nodes.models.embedding_models import EmbeddingModel, named_embeddings
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.state import BulletPlaybook


def reembed(playbook: BulletPlaybook, model: str | Embeddings | EmbeddingModel | None) -> int:
    """Embed every bullet with this model (None: the configured one) and use it from now on.

    Returns the number of bullets. If one vector fails, the playbook stays as it was.
    """
    if model is None or isinstance(model, str):
        chosen = providers.embedding_model(model)
    else:
        chosen = named_embeddings(model)
    contents = [bullet.content for bullet in playbook]
    finish(chosen.vectors(contents, BLOCKING, playbook))
    playbook.rebind_vectors(chosen.name)
    return len(contents)
