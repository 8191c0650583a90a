"""Defines the layout of steps in the body of a frame: columns of values, and shared frames, which are sent only once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..columns import Column
from ..instance import Bytes
from .frame import Close, ProtocolError

#: Names of dtypes by their numbers.
DTYPES = ("bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f32", "f64", "f16", "bf16", "string")


class Share(NamedTuple):
    """A group of leaves that share frames."""

    leaves: tuple[int, ...]
    #: The number of bytes of a frame in a column.
    frame_bytes: int
    #: The number of frames that the Replay keeps.
    capacity: int

    def fields(self) -> dict[str, Any]:
        return {"leaves": list(self.leaves), "frameBytes": self.frame_bytes, "capacity": self.capacity}


def leaf_text(column: Column) -> str:
    """Returns the text that describes the dtype and shape of a leaf, which both ends compare."""
    text = f"{DTYPES[column.number]} of shape [{', '.join(map(str, column.shape))}]"
    return f"{text} and maxBytes {column.max_bytes}" if column.dtype == object else text


class Layout:
    """The places of values in the body of a frame."""

    def __init__(self, leaves: dict[str, Column], lanes: int, step_bytes: int, shares: list[Share]) -> None:
        self.leaves, self.lanes, self.step_bytes, self.shares = list(leaves.values()), lanes, step_bytes, shares
        self.share_of: dict[int, int] = {leaf: k for k, share in enumerate(shares) for leaf in share.leaves}
        #: The number of bytes of a row that contains its frames instead of references.
        self.row_bytes = sum(leaf.bytes for leaf in self.leaves)
        #: The maximum number of bytes that a row takes in a frame: its references, and all of its frames if they are new.
        self.most_bytes = self.row_bytes + sum(self.sent_bytes(i) for i in self.share_of)

    def sent_bytes(self, leaf: int) -> int:
        """Returns the number of bytes that a leaf's value, or its references, take in a column."""
        share = self.share_of.get(leaf)
        size = self.leaves[leaf].bytes
        return size if share is None else 4 * (size // self.shares[share].frame_bytes)


class Body:
    """Reads the parts of a body, one after the other."""

    def __init__(self, body: memoryview) -> None:
        self._body, self._at = body, 0

    def take(self, size: int) -> Bytes:
        """Returns the next part.

        Raises ProtocolError if the part is missing.
        """
        if size == 0:
            return np.empty(0, np.uint8)
        at = self._at + -self._at % 8
        if size > len(self._body) - at:
            raise ProtocolError(f"a body must have the columns that its frame declares, got {len(self._body)} bytes")
        self._at = at + size
        return np.frombuffer(self._body, np.uint8, size, at)

    def end(self) -> None:
        """Raises ProtocolError if anything follows except zeros up to a multiple of 8."""
        if len(self._body) not in (self._at, self._at + -self._at % 8):
            raise ProtocolError("a body must end after its last part")


class Frames:
    """The last `capacity` frames of each share that were received over one connection."""

    def __init__(self, shares: list[Share]) -> None:
        self._shares = shares
        self._kept = [np.empty((0, share.frame_bytes), np.uint8) for share in shares]
        self._count = [0] * len(shares)

    def add(self, new: list[Bytes]) -> list[tuple[Bytes, int, int]]:
        """Adds the new frames of a block. Returns, for each share, the frames to which references may point, the number of the
        first of these frames, and the number after the last one."""
        found = []
        for k, (share, frames) in enumerate(zip(self._shares, new, strict=True)):
            before = self._count[k]
            whole = np.concatenate([self._kept[k], frames.reshape(-1, share.frame_bytes)]) if len(frames) else self._kept[k]
            self._count[k] = before + len(frames) // share.frame_bytes
            found.append((whole, before - len(self._kept[k]), self._count[k]))
            self._kept[k] = whole[-share.capacity :] if len(whole) > share.capacity else whole
        return found


def packed(layout: Layout, columns: list[Bytes], rows: int, frames: list[tuple[Bytes, int, int]]) -> Bytes:
    """Returns columns as packed steps.

    Raises ProtocolError if a reference does not point to a frame.
    """
    steps = np.zeros((rows, layout.step_bytes), np.uint8)
    for i, (leaf, column) in enumerate(zip(layout.leaves, columns, strict=True)):
        share = layout.share_of.get(i)
        if share is None:
            values = column.reshape(rows, leaf.bytes)
        else:
            known, first, _ = frames[share]
            # Frame numbers wrap at 2^32.
            at = column.view(np.uint32) - np.uint32(first % 2**32)
            if len(at) and int(at.max()) >= len(known):
                raise ProtocolError("a reference must point to a frame that was sent and is still stored")
            values = known[at].reshape(rows, leaf.bytes)
        steps[:, leaf.at : leaf.at + leaf.bytes] = values
    return steps


def fits(size: int, most: int, what: str) -> None:
    """Raises ProtocolError if a size exceeds the maximum `most`."""
    if size > most:
        raise ProtocolError(f"{what} must have at most {most} bytes, got {size}", Close.TOO_LARGE)


def raw(column: Column, values: NDArray[Any]) -> NDArray[Any]:
    """Returns values from `Column.taken` as rows of bytes."""
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(len(values), column.bytes)
