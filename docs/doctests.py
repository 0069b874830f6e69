"""A griffe extension: examples in docstrings (`>>> ...`) become code blocks on the API pages.

Without it Markdown takes each `>` for a quotation.
"""

import re
from typing import Any, Final

import griffe

_EXAMPLE: Final = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
"""From the prompt to the next blank line."""


class Doctests(griffe.Extension):
    """Puts fences round the examples of every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
