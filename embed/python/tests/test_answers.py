"""Tests pending answers: a correct writer is not closed because of answers that it could not read yet, however many blocks a memory takes together."""

import asyncio

import numpy as np
from remote import Peer, Server, run
from reprise_replay import Replay
from reprise_replay.remote import remote_writer
from reprise_replay.remote.frame import Kind, pack
from test_hostile import hello_of

#: Only the first item enters before a draw. After the draw, many items enter.
FULL = "leaf n i32\ntable t size 20000 samplesPerInsert 1 minSize 1 minDiff -1000000 maxDiff 1 pending 0\nrule t length 1\nview t items"


def columns(number):
    return pack(Kind.COLUMNS, {"number": number, "rows": 1, "ends": False, "finals": 0, "priorities": [0]}, [np.int32(number).tobytes()])


def test_many_blocks_that_are_taken_at_once_are_confirmed():
    async def work():
        replay, count = Replay(FULL), 7000
        async with Server(replay, max_in_flight=100_000) as server, Peer(server.url) as peer:
            await peer.send(pack(Kind.HELLO, hello_of(None, leaves=[{"path": "n", "text": "i32 of shape []"}])))
            await peer.next(Kind.WELCOME)
            accepted = await server.met.get()
            await peer.send(*map(columns, range(1, count + 1)), pack(Kind.PING))
            await peer.next(Kind.PONG)
            assert accepted.steps < 10
            replay.sample(0, 20_000)
            number = 0
            while number < count:
                number = (await peer.next(Kind.CONFIRMATION)).fields["number"]
            assert accepted.connected and accepted.steps == count
            await peer.send(pack(Kind.BYE))
            assert (await peer.closed())[0] == 1000

    run(work())


def test_a_flush_beside_a_goodbye_is_answered_by_the_same_farewell():
    """The result is the same as in JavaScript."""

    async def work():
        replay = Replay("leaf n i32\ntable t size 100\nrule t length 1\nview t items")
        async with Server(replay) as server:
            writer = await remote_writer(server.url, "leaf n i32")
            await writer.append({"n": np.arange(4)})
            assert await asyncio.gather(writer.flush(), writer.close()) == [None, None]
            accepted = await server.met.get()
            assert ((await accepted.closed).how, accepted.steps) == ("left", 4)

    run(work())
