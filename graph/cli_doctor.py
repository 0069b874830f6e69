"""`acegraph doctor` and `acegraph reembed`: what is set up, and how to switch embedding models."""

from typing import Annotated

import typer

from acegraph.graph.console import (
    DEFAULT_URL,
    AsJson,
    PlaybookUrl,
    lasting,
    place_of,
    print_json,
    say,
)
from acegraph.state.formats import file_of


def doctor(
    calls: Annotated[
        bool, typer.Option(help="Ask each model for one word; costs a few tokens.")
    ] = True,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Say which models and which database would be used, and what is wrong with them.

    Exits with 1 where there is a problem.
    """
    from acegraph.graph.doctor import model_findings
    from acegraph.graph.health import database_findings

    file = file_of(place_of(playbook))
    found = database_findings(playbook)
    if (file is not None and not file.exists()) or found[0].level == "problem":
        found += model_findings(ask=calls)
    else:
        with lasting(playbook) as book:
            found += model_findings(playbook=book, ask=calls)
    if as_json:
        print_json([finding.to_json() for finding in found])
    else:
        for finding in found:
            say(f"{finding.level:8} {finding.name:18} {finding.text}")
    if any(finding.level == "problem" for finding in found):
        raise typer.Exit(1)


def reembed(
    model: Annotated[
        str | None, typer.Option(help="The embedding model; not given: the configured one.")
    ] = None,
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Give the bullets of a playbook the vectors of another embedding model."""
    from acegraph.graph.reembedding import reembed as give_vectors

    with lasting(playbook, must_exist=True) as book:
        count = give_vectors(book, model)
        say(f"{count} bullet(s) in {playbook} have vectors of {book.embedding_model} now")
