"""How long another user waits while the service is attacked, and how much memory it takes.

`python benchmarks/attacked_service.py` starts `acegraph serve` with 1,024 open files at most, and
attacks it in turn: silent connections, wrong tokens, bodies of empty items, one deep item, long
lists of tiny payments, half-sent bodies. The attackers are processes that stand back (nice) before
the service, since they share its machine. Meanwhile another user asks for one decision after the
other. It prints the longest wait, how many had no right answer, and the peak of memory; it ends
with 1 where a wait was over a second, an answer wrong, or the memory over 600 MB.
"""

import json
import multiprocessing as mp
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path

import httpx
import psutil

from acegraph.state import BulletPlaybook
from acegraph.state.maintenance.people.users import add_user

SECONDS = 20
LONGEST = 1.0
MOST_MEMORY = 600_000_000
PAYMENT = {"amount": 2500, "hour": 3, "vpn": True, "account_age_days": 2}
OPEN_FILES = 1_024


@dataclass
class Target:
    """A service that is attacked."""

    address: str
    tokens: dict[str, str]
    pid: int
    stop: Event = field(default_factory=mp.Event)

    def headers(self, name: str) -> dict[str, str]:
        """What a user sends with every request."""
        return {"Authorization": f"Bearer {self.tokens[name]}"}

    def connect(self) -> socket.socket:
        """A connection that has said nothing."""
        host, _, port = self.address.removeprefix("http://").partition(":")
        return socket.create_connection((host, int(port)), timeout=5)

    def memory(self) -> int:
        """What all its processes take."""
        process = psutil.Process(self.pid)
        family = [process, *process.children(recursive=True)]
        return sum(one.memory_info().rss for one in family)


@contextmanager
def started(folder: Path) -> Iterator[Target]:
    """A service with a user, an attacker who has a token, and few open files."""
    url = f"sqlite:///{folder}/ace.db"
    with BulletPlaybook(url) as book:
        book.add_bullet("DECLINE when amount >= 900", "fraud_detection")
        names = ("user", "attacker")
        tokens = {n: f"{n}.{add_user(book.database, n, 'administrator')}" for n in names}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).parent / "acegraph"), "--playbook", url]
    command += ["serve", "--port", str(port)]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))

    log = (folder / "log").open("w")
    process = subprocess.Popen(command, stderr=log, stdout=log, preexec_fn=limit)
    try:
        target = Target(f"http://127.0.0.1:{port}", tokens, process.pid)
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            try:
                if httpx.get(f"{target.address}/ready").status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.1)
        yield target
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def silent_connections(target: Target) -> None:
    """1,100 connections with half a head; every five seconds those are opened anew that were
    closed.
    """
    held: list[socket.socket | None] = [None] * 1_100
    while not target.stop.is_set():
        for number, one in enumerate(held):
            try:
                if one is None:
                    held[number] = one = target.connect()
                    one.setblocking(False)
                    one.send(b"GET /live HTTP/1.1\r\nHost: x\r\n")
                if not one.recv(1):
                    raise ConnectionError
            except BlockingIOError:
                continue
            except OSError:
                held[number] = None
        target.stop.wait(5)


def new_connections(target: Target) -> None:
    """One connection after the other, as fast as they can be made."""
    held: list[socket.socket] = []
    while not target.stop.is_set():
        try:
            held.append(target.connect())
        except OSError:
            continue
        if len(held) > 1_100:
            held.pop(0).close()


def wrong_tokens(target: Target) -> None:
    """40 threads that send tokens which are nobody's, for names that are somebody's."""
    head = f"GET /playbook HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer user.{'x' * 43}\r\n\r\n"

    def send() -> None:
        while not target.stop.is_set():
            try:
                with target.connect() as one:
                    while not target.stop.is_set() and one.send(head.encode()):
                        if not one.recv(10_000):
                            break
            except OSError:
                continue

    in_threads(send, 40)


def posting(body: bytes, threads: int, path: str = "/decisions") -> Callable[[Target], None]:
    """An attack by a user with a token who sends the same body again and again."""

    def attack(target: Target) -> None:
        headers = {**target.headers("attacker"), "Content-Type": "application/json"}

        def send() -> None:
            while not target.stop.is_set():
                try:
                    httpx.post(f"{target.address}{path}", content=body, headers=headers, timeout=30)
                except httpx.HTTPError:
                    continue

        in_threads(send, threads)

    return attack


