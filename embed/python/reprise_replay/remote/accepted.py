"""The memory's end of a remote writer: takes its steps in order, confirms them, and sends messages back. It outlives a connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from ..instance import ReplayError
from .frame import Close, Frame, Kind, ProtocolError, count, error_of, pack
from .intake import Intake
from .layout import Frames
from .limits import Limits, Throttle
from .link import Link
from .messages import Messages, encoded

#: Calls that may wait for an answer, and bytes of messages without a receipt before `send` waits.
_MAX_CALLS, _SENT_BYTES = 1000, 1 << 20
#: Errors that are not the writer's fault.
_OWN_FAULTS = ("OUT_OF_MEMORY", "CLOSED", "KEYS_EXHAUSTED", "RATE_LIMITED", "OUT_OF_TURN")


class Goodbye(NamedTuple):
    """How a writer ended: by its `close`, because it is gone, by `close` here, or by an error that it was told."""

    how: Literal["left", "gone", "closed", "failed"]
    error: BaseException | None = None


class Settings(NamedTuple):
    """Options of `accept`, checked."""

    max_in_flight: int
    limits: Limits
    session_ttl: float
    keep_alive: float
    keep_alive_timeout: float


class AcceptedWriter:
    """A writer whose environment is at the other end of a socket. `accept` makes it."""

    #: Resolves when the writer has ended and its steps are in the Replay. It never raises.
    closed: asyncio.Future[Goodbye]

    def __init__(self, intake: Intake, session: str, reconnects: bool, settings: Settings, on_end: Callable[[dict[str, Any] | None, Close], None]) -> None:
        self.session, self._reconnects, self._settings, self._on_end = session, reconnects, settings, on_end
        self._intake = intake
        self._loop = asyncio.get_running_loop()
        self.closed = self._loop.create_future()
        self._is_over = False
        self._queue: deque[tuple[Frame, Frames, int, int]] = deque()
        self._received, self._confirmed, self._calls = 0, 0, 0
        self._unconfirmed: deque[tuple[int, int, int]] = deque()
        self._in_flight_steps, self._in_flight_bytes = 0, 0
        self._throttles = Throttle(settings.limits.steps_per_second), Throttle(settings.limits.bytes_per_second)
        self._messages = Messages()
        self._link: Link | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._work = asyncio.Event()
        self._room = asyncio.Event()
        self._receipts = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watcher = lambda: _call(self._loop, self._room.set)
        self._worker = self._start(self._process())

    @property
    def steps(self) -> int:
        """Rows that are in the Replay."""
        return self._intake.steps

    @property
    def connected(self) -> bool:
        """Whether the writer has a connection now. Without one it may come again, until `closed` resolves."""
        return self._link is not None

    @property
    def position(self) -> tuple[int, int]:
        """The last block that is here, and the last one that is confirmed."""
        return self._received, self._confirmed

    async def send(self, message: Any) -> None:
        """Sends a message to the writer's `onmessage`, after all earlier ones: bytes as they are, anything else as JSON.

        A message arrives once, even if the connection breaks and the writer comes again. It waits while 1 MiB is on its way.

        Raises ReplayError: `CLOSED` if the writer has ended. TypeError or ValueError for what JSON cannot hold.
        """
        kind, data = encoded(message)
        while not self._is_over and self._messages.size > _SENT_BYTES:
            self._receipts.clear()
            await self._receipts.wait()
        if self._is_over:
            raise ReplayError("CLOSED: the writer has ended")
        self._post_message(self._messages.push(kind, data))

    def publish(self, message: Any) -> None:
        """Sends a message like `send`, but in the place of a published one that still waits: a slow writer receives only the newest."""
        self._publish(*encoded(message))

    def _publish(self, kind: str, data: bytes) -> None:
        message = None if self._is_over else self._messages.publish(kind, data)
        if message is not None:
            self._post_message(message)

    def close(self) -> None:
        """Ends the writer: steps that still wait for a rate limiter are dropped, the open episode is truncated, and the actor is told `CLOSED`."""
        self.end(Goodbye("closed"), ReplayError("CLOSED: the writer was closed where the memory is"), Close.NORMAL)

    def attach(self, link: Link, receipt: int) -> None:
        """Continues over a link whose other end has handled the messages up to `receipt`."""
        if self._expiry is not None:
            self._expiry.cancel()
        if self._link is not None:
            self._link.close(Close.REPLACED, "another connection has this session now")
        self._link = link
        if receipt > 0:
            self._on_receipt(receipt)
        for message in self._messages.unconfirmed():
            self._post_message(message)

    def receive(self, frame: Frame, frames: Frames, size: int) -> None:
        """Takes a frame.

        Raises ProtocolError if it must not come now.
        """
        if self._is_over or frame.kind == Kind.HELLO:
            return
        if frame.kind == Kind.RECEIPT:
            self._on_receipt(count(frame.fields, "number"))
            return
        steps = 0
        if frame.kind in (Kind.BLOCK, Kind.COLUMNS):
            number, limits = count(frame.fields, "number"), self._settings.limits
            if number <= self._received:
                if number <= self._confirmed:
                    self._post(Kind.CONFIRMATION, {"number": self._confirmed})
                return
            if number != self._received + 1:
                raise ProtocolError(f"blocks count without a gap, got {number} after {self._received}")
            if self._in_flight_steps >= self._settings.max_in_flight or self._in_flight_bytes >= limits.in_flight_bytes:
                raise ProtocolError(f"{self._in_flight_steps} steps and {self._in_flight_bytes} bytes are not confirmed", Close.TOO_MUCH)
            steps = self._intake.count(frame)
            self._received = number
            self._unconfirmed.append((number, steps, size))
            self._in_flight_steps += steps
            self._in_flight_bytes += size
        elif frame.kind in (Kind.FLUSH, Kind.BYE):
            self._calls += 1
            if self._calls > _MAX_CALLS:
                raise ProtocolError(f"{self._calls} calls wait for an answer", Close.TOO_MUCH)
        else:
            raise ProtocolError(f"a memory does not take a frame of kind {frame.kind.name.lower()}")
        self._queue.append((frame, frames, steps, size))
        self._work.set()

    def lose(self, link: Link) -> None:
        """The connection broke. The session waits for the writer, if it comes again."""
        if self._link is not link or self._is_over:
            return
        self._link = None
        if self._reconnects and self._settings.session_ttl > 0:
            self._expiry = self._loop.call_later(self._settings.session_ttl, self.abandon)
        else:
            self._queue.append((Frame(Kind.BYE, {"gone": True}, memoryview(b"")), Frames([]), 0, 0))
            self._work.set()

    def abandon(self) -> None:
        """Ends the session of a writer that does not come again."""
        self.end(Goodbye("gone"))

    def fail(self, error: BaseException) -> None:
        """Ends the session by an error."""
        own = isinstance(error, ReplayError) and error.code in _OWN_FAULTS and not isinstance(error, ProtocolError)
        self.end(Goodbye("failed", error), error, error.close if isinstance(error, ProtocolError) else Close.FAILED if own else Close.PROTOCOL)

    def end(self, goodbye: Goodbye, error: BaseException | None = None, code: Close = Close.NORMAL) -> None:
        """Ends the session, and tells the actor why."""
        if self._is_over:
            return
        if self._expiry is not None:
            self._expiry.cancel()
        self._queue.clear()
        # Of a Replay that is closed there is nothing to truncate.
        with contextlib.suppress(ReplayError):
            self._intake.replay.truncate(self._intake.writer)
        self._is_over = True
        farewell = {} if error is None else {"error": error_of(error)}
        # Steps of a writer that is gone may be lost. If it comes again, it must not hear that all is well.
        self._on_end(None if goodbye.how == "gone" else farewell, code)
        link, self._link = self._link, None
        if link is None:
            self.closed.set_result(goodbye)
        else:
            link.post(pack(Kind.CLOSED, farewell))
            # Not before the other end was told: who waits for this may close the socket.
            link.close(code, "" if error is None else str(error), lambda: self.closed.set_result(goodbye))
        for event in (self._work, self._room, self._receipts):
            event.set()
        current = asyncio.current_task() if _in_loop(self._loop) else None
        for task in self._tasks:
            if task is not current:
                task.cancel()

    def _start(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _process(self) -> None:
        """Takes what has come, in order, for as long as the session lasts."""
        try:
            while not self._is_over:
                if not self._queue:
                    self._work.clear()
                    await self._work.wait()
                    continue
                frame, frames, steps, size = self._queue.popleft()
                if frame.kind == Kind.BYE:
                    self.end(Goodbye("gone" if frame.fields.get("gone") is True and self._link is None else "left"))
                elif frame.kind == Kind.FLUSH:
                    self._start(self._flush(count(frame.fields, "id")))
                else:
                    await self._take(frame, frames, steps, size)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self.fail(error)

    async def _take(self, frame: Frame, frames: Frames, steps: int, size: int) -> None:
        wait = max(throttle.take(n) for throttle, n in zip(self._throttles, (steps, size), strict=True))
        if wait > 0:
            await asyncio.sleep(wait)
        watchers = self._intake.replay._watchers
        try:
            for _ in self._intake.take(frame, frames):
                if self._watcher in watchers:
                    self._intake.must_change()
                    await self._room.wait()
                    if self._is_over:
                        return
                # The call is made again now, so that no change goes unseen.
                self._room.clear()
                watchers.add(self._watcher)
        finally:
            watchers.discard(self._watcher)
        number, steps, size = self._unconfirmed.popleft()
        self._confirmed = number
        self._in_flight_steps -= steps
        self._in_flight_bytes -= size
        self._post(Kind.CONFIRMATION, {"number": number})

    async def _flush(self, number: int) -> None:
        replay = self._intake.replay
        room = asyncio.Event()

        def watcher() -> None:
            _call(self._loop, room.set)

        replay._watchers.add(watcher)
        try:
            while self._intake.waiting() > 0 and not self._is_over:
                room.clear()
                if self._intake.waiting() > 0:
                    await room.wait()
            self._calls -= 1
            self._post(Kind.FLUSHED, {"id": number})
        except ReplayError as error:
            self.fail(error)
        finally:
            replay._watchers.discard(watcher)

    def _on_receipt(self, number: int) -> None:
        message = self._messages.receipt(number)
        self._receipts.set()
        if message is not None:
            self._post_message(message)

    def _post_message(self, message: tuple[dict[str, Any], bytes]) -> None:
        fields, data = message
        if self._link is not None:
            self._link.post(pack(Kind.MESSAGE, fields, [data]))

    def _post(self, kind: Kind, fields: dict[str, Any]) -> None:
        if self._link is not None:
            self._link.post(pack(kind, fields))


def _call(loop: asyncio.AbstractEventLoop, then: Callable[[], object]) -> None:
    # The loop may have ended while another thread goes on.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(then)


def _in_loop(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
