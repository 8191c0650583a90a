"""Implements the conversation between a writer and the Replay, over all connections of the writer."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any, Literal

from ..columns import Column
from ..instance import ReplayError, must
from .backlog import Backlog
from .dialer import Dialer, Target
from .frame import VERSION, Close, Fields, Frame, Kind, ProtocolError, count, counts, error_from, pack
from .layout import Layout, leaf_text
from .link import Link
from .messages import decoded
from .outgoing import Crossed, Entry, packed
from .welcome import Welcome, welcome_of

#: The maximum number of waiting calls to `flush`, which leaves room for a goodbye.
_FLUSHES = 999
#: The maximum number of slots, of one row per lane, in a frame that combines steps from separate calls.
_JOINED = 64
#: The maximum number of bytes that text and zero padding take: in any frame, and additionally for each leaf, rule and share.
_HEAD_BYTES, _PART_BYTES = 4096, 32


class Conversation:
    """The session of a writer: its description, its unconfirmed entries, and its calls that wait for an answer."""

    def __init__(
        self,
        target: Target,
        leaves: dict[str, Column],
        lanes: int,
        while_offline: Literal["wait", "fail"],
        on_message: Callable[[Any], object] | None,
        reconnect_timeout: float,
    ) -> None:
        self.leaves, self.lanes, self._while_offline, self._on_message = leaves, lanes, while_offline, on_message
        self._session = secrets.token_urlsafe(24)
        self.backlog, self._is_due = Backlog(), False
        # The numbers of the last block, the last confirmed block, and the last handled message.
        self._number, self._confirmed, self._handled = 0, 0, 0
        self._flushes = 0
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._welcome: Welcome | None = None
        self.layout = Layout(leaves, lanes, 0, [])
        #: The maximum number of rows in a frame, as required by the Replay.
        self.most = lanes
        self._crossed = Crossed([])
        self.link: Link | None = None
        self._room = asyncio.Event()
        loop = asyncio.get_running_loop()
        #: Resolves when the Replay has welcomed the writer for the first time.
        self.met: asyncio.Future[None] = loop.create_future()
        #: Resolves when the writer has ended, with the error that ended it, or None.
        self.closed: asyncio.Future[ReplayError | None] = loop.create_future()
        self.dialer = Dialer(target, reconnect_timeout, self)

    @property
    def is_over(self) -> bool:
        return self.closed.done()

    @property
    def was_welcome(self) -> bool:
        return self._welcome is not None

    def told(self) -> Welcome:
        """Returns the Replay's description of the writer.

        Raises the ReplayError that ended the writer.
        """
        if self.closed.done():
            raise self.closed.result() or ReplayError("CLOSED: the writer is closed")
        assert self._welcome is not None
        return self._welcome

    def _fitting(self, told: Welcome) -> int:
        """Returns the number of rows that fit in a frame in the worst case: each row has a final step, and all of its frames are new."""
        parts = len(self.leaves) + len(told.fields["rules"]) + len(told.shares)
        # One more byte per row records how its episode ends.
        return (told.frame_bytes - _HEAD_BYTES - _PART_BYTES * parts) // (2 * (self.layout.most_bytes + 1))

    async def push(self, entry: Entry, *, is_part: bool = False) -> None:
        """Adds an entry when the limits of the Replay allow it. `is_part`: whether the call was already accepted in part, and so must not fail any more."""
        while True:
            told = self.told()
            must(
                self.link is not None or self._while_offline == "wait" or is_part or entry.kind == Kind.BYE,
                'IO: the connection is broken, and while_offline is "fail". Try again when `connected` is true, or pass while_offline="wait"',
            )
            if not entry.is_block or self.backlog.has_room(told):
                break
            self._pump()
            self._room.clear()
            await self._room.wait()
        if entry.kind == Kind.COLUMNS:
            entry.fields["priorities"] = [0] * len(told.fields["rules"])
        self.backlog.add(entry, min(_JOINED * self.lanes, self.most))
        # Small blocks wait until the event loop is free, so that steps from separate calls share a frame.
        if entry.kind != Kind.COLUMNS or self.backlog.unsent >= _JOINED * self.lanes:
            self._pump()
        elif not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._pump)

    async def push_flush(self) -> asyncio.Future[None]:
        """Adds a flush. Returns a future that resolves when the flush is answered."""
        must(len(self._waiting) < _FLUSHES, f"RATE_LIMITED: {_FLUSHES} calls to flush() are waiting for an answer. Await them before this call")
        self._flushes += 1
        number = self._flushes
        await self.push(Entry(Kind.FLUSH, {"id": number}))
        done = self._waiting[number] = asyncio.get_running_loop().create_future()
        return done

    def _pump(self) -> None:
        """Sends the entries that were not sent over this connection, within the credits."""
        told, self._is_due = self._welcome, False
        while self.link is not None and told is not None and (entry := self.backlog.next(told)) is not None:
            if entry.is_block and entry.number == 0:
                self._number += 1
                entry.fields["number"] = self._number
            data = packed(entry, self.layout, self._crossed)
            self.backlog.sent(entry, max(len(data), entry.rows * self.layout.row_bytes))
            self.link.post(data)

    def greet(self, link: Link) -> None:
        """Sends the hello."""
        fields = {
            "version": VERSION,
            "session": self._session,
            "resume": self._welcome is not None,
            "reconnects": self.dialer.reconnects,
            "leaves": [{"path": path, "text": leaf_text(column)} for path, column in self.leaves.items()],
            "lanes": self.lanes,
            "receipt": self._handled,
        }
        link.post(pack(Kind.HELLO, fields))

    def receive(self, link: Link, frame: Frame) -> None:
        """Processes a frame.

        Raises ReplayError if the frame breaks the protocol.
        """
        kind, fields = frame.kind, frame.fields
        if kind == Kind.INVITE:
            if VERSION not in counts(fields, "versions"):
                raise ProtocolError(f"the Replay does not support version {VERSION} of the protocol", Close.REFUSED)
            # A Replay that has lost its state drops messages that arrive before its welcome.
            self.lose(link)
            self.greet(link)
        elif kind == Kind.WELCOME:
            self._on_welcome(link, fields)
        elif kind in (Kind.REFUSED, Kind.CLOSED):
            error = error_from(fields["error"]) if fields.get("error") is not None else None
            self.end(self._reason(error), Close.NORMAL)
            link.close(Close.REFUSED if kind == Kind.REFUSED else Close.NORMAL)
        elif self.link is not link:
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
            link.post_newest(pack(Kind.RECEIPT, {"number": self._handled}))
        else:
            raise ProtocolError(f"a writer must not receive a frame of kind {kind.name.lower()}")

    def lose(self, link: Link) -> None:
        """Records that this connection of the writer was lost."""
        if self.link is link:
            self.link = None
            self.dialer.lost()
        self._room.set()

    def _reason(self, error: ReplayError | None) -> ReplayError | None:
        """Returns the error with which the writer ends after an error from the Replay: None if nothing is lost."""
        backlog = self.backlog
        if error is None:
            # Everything sent before a goodbye has arrived when the goodbye is answered.
            return None if backlog.said_goodbye else ReplayError("CLOSED: the Replay closed the writer")
        # If a session has ended with all of its steps confirmed, only the farewell was lost.
        return None if error.code == "NOT_FOUND" and backlog.said_goodbye and not backlog.has_blocks else error

    def _handle(self, message: Any) -> None:
        """Passes a message to the program. Its exceptions are reported, and the writer continues."""
        try:
            if self._on_message is not None:
                self._on_message(message)
        except Exception as error:
            asyncio.get_running_loop().call_exception_handler({"message": "on_message of a remote writer failed", "exception": error})

    def _on_welcome(self, link: Link, fields: Fields) -> None:
        told = welcome_of(fields, list(self.leaves.values()))
        if self._welcome is not None:
            told.must_be(self._welcome)
        # The backlog no longer contains the entries that the Replay has confirmed, so the Replay must still have them.
        if not max(self._confirmed, told.confirmed) <= told.received <= self._number:
            raise ProtocolError(
                f"the Replay has blocks up to {told.received}, but {self._number} blocks were sent, and {max(self._confirmed, told.confirmed)} were confirmed", Close.REFUSED
            )
        self.layout = Layout(self.leaves, self.lanes, 0, told.shares)
        fitting = self._fitting(told)
        if fitting < self.lanes:
            raise ProtocolError(f"a step of {self.lanes} lanes does not fit in a frame of {told.frame_bytes} bytes", Close.REFUSED)
        self._welcome = told
        self.most = max(1, min(fitting, told.max_in_flight) // self.lanes) * self.lanes
        self._crossed = Crossed(told.shares)
        self.link = link
        link.watch(*told.times)
        self.dialer.welcomed()
        self._confirmed = max(self._confirmed, told.confirmed)
        self.backlog.restart(told.received, told.confirmed)
        if not self.met.done():
            self.met.set_result(None)
        self._room.set()
        self._pump()

    def _forget(self, number: int) -> None:
        if number > self._number:
            raise ProtocolError(f"a confirmation must refer to a block that was sent, got {number}")
        self._confirmed = max(self._confirmed, number)
        self.backlog.forget(number)
        self._room.set()
        self._pump()

    def _on_flushed(self, number: int) -> None:
        done = self._waiting.pop(number, None)
        if self.backlog.flushed(number) and done is not None and not done.done():
            done.set_result(None)

    def fail(self, cause: Exception) -> None:
        """Ends the writer with an error that does not come from the protocol."""
        error = ReplayError(f"CLOSED: the writer failed: {cause!r}")
        error.__cause__ = cause
        self.end(error, Close.NORMAL)

    def end(self, error: ReplayError | None, code: Close) -> None:
        """Ends the writer."""
        if self.closed.done():
            return
        self.closed.set_result(error)
        failure = error or ReplayError("CLOSED: the writer is closed")
        for done in self._waiting.values():
            if done.done():
                continue
            # Everything sent before a goodbye has arrived.
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(failure)
        self._waiting.clear()
        if not self.met.done():
            self.met.set_exception(failure)
        self.backlog.clear()
        link, self.link = self.link, None
        if link is not None:
            link.close(code)
        self._room.set()
        self.dialer.stop()