def half_bodies(target: Target) -> None:
    """300 requests whose bodies come a byte a second."""
    token = target.headers("attacker")["Authorization"]
    head = f"POST /decisions HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 3000000\r\n\r\n"
    held = [target.connect() for _ in range(300)]
    for one in held:
        one.send(head.encode())
    while not target.stop.is_set():
        for one in held:
            try:
                one.send(b"[")
            except OSError:
                continue
        target.stop.wait(1)
    for one in held:
        one.close()


def stand_back(attack: Callable[[Target], None], target: Target) -> None:
    """Attack with what the service leaves of the machine."""
    os.nice(10)
    attack(target)


def in_threads(send: Callable[[], None], count: int) -> None:
    """Run the same in several threads until all have ended."""
    threads = [threading.Thread(target=send) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


EMPTY = b"[" + b"{}," * 4_999_999 + b"{}]"
EMPTY_SHORT = b"[" + b"{}," * 1_300_000 + b"{}]"
DEEP = b'{"transaction": {"a": [' + b"[]," * 1_300_000 + b"[]]}}"
LISTS = b"[" + b",".join([b'{"transaction": {"a": [' + b"[]," * 64_000 + b"[]]}}"] * 20) + b"]"
DIGITS = b'{"transaction": {"a": ' + b"9" * 3_900_000 + b"}}"
TINY = json.dumps([{"transaction": {"amount": 5}}] * 1_000).encode()
WIDE = json.dumps({"transaction": {f"c{n}": n for n in range(200_000)}}).encode()
LABELS = json.dumps([{"decision_id": f"x{n}", "label": "fraud"} for n in range(1_000)]).encode()
ATTACKS: dict[str, Callable[[Target], None]] = {
    "nothing": lambda target: None,
    "1,100 silent connections": silent_connections,
    "new connections without end": new_connections,
    "40 threads of wrong tokens": wrong_tokens,
    "15 MB of empty items, 4 threads": posting(EMPTY, 4),
    "4 MB of empty items, 4 threads": posting(EMPTY_SHORT, 4),
    "4 MB of lists in one item, 4 threads": posting(DEEP, 4),
    "4 MB of lists in 20 items, 4 threads": posting(LISTS, 4),
    "a number of 4 MB, 4 threads": posting(DIGITS, 4),
    "an item of 200,000 fields, 4 threads": posting(WIDE, 4),
    "1,000 payments a request, 2 threads": posting(TINY, 2),
    "1,000 unknown labels a request, 2 threads": posting(LABELS, 2, "/labels"),
    "300 bodies that do not come": half_bodies,
}


def attacked(target: Target, attack: Callable[[Target], None]) -> tuple[float, int, int, int]:
    """The longest wait of another user, the requests without a right answer, all, and memory."""
    target.stop.clear()
    attacking = mp.get_context("fork").Process(target=stand_back, args=[attack, target])
    attacking.start()
    began, longest, wrong, asked, memory = time.monotonic(), 0.0, 0, 0, 0
    while time.monotonic() - began < SECONDS:
        body = {"transaction": PAYMENT, "decision_id": f"{began}-{asked}"}
        at = time.monotonic()
        try:
            answer = httpx.post(
                f"{target.address}/decisions", json=body, headers=target.headers("user"), timeout=60
            )
            wrong += answer.status_code != 200 or answer.json()["decision"] != "DECLINE"
        except httpx.HTTPError:
            wrong += 1
        longest, asked = max(longest, time.monotonic() - at), asked + 1
        memory = max(memory, target.memory())
        time.sleep(0.1)
    target.stop.set()
    attacking.join()
    return longest, wrong, asked, memory


def main(names: list[str]) -> int:
    """Attack, and print how another user fared."""
    failed = 0
    print(f"{'attack':45} {'longest':>8} {'wrong':>6} {'of':>5} {'memory':>8}")
    for name, attack in ATTACKS.items():
        if names and not any(part in name for part in names):
            continue
        with tempfile.TemporaryDirectory() as folder, started(Path(folder)) as target:
            longest, wrong, asked, memory = attacked(target, attack)
        is_floods = attack is new_connections  # the work of a proxy; printed, not judged
        failed += (longest > LONGEST and not is_floods) or wrong > 0 or memory > MOST_MEMORY
        print(f"{name:45} {longest:6.2f} s {wrong:6} {asked:5} {memory / 1e6:5.0f} MB", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
