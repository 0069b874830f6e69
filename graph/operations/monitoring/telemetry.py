"""Send spans and metrics to a collector, where `OTEL_EXPORTER_OTLP_ENDPOINT` names one."""

import logging
import os
from typing import Final

VARIABLE: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
logger = logging.getLogger(__name__)


def start_telemetry() -> None:
    """Set up OpenTelemetry's SDK for this process; its own variables hold all settings."""
    if not os.environ.get(VARIABLE):
        return
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        logger.warning("%s is set, but not used: pip install 'acegraph[otel]'", VARIABLE)
        return
    os.environ.setdefault("OTEL_SERVICE_NAME", "acegraph")
    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(tracers)
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    metrics.set_meter_provider(MeterProvider([reader]))
