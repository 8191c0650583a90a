"""Opens the connections of a writer, one after the other, until the writer ends."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Protocol

from websockets.asyncio.client import connect as connect_to
from websockets.asyncio.connection import Connection
from websockets.exceptions import WebSocketException

from ..instance import ReplayError
from .frame import FINAL, Close, Frame, ProtocolError
from .link import Link

#: The first and the longest pause before another attempt, in seconds. The pause doubles each time.
_FIRST, _LAST = 0.1, 10.0
#: The maximum size of a message from the Replay, whose program may send messages of any size; and the times of silence in seconds until the Replay sets them.
_MESSAGE_BYTES, _ALIVE, _TIMEOUT = 1 << 30, 30.0, 20.0

#: A URL, an open connection, or a function that opens one.
Target = str | Connection | Callable[[], Awaitable[Connection]]


class Speaker(Protocol):
    """Handles the frames of a writer over its connections."""

    @property
    def is_over(self) -> bool: ...
    @property
    def was_welcome(self) -> bool: ...
    def greet(self, link: Link) -> None: ...
    def receive(self, link: Link, frame: Frame) -> None: ...
    def lose(self, link: Link) -> None: ...
    def end(self, error: ReplayError | None, code: Close) -> None: ...
    def fail(self, cause: Exception) -> None: ...


class Dialer:
    """Opens the connections of a writer, and reads them."""

    def __init__(self, target: Target, reconnect_timeout: float, speaker: Speaker) -> None:
        self._target, self._timeout, self._speaker = target, reconnect_timeout, speaker
        self._loop = asyncio.get_running_loop()
        self._pause, self._why = _FIRST, ""
        self._deadline: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._runner = self._loop.create_task(self._run())

    @property
    def reconnects(self) -> bool:
        """Whether the dialer can open another connection."""
        return not isinstance(self._target, Connection)

    def welcomed(self) -> None:
        """Records that the Replay has welcomed the writer over the newest connection."""
        self._pause = _FIRST
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def lost(self) -> None:
        """Starts the `reconnect_timeout` after a welcomed connection was lost."""
        if self._deadline is None and not self._speaker.is_over:
            self._deadline = self._loop.call_later(self._timeout, self._give_up)

    def stop(self) -> None:
        """Stops opening and reading connections."""
        if self._deadline is not None:
            self._deadline.cancel()
        if asyncio.current_task() is not self._runner:
            self._runner.cancel()

    async def stopped(self) -> None:
        """Waits until the last connection is closed."""
        await asyncio.gather(self._runner, return_exceptions=True)

    def _give_up(self) -> None:
        self._speaker.end(ReplayError(f"CLOSED: there was no connection to the Replay for {self._timeout} seconds{self._why}"), Close.NORMAL)

    async def _run(self) -> None:
        try:
            await self._connect()
        except Exception as error:
            self._speaker.fail(error)

    async def _connect(self) -> None:
        """Connects, and connects again, until the writer ends."""
        speaker = self._speaker
        while not speaker.is_over:
            try:
                socket = await self._open()
            except Exception as error:
                # On the first attempt, the address may be wrong. Later, a failure may be temporary, such as a network problem.
                if not self.reconnects or not speaker.was_welcome:
                    if not isinstance(error, (OSError, WebSocketException, asyncio.TimeoutError)):
                        raise
                    speaker.end(ReplayError(f"CLOSED: there was no connection to the Replay: {error}"), Close.NORMAL)
                    return
                self._why = f": {error}"
            else:
                await self._talk(socket)
                if speaker.is_over:
                    return
                code = socket.close_code
                said = f" ({code}: {socket.close_reason})" if code is not None and code != 1006 else ""
                if not self.reconnects or (code is not None and code in FINAL) or not speaker.was_welcome:
                    speaker.end(ReplayError(f"CLOSED: the connection to the Replay closed{said}"), Close.NORMAL)
                    return
                self._why = f": the connection closed{said}"
            # Half of the pause is random, so that the writers of a server do not all return together.
            await asyncio.sleep(self._pause * random.uniform(0.5, 1))
            self._pause = min(2 * self._pause, _LAST)

    async def _open(self) -> Connection:
        target = self._target
        if isinstance(target, Connection):
            return target

        async def opened() -> Connection:
            return await (connect_to(target, max_size=None, compression=None) if isinstance(target, str) else target())

        opening = self._loop.create_task(opened())
        try:
            # The task is not awaited directly, because a function of the program may ignore its cancellation.
            await asyncio.wait({opening})
        except asyncio.CancelledError:
            opening.cancel()
            opening.add_done_callback(self._dismiss)
            raise
        return opening.result()

    def _dismiss(self, opening: asyncio.Task[Connection]) -> None:
        """Closes a connection that was opened too late."""
        if not opening.cancelled() and opening.exception() is None:
            closing = self._loop.create_task(opening.result().close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _talk(self, socket: Connection) -> None:
        """Exchanges frames over one connection until it ends."""
        speaker, link = self._speaker, Link(socket, _MESSAGE_BYTES, _ALIVE, _TIMEOUT)
        speaker.greet(link)
        try:
            await link.frames(lambda frame, _: speaker.receive(link, frame))
        except ReplayError as error:
            link.close(error.close if isinstance(error, ProtocolError) else Close.PROTOCOL, str(error))
            speaker.end(error, Close.PROTOCOL)
        except BaseException as error:
            link.close(Close.NORMAL)
            if not isinstance(error, Exception):
                raise
            speaker.fail(error)
        finally:
            speaker.lose(link)
            await link.stop()
