"""Whether the service lives, whether it can work, and its metrics for Prometheus.

Decisions, labels and bullets are counted in the ledger, so that all workers tell the same. What
only a process knows carries the label `worker`.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from acegraph.graph.server.endpoints import Endpoint
from acegraph.graph.server.service import BUCKETS, Service
from acegraph.state.errors import AceError
from acegraph.state.ledger.lookups import ledger_counts
from acegraph.state.maintenance.people.review_queue import waiting
from acegraph.state.maintenance.people.users import User

_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


async def live(service: Service, request: Request, user: User) -> Response:
    """Say that the process answers."""
    return JSONResponse({"status": "live", "version": version("acegraph")})


async def ready(service: Service, request: Request, user: User) -> Response:
    """Say whether the database is there, has the present schema, and can be written to."""
    try:
        await asyncio.to_thread(lambda: service.playbook.database.check_ready())
    except AceError as error:
        body = {"status": "not ready", "reason": str(error), "version": version("acegraph")}
        return JSONResponse(body, 503, {"Retry-After": "1"})
    return JSONResponse({"status": "ready", "version": version("acegraph")})


async def metrics(service: Service, request: Request, user: User) -> Response:
    """The metrics in the text format of Prometheus."""
    lines = await asyncio.to_thread(lambda: "\n".join(_lines(service)))
    return PlainTextResponse(lines + "\n", media_type=_TYPE)


def _lines(service: Service) -> Iterator[str]:
    counts = ledger_counts(service.playbook.database)
    yield from _family(
        "decisions", "gauge", "Decisions in the ledger.", "verdict", counts.decisions
    )
    yield from _family("labels", "gauge", "Labelled cases in the ledger.", "label", counts.labels)
    yield from _family("bullets", "gauge", "Bullets of the playbook.", "status", counts.bullets)
    reviews = Counter(entry.kind for entry in waiting(service.playbook))
    yield from _family("reviews_waiting", "gauge", "What waits for a person.", "kind", reviews)
    for name, text, value in (
        ("undecided", "Transactions that wait for a decision.", counts.undecided),
        ("labels_missing", "Decisions without a label.", counts.labels_missing),
    ):
        yield from _family(name, "gauge", text, "", {"": value})
    yield from _of_this_process(service)


def _of_this_process(service: Service) -> Iterator[str]:
    meters, worker = service.meters, f'worker="{os.getpid()}"'
    text = "Decisions given by this process since it started."
    yield from _family("answers_total", "counter", text, "decision", meters.answers, worker)
    text = "Seconds that the bodies of the nodes took."
    text = "Calls, tokens and costs of language models."
    yield from _family("model_total", "counter", text, "what", meters.model, worker)
    database = service.playbook.database
    waits = {"writes": database.lock_waits, "seconds": round(database.lock_wait_seconds, 6)}
    text = "Writes that locked the ledger, and the seconds they waited for that."
    yield from _family("lock_wait_total", "counter", text, "what", waits, worker)
    yield "# HELP acegraph_request_seconds Time until a request is answered."
    yield "# TYPE acegraph_request_seconds histogram"
    for path in sorted(meters.seconds):
        of = f'{worker},path="{path}"'
        total = sum(number for (name, _), number in meters.requests.items() if name == path)
        for bound in BUCKETS:
            number = meters.buckets[path, bound]
            yield f'acegraph_request_seconds_bucket{{{of},le="{bound}"}} {number}'
        yield f'acegraph_request_seconds_bucket{{{of},le="+Inf"}} {total}'
        yield f"acegraph_request_seconds_sum{{{of}}} {meters.seconds[path]:.6f}"
        yield f"acegraph_request_seconds_count{{{of}}} {total}"
    yield "# HELP acegraph_requests_total Requests by path and status."
    yield "# TYPE acegraph_requests_total counter"
    for (path, status), number in sorted(meters.requests.items()):
        yield f'acegraph_requests_total{{{worker},path="{path}",status="{status}"}} {number}'


def _family(
    name: str,
    kind: str,
    text: str,
    label: str,
    values: Counter[str] | dict[str, int] | dict[str, float],
    more: str = "",
) -> Iterator[str]:
    yield f"# HELP acegraph_{name} {text}"
    yield f"# TYPE acegraph_{name} {kind}"
    for key, value in sorted(values.items()):
        labels = ",".join(filter(None, [more, f'{label}="{key}"' if label else ""]))
        yield f"acegraph_{name}{{{labels}}} {value}" if labels else f"acegraph_{name} {value}"


ENDPOINTS: Final = (
    Endpoint("GET", "/live", None, live, "The process answers.", answer={"status": "live"}),
    Endpoint(
        "GET",
        "/ready",
        None,
        ready,
        "The database is there, has the present schema, and can be written to; else 503.",
        answer={"status": "ready", "version": version("acegraph")},
    ),
    Endpoint(
        "GET",
        "/metrics",
        "viewer",
        metrics,
        "Metrics in the text format of Prometheus.",
        answer='acegraph_decisions{verdict="DECLINE"} 12',
    ),
)
