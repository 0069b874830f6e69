"""Telemetry: what the SDK of OpenTelemetry sees of decisions, by the graph and in batches."""

import json
import subprocess
import sys

import pytest

CODE = """
import json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
spans, tracers = InMemorySpanExporter(), TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(tracers)
from acegraph import AceContext, BulletPlaybook, create_ace_graph
from acegraph.graph.operations.decide import decide_many
playbook = BulletPlaybook()
playbook.add_bullet("DECLINE when amount >= 900", "fraud_detection")
given = [{"transaction": {"amount": 4711.5, "memo": "canary"}, "decision_id": i} for i in "abc"]
create_ace_graph(playbook=playbook).compile().invoke(given[0], context=AceContext(mode="online"))
decide_many(playbook, given[1:])
ended = spans.get_finished_spans()
told = [[s.name, dict(s.attributes), s.end_time - s.start_time] for s in ended]
print(json.dumps(told))
"""


@pytest.mark.slow
def test_spans_name_decision_mode_and_version_and_no_transaction() -> None:
    """In a process of its own: a provider is set once and for all."""
    words = [sys.executable, "-c", CODE]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "canary" not in printed
    assert "4711" not in printed
    spans = json.loads(printed)
    by_name = {(name, said["decision_id"]): (said, lasted) for name, said, lasted in spans}
    nodes = {("ace.selector", "a"), ("ace.agent", "a"), ("ace.judge", "a")}
    assert by_name.keys() == nodes | {("ace.decision", "b"), ("ace.decision", "c")}
    modes = {said["decision_id"]: said["ace_mode"] for said, _ in by_name.values()}
    assert modes == {"a": "online", "b": "offline_online", "c": "offline_online"}
    for said, lasted in by_name.values():
        assert said["playbook_version"] == 1
        assert lasted > 0
    assert by_name["ace.decision", "b"][0]["decision"] == "DECLINE"
