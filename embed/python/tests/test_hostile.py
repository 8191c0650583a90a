"""Tests peers that send arbitrary data: each is closed with a code and a reason, and does not affect the others."""

import asyncio
import json
import random

import numpy as np
import pytest
from remote import LEAVES, Peer, Server, run, steps, text
from reprise_replay import Replay
from reprise_replay.remote import Limits, remote_writer
from reprise_replay.remote.frame import Frame, Kind, ProtocolError, pack, unpack
from reprise_replay.remote.layout import Layout, Share
from reprise_replay.remote.outgoing import Crossed, Entry, columns_of, packed
from websockets.exceptions import ConnectionClosed

BY_TEXT = {"path": "x", "text": "f32 of shape []"}
SESSION = "a" * 22


def hello_of(replay, **changes):
    leaves = [{"path": path, "text": said} for path, said in (("action", "i32 of shape []"), ("name", "string of shape [] and maxBytes 5"))]
    leaves += [{"path": path, "text": said} for path, said in (("observation.image", "u8 of shape [3, 4, 4]"), ("observation.x", "f16 of shape [2]"))]
    leaves += [{"path": "reward", "text": "f32 of shape []"}]
    return {"version": 1, "session": SESSION, "resume": False, "reconnects": False, "leaves": leaves, "lanes": 1, "receipt": 0, **changes}


def block(number=1, n=2, **changes):
    """Returns a frame of columns. `changes` replaces fields, and its `body` replaces the body."""
    local = Replay(text())
    shares = [Share((2,), 16, 6)]
    layout = Layout(local.leaves, 1, local.step_bytes, shares)
    body = changes.pop("body", None)
    entry = Entry(Kind.COLUMNS, {"number": number, "rows": n, "ends": False, "finals": 0, "priorities": [0, 0]}, n)
    entry.columns = columns_of(layout, local._taken(steps(n), "steps")[1])
    whole = unpack(packed(entry, layout, Crossed(shares)))
    return pack(whole.kind, {**whole.fields, **changes}, [bytes(whole.body) if body is None else body])


def wide(n, finals, ends=b""):
    """Returns a frame of columns with final steps, filled with zeros."""
    parts = [bytes(size * rows) for rows in (n, finals) for size in (4, 12, 12, 8, 4)]
    fields = {"number": 1, "rows": n, "ends": ends != b"", "finals": finals, "priorities": [0, 0], "frames": [1]}
    return pack(Kind.COLUMNS, fields, [*parts[:5], *[ends] * (ends != b""), *parts[5:], bytes(16)])


def call(*calls, number=1, slots=0, **changes):
    """Returns a block of calls whose values are zeros."""
    rows = np.zeros(slots * (4 + 12 + 12 + 8 + 4), np.uint8)
    fields = {"number": number, "slots": slots, "calls": [part for one in calls for part in one], "columns": [], "frames": [0], **changes}
    return pack(Kind.BLOCK, fields, [rows.tobytes()] if slots else [])


def test_a_frame_comes_back_as_it_was():
    for size in range(40):
        frame = unpack(pack(Kind.MESSAGE, {"number": size, "é": "x" * size}, [b"1" * size, b"2"]))
        assert frame == Frame(Kind.MESSAGE, {"number": size, "é": "x" * size}, frame.body)
        assert bytes(frame.body) == b"1" * size + bytes(-size % 8) + b"2"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x05\0\0\0",
        b"\0\0\0\0\2\0\0\0{}",
        b"\x10\0\0\0\2\0\0\0{}",
        b"\5\1\0\0\2\0\0\0{}",
        b"\5\0\0\1\2\0\0\0{}",
        b"\5\0\0\0\xff\xff\xff\xff{}",
        b"\5\0\0\0\3\0\0\0{}",
        b"\5\0\0\0\2\0\0\0[]",
        b"\5\0\0\0\2\0\0\0\xff\xff",
        pack(Kind.FLUSH).replace(b"{}", b"{]"),
        b"\5\0\0\0\x09\0\0\0" + b'{"a":NaN}',
        b"\5\0\0\0\x00\x40\x0c\0" + b"[" * 0x0C4000,
    ],
)
def test_what_is_no_frame(data):
    with pytest.raises(ProtocolError):
        unpack(data)


