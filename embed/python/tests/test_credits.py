"""Tests the limits of bytes in flight: on both ends, a block counts the bytes of its steps written out, and only answers count as answers."""

import asyncio

import numpy as np
import pytest
from remote import LEAVES, Memory, Peer, Server, run, same_memory, steps, text, welcome
from reprise_replay import TERMINATED, Replay, ReplayError
from reprise_replay.remote import Limits, remote_writer
from reprise_replay.remote.frame import Kind, pack, unpack
from test_hostile import block, hello_of
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

#: Frames of 16,384 bytes, 4 per step: 64 KiB as values, 16 bytes as references.
WIDE = "leaf image u8 128 128 shared f stack 4"
ROW = 4 * 128 * 128
#: With these options, steps enter only after a draw.
FULL = " samplesPerInsert 1 minSize 1 minDiff -1 maxDiff 1 pending 0"


def wide(more=""):
    return f"{WIDE}\ntable t size 9000{more}\nrule t length 1\nview t items"


def wide_hello(**changes):
    return pack(Kind.HELLO, hello_of(None, leaves=[{"path": "image", "text": "u8 of shape [4, 128, 128]"}], **changes))


def references(number, n, new=0, first=0):
    """Returns a frame of columns: n steps whose references all point to the frame `first`, after `new` new frames."""
    body = [np.full(4 * n, first, np.uint32).tobytes(), *[bytes(128 * 128 * new)] * (new > 0)]
    return pack(Kind.COLUMNS, {"number": number, "rows": n, "ends": False, "finals": 0, "priorities": [0], "frames": [new]}, body)


def test_shared_frames_count_as_they_are_written_out():
    async def work():
        replay = Replay(wide(FULL))
        async with Server(replay, max_in_flight=100_000, limits=Limits(in_flight_bytes=40 * ROW)) as server, Peer(server.url) as peer:
            await peer.send(wide_hello())
            await peer.next(Kind.WELCOME)
            # Each block has 10 rows, so four blocks reach the limit of 40 rows.
            await peer.send(references(1, 10, new=1), *(references(k, 10) for k in (2, 3, 4)))
            await peer.send(pack(Kind.PING))
            await peer.next(Kind.PONG)
            assert (await server.met.get()).connected
            await peer.send(references(5, 10))
            code, reason = await peer.closed()
            assert code == 4004 and f"{40 * ROW} bytes" in reason

    run(work())


def test_what_waits_takes_no_more_than_it_counts():
    async def work():
        replay = Replay(wide(FULL))
        async with Server(replay, max_in_flight=1 << 30, limits=Limits(in_flight_bytes=8 << 20)) as server, Peer(server.url) as peer:
            await peer.send(wide_hello())
            await peer.next(Kind.WELCOME)
            accepted = await server.met.get()
            sent, held = 0, 0
            try:
                for k in range(1, 200):
                    await peer.send(references(k, 15, new=int(k == 1)), pack(Kind.PING))
                    await peer.next(Kind.PONG)
                    sent, held = k, sum(waiting.steps.nbytes for waiting in held_steps(accepted))
            except ConnectionClosed:
                pass
            assert peer.socket.close_code == 4004 and 1 < sent < 10 and (6 << 20) < held <= (8 << 20) + 15 * ROW

    def held_steps(accepted):
        return [block.taken for block in accepted._queue if block.taken is not None]

    run(work())


def test_the_limit_of_a_frame_is_of_rows_and_final_steps_together():
    """The result is the same as in JavaScript."""

    async def work():
        for finals, code in ((0, None), (600, 4003)):
            local = Replay(f"{WIDE.replace('128 128', '16 16')}\ntable t size 9000\nrule t length 1")
            async with Server(local, limits=Limits(frame_bytes=1 << 20)) as server, Peer(server.url) as peer:
                await peer.send(pack(Kind.HELLO, hello_of(None, leaves=[{"path": "image", "text": "u8 of shape [4, 16, 16]"}])))
                await peer.next(Kind.WELCOME)
                n = 600
                parts = [bytes(16 * n), bytes([3] * finals + [0] * (n - finals)), *[bytes(16 * finals)] * (finals > 0), bytes(256)]
                await peer.send(pack(Kind.COLUMNS, {"number": 1, "rows": n, "ends": True, "finals": finals, "priorities": [0], "frames": [1]}, parts))
                if code is None:
                    assert (await peer.next(Kind.CONFIRMATION)).fields == {"number": 1}
                else:
                    assert (await peer.closed())[0] == code

    run(work())


