"""Tests sessions: the identity, messages and limits of a returning actor; the number of sessions; and the end of a writer."""

import asyncio
from time import monotonic

import numpy as np
import pytest
from remote import LEAVES, Line, Memory, Peer, Server, run, same_memory, steps, text, welcome
from reprise_replay import Replay, ReplayError
from reprise_replay.remote import Goodbye, Limits, accept, publish, remote_writer
from reprise_replay.remote.frame import Kind, pack, unpack
from test_hostile import SESSION, block, hello_of
from websockets.asyncio.client import connect

OTHER = "b" * 22
#: With these options, steps enter only after a draw.
FULL = " samplesPerInsert 1 minSize 1 minDiff -1 maxDiff 1 pending 0"


def hello(replay, **changes):
    return pack(Kind.HELLO, hello_of(replay, reconnects=True, **changes))


def test_a_call_after_close_is_refused():
    """Steps after a goodbye would be dropped without notice."""

    async def work():
        replay = Replay(text(1, FULL.replace("maxDiff 1", "maxDiff 3")))
        async with Server(replay, max_in_flight=3) as server:
            writer = await remote_writer(server.url, LEAVES)
            await writer.append(steps(3))
            # This call waits for room, and was made before `close`.
            waiting = asyncio.create_task(writer.append(steps(1, 3)))
            await asyncio.sleep(0)
            closing = [asyncio.create_task(writer.close()) for _ in range(2)]
            await asyncio.sleep(0)
            for call in (writer.append(steps(1)), writer.end(), writer.item("c", 1), writer.discard(), writer.flush()):
                with pytest.raises(ReplayError, match="CLOSED: the writer is closing"):
                    await call
            # A writer that stops waiting is also closed.
            third = asyncio.create_task(writer.close())
            await asyncio.sleep(0)
            third.cancel()
            while not all(task.done() for task in [waiting, *closing]):
                try:
                    replay.sample(1, 1)
                except ReplayError as error:
                    assert error.code in ("RATE_LIMITED", "EMPTY")
                await asyncio.sleep(0)
            assert [await task for task in closing] == [None, None] and await waiting is None
            with pytest.raises(ReplayError, match="CLOSED"):
                await writer.append(steps(1))
            accepted = await server.met.get()
            assert await accepted.closed == Goodbye("left") and accepted.steps == 4

    run(work())


def test_close_without_a_connection_waits_for_one():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server:
            writer = await remote_writer(server.url, LEAVES, while_offline="fail")
            await writer.append(steps(3))
            (await server.met.get())._link.socket.transport.abort()
            while writer.connected:
                await asyncio.sleep(0.001)
            for _ in range(1200):
                with pytest.raises(ReplayError, match="IO: "):
                    await writer.flush()
            await writer.close()
        assert replay.stats(1)["inserts"] == 3 and replay.stats(0)["episodes"] == 1

    run(work())


def test_a_call_that_was_taken_in_part_is_not_refused():
    """If the call failed, its caller would append all of its steps again."""

    async def work():
        replay, twin = Replay(text()), Replay(text())
        async with Server(replay, max_in_flight=64) as server:
            writer = await remote_writer(server.url, LEAVES, while_offline="fail")
            accepted = await server.met.get()
            task = asyncio.create_task(writer.append(steps(900)))
            while accepted.steps < 100:
                await asyncio.sleep(0)
            accepted._link.socket.transport.abort()
            await task
            await writer.close()
        twin.append(0, steps(900))
        twin.truncate(0)
        assert accepted.steps == 900
        same_memory(replay.save(), twin.save())

    run(work())


def test_a_call_goes_on_over_a_memory_that_takes_larger_frames():
    """Each step of the call arrives once, however the call is divided into blocks."""

    async def work():
        replay, twin = Replay(text()), Replay(text())
        async with Server(replay, max_in_flight=4000, limits=Limits(frame_bytes=1 << 17)) as server:
            writer = await remote_writer(server.url, LEAVES)
            accepted, before = await server.met.get(), writer._conversation.most
            # The parts of the call wait for room, before and after the reconnection.
            task = asyncio.create_task(writer.append(steps(9000)))
            while accepted.steps < 1000:
                await asyncio.sleep(0)
            server.options["limits"] = Limits(frame_bytes=1 << 19)
            accepted._link.socket.transport.abort()
            await task
            assert writer._conversation.most > before
            await writer.close()
        twin.append(0, steps(9000))
        twin.truncate(0)
        assert accepted.steps == 9000
        same_memory(replay.save(), twin.save())

    run(work())


