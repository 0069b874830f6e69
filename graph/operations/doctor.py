"""What is set up and what is wrong with it: language models, embedder and database."""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from shutil import disk_usage
from typing import Final, Literal, get_args

from langchain_core.messages import HumanMessage
from pydantic import Field

from acegraph.nodes.models import providers
from acegraph.nodes.models.concept_embeddings import EMBEDDED_MODEL
from acegraph.nodes.models.embedding_models import DEFAULT_THRESHOLD, THRESHOLDS
from acegraph.nodes.models.language_model import LanguageModel
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.nodes.runtime.usage import Meter, metered
from acegraph.state import AceContext, AceError, BulletPlaybook, Form, InvalidSettings, ModelError
from acegraph.state.database.encoding import file_of
from acegraph.state.database.open import open_database

Level = Literal["ok", "warning", "problem"]
_OPENAI: Final = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    level: Level
    text: str

    def to_json(self) -> dict[str, str]:
        """For machines."""
        return asdict(self)


class ProbeForm(Form):
    """Say hello."""

    greeting: str = Field(description="one word")


def model_findings(
    context: AceContext | None = None,
    playbook: BulletPlaybook | None = None,
    *,
    ask: bool = True,
) -> list[Finding]:
    """Look at the language models; with `ask` each is asked for one word (a few tokens)."""
    try:
        server = providers.Server.configured()
        prices = providers.prices()
    except InvalidSettings as error:
        return [Finding("settings", "problem", str(error))]
    found = [_server(server)]
    ask = ask and not server.replay  # no recording holds these questions
    named = dict(_names(context or AceContext()))
    for role, (name, why) in named.items():
        if name is None:
            found.append(Finding(role, "ok", f"embedded, needs no server ({why})"))
        elif server.key is None:
            found.append(Finding(role, "problem", f"{name} ({why}) needs OPENAI_API_KEY"))
        else:
            found.append(_model(role, name, why, ask))
    used = {name for name, _ in named.values() if name}
    if used and (lacking := sorted(used - prices.by_model.keys())):
        found.append(
            Finding("prices", "ok", f"cost is not computed: no price for {', '.join(lacking)}")
        )
    if playbook is not None:
        found.append(_vectors(playbook, named["embedding"][0]))
    return found


def _server(server: providers.Server) -> Finding:
    if server.replay:
        recording = f"answers come from the recording {server.replay}, nothing is asked now"
        return Finding("server", "ok", f"none: {recording}")
    if server.key is None:
        return Finding("server", "ok", "none: OPENAI_API_KEY is not set, everything is embedded")
    where = _without_credentials(server.base_url or _OPENAI)
    recorded = f"; exchanges are recorded to {server.record}" if server.record else ""
    return Finding("server", "ok", f"{where}, a key is set{recorded}")


def _without_credentials(url: str) -> str:
    """Where a server is, and no more.

    >>> _without_credentials("http://ann:secret@example.org/v1?api-key=secret")
    'http://example.org/v1'
    """
    return re.sub(r"^(\w+://)?.*@", r"\1", url).partition("?")[0]


def _names(context: AceContext) -> Iterator[tuple[str, tuple[str | None, str]]]:
    for role in (*get_args(providers.Role), "embedding"):
        given = getattr(context, f"{role}_model")
        variable = f"ACE_{role.upper()}_MODEL"
        why = "context" if given else variable if os.environ.get(variable) else "default"
        yield role, (providers.model_name(role, given), why)


def _model(role: str, name: str, why: str, ask: bool) -> Finding:
    try:
        return _embedder(name, why, ask) if role == "embedding" else _chat(role, name, why, ask)
    except (InvalidSettings, OSError) as error:  # a recording that is none, or cannot be written
        return Finding(role, "problem", f"{name} ({why}): {error}")


def _chat(role: str, name: str, why: str, ask: bool) -> Finding:
    model = providers.chat_model(role, name)  # type: ignore[arg-type]
    assert model is not None
    what = f"{name} ({why}) by {model.method}"
    return _asked(role, what, model) if ask else Finding(role, "ok", f"{what}, not asked")


def _asked(role: str, what: str, model: LanguageModel) -> Finding:
    begun = time.monotonic()
    try:
        with metered(Meter()) as meter:
            finish(model.fill(ProbeForm, [HumanMessage("Greet me with one word.")], BLOCKING))
    except ModelError as error:
        return Finding(role, "problem", f"{what}: {error}")
    if meter.notes:
        return Finding(role, "warning", f"{what}: {'; '.join(meter.notes)}")
    return Finding(role, "ok", f"{what}, answered in {time.monotonic() - begun:.1f} s")


def _embedder(name: str, why: str, ask: bool) -> Finding:
    model = providers.embedding_model(name)
    what = f"{name} ({why})"
    if not ask:
        what += ", not asked"
    else:
        try:
            (vector,) = finish(model.vectors(["acegraph"], BLOCKING))
        except ModelError as error:
            return Finding("embedding", "problem", f"{what}: {error}")
        what += f", {len(vector)} dimensions"
    if name not in THRESHOLDS:
        return Finding(
            "embedding",
            "warning",
            f"{what}, no threshold is known for it: {DEFAULT_THRESHOLD} is assumed; set "
            "semantic_threshold if selections stay empty",
        )
    return Finding("embedding", "ok", f"{what}, threshold {model.threshold}")


def _vectors(playbook: BulletPlaybook, name: str | None) -> Finding:
    try:
        playbook.vectors(name or EMBEDDED_MODEL, [])
    except InvalidSettings as error:
        return Finding("vectors", "problem", str(error))
    kept = playbook.embedding_model
    return Finding("vectors", "ok", f"of {kept}" if kept else "none in the playbook yet")


_LOW_DISK: Final = 1e9


def database_findings(url: str) -> list[Finding]:
    """Look at the database: its kind, schema and settings, its size, and the room it has left."""
    file = file_of(url)
    if file is not None and not file.exists():
        return [Finding("database", "ok", f"none at {url} yet; the first decision makes one")]
    try:
        database = open_database(url)
    except AceError as error:
        return [Finding("database", "problem", str(error))]
    try:
        facts = database.facts()
        found = [
            Finding("database", "ok", f"{facts.pop('database')}, schema {database.schema_version}"),
            *(Finding(name, "ok", text) for name, text in facts.items()),
        ]
        found += [Finding("integrity", "problem", text) for text in database.integrity()]
    finally:
        database.close()
    free = disk_usage(file.parent).free if file is not None else 0
    return [_judged(finding, free) for finding in found]


def _judged(finding: Finding, free: float) -> Finding:
    """The same finding, as serious as it is."""
    match finding.name, finding.text:
        case "free disk space", text if free < _LOW_DISK:
            return Finding(finding.name, "warning", f"{text}: a full disk stops all learning")
        case "journal mode", text if text != "wal":
            return Finding(finding.name, "warning", f"{text}; readers wait for writers without wal")
        case "fsync" | "synchronous commit", "off":
            return Finding(
                finding.name, "warning", "off: a crash of the server loses acknowledged outcomes"
            )
    return finding