@pytest.mark.parametrize(("calls", "finals"), [([4, 1, 1, 0, 0, 0, 0], 0), ([3, 1, 1, 2, 0, 0, 0], 1), ([2, 2, 0, 0, 0, 0, 0], 0), ([2, 2, 1, 0, 0, 0, 0], 1)])
def test_only_slots_of_final_steps_are_no_steps(calls, finals):
    """Steps are counted as in JavaScript and the protocol: 4 slots are 4 steps, unless a final step takes one slot."""

    async def work():
        replay = Replay(text(1, FULL).replace("table b", "table filler size 9\ntable b").replace("view b", "view filler items\nview b"))
        async with Server(replay, max_in_flight=4) as server, Peer(server.url) as peer:
            await peer.send(pack(Kind.HELLO, hello_of(replay)))
            await peer.next(Kind.WELCOME)
            slots = 4
            body = [bytes(12 * slots), bytes(8 * slots), bytes(12 * slots), bytes(8 * slots), bytes(4 * slots), b"\0\0\3\0" if finals and calls[1] == 2 else bytes(4), bytes(16)]
            # The values are in the order of the leaves: action, name, image, x, reward.
            body = [bytes(4 * slots), bytes(12 * slots), bytes(12 * slots), bytes(8 * slots), *body[4:]]
            fields = {"slots": slots, "calls": calls, "columns": [], "frames": [1]}
            await peer.send(pack(Kind.BLOCK, {"number": 1, **fields}, body), pack(Kind.PING))
            await peer.next(Kind.PONG)
            # The block waits, because the limiter accepts only one of its steps.
            await peer.send(block(2, 1), pack(Kind.PING))
            if finals:
                await peer.next(Kind.PONG)
            else:
                assert (await peer.closed())[0] == 4004

    run(work())


def test_a_writer_counts_shared_frames_as_they_are_written_out():
    async def work():
        replay, numbers = Replay(wide()), []

        async def talk(peer, _):
            await peer.send(welcome(replay, inFlightBytes=20 * ROW, maxInFlight=1000))
            asked = False
            while True:
                frame = unpack(await peer.socket.recv())
                if frame.kind == Kind.COLUMNS:
                    numbers.append((frame.fields["number"], frame.fields["rows"]))
                elif frame.kind == Kind.PONG:
                    # Everything that the actor may send without a confirmation has arrived before this.
                    unconfirmed.append(sum(rows for _, rows in numbers))
                    await peer.send(pack(Kind.CONFIRMATION, {"number": numbers[-1][0]}))
                    numbers.clear()
                    asked = False
                if not asked and sum(rows for _, rows in numbers) >= 20:
                    asked = True
                    await peer.send(pack(Kind.PING))

        unconfirmed = []
        async with Memory(talk) as memory:
            writer = await remote_writer(memory.url, WIDE)
            image = np.zeros((10, 4, 128, 128), np.uint8)
            for _ in range(12):
                await writer.append({"image": image})
                await asyncio.sleep(0)
            while writer.in_flight > 20:
                await asyncio.sleep(0.001)
            assert unconfirmed and set(unconfirmed) == {20}
            writer.abort()

    run(work())


def test_both_ends_count_the_same():
    """A writer with few credits whose frames repeat is never closed, and never waits forever."""

    async def work():
        replay, twin = Replay(wide()), Replay(wide())
        images = np.random.default_rng(1).integers(0, 4, (300, 1, 1, 1)) * np.ones((300, 4, 128, 128), np.uint8)
        async with Server(replay, limits=Limits(in_flight_bytes=3 * ROW)) as server:
            async with await remote_writer(server.url, WIDE) as writer:
                for at in range(0, 300, 6):
                    await writer.append({"image": images[at : at + 6]})
                    await writer.append({"image": images[at : at + 1]}, [TERMINATED])
                    await writer.append({"image": images[at : at + 1]})
                    await writer.end(TERMINATED, {"image": images[at : at + 1]})
            assert (await (await server.met.get()).closed).how == "left"
        for at in range(0, 300, 6):
            twin.append(0, {"image": images[at : at + 6]})
            twin.append(0, {"image": images[at : at + 1]}, [TERMINATED])
            twin.append(0, {"image": images[at : at + 1]})
            twin.end(0, TERMINATED, {"image": images[at : at + 1]})
        twin.truncate(0)
        assert replay.stats()["inserts"] == twin.stats()["inserts"] > 300
        assert Replay.load(replay.save(), "view t items").sample(0, 99)["image"].tobytes() == twin.sample(0, 99)["image"].tobytes()

    run(work())


