"""Tests every dtype and shape, text and frames: values are returned unchanged, and values that do not fit are refused."""

import numpy as np
import pytest
from reprise_replay import Replay
from support import refused

DTYPES = {"bool": "?", "i8": "i1", "u8": "u1", "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "i8", "u64": "u8", "f32": "f4", "f64": "f8"}


def replay_of(leaf):
    return Replay(f"leaf {leaf}\ntable t size 100 sampler fifo\nrule t length 1\nview t items distinct")


def drawn(replay, n):
    """Returns all appended steps, in order."""
    return replay.sample(0, n)["x"][:, 0]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 5)])
def test_numbers_come_back(name, shape):
    dtype, replay = np.dtype(DTYPES[name]), replay_of(f"x {name} {' '.join(map(str, shape))}")
    bits = np.random.default_rng(1).integers(0, 256, (40, *shape, dtype.itemsize), np.uint8)
    values = (bits[..., 0] % 2 == 1) if name == "bool" else bits.view(dtype)[..., 0]
    replay.append(0, {"x": values})
    got = drawn(replay, 40)
    assert got.dtype == dtype and got.tobytes() == values.tobytes()


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_half_floats_are_rounded_once_and_come_as_float32(name):
    replay, step = replay_of(f"x {name} 3"), 2.0**-11 if name == "f16" else 2.0**-8
    # The values are a tie, and numbers too close to it for float32 to distinguish.
    replay.append(0, {"x": [[1 + step, 1 + step * (1 + 2.0**-30), -1 - step * (1 - 2.0**-30)]]})
    got = drawn(replay, 1)
    assert got.dtype == np.float32 and got.tolist() == [[1, 1 + 2 * step, -1]]
    for values in (np.float16([[0.5, 2, -0.0]]), np.float32([[0.5, 2, -0.0]]), [[1, 2, 3]], [[np.nan, np.inf, -np.inf]]):
        replay = replay_of(f"x {name} 3")
        replay.append(0, {"x": values})
        assert np.array_equal(drawn(replay, 1), np.asarray(values, np.float32), equal_nan=True)


@pytest.mark.parametrize(("name", "most", "beyond"), [("f16", 65504, 65520), ("bf16", 3.3895313892515355e38, 3.39617752923046e38)])
def test_half_floats_refuse_what_would_become_infinite(name, most, beyond):
    replay = replay_of(f"x {name}")
    for value in (beyond, -beyond, 1e300, np.float32(beyond)):
        assert f"must fit in {name}, or be infinite" in refused("INVALID_DATA", lambda value=value: replay.append(0, {"x": [value]}))
    replay.append(0, {"x": [most + (beyond - most) / 2]})
    assert drawn(replay, 1).tolist() == [most]


@pytest.mark.parametrize("name", [name for name in DTYPES if name[0] in "iu"])
def test_limits_of_integers(name):
    least, most = np.iinfo(DTYPES[name]).min, np.iinfo(DTYPES[name]).max
    replay = replay_of(f"x {name}")
    replay.append(0, {"x": [least]})
    replay.append(0, {"x": [most]})
    assert drawn(replay, 2).tolist() == [least, most]
    for wrong in ([least - 1], [most + 1], [0.5], [np.nan], [np.inf], ["1"], [None], [1j], [2**70], [-(2**70)]):
        refused("INVALID_DATA", lambda wrong=wrong: replay.append(0, {"x": wrong}))
    replay.append(0, {"x": [7.0]})
    assert replay.stats()["inserts"] == 3


def test_floats_are_rounded():
    replay = replay_of("x f32")
    most = float(np.finfo("f4").max)
    # The last value exceeds the largest f32, and rounds to it.
    given = np.array([0.1, np.nan, -0.0, np.inf, -np.inf, 1e-300, most * (1 + 2**-26)])
    replay.append(0, {"x": given})
    got = drawn(replay, 7)
    assert got.tobytes() == given.astype("f4").tobytes() and got[-1] == most < given[-1]
    for values in ([True], np.array([2**63], np.uint64), np.array([0.5], np.float16)):
        replay.append(0, {"x": values})
    assert drawn(replay, 10).tolist()[7:] == [1, 2.0**63, 0.5]


def test_floats_that_would_become_infinite():
    replay = replay_of("x f32")
    replay.append(0, {"x": [1.0]})
    before = replay.save()
    # The third value is the least one that f32 rounds to infinity.
    for far in (1e300, -1e39, 2.0**128 - 2.0**103, [1.0, np.inf, 1e39]):
        assert "must fit in float32" in refused("INVALID_DATA", lambda far=far: replay.append(0, {"x": far}))
    assert replay.save() == before
    wide = replay_of("x f64")
    wide.append(0, {"x": 1e300})
    assert drawn(wide, 1).tolist() == [1e300]


