"""Creates remote writers, whose Replay is at the other end of a WebSocket."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from typing import Any, Literal, SupportsIndex

from ..instance import ReplayError, must
from ..replay import Replay
from .dialer import Target
from .writer import RemoteWriter


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
    """Connects to a Replay in another process, such as one that called `replay.acceptWriter` in Node. Returns when that end has
    welcomed the writer.

    `target`: the URL of a WebSocket, an open connection, or a function that opens one. If the connection breaks and `target` is
    a URL or a function, the writer connects again after a pause, which doubles from 0.1 to 10 seconds. A URL is opened without
    compression. `leaves`: lines `leaf …` as in the text of a Replay; both ends must have the same leaves. `while_offline`:
    whether calls wait or fail while there is no connection; a call that was accepted in part always waits. `on_message`:
    receives the messages of the Replay's end, as bytes or JSON values. `reconnect_timeout`: the maximum number of seconds from
    the loss of a connection to the next welcome; after that the writer fails with `CLOSED`, even if the function that opens a
    connection has not returned. `timeout`: the seconds to wait for the first welcome; None for no limit.

    Raises ReplayError: the error of the Replay's end, `CLOSED` if there is no connection, `TIMEOUT` if there is no welcome in
    time.
    """
    must(while_offline in ("wait", "fail"), f'INVALID: while_offline must be "wait" or "fail", got {while_offline!r}')
    number = operator.index(lanes)
    must(1 <= number <= 65536, f"INVALID: lanes must be from 1 to 65536, got {lanes}")
    must(reconnect_timeout >= 0, f"INVALID: reconnect_timeout must be 0 seconds or more, got {reconnect_timeout}")
    # This local Replay parses the lines and checks steps. It stores nothing.
    local = Replay(f"{leaves}\ntable steps size 1")
    writer = RemoteWriter(target, local.leaves, number, while_offline, on_message, local._taken, reconnect_timeout)
    try:
        await asyncio.wait_for(writer.met(), timeout)
    except asyncio.TimeoutError:
        writer.abort()
        raise ReplayError(f"TIMEOUT: no Replay answered the writer within {timeout} seconds") from None
    except BaseException:
        writer.abort()
        raise
    return writer
