"""Tests remote writers with Python at both ends: each step arrives once and in order, whatever happens to the connection."""

import asyncio

import numpy as np
import pytest
from remote import LEAVES, VIEWS, Line, Server, cuts, run, same_memory, steps, text
from reprise_replay import ENDED, TERMINATED, TRUNCATED, Replay, ReplayError
from reprise_replay.remote import AcceptedWriter, Goodbye, Limits, accept, publish, remote_writer
from reprise_replay.remote.frame import Kind, pack, unpack
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve


async def play(writer, seed, lanes, blocks=40):
    """Makes seeded calls on a remote writer, or on a Local."""
    numbers = np.random.default_rng(seed)
    for k in range(blocks):
        kind, lane, at = numbers.integers(10), int(numbers.integers(lanes)), 30 * k
        n = int(numbers.integers(1, 9)) * lanes
        if kind < 6:
            ends = numbers.choice([0, 0, 0, TRUNCATED, TERMINATED], n)
            finals = steps(int((ends > 0).sum()), at + 7) if (ends > 0).any() else None
            await writer.append(steps(n, at), ends, finals)
            await writer.append(steps(lanes, at + n))
        elif kind == 6:
            await writer.append(steps(lanes, at))
            await writer.end(TERMINATED, lane=lane)
        elif kind == 7:
            await writer.append(steps(lanes, at))
            await writer.end(TRUNCATED, steps(1, at + 1), lane=lane)
        elif kind == 8:
            await writer.append(steps(lanes, at))
            await writer.item("c", 1, [2.5, "max", 0][int(numbers.integers(3))], lane=lane)
        else:
            await writer.discard(lane=lane)


class Local:
    """Makes the calls of a remote writer on a local Replay."""

    def __init__(self, replay):
        self.replay = replay

    async def append(self, *arguments):
        self.replay.append(0, *arguments)

    async def end(self, *arguments, lane):
        self.replay.end(0, *arguments, lane=lane)

    async def item(self, table, *arguments, lane):
        self.replay.item(0, "abc".index(table), *arguments, lane=lane)

    async def discard(self, lane):
        self.replay.discard(0, lane=lane)


async def twin(seed, lanes):
    replay = Replay(text(lanes))
    await play(Local(replay), seed, lanes)
    replay.truncate(0)
    return replay.save()


@pytest.mark.parametrize("lanes", [1, 3])
def test_steps_arrive_as_they_are(lanes):
    async def work():
        replay = Replay(text(lanes))
        async with Server(replay) as server:
            async with await remote_writer(server.url, LEAVES, lanes=lanes) as writer:
                assert (writer.tables, writer.keep, writer.connected) == (("a", "b", "c"), 32, True)
                await play(writer, 1, lanes)
                await writer.flush()
                assert writer.in_flight == 0
            accepted = await server.met.get()
            assert await accepted.closed == Goodbye("left") and accepted.steps > 100 and not accepted.connected
        same_memory(replay.save(), await twin(1, lanes))

    run(work())


@pytest.mark.parametrize("seed", range(6))
def test_a_line_that_breaks_loses_and_doubles_nothing(seed):
    async def work():
        replay = Replay(text(2))
        async with Server(replay, max_in_flight=[8, 64, 1024][seed % 3]) as server, Line(server.port, [6000, *cuts(seed, 12, 5000)]) as line:
            async with await remote_writer(line.url, LEAVES, lanes=2) as writer:
                await play(writer, seed, 2)
            assert line.breaks > 2
        same_memory(replay.save(), await twin(seed, 2))

    run(work())


