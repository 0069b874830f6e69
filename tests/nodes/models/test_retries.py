"""What is asked again, when, and when it ends."""

import asyncio
import time
from collections.abc import Callable
from contextlib import closing, suppress
from threading import Event
from typing import Any

import pytest
from model_samples import APPROVAL, DENIAL, SUSPICIOUS
from openai_server import OpenAIServer, dripped, failed, filled, held, waiting_for

from acegraph.nodes import SimpleFraudAgent
from acegraph.state import InvalidSettings, ModelUnavailable


def test_the_pause_a_server_asks_for_is_kept(server: OpenAIServer) -> None:
    server.on_all(waiting_for(failed(429, "slow down"), "0.4"), filled(**DENIAL))
    begun = time.monotonic()
    assert SimpleFraudAgent().analyze(SUSPICIOUS) == "DECLINE"
    assert time.monotonic() - begun >= 0.4
    assert len(server.chats) == 2


def test_a_pause_of_an_hour_is_not_begun(server: OpenAIServer) -> None:
    server.on_all(waiting_for(failed(429, "slow down"), "3600"))
    with pytest.raises(ModelUnavailable, match="429"):
        SimpleFraudAgent().decide(SUSPICIOUS)
    assert len(server.chats) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_waiting_does_not_change_is_not_tried_again(server: OpenAIServer, status: int) -> None:
    server.on_all(failed(status, "no"))
    with pytest.raises(ModelUnavailable):
        SimpleFraudAgent().decide(SUSPICIOUS)
    assert len(server.chats) == (2 if status in (400, 422) else 1)  # once in plain JSON


def test_a_question_that_hangs_is_asked_once_more_in_its_time(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_TIMEOUT", "0.5")
    release = Event()
    server.on_all(held(release, filled(**APPROVAL)))
    begun = time.monotonic()
    with pytest.raises(ModelUnavailable, match="Timeout"):
        SimpleFraudAgent().decide(SUSPICIOUS)
    assert time.monotonic() - begun < 1
    release.set()
    assert len(server.chats) <= 2


@pytest.mark.parametrize(
    "decide",
    [
        lambda: SimpleFraudAgent().decide(SUSPICIOUS),
        lambda: asyncio.run(SimpleFraudAgent().adecide(SUSPICIOUS)),
    ],
    ids=["decide", "adecide"],
)
def test_a_server_that_drips_is_given_up_in_time(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch, decide: Callable[[], Any]
) -> None:
    monkeypatch.setenv("ACE_TIMEOUT", "0.5")
    server.on_all(dripped(filled(**APPROVAL), 0.05))
    with pytest.raises(ModelUnavailable, match="Timeout"):
        decide()


async def test_a_server_that_never_ends_its_headers_is_given_up_in_time(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = asyncio.Event()

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(ConnectionError):
            while True:
                writer.write(b"HTTP/1.1 102 Processing\r\n\r\n")
                await writer.drain()
                await asyncio.sleep(0.05)
        left.set()

    monkeypatch.setenv("ACE_TIMEOUT", "0.2")
    async with await asyncio.start_server(drip, "127.0.0.1") as dripping, asyncio.timeout(10):
        port = dripping.sockets[0].getsockname()[1]
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
        with pytest.raises(ModelUnavailable, match="Timeout"):
            await SimpleFraudAgent().adecide(SUSPICIOUS)
        await left.wait()


def test_a_setting_that_is_no_number_is_one_line(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACE_TIMEOUT", "soon")
    with pytest.raises(InvalidSettings, match=r"ACE_TIMEOUT is a number above 0 .*not 'soon'"):
        SimpleFraudAgent().decide(SUSPICIOUS)
