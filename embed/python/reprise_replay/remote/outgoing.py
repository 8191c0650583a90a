"""Encodes blocks of steps as frames of the protocol. Shared frames are sent once per connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..columns import Array
from ..instance import Bytes
from .frame import Kind, pack
from .layout import Layout, Share, raw


class Entry:
    """A block, a flush or a goodbye that the Replay has not confirmed yet."""

    def __init__(self, kind: Kind, fields: dict[str, Any], steps: int = 0) -> None:
        self.kind, self.fields, self.steps = kind, fields, steps
        #: The columns of the leaves, each as rows of bytes.
        self.columns: list[Bytes] = []
        self.ends: Bytes | None = None
        self.finals: list[Bytes] = []
        #: The number of bytes that the entry counts towards the limit on unconfirmed bytes, which is set when the entry is sent.
        self.size = 0

    @property
    def is_block(self) -> bool:
        """Whether the entry has steps or calls, and therefore a number."""
        return self.kind in (Kind.BLOCK, Kind.COLUMNS)

    @property
    def rows(self) -> int:
        """The number of rows in the columns, including final steps."""
        return sum(len(columns[0]) for columns in (self.columns, self.finals) if columns)

    @property
    def number(self) -> int:
        """The number of a block, which is assigned when the block is sent; 0 before that, and for other entries."""
        return int(self.fields.get("number", 0))

    def takes(self, other: Entry, most: int) -> bool:
        """Whether the steps of the next entry may be added to the same frame, which can have at most `most` rows."""
        fitting = self.kind == other.kind == Kind.COLUMNS and self.number == 0 and self.steps + other.steps <= most
        # Either all final steps are present, or none.
        return fitting and (self.lacks_finals == other.lacks_finals or not (self.ends_some and other.ends_some))

    @property
    def ends_some(self) -> bool:
        return self.ends is not None and bool((self.ends > 1).any())

    @property
    def lacks_finals(self) -> bool:
        """Whether episodes end in the entry without final steps."""
        return self.ends_some and not self.fields["finals"]

    def join(self, other: Entry) -> None:
        """Appends the steps of the next entry."""
        if self.ends is not None or other.ends is not None:
            parts = [np.zeros(one.steps, np.uint8) if one.ends is None else one.ends for one in (self, other)]
            self.ends = np.concatenate(parts)
        self.columns = [np.concatenate(pair) for pair in zip(self.columns, other.columns, strict=True)]
        self.finals = [np.concatenate(pair) for pair in zip(self.finals, other.finals, strict=True)] if self.finals and other.finals else self.finals or other.finals
        self.steps += other.steps
        self.fields.update(rows=self.steps, ends=self.ends is not None, finals=self.fields["finals"] + other.fields["finals"])


def block(layout: Layout, slots: int, call: list[float], final: Sequence[Bytes] = ()) -> Entry:
    """Returns a block with one call, and a slot for its final step, if there is one."""
    entry = Entry(Kind.BLOCK, {"slots": slots, "calls": call, "columns": []})
    rows = slots * layout.lanes
    entry.columns = [np.zeros((rows, leaf.bytes), np.uint8) for leaf in layout.leaves]
    for column, values in zip(entry.columns, final, strict=False):
        column[0] = values[0]
    entry.ends = np.zeros(rows, np.uint8)
    return entry


class Crossed:
    """The frames that were sent over one connection."""

    def __init__(self, shares: Sequence[Share]) -> None:
        self._shares = shares
        self._known: list[dict[bytes, int]] = [{} for _ in shares]
        self._count = [0] * len(shares)

    def references(self, k: int, values: Bytes, new: list[bytes]) -> Bytes:
        """Returns references to the frames in values, as rows of bytes. Adds frames that the Replay does not have to `new`."""
        share, known = self._shares[k], self._known[k]
        oldest = self._count[k] - share.capacity
        found = []
        for frame in values.reshape(-1, share.frame_bytes):
            key = frame.tobytes()
            number = known.get(key, -1)
            if number < max(0, oldest):
                number = known[key] = self._count[k] + len(new)
                new.append(key)
            found.append(number % 2**32)
        return np.array(found, np.uint32).view(np.uint8)

    def advance(self, new: list[list[bytes]]) -> None:
        """Counts the new frames of a block, and drops the frames that the Replay drops."""
        for k, (share, frames) in enumerate(zip(self._shares, new, strict=True)):
            self._count[k] += len(frames)
            if len(self._known[k]) > 4 * share.capacity:
                self._known[k] = {key: number for key, number in self._known[k].items() if number >= self._count[k] - share.capacity}


def packed(entry: Entry, layout: Layout, crossed: Crossed) -> bytes:
    """Returns the frame of an entry for a connection."""
    if not entry.is_block:
        return pack(entry.kind, entry.fields)
    new: list[list[bytes]] = [[] for _ in layout.shares]

    def column(i: int, values: Bytes) -> Bytes:
        share = layout.share_of.get(i)
        return values.reshape(-1) if share is None else crossed.references(share, values, new[share])

    parts = [column(i, values) for i, values in enumerate(entry.columns)]
    if entry.ends is not None:
        parts.append(entry.ends)
    parts += [column(i, values) for i, values in enumerate(entry.finals)]
    frames = [np.frombuffer(b"".join(one), np.uint8) for one in new]
    fields = {**entry.fields, "frames": [len(one) for one in new]} if layout.shares else entry.fields
    crossed.advance(new)
    return pack(entry.kind, fields, [part.data for part in (*parts, *frames)])


def columns_of(layout: Layout, taken: Sequence[tuple[Any, Array]]) -> list[Bytes]:
    """Returns values as rows of bytes in the order of the leaves."""
    return [raw(leaf, values) for leaf, (_, values) in zip(layout.leaves, taken, strict=True)]
