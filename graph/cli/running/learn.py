"""`acegraph learn`: learn in the background what runs with `learn_later` have left to learn."""

from dataclasses import asdict

from acegraph.graph.cli.console import announce_models, lasting
from acegraph.graph.cli.printing import print_usage, progress_bar, say, told_as_json


def learn() -> None:
    """Learn the lessons that wait in the playbook's queue (AceContext(learn_later=True)).

    Run it as often as you like, for instance by cron. Example: acegraph learn --playbook ace.db
    """
    from acegraph.graph.operations.learning.background import learn_waiting

    announce_models()
    with lasting(must_exist=True) as book, progress_bar() as progress:
        report = learn_waiting(book, progress=progress(None))
    if not told_as_json(asdict(report)):
        added = ", ".join(report.bullets_added) or "none"
        say(f"{report.lessons} lesson(s) learned, {report.failed} failed; bullets: {added}")
        print_usage()