def test_bool_takes_0_and_1():
    replay = replay_of("x bool 2")
    replay.append(0, {"x": [[0, 1]]})
    replay.append(0, {"x": [[True, False]]})
    assert drawn(replay, 2).tolist() == [[False, True], [True, False]]
    refused("INVALID_DATA", lambda: replay.append(0, {"x": [[0, 2]]}))
    packed = np.full(replay.step_bytes, 2, np.uint8)
    assert "must be 0 or 1, got 2" in refused("INVALID_DATA", lambda: replay.append(0, packed))


def test_order_and_strides_do_not_matter():
    replay = replay_of("x i32 2 3")
    values = np.arange(60, dtype=">i4").reshape(3, 2, 10).T[::-1]
    replay.append(0, {"x": values})
    np.testing.assert_array_equal(drawn(replay, 10), values)


def test_text():
    replay = replay_of("x text 6")
    texts = ["", "née", "a\0b", "\u20ac\u20ac", "sixsix", "a\0"]
    replay.append(0, {"x": texts})
    replay.append(0, {"x": np.array(texts[:2])})
    replay.append(0, {"x": "one"})
    assert drawn(replay, 9).tolist() == [*texts, *texts[:2], "one"]
    assert "at most 6 bytes, got 9" in refused("INVALID_DATA", lambda: replay.append(0, {"x": ["a", "123456789"]}))
    assert "must be UTF-8" in refused("INVALID_DATA", lambda: replay.append(0, {"x": "\ud800"}))
    for wrong in ([b"bytes"], [1], None, [None], [["deep"]]):
        assert refused(("SPEC_MISMATCH" if wrong == [["deep"]] else "INVALID_DATA"), lambda wrong=wrong: replay.append(0, {"x": wrong}))
    kept = replay.sample(0, 9, copy=False)["x"]
    replay.sample(0, 1)
    assert kept[:, 0].tolist() == [*texts, *texts[:2], "one"]


def test_text_of_a_shape():
    replay = replay_of("x text 3 2")
    replay.append(0, {"x": [["a", "b"], ["c", ""]]})
    assert drawn(replay, 2).tolist() == [["a", "b"], ["c", ""]]


def test_frames_are_stored_once():
    stacked = Replay("leaf x u8 32 32 shared frames stack 4\ntable t size 100 sampler fifo\nrule t length 1\nview t items distinct")
    plain = replay_of("x u8 4 32 32")
    frames = np.random.default_rng(2).integers(0, 256, (103, 32, 32), np.uint8)
    stacks = np.stack([frames[i : i + 4] for i in range(100)])
    for replay in (stacked, plain):
        replay.append(0, {"x": stacks})
        np.testing.assert_array_equal(drawn(replay, 100), stacks)
    assert len(stacked.save()) < len(plain.save()) / 3


@pytest.mark.parametrize("dtype", ["u8", "f32"])
def test_frames_are_packed(dtype):
    lines = "table t size 100 sampler fifo\nrule t length 1\nview t items distinct"
    packed = Replay(f"leaf x {dtype} 32 32 packed frames stack 4 ratio 10\n{lines}")
    shared = Replay(f"leaf x {dtype} 32 32 shared frames stack 4\n{lines}")
    assert packed.leaves["x"].shape == (4, 32, 32)
    # The frames are a game's screens: a picture with a moving object.
    frames = np.tile(np.random.default_rng(3).integers(0, 256, (32, 32)), (103, 1, 1))
    for t in range(103):
        frames[t, t % 30 : t % 30 + 2, 8:11] = t
    stacks = np.stack([frames[i : i + 4] for i in range(100)])
    for replay in (packed, shared):
        replay.append(0, {"x": stacks})
        np.testing.assert_array_equal(drawn(replay, 100), stacks)
    snapshot = packed.save()
    assert len(snapshot) < len(shared.save()) / 3
    again = Replay.load(snapshot, "view t items distinct")
    np.testing.assert_array_equal(drawn(again, 100), stacks)
    assert "must have 256 to 16777215 bytes" in refused("INVALID", lambda: Replay(f"leaf x {dtype} 3 packed frames"))


def test_nests_and_lists_have_paths():
    replay = Replay("leaf a.x i8\nleaf a.y f32 2\nlist b\nleaf b.0 u8\nleaf b.1 u8\ntable t size 9\nrule t length 1\nview t items distinct")
    assert list(replay.leaves) == ["a.x", "a.y", "b.0", "b.1"]
    replay.append(0, {"a.x": 1, "a.y": [2, 3], "b.0": 4, "b.1": 5})
    batch = replay.sample(0, 1)
    assert [batch[name].ravel().tolist() for name in replay.leaves] == [[1], [2, 3], [4], [5]]


def test_a_step_that_is_one_leaf():
    replay = Replay('leaf "" f32 2\ntable t size 9\nrule t length 1\nview t items')
    replay.append(0, {"": [1, 2]})
    np.testing.assert_array_equal(replay.sample(0, 1)[""], [[[1, 2]]])
