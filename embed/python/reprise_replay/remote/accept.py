"""Accepts remote writers over a WebSocket, in the process with the Replay."""

from __future__ import annotations

import asyncio
import operator
import re
from typing import Any, Literal, SupportsIndex

from websockets.asyncio.connection import Connection

from ..instance import ReplayError, must
from ..replay import Replay
from .accepted import AcceptedWriter, Settings
from .frame import VERSION, Close, Fields, Frame, Kind, ProtocolError, count, error_of, field, is_flag, pack
from .intake import Intake
from .layout import Frames
from .limits import Limits, whole
from .link import Link
from .messages import encoded
from .sessions import Ended, Hello, sessions_of

_SESSION = re.compile(r"[A-Za-z0-9_-]{22,64}")
#: The maximum number of seconds between pings. Both ends can represent times of up to 2^30 milliseconds.
_NEVER = 2**30 / 1000


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
    """Accepts a `remoteWriter` at the other end of a WebSocket. Its steps are appended to a writer of the Replay.

    Returns when the actor's hello has been accepted. Then `await websocket.wait_closed()` keeps the connection, and
    `accepted.closed` resolves at the end of the session. If the connection breaks, the actor can reconnect within `session_ttl`
    seconds, and `accept` returns the same `AcceptedWriter`. Each step arrives once and in order.

    `writer`: the number of the writer in the Replay's text, which can have one actor at a time. `max_in_flight`: the maximum
    number of unconfirmed steps per session. `limits`: the limits for untrusted peers. `keep_alive`, `keep_alive_timeout`: the
    seconds of silence until a ping, and until the connection counts as broken. `timeout`: the seconds to wait for the actor's
    hello; None for no limit. If an actor reconnects, the options of the newest call apply.

    Raises ReplayError: `SPEC_MISMATCH` if the specs or lanes differ, `OUT_OF_TURN` if the writer already has an actor,
    `NOT_FOUND` if the session is unknown, `RATE_LIMITED` beyond `limits.sessions`, `UNSUPPORTED` beyond `limits.lanes` or for
    `confirm` "disk" (a Replay in Python has no journal), `CLOSED` if the peer left, `INVALID_DATA` if the peer broke the
    protocol, `TIMEOUT` if the actor sent no hello in time.
    """
    number, rules = operator.index(writer), (limits or Limits()).checked()
    intake = Intake(replay, number)
    must(confirm == "memory", f'UNSUPPORTED: confirm must be "memory", because a Replay in Python has no journal, got {confirm!r}. To use "disk", accept the writer in Node or Deno')
    most = whole(max_in_flight, "max_in_flight", 1)
    must(session_ttl >= 0, f"INVALID: session_ttl must be 0 seconds or more, got {session_ttl}")
    for name, value in (("keep_alive", keep_alive), ("keep_alive_timeout", keep_alive_timeout)):
        must(value >= 0.001, f"INVALID: {name} must be 0.001 seconds or more, got {value}")
    # Frames that the library rejects would break the connection silently.
    largest = getattr(websocket.protocol, "max_message_size", None)
    rules = rules._replace(frame_bytes=min(rules.frame_bytes, largest or rules.frame_bytes)).checked()
    link = Link(websocket, rules.frame_bytes, min(keep_alive, _NEVER), min(keep_alive_timeout, _NEVER))
    met: asyncio.Future[AcceptedWriter] = asyncio.get_running_loop().create_future()
    settings = Settings(most, rules, session_ttl, min(keep_alive, _NEVER), min(keep_alive_timeout, _NEVER))
    reading = asyncio.get_running_loop().create_task(_Meeting(link, intake, number, settings, met).read())
    readers = sessions_of(replay).readers
    readers.add(reading)
    reading.add_done_callback(readers.discard)
    link.post(pack(Kind.INVITE, {"versions": [VERSION]}))
    try:
        return await asyncio.wait_for(asyncio.shield(met), timeout)
    except asyncio.TimeoutError:
        link.close(Close.SILENT, "no remoteWriter sent a hello")
        met.cancel()
        raise ReplayError(f"TIMEOUT: no remoteWriter sent a hello within {timeout} seconds") from None
    except asyncio.CancelledError:
        link.close(Close.NORMAL)
        reading.cancel()
        raise


