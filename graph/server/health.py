"""Whether the service lives, whether it can work, and its metrics for Prometheus.

Decisions, labels and bullets are counted in the ledger, so that all workers tell the same. What
only a process knows carries the label `worker`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Final

from starlette.responses import JSONResponse, PlainTextResponse

from acegraph.graph.server.endpoints import Call, Endpoint
from acegraph.graph.server.service import BUCKETS, Service
from acegraph.state.errors import AceError
from acegraph.state.ledger.lookups import ledger_counts
from acegraph.state.maintenance.people.review_queue import waiting

_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def live(call: Call) -> object:
    """The process answers."""
    return {"status": "live", "version": version("acegraph")}


def ready(call: Call) -> object:
    """The database is there, has the present schema, and can be written to; else 503."""
    try:
        call.service.playbook.database.check_ready()
    except AceError as error:
        body = {"status": "not ready", "reason": str(error), "version": version("acegraph")}
        return JSONResponse(body, 503, {"Retry-After": "1"})
    return {"status": "ready", "version": version("acegraph")}


def metrics(call: Call) -> object:
    """Metrics in the text format of Prometheus."""
    lines = [*_of_the_ledger(call.service), *_of_this_process(call.service)]
    return PlainTextResponse("\n".join(lines) + "\n", media_type=_TYPE)


def _of_the_ledger(service: Service) -> Iterator[str]:
    counts = ledger_counts(service.playbook.database)
    reviews = Counter(entry.kind for entry in waiting(service.playbook))
    for name, text, values in (
        ("decisions", "Decisions in the ledger.", _by("verdict", counts.decisions)),
        ("labels", "Labelled cases in the ledger.", _by("label", counts.labels)),
        ("bullets", "Bullets of the playbook.", _by("status", counts.bullets)),
        ("reviews_waiting", "What waits for a person.", _by("kind", reviews)),
        ("undecided", "Transactions that wait for a decision.", {"": counts.undecided}),
        ("labels_missing", "Decisions without a label.", {"": counts.labels_missing}),
    ):
        yield from _family(name, "gauge", text, values)


def _of_this_process(service: Service) -> Iterator[str]:
    meters, database, worker = service.meters, service.playbook.database, f'worker="{os.getpid()}"'
    waits = {"writes": database.lock_waits, "seconds": round(database.lock_wait_seconds, 6)}
    requests = {
        f'{{{worker},path="{path}",status="{status}"}}': number
        for (path, status), number in sorted(meters.requests.items())
    }
    answers, model = _by("decision", meters.answers, worker), _by("what", meters.model, worker)
    for name, text, values in (
        ("answers_total", "Decisions given by this process since it started.", answers),
        ("model_total", "Calls, tokens and costs of language models.", model),
        ("lock_wait_total", "Writes that locked the ledger, and the seconds they waited for that.",
         _by("what", waits, worker)),
        ("requests_total", "Requests by path and status.", requests),
    ):  # fmt: skip
        yield from _family(name, "counter", text, values)
    buckets: dict[str, float] = {}
    for path in sorted(meters.seconds):
        of = f'{worker},path="{path}"'
        total = sum(number for (name, _), number in meters.requests.items() if name == path)
        buckets |= {f'_bucket{{{of},le="{b}"}}': meters.buckets[path, b] for b in BUCKETS}
        buckets |= {f'_bucket{{{of},le="+Inf"}}': total, f"_count{{{of}}}": total}
        buckets[f"_sum{{{of}}}"] = round(meters.seconds[path], 6)
    yield from _family("request_seconds", "histogram", "Time until an answer.", buckets)


def _by(label: str, values: Mapping[str, float], *more: str) -> dict[str, float]:
    """Numbers by what stands behind the name of a metric."""
    labels = {key: ",".join([*more, f'{label}="{key}"']) for key in sorted(values)}
    return {f"{{{text}}}": values[key] for key, text in labels.items()}


def _family(name: str, kind: str, text: str, values: Mapping[str, float]) -> Iterator[str]:
    yield f"# HELP acegraph_{name} {text}"
    yield f"# TYPE acegraph_{name} {kind}"
    for rest, value in values.items():
        yield f"acegraph_{name}{rest} {value}"


ENDPOINTS: Final = (
    Endpoint("GET", "/live", None, live),
    Endpoint("GET", "/ready", None, ready),
    Endpoint("GET", "/metrics", "viewer", metrics),
)