def test_each_byte_of_a_conversation_may_be_the_last():
    """Connections break after different numbers of bytes, from the handshake on."""
    other = Replay(text())
    for k in range(4):
        other.append(0, steps(3, 10 * k), [0, 0, TERMINATED])
    whole = other.save()

    async def conversation(at):
        replay = Replay(text())
        async with Server(replay) as server, Line(server.port, [at]) as line:
            try:
                async with await remote_writer(line.url, LEAVES) as writer:
                    for k in range(4):
                        await writer.append(steps(3, 10 * k), [0, 0, TERMINATED])
                    await writer.flush()
            except ReplayError as error:
                # The actor was never welcomed.
                assert error.code == "CLOSED" and replay.stats(1)["inserts"] == 0
                return line.breaks
        same_memory(replay.save(), whole)
        return line.breaks

    async def work():
        broken = await asyncio.gather(*(conversation(at) for at in range(1, 4000, 61)))
        assert sum(broken) > 20

    run(work(), 120)


def test_messages_arrive_once_and_in_order():
    async def work():
        replay, got = Replay(text()), []
        publish(replay, {"weights": 0})
        async with Server(replay) as server, Line(server.port, [9000, 3000, 2500]) as line:
            async with await remote_writer(line.url, LEAVES, on_message=got.append) as writer:
                accepted = await server.met.get()
                for k in range(60):
                    await accepted.send(k if k % 2 else bytes([k]) * 40)
                    await writer.append(steps(5, k))
                await writer.flush()
                while len(got) < 61:
                    await asyncio.sleep(0.01)
            assert got[0] == {"weights": 0} and got[1:] == [k if k % 2 else bytes([k]) * 40 for k in range(60)] and line.breaks > 0

    run(work())


def test_a_slow_writer_receives_the_newest_of_what_is_published():
    async def work():
        replay, got = Replay(text()), []
        async with Server(replay) as server, await remote_writer(server.url, LEAVES, on_message=got.append) as writer:
            await server.met.get()
            for k in range(1000):
                publish(replay, k)
            while got[-1:] != [999]:
                await asyncio.sleep(0.01)
            assert got[0] == 0 and len(got) < 20 and got == sorted(got)
            await writer.close()

    run(work())


def test_a_rate_limiter_holds_the_writer_back():
    async def work():
        replay = Replay(text(1, " samplesPerInsert 1 minSize 1 minDiff -5 maxDiff 5 pending 4"))
        async with Server(replay, max_in_flight=4) as server:
            async with await remote_writer(server.url, LEAVES) as writer:
                task = asyncio.create_task(appended(writer, 60))
                while replay.stats(1)["pending"] < 3:
                    await asyncio.sleep(0.01)
                assert not task.done() and writer.in_flight <= 4
                while not task.done():
                    try:
                        await asyncio.to_thread(replay.sample, 1, 2)
                    except ReplayError as error:
                        assert error.code in ("RATE_LIMITED", "EMPTY")
                    await asyncio.sleep(0)
                waits = asyncio.create_task(writer.flush())
                while not waits.done():
                    replay.sample(1, 1)
                    await asyncio.sleep(0)
            assert replay.stats(1)["inserts"] == 60

    async def appended(writer, n):
        for k in range(n):
            await writer.append(steps(1, k))

    run(work())


def test_a_call_for_which_there_is_never_room_fails():
    async def work():
        # The end of the episode makes two transitions; the limiter accepts one.
        replay = Replay(f"{LEAVES}\ntable a size 99 samplesPerInsert 1 minSize 1 minDiff -1 maxDiff 1 pending 0\nrule a nStep 3")
        async with Server(replay) as server:
            writer = await remote_writer(server.url, LEAVES)
            await writer.append(steps(2))
            await writer.end(TERMINATED)
            assert (await writer.closed).code == "RATE_LIMITED"
            accepted = await server.met.get()
            assert (await accepted.closed).how == "failed"

    run(work())


