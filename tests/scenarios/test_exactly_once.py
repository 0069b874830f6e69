"""Once in effect, whatever is retried, resumed, delivered again or killed."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import RetryPolicy
from ledger_cases import NODE, counters, record
from ledger_worker import counted, live, run
from postgres import Server, running_server
from processes import PROCESSES
from service_soak import Plan, soak

from acegraph.graph import create_ace_graph
from acegraph.state import BulletPlaybook, Label, PlaybookError, verify
from acegraph.state.ledger.ledger import DecisionAndLabel
from acegraph.state.values.decision import Recorded


@pytest.mark.slow
def test_threads_and_processes_that_send_everything_three_times_count_once(
    lasting_url: str,
) -> None:
    processes, threads, each, sent = 4, 8, 6, 12
    with BulletPlaybook(lasting_url) as playbook:
        playbook.add_bullet("DECLINE when amount >= 500", NODE)
        started = [
            PROCESSES.Process(target=run, args=(lasting_url, n, 0, sent, 3))
            for n in range(processes)
        ]
        for process in started:
            process.start()

        def work(thread: int) -> None:
            for i in range(each * 3):
                given = record(f"t{thread}-{i // 3}", 1, amount=900 + i // 3)
                playbook.record(given, Label("DECLINE"))

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))
        for process in started:
            process.join(timeout=120)
        assert [process.exitcode for process in started] == [0] * processes
        moves = [counted(n, i) for n in range(processes) for i in range(sent)]
        helpful, harmful, selected = (sum(column) for column in zip(*moves, strict=True))
        ours = threads * each
        assert counters(playbook, "b1") == (helpful + ours, harmful, selected + ours)
        assert verify(playbook) == []


class LosesTheAnswer(BulletPlaybook):
    """The write arrives, the answer does not: what a broken connection looks like."""

    failures = 1

    def record_many(self, given: Sequence[DecisionAndLabel]) -> list[Recorded | PlaybookError]:
        found = super().record_many(given)
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the answer was lost")
        return found


def test_a_node_that_a_retry_policy_runs_twice_counts_once(url: str | None) -> None:
    with LosesTheAnswer(url) as playbook:
        playbook.add_bullet("DECLINE when amount >= 500", NODE)
        builder = create_ace_graph(playbook=playbook, agent=lambda given: "DECLINE")
        builder.nodes["judge"].retry_policy = RetryPolicy(
            initial_interval=0.01, retry_on=ConnectionError
        )
        graph = builder.compile()
        given = {"transaction": {"amount": 900}, "ground_truth": "DECLINE", "decision_id": "d1"}
        assert graph.invoke(given)["verdict"] == "right"
        assert playbook.failures == 0
        assert counters(playbook, "b1") == (1, 0, 1)
        assert verify(playbook) == []


def test_a_run_resumed_after_a_lost_checkpoint_counts_once(url: str | None) -> None:
    with LosesTheAnswer(url) as playbook:
        playbook.add_bullet("DECLINE when amount >= 500", NODE)
        graph = create_ace_graph(playbook=playbook, agent=lambda given: "DECLINE").compile(
            checkpointer=InMemorySaver()
        )
        config: Any = {"configurable": {"thread_id": "1"}}
        given = {"transaction": {"amount": 900}, "ground_truth": "APPROVE"}
        with pytest.raises(ConnectionError):
            graph.invoke(given, config)
        assert graph.get_state(config).next == ("judge",)
        result = graph.invoke(None, config)
        assert (result["verdict"], counters(playbook, "b1")) == ("wrong", (0, 1, 1))
        assert verify(playbook) == []


def test_a_crash_between_the_write_and_its_checkpoint_counts_once(
    lasting_url: str, tmp_path: Path
) -> None:
    with BulletPlaybook(lasting_url) as playbook:
        playbook.add_bullet("DECLINE when amount >= 500", NODE)
        for is_first, code in ((True, 9), (False, 0)):
            given = (lasting_url, str(tmp_path / "saver.db"), is_first)
            process = PROCESSES.Process(target=live, args=given)
            process.start()
            process.join(timeout=120)
            assert process.exitcode == code
        assert counters(playbook, "b1") == (1, 0, 1)
        assert verify(playbook) == []


def test_one_mistake_delivered_by_many_at_once_is_learned_from_once(url: str | None) -> None:
    with BulletPlaybook(url) as playbook:
        told: list[str] = []

        def reflect(given: dict[str, Any]) -> dict[str, Any]:
            told.append(given["query"])
            return {"new_bullet": f"Lesson number {len(told)}: look twice at night."}

        graph = create_ace_graph(
            playbook=playbook, agent=lambda given: "DECLINE", reflector=reflect
        ).compile()
        given = {"transaction": {"amount": 9}, "ground_truth": "APPROVE", "decision_id": "same"}
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(lambda _: graph.invoke(given), range(6)))
        assert len(playbook) == 1
        assert {result["new_bullet"] for result in found} == {"b1"}
        assert verify(playbook) == []


@pytest.mark.slow
def test_two_services_that_are_killed_and_cut_off_lose_nothing_and_count_nothing_twice() -> None:
    with running_server() as server:
        if server.handle is None:
            pytest.skip("somebody else's server is not ours to stop")
        found = soak(server, Plan(decisions=400, workers=3, supervisors=1, stops=1, cuts=30))
    assert found["faults"] == []
    assert found["acknowledged"] >= 400


def test_a_deadlock_with_somebody_elses_transaction_is_tried_again(postgres: Server) -> None:
    url = postgres.url()
    with BulletPlaybook(url) as playbook:
        playbook.add_bullet("DECLINE when amount >= 500", NODE)
        schema = url.rpartition("%3D")[2]
        engine = sa.create_engine(postgres.base_url.replace("postgresql:", "postgresql+psycopg:"))
        with ThreadPoolExecutor(4) as pool, engine.connect() as rival:
            # It must be our transaction that is given up, not the rival's.
            rival.exec_driver_sql("SET deadlock_timeout = '30s'")
            rival.commit()
            rival.exec_driver_sql(f"UPDATE {schema}.bullets SET weight = 1 WHERE number = 1")
            ours = pool.submit(playbook.record, record("d1", 1), Label("DECLINE"))
            _wait_until_blocked(engine)
            # Others of this process write as soon as it is given up: that is no reason to fail.
            others = [
                pool.submit(playbook.record, record(f"d{i}", 1), Label("DECLINE"))
                for i in range(2, 5)
            ]
            rival.exec_driver_sql(f"SELECT * FROM {schema}.clock FOR UPDATE")
            rival.rollback()
            assert all(each.result(timeout=60).is_new_decision for each in (ours, *others))
        engine.dispose()
        assert counters(playbook, "b1") == (4, 0, 4)
        assert verify(playbook) == []


def _wait_until_blocked(engine: sa.Engine) -> None:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as watcher:
        while not watcher.exec_driver_sql(waiting).scalar():
            pass
