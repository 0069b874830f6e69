"""`acegraph labels`: how many decisions have one, and how many never will because they blocked."""

from acegraph.graph.console import DEFAULT_URL, AsJson, PlaybookUrl, lasting, print_json, say


def labels(playbook: PlaybookUrl = DEFAULT_URL, as_json: AsJson = False) -> None:
    """Say how many labels are missing because of blocks, and what those let through tell."""
    from acegraph.state.blocks import label_coverage

    with lasting(playbook, must_exist=True) as book:
        found = label_coverage(book)
    if as_json:
        print_json(found.to_json())
        return
    say(f"{found.decided} decision(s): {found.labelled} labelled, {found.pending} pending")
    say(f"{found.blocked} label(s) missing because the payment was declined")
    if found.let_through:
        told = f"{found.let_through_labelled} labelled, {found.let_through_honest} of them honest"
        about = f": about {found.expected_honest:.0f} honest among all would-be declines"
        if not found.let_through_labelled:
            about = ""
        say(f"{found.let_through} would-be decline(s) let through, {told}{about}")
