"""The report of an experiment as a file: one HTML page to send or to print."""

from pathlib import Path
from typing import Final

SHAPES: Final = Path(__file__).parent
"""The folder of its templates; the desk draws rules as the report does."""