def pass_time(writer):
    """Calls the function that the end of `reconnect_timeout` would call."""
    deadline = writer._conversation.dialer._deadline
    assert 0 < deadline.when() - asyncio.get_running_loop().time() <= 50
    deadline._callback(*deadline._args)


def test_an_opening_function_that_never_settles():
    async def work():
        replay, opened = Replay(text()), []

        async def dial():
            opened.append(1)
            if len(opened) == 1:
                return await connect(server.url, compression=None)
            # This function also ignores its cancellation.
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    stubborn.set()
                    return await connect(server.url, compression=None)

        stubborn = asyncio.Event()
        async with Server(replay, session_ttl=0.0) as server:
            writer = await remote_writer(dial, LEAVES, reconnect_timeout=50.0)
            (await server.met.get())._link.socket.transport.abort()
            while len(opened) < 2:
                await asyncio.sleep(0.001)
            pass_time(writer)
            error = await writer.closed
            assert error.code == "CLOSED" and "50.0 seconds" in str(error)
            await writer.close()
            # A late connection is closed.
            await stubborn.wait()
            assert (await server.met.get()).code == "CLOSED"

    run(work())


def test_a_memory_that_answers_and_never_welcomes():
    async def work():
        replay = Replay(text())

        async def talk(peer, k):
            if k == 0:
                await peer.send(welcome(replay))
                await peer.next(Kind.HELLO)
                peer.socket.transport.abort()
            else:
                await peer.next(Kind.HELLO)
                met.set()
            await peer.closed()

        met = asyncio.Event()
        async with Memory(talk) as memory:
            writer = await remote_writer(memory.url, LEAVES, reconnect_timeout=50.0)
            await met.wait()
            pass_time(writer)
            error = await writer.closed
            assert error.code == "CLOSED" and "50.0 seconds" in str(error)
            await writer.close()

    run(work())


def test_an_opening_function_that_fails_is_called_again():
    """The function may raise any error, because it may need anything that uses the network."""

    async def work():
        replay, calls = Replay(text()), []

        async def dial():
            calls.append(1)
            if len(calls) == 2:
                raise RuntimeError("no token")
            return await connect(server.url, compression=None)

        async with Server(replay) as server:
            writer = await remote_writer(dial, LEAVES)
            (await server.met.get())._link.socket.transport.abort()
            await writer.append(steps(1))
            await writer.close()
            assert len(calls) == 3 and replay.stats(1)["inserts"] == 1

    run(work())


def test_an_actor_that_comes_again_is_bound_by_the_newest_call():
    async def work():
        replay = Replay(text(1, FULL))
        async with Server(replay, max_in_flight=4, limits=Limits(in_flight_bytes=1 << 20, frame_bytes=1 << 18)) as server:
            async with Peer(server.url) as peer:
                await peer.send(hello(replay))
                assert (await peer.next(Kind.WELCOME)).fields["frameBytes"] == 1 << 18
                await peer.send(block(1, 2))
                accepted = await server.met.get()
            server.options.update(max_in_flight=99, limits=Limits(in_flight_bytes=150, frame_bytes=1 << 17), keep_alive=7.0)
            async with Peer(server.url) as peer:
                await peer.send(hello(replay, resume=True))
                fields = (await peer.next(Kind.WELCOME)).fields
                # Steps have the form of the first welcome, which must not change.
                assert (fields["frameBytes"], fields["inFlightBytes"], fields["keepAliveMs"], fields["maxInFlight"]) == (1 << 17, 150, 7000, 4)
                assert await server.met.get() is accepted
                await peer.send(block(2, 1), pack(Kind.PING))
                # 2 steps wait, and more bytes than the newest call allows.
                assert (await peer.closed())[0] == 4004
            assert (await accepted.closed).how == "failed"

    run(work())


def test_a_frame_is_as_large_as_the_newest_call_allows():
    async def work():
        replay = Replay(text())
        for first, second, code in ((1 << 17, 1 << 19, 1000), (1 << 19, 1 << 17, 4003)):
            async with Server(replay, limits=Limits(frame_bytes=first), max_in_flight=9000) as server:
                async with Peer(server.url) as peer:
                    await peer.send(hello(replay, session=f"{first:022}"))
                    await peer.next(Kind.WELCOME)
                server.options["limits"] = Limits(frame_bytes=second)
                async with Peer(server.url) as peer:
                    await peer.send(hello(replay, session=f"{first:022}", resume=True))
                    await peer.next(Kind.WELCOME)
                    # Written out, the columns of this block take 175 KB.
                    await peer.send(block(1, 2300), pack(Kind.BYE))
                    assert (await peer.closed())[0] == code

    run(work())


