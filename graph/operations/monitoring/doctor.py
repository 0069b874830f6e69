"""The doctor: which models and database would be used, and what is wrong. It changes nothing."""

import os
import platform
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from time import monotonic
from typing import Final, Literal, get_args

from langchain_core.messages import HumanMessage
from pydantic import Field

from acegraph.nodes.judge.agreement import Agreement, agreements
from acegraph.nodes.models import named, providers
from acegraph.nodes.runtime.sync_async import BLOCKING, finish
from acegraph.nodes.runtime.usage import Meter, metered
from acegraph.state import AceContext, AceError, BulletPlaybook, InvalidSettings, ModelError
from acegraph.state.database.encoding import file_of
from acegraph.state.database.open import open_database
from acegraph.state.database.places import left_by_killed, shown_url
from acegraph.state.run.context import settle
from acegraph.state.run.model_forms import Form

Level = Literal["ok", "warning", "problem"]
Role = Literal[named.Role, "embedding"]
_PROBES: Final = ("acegraph", "a gift card at night")
"""Their vectors must differ."""


@dataclass(frozen=True)
class Finding:
    """One thing that was checked, how serious its state is, and that state in words."""

    name: str
    level: Level
    text: str


class ProbeForm(Form):
    """Say hello."""

    greeting: str = Field(description="one word")


def version_finding() -> Finding:
    """The versions of what runs here."""
    versions = [f"{name} {metadata.version(name)}" for name in ("acegraph", "langgraph")]
    return Finding("version", "ok", ", ".join([*versions, f"Python {platform.python_version()}"]))


def model_findings(
    context: AceContext | None = None, playbook: BulletPlaybook | None = None, *, ask: bool = True
) -> list[Finding]:
    """Check the models; with `ask` each language model is asked for one word (a few tokens)."""
    try:
        server, prices = providers.Server.configured(), named.prices()
    except InvalidSettings as error:
        return [Finding("settings", "problem", str(error))]
    text = f"{server.address}, a key is set"
    if server.key is None:
        text = "none: OPENAI_API_KEY is not set, everything is embedded"
    findings, names, context = [Finding("server", "ok", text)], {}, context or AceContext()
    for role in get_args(Role):
        name, variable = getattr(context, f"{role}_model"), f"ACE_{role.upper()}_MODEL"
        why = "context" if name else variable if os.environ.get(variable) else "default"
        name = names[role] = named.model_name(role, name)
        if name is None:
            findings.append(Finding(role, "ok", f"embedded, needs no server ({why})"))
        elif server.key is None:
            findings.append(Finding(role, "problem", f"{name} ({why}) needs OPENAI_API_KEY"))
        else:
            findings.append(_check_model(role, name, why, ask))
    if server.key and not any(names.values()):
        text = "nothing is asked: a key is set, but no model is named (ACE_AGENT_MODEL and others)"
        findings[0] = Finding("server", "ok", text)
    if unpriced := sorted({name for name in names.values() if name} - prices.by_model.keys()):
        text = f"cost is not computed: no price for {', '.join(unpriced)}"
        findings.append(Finding("prices", "ok", text))
    if playbook is not None:
        bar = settle(playbook, context).get("judge_bar", 0.0)
        judges = agreements(playbook)
        if names["judge"]:
            judges.setdefault(names["judge"], Agreement(names["judge"]))
        findings += [Finding("agreement", "ok", one.in_words(bar)) for one in judges.values()]
    return findings


def _check_model(role: Role, name: str, why: str, ask: bool) -> Finding:
    what = f"{name} ({why})"
    try:
        if role == "embedding":
            vectors = named.embedding_model(name).vectors
            size = (
                f"{len(finish(vectors(_PROBES, BLOCKING))[0])} dimensions" if ask else "not asked"
            )
            return Finding(role, "ok", f"{what}, {size}")
        model = named.resolve_model(role, None, name)
        assert model is not None
        what += f" by {model.method}"
        if not ask:
            return Finding(role, "ok", f"{what}, not asked")
        started = monotonic()
        with metered(Meter()) as meter:
            finish(model.fill(ProbeForm, [HumanMessage("Greet me with one word.")], BLOCKING))
        told = "; ".join(meter.notes) or f"answered in {monotonic() - started:.1f} s"
        return Finding(role, "warning" if meter.notes else "ok", f"{what}, {told}")
    except (ModelError, InvalidSettings) as error:
        return Finding(role, "problem", f"{what}: {error}")


def database_findings(url: str, *, must_exist: bool = False) -> list[Finding]:
    """Check the database: whether it opens, is whole, and can be written to."""
    file = file_of(url)
    left = list(left_by_killed(file.parent)) if file is not None else []
    text = "of a writer that was killed; the next file written there removes it"
    parts = [Finding("part of a file", "warning", f"{part}: {text}") for part in left]
    if file is not None and not file.exists():
        text = f"none at {shown_url(url)} yet; the first decision makes one"
        return [Finding("database", "problem" if must_exist else "ok", text), *parts]
    try:
        with closing(open_database(url)) as database:
            problems = database.integrity()
            database.check_ready()
    except AceError as error:
        return [Finding("database", "problem", str(error)), *parts]
    found = Finding("database", "ok", f"{shown_url(url)}, schema {database.schema_version}")
    return [found, *parts, *(Finding("integrity", "problem", text) for text in problems)]
