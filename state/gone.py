"""What a user could once type or set, and where each went: whoever still uses one is told.

A command, an option or a setting that is gone gets its line from the same table.
"""

import os
from collections.abc import Mapping
from typing import Final

from acegraph.state.errors import InvalidSettings

_RECORDING: Final = "set_llm_cache of LangChain keeps answers; LanguageModel(model, secret=TEXT)"
VARIABLES: Final[Mapping[str, str]] = {
    "ACE_REDACT": "train --as NAME=hidden, or `stored` of a field in task.json",
    "ACE_RATES": "convert amounts before they come: no currency is converted here",
    "ACE_ATTEMPTS": "a request is attempted three times; ACE_TIMEOUT limits all of it",
    "ACE_COSTS": "acegraph policy costs=missed_fraud=1,false_decline=0.1 keeps them",
    "ACE_DEADLINE": "ACE_TIMEOUT is the seconds for one question, with all attempts",
    "ACE_MATURE_DAYS": "acegraph policy mature_days=no_chargeback=90 keeps them",
    "ACE_METHOD": "a server that refuses a form is asked in plain JSON from then on",
    **dict.fromkeys(("ACE_RECORD", "ACE_RECORDING", "ACE_REPLAY"), _RECORDING),
    "ACE_WEBHOOK": "acegraph monitor exits with 1 and prints JSON, which cron can send anywhere",
    "ACE_SERVICE": "acegraph serve tells its processes what its options say",
    "ACE_USERS": "acegraph users NAME --role analyst: users are kept in the playbook",
}
"""Variables of the environment."""
COMMANDS: Final[Mapping[str, str]] = {
    "backup": "acegraph copy FROM TO writes a file, and verifies it",
    "challenge": "acegraph compare FILE --against VERSION",
    "consume": "acegraph serve --stdin",
    "generate": "acegraph demo --write FILE",
    "graph": "create_ace_graph().compile().get_graph().draw_mermaid() draws it in Python",
    "labels": "acegraph monitor counts the labels that are missing",
    "playbook diff": "acegraph playbook history A B",
    "playbook import": "acegraph playbook add FILE",
    "playbook restore": "acegraph playbook set ID active",
    "playbook retire": "acegraph playbook set ID retired",
    "playbook show": "acegraph playbook list ID",
    "playbook sql": "acegraph playbook export --to sql",
    "playbook trial": "acegraph backtest ID",
    "prune": "acegraph erase --before TIME",
    "reembed": "playbook.forget_vectors(MODEL) in Python; runs fetch what they need anew",
    "restore": "acegraph copy FROM TO brings a copy back into a new place",
    "users add": "acegraph users NAME --role ROLE",
    "users list": "acegraph users",
    "users remove": "acegraph users NAME --remove",
    "schema": "acegraph read without a file; --to json-schema",
}
"""Commands, without `acegraph` before them."""
_DRIFT: Final = "after a change of the fraud older cases always stop being evidence"
_ROW_ID: Final = "--as NAME=id says which column is the id of a row"
OPTIONS: Final[Mapping[str, str]] = {
    "--base-rate": "acegraph policy base_rate=SHARE keeps it",
    "--costs": VARIABLES["ACE_COSTS"],
    **dict.fromkeys(("--drift", "--no-drift"), _DRIFT),
    "--mature-days": VARIABLES["ACE_MATURE_DAYS"],
    "--redact": VARIABLES["ACE_REDACT"],
    "--tenant": "each company has a service and a playbook of its own, at a URL of its own",
    "--amount": "--as NAME=amount",
    **dict.fromkeys(("--day-first", "--month-first"), "the rows tell, or `forms` in task.json"),
    "--derive": "--as NAME=customer (card, device, merchant) counts their earlier rows",
    "--drop": "--as NAME=ignored",
    "--keep": "--as NAME=category, or another kind",
    "--rate": "a proxy before the service limits each user; 2,000 may wait in a process",
    "--rates": "convert amounts before they come: no currency is converted here",
    "--time": "--as NAME=time",
    "--also-embedded": "with --model the embedded analyst always stands among the other learners",
    "--by": "--as NAME=protected: false declines are shown by the groups of protected fields",
    "--batch": "as many lines are written at once as have come",
    "--challenger": "acegraph compare FILE --against VERSION",
    "--credit": "AceContext(credit=...) in Python",
    **dict.fromkeys(("--decisions-before", "--older-than"), "acegraph erase --before TIME"),
    "--delay-days": "benchmarks/proofs.py --only delay decides with late labels",
    "--gate": "Curator(gate=...) and Reflector(gate=...) in Python",
    "--jobs": "seeds are decided one after another; scripts in benchmarks/ have it",
    "--json-schema": "acegraph read --to json-schema",
    "--label-noise": "benchmarks/proofs.py --only noise",
    "--max-tokens": "--max-calls stops before more calls; a budget of tokens is set in Python",
    "--most-waiting": "watch(most_waiting=...) and ServiceSettings(most_waiting=...) in Python",
    "--natural": "--fraud-rate 0.02 is the natural share",
    "--no-baselines": "--baselines none",
    "--patience": "whoever starts the command starts it again: what was answered counts once",
    **dict.fromkeys(("--picture", "--pictures"), "--report FILE has all pictures"),
    "--pydantic": "acegraph read --to json-schema, which generators of models read",
    "--reason": "--why says it",
    **dict.fromkeys(("--row-by-row", "--whole-table"), "all rows are learned from at once"),
    "--shuffle-labels": "benchmarks/proofs.py --only shuffles",
    "--table": "the query reads `payments`; TableRules.to_sql(table=...) in Python names another",
    **dict.fromkeys(("--test-file", "--train-file"), "acegraph compare FILE TEST_FILE"),
    "--wait": "lines are answered as they come",
    "--watch": "acegraph learn ends when the queue is empty: cron starts it again",
    "--webhook": VARIABLES["ACE_WEBHOOK"],
    "compare --concurrency": "TrainingPipeline(concurrency=...), in Python",
    "compare --costs": "acegraph policy costs=...; compare --playbook PLACE goes by its policy",
    "backtest --rows": "a query on the file shows them: duckdb -c \"FROM 'FILE' WHERE ...\"",
    **dict.fromkeys(("compare --id", "read --id", "train --id"), _ROW_ID),
    "demo --concurrency": "the embedded analyst alone decides there: nothing has to wait",
    "demo --model": "acegraph demo --write FILE, then acegraph compare FILE --model NAME",
    **dict.fromkeys(
        ("demo --test", "demo --train"), "--rows counts all payments; 40 % of them are learned from"
    ),
    "playbook purge --author": "acegraph playbook set ID retired",
    **dict.fromkeys(
        ("playbook purge --since", "playbook purge --until"),
        "--source and --entity say whose labels are taken back",
    ),
    "playbook rollback --dry-run": "acegraph playbook history NOW VERSION shows what would change",
    "score --record": "acegraph serve --stdin decides and records, a JSON line for each payment",
}
"""Options of commands that remain; `COMMAND --OPTION` where another command still has the name."""
SETTINGS: Final[Mapping[str, str]] = {
    **{
        name: f"AceContext(policy={{{name!r}: ...}}) for an experiment, else playbook.set_policy"
        for name in (
            *("costs", "base_rate", "mature_days", "explore", "review_from", "review_to"),
            "judge_bar",
        )
    },
    "challenger": "AceContext(policy={'shadow': VERSION}), or playbook.set_policy",
    "drift": _DRIFT,
    "redact": "a Field of the task says stored=False, as playbook.task().hiding([...]) makes it",
    "rates": "convert amounts before they come: no currency is converted here",
    "trial": "try_bullet asks the agent with and without a bullet on past labelled cases",
}
"""Settings of `AceContext`."""
NAMES: Final[Mapping[str, str]] = {
    "ConceptEmbeddings": "embed in acegraph.nodes.models.concept_embeddings",
    "Decider": "decide_many in acegraph.graph.operations.decide",
    "PairedTest": "paired_difference in acegraph.graph.metrics.paired",
    "as_expression": "acegraph.nodes.rules.sql (to_sql)",
    "mcnemar": "paired_difference in acegraph.graph.metrics.paired",
    "recording": _RECORDING,
    "reembed": "playbook.forget_vectors(MODEL)",
    "replaying": _RECORDING,
}
"""Public names that nothing defines any more, by what does it now."""


def refuse_gone_variables() -> None:
    """Stop at the first variable of the environment that is set and gone."""
    for name, whither in VARIABLES.items():
        if os.environ.get(name):
            raise InvalidSettings(f"{name} is gone: {whither}")
