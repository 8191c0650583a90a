"""The memory's end: lets writers in that come over a WebSocket."""

from __future__ import annotations

import asyncio
import operator
import re
from collections import OrderedDict
from typing import Any, Literal, SupportsIndex

from websockets.asyncio.connection import Connection

from ..instance import ReplayError, must
from ..replay import Replay
from .accepted import AcceptedWriter, Settings
from .frame import VERSION, Close, Fields, Frame, Kind, ProtocolError, count, error_of, field, is_flag, pack
from .intake import Intake
from .layout import Frames
from .limits import Limits
from .link import Link
from .messages import encoded

_SESSION = re.compile(r"[A-Za-z0-9_-]{22,64}")
#: Sessions that have ended, whose writers are told so if they come again.
_ENDED = 1024


class _Door:
    """The writers of one Replay whose sessions are open."""

    def __init__(self) -> None:
        self.open: dict[int, AcceptedWriter] = {}
        self.ended: OrderedDict[str, tuple[AcceptedWriter, dict[str, Any], Close]] = OrderedDict()
        self.newest: tuple[str, bytes] | None = None


def _door(replay: Replay) -> _Door:
    if replay._door is None:
        replay._door = _Door()
    door: _Door = replay._door
    return door


async def accept(
    websocket: Connection,
    replay: Replay,
    *,
    writer: SupportsIndex = 0,
    max_in_flight: int = 1024,
    confirm: Literal["memory"] = "memory",
    session_ttl: float = 60.0,
    limits: Limits | None = None,
    keep_alive: float = 30.0,
    keep_alive_timeout: float = 20.0,
    timeout: float | None = 30.0,
) -> AcceptedWriter:
    """Lets a `remoteWriter` in, whose steps become those of a writer of the Replay. Speaks the protocol of docs/actors-protocol.md.

    It returns once the two ends have met. Then `await websocket.wait_closed()` keeps the connection; `accepted.closed` resolves
    at the end of the session. If the connection breaks, the actor comes again within `session_ttl` seconds, and `accept`
    returns the same `AcceptedWriter`. Each step arrives once and in order.

    `writer`: the number of the writer in the Replay's text; it has one actor at a time. `max_in_flight`: steps that may be
    unconfirmed. `limits`: for peers that nobody trusts. `keep_alive`, `keep_alive_timeout`: seconds of silence until a ping, and
    until the connection counts as broken. `timeout`: seconds for the actor to say hello, None for no limit.

    Raises ReplayError: `SPEC_MISMATCH` if the specs or lanes differ, `OUT_OF_TURN` if the writer has an actor, `NOT_FOUND` for a
    session that is not known, `UNSUPPORTED` for `confirm` "disk" (a Replay in Python has no journal), `CLOSED` or
    `INVALID_DATA` if the peer left or broke the protocol, `TIMEOUT`.
    """
    number, rules = operator.index(writer), (limits or Limits()).checked()
    must(confirm == "memory", f'UNSUPPORTED: confirm must be "memory", since a Replay in Python has no journal, got {confirm!r}. Accept in Node or Deno for "disk"')
    must(max_in_flight >= 1, f"INVALID: max_in_flight must be 1 or more, got {max_in_flight}")
    must(session_ttl >= 0, f"INVALID: session_ttl must be 0 seconds or more, got {session_ttl}")
    must(keep_alive > 0 and keep_alive_timeout > 0, f"INVALID: keep_alive and keep_alive_timeout must be more than 0 seconds, got {keep_alive}, {keep_alive_timeout}")
    # What the library does not let through would break the connection without a word.
    largest = getattr(websocket.protocol, "max_message_size", None)
    rules = rules._replace(frame_bytes=min(rules.frame_bytes, largest or rules.frame_bytes))
    intake = Intake(replay, number, rules.frame_bytes)
    link = Link(websocket, rules.frame_bytes, keep_alive, keep_alive_timeout)
    met: asyncio.Future[AcceptedWriter] = asyncio.get_running_loop().create_future()
    meeting = _Meeting(link, intake, number, Settings(max_in_flight, rules, session_ttl, keep_alive, keep_alive_timeout), met)
    reading = asyncio.get_running_loop().create_task(meeting.read())
    link.post(pack(Kind.INVITE, {"versions": [VERSION]}))
    try:
        return await asyncio.wait_for(asyncio.shield(met), timeout)
    except asyncio.TimeoutError:
        link.close(Close.SILENT, "no remoteWriter said hello")
        met.cancel()
        raise ReplayError(f"TIMEOUT: no remoteWriter said hello within {timeout} seconds") from None
    except asyncio.CancelledError:
        link.close(Close.NORMAL)
        reading.cancel()
        raise


def publish(replay: Replay, message: Any) -> None:
    """Sends a message, such as new weights, to all writers that the Replay has accepted, and to those that come later. An actor that
    is slow receives only the newest. Bytes go as they are, anything else as JSON."""
    door = _door(replay)
    door.newest = encoded(message)
    for accepted in door.open.values():
        accepted._publish(*door.newest)


