"""Stores the entries of a writer, in order, until the Replay has confirmed them."""

from __future__ import annotations

from .frame import Kind
from .outgoing import Entry
from .welcome import Welcome


class Backlog:
    """The unconfirmed entries. The entries that were sent over the current connection come first."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._sent = 0
        # The rows of all entries, and the rows and bytes of sent entries.
        self.steps, self._sent_steps, self._sent_bytes = 0, 0, 0
        #: Whether a goodbye was sent, over this or another connection.
        self.said_goodbye = False

    @property
    def has_blocks(self) -> bool:
        """Whether the entries include blocks."""
        return any(entry.is_block for entry in self._entries)

    def has_room(self, told: Welcome) -> bool:
        """Whether one more block may wait."""
        return self.steps < told.max_in_flight and self._sent_bytes < told.in_flight_bytes and len(self._entries) < told.max_in_flight

    def add(self, entry: Entry, most: int) -> None:
        """Appends an entry, or joins it to the last entry if the result has at most `most` rows."""
        if self._sent < len(self._entries) and self._entries[-1].takes(entry, most):
            self._entries[-1].join(entry)
        else:
            self._entries.append(entry)
        self.steps += entry.steps

    def next(self, told: Welcome) -> Entry | None:
        """Returns the next entry and counts it as sent. Returns None if there is no entry, or if the limits of the Replay do not allow another one."""
        if self._sent == len(self._entries):
            return None
        entry = self._entries[self._sent]
        if entry.is_block and (self._sent_steps >= told.max_in_flight or self._sent_bytes >= told.in_flight_bytes):
            return None
        self._sent += 1
        self._sent_steps += entry.steps
        self.said_goodbye |= entry.kind == Kind.BYE
        return entry

    def sent(self, entry: Entry, size: int) -> None:
        """Counts the bytes of an entry that was just sent towards the limit on unconfirmed bytes."""
        entry.size = size if entry.is_block else 0
        self._sent_bytes += entry.size

    @property
    def unsent(self) -> int:
        """The number of rows that have not been sent over this connection."""
        return self.steps - self._sent_steps

    def restart(self, received: int, confirmed: int) -> None:
        """Prepares for a new connection: drops the blocks up to `confirmed`. Entries after the block `received` will be sent
        again, as will unanswered calls, after the remaining blocks."""
        there = [entry for entry in self._entries if confirmed < entry.number <= received]
        self._entries = there + [entry for entry in self._entries if entry.number == 0 or entry.number > received]
        self._sent = len(there)
        self._count()

    def forget(self, number: int) -> None:
        """Drops the blocks up to the one with this number."""
        end, kept = 0, []
        # The numbers of blocks increase. A flush between blocks remains until it is answered.
        for entry in self._entries:
            if entry.number > number or end == self._sent:
                break
            end += 1
            if entry.number == 0:
                kept.append(entry)
                continue
            self.steps -= entry.steps
            self._sent_steps -= entry.steps
            self._sent_bytes -= entry.size
        if end > len(kept):
            self._sent -= end - len(kept)
            self._entries[:end] = kept

    def flushed(self, identifier: int) -> bool:
        """Drops a flush. Returns whether the flush existed."""
        for at, entry in enumerate(self._entries):
            if entry.kind == Kind.FLUSH and entry.fields["id"] == identifier:
                del self._entries[at]
                self._sent -= at < self._sent
                return True
        return False

    def clear(self) -> None:
        """Drops all entries."""
        self._entries, self._sent = [], 0
        self._count()

    def _count(self) -> None:
        ahead = self._entries[: self._sent]
        self.steps = sum(entry.steps for entry in self._entries)
        self._sent_steps, self._sent_bytes = sum(entry.steps for entry in ahead), sum(entry.size for entry in ahead)
