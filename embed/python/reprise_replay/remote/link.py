"""Implements one connection, for both ends: sends and reads frames in order, and checks that the other end responds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from websockets.asyncio.connection import Connection
from websockets.exceptions import ConnectionClosed

from .frame import Close, Frame, Kind, ProtocolError, pack, reason, unpack

#: The kinds of frames that answer the other end, and how many such frames may wait in a socket. Credits and receipts limit all other frames.
_ANSWERS = frozenset({Kind.HELLO, Kind.CONFIRMATION, Kind.FLUSHED, Kind.RECEIPT, Kind.PONG})
_MAX_ANSWERS = 5000


class Link:
    """One connection: sends frames in order, reads the frames of the other end, and checks with pings that the other end responds."""

    def __init__(self, socket: Connection, frame_bytes: int, keep_alive: float, keep_alive_timeout: float) -> None:
        self.socket, self.frame_bytes = socket, frame_bytes
        self._times = keep_alive, keep_alive_timeout
        self._loop = asyncio.get_running_loop()
        self._out: asyncio.Queue[bytes | tuple[int, str]] = asyncio.Queue()
        self._heard = self._loop.time()
        self._is_closing = False
        self._patience: asyncio.TimerHandle | None = None
        self._answers = 0
        # The newest waiting frame of each kind.
        self._newest: dict[int, bytes] = {}
        self._sender = self._loop.create_task(self._send())
        self._keeper = self._loop.create_task(self._keep())

    def watch(self, keep_alive: float, keep_alive_timeout: float) -> None:
        """Sets the times: after `keep_alive` seconds of silence, a ping is sent; after `keep_alive_timeout` more seconds, the socket is closed."""
        self._times = keep_alive, keep_alive_timeout
        self._keeper.cancel()
        self._keeper = self._loop.create_task(self._keep())

    def post(self, frame: bytes) -> None:
        """Sends a frame after all earlier ones. If the peer leaves too many answers unread, the socket is closed."""
        if self._is_closing:
            return
        self._answers += _is_answer(frame)
        if self._answers <= _MAX_ANSWERS:
            self._out.put_nowait(frame)
            return
        self._shut(Close.TOO_MUCH, "the other end does not read the answers")

    def post_newest(self, frame: bytes) -> None:
        """Sends a receipt or a confirmation. It replaces one of the same kind that still waits, because it includes all earlier ones."""
        waits = frame[0] in self._newest
        self._newest[frame[0]] = frame
        if not waits:
            # Only the kind is queued, so a newer frame of this kind takes the same place in the order.
            self.post(frame[:1])

    def close(self, code: int, text: str = "", then: Callable[[], object] | None = None) -> None:
        """Closes the socket when all frames are sent, and then calls `then`. Aborts the connection if this takes longer than `keep_alive_timeout`."""
        if not self._is_closing:
            self._is_closing = True
            self._out.put_nowait((int(code), reason(text)))
            self._patience = self._loop.call_later(self._times[1], self.socket.transport.abort)
        if then is not None:
            self._sender.add_done_callback(lambda _: then())

    async def frames(self, on_frame: Callable[[Frame, int], None]) -> None:
        """Reads frames until the connection ends. Ignores text messages, which do not belong to the protocol.

        Raises ProtocolError if a frame breaks the protocol.
        """
        try:
            while True:
                data = await self.socket.recv()
                self._heard = self._loop.time()
                if isinstance(data, str):
                    continue
                if len(data) > self.frame_bytes:
                    raise ProtocolError(f"a frame must have at most {self.frame_bytes} bytes, got {len(data)}", Close.TOO_LARGE)
                frame = unpack(data)
                if frame.kind == Kind.PING:
                    self.post(pack(Kind.PONG))
                elif frame.kind != Kind.PONG:
                    on_frame(frame, len(data))
        except ConnectionClosed:
            return
        finally:
            self._keeper.cancel()

    async def stop(self) -> None:
        """Sends the pending close, ends the tasks of the connection, and closes the socket."""
        self._keeper.cancel()
        if not self._is_closing:
            self._sender.cancel()
        try:
            # The other end's close follows its earlier frames, which are no longer read.
            await asyncio.gather(self._sender, self._keeper, self._drain(), return_exceptions=True)
        finally:
            if self._patience is not None:
                self._patience.cancel()
            # If the task was cancelled in the meantime, the close may not be sent.
            self.socket.transport.abort()

    def _shut(self, code: Close, text: str) -> None:
        """Closes the socket without sending the frames that wait."""
        self._is_closing = True
        self._sender.cancel()
        self._sender = self._loop.create_task(self._close(code, text))

    async def _close(self, code: int, text: str) -> None:
        """Closes the socket within a time limit, because the library would wait until the peer has read all earlier messages."""
        try:
            await asyncio.wait_for(self.socket.close(code, text), self._times[1])
        except asyncio.TimeoutError:
            self.socket.transport.abort()

    async def _drain(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.socket.recv()

    async def _send(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                frame = await self._out.get()
                if isinstance(frame, tuple):
                    await self._close(*frame)
                    return
                self._answers -= _is_answer(frame)
                if len(frame) == 1:
                    frame = self._newest.pop(frame[0])
                await self.socket.send(frame)

    async def _keep(self) -> None:
        alive, timeout = self._times
        while True:
            silence = self._loop.time() - self._heard
            if silence < alive:
                await asyncio.sleep(alive - silence)
                continue
            self.post(pack(Kind.PING))
            heard = self._heard
            await asyncio.sleep(timeout)
            if self._heard == heard:
                self._shut(Close.SILENT, "the other end sent nothing for too long")
                return


def _is_answer(frame: bytes) -> bool:
    return frame[0] in _ANSWERS
