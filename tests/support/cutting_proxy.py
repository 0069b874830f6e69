"""A proxy in front of a server, which cuts some of its answers in the middle."""

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_AT_ONCE = 65_536


class CuttingProxy(threading.Thread):
    """Passes on what comes, from a TCP port or a Unix socket to another one."""

    def __init__(self, listens: str | int, target: str | int, chance: float, most: int) -> None:
        """`chance` is that of a part of an answer to be cut, until so many have been."""
        super().__init__(daemon=True)
        self.listens, self.target = listens, target
        self.chance, self.most, self.cuts = chance, most, 0
        self._rng, self._up = random.Random(str(most)), threading.Event()
        self.start()
        self._up.wait(30)

    def run(self) -> None:
        """Serve until the process ends."""
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        if isinstance(self.listens, int):
            server = await asyncio.start_server(self._connected, "127.0.0.1", self.listens)
        else:
            server = await asyncio.start_unix_server(self._connected, self.listens)
        self._up.set()
        async with server:
            await server.serve_forever()

    async def _open(self) -> Streams:
        if isinstance(self.target, int):
            return await asyncio.open_connection("127.0.0.1", self.target)
        return await asyncio.open_unix_connection(self.target)

    async def _connected(self, come: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        try:
            answer, on = await self._open()
        except OSError:
            back.transport.abort()
            return
        ways = (_pump(come, on, _all), _pump(answer, back, self._some))
        tasks = [asyncio.create_task(way) for way in ways]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        back.close()
        on.transport.abort() if on.is_closing() else on.close()

    async def _some(self, part: bytes, out: asyncio.StreamWriter) -> bool:
        """Pass on a part of an answer; False if it was cut."""
        if self.cuts >= self.most or self._rng.random() >= self.chance:
            return await _all(part, out)
        self.cuts += 1
        await _all(part[: self._rng.randrange(len(part))], out)
        out.transport.abort()
        return False


async def _all(part: bytes, out: asyncio.StreamWriter) -> bool:
    out.write(part)
    await out.drain()
    return True


async def _pump(
    come: asyncio.StreamReader,
    out: asyncio.StreamWriter,
    give: Callable[[bytes, asyncio.StreamWriter], Awaitable[bool]],
) -> None:
    with suppress(OSError):
        while part := await come.read(_AT_ONCE):
            if not await give(part, out):
                return