def test_the_time_to_come_again_is_of_the_newest_call():
    async def work():
        replay = Replay(text())
        async with Server(replay, session_ttl=60.0) as server:
            async with Peer(server.url) as peer:
                await peer.send(hello(replay))
                await peer.next(Kind.WELCOME)
            accepted = await server.met.get()
            server.options["session_ttl"] = 0.01
            async with Peer(server.url) as peer:
                await peer.send(hello(replay, resume=True))
                await peer.next(Kind.WELCOME)
            assert await accepted.closed == Goodbye("gone")

    run(work())


def test_flushes_that_are_sent_again_count_once():
    async def work():
        replay = Replay(text(1, FULL))
        async with Server(replay) as server, Line(server.port, []) as line:
            writer = await remote_writer(line.url, LEAVES)
            await writer.append(steps(4))
            waits = [asyncio.create_task(writer.flush()) for _ in range(900)]
            accepted = await server.met.get()
            while not accepted._calls == 900:
                await asyncio.sleep(0.001)
            for k in range(2):
                accepted._link.socket.transport.abort()
                while accepted.connected:
                    await asyncio.sleep(0.001)
                # The messages after the repeated flushes arrive.
                await writer.append(steps(1, 5 + k))
                while accepted._received < 2 + k and not writer.closed.done():
                    await asyncio.sleep(0.001)
                assert accepted._calls == 900 and writer.connected
            while not all(task.done() for task in waits):
                try:
                    replay.sample(1, 1)
                except ReplayError as error:
                    assert error.code in ("RATE_LIMITED", "EMPTY")
                await asyncio.sleep(0)
            assert [task.exception() for task in waits] == [None] * 900
            await writer.close()

    run(work())


def test_blocks_that_arrived_are_not_sent_again():
    """The same is true after a flush, which is answered."""

    async def work():
        replay, again = Replay(text()), []

        async def talk(peer, k):
            await peer.next(Kind.HELLO)
            if k == 0:
                await peer.send(welcome(replay))
                await peer.next(Kind.COLUMNS)
                await peer.next(Kind.FLUSH)
                await peer.next(Kind.COLUMNS)
                peer.socket.transport.abort()
                return
            await peer.send(welcome(replay, received=2))
            while (frame := unpack(await peer.socket.recv())).kind != Kind.BYE:
                again.append((frame.kind, frame.fields.get("number") or frame.fields.get("id")))
                if frame.kind == Kind.FLUSH:
                    await peer.send(pack(Kind.CONFIRMATION, {"number": 2}), pack(Kind.FLUSHED, {"id": 1}))
            await peer.send(pack(Kind.CLOSED))

        async with Memory(talk) as memory:
            writer = await remote_writer(memory.url, LEAVES)
            await writer.append(steps(1))
            flushed = asyncio.create_task(writer.flush())
            await asyncio.sleep(0)
            await writer.append(steps(1))
            await flushed
            await writer.append(steps(1))
            await writer.close()
        assert [kind for kind, _ in again if kind != Kind.HELLO] == [Kind.FLUSH, Kind.COLUMNS] and again[-1] == (Kind.COLUMNS, 3)

    run(work())


