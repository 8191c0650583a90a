"""Stores the sessions of a Replay's actors. An actor that reconnects within `session_ttl` is identified by its secret."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any, NamedTuple

from ..instance import must
from ..replay import Replay
from .accepted import AcceptedWriter, Settings
from .frame import Close
from .intake import Intake

UNKNOWN = "NOT_FOUND: the Replay does not know the session of this writer. The Replay was restarted, or session_ttl has passed. Create a new writer"


class Hello(NamedTuple):
    """An actor's validated description of itself."""

    session: str
    resume: bool
    reconnects: bool
    lanes: int
    receipt: int


class Ended(NamedTuple):
    """A session that has ended, and the answer for its actor if it reconnects before the session expires."""

    number: int
    accepted: AcceptedWriter
    farewell: dict[str, Any]
    code: Close
    until: float


class Sessions:
    """The sessions of one Replay: the open session of each writer, by writer number, and the sessions that ended recently, by secret."""

    def __init__(self) -> None:
        self.open: dict[int, AcceptedWriter] = {}
        self.ended: dict[str, Ended] = {}
        #: The last published message.
        self.newest: tuple[str, bytes] | None = None
        #: The tasks that read connections.
        self.readers: set[asyncio.Task[None]] = set()

    def enter(self, hello: Hello, number: int, intake: Intake, settings: Settings) -> AcceptedWriter | Ended:
        """Returns the session of an actor: its existing session, or a new one. If the call raises an error, nothing has changed.

        Raises ReplayError: `OUT_OF_TURN`, `NOT_FOUND`, `RATE_LIMITED`, `INVALID_DATA`.
        """
        session, now = hello.session, monotonic()
        self.ended = {secret: ended for secret, ended in self.ended.items() if ended.until > now}
        ended = self.ended.get(session)
        if ended is not None:
            must(ended.number == number, UNKNOWN)
            return ended
        found = self.open.get(number)
        if found is not None and found.session == session and found.runs:
            found.handled(hello.receipt)
            return found
        must(
            found is None or not found.connected or not found.runs,
            f"OUT_OF_TURN: writer {number} already has an actor. Close that actor first, or add a writer to the text and pass its number",
        )
        # A secret belongs to one writer.
        must(not hello.resume and all(one.session != session or one is found for one in self.open.values()), UNKNOWN)
        kept, most = len(self.open) + len(self.ended) - (found is not None), settings.limits.sessions
        must(kept < most, f"RATE_LIMITED: {kept} sessions are open, and limits.sessions allows {most}. Retry later, or increase limits.sessions")
        if found is not None:
            found.abandon()
        return self._add(hello, number, intake, settings)

    def _add(self, hello: Hello, number: int, intake: Intake, settings: Settings) -> AcceptedWriter:
        def on_end(farewell: dict[str, Any] | None, code: Close) -> None:
            self.open.pop(number, None)
            ttl = accepted.ttl
            if farewell is not None and ttl > 0:
                self.ended[hello.session] = Ended(number, accepted, farewell, code, monotonic() + ttl)

        accepted = AcceptedWriter(intake, hello.session, hello.reconnects, settings, on_end)
        accepted.begin(hello.receipt)
        self.open[number] = accepted
        if self.newest is not None:
            accepted._publish(*self.newest)
        return accepted


def sessions_of(replay: Replay) -> Sessions:
    """Returns the sessions of a Replay."""
    if replay._door is None:
        replay._door = Sessions()
    sessions: Sessions = replay._door
    return sessions
