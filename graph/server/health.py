"""Whether the service lives, whether it can work, and its metrics for Prometheus.

Decisions, labels and bullets are counted in the ledger, so that all workers tell the same. What
only a process knows carries the label `worker`.
"""

from __future__ import annotations

import collections
from importlib.metadata import version
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import JSONResponse, Response

from acegraph.graph.server.endpoints import Call, Endpoint
from acegraph.graph.server.service import Service
from acegraph.state.errors import AceError
from acegraph.state.ledger.lookups import ledger_counts
from acegraph.state.maintenance.people.review_queue import waiting


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
    text = generate_latest(_of_the_ledger(call.service)) + generate_latest(
        call.service.meters.registry
    )
    return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)


def _of_the_ledger(service: Service) -> CollectorRegistry:
    """What the ledger holds at this moment."""
    counts, found = ledger_counts(service.playbook.database), CollectorRegistry()
    for name, text, label, values in (
        ("decisions", "Decisions in the ledger.", "verdict", counts.decisions),
        ("labels", "Labelled cases in the ledger.", "label", counts.labels),
        ("bullets", "Bullets of the playbook.", "status", counts.bullets),
        ("reviews_waiting", "What waits for a person.", "kind",
         collections.Counter(entry.kind for entry in waiting(service.playbook))),
    ):  # fmt: skip
        gauge = Gauge(name, text, (label,), namespace="acegraph", registry=found)
        for key in sorted(values):
            gauge.labels(key).set(values[key])
    for name, text, value in (
        ("undecided", "Transactions that wait for a decision.", counts.undecided),
        ("labels_missing", "Decisions without a label.", counts.labels_missing),
    ):
        Gauge(name, text, namespace="acegraph", registry=found).set(value)
    return found


ENDPOINTS: Final = (
    Endpoint("GET", "/live", None, live),
    Endpoint("GET", "/ready", None, ready),
    Endpoint("GET", "/metrics", "viewer", metrics),
)