def test_lanes_and_sessions_are_limited(monkeypatch):
    async def work():
        replay = Replay(f"{LEAVES}\ntable t size 99\n" + "writer lanes 3\nrule t length 1\nwriter\nrule t length 1\nwriter\nrule t length 1")
        async with Server(replay, limits=Limits(lanes=2)) as server, Peer(server.url) as peer:
            await peer.send(hello(replay, lanes=3))
            error = (await peer.next(Kind.REFUSED)).fields["error"]
            assert error["code"] == "UNSUPPORTED" and "limits.lanes" in error["message"]
            code, reason = await peer.closed()
            assert code == 4001 and "3 lanes" in reason and (await server.met.get()).code == "UNSUPPORTED"
        limits = Limits(sessions=2)
        servers = [Server(replay, writer=k, limits=limits) for k in (1, 2, 0)]
        async with servers[0] as a, servers[1] as b, servers[2] as c:
            async with Peer(a.url) as first, Peer(b.url) as second:
                for peer, session in ((first, SESSION), (second, OTHER)):
                    await peer.send(hello(replay, session=session))
                    await peer.next(Kind.WELCOME)
                # One session is broken, the other has ended, and both are kept, since an actor may ask how its session ended.
                await second.send(pack(Kind.BYE))
                assert (await second.closed())[0] == 1000
            third = "c" * 22
            async with Peer(c.url) as peer:
                await peer.send(hello(replay, session=third, lanes=3))
                error = (await peer.next(Kind.REFUSED)).fields["error"]
                assert error["code"] == "RATE_LIMITED" and "limits.sessions" in error["message"]
                assert (await peer.closed())[0] == 4001 and (await c.met.get()).code == "RATE_LIMITED"
            # A resuming actor is accepted, and so is one that replaces a broken one.
            for session, resume in ((SESSION, True), ("d" * 22, False)):
                async with Peer(a.url) as peer:
                    await peer.send(hello(replay, session=session, resume=resume))
                    await peer.next(Kind.WELCOME)
            # A session that has ended is forgotten after a while.
            monkeypatch.setattr("reprise_replay.remote.sessions.monotonic", lambda: monotonic() + 61)
            async with Peer(c.url) as peer:
                await peer.send(hello(replay, session=third, lanes=3))
                await peer.next(Kind.WELCOME)
            async with Peer(b.url) as peer:
                await peer.send(hello(replay, session=OTHER, resume=True))
                assert (await peer.next(Kind.REFUSED)).fields["error"]["code"] == "NOT_FOUND"
        assert (Limits().lanes, Limits().sessions) == (1024, 4096)

    run(work())


def test_a_hello_of_another_session_breaks_the_protocol():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server, Peer(server.url) as peer:
            await peer.send(hello(replay))
            await peer.next(Kind.WELCOME)
            # A hello of the same session is ignored.
            await peer.send(hello(replay), block(1))
            await peer.next(Kind.CONFIRMATION)
            await peer.send(hello(replay, session=OTHER))
            assert (await peer.next(Kind.CLOSED)).fields["error"]["code"] == "INVALID_DATA"
            assert (await peer.closed())[0] == 4002
            accepted = await server.met.get()
            assert (await accepted.closed).how == "failed" and replay.stats(1)["inserts"] == 2
            # The other session does not exist, so nothing changes.
            async with Peer(server.url) as other:
                await other.send(hello(replay, session=OTHER, resume=True))
                assert (await other.next(Kind.REFUSED)).fields["error"]["code"] == "NOT_FOUND"

    run(work())


def test_a_secret_is_of_one_writer():
    async def work():
        replay = Replay(text() + "\nwriter\nrule b length 1")
        async with Server(replay) as server, Server(replay, writer=1) as other:
            async with Peer(server.url) as peer:
                await peer.send(hello(replay))
                await peer.next(Kind.WELCOME)
                for resume in (False, True):
                    async with Peer(other.url) as second:
                        await second.send(hello(replay, resume=resume))
                        assert (await second.next(Kind.REFUSED)).fields["error"]["code"] == "NOT_FOUND"
                await peer.send(pack(Kind.BYE))
                await peer.closed()
            # The actor does not learn the end of another writer's session either.
            async with Peer(other.url) as second:
                await second.send(hello(replay, resume=True))
                assert (await second.next(Kind.REFUSED)).fields["error"]["code"] == "NOT_FOUND"

    run(work())


def test_messages_count_on_from_those_of_an_earlier_memory():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server, Peer(server.url) as peer:
            await peer.send(hello(replay, receipt=7))
            await peer.next(Kind.WELCOME)
            accepted = await server.met.get()
            await accepted.send("new")
            assert (await peer.next(Kind.MESSAGE)).fields["number"] == 8
            # A message that was not sent cannot have been handled, so the session does not change.
            async with Peer(server.url) as liar:
                await liar.send(hello(replay, receipt=9, resume=True))
                assert (await liar.next(Kind.REFUSED)).fields["error"]["code"] == "INVALID_DATA"
                assert (await liar.closed())[0] == 4002
            await peer.send(block(1), pack(Kind.RECEIPT, {"number": 8}))
            await peer.next(Kind.CONFIRMATION)
            assert accepted.connected and accepted._messages.size == 0

    run(work())


def test_a_session_that_has_ended_keeps_no_messages():
    async def work():
        replay = Replay(text())
        async with Server(replay) as server, Peer(server.url) as peer:
            await peer.send(hello(replay))
            await peer.next(Kind.WELCOME)
            accepted = await server.met.get()
            await accepted.send(bytes(1 << 19))
            accepted.publish(bytes(1 << 19))
            accepted.publish(bytes(1 << 19))
            await peer.send(pack(Kind.BYE))
            await peer.closed()
            assert accepted._messages.unconfirmed() == [] and accepted._messages._newest is None

    run(work())


