"""embed.wasm in wasmtime: its calls, its memory as an array of NumPy, its refusals as exceptions."""

import functools
import itertools
from pathlib import Path

import numpy as np
import wasmtime

ADDRESSES = {"input", "create", "load", "columns", "stats", "save"}  # these give addresses and handles: no sign, and 0 is a refusal
ENGINE = wasmtime.Engine()


class ReplayError(Exception):
    """What was refused, and why. `code` is what the text begins with: INVALID, NOT_FOUND, OUT_OF_MEMORY, …"""

    def __init__(self, text, result=None):
        super().__init__(text)
        self.code, self.result = text.partition(":")[0], result


def must(holds, text):
    if not holds:
        raise ReplayError(text)


class Instance:
    """One embed.wasm, which has one Replay at a time, and is for one thread at a time: its calls, without knowledge of layouts."""

    def __init__(self, wasm=None):
        self._store, module = wasmtime.Store(ENGINE), _compiled(Path(wasm or Path(__file__).with_name("embed.wasm")))
        self._exports = dict(wasmtime.Instance(self._store, module, []).exports(self._store))
        self._bytes, self._input = np.empty(0, np.uint8), (0, -1)

    def call(self, name, *arguments):
        """Calls replay_NAME; what it refuses is a ReplayError."""
        result = self._exports[f"replay_{name}"](self._store, *arguments)
        if result == 0 if name in ADDRESSES else result < 0:
            at = self.call("error")
            raise ReplayError(self.memory[at : at + 1024].tobytes().partition(b"\0")[0].decode(errors="replace"), result)
        return result % 2**32 if name in ADDRESSES else result

    @property
    def memory(self):
        """All of the memory, as bytes; it grows in calls only. What is made of it keeps the instance alive."""
        if self._exports["memory"].data_len(self._store) != len(self._bytes):
            buffer = self._exports["memory"].get_buffer_ptr(self._store)
            buffer.store = self._store
            self._bytes = np.frombuffer(buffer, np.uint8)
        return self._bytes

    def room(self, *sizes):
        """Places for runs of so many bytes in the input buffer, which is asked for only where it is too short."""
        *places, end = itertools.accumulate((size + -size % 16 for size in sizes), initial=0)
        must(end < 2**32, f"OUT_OF_MEMORY: what is handed in must have less than 4 GiB, got {end} bytes")
        if end > self._input[1]:
            self._input = (0, -1)  # where there is no memory for it, the old one may have moved: it is asked for again
            self._input = (self.call("input", end), end)
        return [self._input[0] + place for place in places]

    def give(self, *runs):
        """Hands arrays of bytes in; where they are."""
        places = self.room(*map(len, runs))
        for at, run in zip(places, runs):
            self.memory[at : at + len(run)] = run
        return places

    def chunks(self, handle):
        """A snapshot, chunk by chunk, each good until the next one."""
        at = self.call("save", handle, 1)
        while (chunk := self.memory[at : at + 8].view(np.uint32).tolist())[1] > 0:
            yield self.memory[chunk[0] : sum(chunk)]
            at = self.call("save", handle, 0)


@functools.cache
def _compiled(path):
    must(path.is_file(), f"NOT_FOUND: wasm must be the path of embed.wasm, which `npm run build` makes, got {path}")
    return wasmtime.Module.from_file(ENGINE, str(path))
