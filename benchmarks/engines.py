"""One playbook on several engines: the same counts and checksums for five million rows.

    python benchmarks/engines.py            # DuckDB, Polars, PostgreSQL, and Spark if it is there

Spark wants Java (Debian: default-jre-headless) and `pip install pyspark`.
"""

import importlib.util
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import duckdb
import ibis
import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from common import table as printed
from postgres import running_server
from spark import spark_session
from tables import playbook, write_rows

from acegraph.graph import Ruleset, score_files
from acegraph.graph.tables.engines.addresses import check_sample
from acegraph.graph.tables.engines.expression import as_expression

ROWS = 5_000_000
Sums = tuple[int, ...]


@contextmanager
def connected(engine: str, file: Path) -> Iterator[tuple[Any, Any]]:
    """An engine, and the file as a table on it."""
    if engine == "postgres":
        with running_server() as server:
            backend = ibis.connect(server.base_url.replace("postgresql://", "postgres://"))
            backend.create_table("many", schema=ibis.schema(pq.read_schema(file)))
            with (
                psycopg.connect(server.base_url) as connection,
                connection.cursor() as cursor,
                cursor.copy("COPY many FROM STDIN (FORMAT csv)") as copy,
            ):
                for batch in pq.ParquetFile(file).iter_batches():
                    sink = pa.BufferOutputStream()
                    pyarrow.csv.write_csv(
                        batch, sink, pyarrow.csv.WriteOptions(include_header=False)
                    )
                    copy.write(sink.getvalue().to_pybytes())
            yield backend, backend.table("many")
            backend.disconnect()
        return
    backend = (
        ibis.pyspark.connect(spark_session())
        if engine == "spark"
        else getattr(ibis, engine).connect()
    )
    yield backend, backend.read_parquet(file)
    backend.disconnect()


def sums_on(engine: str, rules: Ruleset, file: Path) -> Sums:
    """Rows, declined rows, and the sum of the risks in ten-thousandths."""
    with connected(engine, file) as (_, rows):
        decided = as_expression(rules, rows)
        check_sample(rules, rows, decided)
        found = decided.aggregate(
            rows=decided.count(),
            declined=(decided.decision == "DECLINE").sum(),
            risk=(decided.risk * 10_000).round().cast("int64").sum(),
        )
        return tuple(int(value) for value in found.to_pyarrow().to_pylist()[0].values())


def sums_here(rules: Ruleset, file: Path) -> Sums:
    """The same of `score`."""
    out = file.with_name("ours.parquet")
    score_files(rules, file, out)
    query = (
        "SELECT count(*), count(*) FILTER (decision = 'DECLINE'), "
        f"sum(round(risk * 10000)::BIGINT) FROM '{out}'"
    )
    return tuple(map(int, duckdb.sql(query).fetchall()[0]))


def main() -> None:
    """Print what each engine counts, and end with an error if they differ."""
    engines = ["duckdb", "polars", "postgres"]
    if importlib.util.find_spec("pyspark"):
        engines.append("spark")
    found: dict[str, Sums] = {}
    lines = [["", "rows", "declined", "risk", "seconds"]]
    with tempfile.TemporaryDirectory() as name:
        file, rules = Path(name) / "many.parquet", Ruleset.of(playbook())
        write_rows(file, ROWS)
        for engine in ("score", *engines):
            began = time.perf_counter()
            found[engine] = (
                sums_here(rules, file) if engine == "score" else sums_on(engine, rules, file)
            )
            seconds = f"{time.perf_counter() - began:.1f}"
            lines.append([engine, *(f"{value:,}" for value in found[engine]), seconds])
    printed("One playbook on several engines", lines)
    sys.exit(f"they differ: {found}" if len(set(found.values())) > 1 else 0)


if __name__ == "__main__":
    main()
