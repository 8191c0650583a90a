"""A writer whose Replay is at the other end of a WebSocket: in Node, Deno, Bun or Python."""

from __future__ import annotations

import asyncio
import operator
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike
from websockets.asyncio.client import connect as connect_to
from websockets.asyncio.connection import Connection
from websockets.exceptions import WebSocketException

from ..columns import Column, array
from ..instance import ReplayError, must
from ..replay import ENDED, TERMINATED, TRUNCATED, U1
from .backlog import Backlog
from .frame import FINAL, VERSION, Close, Fields, Frame, Kind, ProtocolError, count, counts, error_from, pack
from .layout import Layout, leaf_text
from .link import Link
from .messages import decoded
from .outgoing import Crossed, Entry, block, columns_of, packed
from .welcome import Welcome, welcome_of

#: Calls of `flush` that may wait, with a goodbye after them.
_FLUSHES = 999
#: Slots of steps that go in one frame, if they come one by one.
_JOINED = 64
_CODES = {ENDED: 0, TRUNCATED: 1, TERMINATED: 2}
_ITEM, _END, _DISCARD = 0, 1, 3
#: Seconds until another try, which double.
_FIRST, _LAST = 0.1, 10.0
#: Bytes of the text of a frame, and of zeros between its parts, at most.
_HEAD_BYTES = 4096

#: A URL, an open connection, or a function that opens one.
Target = str | Connection | Callable[[], Awaitable[Connection]]


