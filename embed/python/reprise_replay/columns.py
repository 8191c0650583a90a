"""Columns: where values lie, as COLUMNS tells it; arrays of them, and arrays as such bytes."""

from typing import NamedTuple

import numpy as np

from .instance import must

DTYPES = [np.dtype(name) for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "O")]
HEAD, EACH, COUNT = 6, 10, 4  # words of COLUMNS and of COLUMN; bytes before a text, which say how many it has


class Column(NamedTuple):
    """Where values lie: at an address, or at an offset in a packed step. The dtype of text is object, that of its bytes `raw`."""

    name: str
    dtype: np.dtype
    raw: np.dtype
    shape: tuple
    at: int
    bytes: int

    def array(self, memory, n, copy):
        """n entries as they lie there, read-only, or a copy; of text always a copy, as str."""
        values = np.frombuffer(memory[self.at : self.at + n * self.bytes].data.toreadonly(), self.raw).reshape(n, *self.shape)
        if self.dtype != object:
            return values.copy() if copy else values
        texts = [text[COUNT : COUNT + int.from_bytes(text[:COUNT], "little")].decode() for text in values.ravel().tolist()]
        return np.array(texts, object).reshape(values.shape)

    def taken(self, given, what):
        """Values of n steps as an array that can be put; those of one step may come without n in their shape."""
        values = array(given, self.dtype, what)
        values = values[None] if values.ndim == len(self.shape) else values
        must(values.shape[1:] == self.shape, f"SPEC_MISMATCH: {what} must have the shape {self.shape}, or n before it, got {values.shape}")
        if self.dtype != object:
            return values
        must(all(isinstance(text, str) for text in values.flat), f"INVALID_DATA: {what} must be str, or an array of it")
        room, texts = self.raw.itemsize - COUNT, [text.encode(errors="surrogatepass") for text in values.flat]  # embed.wasm checks length, UTF-8
        packed = [len(utf8).to_bytes(COUNT, "little") + utf8[:room].ljust(room, b"\0") for utf8 in texts]
        return np.array(packed, self.raw).reshape(values.shape)


def put(taken, memory, steps, step_bytes):
    """Writes values, each beside its Column, into packed steps."""
    for column, values in taken:
        np.ndarray(values.shape, column.raw, memory, steps + column.at, (step_bytes, *np.empty(column.shape, column.raw).strides))[...] = values


def array(given, dtype, what):
    """Values as an array of a dtype. Floats are rounded; what it cannot hold is refused, as finite numbers that would become infinite."""
    values = np.asarray(given, object if dtype == object else None)
    if values.dtype == dtype:
        return values
    must(values.dtype.kind in "biuf", f"INVALID_DATA: {what} must be numbers, got {values.dtype}")
    with np.errstate(all="ignore"):
        cast = values.astype(dtype)
        wrong = values[cast != values if cast.dtype.kind != "f" else np.isinf(cast) & np.isfinite(values)]
    must(wrong.size == 0, f"INVALID_DATA: {what} must be values that {cast.dtype} holds, got {wrong[:1]}")
    return cast


def columns(instance, handle, view):
    """What COLUMNS tells: entries, bytes of a step, why there are fewer, columns by their names."""
    at, memory = instance.call("columns", handle, view), instance.memory
    words, found = memory[at:].view(np.uint32), {}
    count, entries, _, step_bytes, blocked, _ = words[:HEAD].tolist()
    for start, length, number, max_bytes, dims, rank, steps, _, where, size in words[HEAD:][: EACH * count].reshape(-1, EACH).tolist():
        name = memory[start : start + length].tobytes().decode()
        shape = (steps,) * (steps > 0) + tuple(memory[dims : dims + 4 * rank].view(np.uint32).tolist())
        raw = np.dtype(f"V{COUNT + max_bytes + -max_bytes % 4}") if DTYPES[number] == object else DTYPES[number]
        found[name] = Column(name, DTYPES[number], raw, shape, where, size)
    return entries, step_bytes, blocked, found
