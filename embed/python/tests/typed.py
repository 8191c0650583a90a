"""A user program for mypy (test_types.py). Lines with expected errors have `type: ignore` with the error code. An unused ignore is also an error."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from reprise_replay import TERMINATED, Batch, Batches, Column, Replay, ReplayError, epoch_state
from reprise_replay.remote import AcceptedWriter, Goodbye, Limits, RemoteWriter, accept, publish, remote_writer
from typing_extensions import assert_type
from websockets.asyncio.server import ServerConnection

replay = Replay("leaf x f32\ntable t size 9\nrule t length 1\nview t items")
assert_type(replay.append(0, {"x": [1.0, 2.0]}, ends=[0, TERMINATED], finals={"x": np.zeros(1)}), int)
assert_type(replay.append(np.int64(0), b"\0\0\0\0"), int)
assert_type(replay.end(0, TERMINATED), int)
assert_type(replay.item(0, 0, 1, 0.5, lane=0), bool)
batch = replay.sample(0, 32, copy=False)
assert_type(batch, Batch)
assert_type(batch["x"], NDArray[Any])
assert_type(replay.batches(0, 32, lambda index: 0.4 + index, count=9, timeout=None), Batches)
for one in replay.batches(0, 32, 0.4):
    assert_type(one, Batch)
for one in replay.epochs(0, 32, state=epoch_state(3)):
    assert_type(one, Batch)
assert_type(replay.update(0, batch["keys"], [1.0]), int)
assert_type(replay.stats()["size"], int)
assert_type(replay.save(), bytes)
assert_type(replay.leaves["x"], Column)
replay.save("path")
with Replay.load(replay.save(), "view t items") as loaded:
    assert_type(loaded, Replay)
try:
    replay.delete(0, batch["keys"])
except ReplayError as error:
    assert_type(error.code, str)
    assert_type(error.result, int | None)



async def actor() -> None:
    async with await remote_writer("ws://127.0.0.1:1", "leaf x f32", lanes=2, while_offline="fail", on_message=print) as writer:
        assert_type(writer, RemoteWriter)
        await writer.append({"x": [1.0, 2.0]}, [0, TERMINATED], {"x": [1.0]})
        await writer.item("t", 1, "max")
        assert_type(await writer.closed, ReplayError | None)
        await remote_writer("ws://127.0.0.1:1", "leaf x f32", while_offline="never")  # type: ignore[arg-type]
        await writer.append([1.0])  # type: ignore[arg-type]


async def serve_one(websocket: ServerConnection) -> None:
    accepted = await accept(websocket, replay, writer=0, limits=Limits(steps_per_second=100, lanes=4, sessions=100), session_ttl=1.5)
    assert_type(accepted, AcceptedWriter)
    await accepted.send({"level": 2})
    publish(replay, b"weights")
    assert_type(await accepted.closed, Goodbye)
    await accept(websocket, replay, confirm="disk")  # type: ignore[arg-type]


Replay(5)  # type: ignore[arg-type]
Replay("leaf x f32", wasn="path")  # type: ignore[call-arg]
replay.append("writer", {})  # type: ignore[arg-type]
replay.append(0, [1.0])  # type: ignore[arg-type]
replay.sample(0)  # type: ignore[call-arg]
replay.sample(0, 1.5)  # type: ignore[arg-type]
replay.batches(0, 32, "0.4")  # type: ignore[arg-type]
replay.sample(0, 1)["x"].nothing  # type: ignore[attr-defined]