def publish(replay: Replay, message: Any) -> None:
    """Sends a message, such as new weights, to all writers that the Replay has accepted or will accept. A slow actor receives only
    the newest message. Bytes are sent unchanged, and other values as JSON. Call this function in the event loop's thread.
    """
    sessions = sessions_of(replay)
    sessions.newest = encoded(message)
    for accepted in list(sessions.open.values()):
        accepted._publish(*sessions.newest)


class _Meeting:
    """Reads a connection: handles its hello, and then passes frames to the writer that the connection belongs to."""

    def __init__(self, link: Link, intake: Intake, number: int, settings: Settings, met: asyncio.Future[AcceptedWriter]) -> None:
        self._link, self._intake, self._number, self._settings, self._met = link, intake, number, settings, met
        self._frames = Frames(intake.layout.shares)
        self._accepted: AcceptedWriter | None = None

    async def read(self) -> None:
        link = self._link
        try:
            await link.frames(self._on_frame)
            self._reject(ReplayError("CLOSED: the socket closed before its remoteWriter sent a hello"))
        except ReplayError as error:
            self._reject(error)
            self._fail(error)
        except Exception as error:
            # This end has failed. The actor must not wait for a response, and the session must not occupy the writer.
            self._reject(ReplayError(f"CLOSED: the Replay failed: {error!r}"))
            self._fail(error)
            raise
        finally:
            if self._accepted is not None:
                self._accepted.lose(link)
            await link.stop()

    def _on_frame(self, frame: Frame, size: int) -> None:
        accepted = self._accepted
        if accepted is not None:
            # Frames of a connection that was replaced by a newer one are ignored.
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

    def _fail(self, error: Exception) -> None:
        if self._accepted is not None and self._accepted._link is self._link:
            self._accepted.fail(error)
        self._link.close(error.close if isinstance(error, ProtocolError) else Close.FAILED, str(error))

    def _enter(self, fields: Fields) -> AcceptedWriter:
        """Admits an actor to its existing session, or to a new one."""
        intake, link = self._intake, self._link
        hello = self._check(fields)
        settings, limits = self._settings, self._settings.limits
        found = sessions_of(intake.replay).enter(hello, self._number, intake, settings)
        if isinstance(found, Ended):
            link.post(pack(Kind.CLOSED, found.farewell))
            link.close(found.code)
            return found.accepted
        received, confirmed = found.position
        link.post(
            pack(
                Kind.WELCOME,
                {
                    **intake.welcome(),
                    "maxInFlight": found.max_in_flight,
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
        found.attach(link, hello.reconnects, settings)
        return found

    def _check(self, fields: Fields) -> Hello:
        version = fields.get("version")
        must(version == VERSION, f"UNSUPPORTED: the Replay uses version {VERSION} of the protocol, got {version!r}. Install the same version of Reprise at both ends")
        session = field(fields, "session", lambda value: isinstance(value, str) and _SESSION.fullmatch(value) is not None, "22 to 64 characters from A-Z a-z 0-9 _ -")
        leaves, lanes, most = fields.get("leaves"), count(fields, "lanes"), self._settings.limits.lanes
        must(lanes <= most, f"UNSUPPORTED: the actor has {lanes} lanes, but limits.lanes allows {most}. Use fewer lanes, or increase the limit")
        own = self._intake.leaves()
        theirs = [{"path": leaf.get("path"), "text": leaf.get("text")} for leaf in leaves if isinstance(leaf, dict)] if isinstance(leaves, list) else []
        for mine, other in zip(own, theirs, strict=False):
            must(mine == other, f"SPEC_MISMATCH: the spec of the Replay has {_said(mine)}, but the spec of the writer has {_said(other)}")
        must(len(own) == len(theirs), f"SPEC_MISMATCH: the spec of the Replay has {len(own)} leaves, but the spec of the writer has {len(theirs)}")
        must(lanes == self._intake.told.lanes, f"SPEC_MISMATCH: writer {self._number} has {self._intake.told.lanes} lanes, but the actor has {lanes}")
        resume, reconnects = (bool(field(fields, name, is_flag, "a boolean")) for name in ("resume", "reconnects"))
        return Hello(session, resume, reconnects, lanes, count(fields, "receipt"))


def _said(leaf: dict[str, Any]) -> str:
    return f"{str(leaf['path'])[:80]}: {str(leaf['text'])[:80]}"