def test_a_block_that_comes_twice_brings_its_frames():
    """Frames are numbered per connection, even if their block is dropped."""

    async def work():
        replay = Replay(text())
        async with Server(replay) as server, Peer(server.url) as peer:
            await peer.send(pack(Kind.HELLO, hello_of(replay)))
            await peer.next(Kind.WELCOME)
            await peer.send(block(1, 2))
            await peer.next(Kind.CONFIRMATION)
            await peer.send(block(1, 2))
            await peer.next(Kind.CONFIRMATION)
            # Each transmission of the block has 4 new frames. This step refers to frames of the second transmission.
            body = [np.array([7], "i4").tobytes(), bytes(12), np.array([4, 5, 6], np.uint32).tobytes(), bytes(8), bytes(4)]
            await peer.send(block(2, 1, body=b"".join(part + bytes(-len(part) % 8) for part in body), frames=[0]), pack(Kind.BYE))
            assert await peer.closed() == (1000, "")
        loaded = Replay.load(replay.save(), "view b items")
        batch = loaded.sample(0, 200)
        image = batch["observation.image"][batch["action"] == 7]
        assert len(image) > 0 and (image == steps(1)["observation.image"]).all()

    run(work())


def test_small_shared_frames_fit_into_the_frames_of_the_memory():
    """If each value is new, its references are sent in addition."""

    async def work():
        leaf = "leaf x u8 9 shared f stack 32"
        lines = f"{leaf}\ntable t size 9000\nrule t length 1\nview t items"
        replay, twin = Replay(lines), Replay(lines)
        values, finals = ({"x": np.random.default_rng(seed).integers(0, 256, (4000, 32, 9), np.uint8)} for seed in (1, 2))
        async with Server(replay, max_in_flight=9000, limits=Limits(frame_bytes=1 << 17)) as server:
            async with await remote_writer(server.url, leaf) as writer:
                await writer.append(values, [TERMINATED] * 4000, finals)
        twin.append(0, values, [TERMINATED] * 4000, finals)
        twin.truncate(0)
        assert replay.stats()["inserts"] == 4000 and Replay.load(replay.save(), "view t items").sample(0, 64)["x"].tobytes() == twin.sample(0, 64)["x"].tobytes()

    run(work())


def test_blocks_are_no_answers():
    async def work():
        replay = Replay(text())
        got = []

        async def talk(peer, _):
            await peer.send(welcome(replay, maxInFlight=20_000, inFlightBytes=1 << 30))
            while True:
                frame = unpack(await peer.socket.recv())
                if frame.kind in (Kind.BLOCK, Kind.COLUMNS):
                    got.append(frame.fields["number"])
                    await peer.send(pack(Kind.CONFIRMATION, {"number": got[-1]}))
                elif frame.kind == Kind.BYE:
                    await peer.send(pack(Kind.CLOSED))
                    return

        async with Memory(talk) as memory:
            writer = await remote_writer(memory.url, LEAVES)
            await writer.append(steps(1))
            # Nothing waits for an answer, so all messages are in the socket together.
            for _ in range(6000):
                await writer.item("c", 1)
            await writer.close()
        assert got == list(range(1, 6002))

    run(work())


def test_answers_that_nobody_reads():
    async def work():
        replay = Replay(text())
        async with Server(replay, keep_alive_timeout=0.05) as server:
            socket = await connect(server.url, compression=None)
            await socket.send(pack(Kind.HELLO, hello_of(replay)))
            accepted = await server.met.get()
            # This end reads nothing, so the other end must disconnect instead of keeping all pongs.
            link, ping = accepted._link, pack(Kind.PING)
            link.socket.pause_writing()
            socket.transport.pause_reading()
            try:
                for _ in range(6000):
                    await socket.send(ping)
            except ConnectionClosed:
                pass
            await accepted.closed
            assert link._out.qsize() <= 5001
            socket.transport.abort()

    run(work())


def test_a_step_that_cannot_fit():
    async def work():
        async with Server(Replay("leaf x f32 20000\ntable t size 9\nrule t length 1"), limits=Limits(frame_bytes=1 << 17)) as server:
            with pytest.raises(ReplayError, match="does not fit"):
                await remote_writer(server.url, "leaf x f32 20000")
        # Two slots fit, but their descriptions do not.
        n = (1 << 16) // 4 - 100
        async with Server(Replay(f"leaf x f32 {n}\ntable t size 9\nrule t length 1"), limits=Limits(frame_bytes=1 << 17)) as server:
            with pytest.raises(ReplayError, match="does not fit"):
                await remote_writer(server.url, f"leaf x f32 {n}")

    run(work())