def test_both_ends_must_have_the_same_spec_and_lanes():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server:
            for leaves, lanes, said in (
                (LEAVES.replace("i32", "i16"), 1, "action: i32"),
                (LEAVES.replace("text 5", "text 6"), 1, "maxBytes 5"),
                (LEAVES + "\nleaf z i32", 1, "5 leaves"),
                (LEAVES, 2, "1 lanes"),
            ):
                with pytest.raises(ReplayError, match=said) as caught:
                    await remote_writer(server.url, leaves, lanes=lanes)
                assert caught.value.code == "SPEC_MISMATCH"
                assert (await server.met.get()).code == "SPEC_MISMATCH"
            async with await remote_writer(server.url, LEAVES) as writer:
                await writer.append(steps(1))

    run(work())


def test_a_writer_has_one_actor():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server:
            async with await remote_writer(server.url, LEAVES) as writer:
                with pytest.raises(ReplayError, match="OUT_OF_TURN"):
                    await remote_writer(server.url, LEAVES)
                await writer.append(steps(3))
            async with await remote_writer(server.url, LEAVES) as writer:
                await writer.append(steps(3))
            assert replay.stats(1)["inserts"] == 6 and replay.stats(0)["episodes"] == 2

    run(work())


def test_a_session_ends_when_its_writer_does_not_come_again():
    async def work():
        replay = Replay(text())
        async with Server(replay, session_ttl=0.01) as server:
            writer = await remote_writer(server.url, LEAVES)
            await writer.append(steps(3))
            await writer.flush()
            accepted = await server.met.get()
            writer._conversation.dialer._runner.cancel()
            assert await accepted.closed == Goodbye("gone")
            assert replay.stats(1)["inserts"] == 3 and replay.stats(0)["episodes"] == 1

    run(work())


def test_a_restarted_memory_does_not_know_the_session():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server:
            urls = [server.url]
            writer = await remote_writer(lambda: dial(urls[0]), LEAVES)
            await writer.append(steps(3))
            await writer.flush()
            other = Server(Replay(text()))
            async with other:
                urls[0] = other.url
                (await server.met.get())._link.socket.transport.abort()
                assert (await writer.closed).code == "NOT_FOUND"
                with pytest.raises(ReplayError, match="NOT_FOUND"):
                    await writer.append(steps(1))

    async def dial(url):
        return await connect(url, compression=None)

    run(work())


def test_while_offline_fail():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server, Line(server.port, []) as line:
            writer = await remote_writer(line.url, LEAVES, while_offline="fail")
            accepted = await server.met.get()
            accepted._link.socket.transport.abort()
            while writer.connected:
                await asyncio.sleep(0.001)
            with pytest.raises(ReplayError, match="IO: "):
                await writer.append(steps(1))
            while not writer.connected:
                await asyncio.sleep(0.01)
            await writer.append(steps(1))
            await writer.close()
            assert replay.stats(1)["inserts"] == 1

    run(work())


def test_close_at_the_memory_s_end():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server:
            writer = await remote_writer(server.url, LEAVES)
            accepted = await server.met.get()
            accepted.close()
            assert (await accepted.closed).how == "closed"
            assert (await writer.closed).code == "CLOSED"
            with pytest.raises(ReplayError, match="CLOSED"):
                await accepted.send(1)
            with pytest.raises(ReplayError, match="CLOSED"):
                await writer.append(steps(1))
            await writer.close()

    run(work())


def test_large_blocks_are_sent_in_parts():
    async def work():
        replay, twin = Replay(text(2)), Replay(text(2))
        async with Server(replay, limits=Limits(frame_bytes=1 << 17)) as server:
            async with await remote_writer(server.url, LEAVES, lanes=2) as writer:
                ends = np.zeros(8000, int)
                ends[::7] = TERMINATED
                await writer.append(steps(8000), ends, steps(int((ends > 0).sum())))
        twin.append(0, steps(8000), ends, steps(int((ends > 0).sum())))
        twin.truncate(0)
        same_memory(replay.save(), twin.save())

    run(work())


