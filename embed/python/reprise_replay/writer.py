"""Parses WRITER, the description of a writer of a Replay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .instance import Bytes

_HEAD, _TABLE, _LEAF = 12, 4, 4  # the number of words before the tables of WRITER, per table and per leaf
AUTORESETS = (None, "disabled", "nextStep", "sameStep")


class Table(NamedTuple):
    """A table of the Replay."""

    name: str
    #: The priority that "max" means.
    largest: float


class Leaf(NamedTuple):
    """The storage of a leaf."""

    #: The number of the name under which its values are shared, or None.
    share: int | None
    #: The number of frames in a value.
    frames: int
    #: The number of bytes of a frame in a packed step.
    frame_bytes: int
    #: Whether the leaf has the role `observation`.
    observes: bool


class Writer(NamedTuple):
    """A writer of the text."""

    lanes: int
    #: The number of steps in the window of a lane, which is the maximum length of an item.
    keep: int
    #: Whether items may span episodes.
    across: bool
    autoreset: str | None
    #: Whether the writer has an nStep or sequence rule, so that episodes must end as truncated or terminated.
    transitions: bool
    #: The number of the leaf whose values must be finite, or None.
    reward: int | None
    #: The path of the role `observation`.
    observation: str
    #: The number of each rule's table.
    rules: tuple[int, ...]
    tables: tuple[Table, ...]
    leaves: tuple[Leaf, ...]


def described(memory: Bytes, at: int) -> Writer:
    """Returns the writer that WRITER at this address describes."""

    def text(start: int, size: int) -> str:
        return memory[start : start + size].tobytes().decode()

    words = memory[at:].view(np.uint32)
    lanes, keep, across, autoreset, transitions, reward, path, path_bytes, tables, rules, leaves, _ = words[:_HEAD].tolist()
    first_rule = _HEAD + _TABLE * tables
    first_leaf = first_rule + rules
    named = words[_HEAD:first_rule]
    found = [
        Table(text(start, size), float(number))
        for (start, size), number in zip(named.reshape(-1, _TABLE)[:, :2].tolist(), named.view(np.float64)[1::2].tolist(), strict=True)
    ]
    stored = words[first_leaf : first_leaf + _LEAF * leaves].reshape(-1, _LEAF).tolist()
    return Writer(
        lanes,
        keep,
        bool(across),
        AUTORESETS[autoreset],
        bool(transitions),
        reward - 1 if reward else None,
        text(path, path_bytes),
        tuple(words[first_rule:first_leaf].tolist()),
        tuple(found),
        tuple(Leaf(share - 1 if share else None, frames, size, bool(observes)) for share, frames, size, observes in stored),
    )
