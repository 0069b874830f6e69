"""What a user could once type or set, and where each went: whoever still uses one is told.

A command, an option or a setting that is gone gets its line from the same table.
"""

import os
from collections.abc import Mapping
from typing import Final

from acegraph.state.errors import InvalidSettings

VARIABLES: Final[Mapping[str, str]] = {
    "ACE_WEBHOOK": "acegraph monitor exits with 1 and prints JSON, which cron can send anywhere",
}
"""Variables of the environment."""
COMMANDS: Final[Mapping[str, str]] = {}
"""Commands, without `acegraph` before them."""
OPTIONS: Final[Mapping[str, str]] = {
    "--webhook": VARIABLES["ACE_WEBHOOK"],
}
"""Options of commands that remain; `COMMAND --OPTION` where another command still has the name."""
SETTINGS: Final[Mapping[str, str]] = {
    "trial": "try_bullet asks the agent with and without a bullet on past labelled cases",
}
"""Settings of `AceContext`."""
NAMES: Final[Mapping[str, str]] = {}
"""Public names of state, nodes and graph."""


def refuse_gone_variables() -> None:
    """Stop at the first variable of the environment that is set and gone."""
    for name, whither in VARIABLES.items():
        if os.environ.get(name):
            raise InvalidSettings(f"{name} is gone: {whither}")