def test_steps_that_do_not_fit_are_refused_where_they_are():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server, await remote_writer(server.url, LEAVES) as writer:
            for code, call in (
                ("SPEC_MISMATCH", writer.append({"action": 1})),
                ("INVALID_DATA", writer.append({**steps(1), "action": [0.5]})),
                ("SPEC_MISMATCH", writer.append(steps(2), [0])),
                ("INVALID", writer.append(steps(1), [7])),
                ("INVALID", writer.end(TRUNCATED)),
                ("INVALID", writer.end(ENDED, steps(1))),
                ("INVALID", writer.end(9)),
                ("NOT_FOUND", writer.item("z", 1)),
                ("INVALID", writer.item("a", 99)),
                ("INVALID", writer.item("a", 1, -2.0)),
                ("INVALID", writer.discard(lane=1)),
            ):
                with pytest.raises(ReplayError) as caught:
                    await call
                assert caught.value.code == code
            await writer.append(steps(1))

    run(work())


def test_values_that_only_the_memory_knows_to_be_wrong():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server:
            writer = await remote_writer(server.url, LEAVES)
            await writer.append({**steps(1), "reward": [np.inf]})
            assert (await writer.closed).code == "INVALID_DATA"
            goodbye = await (await server.met.get()).closed
            assert goodbye.how == "failed" and goodbye.error.code == "INVALID_DATA"
        assert replay.stats(1)["inserts"] == 0

    run(work())


def test_flushes_that_nobody_awaits():
    async def work():
        replay = Replay(text(1, " samplesPerInsert 1 minSize 1 minDiff -1 maxDiff 1 pending 4"))
        async with Server(replay) as server:
            writer = await remote_writer(server.url, LEAVES)
            await writer.append(steps(3))
            waits = [asyncio.create_task(writer.flush()) for _ in range(1100)]
            while len(refused := [task for task in waits if task.done()]) < 101:
                await asyncio.sleep(0)
            assert {task.exception().code for task in refused} == {"RATE_LIMITED"} and writer.connected
            writer.abort()
            await asyncio.gather(*waits, return_exceptions=True)

    run(work())


def test_options():
    async def work():
        replay = Replay(text())
        async with Server(replay, confirm="disk") as server:
            with pytest.raises(ReplayError, match="CLOSED"):
                await remote_writer(server.url, LEAVES)
            error = await server.met.get()
            assert error.code == "UNSUPPORTED" and "journal" in str(error)
        for options in ({"max_in_flight": 0}, {"session_ttl": -1}, {"keep_alive": 0}, {"limits": Limits(frame_bytes=5)}, {"limits": Limits(steps_per_second=0)}):
            with pytest.raises(ReplayError, match="INVALID"):
                await accept(None, replay, **options)
        with pytest.raises(ReplayError, match="NOT_FOUND"):
            async with Server(replay, writer=7) as server:
                with pytest.raises(ReplayError, match="CLOSED"):
                    await remote_writer(server.url, LEAVES)
                raise await server.met.get()
        for options in ({"lanes": 0}, {"while_offline": "never"}):
            with pytest.raises(ReplayError, match="INVALID"):
                await remote_writer("ws://127.0.0.1:1", LEAVES, **options)
        with pytest.raises(ReplayError, match="CLOSED: there was no connection"):
            await remote_writer("ws://127.0.0.1:1", LEAVES)

    run(work())


def test_limits_slow_a_writer_down():
    async def work():
        replay = Replay(text())
        loop = asyncio.get_running_loop()
        async with Server(replay, limits=Limits(steps_per_second=200), max_in_flight=50) as server:
            async with await remote_writer(server.url, LEAVES) as writer:
                start = loop.time()
                for k in range(6):
                    await writer.append(steps(50, k))
                await writer.flush()
                # The first 200 of the 300 steps, which are the steps of one second, arrive immediately.
                assert loop.time() - start > 0.4

    run(work())


def test_no_actor_comes():
    async def work():
        replay = Replay(text())
        async with Server(replay, timeout=0.01) as server:
            async with connect(server.url):
                assert (await server.met.get()).code == "TIMEOUT"
            async with connect(server.url) as socket:
                await socket.close()
                assert (await server.met.get()).code in ("CLOSED", "TIMEOUT")

    run(work())


