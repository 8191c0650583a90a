"""Implements a writer whose Replay is at the other end of a WebSocket, in Node, Deno, Bun or Python."""

from __future__ import annotations

import asyncio
import contextlib
import operator
from collections.abc import Callable, Mapping
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..columns import Column, array
from ..instance import ReplayError, did_you_mean, must
from ..replay import ENDED, TERMINATED, TRUNCATED, U1
from .conversation import Conversation
from .dialer import Target
from .frame import Close, Kind
from .outgoing import Entry, block, columns_of

_CODES = {ENDED: 0, TRUNCATED: 1, TERMINATED: 2}
_ITEM, _END, _DISCARD = 0, 1, 3


class RemoteWriter:
    """A writer of a Replay in another process, created by `remote_writer`. Steps arrive once and in order, even if the connection breaks."""

    #: Resolves when the writer has ended, with the error that ended it, or None.
    closed: asyncio.Future[ReplayError | None]

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
        self._lanes, self._take = lanes, take
        self._conversation = Conversation(target, leaves, lanes, while_offline, on_message, reconnect_timeout)
        self.closed = self._conversation.closed
        # Calls run in order, one at a time.
        self._turn = asyncio.Lock()
        # The task that says goodbye, after `close` was called.
        self._leaving: asyncio.Task[None] | None = None

    async def met(self) -> None:
        """Waits until the Replay's end has welcomed the writer."""
        await asyncio.shield(self._conversation.met)

    @property
    def connected(self) -> bool:
        """Whether the writer has a connection over which it was welcomed."""
        return self._conversation.link is not None

    @property
    def in_flight(self) -> int:
        """The number of rows that are not confirmed yet."""
        return self._conversation.backlog.steps

    @property
    def keep(self) -> int:
        """The number of steps in the window of a lane, which is the maximum length of an item."""
        return int(self._conversation.told().fields["keep"])

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables of the Replay."""
        return tuple(self._conversation.told().fields["tables"])

    async def append(self, steps: Mapping[str, ArrayLike], ends: ArrayLike = (), finals: Mapping[str, ArrayLike] | None = None) -> None:
        """Appends steps as `Replay.append` does. The call waits while the maximum number of steps is unconfirmed.

        If the call is cancelled while it waits, some of its first steps may have been appended.

        Raises ReplayError: `SPEC_MISMATCH` or `INVALID_DATA` if steps do not fit, `IO` if there is no connection and
        `while_offline` is "fail", `CLOSED` after `close` was called, or the error that ended the writer.
        """
        self._must_stay()
        (n, taken), (last, last_taken) = self._take(steps, "steps"), self._take(finals, "finals")
        how = np.ravel(array(ends, U1, "ends")) if np.size(ends) else np.zeros(0, np.uint8)
        must(n > 0 and n % self._lanes == 0, f"SPEC_MISMATCH: the number of steps must be a positive multiple of the {self._lanes} lanes, got {n}")
        must(len(how) in (0, n), f"SPEC_MISMATCH: ends must have {n} values, one per step, got {len(how)}")
        must(not len(how) or how.max() <= TERMINATED, "INVALID: ends must contain only 0, ENDED, TRUNCATED and TERMINATED")
        must(last in (0, np.count_nonzero(how > ENDED)), f"SPEC_MISMATCH: finals must have one step for each end with a final observation, got {last}")
        conversation = self._conversation
        columns = [np.array(column) for column in columns_of(conversation.layout, taken)]
        final_columns = [np.array(column) for column in columns_of(conversation.layout, last_taken)] if last else []
        async with self._turn:
            at, used = 0, 0
            while at < n:
                # After a reconnection, the limit may differ.
                end = min(at + conversation.most, n)
                part = how[at:end]
                entry = Entry(Kind.COLUMNS, {"rows": end - at, "ends": bool(part.any()), "finals": 0, "priorities": []}, end - at)
                entry.columns = [column[at:end] for column in columns]
                if part.any():
                    entry.ends = part.copy()
                    finals_here = int(np.count_nonzero(part > ENDED)) if last else 0
                    entry.fields["finals"] = finals_here
                    entry.finals = [column[used : used + finals_here] for column in final_columns]
                    used += finals_here
                await conversation.push(entry, is_part=at > 0)
                at = end

    async def end(self, how: SupportsIndex = TERMINATED, final: Mapping[str, ArrayLike] | None = None, *, lane: SupportsIndex = 0) -> None:
        """Ends the episode of a lane. `final`: the final observation as a step; required for `TRUNCATED`, optional for `TERMINATED`, rejected for `ENDED`."""
        self._must_stay()
        number, (n, taken) = operator.index(how), self._take(final, "final")
        must(number in _CODES, f"INVALID: how must be ENDED, TRUNCATED or TERMINATED, got {how}")
        must(n < 2, f"SPEC_MISMATCH: final must be one step, got {n}")
        must(number != TRUNCATED or n == 1, "INVALID: final is required if an episode is truncated, because its transitions bootstrap from it")
        must(number != ENDED or n == 0, "INVALID: final must be omitted if an episode ends without a final step")
        layout = self._conversation.layout
        call: list[float] = [0, _END, self._lane(lane) + 1, _CODES[number], n, 0, 0]
        await self._push(block(layout, int(n == 1 or number == TERMINATED), call, columns_of(layout, taken) if n else []))

    async def item(self, table: str, length: SupportsIndex, priority: float | Literal["max"] = 1.0, *, lane: SupportsIndex = 0) -> None:
        """Creates an item from a lane's last `length` steps. `priority`: a number, or "max" as in `Replay.item`."""
        self._must_stay()
        must(table in self.tables, f"NOT_FOUND: table must be one of {list(self.tables)}, got {table!r}{did_you_mean(table, self.tables)}")
        number, size = -1.0 if priority == "max" else float(priority), operator.index(length)
        must(priority == "max" or 0 <= number < np.inf, f'INVALID: priority must be a finite number of at least 0, or "max", got {priority}')
        must(0 < size <= self.keep, f"INVALID: length must be from 1 to {self.keep} (keep), got {length}")
        await self._push(block(self._conversation.layout, 0, [0, _ITEM, self.tables.index(table), size, number, self._lane(lane), 0]))

    async def discard(self, *, lane: SupportsIndex = 0) -> None:
        """Releases the steps of a lane's open episode, and deletes the items that begin in it."""
        self._must_stay()
        await self._push(block(self._conversation.layout, 0, [0, _DISCARD, self._lane(lane) + 1, 0, 0, 0, 0]))

    async def flush(self) -> None:
        """Waits until all earlier steps are confirmed and no item waits for a rate limiter."""
        self._must_stay()
        async with self._turn:
            done = await self._conversation.push_flush()
        await done

    async def close(self) -> None:
        """Closes the writer: waits until everything is confirmed, and ends the open episodes. The writer accepts nothing after this
        call, even if the call is cancelled. The call has no effect on a writer that has ended.

        Raises ReplayError if the writer ended with an error before everything was confirmed.
        """
        if not self.closed.done():
            self._leaving = self._leaving or asyncio.get_running_loop().create_task(self._leave())
            error = await asyncio.shield(self.closed)
            if error is not None:
                raise error
        await self._conversation.dialer.stopped()

    def abort(self) -> None:
        """Ends the writer immediately. Steps that are not confirmed may be lost."""
        self._conversation.end(ReplayError("CLOSED: the writer was aborted"), Close.NORMAL)

    async def __aenter__(self) -> RemoteWriter:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            await self.close()
        else:
            self.abort()
            await self._conversation.dialer.stopped()

    async def _push(self, entry: Entry) -> None:
        async with self._turn:
            await self._conversation.push(entry)

    async def _leave(self) -> None:
        # `closed` reports the error if the writer has ended earlier.
        with contextlib.suppress(ReplayError):
            await self._push(Entry(Kind.BYE, {}))

    def _must_stay(self) -> None:
        """Raises ReplayError if `close` was called, because messages after a goodbye would be dropped."""
        must(self._leaving is None or self.closed.done(), "CLOSED: the writer is closing. Create a new writer")

    def _lane(self, lane: SupportsIndex) -> int:
        number = operator.index(lane)
        must(0 <= number < self._lanes, f"INVALID: lane must be from 0 to {self._lanes - 1}, got {lane}")
        return number
