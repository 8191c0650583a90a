"""Makes writers whose Replay is at the other end of a WebSocket."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from typing import Any, Literal, SupportsIndex

from ..instance import ReplayError, must
from ..replay import Replay
from .writer import RemoteWriter, Target


async def remote_writer(
    target: Target,
    leaves: str,
    *,
    lanes: SupportsIndex = 1,
    while_offline: Literal["wait", "fail"] = "wait",
    on_message: Callable[[Any], object] | None = None,
    reconnect_timeout: float = 60.0,
    timeout: float | None = 30.0,
) -> RemoteWriter:
    """Connects to a Replay elsewhere, such as one that called `replay.acceptWriter` in Node, and returns once it is welcome.

    `target`: the URL of a WebSocket, an open connection, or a function that opens one. All but an open connection are opened again
    if the connection breaks, after a pause that doubles from 0.1 to 10 seconds. A URL is opened without compression. `leaves`: lines `leaf …` as in the text of a
    Replay; both ends must have the same. `while_offline`: whether calls wait or fail while there is no connection. `on_message`
    receives what the memory sends: bytes, or what JSON holds. `reconnect_timeout`: seconds of tries, after which the writer fails
    with `CLOSED`. `timeout`: seconds until the welcome, None for no limit.

    Raises ReplayError: what the memory refused, `CLOSED` if there is no connection, `TIMEOUT`.
    """
    must(while_offline in ("wait", "fail"), f'INVALID: while_offline must be "wait" or "fail", got {while_offline!r}')
    number = operator.index(lanes)
    must(1 <= number <= 65536, f"INVALID: lanes must be from 1 up to 65536, got {lanes}")
    # It reads the lines, and checks steps; nothing is stored in it.
    local = Replay(f"{leaves}\ntable steps size 1")
    writer = RemoteWriter(target, local.leaves, number, while_offline, on_message, local._taken, reconnect_timeout)
    try:
        await asyncio.wait_for(asyncio.shield(writer._met), timeout)
    except asyncio.TimeoutError:
        writer.abort()
        raise ReplayError(f"TIMEOUT: no memory has welcomed the writer within {timeout} seconds") from None
    except BaseException:
        writer.abort()
        raise
    return writer