def test_views_and_types():
    assert VIEWS in text() and AcceptedWriter.__doc__


@pytest.mark.parametrize("leaves", ["leaf x f32", "leaf x bool", "leaf x bool 3\nleaf y u8", "leaf x i64 2\nleaf y text 3 2", "leaf x bf16\nleaf y u16 1 1"])
def test_values_of_every_size(leaves):
    """The body of a frame may end at any byte."""

    def some(replay, n):
        numbers = np.random.default_rng(n)
        values = {}
        for name, leaf in replay.leaves.items():
            whole = numbers.integers(0, 2, (n, *leaf.shape))
            values[name] = np.where(whole, "é", "").astype(object) if leaf.dtype == object else whole.astype(leaf.dtype)
        return values

    async def work():
        replay, twin = (Replay(f"{leaves}\ntable t size 99\nrule t length 1\nview t items") for _ in range(2))
        async with Server(replay) as server, await remote_writer(server.url, leaves) as writer:
            for n in (1, 2, 3, 5, 8):
                for ends in ((), [0] * (n - 1) + [TRUNCATED]):
                    finals = some(replay, 1) if len(ends) else None
                    twin.append(0, some(replay, n), ends, finals)
                    await writer.append(some(replay, n), ends, finals)
            await writer.append(some(replay, 4))
            await writer.end(TERMINATED)
            await writer.flush()
            twin.append(0, some(replay, 4))
            twin.end(0, TERMINATED)
            # Blocks and the places of rows may differ.
            batch, other = replay.sample(0, 200), twin.sample(0, 200)
            for name, values in batch.items():
                assert values.tolist() == other[name].tolist(), name

    run(work())


@pytest.mark.parametrize("lanes", [1, 2])
def test_steps_that_come_one_by_one_share_frames(lanes):
    async def work():
        replay, twin = Replay(text(lanes)), Replay(text(lanes))
        numbers = np.random.default_rng(lanes)
        async with Server(replay) as server, await remote_writer(server.url, LEAVES, lanes=lanes) as writer:
            for k in range(500):
                # A call whose episodes terminate may omit either all of its final steps or none.
                how = int(numbers.choice([0, 0, 0, 0, TRUNCATED, TERMINATED, 9]))
                ends = [TERMINATED if how == 9 else how] * lanes
                finals = steps(lanes, k + 3) if how in (TRUNCATED, TERMINATED) else None
                twin.append(0, steps(lanes, k), ends, finals)
                await writer.append(steps(lanes, k), ends, finals)
            await writer.flush()
            assert writer._conversation._number < 350
        twin.truncate(0)
        same_memory(replay.save(), twin.save())

    run(work())


def test_after_a_second_invite_nothing_is_sent_until_the_welcome():
    """A memory that was evicted, while the socket stayed open, drops frames before the hello."""
    ends = {"lanes": 1, "hasTransitions": False, "observation": {"path": "x", "leaves": []}}
    limits = {"maxInFlight": 1024, "frameBytes": 4 << 20, "inFlightBytes": 8 << 20, "keepAliveMs": 30000, "keepAliveTimeoutMs": 20000}
    told = {"keep": 1, "across": False, "ends": ends, "tables": ["t"], "rules": [], "shared": [], "confirm": "memory", "confirmed": 0, **limits}
    resumes, early, numbers = [], [], []

    async def work():
        invited, may_welcome = asyncio.Event(), asyncio.Event()

        async def memory(socket):
            async def until(kind, dropped):
                while (frame := unpack(await socket.recv())).kind != kind:
                    dropped.append(frame.kind)
                return frame.fields

            await socket.send(pack(Kind.INVITE, {"versions": [1]}))
            for _ in range(2):
                resumes.append((await until(Kind.HELLO, early))["resume"])
            await socket.send(pack(Kind.WELCOME, {**told, "received": 0}))
            for _ in range(2):
                await until(Kind.COLUMNS, early)
            await socket.send(pack(Kind.INVITE, {"versions": [1]}))
            resumes.append((await until(Kind.HELLO, early))["resume"])
            invited.set()
            await may_welcome.wait()
            await socket.send(pack(Kind.WELCOME, {**told, "received": 1}))
            while len(numbers) < 3:
                numbers.append((await until(Kind.COLUMNS, early))["number"])
            await socket.wait_closed()

        async with serve(memory, "127.0.0.1", 0) as server:
            writer = await remote_writer(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}", "leaf x f32")
            for k in range(5):
                await writer.append({"x": [k]})
                if k == 1:
                    await invited.wait()
                    assert not writer.connected
                # The pause gives each block its own frame.
                await asyncio.sleep(0.01)
            may_welcome.set()
            while len(numbers) < 2:
                await asyncio.sleep(0.01)
            await writer.append({"x": [5]})
            while len(numbers) < 3:
                await asyncio.sleep(0.01)
            writer.abort()
        assert resumes == [False, False, True] and early == [] and numbers == [2, 3, 4]

    run(work())


