"""Implements a Replay in embed.wasm, with NumPy arrays."""

from __future__ import annotations

import contextlib
import operator
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .batches import Batches, Beta
from .columns import Batch, Column, Columns, Taken, array, put
from .instance import Bytes, Instance, ReplayError, Wasm, did_you_mean, must
from .writer import Writer, described

#: Steps: arrays by leaf path, or packed steps as bytes.
Steps = Mapping[str, ArrayLike] | bytes | bytearray | memoryview | Bytes

ENDED, TRUNCATED, TERMINATED = 1, 2, 3  # how an episode ends: ENDED without a final step, the others with one
STATS = "size steps pending inserts samples deletes uniqueSamples episodes deletedEpisodes retiredSlots newestKey heldSteps bytes".split()
BLOCKED = (None, "minSize", "samplesPerInsert", "items")  # the reasons why a batch has fewer entries than requested
WAITS = ("EMPTY", "RATE_LIMITED", "TOO_FEW")  # refusals of draws that can succeed after more steps
U1, F8 = np.dtype("u1"), np.dtype("f8")
NO_ENDS: Bytes = np.empty(0, U1)


class Replay(contextlib.AbstractContextManager["Replay", None]):
    """A replay memory of steps, tables and their items. Writers, tables and views are identified by number: their positions in the text, from 0."""

    #: The columns of the leaves by path.
    leaves: dict[str, Column]
    #: The number of bytes of a packed step.
    step_bytes: int
    #: The reason why the last batch has fewer entries than requested: "minSize", "samplesPerInsert", "items", or None.
    blocked: str | None

    def __init__(self, text: str, *, wasm: Wasm = None) -> None:
        """Creates an empty Replay.

        `text`: lines as described in docs/embed/protocol.md. `wasm`: the path of another embed.wasm file. Default: the file in
        this package.

        Raises ReplayError: `INVALID` or another code if a line is wrong. The message contains the line number.
        """
        self._begin(wasm, "create", text.encode())

    @classmethod
    def load(cls, snapshot: str | os.PathLike[str] | bytes | bytearray | memoryview | Bytes, text: str = "", *, wasm: Wasm = None) -> Replay:
        """Opens a snapshot that Python or JavaScript has saved. `snapshot`: bytes, or a path. `text`: lines to add to those of the snapshot, such as views."""
        replay = cls.__new__(cls)
        replay._begin(wasm, "load", np.fromfile(snapshot, U1) if isinstance(snapshot, (str, os.PathLike)) else snapshot, text.encode())
        return replay

    def _begin(self, wasm: Wasm, call: str, *given: bytes | bytearray | memoryview | Bytes) -> None:
        self._wasm, self._instance, self._lock, self.blocked = wasm, Instance(wasm), threading.RLock(), None
        self._changed = threading.Condition(self._lock)
        self._watchers: set[Callable[[], object]] = set()  # functions called after changes, in any thread; they must not call the Replay
        self._door: Any = None  # the writers that reprise_replay.remote has accepted
        self._columns: dict[int, Columns] = {}  # the columns of each view's last batch
        runs = [np.frombuffer(run, U1) for run in given]
        places = self._instance.give(*runs)
        self._handle = self._instance.call(call, *(number for at, run in zip(places, runs, strict=True) for number in (at, len(run))))
        told = Columns(self._instance, self._handle, -1)
        self.step_bytes, self.leaves = told.step_bytes, told.found

    def append(self, writer: SupportsIndex, steps: Steps, ends: ArrayLike = (), finals: Steps | None = None) -> int:
        """Appends steps in order, and returns the number of items that wait for a rate limiter. With lanes, step i belongs to lane i
        mod lanes.

        `steps`: arrays of shape [n, …] by leaf path, or packed steps as bytes. `ends`: one number per step, which is `ENDED`,
        `TRUNCATED` or `TERMINATED` if the step ends its lane's episode, else 0. `finals`: the final observations as steps, one
        for each `TRUNCATED` or `TERMINATED` in `ends`.
        """
        (n, taken), (last, last_taken) = self._taken(steps, "steps"), self._taken(finals, "finals")
        how = np.ravel(array(ends, U1, "ends")) if np.size(ends) else NO_ENDS
        must(len(how) in (0, n), f"SPEC_MISMATCH: ends must have {n} values, one per step, got {len(how)}")
        must(last in (0, np.count_nonzero(how > ENDED)), f"SPEC_MISMATCH: finals must have one step for each end with a final observation, got {last}")
        with self._lock:
            at, behind, flags = self._instance.room(self.step_bytes * n, self.step_bytes * last, len(how))
            put(taken, self._instance.memory, at, self.step_bytes)
            put(last_taken, self._instance.memory, behind, self.step_bytes)
            self._instance.memory[flags : flags + len(how)] = how
            waiting = self._call("append", _whole(writer), at, n, flags if len(how) else 0, behind if last else 0)
            self._notify()
            return waiting

    def end(self, writer: SupportsIndex, how: SupportsIndex = TERMINATED, final: Steps | None = None, *, lane: SupportsIndex = 0) -> int:
        """Ends the episode of a lane, and returns the number of items that wait for a rate limiter.

        `how`: `ENDED`, `TRUNCATED` or `TERMINATED`. `final`: the final observation as a step; required if the episode is truncated.
        """
        n, taken = self._taken(final, "final")
        must(n < 2, f"SPEC_MISMATCH: final must be one step, got {n}")
        with self._lock:
            (at,) = self._instance.room(self.step_bytes)
            put(taken, self._instance.memory, at, self.step_bytes)
            waiting = self._call("end", _whole(writer), _whole(lane), _whole(how), at if n else 0)
            self._notify()
            return waiting

    def item(
        self, writer: SupportsIndex, table: SupportsIndex, length: SupportsIndex, priority: float | Literal["max"] = 1.0, *, lane: SupportsIndex = 0
    ) -> bool:
        """Creates an item from a lane's last `length` steps. Returns True if the item is in the table, and False if it waits for
        the rate limiter.

        `priority`: a number, or "max" for the largest priority that an item of the table has had, but at least 1.
        """
        with self._lock:
            if priority == "max":
                found = self.writer(writer).tables
                must(operator.index(table) < len(found), f"NOT_FOUND: table must be a number from 0 to {len(found) - 1}, got {table}")
                priority = found[operator.index(table)].largest
            inside = self._call("item", _whole(writer), _whole(lane), _whole(table), _whole(length), float(priority)) == 1
            self._notify()
            return inside

    def discard(self, writer: SupportsIndex, *, lane: SupportsIndex = 0) -> int:
        """Releases the steps of a lane's open episode, and deletes the items that begin in it. Returns the number of deleted items.

        Raises ReplayError: `UNSUPPORTED` if the writer is `across`.
        """
        with self._lock:
            count = self._call("discard", _whole(writer), _whole(lane))
            self._notify()
            return count

    def truncate(self, writer: SupportsIndex) -> None:
        """Truncates the open episodes of all lanes, as a writer's `close()` does in JavaScript. With nStep or sequence rules, the
        newest step becomes the final step. The writer remains usable.
        """
        with self._lock:
            self._call("truncate", _whole(writer))
            self._notify()

    def writer(self, writer: SupportsIndex) -> Writer:
        """Returns the description of a writer: its lanes, its window and its rules."""
        with self._lock:
            at = self._call("writer", _whole(writer))
            return described(self._instance.memory, at)

    def sample(self, view: SupportsIndex, n: SupportsIndex, beta: float = float("nan"), *, copy: bool = True) -> Batch:
        """Draws n entries, and returns arrays of shape [n, …] by column name. If there are fewer entries, `blocked` contains the
        reason.

        `beta`: the exponent of the weights; required if the view has weights. `copy`: if False, the arrays are read-only views of
        the memory, valid until the next call. Texts are always copied.
        """
        with self._lock:
            self._call("sample", _whole(view), _whole(n), float(beta))
            if self._watchers:
                self._notify()
            return self._batch(operator.index(view), copy)

    def batches(
        self,
        view: SupportsIndex,
        n: SupportsIndex,
        beta: Beta = float("nan"),
        *,
        count: SupportsIndex | None = None,
        timeout: float | None = 0.0,
        copy: bool = True,
    ) -> Batches:
        """Returns an iterable of batches, which a `torch.utils.data.DataLoader` accepts as its dataset. See `Batches`.

        `beta`: a number, or a function that receives the batch's index, from 0. `count`: the number of batches; None for no limit.
        `timeout`: the maximum number of seconds to wait for a batch that is not empty; None for no limit.
        """
        return Batches(self, view, n, beta, count, timeout, copy)

    def _next(self, view: int, n: int, beta: float, timeout: float | None, copy: bool) -> Batch:
        """Returns the next batch that is not empty. Raises the last ReplayError after the timeout."""
        refusal = ReplayError(f"RATE_LIMITED: view {view} has no items to draw. Append steps, or pass a longer timeout")

        def drawn() -> Batch | None:
            nonlocal refusal
            try:
                batch = self.sample(view, n, beta, copy=copy)
            except ReplayError as error:
                if error.code not in WAITS:
                    raise
                refusal = error
                return None
            return batch if self._columns[view].entries > 0 else None

        with self._changed:
            batch = drawn() if timeout == 0 else self._changed.wait_for(drawn, timeout)
        if batch is None:
            raise refusal
        return batch

    def mixture(self, view: SupportsIndex) -> Batch:
        """Returns the state of a mixture: `random` (8 uint32), `shares` and `carry` (float64, one per source)."""
        with self._lock:
            at = self._call("mixture", _whole(view))
            sources = int(self._instance.memory[at : at + 4].view("u4")[0])
            numbers = self._instance.memory[at + 48 : at + 48 + 16 * sources].view(F8)
            return {"random": self._instance.memory[at + 16 : at + 48].view("u4").copy(), "shares": numbers[:sources].copy(), "carry": numbers[sources:].copy()}

    def set_mixture(
        self, view: SupportsIndex, *, random: ArrayLike | None = None, shares: ArrayLike | None = None, carry: ArrayLike | None = None
    ) -> None:
        """Sets parts of a mixture's state, to continue from an earlier state or to change the shares."""
        with self._lock:
            state = self.mixture(view)
            for name, given in (("random", random), ("shares", shares), ("carry", carry)):
                if given is not None:
                    taken = np.ravel(array(given, state[name].dtype, name))
                    must(len(taken) == len(state[name]), f"SPEC_MISMATCH: {name} must have {len(state[name])} numbers, got {len(taken)}")
                    state[name] = taken
            parts: list[NDArray[Any]] = [np.array([len(state["shares"]), 0, 0, 0], "u4"), *state.values()]
            self._call("set_mixture", _whole(view), *self._instance.give(np.concatenate([part.view(U1) for part in parts])))

    def get(self, view: SupportsIndex, keys: ArrayLike, *, copy: bool = True) -> Batch:
        """Returns the items with these keys that are still stored, in the order of the keys. The result has the same columns as a
        batch of the view.

        The column `keys` contains the keys of the returned items. The call is not a draw, and counts nothing. The view must not
        have weights or `offset uniform`.
        """
        wanted = _keys(keys)
        with self._lock:
            self._call("get", _whole(view), *self._instance.give(wanted.view(U1)), len(wanted))
            return self._batch(operator.index(view), copy)

    def write(self, view: SupportsIndex, column: str, keys: ArrayLike, values: ArrayLike) -> int:
        """Writes values to the stored steps that a column shows, such as targets that a learner recomputes. Returns the number of
        values written.

        `keys`: the keys of the entries. `values`: the new values, in the shape of the column in a batch, [n, …]. Padding, and
        entries whose items no longer exist, are skipped. If several values belong to one step, the last one is kept.
        """
        wanted = _keys(keys)
        with self._lock:
            must(operator.index(view) in self._columns, f"OUT_OF_TURN: the columns of view {view} are not known yet. Call sample() or get() with this view first")
            found, given = self._columns[operator.index(view)].found, np.asarray(values)
            must(column in found, f"NOT_FOUND: column must be one of {list(found)}, got {column!r}{did_you_mean(column, found)}")
            place = found[column]
            if place.windowed and given.ndim == 1 + len(place.shape):
                place = place._replace(shape=(given.shape[1], *place.shape[1:]))
            packed = np.ascontiguousarray(place.taken(given, "values"))
            must(len(packed) == len(wanted), f"SPEC_MISMATCH: values must have {len(wanted)} rows, one per key, got {len(packed)}")
            width = place.shape[0] if place.windowed else 1
            at, behind = self._instance.give(wanted.view(U1), packed.reshape(-1).view(U1))
            return self._call("write", _whole(view), list(found).index(column), at, len(wanted), width, behind)

    def epochs(
        self, view: SupportsIndex, n: SupportsIndex, epochs: SupportsIndex = 1, *, state: NDArray[np.float64] | None = None, copy: bool = True
    ) -> Iterator[Batch]:
        """Yields batches in epochs. Each item that is stored when an epoch begins occurs once in the epoch. The last batch of an
        epoch may be short.

        `state`: the position at which to start, from `epoch_state`. The array is updated in place, and remains valid for a Replay
        that is loaded from a snapshot.
        """
        at_state, left = epoch_state() if state is None else _state(state), operator.index(epochs)
        while left > 0:
            with self._lock:
                (at,) = self._instance.give(at_state.view(U1))
                count = self._call("epoch", _whole(view), _whole(n), at)
                at_state[:] = self._instance.memory[at : at + at_state.nbytes].view(F8)
                batch = self._batch(operator.index(view), copy) if count else None
            if batch is not None:
                yield batch
            else:
                left -= 1

    def _notify(self) -> None:
        self._changed.notify_all()
        for watcher in tuple(self._watchers):
            watcher()

    def _batch(self, view: int, copy: bool) -> Batch:
        told = self._columns.get(view)
        if told is None:
            told = self._columns[view] = Columns(self._instance, self._handle, view)
        else:
            told.read()
        self.blocked = BLOCKED[told.blocked]
        return told.arrays(copy)

    def update(self, table: SupportsIndex, keys: ArrayLike, priorities: ArrayLike) -> int:
        """Sets the priorities of items by key, and returns the number of items that still exist. Other keys are skipped."""
        of, new = _keys(keys), np.ravel(array(priorities, F8, "priorities"))
        must(len(of) == len(new), f"SPEC_MISMATCH: priorities must have {len(of)} values, one per key, got {len(new)}")
        with self._lock:
            return self._call("update", _whole(table), *self._instance.give(of.view(U1), new.view(U1)), len(of))

    def delete(self, table: SupportsIndex, keys: ArrayLike) -> int:
        """Deletes items by key, and returns the number of deleted items."""
        of = _keys(keys)
        with self._lock:
            count = self._call("delete", _whole(table), *self._instance.give(of.view(U1)), len(of))
            self._notify()
            return count

    def stats(self, table: SupportsIndex = 0) -> dict[str, int]:
        """Returns the counters of a table by the names in STATS. The last three are the key of the newest item, and the steps and bytes of all tables."""
        with self._lock:
            at = self._call("stats", _whole(table))
            return dict(zip(STATS, map(int, self._instance.memory[at : at + 8 * len(STATS)].view(F8)), strict=True))

    @overload
    def save(self, path: None = None) -> bytes: ...
    @overload
    def save(self, path: str | os.PathLike[str]) -> None: ...
    def save(self, path: str | os.PathLike[str] | None = None) -> bytes | None:
        """Returns a snapshot, which JavaScript can also open. With `path`, writes the snapshot to PATH.part, which replaces PATH when it is complete."""
        with self._lock:
            if path is None:
                return b"".join(chunk.tobytes() for chunk in self._instance.chunks(self._handle))
            with open(f"{os.fspath(path)}.part", "wb") as part:
                part.writelines(chunk.data for chunk in self._instance.chunks(self._handle))
        os.replace(f"{os.fspath(path)}.part", path)
        return None

    def close(self) -> None:
        """Releases the memory, unless arrays from calls with `copy=False` still use it. Later calls raise an error."""
        with self._lock:
            self._instance, self._columns = Instance(self._wasm), {}
            self._notify()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, name: str, *arguments: float) -> int:
        with self._lock:
            return self._instance.call(name, self._handle, *arguments)

    def _taken(self, steps: Steps | None, what: str) -> tuple[int, Taken]:
        """Returns the number of steps, and their values by column. All code of the caller runs here, such as the methods of array-like objects."""
        if steps is None:
            return 0, []
        if not isinstance(steps, Mapping):
            packed, size = np.frombuffer(steps, U1), self.step_bytes
            must(len(packed) % size == 0, f"SPEC_MISMATCH: {what} must be a dict, or steps of {size} bytes each, got {len(packed)} bytes")
            return len(packed) // size, [(Column("", U1, U1, (size,), 0, size), packed.reshape(-1, size))]
        must(steps.keys() == self.leaves.keys(), f"SPEC_MISMATCH: {what} must have the leaves {list(self.leaves)}, got {list(steps)}")
        taken = [(leaf, leaf.taken(steps[name], f"{what}[{name!r}]")) for name, leaf in self.leaves.items()]
        lengths = {leaf.name: len(values) for leaf, values in taken}
        must(len(set(lengths.values())) == 1, f"SPEC_MISMATCH: {what} must have the same number of values for each leaf, got {lengths}")
        return len(taken[0][1]), taken