class _Meeting:
    """Reads a connection: up to `hello` for itself, then for the writer that it belongs to."""

    def __init__(self, link: Link, intake: Intake, number: int, settings: Settings, met: asyncio.Future[AcceptedWriter]) -> None:
        self._link, self._intake, self._number, self._settings, self._met = link, intake, number, settings, met
        self._frames = Frames(intake.layout.shares)
        self._accepted: AcceptedWriter | None = None

    async def read(self) -> None:
        link = self._link
        try:
            await link.frames(self._on_frame)
            self._reject(ReplayError("CLOSED: the socket closed before its remoteWriter said hello"))
        except ReplayError as error:
            self._reject(error)
            code = error.close if isinstance(error, ProtocolError) else Close.FAILED
            if self._accepted is not None and self._accepted._link is link:
                self._accepted.fail(error)
            link.close(code, str(error))
        finally:
            if self._accepted is not None:
                self._accepted.lose(link)
            await link.stop()

    def _on_frame(self, frame: Frame, size: int) -> None:
        accepted = self._accepted
        if accepted is not None:
            # One that another connection has replaced brings nothing any more.
            if accepted._link is self._link:
                accepted.receive(frame, self._frames, size)
        elif frame.kind == Kind.HELLO and not self._met.done():
            self._hello(frame.fields)

    def _hello(self, fields: Fields) -> None:
        link = self._link
        try:
            accepted = self._enter(fields)
        except ReplayError as error:
            link.post(pack(Kind.REFUSED, {"error": error_of(error)}))
            link.close(error.close if isinstance(error, ProtocolError) else Close.REFUSED, str(error))
            self._reject(error)
            return
        if not self._met.done():
            self._met.set_result(accepted)

    def _reject(self, error: ReplayError) -> None:
        if not self._met.done():
            self._met.set_exception(error)

    def _enter(self, fields: Fields) -> AcceptedWriter:
        """Lets an actor in: into its session, or with a new one."""
        intake, link, number = self._intake, self._link, self._number
        session, resume, reconnects, receipt = self._check(fields)
        door = _door(intake.replay)
        if session in door.ended:
            accepted, farewell, code = door.ended[session]
            link.post(pack(Kind.CLOSED, farewell))
            link.close(code)
            return accepted
        found = door.open.get(number)
        if found is not None and found.session != session:
            must(
                not found.connected,
                f"OUT_OF_TURN: writer {number} has an actor. Let that one close, or give the text another writer, and pass its number",
            )
            must(not resume, UNKNOWN)
            found.abandon()
            found = None
        if found is None:
            must(not resume, UNKNOWN)

            def on_end(farewell: dict[str, Any] | None, code: Close) -> None:
                door.open.pop(number, None)
                if farewell is None:
                    return
                door.ended[session] = opened, farewell, code
                while len(door.ended) > _ENDED:
                    door.ended.popitem(last=False)

            opened = found = AcceptedWriter(intake, session, reconnects, self._settings, on_end)
            door.open[number] = found
            if door.newest is not None:
                found._publish(*door.newest)
        received, confirmed = found.position
        settings, limits = self._settings, self._settings.limits
        link.post(
            pack(
                Kind.WELCOME,
                {
                    **intake.welcome(),
                    "maxInFlight": settings.max_in_flight,
                    "confirm": "memory",
                    "received": received,
                    "confirmed": confirmed,
                    "frameBytes": limits.frame_bytes,
                    "inFlightBytes": limits.in_flight_bytes,
                    "keepAliveMs": round(1000 * settings.keep_alive),
                    "keepAliveTimeoutMs": round(1000 * settings.keep_alive_timeout),
                },
            )
        )
        self._accepted = found
        found.attach(link, receipt)
        return found

    def _check(self, fields: Fields) -> tuple[str, bool, bool, int]:
        version = fields.get("version")
        must(version == VERSION, f"UNSUPPORTED: the memory speaks version {VERSION} of the protocol, got {version!r}. Install the same version of Reprise at both ends")
        session = field(fields, "session", lambda value: isinstance(value, str) and _SESSION.fullmatch(value) is not None, "22 to 64 characters from A-Z a-z 0-9 _ -")
        leaves, lanes = fields.get("leaves"), count(fields, "lanes")
        own = self._intake.leaves()
        theirs = [{"path": leaf.get("path"), "text": leaf.get("text")} for leaf in leaves if isinstance(leaf, dict)] if isinstance(leaves, list) else []
        for mine, other in zip(own, theirs, strict=False):
            must(mine == other, f"SPEC_MISMATCH: the spec of the Replay has {_said(mine)}, and that of the writer {_said(other)}")
        must(len(own) == len(theirs), f"SPEC_MISMATCH: the spec of the Replay has {len(own)} leaves, and that of the writer {len(theirs)}")
        must(lanes == self._intake.told.lanes, f"SPEC_MISMATCH: writer {self._number} has {self._intake.told.lanes} lanes, and the actor {lanes}")
        return session, bool(field(fields, "resume", is_flag, "a boolean")), bool(field(fields, "reconnects", is_flag, "a boolean")), count(fields, "receipt")


def _said(leaf: dict[str, Any]) -> str:
    return f"{str(leaf['path'])[:80]}: {str(leaf['text'])[:80]}"


UNKNOWN = "NOT_FOUND: the session of this writer is not known here: the memory was started again, or session_ttl is over. Make a new writer"
