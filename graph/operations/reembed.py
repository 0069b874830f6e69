"""Give the bullets of a playbook new vectors, of the same embedding model or of another one."""

from langchain_core.embeddings import Embeddings

from acegraph.nodes.models import named
from acegraph.nodes.models.embedding_models import EmbeddingModel, named_embeddings
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.state import BulletPlaybook


def reembed(playbook: BulletPlaybook, model: str | Embeddings | EmbeddingModel | None) -> int:
    """Embed every bullet with this model (None: the configured one) and use it from now on.

    Every vector is fetched, also where one was stored. Returns the number of bullets. If one vector
    fails, the playbook stays as it was.
    """
    if model is None or isinstance(model, str):
        chosen = named.embedding_model(model)
    else:
        chosen = named_embeddings(model)
    contents = [bullet.content for bullet in playbook]
    fetched = finish(chosen.fetch(contents, BLOCKING))
    # Vectors that cost nothing are not stored.
    playbook.replace_vectors(chosen.name, {} if chosen.is_free else fetched)
    return len(contents)