class RemoteWriter:
    """A writer of a Replay elsewhere. `remote_writer` makes it. Steps arrive once and in order, also if the connection breaks."""

    def __init__(
        self,
        target: Target,
        leaves: dict[str, Column],
        lanes: int,
        while_offline: Literal["wait", "fail"],
        on_message: Callable[[Any], object] | None,
        take: Callable[[Any, str], tuple[int, Any]],
        reconnect_timeout: float,
    ) -> None:
        self._target, self._leaves, self._lanes, self._while_offline, self._on_message, self._take = target, leaves, lanes, while_offline, on_message, take
        self._reconnect_timeout = reconnect_timeout
        self._session = secrets.token_urlsafe(24)
        self._backlog, self._is_due = Backlog(), False
        self._number, self._flushes, self._handled = 0, 0, 0
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._welcome: Welcome | None = None
        self._layout = Layout(leaves, lanes, 0, [])
        self._link: Link | None = None
        self._crossed = Crossed([])
        self._room = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._met: asyncio.Future[None] = loop.create_future()
        #: Resolves when the writer has ended, to the error that ended it, or None.
        self.closed: asyncio.Future[ReplayError | None] = loop.create_future()
        self._turn = asyncio.Lock()
        self._runner = loop.create_task(self._run())

    @property
    def connected(self) -> bool:
        """Whether the writer has a connection, over which it was welcome."""
        return self._link is not None

    @property
    def in_flight(self) -> int:
        """Rows that are not confirmed."""
        return self._backlog.steps

    @property
    def keep(self) -> int:
        """Steps in the window of a lane: the most that an item may have."""
        return int(self._told().fields["keep"])

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of the Replay."""
        return tuple(self._told().fields["tables"])

    async def append(self, steps: Mapping[str, ArrayLike], ends: ArrayLike = (), finals: Mapping[str, ArrayLike] | None = None) -> None:
        """Appends steps as `Replay.append` does. It waits while as many steps are unconfirmed as the memory lets be.

        Raises ReplayError: `SPEC_MISMATCH` or `INVALID_DATA` for steps that do not fit, `IO` with `while_offline="fail"` and no
        connection, and whatever ended the writer.
        """
        (n, taken), (last, last_taken) = self._take(steps, "steps"), self._take(finals, "finals")
        how = np.ravel(array(ends, U1, "ends")) if np.size(ends) else np.zeros(0, np.uint8)
        must(n > 0 and n % self._lanes == 0, f"SPEC_MISMATCH: steps must be one or more for each of {self._lanes} lanes, got {n}")
        must(len(how) in (0, n), f"SPEC_MISMATCH: ends must be {n}, one per step, got {len(how)}")
        must(not len(how) or how.max() <= TERMINATED, f"INVALID: ends must be from 0 up to {TERMINATED}")
        must(last in (0, np.count_nonzero(how > ENDED)), f"SPEC_MISMATCH: finals must be one step for each end with a final observation, got {last}")
        columns = [np.array(column) for column in columns_of(self._layout, taken)]
        final_columns = [np.array(column) for column in columns_of(self._layout, last_taken)] if last else []
        async with self._turn:
            used = 0
            for at in range(0, n, self._chunk()):
                end = min(at + self._chunk(), n)
                part = how[at:end]
                entry = Entry(Kind.COLUMNS, {"rows": end - at, "ends": bool(part.any()), "finals": 0, "priorities": []}, end - at)
                entry.columns = [column[at:end] for column in columns]
                if part.any():
                    entry.ends = part.copy()
                    finals_here = int(np.count_nonzero(part > ENDED)) if last else 0
                    entry.fields["finals"] = finals_here
                    entry.finals = [column[used : used + finals_here] for column in final_columns]
                    used += finals_here
                await self._push(entry)

    async def end(self, how: SupportsIndex = TERMINATED, final: Mapping[str, ArrayLike] | None = None, *, lane: SupportsIndex = 0) -> None:
        """Ends the episode of a lane. `final`: the final observation as a step; required unless terminated."""
        number, (n, taken) = operator.index(how), self._take(final, "final")
        must(number in _CODES, f"INVALID: how must be ENDED, TRUNCATED or TERMINATED, got {how}")
        must(n < 2, f"SPEC_MISMATCH: final must be one step, got {n}")
        must(number != TRUNCATED or n == 1, "INVALID: final must be given where an episode is truncated: its transitions bootstrap from it")
        must(number != ENDED or n == 0, "INVALID: final must be left out where an episode ends without a final step")
        final_step = columns_of(self._layout, taken) if n else []
        slots = int(n == 1 or number == TERMINATED)
        async with self._turn:
            await self._push(block(self._layout, slots, [0, _END, self._lane(lane) + 1, _CODES[number], n, 0, 0], final_step))

    async def item(self, table: str, length: SupportsIndex, priority: float | Literal["max"] = 1.0, *, lane: SupportsIndex = 0) -> None:
        """Makes an item of a lane's last steps."""
        must(table in self.tables, f"NOT_FOUND: table must be one of {list(self.tables)}, got {table!r}")
        number, size = -1.0 if priority == "max" else float(priority), operator.index(length)
        must(priority == "max" or 0 <= number < np.inf, f'INVALID: priority must be a finite number from 0 up, or "max", got {priority}')
        must(0 < size <= self.keep, f"INVALID: length must be from 1 up to {self.keep} (keep), got {length}")
        await self._call([0, _ITEM, self.tables.index(table), size, number, self._lane(lane), 0])

    async def discard(self, *, lane: SupportsIndex = 0) -> None:
        """Releases the steps of a lane's open episode, and deletes the items that begin in it."""
        await self._call([0, _DISCARD, self._lane(lane) + 1, 0, 0, 0, 0])

    async def flush(self) -> None:
        """Waits until everything before it is confirmed, and no item waits for a rate limiter."""
        async with self._turn:
            must(len(self._waiting) < _FLUSHES, f"RATE_LIMITED: {_FLUSHES} calls of flush() wait for an answer. Await them before this call")
            self._flushes += 1
            done = self._waiting[self._flushes] = asyncio.get_running_loop().create_future()
            await self._push(Entry(Kind.FLUSH, {"id": self._flushes}))
        await done

    async def close(self) -> None:
        """Says goodbye: waits until everything is confirmed, and ends the open episodes. No effect on a writer that has ended.

        Raises ReplayError if the writer ended by an error before it was done.
        """
        if not self.closed.done():
            async with self._turn:
                await self._push(Entry(Kind.BYE, {}))
            error = await asyncio.shield(self.closed)
            if error is not None:
                raise error
        await asyncio.gather(self._runner, return_exceptions=True)

    def abort(self) -> None:
        """Ends the writer immediately. Steps that are not confirmed may be lost."""
        self._end(ReplayError("CLOSED: the writer was aborted"), Close.NORMAL)

    async def __aenter__(self) -> RemoteWriter:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            await self.close()
        else:
            self.abort()
            await asyncio.gather(self._runner, return_exceptions=True)

    async def _call(self, call: list[float]) -> None:
        async with self._turn:
            await self._push(block(self._layout, 0, call))

    def _lane(self, lane: SupportsIndex) -> int:
        number = operator.index(lane)
        must(0 <= number < self._lanes, f"INVALID: lane must be from 0 up to {self._lanes - 1}, got {lane}")
        return number

    def _chunk(self) -> int:
        """Rows of a frame at most: with as many final steps as rows, and frames that cross, it fits into what the memory takes."""
        told = self._told()
        fitting = (told.frame_bytes - _HEAD_BYTES - 16 * len(self._leaves)) // (2 * self._layout.row_bytes + 1 + 8 * len(self._leaves))
        return max(1, min(fitting, told.max_in_flight) // self._lanes) * self._lanes

    def _told(self) -> Welcome:
        self._must_live()
        assert self._welcome is not None
        return self._welcome

    def _must_live(self) -> None:
        if self.closed.done():
            raise self.closed.result() or ReplayError("CLOSED: the writer is closed")

    async def _push(self, entry: Entry) -> None:
        """Sends an entry once the memory lets it be."""
        while True:
            told = self._told()
            must(
                self._link is not None or self._while_offline == "wait",
                'IO: the connection is broken, and while_offline is "fail". Try again once `connected` is true, or pass "wait"',
            )
            if not entry.is_block or self._backlog.has_room(told):
                break
            self._pump()
            self._room.clear()
            await self._room.wait()
        if entry.kind == Kind.COLUMNS:
            entry.fields["priorities"] = [0] * len(told.fields["rules"])
        self._backlog.add(entry, min(_JOINED * self._lanes, self._chunk()))
        # Steps that come one by one share a frame.
        if entry.kind != Kind.COLUMNS or self._backlog.unsent >= _JOINED * self._lanes:
            self._pump()
        elif not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        """Sends what was not sent over this connection, within the credits."""
        told, self._is_due = self._welcome, False
        while self._link is not None and told is not None and (entry := self._backlog.next(told)) is not None:
            if entry.is_block and entry.number == 0:
                self._number += 1
                entry.fields["number"] = self._number
            data = packed(entry, self._layout, self._crossed)
            self._backlog.sent(entry, len(data))
            self._link.post(data)

    async def _run(self) -> None:
        try:
            await self._connect()
        except Exception as error:
            self._fail(error)

    async def _connect(self) -> None:
        """Connects, and connects again, until the writer ends."""
        loop = asyncio.get_running_loop()
        pause, until = _FIRST, loop.time() + self._reconnect_timeout
        again = not isinstance(self._target, Connection)
        while not self.closed.done():
            try:
                socket = await self._open()
            except (OSError, WebSocketException, asyncio.TimeoutError) as error:
                # The first time the address may be wrong.
                if not again or self._welcome is None:
                    self._end(ReplayError(f"CLOSED: no connection to the memory: {error}"), Close.NORMAL)
                    return
                socket = None
            if socket is not None:
                had = self._number_welcomes
                await self._talk(socket, again)
                if self._number_welcomes > had:
                    pause, until = _FIRST, loop.time() + self._reconnect_timeout
                if self.closed.done():
                    return
                code = socket.close_code
                if not again or (code is not None and code in FINAL) or self._welcome is None:
                    said = f" ({code}: {socket.close_reason})" if code is not None and code != 1006 else ""
                    self._end(ReplayError(f"CLOSED: the connection to the memory closed{said}"), Close.NORMAL)
                    return
            if loop.time() + pause > until:
                self._end(ReplayError(f"CLOSED: no connection to the memory for {self._reconnect_timeout} seconds"), Close.NORMAL)
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LAST)

    _number_welcomes = 0

    async def _open(self) -> Connection:
        if isinstance(self._target, str):
            return await connect_to(self._target, max_size=None, compression=None)
        if isinstance(self._target, Connection):
            return self._target
        return await self._target()

    async def _talk(self, socket: Connection, again: bool) -> None:
        """Speaks over one connection, to its end."""
        link = Link(socket, 1 << 30, 30.0, 20.0)

        def hello() -> bytes:
            fields = {
                "version": VERSION,
                "session": self._session,
                "resume": self._welcome is not None,
                "reconnects": again,
                "leaves": [{"path": path, "text": leaf_text(column)} for path, column in self._leaves.items()],
                "lanes": self._lanes,
                "receipt": self._handled,
            }
            return pack(Kind.HELLO, fields)

        def on_frame(frame: Frame, _: int) -> None:
            if frame.kind == Kind.INVITE:
                if VERSION not in counts(frame.fields, "versions"):
                    raise ProtocolError(f"the memory does not speak version {VERSION} of the protocol", Close.REFUSED)
                # A memory that has lost its state drops what comes before its welcome.
                if self._link is link:
                    self._link = None
                link.post(hello())
            else:
                self._receive(link, frame)

        link.post(hello())
        try:
            await link.frames(on_frame)
        except ReplayError as error:
            link.close(error.close if isinstance(error, ProtocolError) else Close.PROTOCOL, str(error))
            self._end(error, Close.PROTOCOL)
        except BaseException as error:
            link.close(Close.NORMAL)
            if not isinstance(error, Exception):
                raise
            self._fail(error)
        finally:
            if self._link is link:
                self._link = None
            self._room.set()
            await link.stop()
            await socket.wait_closed()

    def _receive(self, link: Link, frame: Frame) -> None:
        kind, fields = frame.kind, frame.fields
        if kind == Kind.WELCOME:
            self._on_welcome(link, fields)
        elif kind in (Kind.REFUSED, Kind.CLOSED):
            error = error_from(fields["error"]) if fields.get("error") is not None else None
            self._end(error or (None if self._backlog.says_goodbye else ReplayError("CLOSED: the memory closed the writer")), Close.NORMAL)
            link.close(Close.REFUSED if kind == Kind.REFUSED else Close.NORMAL)
        elif self._link is not link:
            return
        elif kind == Kind.CONFIRMATION:
            self._forget(count(fields, "number"))
        elif kind == Kind.FLUSHED:
            self._on_flushed(count(fields, "id"))
        elif kind == Kind.MESSAGE:
            number = count(fields, "number")
            if number > self._handled:
                message = decoded(fields.get("type"), frame.body)
                self._handle(message)
                self._handled = number
            link.post_receipt(pack(Kind.RECEIPT, {"number": self._handled}))
        else:
            raise ProtocolError(f"a writer does not take a frame of kind {kind.name.lower()}")

    def _handle(self, message: Any) -> None:
        """Gives the program a message. What it raises is reported, and the writer goes on."""
        try:
            if self._on_message is not None:
                self._on_message(message)
        except Exception as error:
            asyncio.get_running_loop().call_exception_handler({"message": "on_message of a remote writer raised", "exception": error})

    def _on_welcome(self, link: Link, fields: Fields) -> None:
        told = welcome_of(fields)
        if self._welcome is not None:
            told.must_be(self._welcome)
        self._welcome = told
        self._number_welcomes += 1
        self._layout = Layout(self._leaves, self._lanes, 0, told.shares)
        if 2 * self._lanes * self._layout.row_bytes > told.frame_bytes:
            raise ProtocolError(f"a step of {self._lanes} lanes does not fit into the {told.frame_bytes} bytes of a frame", Close.REFUSED)
        self._crossed = Crossed(told.shares)
        self._link = link
        self._backlog.forget(told.confirmed)
        self._backlog.restart(told.received)
        if not self._met.done():
            self._met.set_result(None)
        self._room.set()
        self._pump()

    def _forget(self, number: int) -> None:
        if number > self._number:
            raise ProtocolError(f"a confirmation is of a block that was sent, got {number}")
        self._backlog.forget(number)
        self._room.set()
        self._pump()

    def _on_flushed(self, number: int) -> None:
        done = self._waiting.pop(number, None)
        if self._backlog.flushed(number) and done is not None and not done.done():
            done.set_result(None)

    def _fail(self, cause: Exception) -> None:
        """Ends the writer by an error that is none of the protocol."""
        error = ReplayError(f"CLOSED: the writer failed: {cause!r}")
        error.__cause__ = cause
        self._end(error, Close.NORMAL)

    def _end(self, error: ReplayError | None, code: Close) -> None:
        if self.closed.done():
            return
        self.closed.set_result(error)
        failure = error or ReplayError("CLOSED: the writer is closed")
        for done in self._waiting.values():
            if not done.done():
                done.set_exception(failure)
        self._waiting.clear()
        if not self._met.done():
            self._met.set_exception(failure)
        self._backlog.clear()
        link, self._link = self._link, None
        if link is not None:
            link.close(code)
        self._room.set()
        if asyncio.current_task() is not self._runner:
            self._runner.cancel()
