"""A Replay in embed.wasm, with arrays of NumPy."""

import contextlib
import io
import operator
import os
import threading
from collections.abc import Mapping

import numpy as np

from .columns import Column, array, columns, put
from .instance import Instance, must

ENDED, TRUNCATED, TERMINATED = 1, 2, 3  # how an episode ends: without a final step, or with one
STATS = "size steps pending inserts samples deletes uniqueSamples episodes deletedEpisodes retiredSlots newestKey heldSteps bytes".split()
BLOCKED = (None, "minSize", "samplesPerInsert", "items")  # why a batch has fewer entries than were asked for
U1, F8 = np.dtype("u1"), np.dtype("f8")


class Replay(contextlib.AbstractContextManager):
    """Steps, tables and their items. Writers, tables and views are numbers: their places in the text, from 0 on.
    `leaves` has the Column of each leaf by its path, `step_bytes` how long a packed step is, `blocked` why a batch was short."""

    def __init__(self, text, *, wasm=None):
        """A new one, of lines as in docs/embedding.md. `wasm`: the path of embed.wasm, if it is not beside this file."""
        self._begin(wasm, "create", text.encode())

    @classmethod
    def load(cls, snapshot, text="", *, wasm=None):
        """The Replay of a snapshot (bytes, or a path), whoever wrote it. `text`: lines behind its own, such as views."""
        replay, is_path = cls.__new__(cls), isinstance(snapshot, (str, os.PathLike))
        replay._begin(wasm, "load", np.fromfile(snapshot, U1) if is_path else snapshot, text.encode())
        return replay

    def _begin(self, wasm, call, *runs):
        self._wasm, self._instance, self._lock, self.blocked = wasm, Instance(wasm), threading.RLock(), None
        runs = [np.frombuffer(run, U1) for run in runs]
        places = self._instance.give(*runs)
        self._handle = self._instance.call(call, *(number for at, run in zip(places, runs) for number in (at, len(run))))
        _, self.step_bytes, _, self.leaves = columns(self._instance, self._handle, -1)

    def append(self, writer, steps, ends=(), finals=None):
        """Appends steps that follow each other; with lanes, step i belongs to lane i mod lanes. How many items wait.
        `steps`: arrays by the paths of the leaves, or packed steps as bytes. `ends`: a number a step, 0 or how its lane's
        episode ends with it. `finals`: what was seen last, a step for each end with one."""
        (n, steps), (last, finals), ends = self._taken(steps, "steps"), self._taken(finals, "finals"), np.ravel(array(ends, U1, "ends"))
        must(len(ends) in (0, n), f"SPEC_MISMATCH: ends must be {n}, one a step, got {len(ends)}")
        must(last in (0, np.count_nonzero(ends > ENDED)), f"SPEC_MISMATCH: finals must be a step for each end with one, got {last}")
        with self._lock:
            at, behind, flags = self._instance.room(self.step_bytes * n, self.step_bytes * last, len(ends))
            put(steps, self._instance.memory, at, self.step_bytes)
            put(finals, self._instance.memory, behind, self.step_bytes)
            self._instance.memory[flags : flags + len(ends)] = ends
            return self._call("append", _whole(writer), at, n, flags if len(ends) else 0, behind if last else 0)

    def end(self, writer, how=TERMINATED, final=None, *, lane=0):
        """Ends the episode of a lane, with what was seen last; where it terminated that may be left out. How many items wait."""
        n, final = self._taken(final, "final")
        must(n < 2, f"SPEC_MISMATCH: final must be one step, got {n}")
        with self._lock:
            (at,) = self._instance.room(self.step_bytes)
            put(final, self._instance.memory, at, self.step_bytes)
            return self._call("end", _whole(writer), _whole(lane), _whole(how), at if n else 0)

    def item(self, writer, table, length, priority=1.0, *, lane=0):
        """Makes an item of a lane's last steps. Whether it is in the table; else it waits for the rate limiter."""
        return self._call("item", _whole(writer), _whole(lane), _whole(table), _whole(length), float(priority)) == 1

    def sample(self, view, n, beta=float("nan"), *, copy=True):
        """Arrays by the names of columns, of n entries; fewer where `blocked` says why. `beta`: of a view with weights.
        Without `copy` they lie in the instance, read-only, and are good until the next call; texts are always copied."""
        with self._lock:
            self._call("sample", _whole(view), _whole(n), float(beta))
            entries, _, blocked, found = columns(self._instance, self._handle, view)
            self.blocked = BLOCKED[blocked]
            return {name: column.array(self._instance.memory, entries, copy) for name, column in found.items()}

    def update(self, table, keys, priorities):
        """New priorities of items by their keys; those that are gone are skipped. How many were there."""
        keys, priorities = _keys(keys), np.ravel(array(priorities, F8, "priorities"))
        must(len(keys) == len(priorities), f"SPEC_MISMATCH: priorities must be {len(keys)}, one a key, got {len(priorities)}")
        with self._lock:
            return self._call("update", _whole(table), *self._instance.give(keys.view(U1), priorities.view(U1)), len(keys))

    def delete(self, table, keys):
        """Deletes items by their keys. How many were there."""
        keys = _keys(keys)
        with self._lock:
            return self._call("delete", _whole(table), *self._instance.give(keys.view(U1)), len(keys))

    def stats(self, table=0):
        """The counters of a table, by the names in STATS; the last three are a key, and steps and bytes of all tables."""
        with self._lock:
            at = self._call("stats", _whole(table))
            return dict(zip(STATS, map(int, self._instance.memory[at : at + 8 * len(STATS)].view(F8))))

    def save(self, path=None):
        """A snapshot, which JavaScript opens too: as bytes, or in a file, which one beside it (PATH.part) replaces once it is whole."""
        with self._lock, io.BytesIO() if path is None else open(f"{path}.part", "wb") as file:
            file.writelines(self._instance.chunks(self._handle))
            if path is None:
                return file.getvalue()
        os.replace(f"{path}.part", path)

    def close(self, *_):
        """Lets go of the memory; arrays that lie in it keep it. Later calls are refused, by an instance without a Replay."""
        with self._lock:
            self._instance = Instance(self._wasm)

    __exit__ = close

    def _call(self, name, *arguments):
        with self._lock:
            return self._instance.call(name, self._handle, *arguments)

    def _taken(self, steps, what):
        """How many steps, and their values by columns. Behind this no code of the caller's runs."""
        if steps is None:
            return 0, []
        if not isinstance(steps, Mapping):
            packed, size = np.frombuffer(steps, U1), self.step_bytes
            must(len(packed) % size == 0, f"SPEC_MISMATCH: {what} must be a dict, or steps of {size} bytes each, got {len(packed)} bytes")
            return len(packed) // size, [(Column("", U1, U1, (size,), 0, size), packed.reshape(-1, size))]
        must(steps.keys() == self.leaves.keys(), f"SPEC_MISMATCH: {what} must have the leaves {list(self.leaves)}, got {list(steps)}")
        taken = [(leaf, leaf.taken(steps[name], f"{what}[{name!r}]")) for name, leaf in self.leaves.items()]
        lengths = {leaf.name: len(values) for leaf, values in taken}
        must(len(set(lengths.values())) == 1, f"SPEC_MISMATCH: {what} must have as many values of each leaf, got {lengths}")
        return len(taken[0][1]), taken


def _keys(given):
    """Keys as f64. Narrower arrays have lost bits of large ones, which then name other items. What can be no key embed.wasm refuses."""
    keys, dtype = np.ravel(array(given, F8, "keys")), np.asarray(given).dtype
    must(dtype.itemsize >= 8, f"INVALID: keys must be float64, as batches have them, or whole numbers of 64 bits, got {dtype}")
    return keys


def _whole(value):
    """A number that i32 holds without a sign. What it may be, embed.wasm checks."""
    must(0 <= operator.index(value) < 2**31, f"INVALID: a number must be from 0 up to {2**31 - 1}, got {value}")
    return operator.index(value)