def epoch_state(seed: SupportsIndex = 0, *, shuffle: bool = True) -> NDArray[np.float64]:
    """Returns the initial state for `Replay.epochs`: six numbers, the third of which counts epochs. `shuffle`: False for the order of slots."""
    return np.array([shuffle, _whole(seed), 0, 0, 0, 0], F8)


def _state(given: NDArray[np.float64]) -> NDArray[np.float64]:
    must(isinstance(given, np.ndarray) and given.dtype == F8 and given.shape == (6,) and given.flags.c_contiguous, "INVALID: state must be an array that epoch_state() returned")
    return given


def _keys(given: ArrayLike) -> NDArray[np.float64]:
    """Returns keys as float64. Narrower dtypes are rejected, because they lose bits of large keys. embed.wasm rejects numbers that cannot be keys."""
    keys, dtype = np.ravel(array(given, F8, "keys")), np.asarray(given).dtype
    must(dtype.itemsize >= 8, f"INVALID: keys must be float64, as in batches, or 64-bit integers, got {dtype}")
    return keys


def _whole(value: SupportsIndex) -> int:
    """Returns an integer that fits in the 31 bits of a non-negative i32. embed.wasm checks the exact range."""
    number = operator.index(value)
    must(0 <= number < 2**31, f"INVALID: an integer argument must be from 0 to {2**31 - 1}, got {value}")
    return number
