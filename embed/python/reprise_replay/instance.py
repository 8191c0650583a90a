"""Runs embed.wasm in wasmtime: makes its calls, shows its memory as a NumPy array, and raises its refusals as exceptions."""

from __future__ import annotations

import difflib
import functools
import itertools
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import wasmtime
from numpy.typing import NDArray

from .export import export

Bytes = NDArray[np.uint8]
#: The path of an embed.wasm file. None means the file in this package.
Wasm = str | os.PathLike[str] | None

ADDRESSES = {"input", "create", "load", "columns", "mixture", "stats", "writer", "save"}  # calls that return unsigned addresses or handles; 0 is a refusal
ENGINE = wasmtime.Engine()


class ReplayError(Exception):
    """Raised when embed.wasm or this package rejects a call. The text begins with `code`, such as INVALID, NOT_FOUND or
    OUT_OF_MEMORY, followed by the reason.

    A rejected call has changed nothing.
    """

    code: str
    #: The number that embed.wasm returned; None if the call did not reach embed.wasm.
    result: int | None

    def __init__(self, text: str, result: int | None = None) -> None:
        super().__init__(text)
        self.code, self.result = text.partition(":")[0], result


def must(holds: object, text: str) -> None:
    """Raises ReplayError with this text if the condition is false."""
    if not holds:
        raise ReplayError(text)


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Returns the end of a message, which suggests the most similar known name, or an empty string if no known name is similar."""
    near = difflib.get_close_matches(name, known, 1) if isinstance(name, str) else []
    return f". Did you mean {near[0]!r}?" if near else ""


class Instance:
    """An instance of embed.wasm and its calls, independent of memory layouts. It holds one Replay at a time, and only one thread may use it at a time."""

    def __init__(self, wasm: Wasm = None) -> None:
        self._store = wasmtime.Store(ENGINE)
        exports = wasmtime.Instance(self._store, _compiled(Path(wasm or Path(__file__).with_name("embed.wasm"))), []).exports(self._store)
        prefix = "replay_"
        self._calls = {
            name[len(prefix) :]: export(self._store, item) for name, item in exports.items() if name.startswith(prefix) and isinstance(item, wasmtime.Func)
        }
        memory = exports["memory"]
        assert isinstance(memory, wasmtime.Memory)
        self._memory = memory
        self._bytes: Bytes = np.empty(0, np.uint8)
        self._input = (0, -1)

    def call(self, name: str, *arguments: float) -> int:
        """Calls replay_NAME, and returns its result. Addresses and handles are unsigned.

        Raises ReplayError if embed.wasm rejects the call.
        """
        result = self._calls[name](*arguments)
        if name in ADDRESSES:
            if result != 0:
                return result % 2**32
        elif result >= 0:
            return result
        at = self._calls["error"]() % 2**32
        raise ReplayError(self.memory[at : at + 1024].tobytes().partition(b"\0")[0].decode(errors="replace"), result)

    @property
    def memory(self) -> Bytes:
        """The whole memory as bytes. It grows only during calls. Arrays made from it keep the instance alive."""
        if self._memory.data_len(self._store) != len(self._bytes):
            buffer: Any = self._memory.get_buffer_ptr(self._store)
            buffer.store = self._store
            self._bytes = np.frombuffer(buffer, np.uint8)
        return self._bytes

    def room(self, *sizes: int) -> list[int]:
        """Returns addresses in the input buffer for runs of the given sizes in bytes. Requests a new buffer only if the current one is too small."""
        *places, end = itertools.accumulate((size + -size % 16 for size in sizes), initial=0)
        must(end < 2**32, f"OUT_OF_MEMORY: the input must be smaller than 4 GiB, got {end} bytes")
        if end > self._input[1]:
            self._input = (0, -1)  # if the request fails, the old buffer may have moved, so the next call requests a buffer again
            self._input = (self.call("input", end), end)
        return [self._input[0] + place for place in places]

    def give(self, *runs: Bytes) -> list[int]:
        """Copies arrays of bytes into the input buffer, and returns their addresses."""
        places = self.room(*map(len, runs))
        for at, run in zip(places, runs, strict=True):
            self.memory[at : at + len(run)] = run
        return places

    def chunks(self, handle: int) -> Iterator[Bytes]:
        """Yields a snapshot in chunks. Each chunk is valid until the next chunk is requested."""
        at = self.call("save", handle, 1)
        while (chunk := self.memory[at : at + 8].view(np.uint32).tolist())[1] > 0:
            yield self.memory[chunk[0] : sum(chunk)]
            at = self.call("save", handle, 0)


@functools.cache
def _compiled(path: Path) -> wasmtime.Module:
    must(path.is_file(), f"NOT_FOUND: wasm must be the path of embed.wasm, got {path}. Build embed.wasm with `npm run build`")
    return wasmtime.Module.from_file(ENGINE, str(path))