def test_a_loop_that_has_ended_holds_no_writer():
    """A learner may call asyncio.run again with the same Replay."""
    replay = Replay(text())

    async def first():
        async with Server(replay) as server:
            writer = await remote_writer(server.url, LEAVES)
            await writer.append(steps(2))
            await writer.flush()
            await server.met.get()
            return writer._conversation._session

    async def second(session):
        async with Server(replay) as server:
            async with Peer(server.url) as peer:
                await peer.send(hello(replay, session=session, resume=True))
                assert (await peer.next(Kind.REFUSED)).fields["error"]["code"] == "NOT_FOUND"
            before = replay.stats(1)["inserts"]
            async with await remote_writer(server.url, LEAVES) as writer:
                await writer.append(steps(3))
        assert replay.stats(1)["inserts"] == before + 3

    # All tasks of one loop are cancelled, and another loop only stops.
    session = asyncio.run(first())
    run(second(session))
    stopped = asyncio.new_event_loop()
    session = stopped.run_until_complete(first())
    run(second(session))
    for task in asyncio.all_tasks(stopped):
        task.cancel()
    stopped.run_until_complete(asyncio.gather(*asyncio.all_tasks(stopped), return_exceptions=True))
    stopped.close()


def test_a_memory_that_has_lost_what_it_confirmed():
    async def work():
        for changes in ({"received": 0}, {"received": 1, "confirmed": 2}, {"received": 99, "confirmed": 1}, {"received": 1, "confirmed": 1, "maxInFlight": 5}):
            replay = Replay(text())

            async def talk(peer, k, replay=replay, changes=changes):
                await peer.next(Kind.HELLO)
                await peer.send(welcome(replay) if k == 0 else welcome(replay, **changes))
                if k == 0:
                    await peer.next(Kind.COLUMNS)
                    await peer.send(pack(Kind.CONFIRMATION, {"number": 1}))
                    await peer.next(Kind.FLUSH)
                    peer.socket.transport.abort()
                else:
                    assert (await peer.closed())[0] == 4001

            async with Memory(talk) as memory:
                writer = await remote_writer(memory.url, LEAVES)
                await writer.append(steps(1))
                with pytest.raises(ReplayError, match="INVALID_DATA"):
                    await writer.flush()
                assert (await writer.closed).code == "INVALID_DATA"
                await writer.close()

    run(work())


def test_a_goodbye_counts_only_if_it_was_sent():
    """A memory that closes the writer before the goodbye has not taken all appended steps."""

    async def work():
        replay, lost = Replay(text()), asyncio.Event()

        async def talk(peer, k):
            await peer.next(Kind.HELLO)
            if k == 0:
                await peer.send(welcome(replay))
                await peer.next(Kind.COLUMNS)
                peer.socket.transport.abort()
            else:
                await lost.wait()
                await peer.send(pack(Kind.CLOSED))
                await peer.closed()

        async with Memory(talk) as memory:
            writer = await remote_writer(memory.url, LEAVES)
            await writer.append(steps(1))
            while writer.connected:
                await asyncio.sleep(0.001)
            await writer.append(steps(1))
            closing = asyncio.create_task(writer.close())
            await asyncio.sleep(0)
            lost.set()
            with pytest.raises(ReplayError, match="CLOSED"):
                await closing

    run(work())


def test_a_farewell_that_was_lost_with_the_session():
    """All steps were confirmed, so nothing is lost."""

    async def work():
        for confirms, ends_well in ((True, True), (False, False)):
            replay = Replay(text())

            async def talk(peer, k, replay=replay, confirms=confirms):
                await peer.next(Kind.HELLO)
                if k == 0:
                    await peer.send(welcome(replay))
                    await peer.next(Kind.COLUMNS)
                    if confirms:
                        await peer.send(pack(Kind.CONFIRMATION, {"number": 1}))
                    await peer.next(Kind.BYE)
                    peer.socket.transport.abort()
                else:
                    await peer.send(pack(Kind.REFUSED, {"error": {"kind": "ReplayError", "code": "NOT_FOUND", "message": "gone"}}))

            async with Memory(talk) as memory:
                writer = await remote_writer(memory.url, LEAVES)
                await writer.append(steps(1))
                if ends_well:
                    await writer.close()
                else:
                    with pytest.raises(ReplayError, match="NOT_FOUND"):
                        await writer.close()

    run(work())


