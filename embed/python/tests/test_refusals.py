"""Tests that invalid input raises an exception with a code, and changes nothing."""

import random

import numpy as np
import pytest
from reprise_replay import TERMINATED, TRUNCATED, Instance, Replay, ReplayError
from support import TEXT, refused, steps


def test_texts():
    assert "line 1" in refused("INVALID", lambda: Replay("leaf"))
    refused("NOT_FOUND", lambda: Replay("leaf x i32\nrule nothing length 1"))
    refused("INVALID", lambda: Replay(""))
    refused("INVALID_DATA", lambda: Replay("leaf x i32").append(0, {"x": "no number"}))
    for wrong in (None, 5, b"leaf x i32"):
        with pytest.raises((TypeError, AttributeError)):
            Replay(wrong)


def test_snapshots():
    whole = Replay(TEXT).save()
    refused("CORRUPT", lambda: Replay.load(b""))
    refused("CORRUPT", lambda: Replay.load(whole[:-1]))
    refused("CORRUPT", lambda: Replay.load(bytes([*whole[:50], whole[50] ^ 1, *whole[51:]])))
    refused("UNSUPPORTED", lambda: Replay.load(b"REPRISE9" + whole[8:]))
    refused("NOT_FOUND", lambda: Replay.load(whole, "view nothing items"))
    refused("OUT_OF_MEMORY", lambda: Replay.load(whole, "bytes 60000"))
    with pytest.raises(FileNotFoundError):
        Replay.load("nothing/here")


def test_a_missing_module():
    assert "npm run build" in refused("NOT_FOUND", lambda: Replay(TEXT, wasm="nothing.wasm"))


def test_steps():
    replay = Replay(TEXT)
    whole = steps(4)
    assert "leaves ['action', 'observation', 'reward'], got ['action']" in refused("SPEC_MISMATCH", lambda: replay.append(0, {"action": 1}))
    refused("SPEC_MISMATCH", lambda: replay.append(0, {**whole, "more": 1}))
    assert "(4,) per step, got (4, 5)" in refused("SPEC_MISMATCH", lambda: replay.append(0, {**whole, "observation": np.zeros((4, 5))}))
    refused("SPEC_MISMATCH", lambda: replay.append(0, {**whole, "reward": [1]}))
    refused("SPEC_MISMATCH", lambda: replay.append(0, {**whole, "reward": np.zeros((4, 1))}))
    refused("INVALID", lambda: replay.append(0, {name: values[:0] for name, values in whole.items()}))
    refused("INVALID_DATA", lambda: replay.append(0, {**whole, "reward": [np.nan] * 4}))
    for far in (1e39, -1e300):
        assert "must fit in float32" in refused("INVALID_DATA", lambda far=far: replay.append(0, {**whole, "observation": np.full((4, 4), far)}))
    refused("NOT_FOUND", lambda: replay.append(1, whole))
    for wrong in ([1, 2, 3, 4, 5], [3]):
        refused("SPEC_MISMATCH", lambda wrong=wrong: replay.append(0, whole, wrong))
    refused("INVALID", lambda: replay.append(0, whole, [0, 0, 0, 4]))
    refused("INVALID_DATA", lambda: replay.append(0, whole, [0, 0, 0, 300]))
    assert "requires a final step" in refused("INVALID", lambda: replay.append(0, whole, [0, 0, 0, TRUNCATED]))
    refused("SPEC_MISMATCH", lambda: replay.append(0, whole, [0, 0, 0, TERMINATED], steps(2)))
    refused("SPEC_MISMATCH", lambda: replay.append(0, whole, finals=steps(1)))
    refused("SPEC_MISMATCH", lambda: replay.end(0, TERMINATED, steps(2)))
    with pytest.raises(ValueError):
        replay.append(0, {**whole, "observation": [[1, 2], [3]]})
    assert replay.stats()["inserts"] == 0 and replay.stats()["heldSteps"] == 0


