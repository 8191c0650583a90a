"""Contains the shared parts of the tests of remote writers: steps of one spec, a server, a breaking connection, and the JavaScript ends."""

import asyncio
import contextlib
import gc
import os
import random

import numpy as np
from reprise_replay import Replay, ReplayError
from reprise_replay.remote import accept
from reprise_replay.remote.frame import Kind, pack, unpack
from reprise_replay.remote.intake import Intake
from support import ROOT
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

LEAVES = "leaf observation.image u8 4 4 shared f stack 3\nleaf observation.x f16 2\nleaf action i32\nleaf reward f32\nleaf name text 5"
VIEWS = "view a transitions gamma 0.9 weights batch\nview b items\nview c items"
SCRIPT = ROOT / "embed/python/tests/actors.mjs"


def text(lanes=1, more=""):
    """Returns the text of a Replay with the same spec, tables and rules as in actors.mjs."""
    several = f"lanes {lanes} autoreset sameStep" if lanes > 1 else ""
    tables = f"table a size 1000 sampler prioritized 1\ntable b size 800{more}\ntable c size 50 sampler prioritized 1"
    return f"{LEAVES}\n{tables}\nwriter {several}\nrule a nStep 2\nrule b length 1\n{VIEWS}\nseed 7"


def steps(n, first=0):
    i = np.arange(first, first + n)
    return {
        "observation.image": np.repeat(np.stack([i, i + 1, i + 2], 1) % 200, 16, 1).reshape(n, 3, 4, 4).astype("u1"),
        "observation.x": np.stack([i % 1000, i / 2], 1),
        "action": i,
        "reward": i * 1.0,
        "name": [f"s{k}"[:5] for k in i],
    }


def same_memory(ours, theirs):
    """Asserts that two snapshots have the same items, with the same steps, and the same draws."""
    a, b = Replay.load(ours, VIEWS), Replay.load(theirs, VIEWS)
    for table in range(3):
        mine, other = a.stats(table), b.stats(table)
        assert {**mine, "bytes": 0} == {**other, "bytes": 0}
        if mine["size"] == 0:
            continue
        batch, twin = a.sample(table, 200, 0.5), b.sample(table, 200, 0.5)
        for name, values in batch.items():
            assert values.tolist() == twin[name].tolist() if values.dtype == object else values.tobytes() == twin[name].tobytes(), name


class Server:
    """Accepts writers into a Replay on the loopback interface. `met` contains the outcome of each connection."""

    def __init__(self, replay, **options):
        self.replay, self.options, self.met = replay, options, asyncio.Queue()

    async def __aenter__(self):
        self._server = await serve(self._handle, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        await self._server.wait_closed()

    async def _handle(self, websocket):
        try:
            accepted = await accept(websocket, self.replay, **self.options)
        except ReplayError as error:
            self.met.put_nowait(error)
            return
        self.met.put_nowait(accepted)
        await websocket.wait_closed()


class Line:
    """A proxy between two ends. Each of the first connections breaks after some bytes in either direction; later connections do not break."""

    def __init__(self, port, cuts):
        self._to, self._cuts, self.breaks = port, list(cuts), 0

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._join, "127.0.0.1", 0)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _join(self, reader, writer):
        left = [self._cuts.pop(0) if self._cuts else 1 << 60]
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._to)

        async def carry(source, target):
            with contextlib.suppress(ConnectionError):
                while data := await source.read(4096):
                    part = data[: left[0]]
                    left[0] -= len(part)
                    target.write(part)
                    await target.drain()
                    if left[0] == 0:
                        self.breaks += 1
                        break
            for one in (writer, far_writer):
                one.transport.abort()

        await asyncio.gather(carry(reader, far_writer), carry(far_reader, writer))


def cuts(seed, count, most):
    """Returns `count` random numbers below `most`: the numbers of bytes after which connections break."""
    numbers = random.Random(seed)
    return [numbers.randrange(1, most) for _ in range(count)]


async def javascript(*arguments, **options):
    """Starts a process of actors.mjs."""
    node = os.environ.get("REPRISE_NODE", "node")
    return await asyncio.create_subprocess_exec(node, str(SCRIPT), *map(str, arguments), cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, **options)


def run(work, seconds=60):
    """Runs a coroutine to its end. The test fails if the coroutine exceeds a time limit, or if any task fails without being awaited."""
    unseen = []

    async def guarded():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
        return await asyncio.wait_for(work, seconds)

    result = asyncio.run(guarded())
    gc.collect()
    assert unseen == []
    return result


class Peer:
    """An end that sends arbitrary frames, over a connection that it opens or that a Memory has accepted."""

    def __init__(self, url="", socket=None):
        self._url, self.socket = url, socket

    async def __aenter__(self):
        self.socket = await connect(self._url, compression=None)
        return self

    async def __aexit__(self, *_):
        await self.socket.close()

    async def send(self, *frames):
        for frame in frames:
            await self.socket.send(frame)

    async def next(self, kind):
        """Returns the next frame of a kind."""
        while True:
            frame = unpack(await self.socket.recv())
            if frame.kind == kind:
                return frame

    async def closed(self):
        """Waits until the connection is closed, and returns the code and the reason."""
        try:
            while True:
                await self.socket.recv()
        except ConnectionClosed:
            return self.socket.close_code, self.socket.close_reason


class Memory:
    """A Replay's end that sends arbitrary messages. `talk(peer, k)` handles the k-th connection. Its exceptions fail the test."""

    def __init__(self, talk):
        self._talk, self._count, self.errors = talk, 0, []

    async def __aenter__(self):
        self._server = await serve(self._handle, "127.0.0.1", 0, max_size=None, compression=None)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        await self._server.wait_closed()
        assert self.errors == []

    async def _handle(self, websocket):
        number, self._count = self._count, self._count + 1
        try:
            await self._talk(Peer(socket=websocket), number)
        except ConnectionClosed:
            pass
        except Exception as error:
            self.errors.append(error)


def welcome(replay, **changes):
    """Returns a frame that welcomes a writer to a Replay."""
    fields = {"maxInFlight": 1024, "confirm": "memory", "received": 0, "confirmed": 0, "frameBytes": 4 << 20, "inFlightBytes": 8 << 20}
    times = {"keepAliveMs": 30_000, "keepAliveTimeoutMs": 20_000}
    return pack(Kind.WELCOME, {**Intake(replay, 0).welcome(), **fields, **times, **changes})