def test_pings_are_as_the_memory_says():
    """The Replay's end sets the interval of pings: pings would wake a host that hibernates, and frequent pings detect a dead actor sooner."""

    async def work():
        replay = Replay(text())

        async def talk(peer, _):
            await peer.send(welcome(replay, keepAliveMs=20, keepAliveTimeoutMs=5000))
            await peer.next(Kind.PING)
            await peer.send(pack(Kind.PONG))
            await peer.next(Kind.PING)
            await peer.send(pack(Kind.CLOSED))

        async with Memory(talk) as memory:
            writer = await remote_writer(memory.url, LEAVES)
            await writer.closed
            await writer.close()
        for wrong in ({"keepAliveMs": 0}, {"keepAliveTimeoutMs": 2**40}, {"shared": [{"leaves": [9], "frameBytes": 16, "capacity": 6}]}):

            async def wrongly(peer, _, wrong=wrong):
                await peer.send(welcome(replay, **wrong))
                assert (await peer.closed())[0] in (4001, 4002)

            async with Memory(wrongly) as memory:
                with pytest.raises(ReplayError, match="INVALID_DATA"):
                    await remote_writer(memory.url, LEAVES)

    run(work())


def test_a_connection_that_is_half_open_is_given_up():
    """The peer does not read, so not even a close arrives."""

    async def work():
        replay = Replay(text())
        async with Server(replay, session_ttl=0.0) as server:
            socket = await connect(server.url, compression=None)
            await socket.send(hello_frame(replay))
            accepted = await server.met.get()
            accepted._link.socket.pause_writing()
            socket.transport.pause_reading()
            publish(replay, bytes(1 << 20))
            accepted._link.watch(0.01, 0.01)
            assert (await accepted.closed).how == "gone"
            socket.transport.abort()

    def hello_frame(replay):
        return pack(Kind.HELLO, hello_of(replay))

    run(work())


def test_a_peer_that_does_not_read_its_farewell_is_not_waited_for():
    async def work():
        replay = Replay(text())
        async with Server(replay, keep_alive_timeout=0.05) as server:
            socket = await connect(server.url, compression=None)
            await socket.send(hello(replay))
            accepted = await server.met.get()
            accepted._link.socket.pause_writing()
            socket.transport.pause_reading()
            accepted.publish(bytes(1 << 20))
            await asyncio.sleep(0)
            accepted.close()
            assert (await accepted.closed).how == "closed"
            socket.transport.abort()

    run(work())


def test_a_fault_of_the_memory_tells_the_actor(monkeypatch):
    """The session does not occupy the writer, and the socket does not stay open."""

    async def work():
        replay = Replay(text())
        reported = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        async with Server(replay) as server, Peer(server.url) as peer:
            await peer.send(hello(replay))
            await peer.next(Kind.WELCOME)
            accepted = await server.met.get()
            monkeypatch.setattr(accepted._intake, "read", lambda *_: 1 / 0)
            await peer.send(block(1))
            assert (await peer.closed())[0] == 4000
            assert isinstance((await accepted.closed).error, ZeroDivisionError)

    run(work())


def test_options_of_limits():
    async def work():
        replay = Replay(text())
        for limits in (Limits(lanes=0), Limits(sessions=0), Limits(sessions=1.5), Limits(frame_bytes=1 << 31), Limits(frame_bytes=2e5), Limits(bytes_per_second=np.nan)):
            with pytest.raises(ReplayError, match=f"INVALID: {'|'.join(Limits._fields)}"):
                await accept(None, replay, limits=limits)
        for options in ({"max_in_flight": 1.5}, {"max_in_flight": np.inf}, {"keep_alive": 0.0001}, {"keep_alive_timeout": np.nan}, {"session_ttl": np.nan}):
            with pytest.raises(ReplayError, match=f"INVALID: {next(iter(options))}"):
                await accept(None, replay, **options)
        with pytest.raises(ReplayError, match="INVALID: reconnect_timeout"):
            await remote_writer("ws://127.0.0.1:1", LEAVES, reconnect_timeout=-1)
        # Infinity becomes the longest time that both ends can represent.
        async with Server(replay, keep_alive=np.inf, keep_alive_timeout=np.inf, session_ttl=np.inf) as server:
            async with await remote_writer(server.url, LEAVES) as writer:
                await writer.append(steps(1))

    run(work())
