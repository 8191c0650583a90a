"""Appends the steps of a remote writer to a Replay."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..instance import Bytes, ReplayError
from ..replay import ENDED, TERMINATED, TRUNCATED, Replay
from ..writer import Writer
from .frame import Fields, Frame, Kind, ProtocolError, count, counts, field, is_flag, is_number
from .layout import Body, Frames, Layout, Share, fits, leaf_text, packed

_CALL = 7
_ITEM, _END, _ENDS, _DISCARD = 0, 1, 2, 3
#: The maximum number of bytes of frames that the Replay keeps per share, and the size in bytes up to which frames are sent as values.
_KEPT_BYTES, _LEAST_BYTES = 4 << 20, 8


class Block(NamedTuple):
    """A block whose values are written out, so that it does not refer to its frame."""

    kind: Kind
    #: The packed steps, including final steps named by calls; how each step ends; and the final steps of columns.
    steps: Bytes
    ends: Bytes | None
    finals: Bytes | None
    #: The calls, seven numbers each.
    calls: NDArray[np.float64]
    #: The number of steps, without final steps, and the number of bytes that count towards the limits.
    rows: int
    weight: int


class Parts(NamedTuple):
    """The parts of a block, as they are stored in its frame."""

    columns: list[Bytes]
    ends: Bytes | None
    final_columns: list[Bytes]
    finals: int
    #: For each share, the frames that references may name, as `Frames.add` returns them.
    known: list[tuple[Bytes, int, int]]
    calls: NDArray[np.float64]
    rows: int
    weight: int


class Intake:
    """Appends the blocks of one writer to a Replay. `take` returns an iterator, which yields whenever a rate limiter has no room."""

    def __init__(self, replay: Replay, writer: int) -> None:
        self.replay, self.writer = replay, writer
        self.told: Writer = replay.writer(writer)
        self.layout = Layout(replay.leaves, self.told.lanes, replay.step_bytes, shares_of(replay, self.told))
        self.tables = sorted(set(self.told.rules)) or list(range(len(self.told.tables)))
        self.steps = 0

    def leaves(self) -> list[dict[str, str]]:
        """Returns the spec in the form that `hello` contains."""
        return [{"path": path, "text": leaf_text(column)} for path, column in self.replay.leaves.items()]

    def welcome(self) -> dict[str, Any]:
        """Returns the fields of `welcome` that describe the writer."""
        told = self.told
        ends: dict[str, Any] = {
            "lanes": told.lanes,
            "hasTransitions": told.transitions,
            "observation": {"path": told.observation, "leaves": [i for i, leaf in enumerate(told.leaves) if leaf.observes]},
        }
        if told.autoreset is not None:
            ends["autoreset"] = told.autoreset
        return {
            "keep": told.keep,
            "across": told.across,
            "ends": ends,
            **({} if told.reward is None else {"reward": told.reward}),
            "tables": [table.name for table in told.tables],
            "rules": [told.tables[table].name for table in told.rules],
            "shared": [share.fields() for share in self.layout.shares],
        }

    def waiting(self) -> int:
        """Returns the number of items of the writer's rules that wait for a rate limiter."""
        return sum(self.replay.stats(table)["pending"] for table in self.tables)

    def must_change(self) -> None:
        """Raises ReplayError: `RATE_LIMITED` if nothing can be drawn, so that the rate limiter will never have room."""
        found = [self.replay.stats(table) for table in self.tables]
        if all(stats["size"] == 0 and stats["pending"] == 0 for stats in found):
            raise ReplayError(
                "RATE_LIMITED: a call creates more items than the rate limiters and pending allow. Increase pending in the line of the table"
            )

    def read(self, frame: Frame, frames: Frames, size: int, most: int) -> Block:
        """Returns the block in a frame of `size` bytes. Written out, the block may have at most `most` bytes.

        Raises ProtocolError for a frame that breaks the protocol.
        """
        parts = self._parts(frame, frames, size, most)
        rows, finals = len(parts.columns[0]) // self.layout.sent_bytes(0), parts.finals
        steps = packed(self.layout, parts.columns, rows, parts.known)
        last = packed(self.layout, parts.final_columns, finals, parts.known) if finals else None
        return Block(frame.kind, steps, parts.ends, last, parts.calls, parts.rows, parts.weight)

    def skip(self, frame: Frame, frames: Frames, size: int, most: int) -> None:
        """Reads only the new frames of a block that was received before, because later blocks may refer to them.

        Raises ProtocolError for a frame that breaks the protocol.
        """
        self._parts(frame, frames, size, most)

    def take(self, block: Block) -> Generator[None, None, None]:
        """Appends the steps of a block. The iterator yields whenever a rate limiter has no room, and continues with the next call.

        Raises ProtocolError for calls that break the protocol, and ReplayError for steps that the Replay rejects.
        """
        return self._take_calls(block) if block.kind == Kind.BLOCK else self._append(block.steps, block.ends, block.finals)

    def _read(self, body: Body, rows: int) -> list[Bytes]:
        return [body.take(rows * self.layout.sent_bytes(i)) for i in range(len(self.layout.leaves))]

    def _new_frames(self, fields: Fields, body: Body, frames: Frames) -> list[tuple[Bytes, int, int]]:
        shares = self.layout.shares
        new = counts(fields, "frames") if shares else []
        if len(new) != len(shares):
            raise ProtocolError(f"frames must have {len(shares)} numbers, got {len(new)}")
        return frames.add([body.take(n * share.frame_bytes) for n, share in zip(new, shares, strict=True)])

    def _weight(self, rows: int, size: int, most: int) -> int:
        """Returns the number of bytes for which a frame of `rows` rows counts: its size, or the size of its columns written out if that is larger."""
        written = rows * self.layout.row_bytes
        fits(written, most, "the columns of a frame, written out,")
        return max(size, written)

    def _parts(self, frame: Frame, frames: Frames, size: int, most: int) -> Parts:
        return self._block(frame, frames, size, most) if frame.kind == Kind.BLOCK else self._columns(frame, frames, size, most)

    def _block(self, frame: Frame, frames: Frames, size: int, most: int) -> Parts:
        fields = frame.fields
        slots = count(fields, "slots")
        given = field(fields, "calls", lambda value: isinstance(value, list) and len(value) % _CALL == 0 and all(map(is_number, value)), "an array of 7 numbers per call")
        rows = slots * self.layout.lanes
        weight = self._weight(rows, size, most)
        body = Body(frame.body)
        columns = self._read(body, rows)
        ends = body.take(rows).copy()
        known = self._new_frames(fields, body, frames)
        body.end()
        calls = np.array(given, np.float64).reshape(-1, _CALL)
        kind, a, b, c = calls[:, 1:5].T
        finals = int(np.count_nonzero((kind == _END) & ((c == 1) | (b == 2)) | (kind == _ENDS) & (a != 0)))
        return Parts(columns, ends, [], 0, known, calls, max(0, slots - finals) * self.layout.lanes, weight)

    def _columns(self, frame: Frame, frames: Frames, size: int, most: int) -> Parts:
        fields, lanes = frame.fields, self.layout.lanes
        rows, finals = count(fields, "rows"), count(fields, "finals")
        weight = self._weight(rows + finals, size, most)
        has_ends, has_priorities = field(fields, "ends", is_flag, "a boolean"), counts(fields, "priorities")
        if rows == 0 or rows % lanes != 0 or finals > rows or len(has_priorities) != len(self.told.rules):
            raise ProtocolError(f"columns must have a multiple of {lanes} rows, at most one final step per row, and {len(self.told.rules)} priority flags")
        body = Body(frame.body)
        columns = self._read(body, rows)
        ends = body.take(rows).copy() if has_ends else None
        final_columns = self._read(body, finals)
        for flag in has_priorities:
            if flag:
                body.take(8 * rows)
        known = self._new_frames(fields, body, frames)
        body.end()
        if any(has_priorities):
            raise ReplayError("UNSUPPORTED: a Replay in Python does not support priorities with columns. Omit the priorities, and set a priority in the rule")
        return Parts(columns, ends, final_columns, finals, known, np.empty((0, _CALL)), rows, weight)

    def _take_calls(self, block: Block) -> Generator[None, None, None]:
        """Appends the steps of a block, and makes the calls between them."""
        steps, flags, lanes = block.steps, block.ends, self.layout.lanes
        assert flags is not None
        at, slots = 0, len(steps) // lanes
        for slot, kind, a, b, c, d, e in map(np.ndarray.tolist, block.calls):
            whole = [slot, kind, a, b, d, e] if kind == _ITEM else [slot, kind, a, b, c, d, e]
            if any(number != int(number) or not 0 <= number < 2**31 for number in whole) or not at <= slot <= slots:
                raise ProtocolError("a call must consist of integers, and its slot must not decrease")
            slot, a = int(slot), int(a)
            yield from self._append(steps[at * lanes : slot * lanes])
            at = slot
            if kind == _ITEM:
                yield from self._item(a, int(b), float(c), int(d), int(e))
            elif kind == _END:
                at += yield from self._end(a, int(b), int(c), steps[slot * lanes : (slot + 1) * lanes])
            elif kind == _DISCARD:
                for lane in self._lanes(a):
                    self.replay.discard(self.writer, lane=lane)
            elif kind == _ENDS:
                used = 1 + (a > 0)
                if slot + used > slots or a > lanes:
                    raise ProtocolError("a step that ends episodes must have its slots in the block")
                ends = flags[slot * lanes : (slot + 1) * lanes]
                finals = steps[(slot + 1) * lanes :][:a] if a > 0 else None
                yield from self._append(steps[slot * lanes : (slot + 1) * lanes], ends, finals)
                at += used
            else:
                raise ProtocolError(f"a call must be from 0 to {_DISCARD}, got {kind}")
        yield from self._append(steps[at * lanes :])

    def _append(self, steps: Bytes, ends: Bytes | None = None, finals: Bytes | None = None) -> Generator[None, None, None]:
        """Appends rows, as many at a time as the rate limiters accept."""
        lanes = self.layout.lanes
        if finals is not None and len(finals) != (0 if ends is None else np.count_nonzero(ends > ENDED)):
            raise ProtocolError("a frame must contain the final step of each end that has one")
        at, used, chunk = 0, 0, len(steps) // lanes
        while at < len(steps):
            n = min(chunk * lanes, len(steps) - at)
            how = None if ends is None else ends[at : at + n]
            last = 0 if how is None or finals is None else int(np.count_nonzero(how > ENDED))
            try:
                self.replay.append(
                    self.writer,
                    steps[at : at + n].reshape(-1),
                    () if how is None or not how.any() else how,
                    None if finals is None or last == 0 else finals[used : used + last].reshape(-1),
                )
            except ReplayError as error:
                if error.code != "RATE_LIMITED":
                    raise
                if chunk > 1:
                    chunk //= 2
                else:
                    yield
                continue
            at, used = at + n, used + last
            self.steps += n

    def _item(self, table: int, length: int, priority: float, lane: int, columns: int) -> Generator[None, None, None]:
        if columns != 0:
            raise ReplayError("UNSUPPORTED: a Replay in Python does not support columns of items. Remove columns from createItem()")
        while True:
            try:
                self.replay.item(self.writer, table, length, "max" if priority == -1 else priority, lane=lane)
                return
            except ReplayError as error:
                if error.code != "RATE_LIMITED":
                    raise
            yield

    def _end(self, lane: int, terminated: int, has_final: int, slot: Bytes) -> Generator[None, None, int]:
        """Ends the episodes of one lane or of all lanes. Returns the number of slots that the final step uses: 0 or 1."""
        used = int(has_final == 1 or terminated == 2)
        if terminated > 2 or has_final > 1 or (used and len(slot) == 0):
            raise ProtocolError("an end must be 0, 1 or 2, and its final step must have a slot in the block")
        how = TERMINATED if terminated == 2 else TRUNCATED if has_final else ENDED
        lanes = self._lanes(lane)
        if used and len(lanes) > 1:
            raise ProtocolError("an end with a final step must specify its lane")
        for one in lanes:
            while True:
                try:
                    self.replay.end(self.writer, how, slot[0] if has_final else None, lane=one)
                    break
                except ReplayError as error:
                    if error.code != "RATE_LIMITED":
                        raise
                yield
        return used

    def _lanes(self, lane: int) -> range:
        if lane > self.layout.lanes:
            raise ProtocolError(f"a lane must be below {self.layout.lanes}, got {lane - 1}")
        return range(self.layout.lanes) if lane == 0 else range(lane - 1, lane)


def shares_of(replay: Replay, told: Writer) -> list[Share]:
    """Returns the shares of leaves whose frames are sent only once."""
    # Half floats are sent as floats, so leaves that share a name may have frames of two sizes.
    groups: dict[tuple[int, int], list[int]] = {}
    for i, leaf in enumerate(told.leaves):
        if leaf.share is not None and leaf.frame_bytes > _LEAST_BYTES:
            groups.setdefault((leaf.share, leaf.frame_bytes), []).append(i)
    return [
        Share(tuple(leaves), size, max(1, min(2 * told.lanes * sum(told.leaves[i].frames for i in leaves), _KEPT_BYTES // size)))
        for (_, size), leaves in groups.items()
    ]
