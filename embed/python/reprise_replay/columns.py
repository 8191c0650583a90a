"""Reads COLUMNS, which describes the places of values. Converts columns to arrays, and arrays to packed bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .instance import Bytes, Instance, ReplayError, must

Array = NDArray[Any]
#: Arrays by column name.
Batch = dict[str, Array]

DTYPES = [np.dtype(name) for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "f4", "f4", "O")]
HALVES = 11, 12  # half floats, whose arrays are float32
HEAD, EACH, COUNT = 6, 10, 4  # words before the first COLUMN; words per COLUMN; bytes of a text's length, which precede the text


class Column(NamedTuple):
    """The place of a column's values: an address, or an offset in a packed step. For text, `dtype` is object, and `raw` is the dtype of the bytes."""

    name: str
    dtype: np.dtype[Any]
    raw: np.dtype[Any]
    shape: tuple[int, ...]
    at: int
    #: The number of bytes per entry.
    bytes: int
    #: The number of the dtype, as in reprise.h.
    number: int = 0
    #: Whether the first dimension counts steps.
    windowed: bool = False
    #: The maximum number of bytes of a text.
    max_bytes: int = 0

    @property
    def strides(self) -> tuple[int, ...]:
        """The number of bytes from one element of a value to the next, per dimension."""
        strides, size = [], self.raw.itemsize
        for length in reversed(self.shape):
            strides.append(size)
            size *= length
        return tuple(reversed(strides))

    def view(self, memory: Bytes, n: int) -> Array:
        """Returns a read-only view of n entries. Texts are raw bytes."""
        return np.frombuffer(memory[self.at : self.at + n * self.bytes].data.toreadonly(), self.raw).reshape(n, *self.shape)

    def texts(self, values: Array) -> Array:
        """Converts the raw bytes of texts to an array of str."""
        texts = [text[COUNT : COUNT + int.from_bytes(text[:COUNT], "little")].decode() for text in values.ravel().tolist()]
        return np.array(texts, object).reshape(values.shape)

    def taken(self, given: ArrayLike, what: str) -> Array:
        """Returns the values of n steps as an array that `put` accepts. The shape of a single step may omit n."""
        values = array(given, self.dtype, what, self.number in HALVES)
        values = values[None] if values.ndim == len(self.shape) else values
        must(values.shape[1:] == self.shape, f"SPEC_MISMATCH: {what} must have the shape {self.shape} per step, got {values.shape}")
        if self.dtype != object:
            return values
        must(all(isinstance(text, str) for text in values.flat), f"INVALID_DATA: {what} must be str, or an array of str")
        room, texts = self.raw.itemsize - COUNT, [text.encode(errors="surrogatepass") for text in values.flat]  # embed.wasm checks length, UTF-8
        packed = [len(utf8).to_bytes(COUNT, "little") + utf8[:room].ljust(room, b"\0") for utf8 in texts]
        return np.array(packed, self.raw).reshape(values.shape)


#: Values in the form that `put` accepts, each with its column.
Taken = Sequence[tuple[Column, Array]]


def put(taken: Taken, memory: Bytes, steps: int, step_bytes: int) -> None:
    """Writes values, each with its Column, into packed steps."""
    for column, values in taken:
        np.ndarray(values.shape, column.raw, memory, steps + column.at, (step_bytes, *column.strides))[...] = values


def halves(values: Array) -> Array:
    """Returns numbers as float32 that embed.wasm rounds to the right half floats. A number that is not exact in float32 becomes its odd neighbour."""
    with np.errstate(all="ignore"):
        exact, near = values.astype(np.float64), values.astype(np.float32)
    odd = ((near.view(np.uint32) - (np.abs(near) > np.abs(exact))) | 1).astype(np.uint32).view(np.float32)
    return np.where((near == exact) | ~np.isfinite(exact), near, odd)


def array(given: ArrayLike, dtype: np.dtype[Any], what: str, half: bool = False) -> Array:
    """Returns values as an array of a dtype; floats are rounded. Raises ReplayError if a value does not fit, or if a finite number would become infinite."""
    values: Array = np.asarray(given, object if dtype == object else None)
    if values.dtype == dtype:
        return values
    must(values.dtype.kind in "biuf", f"INVALID_DATA: {what} must be numbers, got {values.dtype}")
    if half:
        return halves(values)
    if np.can_cast(values.dtype, dtype):
        return values.astype(dtype)
    with np.errstate(all="ignore"):
        cast: Array = values.astype(dtype)
        wrong = values[cast != values if cast.dtype.kind != "f" else np.isinf(cast) & np.isfinite(values)]
    if wrong.size > 0:
        raise ReplayError(f"INVALID_DATA: {what} must fit in {cast.dtype}, got {wrong[:1]}")
    return cast


class Columns:
    """COLUMNS of a view, or of a packed step if `view` is -1. It is parsed again only if its bytes have changed, or the memory has moved."""

    #: The number of entries in the batch.
    entries: int
    #: The number of bytes of a packed step.
    step_bytes: int
    #: The reason why the batch has fewer entries than requested, as a number.
    blocked: int
    found: dict[str, Column]

    def __init__(self, instance: Instance, handle: int, view: int) -> None:
        self._instance, self._handle, self._view = instance, handle, view
        self._told, self.found = b"", {}
        self._memory: Bytes | None = None
        self._views: list[tuple[str, Column, Array]] = []
        self.read()

    def read(self) -> Columns:
        """Reads the places of the columns of the view's last batch."""
        instance = self._instance
        at, memory = instance.call("columns", self._handle, self._view), instance.memory
        told = memory[at : at + 4 * (HEAD + EACH * len(self.found))].tobytes()
        if told != self._told or memory is not self._memory:
            self._parse(memory, at)
        return self

    def arrays(self, copy: bool) -> Batch:
        """Returns the columns of the last `read`, as copies or as views of the memory. Texts are always copied."""
        if copy:
            return {name: column.texts(values) if column.dtype == object else values.copy() for name, column, values in self._views}
        return {name: column.texts(values) if column.dtype == object else values[...] for name, column, values in self._views}

    def raw(self) -> list[Bytes]:
        """Returns views of the bytes of each column."""
        assert self._memory is not None
        return [self._memory[column.at : column.at + self.entries * column.bytes] for column in self.found.values()]

    def _parse(self, memory: Bytes, at: int) -> None:
        words, found = memory[at:].view(np.uint32), {}
        count, entries, _, step_bytes, blocked, _ = words[:HEAD].tolist()
        for start, length, number, max_bytes, dims, rank, steps, _, where, size in words[HEAD:][: EACH * count].reshape(-1, EACH).tolist():
            name = memory[start : start + length].tobytes().decode()
            shape = (steps,) * (steps > 0) + tuple(memory[dims : dims + 4 * rank].view(np.uint32).tolist())
            raw = np.dtype(f"V{COUNT + max_bytes + -max_bytes % 4}") if DTYPES[number] == object else DTYPES[number]
            found[name] = Column(name, DTYPES[number], raw, shape, where, size, number, steps > 0, max_bytes)
        self.entries, self.step_bytes, self.blocked, self.found = entries, step_bytes, blocked, found
        # A packed step has offsets instead of addresses.
        self._views = [] if self._view < 0 else [(name, column, column.view(memory, entries)) for name, column in found.items()]
        self._told, self._memory = memory[at : at + 4 * (HEAD + EACH * count)].tobytes(), memory
