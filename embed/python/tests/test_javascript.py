"""Tests that snapshots and batches have the same bytes as in JavaScript."""

import json
from base64 import b64decode

import numpy as np
import pytest
from reprise_replay import Replay
from support import ROOT, node

SCRIPT = ROOT / "embed/python/tests/javascript.mjs"
VIEWS = "view windows items length 3 mask\nview memory transitions gamma 0.9 next action f64 weights batch"
ARRAYS = {"Int8Array": "i1", "Uint8Array": "u1", "Int16Array": "i2", "Uint16Array": "u2", "Int32Array": "i4", "Uint32Array": "u4"} | {
    "BigInt64Array": "i8",
    "BigUint64Array": "u8",
    "Float32Array": "f4",
    "Float64Array": "f8",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("javascript")
    node(SCRIPT, "write", made)
    return made


def same(ours, theirs):
    """Asserts that two batches have the same column names and the same bytes."""
    assert sorted(ours) == sorted(theirs)
    for name, values in ours.items():
        if values.dtype == object:
            assert values.ravel().tolist() == theirs[name], name
        else:
            kind, bytes_ = theirs[name]
            assert values.dtype == np.dtype(ARRAYS[kind]) or (values.dtype == bool and kind == "Uint8Array"), name
            assert values.tobytes() == b64decode(bytes_), name


def drawn(replay):
    return [replay.sample(0, 7), replay.sample(1, 16, 0.5)]


def test_batches_of_a_snapshot_by_javascript(folder):
    replay = Replay.load(folder / "snapshot", VIEWS)
    assert replay.leaves["observation.image"].shape == (3, 4, 4)
    batches = drawn(replay)
    assert batches[0]["observation.image"].shape == (7, 3, 3, 4, 4) and batches[1]["nextObservation.d"].shape == (16, 2, 2)
    for ours, theirs in zip(batches, json.loads((folder / "batches.json").read_text())):
        same(ours, theirs)


def test_javascript_goes_on_where_python_stopped(folder, tmp_path):
    replay = Replay.load(folder / "snapshot", VIEWS)
    windows, batch = drawn(replay)
    replay.update(0, batch["keys"], np.arange(16))
    replay.delete(1, windows["keys"][:2])
    # The drawn values are steps of the same spec.
    names = {name: name.split(".")[0] for name in replay.leaves}
    again = {name: windows[name][:, 0] for name in names}
    again["reward"] = np.arange(7.0)
    replay.append(0, again, ends=[0, 0, 2, 0, 0, 0, 3], finals={name: values[:2] for name, values in again.items()})
    replay.save(tmp_path / "snapshot")
    theirs = json.loads(node(SCRIPT, "read", tmp_path / "snapshot"))
    for ours, other in zip(drawn(replay), theirs):
        same(ours, other)


def test_a_snapshot_comes_back_unchanged(folder):
    whole = (folder / "snapshot").read_bytes()
    replay = Replay.load(whole)
    assert Replay.load(replay.save()).save() == replay.save()
