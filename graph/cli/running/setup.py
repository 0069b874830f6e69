"""`acegraph init`, and the settings of the environment and of `.env`."""

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from acegraph.graph.cli.printing import say, warn
from acegraph.state import InvalidSettings
from acegraph.state.database.places import whole_file
from acegraph.state.gone import refuse_gone_variables

STUDIO: Final = """{
  "dependencies": ["acegraph"],
  "graphs": {
    "ace": "acegraph.graph.studio:graph"
  },
  "env": ".env",
  "checkpointer": {
    "serde": { "allowed_msgpack_modules": null, "pickle_fallback": false }
  }
}
"""
SETTINGS: Final = """\
# Everything here is optional: the embedded analyst decides unless a model is named. A key alone
# sends nothing anywhere.
# Copy it to .env: the command line and LangGraph Studio read that file where they are started.
# OPENAI_API_KEY=
# Another server that speaks the OpenAI protocol (vLLM, Ollama, llama.cpp):
# OPENAI_BASE_URL=http://127.0.0.1:8000/v1
# ACE_AGENT_MODEL=gpt-3.5-turbo
# ACE_JUDGE_MODEL=gpt-4o-mini
# ACE_REFLECTOR_MODEL=gpt-4o-mini
# ACE_EMBEDDING_MODEL=text-embedding-3-small
# Seconds for one question to a model, with all attempts at it:
# ACE_TIMEOUT=120
# Per million tokens sent and received; or the name of a JSON file:
# ACE_PRICES='{"gpt-4o-mini": [0.15, 0.6]}'
# Where the playbook lives, for the command line and for LangGraph Studio:
# ACE_PLAYBOOK_URL=sqlite:///ace.db
# A key for pseudonyms in place of values that are not stored (`stored` of a field of the task):
# ACE_REDACT_KEY=
# Logs on standard error, as lines of JSON; without it there are none:
# ACE_LOG_FORMAT=json
"""
"""What `.env.example` holds: every setting, commented out."""
SETTING_NAMES: Final = frozenset(re.findall(r"\bACE_\w+", SETTINGS))
"""The variables of the environment that are read somewhere, besides those of OpenAI."""


def init(folder: Path = Path()) -> None:
    """Write langgraph.json and .env into a folder; files that are there stay as they are.

    Then `langgraph dev` starts LangGraph Studio there, and the command line reads .env. Example:
    acegraph init shop

    Options:
        folder: Where to write; it is made if missing.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidSettings(f"{folder} is not a folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("langgraph.json", STUDIO), (".env", SETTINGS)):
        file = folder / name
        if file.exists():
            say(f"{file} is there already: left as it is")
            continue
        with whole_file(file, overwrite=False) as part:
            part.write_text(text, encoding="utf-8")
            if name != ".env":  # which will hold a key
                part.chmod(0o644)
        say(f"{file} written")


def read_env_file(file: Path = Path(".env")) -> None:
    """Take the settings of a file `.env` that the environment does not have: ACE_ and OPENAI_."""
    if not file.is_file():
        return
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        line = line.strip().removeprefix("export ")
        if not line or line.startswith("#"):
            continue
        name, has_value, value = line.partition("=")
        if not has_value:
            raise InvalidSettings(f"{file}: line {number}: NAME=VALUE wanted")
        name, value = name.strip(), value.strip()
        if value[:1] in ("'", '"') and value.endswith(value[0]):
            value = value[1:-1]
        if name.startswith(("ACE_", "OPENAI_")) and value:
            os.environ.setdefault(name, value)


def check_variables() -> None:
    """Stop at a variable that is gone; say which ones look like settings and are none."""
    refuse_gone_variables()
    for name in sorted(os.environ):
        if name.startswith("ACE_") and name not in SETTING_NAMES:
            close = get_close_matches(name, SETTING_NAMES, 1)
            warn(f"{name} is no setting" + (f"; did you mean {close[0]}?" if close else ""))
