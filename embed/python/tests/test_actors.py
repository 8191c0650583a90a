"""Tests remote writers between Python and JavaScript, in both directions."""

import asyncio
import json

import pytest
from remote import LEAVES, Line, Server, cuts, javascript, run, same_memory, steps, text
from reprise_replay import Replay, ReplayError
from reprise_replay.remote import Limits, remote_writer
from test_remote import play, twin


@pytest.mark.parametrize(("lanes", "seed", "breaks"), [(1, 3, 0), (2, 5, 0), (1, 7, 12), (2, 11, 12), (3, 13, 12)])
def test_javascript_writes_to_python(lanes, seed, breaks, tmp_path):
    async def work():
        replay = Replay(text(lanes))
        async with Server(replay) as server, Line(server.port, [1 << 60] * (breaks == 0) or [8000, *cuts(seed, breaks, 9000)]) as line:
            actor = await javascript("write", line.url, lanes, seed, tmp_path)
            accepted = await server.met.get()
            await accepted.send(b"abc")
            await accepted.send({"level": 2})
            out, _ = await actor.communicate()
            assert actor.returncode == 0
            assert json.loads(out)["messages"] == [[97, 98, 99], {"level": 2}]
            assert (await accepted.closed).how == "left" and accepted.steps > 300
            assert (line.breaks > 3) == (breaks > 0)
        same_memory(replay.save(), (tmp_path / "snapshot").read_bytes())

    run(work())


@pytest.mark.parametrize(("lanes", "seed", "breaks"), [(1, 1, 0), (3, 2, 0), (1, 4, 12), (2, 6, 12)])
def test_python_writes_to_javascript(lanes, seed, breaks, tmp_path):
    async def work():
        memory = await javascript("accept", lanes, tmp_path)
        port, got = int(await memory.stdout.readline()), []
        async with Line(port, [1 << 60] * (breaks == 0) or [8000, *cuts(seed, breaks, 5000)]) as line:
            async with await remote_writer(line.url, LEAVES, lanes=lanes, on_message=got.append) as writer:
                assert writer.tables == ("a", "b", "c")
                await play(writer, seed, lanes)
                if breaks == 0:
                    with pytest.raises(ReplayError, match="OUT_OF_TURN"):
                        await remote_writer(f"ws://127.0.0.1:{port}", LEAVES, lanes=lanes)
                    assert json.loads(await memory.stdout.readline()) == {"refused": "OUT_OF_TURN"}
                await writer.flush()
            assert got == [{"hello": "actor"}, bytes([1, 2, 3])]
            assert (line.breaks > 3) == (breaks > 0)
        # Connections that broke before their hello had no effect. The connections of the session end with it.
        while "how" not in (said := json.loads(await memory.stdout.readline())):
            assert said == {"refused": "CLOSED"} and breaks > 0
        assert said["how"] == "left" and said["steps"] > 100
        memory.stdin.close()
        await memory.wait()
        same_memory((tmp_path / "snapshot").read_bytes(), await twin(seed, lanes))

    run(work())


@pytest.mark.parametrize("most", [700, 2700])
def test_javascript_counts_as_python_does(most, tmp_path):
    """The credits are so few that a writer that counted less would be closed, and a writer that counted more would wait forever."""

    async def work():
        replay = Replay(text(2))
        async with Server(replay, limits=Limits(in_flight_bytes=most)) as server:
            actor = await javascript("write", server.url, 2, 5, tmp_path)
            accepted = await server.met.get()
            await actor.communicate()
            assert actor.returncode == 0 and (await accepted.closed).how == "left"
        same_memory(replay.save(), (tmp_path / "snapshot").read_bytes())
        memory = await javascript("accept", 2, tmp_path, most)
        async with await remote_writer(f"ws://127.0.0.1:{int(await memory.stdout.readline())}", LEAVES, lanes=2) as writer:
            await play(writer, 5, 2)
        assert json.loads(await memory.stdout.readline())["how"] == "left"
        memory.stdin.close()
        await memory.wait()
        same_memory((tmp_path / "snapshot").read_bytes(), await twin(5, 2))

    run(work())


def test_javascript_refuses_another_spec(tmp_path):
    async def work():
        memory = await javascript("accept", 1, tmp_path)
        url = f"ws://127.0.0.1:{int(await memory.stdout.readline())}"
        with pytest.raises(ReplayError, match="SPEC_MISMATCH"):
            await remote_writer(url, LEAVES.replace("i32", "i16"))
        # Only the memory can detect that this value is invalid.
        writer = await remote_writer(url, LEAVES)
        await writer.append({**steps(1), "reward": [float("inf")]})
        assert (await writer.closed).code == "INVALID_DATA"
        memory.stdin.close()
        await memory.wait()

    run(work())


def test_javascript_is_refused_what_python_cannot_do(tmp_path):
    async def work():
        replay = Replay(text(2))
        async with Server(replay) as server:
            actor = await javascript("write", server.url, 1, 1, tmp_path, stderr=asyncio.subprocess.PIPE)
            assert (await server.met.get()).code == "SPEC_MISMATCH"
            _, err = await actor.communicate()
            assert b"SPEC_MISMATCH" in err and b"2 lanes" in err

    run(work())
