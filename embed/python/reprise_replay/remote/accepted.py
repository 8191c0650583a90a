"""Implements the Replay's end of a remote writer, which takes steps in order, confirms them, and sends messages back. It outlives a connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Literal, NamedTuple

from ..instance import ReplayError
from .frame import Close, Frame, Kind, ProtocolError, count, error_of, pack
from .intake import Block, Intake
from .layout import Frames
from .limits import Limits, Throttle
from .link import Link
from .messages import Messages, encoded

#: The maximum number of calls that wait for an answer, and the number of bytes without a receipt from which `send` waits.
_MAX_CALLS, _SENT_BYTES = 1000, 1 << 20
#: The codes of errors that are not the writer's fault.
_OWN_FAULTS = ("OUT_OF_MEMORY", "CLOSED", "KEYS_EXHAUSTED", "RATE_LIMITED", "OUT_OF_TURN")


class Goodbye(NamedTuple):
    """How a writer ended: the actor called `close`, the actor is gone, `close` was called here, or an error occurred, which the actor also receives."""

    how: Literal["left", "gone", "closed", "failed"]
    error: BaseException | None = None


class Settings(NamedTuple):
    """The options of `accept`, after validation."""

    max_in_flight: int
    limits: Limits
    session_ttl: float
    keep_alive: float
    keep_alive_timeout: float


class Waiting(NamedTuple):
    """A received entry that has not been processed yet: a block with the bytes of its frame, a flush with its number, or a goodbye."""

    kind: Kind
    taken: Block | None = None
    number: int = 0
    size: int = 0
    #: For a goodbye: whether the writer said none, but lost its connection and cannot reconnect.
    is_gone: bool = False


class AcceptedWriter:
    """A writer whose environment is at the other end of a socket, created by `accept`."""

    #: Resolves when the writer has ended, with the way it ended. It never raises.
    closed: asyncio.Future[Goodbye]

    def __init__(self, intake: Intake, session: str, reconnects: bool, settings: Settings, on_end: Callable[[dict[str, Any] | None, Close], None]) -> None:
        # The newest connection determines whether the writer returns, and the options of `accept`.
        self.session, self._reconnects, self._settings, self._on_end = session, reconnects, settings, on_end
        self._throttles = Throttle(settings.limits.steps_per_second), Throttle(settings.limits.bytes_per_second)
        self._intake = intake
        self._loop = asyncio.get_running_loop()
        self.closed = self._loop.create_future()
        self._is_over = False
        self._queue: deque[Waiting] = deque()
        self._received, self._confirmed, self._calls = 0, 0, 0
        self._unconfirmed: deque[tuple[int, int, int]] = deque()
        self._in_flight_steps, self._in_flight_bytes = 0, 0
        self._messages = Messages()
        self._link: Link | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._work = asyncio.Event()
        self._room = asyncio.Event()
        self._receipts = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flushing: set[asyncio.Task[None]] = set()
        self._watcher = lambda: _call(self._loop, self._room.set)
        self._start(self._process(), self._tasks)

    @property
    def steps(self) -> int:
        """The number of rows that are in the Replay."""
        return self._intake.steps

    @property
    def connected(self) -> bool:
        """Whether the writer currently has a connection. Without a connection, the writer may reconnect until `closed` resolves."""
        return self._link is not None

    @property
    def position(self) -> tuple[int, int]:
        """The numbers of the last received block and the last confirmed block."""
        return self._received, self._confirmed

    async def send(self, message: Any) -> None:
        """Sends a message to the writer's `onmessage`, after all earlier messages. Bytes are sent unchanged, and other values as
        JSON.

        The message arrives once, even if the connection breaks and the writer reconnects. The call waits while 1 MiB of messages
        is unconfirmed.

        Raises ReplayError: `CLOSED` if the writer has ended. Raises TypeError or ValueError if JSON cannot represent the message.
        """
        kind, data = encoded(message)
        while not self._is_over and self._messages.size > _SENT_BYTES:
            self._receipts.clear()
            await self._receipts.wait()
        if self._is_over:
            raise ReplayError("CLOSED: the writer has ended")
        self._post_message(self._messages.push(kind, data))

    def publish(self, message: Any) -> None:
        """Sends a message like `send`, but replaces a published message that is still waiting, so that a slow writer receives only the newest message."""
        self._publish(*encoded(message))

    def _publish(self, kind: str, data: bytes) -> None:
        message = None if self._is_over else self._messages.publish(kind, data)
        if message is not None:
            self._post_message(message)

    def close(self) -> None:
        """Ends the writer. Drops steps that still wait for a rate limiter, and truncates the open episode. The actor receives `CLOSED`."""
        self.end(Goodbye("closed"), ReplayError("CLOSED: the process of the Replay closed the writer"), Close.NORMAL)

    @property
    def runs(self) -> bool:
        """Whether the event loop of the writer is still running. It is not if it belongs to an earlier `asyncio.run`."""
        return self._loop.is_running()

    @property
    def max_in_flight(self) -> int:
        """The maximum number of unconfirmed steps."""
        return self._settings.max_in_flight

    @property
    def ttl(self) -> float:
        """The time in seconds within which the writer can reconnect."""
        return self._settings.session_ttl if self._reconnects else 0.0

    def begin(self, receipt: int) -> None:
        """Numbers messages from `receipt` + 1 on. `receipt`: the last message of an earlier Replay that the writer has handled."""
        self._messages.begin(receipt)

    def handled(self, receipt: int) -> None:
        """Records that the writer has handled the messages up to this one.

        Raises ProtocolError if this message was not sent.
        """
        if receipt > 0:
            self._on_receipt(receipt)

    def attach(self, link: Link, reconnects: bool, settings: Settings) -> None:
        """Continues over another link, with the options of the newest call to `accept`. The contents of the first welcome remain valid."""
        if self._expiry is not None:
            self._expiry.cancel()
        if self._link is not None:
            self._link.close(Close.REPLACED, "another connection has this session now")
        # Waiting flushes and goodbyes are dropped, because the other end repeats the calls that were not answered.
        self._queue = deque(waiting for waiting in self._queue if waiting.taken is not None)
        self._calls = 0
        for flush in self._flushing:
            flush.cancel()
        steps, size = self._throttles
        steps.per_second, size.per_second = settings.limits.steps_per_second, settings.limits.bytes_per_second
        self._settings = settings._replace(max_in_flight=self.max_in_flight)
        self._link, self._reconnects = link, reconnects
        for message in self._messages.unconfirmed():
            self._post_message(message)

    def receive(self, frame: Frame, frames: Frames, size: int) -> None:
        """Processes a frame.

        Raises ProtocolError if the frame is not allowed now.
        """
        kind, fields = frame.kind, frame.fields
        if self._is_over:
            return
        if kind == Kind.HELLO:
            if fields.get("session") != self.session:
                raise ProtocolError("a connection must have one session, got a hello of another session")
        elif kind == Kind.RECEIPT:
            self._on_receipt(count(fields, "number"))
        elif kind in (Kind.BLOCK, Kind.COLUMNS):
            self._receive_block(frame, frames, size)
        elif kind in (Kind.FLUSH, Kind.BYE):
            self._calls += 1
            if self._calls > _MAX_CALLS:
                raise ProtocolError(f"{self._calls} calls are waiting for an answer. The other end exceeds its limits", Close.TOO_MUCH)
            self._enqueue(Waiting(kind, number=count(fields, "id") if kind == Kind.FLUSH else 0))
        else:
            raise ProtocolError(f"a Replay must not receive a frame of kind {kind.name.lower()}")

    def _receive_block(self, frame: Frame, frames: Frames, size: int) -> None:
        number, limits = count(frame.fields, "number"), self._settings.limits
        if number > self._received + 1:
            raise ProtocolError(f"blocks must be numbered without gaps, got {number} after {self._received}")
        is_new = number > self._received
        if is_new and (self._in_flight_steps >= self._settings.max_in_flight or self._in_flight_bytes >= limits.in_flight_bytes):
            raise ProtocolError(f"{self._in_flight_steps} steps and {self._in_flight_bytes} bytes are unconfirmed. The other end exceeds its limits", Close.TOO_MUCH)
        if is_new:
            block = self._intake.read(frame, frames, size, limits.frame_bytes)
            self._received = number
            self._unconfirmed.append((number, block.rows, block.weight))
            self._in_flight_steps += block.rows
            self._in_flight_bytes += block.weight
            self._enqueue(Waiting(frame.kind, block, number, size))
            return
        self._intake.skip(frame, frames, size, limits.frame_bytes)
        if number <= self._confirmed:
            self._confirm()

    def _enqueue(self, waiting: Waiting) -> None:
        self._queue.append(waiting)
        self._work.set()

    def lose(self, link: Link) -> None:
        """Records that the connection broke. The session waits for the writer if it can reconnect."""
        if self._link is not link or self._is_over:
            return
        self._link = None
        if self.ttl > 0:
            self._expiry = self._loop.call_later(self.ttl, self.abandon)
        else:
            self._enqueue(Waiting(Kind.BYE, is_gone=True))

    def abandon(self) -> None:
        """Ends the session of a writer that does not reconnect."""
        self.end(Goodbye("gone"))

    def fail(self, error: BaseException) -> None:
        """Ends the session with an error."""
        code = error.close if isinstance(error, ProtocolError) else Close.PROTOCOL
        if not isinstance(error, ReplayError) or error.code in _OWN_FAULTS:
            code = Close.FAILED
        self.end(Goodbye("failed", error), error, code)

    def end(self, goodbye: Goodbye, error: BaseException | None = None, code: Close = Close.NORMAL) -> None:
        """Ends the session, and tells the actor why."""
        if self._is_over:
            return
        if self._expiry is not None:
            self._expiry.cancel()
        self._queue.clear()
        self._messages.clear()
        # A closed Replay has nothing to truncate.
        with contextlib.suppress(ReplayError):
            self._intake.replay.truncate(self._intake.writer)
        self._is_over = True
        farewell = {} if error is None else {"error": error_of(error)}
        # Steps of a writer that is gone may be lost. If the writer returns, it must receive an error.
        self._on_end(None if goodbye.how == "gone" else farewell, code)
        link, self._link = self._link, None
        if not self.runs:
            # A closed loop rejects the call that would wake the tasks that wait in it.
            with contextlib.suppress(RuntimeError):
                self.closed.set_result(goodbye)
            return
        if link is None:
            self.closed.set_result(goodbye)
        else:
            link.post(pack(Kind.CLOSED, farewell))
            # The other end is notified first, because a task that waits for this future may close the socket.
            link.close(code, "" if error is None else str(error), lambda: self.closed.set_result(goodbye))
        for event in (self._work, self._room, self._receipts):
            event.set()
        current = asyncio.current_task() if _in_loop(self._loop) else None
        for task in self._tasks | self._flushing:
            if task is not current:
                task.cancel()

    def _start(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> None:
        task = self._loop.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _process(self) -> None:
        """Processes received entries in order, for as long as the session lasts."""
        try:
            while not self._is_over:
                if not self._queue:
                    self._work.clear()
                    await self._work.wait()
                    continue
                waiting = self._queue.popleft()
                if waiting.kind == Kind.BYE:
                    # A writer that seemed gone may have returned.
                    if not waiting.is_gone or self._link is None:
                        self.end(Goodbye("gone" if waiting.is_gone else "left"))
                elif waiting.kind == Kind.FLUSH:
                    self._start(self._flush(waiting.number), self._flushing)
                elif waiting.taken is not None:
                    await self._take(waiting.taken, waiting.size)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self.fail(error)

    async def _take(self, block: Block, size: int) -> None:
        wait = max(throttle.take(n) for throttle, n in zip(self._throttles, (block.rows, size), strict=True))
        if wait > 0:
            await asyncio.sleep(wait)
        watchers = self._intake.replay._watchers
        try:
            for _ in self._intake.take(block):
                if self._watcher in watchers:
                    self._intake.must_change()
                    await self._room.wait()
                    if self._is_over:
                        return
                # The call is repeated now, so that no change is missed.
                self._room.clear()
                watchers.add(self._watcher)
        finally:
            watchers.discard(self._watcher)
        number, steps, counted = self._unconfirmed.popleft()
        self._confirmed = number
        self._in_flight_steps -= steps
        self._in_flight_bytes -= counted
        self._confirm()

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

    def _confirm(self) -> None:
        if self._link is not None:
            self._link.post_newest(pack(Kind.CONFIRMATION, {"number": self._confirmed}))

    def _post(self, kind: Kind, fields: dict[str, Any]) -> None:
        if self._link is not None:
            self._link.post(pack(kind, fields))


def _call(loop: asyncio.AbstractEventLoop, then: Callable[[], object]) -> None:
    # The loop may have ended while another thread continues.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(then)


def _in_loop(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
