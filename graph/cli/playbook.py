"""`acegraph playbook ...` and `reembed`: look at a playbook and its versions, and change them."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from acegraph.graph.cli.console import (
    DEFAULT_URL,
    MODEL_HELP,
    AsJson,
    DryRun,
    PlaybookUrl,
    RiskOptions,
    Who,
    announce_models,
    field_and_value,
    lasting,
    print_json,
    print_table,
    print_usage,
    progress_bar,
    say,
    takes_groups,
)
from acegraph.state import AceContext
from acegraph.state.database.places import shown_url
from acegraph.state.run.review_answers import signature
from acegraph.state.values.bullet import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from acegraph.state import BulletPlaybook
    from acegraph.state.maintenance.versions import Difference


def reembed(
    model: Annotated[
        str | None, typer.Option(help="The embedding model; not given: the configured one.")
    ] = None,
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Fetch the vectors of all bullets anew, from the same embedding model or another one."""
    from acegraph.graph.operations.reembed import replace_vectors

    with lasting(playbook, must_exist=True) as book:
        done = replace_vectors(book, model)
        say(f"{done.bullets} bullet(s) in {book.url} have vectors of {book.embedding_model} now")
        if done.replaced:
            say(
                f"{done.fetched} vector(s) of {done.dimensions} dimensions were fetched; the "
                f"{done.replaced} stored before are gone; restart what uses this playbook now"
            )


BulletId = Annotated[str, typer.Argument(help="For example b7.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept in the history.")]
playbook_app = typer.Typer(
    help="Look at a playbook, its versions, carry it elsewhere.", no_args_is_help=True
)