def test_a_session_that_is_gone_is_not_known():
    async def work():
        replay, is_down = Replay(text()), False

        async def dial():
            if is_down:
                raise OSError("no network")
            return await connect(server.url, compression=None)

        async with Server(replay, session_ttl=0.05) as server:
            writer = await remote_writer(dial, LEAVES)
            await writer.append(steps(3))
            await writer.flush()
            accepted, is_down = await server.met.get(), True
            accepted._link.socket.transport.abort()
            while writer.connected:
                await asyncio.sleep(0.001)
            await writer.append(steps(3))
            closing = asyncio.create_task(writer.close())
            assert await accepted.closed == Goodbye("gone")
            is_down = False
            with pytest.raises(ReplayError, match="NOT_FOUND"):
                await closing

    run(work())


def test_a_handler_of_messages_that_raises_is_reported():
    async def work():
        replay, got, reported = Replay(text()), [], []

        def handle(message):
            got.append(message)
            if message == 1:
                raise ValueError("no such level")

        async with Server(replay) as server, await remote_writer(server.url, LEAVES, on_message=handle) as writer:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
            accepted = await server.met.get()
            await accepted.send(1)
            await accepted.send(2)
            while accepted._messages.unconfirmed():
                await asyncio.sleep(0.001)
            await writer.append(steps(1))
            await asyncio.wait_for(writer.flush(), 5)
        assert got == [1, 2] and [str(context["exception"]) for context in reported] == ["no such level"]

    run(work())


def test_an_error_that_nobody_expects_ends_the_writer():
    async def work():
        def dial():
            raise KeyError("address")

        with pytest.raises(ReplayError, match="CLOSED: .*KeyError") as caught:
            await asyncio.wait_for(remote_writer(dial, LEAVES), 5)
        assert isinstance(caught.value.__cause__, KeyError)

        async with Server(Replay(text())) as server:
            writer = await remote_writer(server.url, LEAVES)

            def breaks(number):
                raise KeyError(number)

            writer._conversation._forget = breaks
            await writer.append(steps(1))
            with pytest.raises(ReplayError, match="CLOSED: .*KeyError"):
                await asyncio.wait_for(writer.flush(), 5)
            assert isinstance((await writer.closed).__cause__, KeyError)
            (await server.met.get()).close()

    run(work())


@pytest.mark.parametrize("message", [1, b""])
def test_many_small_messages(message):
    async def work():
        replay, got = Replay(text()), []
        async with Server(replay) as server, await remote_writer(server.url, LEAVES, on_message=got.append) as writer:
            accepted = await server.met.get()
            for _ in range(40000):
                await accepted.send(message)
                assert len(accepted._messages._sent) < 20000
            while len(got) < 40000 and not writer.closed.done():
                await asyncio.sleep(0.01)
            assert got == [message] * 40000 and writer.connected

    run(work())
