"""Time and calls with language models, beside a bare loop of LangGraph and ChatOpenAI.

A server in a process of its own speaks the protocol and answers after a delay. The pipeline decides
a stream in mode `online`. The bare loop makes the same calls with the same clients in a graph that
does nothing else: no playbook, no selection, no ledger.

    python benchmarks/language_models.py                    # 128 cases, 32 at once, 1 s an answer
    python benchmarks/language_models.py --mistakes 0.1     # one wrong decision in ten
"""

import argparse
import asyncio
import base64
import json
import multiprocessing
import os
import random
import re
import time
import zlib
from array import array
from collections import Counter
from typing import Any

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from acegraph.graph import TrainingPipeline, generate_transactions
from acegraph.state import Transaction
from acegraph.state.run.model_forms import DecisionForm, ReflectionForm
from acegraph.state.values.verdict import other

_FENCED = re.compile(r"^DATA ([0-9a-f]{16})\n(.*?)\nDATA \1$", re.DOTALL | re.MULTILINE)
_DIMENSIONS = 1536


class Server:
    """Answers chats with the decision set for each text, embeddings by the words of the text."""

    def __init__(self, delay: float, decisions: dict[str, str]) -> None:
        self.delay, self.decisions = delay, decisions
        self.counts: Counter[str] = Counter()

    async def serve(self, ready: Any) -> None:
        """Listen on a free port of loopback, and send its number."""
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = re.search(r"content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                answer = json.dumps(await self._answer(head.split(" ", 2)[1], body)).encode()
                fields = f"content-type: application/json\r\ncontent-length: {len(answer)}"
                writer.write(f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n".encode() + answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, path: str, body: bytes) -> Any:
        if path.endswith("/counts"):
            counts, self.counts = self.counts, Counter()
            return counts
        given = json.loads(body)
        await asyncio.sleep(self.delay)
        if path.endswith("/embeddings"):
            self.counts["embeddings"] += 1
            return _vectors(given)
        form, filled = self._filled(given)
        self.counts[form] += 1
        return _completion(given, form, filled)

    def _filled(self, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        prompt = "\n".join(str(message["content"]) for message in given["messages"])
        texts = [match[2] for match in _FENCED.finditer(prompt)] or [prompt]
        if "ReflectionForm" in json.dumps([given.get("tools"), given.get("response_format")]):
            about = next((t for t in texts if t in self.decisions), prompt)
            name = f"case {zlib.crc32(about.encode()):08x}"
            words = " ".join(random.Random(name).choices("abcdefghijklmnopqrstuvwxyz", k=12))
            bullet = f"Look at {words} {name}"
            return "ReflectionForm", {
                "new_bullet": bullet,
                "problem_types": ["pattern"],
                "confidence": 0.6,
                "condition": None,
            }
        decision = next((self.decisions[t] for t in texts if t in self.decisions), "APPROVE")
        return "DecisionForm", {
            "reasons": ["as told"],
            "bullets_used": [],
            "risk_score": 0.9 if decision == "DECLINE" else 0.1,
            "decision": decision,
        }


def _completion(given: dict[str, Any], form: str, filled: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(filled)
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if given.get("tools"):
        call = {"name": form, "arguments": text}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": call}],
        }
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": given["model"],
        "usage": {"prompt_tokens": 200, "completion_tokens": 40, "total_tokens": 240},
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }


def _vectors(given: dict[str, Any]) -> dict[str, Any]:
    data = []
    for index, text in enumerate(given["input"]):
        vector = array("f", [0.01]) * _DIMENSIONS
        for word in text.lower().split():
            vector[zlib.crc32(word.encode()) % _DIMENSIONS] += 1.0
        packed = base64.b64encode(vector.tobytes()).decode()
        data.append({"object": "embedding", "index": index, "embedding": packed})
    usage = {"prompt_tokens": 20, "total_tokens": 20}
    return {"object": "list", "model": given["model"], "data": data, "usage": usage}


def _serve(delay: float, decisions: dict[str, str], ready: Any) -> None:
    asyncio.run(Server(delay, decisions).serve(ready))


def _counts(url: str) -> Counter[str]:
    import urllib.request

    with urllib.request.urlopen(f"{url}/counts") as answer:  # loopback
        return Counter(json.load(answer))


class Bare(TypedDict, total=False):
    """The state of the bare loop."""

    text: str
    wrong: bool
    embeds: bool
    lesson: str


def bare_graph(client: Any) -> Any:
    """A graph that makes the same calls and does nothing else: embed, decide, reflect, embed."""
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    given = {"http_async_client": client}
    agent = ChatOpenAI(model="gpt-3.5-turbo", temperature=0, **given).with_structured_output(
        DecisionForm, method="function_calling", include_raw=True
    )
    reflector = ChatOpenAI(model="gpt-4o-mini", temperature=0, **given).with_structured_output(
        ReflectionForm, method="json_schema", include_raw=True
    )
    embedder = OpenAIEmbeddings(
        model="text-embedding-3-small", check_embedding_ctx_length=False, **given
    )

    async def select(state: Bare) -> Bare:
        if state["embeds"]:
            await embedder.aembed_documents([state["text"]])
        return {}

    async def decide(state: Bare) -> Bare:
        await agent.ainvoke(f"Decide on this transaction:\n{state['text']}")
        return {}

    async def reflect(state: Bare) -> Bare:
        answer = await reflector.ainvoke(f"What is to be learned from this?\n{state['text']}")
        return {"lesson": answer["parsed"].new_bullet}

    async def keep(state: Bare) -> Bare:
        await embedder.aembed_documents([state["lesson"]])
        return {}

    builder = StateGraph(Bare)
    for name, node in {
        "select": select,
        "decide": decide,
        "reflect": reflect,
        "keep": keep,
    }.items():
        builder.add_node(name, node)
    builder.add_edge(START, "select")
    builder.add_edge("select", "decide")
    builder.add_conditional_edges("decide", lambda state: "reflect" if state["wrong"] else END)
    builder.add_edge("reflect", "keep")
    builder.add_edge("keep", END)
    return builder.compile()


def bare_loop(cases: list[tuple[str, bool]], at_once: int) -> None:
    """Run the bare graph over the cases, so many of them at once."""
    import openai

    async def everything() -> None:
        places = asyncio.Semaphore(at_once)
        async with openai.DefaultAsyncHttpxClient() as client:
            graph = bare_graph(client)

            async def run(number: int, text: str, wrong: bool) -> None:
                async with places:  # the first cases find no bullet, so ours embeds nothing
                    state = {"text": text, "wrong": wrong, "embeds": number >= at_once}
                    await graph.ainvoke(state)

            await asyncio.gather(*(run(n, text, wrong) for n, (text, wrong) in enumerate(cases)))

    asyncio.run(everything())


def main() -> None:
    """Run both and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=128)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--delay", type=float, default=1.0, help="seconds an answer takes")
    parser.add_argument("--mistakes", type=float, default=0.5, help="share of wrong decisions")
    chosen = parser.parse_args()
    examples = generate_transactions(chosen.cases, seed=7)
    rng = random.Random(7)
    wrong = [rng.random() < chosen.mistakes for _ in examples]
    texts = [Transaction.of(e.query).text for e in examples]
    answers = {
        t: other(e.answer) if w else e.answer
        for t, e, w in zip(texts, examples, wrong, strict=True)
    }
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(chosen.delay, answers, there), daemon=True
    )
    server.start()
    url = f"http://127.0.0.1:{here.recv()}/v1"
    os.environ |= {"OPENAI_API_KEY": "benchmark", "OPENAI_BASE_URL": url, "NO_PROXY": "127.0.0.1"}
    os.environ |= {
        "ACE_AGENT_MODEL": "gpt-3.5-turbo",
        "ACE_REFLECTOR_MODEL": "gpt-4o-mini",
        "ACE_EMBEDDING_MODEL": "text-embedding-3-small",
    }
    TrainingPipeline().evaluate(examples[:1], "vanilla")  # the first call imports and builds
    bare_loop([(texts[0], True)], 1)
    _counts(url)
    for _ in range(2):
        figures = _measure(chosen, examples, list(zip(texts, wrong, strict=True)), url)
    print(json.dumps(figures, indent=2))
    server.terminate()


def _measure(
    chosen: Any, examples: list[Any], cases: list[tuple[str, bool]], url: str
) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    pipeline = TrainingPipeline(concurrency=chosen.concurrency)
    for name, run in (
        ("acegraph", lambda: pipeline.train_online(examples)),
        ("bare", lambda: bare_loop(cases, chosen.concurrency)),
    ):
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        counts = _counts(url)
        ideal = counts.total() * chosen.delay / chosen.concurrency
        figures[name] = {
            "calls": dict(counts),
            "seconds": round(wall, 2),
            "ideal_seconds": round(ideal, 2),
            "times_ideal": round(wall / ideal, 3) if ideal else None,
            "cpu_ms_per_decision": round(1000 * cpu / len(cases), 2),
        }
    ours, theirs = (figures[n]["cpu_ms_per_decision"] for n in ("acegraph", "bare"))
    return {**vars(chosen), **figures, "cpu_ratio": round(ours / theirs, 3)}


if __name__ == "__main__":
    main()