@playbook_app.command("list")
def list_bullets(
    playbook: PlaybookUrl = DEFAULT_URL,
    everything: Annotated[bool, typer.Option("--all", help="Retired bullets too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the bullets with their records."""
    from acegraph.graph.cli.tables import bullet_table
    from acegraph.graph.experiments.bullet_report import bullet_json

    with lasting(playbook, must_exist=True) as book:
        bullets = [b for b in book if everything or b.status == "active"]
        version = book.version
    if as_json:
        print_json({"version": version, "bullets": [bullet_json(b) for b in bullets]})
    elif bullets:
        print_table(bullet_table(bullets, f"{shown_url(playbook)}, version {version}"))
    else:
        hint = "yet; 'acegraph train FILE' learns some"
        if version:
            hint = "in use; 'acegraph playbook history' tells what became of them"
        say(f"no bullets in {shown_url(playbook)} {hint}")


@playbook_app.command("show")
def show_bullet(
    bullet_id: BulletId,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Show one bullet: what it says, where it came from, its evidence, its history."""
    from acegraph.graph.cli.tables import bullet_table, history_table
    from acegraph.graph.operations.transfer import bullet_to_json

    with lasting(playbook, must_exist=True) as book:
        bullet = book.get_bullet(bullet_id)
        history = [h for h in book.history() if h["bullet"] == bullet_id]
    if as_json:
        print_json({"id": bullet.id, **bullet_to_json(bullet), "history": history})
        return
    print_table(bullet_table([bullet], f"{bullet_id} in {shown_url(playbook)}"))
    weight = "not fitted" if bullet.weight is None else f"{bullet.weight:+.2f} log-odds of fraud"
    say(f"{bullet.proof}; weight: {weight}; kinds of problem: {_listed(bullet.problem_types)}")
    say(f"evidence: {_listed(f'{name} {fact}' for name, fact in bullet.evidence.items())}")
    say(f"origin: {_listed(f'{name} {fact}' for name, fact in bullet.origin.items())}")
    print_table(history_table(history, "history"))


def _listed(words: "Iterable[str]") -> str:
    return ", ".join(words) or "none"


@playbook_app.command("export")
def export_playbook(
    file: Annotated[Path, typer.Argument(help="The JSON file to write.")],
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Write all bullets to a JSON file."""
    from acegraph.graph.operations.transfer import export_bullets

    with lasting(playbook, must_exist=True) as book:
        count = export_bullets(book, file)
    say(f"{count} bullet(s) written to {file}")


@playbook_app.command("import")
def import_playbook(
    file: Annotated[Path, typer.Argument(help="A JSON file written by export.")],
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Merge exported bullets into a playbook; duplicates are refused, counters start at zero."""
    from acegraph.graph.operations.transfer import merge_bullets, read_bullets

    entries = read_bullets(file)
    with lasting(playbook) as book:
        fates = merge_bullets(book, entries)
    waiting = f", {fates['held']} waiting for 'acegraph review'" if fates["held"] else ""
    say(
        f"{fates['added'] + fates['revived']} bullet(s) added, {fates['duplicate']} duplicates "
        f"and {fates['refused']} others refused{waiting}"
    )


@playbook_app.command("retire")
def retire_bullet(
    bullet_id: BulletId,
    reason: Reason = "retired by hand",
    who: Who = "",
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Switch a bullet off; it stays in the playbook and can be restored."""
    from acegraph.graph.operations.review import retire

    _switch(retire, bullet_id, reason, playbook, who)


@playbook_app.command("restore")
def restore_bullet(
    bullet_id: BulletId,
    reason: Reason = "restored by hand",
    who: Who = "",
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Switch a retired bullet on again; one that waited for approval waits again."""
    from acegraph.graph.operations.review import restore

    status = _switch(restore, bullet_id, reason, playbook, who)
    if status == "candidate":
        say(f"it waited for approval before, and waits again: 'acegraph review {bullet_id}'")


def _switch(
    change: "Callable[[BulletPlaybook, str, str, str], bool]",
    bullet_id: str,
    reason: str,
    playbook: str,
    who: str,
) -> Status:
    source = signature(who)
    with lasting(playbook, must_exist=True) as book:
        is_changed = change(book, bullet_id, reason, source)
        status = book.get_bullet(bullet_id).status
    say(f"{bullet_id} is {status}" + ("" if is_changed else " already; nothing was changed"))
    return status


@playbook_app.command("trial")
def try_prose(
    bullet_id: BulletId,
    max_calls: Annotated[
        int, typer.Option(min=1, help="Stop before more calls to language models.")
    ] = 200,
    model: Annotated[str | None, typer.Option(help=MODEL_HELP)] = None,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Try a bullet in prose: a model decides labelled cases with it and without it."""
    from acegraph.graph.operations.learning.trial import try_bullet
    from acegraph.state import AceContext

    announce_models(model)
    with lasting(playbook, must_exist=True) as book, progress_bar() as progress:
        trial = try_bullet(
            book,
            bullet_id,
            max_calls=max_calls,
            context=AceContext(agent_model=model),
            before=lambda cost: typer.echo(f"{bullet_id}: {cost}", err=True),
            progress=progress(None),
        )
    if as_json:
        print_json(trial.to_json())
        return
    say(f"{bullet_id} is {trial.status}; {trial.outcome}: {trial.reason}")
    say(
        f"{trial.cases} cases: {trial.gained} right only with it, "
        f"{trial.lost} only without it; {trial.calls} call(s)"
    )
    print_usage()


@playbook_app.command("history")
def show_history(playbook: PlaybookUrl = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Every change to the playbook: its version, when, what, why and who."""
    from acegraph.graph.cli.tables import history_table

    with lasting(playbook, must_exist=True) as book:
        entries = book.history()
    if as_json:
        print_json(entries)
    elif entries:
        print_table(history_table(entries, shown_url(playbook)))
    else:
        say(f"{shown_url(playbook)} has not changed yet")


@playbook_app.command("diff")
def show_difference(
    before: Annotated[int, typer.Argument(help="A version number.")],
    after: Annotated[
        int | None, typer.Argument(help="Another one; the newest if not given.")
    ] = None,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """What differs between two versions: bullets added, removed, reworded, retired."""
    from acegraph.graph.cli.tables import difference_table
    from acegraph.state import diff

    with lasting(playbook, must_exist=True) as book:
        newest = book.version if after is None else after
        differences = diff(book, before, newest)
    if as_json:
        print_json([_difference_json(d) for d in differences])
    elif differences:
        print_table(difference_table(differences, f"version {before} -> version {newest}"))
    else:
        say(f"versions {before} and {newest} hold the same bullets")


@playbook_app.command("rollback")
def roll_back(
    version: Annotated[int, typer.Argument(help="The version to go back to (see history).")],
    reason: Reason = "",
    who: Who = "",
    dry_run: DryRun = False,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Make the bullets those of an earlier version; counters stay. Can be rolled back itself."""
    from acegraph.graph.cli.tables import difference_table
    from acegraph.state import rollback

    with lasting(playbook, must_exist=True, dry_run=dry_run) as book:
        changes = rollback(book, version, reason, signature(who))
        now = book.version
    if as_json:
        print_json({"version": now, "changes": [_difference_json(d) for d in changes]})
        return
    if changes:
        print_table(difference_table(changes, f"rolled back to version {version}"))
    say(f"the playbook holds the bullets of version {version}; it is now at version {now}")


@playbook_app.command("purge")
def purge_suspect(
    source: Annotated[
        str | None,
        typer.Option(help="Of labels (chargeback, feedback, ...) or an imported file's name."),
    ] = None,
    entity: Annotated[
        list[str] | None,
        typer.Option(help="FIELD=VALUE: the labels of one customer or merchant. Repeatable."),
    ] = None,
    author: Annotated[
        str | None, typer.Option(help="The bullets that this model wrote; labels stay.")
    ] = None,
    since: Annotated[str | None, typer.Option(help="Labels known from then on (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Labels known before then (ISO 8601).")] = None,
    who: Who = "",
    dry_run: DryRun = False,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Take back labels, what they moved and the bullets from them; fit the rest again.

    By source, entities, time, or several of them together; or by the author of bullets.
    """
    from acegraph.graph.operations.learning.purge import purge

    pairs = [field_and_value(one) for one in entity or ()]
    with lasting(playbook, must_exist=True, dry_run=dry_run) as book:
        before = book.version
        purged = purge(
            book,
            source,
            signature(who),
            entities=pairs,
            author=author,
            since=since,
            until=until,
        )
    if as_json:
        print_json(asdict(purged))
        return
    say(
        f"{purged.labels} label(s) taken back; retired: {', '.join(purged.bullets) or 'none'}; "
        f"restored: {', '.join(purged.restored) or 'none'}; "
        f"learned without it: {', '.join(purged.learned) or 'none'}"
    )
    if purged.note:
        say(purged.note)
    if purged.bullets:
        say(f"'acegraph playbook rollback {before}' brings the bullets back")


def _difference_json(difference: "Difference") -> dict[str, object]:
    before, after = difference.before, difference.after
    return {
        "bullet": difference.bullet_id,
        "change": difference.change,
        "before": before and {"content": before.content, "status": before.status},
        "after": after and {"content": after.content, "status": after.status},
    }


@playbook_app.command("sql")
@takes_groups
def playbook_sql(
    risk: RiskOptions,
    dialect: Annotated[
        str, typer.Option(help="Whose SQL: duckdb, postgres, snowflake, bigquery, and others.")
    ] = "duckdb",
    table: Annotated[str, typer.Option(help="The table that the query reads.")] = "payments",
    ids: Annotated[
        str | None, typer.Option("--id", help="The column of row ids, which the query keeps.")
    ] = None,
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Print the decision of the playbook as SQL.

    The query has the columns that the playbook knows, and points, risk and decision of each row.
    Texts are compared as they are written.
    """
    from acegraph.graph.cli.scoring import need_tables

    need_tables()
    from acegraph.graph.tables.engines.addresses import playbook_sql
    from acegraph.graph.tables.ruleset import Ruleset

    with lasting(playbook, must_exist=True) as book:
        ruleset = Ruleset.of(book, AceContext().with_changes(**vars(risk)))
        typer.echo(playbook_sql(ruleset, dialect, table, ids))