def test_numbers():
    replay = Replay(TEXT)
    replay.append(0, steps(20))
    refused("NOT_FOUND", lambda: replay.sample(7, 1, 0))
    refused("INVALID", lambda: replay.sample(0, 0, 0))
    refused("INVALID", lambda: replay.sample(0, 2**24, 0))
    refused("INVALID", lambda: replay.sample(0, 1))
    for wrong in (-1, 2**31, 2**32 + 1, 2**80):
        refused("INVALID", lambda wrong=wrong: replay.sample(0, wrong, 0))
        refused("INVALID", lambda wrong=wrong: replay.stats(wrong))
    for wrong in (1.5, None, "1", [1]):
        with pytest.raises(TypeError):
            replay.sample(0, wrong, 0)
    keys = replay.sample(0, 4, 0)["keys"]
    refused("SPEC_MISMATCH", lambda: replay.update(0, keys, [1]))
    assert "priorities[1]" in refused("INVALID", lambda: replay.update(0, keys, [1, -1, 1, 1]))
    refused("INVALID", lambda: replay.update(0, keys, [1, np.nan, 1, 1]))
    for wrong in (["a"], [b"a"], ["as long as 8 bytes"], [None], [1j], np.zeros(1, "M8[s]")):
        assert "keys must be numbers" in refused("INVALID_DATA", lambda wrong=wrong: replay.update(0, wrong, [1]))
        assert "keys must be numbers" in refused("INVALID_DATA", lambda wrong=wrong: replay.delete(0, wrong))
    assert replay.update(0, [0, 2**53 - 1, 7000], np.ones(3)) == 0
    assert replay.delete(0, [0.0, 12345]) == 0
    assert "got -1 (4 keys are invalid)" in refused("INVALID", lambda: replay.update(0, [0, -1, 2**53, np.nan, np.inf], np.ones(5)))
    assert "keys[0] must be a whole number" in refused("INVALID", lambda: replay.delete(0, [0.5]))
    for narrow in (np.float32, np.float16, np.int32, np.uint8, np.bool_):
        assert f"got {np.dtype(narrow)}" in refused("INVALID", lambda narrow=narrow: replay.update(0, keys.astype(narrow), np.ones(4)))
        refused("INVALID", lambda narrow=narrow: replay.delete(0, keys.astype(narrow)))
    assert replay.update(0, keys.astype(np.int64), np.ones(4)) == 4
    refused("NOT_FOUND", lambda: replay.delete(3, keys))
    refused("INVALID", lambda: replay.item(0, 0, 0))
    assert replay.stats()["size"] == 17


def test_too_much_memory():
    refused("OUT_OF_MEMORY", lambda: Replay("leaf x f64 1000\ntable t size 100\nrule t length 1\nbytes 100000"))
    replay = Replay("leaf x f64 1000\ntable t size 1000\nrule t length 1\nview t items\nbytes 12000000")
    replay.append(0, {"x": np.ones((100, 1000))})
    refused("OUT_OF_MEMORY", lambda: replay.append(0, {"x": np.ones((3000, 1000))}))
    refused("OUT_OF_MEMORY", lambda: replay.sample(0, 100000))
    # The Replay continues to work, even if the input buffer had to move.
    replay.append(0, {"x": np.ones((100, 1000))})
    assert replay.stats()["size"] == 200 and (replay.sample(0, 50)["x"] == 1).all()


def test_arguments_that_call_back():
    replay = Replay(TEXT)

    class Back:
        def __init__(self, values, call):
            self.values, self.call = values, call

        def __array__(self, dtype=None, copy=None):
            self.call()
            return self.values

    whole = steps(4)
    replay.append(0, {**whole, "reward": Back(whole["reward"], lambda: replay.append(0, steps(3000)))})
    assert replay.stats()["heldSteps"] >= 1000
    refused("CLOSED", lambda: replay.append(0, {**whole, "reward": Back(whole["reward"], replay.close)}))


def test_raw_calls_of_any_numbers():
    """Passes arbitrary i32 values as arguments, which the module never does. The worst result is a refusal, and the Replay still works."""
    picked = random.Random(5)
    numbers = [0, 1, 2, 3, 7, 255, 65535, 65536, 2**24 - 1, 2**24, 2**31 - 1, -1, -2, -(2**31)]
    counts = {"append": 5, "end": 4, "sample": 2, "columns": 1, "update": 4, "delete": 3, "stats": 1, "save": 1, "free": 0, "load": 3, "create": 1}
    instance, refusals = None, 0
    for _ in range(3000):
        if instance is None:
            instance = Instance()
            (at,) = instance.give(np.frombuffer(TEXT.encode(), np.uint8))
            handle = instance.call("create", at, len(TEXT))
        name = picked.choice(list(counts))
        arguments = [picked.choice([*numbers, at, at + 8]) for _ in range(counts[name])]
        first = picked.choice([handle, handle, handle, 0, picked.choice(numbers)])
        beta = [picked.choice([0.5, float("nan"), float("inf")])] if name == "sample" else []
        try:
            instance.call(name, first, *arguments, *beta)
        except ReplayError as error:
            refusals += 1
            assert error.code.isupper() and len(str(error)) > 12
        if name in ("free", "load", "create"):
            instance = None
    assert refusals > 1000
