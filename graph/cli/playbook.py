"""`acegraph playbook ...`: look at a playbook and its versions, and change it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from acegraph.graph.cli.console import (
    DryRun,
    Why,
    alone,
    field_and_value,
    lasting,
    need,
    shown,
    signed,
)
from acegraph.graph.cli.printing import facts_in_lines, tell
from acegraph.state import AceContext, InvalidSettings
from acegraph.state.database.places import whole_file

if TYPE_CHECKING:
    from acegraph.state.maintenance.versions import Difference

_MORE: Final = ("proof", "weight", "problem_types", "evidence", "origin", "related", "created_at")
"""What is told of one bullet besides its line of the table."""


def list_bullets(
    bullet_id: Annotated[str | None, typer.Argument(metavar="[ID]")] = None,
    *,
    everything: Annotated[bool, typer.Option("--all")] = False,
) -> None:
    """List the bullets with their records, or show one with its evidence and its history.

    Example: acegraph playbook list b7

    Options:
        bullet_id: One bullet, as b7: where it came from, its evidence.
        everything: Retired bullets too.
    """
    from acegraph.graph.cli.tables import bullet_table, history_table
    from acegraph.graph.metrics.records import standings_of
    from acegraph.graph.operations.transfer import bullet_to_json

    with lasting(must_exist=True) as book:
        bullets = [b for b in book if everything or b.status == "active"]
        if bullet_id is not None:
            bullets = [book.get_bullet(bullet_id)]
        standings = standings_of(book, bullets)
        version, history = book.version, book.history(bullet_id) if bullet_id else []
    facts = [bullet_to_json(b) | vars(standings[b.id]) for b in bullets]
    if bullet_id is not None:
        tell(
            {**facts[0], "history": history},
            bullet_table(bullets, f"{bullet_id} in {shown()}", standings),
            *facts_in_lines({name: facts[0][name] for name in _MORE}),
            history_table(history, "history"),
        )
        return
    hint = "yet; 'acegraph train FILE' learns some"
    if version:
        hint = "in use; 'acegraph playbook history' tells what became of them"
    table = bullet_table(bullets, f"{shown()}, version {version}", standings)
    told = table if bullets else f"no bullets in {shown()} {hint}"
    tell({"version": version, "bullets": facts}, told)


def set_status(
    bullet_id: Annotated[str, typer.Argument(metavar="ID")], status: str, *, why: Why = ""
) -> None:
    """Switch a bullet off, or on again; it stays in the playbook.

    One that declines acts again at once, and a second person is shown it; any other waits for a
    second person. Example: acegraph playbook set b7 retired --why "the shop has closed"

    Options:
        bullet_id: A bullet, as b7.
        status: active or retired.
    """
    from acegraph.graph.operations.review import switch

    with lasting(must_exist=True) as book:
        reason = why or f"{status} by hand"
        is_changed = switch(book, bullet_id, status, reason, signed(), alone=alone.get())
        now = book.get_bullet(bullet_id).status
    tell({"bullet": bullet_id, "status": now, "changed": is_changed})


def add_bullets(file: Path) -> None:
    """Merge exported bullets into a playbook, or make candidates of the rules of others.

    Of exported bullets duplicates are refused, and counters start at zero. A decision table as CSV
    has a column for each comparison, and the columns verdict and reason; JSONLogic has conditions
    and answers by turns: what passes screening and its backtest waits for a person. Example:
    acegraph playbook add rules.csv

    Options:
        file: A JSON file written by export, a decision table (.csv), or JSONLogic.
    """
    from acegraph.graph.operations.rules_in import is_exported, propose_rules, read_rules
    from acegraph.graph.operations.transfer import merge_bullets, read_bullets

    if is_exported(file):
        entries = read_bullets(file)
        with lasting() as book:
            fates = merge_bullets(book, entries)
        tell(fates)
        return
    with lasting() as book:
        node = AceContext().node
        done = propose_rules(book, read_rules(file, book.task(node)), node, file.name)
    counts = Counter[str](curation.action for _, curation in done)
    told = [
        {"place": rule.where, "rule": rule.condition.render(), **curation.to_json()}
        for rule, curation in done
    ]
    refused = (f"{o['place']}: {o['reason']}" for o in told if o["bullet_id"] is None)
    tell({**counts, "rules": told}, *facts_in_lines(dict(counts)), *islice(refused, 20))


def show_history(before: int | None = None, after: int | None = None) -> None:
    """Every change: its version, when, what, why and who; or what differs between two versions.

    Example: acegraph playbook history 3 5

    Options:
        before: A version: what has changed since it.
        after: Another one, instead of the newest.
    """
    from acegraph.graph.cli.tables import history_table
    from acegraph.state import diff

    with lasting(must_exist=True) as book:
        newest = book.version if after is None else after
        if before is None:
            entries = book.history()
            found = history_table(entries, shown()) if entries else f"{shown()} has not changed yet"
            tell(entries, found)
            return
        changes = diff(book, before, newest)
    same = f"versions {before} and {newest} hold the same bullets"
    tell(list(map(_difference_json, changes)), *(map(_in_words, changes) if changes else [same]))


def roll_back(version: int, *, why: Why = "") -> None:
    """Make the bullets those of an earlier version; counters stay. Can be rolled back itself.

    Example: acegraph playbook rollback 3 --why "the rules of Friday decline too much"

    Options:
        version: The version to go back to (see history).
    """
    from acegraph.state import rollback

    with lasting(must_exist=True) as book:
        changes = rollback(book, version, why, signed())
        now = book.version
    tell(
        {"version": now, "changes": list(map(_difference_json, changes))},
        *map(_in_words, changes),
        f"the playbook holds the bullets of version {version}; it is now at version {now}",
    )


def _in_words(difference: "Difference") -> str:
    """What became of a bullet between two versions."""
    bullet = difference.after or difference.before
    return f"{difference.bullet_id} {difference.change}: {bullet.content if bullet else ''}"


def _difference_json(difference: "Difference") -> dict[str, object]:
    before, after = difference.before, difference.after
    return {
        "bullet": difference.bullet_id,
        "change": difference.change,
        "before": before and {"content": before.content, "status": before.status},
        "after": after and {"content": after.content, "status": after.status},
    }


def purge_suspect(
    *, source: str | None = None, entity: list[str] | None = None, dry_run: DryRun = False
) -> None:
    """Take back labels, what they moved and the bullets from them; fit the rest again.

    By source, by entities, or by both together. Example: acegraph playbook purge --source feedback
    --dry-run

    Options:
        source: Of labels (chargeback, feedback, ...) or an imported file's name.
        entity: FIELD=VALUE: the labels of one customer or merchant. Repeatable.
    """
    from acegraph.graph.operations.learning.purge import purge

    pairs = [field_and_value(one) for one in entity or ()]
    with lasting(must_exist=True, dry_run=dry_run) as book:
        before = book.version
        purged = purge(book, source, signed(), entities=pairs)
    tell({**asdict(purged), "version_before": before})


def export(
    file: Path | None = None,
    *,
    to: str = "json",
    dialect: str = "duckdb",
    ids: Annotated[str | None, typer.Option("--id")] = None,
) -> None:
    """Write all bullets to a new JSON file, or the decision of the playbook for others to run.

    python is a module of the standard library that fits and decides rows; sql a query with the
    columns that the playbook knows; jdm a model of GoRules, and jsonlogic three expressions, over
    fitted fields. None of them records or learns. Example: acegraph playbook export rules.py --to
    python

    Options:
        file: The file to write; all but json may also be printed.
        to: json, which add reads again, python, sql, jdm or jsonlogic.
        dialect: Whose SQL: duckdb, postgres, snowflake, bigquery, and others.
        ids: The column of row ids, which the query keeps.
    """
    with lasting(must_exist=True) as book:
        if to == "json" and file is not None:
            from acegraph.graph.operations.transfer import export_bullets

            count = export_bullets(book, file)
            tell({"bullets": count}, f"{count} bullet(s) written to {file}")
        elif to == "json":
            raise InvalidSettings("export --to json wants FILE")
        else:
            from acegraph.graph.tables.ruleset import TableRules

            if to == "sql":
                need("tables", "sqlglot")
            text = TableRules.of(book).written(to, dialect, ids)
            if file is None:
                typer.echo(text)
            else:
                with whole_file(file, overwrite=False) as part:
                    part.write_text(text + "\n", encoding="utf-8")


COMMANDS: Final[dict[str, Callable[..., None]]] = {
    "list": list_bullets,
    "set": set_status,
    "add": add_bullets,
    "history": show_history,
    "rollback": roll_back,
    "purge": purge_suspect,
    "export": export,
}
