"""What `acegraph feedback` does: one label, or a file of them."""

from pathlib import Path

from acegraph.graph.console import lasting, print_json, progress_bar, say, say_curation

_FEW = 5


def give_one(
    decision_id: str, label: str, source: str, at: str, playbook: str, *, as_json: bool
) -> None:
    """Judge one stored decision."""
    from acegraph.graph.late_labels import feedback

    with lasting(playbook, must_exist=True) as book:
        found = feedback(book, decision_id, label, source=source, at=at)
    learned = found.curation.to_json() if found.curation else None
    if as_json:
        print_json({"is_correct": found.is_correct, "changed": found.changed, "curation": learned})
        return
    word = {True: "right", False: "wrong", None: "never decided"}[found.is_correct]
    say(f"{decision_id} was {word}" + ("" if found.changed else " (already known)"))
    if found.curation:
        say_curation(found.curation)


def give_file(
    file: Path, source: str, at: str, playbook: str, *, learn: bool, as_json: bool
) -> None:
    """Judge the stored decisions that a CSV names."""
    from acegraph.graph.late_labels import feedback_many, read_labels

    labels = read_labels(file, source, at)
    with lasting(playbook, must_exist=True) as book, progress_bar() as told:
        tell = told(None)
        found = feedback_many(
            book,
            labels,
            learn=learn,
            progress=lambda done: tell("labels", done, len(labels)),
        )
    if as_json:
        print_json(vars(found))
        return
    say(
        f"{found.labels} label(s): {found.changed} new, {found.wrong} decision(s) wrong, "
        f"{len(found.bullets_added)} bullet(s) learned"
    )
    if found.missing:
        say(
            f"{found.missing} declined without a chargeback: no label, the decline hides the answer"
        )
    if found.unknown:
        some = ", ".join(found.unknown[:_FEW]) + (", ..." if len(found.unknown) > _FEW else "")
        say(f"{len(found.unknown)} unknown decision id(s), left out: {some}")