BROKEN = {
    "a gap": (4002, [block(2)]),
    "a number that is none": (4002, [block("1")]),
    "an infinite number": (4002, [block(1e999) if False else pack(Kind.COLUMNS, {"number": 1}).replace(b":1}", b":1e999}").replace(b"\x0c\0\0\0", b"\x10\0\0\0")]),
    "no rows": (4002, [block(rows=0)]),
    "half a row": (4002, [block(rows=1.5)]),
    "more rows than there are": (4002, [block(rows=3)]),
    "rows without end": (4003, [block(rows=2**40)]),
    "a bill of finals": (4002, [block(finals=3)]),
    "final steps of no ends": (4002, [wide(1, 1)]),
    "fewer final steps than ends": (4002, [wide(2, 1, b"\3\3")]),
    "more final steps than ends": (4002, [wide(2, 2, b"\3\0")]),
    "ends that are no flag": (4002, [block(ends=1)]),
    "another number of priorities": (4002, [block(priorities=[0])]),
    "a body that goes on": (4002, [block(body=b"1" * 500)]),
    "no body": (4002, [block(body=b"")]),
    "frames without end": (4002, [block(frames=[2**50])]),
    "frames of no share": (4002, [block(frames=[])]),
    "no frames, and references to them": (4002, [block(frames=[0], n=1, body=bytes(8) + bytes(16) + b"\1\0\0\0\0\0\0\0\0\0\0\0" + bytes(4) + bytes(12))]),
    "a kind of the memory": (4002, [pack(Kind.WELCOME)]),
    "a receipt of nothing": (4002, [pack(Kind.RECEIPT, {"number": 5})]),
    "a flush without an id": (4002, [pack(Kind.FLUSH)]),
    "calls that are none": (4002, [call(calls=[0, 1])]),
    "calls of text": (4002, [call(calls=["0"] * 7)]),
    "a call of another kind": (4002, [call([0, 9, 0, 0, 0, 0, 0])]),
    "a call behind the block": (4002, [call([1, 3, 0, 0, 0, 0, 0])]),
    "a slot that falls": (4002, [call([1, 3, 1, 0, 0, 0, 0], [0, 3, 1, 0, 0, 0, 0], slots=1)]),
    "a lane that is not": (4002, [call([0, 3, 2, 0, 0, 0, 0])]),
    "a lane below 0": (4002, [call([0, 3, -1, 0, 0, 0, 0])]),
    "a table that is not": (4002, [call([0, 0, 9, 1, 1, 0, 0])]),
    "an item of no steps": (4002, [call([0, 0, 0, 1, 1, 0, 0])]),
    "an item of too many steps": (4002, [block(1, 2), call([0, 0, 0, 2000000000, 1, 0, 0], number=2)]),
    "a priority below 0": (4002, [block(1, 2), call([0, 0, 0, 1, -2, 0, 0], number=2)]),
    "an item with columns": (4002, [block(1, 2), call([0, 0, 0, 1, 1, 0, 1], number=2)]),
    "an end without a slot": (4002, [call([0, 1, 1, 2, 1, 0, 0])]),
    "an end of another kind": (4002, [call([0, 1, 1, 3, 0, 0, 0])]),
    "a step that ends, without its slots": (4002, [call([0, 2, 1, 0, 0, 0, 0], slots=1)]),
    "priorities with columns": (4002, [block(priorities=[1, 0], body=None)]),
    "a session of another": (4002, [block(1), block(3)]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_frames_that_break_the_protocol(name):
    code, frames = BROKEN[name]

    async def work():
        replay = Replay(text() + "\nwriter\nrule b length 1")
        async with Server(replay) as server, Server(replay, writer=1) as other:
            writer = await remote_writer(other.url, LEAVES)
            await writer.append(steps(2))
            async with Peer(server.url) as peer:
                await peer.send(pack(Kind.HELLO, hello_of(replay)))
                await peer.next(Kind.WELCOME)
                await peer.send(*frames)
                closed, reason = await peer.closed()
                assert closed == code and reason
            accepted = await server.met.get()
            goodbye = await accepted.closed
            assert goodbye.how == "failed" and goodbye.error is not None
            # Earlier steps are stored, and the other writer continues.
            await writer.append(steps(2, 2))
            await writer.close()
            assert replay.stats(1)["inserts"] == 4 + accepted.steps and accepted.steps in (0, 2)

    run(work())


def test_a_hello_that_is_none():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server:
            for changes, code in (
                ({"version": 2}, 4001),
                ({"session": "short"}, 4002),
                ({"session": "x" * 23 + "!"}, 4002),
                ({"session": 5}, 4002),
                ({"resume": 1}, 4002),
                ({"resume": True}, 4001),
                ({"reconnects": None}, 4002),
                ({"lanes": 2}, 4001),
                ({"lanes": -1}, 4002),
                ({"receipt": -1}, 4002),
                ({"leaves": "all"}, 4001),
                ({"leaves": [5, {}]}, 4001),
                ({"leaves": [BY_TEXT] * 5}, 4001),
            ):
                async with Peer(server.url) as peer:
                    # Messages before the hello are ignored, and so is text.
                    await peer.send(pack(Kind.BYE), "text", pack(Kind.HELLO, hello_of(replay, **changes)))
                    assert (await peer.next(Kind.REFUSED)).fields["error"]["kind"] == "ReplayError"
                    closed, reason = await peer.closed()
                    assert closed == code and reason
            # None of these connections occupies the writer.
            async with await remote_writer(server.url, LEAVES) as writer:
                await writer.append(steps(1))

    run(work())


def test_more_than_may_be_on_its_way():
    async def work():
        replay = Replay(text(1, " samplesPerInsert 1 minSize 1 minDiff -1 maxDiff 1 pending 0"))
        async with Server(replay, max_in_flight=4) as server:
            async with Peer(server.url) as peer:
                await peer.send(pack(Kind.HELLO, hello_of(replay)))
                await peer.next(Kind.WELCOME)
                # The limiter accepts one step, so the rest waits.
                await peer.send(*(block(number, 2) for number in (1, 2, 3, 4)))
                assert (await peer.closed())[0] == 4004
            async with Peer(server.url) as peer:
                await peer.send(pack(Kind.HELLO, hello_of(replay, session="b" * 22)))
                await peer.next(Kind.WELCOME)
                await peer.send(block(1, 2), *(pack(Kind.FLUSH, {"id": k}) for k in range(1, 1200)))
                assert (await peer.closed())[0] == 4004

    run(work())


def test_a_frame_that_is_too_large():
    async def work():
        replay = Replay(text())
        async with Server(replay, limits=Limits(frame_bytes=1 << 17)) as server, Peer(server.url) as peer:
            await peer.send(pack(Kind.HELLO, hello_of(replay)))
            assert (await peer.next(Kind.WELCOME)).fields["frameBytes"] == 1 << 17
            await peer.send(pack(Kind.BLOCK, {}, [bytes(1 << 18)]))
            assert (await peer.closed())[0] == 4003

    run(work())


def test_a_peer_that_is_silent():
    async def work():
        replay = Replay(text())
        async with Server(replay, keep_alive=0.02, keep_alive_timeout=0.02) as server, Peer(server.url) as peer:
            await peer.send(pack(Kind.HELLO, hello_of(replay)))
            await peer.next(Kind.PING)
            assert (await peer.closed())[0] == 4006
            assert (await (await server.met.get()).closed).how == "gone"

    run(work())


def test_a_ping_is_answered_and_numbers_that_came_are_dropped():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server, Peer(server.url) as peer:
            await peer.send(pack(Kind.HELLO, hello_of(replay, reconnects=True)), pack(Kind.PING))
            await peer.next(Kind.PONG)
            await peer.send(block(1), block(1), pack(Kind.HELLO, hello_of(replay)), block(1))
            assert (await peer.next(Kind.CONFIRMATION)).fields == {"number": 1}
            await peer.send(pack(Kind.FLUSH, {"id": 7}))
            assert (await peer.next(Kind.FLUSHED)).fields == {"id": 7}
            assert replay.stats(1)["inserts"] == 2
            await peer.send(pack(Kind.BYE))
            assert (await peer.next(Kind.CLOSED)).fields == {}
            assert (await peer.closed())[0] == 1000
            # A repeated request gets the same answer.
            async with Peer(server.url) as again:
                await again.send(pack(Kind.HELLO, hello_of(replay, resume=True)))
                assert (await again.next(Kind.CLOSED)).fields == {}

    run(work())


def test_another_connection_takes_the_session():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server, Peer(server.url) as first:
            await first.send(pack(Kind.HELLO, hello_of(replay, reconnects=True)))
            await first.next(Kind.WELCOME)
            await first.send(block(1))
            await first.next(Kind.CONFIRMATION)
            async with Peer(server.url) as second:
                await second.send(pack(Kind.HELLO, hello_of(replay, resume=True, reconnects=True)))
                welcome = (await second.next(Kind.WELCOME)).fields
                assert (welcome["received"], welcome["confirmed"]) == (1, 1)
                assert (await first.closed())[0] == 4005
                await second.send(block(2), pack(Kind.BYE))
                assert (await second.closed())[0] == 1000
            assert replay.stats(1)["inserts"] == 4

    run(work())


@pytest.mark.parametrize("seed", range(4))
def test_changed_bytes(seed):
    """If some bytes of a conversation are changed, only the connection fails."""
    numbers = random.Random(seed)

    async def work():
        replay = Replay(text())
        async with Server(replay, session_ttl=0.0) as server:
            for _ in range(60):
                frames = [pack(Kind.HELLO, hello_of(replay, session=f"{numbers.getrandbits(128):032x}"))]
                frames += [block(1, 3), call([0, 0, 2, 1, 1.5, 0, 0], number=2), block(3, 2, ends=False), pack(Kind.FLUSH, {"id": 1}), pack(Kind.BYE)]
                which = numbers.randrange(len(frames))
                changed = bytearray(frames[which])
                for _ in range(numbers.choice([1, 1, 2, 8])):
                    changed[numbers.randrange(len(changed))] = numbers.randrange(256)
                frames[which] = bytes(changed)
                if numbers.random() < 0.2:
                    numbers.shuffle(frames)
                async with Peer(server.url) as peer:
                    try:
                        await peer.send(*frames)
                        await asyncio.wait_for(peer.closed(), 0.2)
                    except (ConnectionClosed, asyncio.TimeoutError):
                        pass
                met = await server.met.get()
                if hasattr(met, "closed"):
                    await met.closed
            before = replay.stats(1)["inserts"]
            async with await remote_writer(server.url, LEAVES) as writer:
                await writer.append(steps(4))
            assert replay.stats(1)["inserts"] == before + 4
        assert json.loads(json.dumps(replay.stats(0)))["heldSteps"] >= 0
        Replay.load(replay.save())

    run(work())
