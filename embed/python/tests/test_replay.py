"""Tests appending steps and drawing batches with the calls of Replay."""

import sys
import threading

import numpy as np
import pytest
from reprise_replay import ENDED, STATS, TERMINATED, TRUNCATED, Replay, ReplayError
from support import TEXT, refused, steps


def test_leaves_are_told():
    replay = Replay(TEXT)
    assert {name: (leaf.dtype, leaf.shape) for name, leaf in replay.leaves.items()} == {
        "action": (np.int32, ()),
        "observation": (np.float32, (4,)),
        "reward": (np.float32, ()),
    }
    assert replay.step_bytes % 8 == 0


def test_a_block_becomes_transitions():
    replay = Replay(TEXT)
    assert replay.append(0, steps(10), ends=[0] * 9 + [TERMINATED]) == 0
    assert replay.stats(0)["size"] == 10
    batch = replay.sample(0, 64, 0.4)
    first = batch["action"]
    assert set(first) == set(range(10))
    # Each transition spans three steps, or ends with the episode.
    taken = np.minimum(3, 10 - first)
    np.testing.assert_array_equal(batch["steps"], taken)
    np.testing.assert_array_equal(batch["observation"][:, 2], first)
    np.testing.assert_array_equal(batch["returns"], 2 - 0.5 ** (taken - 1.0))
    np.testing.assert_array_equal(batch["terminated"] == 1, first + 3 >= 10)
    np.testing.assert_array_equal(batch["discounts"], np.where(first + 3 >= 10, 0, 0.125))
    assert batch["weights"].dtype == np.float32 and batch["keys"].dtype == np.float64


def test_one_step_needs_no_dimension():
    replay, twin = Replay(TEXT), Replay(TEXT)
    for i in range(5):
        replay.append(0, {"observation": [i, i, i, i], "action": i, "reward": 1})
    replay.end(0, TRUNCATED, {"observation": [5, 5, 5, 5], "action": 0, "reward": 0})
    twin.append(0, steps(5), [0, 0, 0, 0, TRUNCATED], {"observation": [[5, 5, 5, 5]], "action": [0], "reward": [0]})
    assert replay.save() == twin.save()


def test_packed_steps_are_the_same():
    replay, twin = Replay(TEXT), Replay(TEXT)
    packed = np.zeros((6, replay.step_bytes), np.uint8)
    given = steps(6)
    for name, leaf in replay.leaves.items():
        packed[:, leaf.at : leaf.at + leaf.bytes] = given[name].reshape(6, -1).view(np.uint8)
    replay.append(0, packed)
    twin.append(0, given)
    assert replay.save() == twin.save()
    assert "steps of 32 bytes each" in refused("SPEC_MISMATCH", lambda: replay.append(0, b"12345"))


def test_lanes_end_on_their_own():
    replay = Replay(TEXT.replace("rule", "writer lanes 2 autoreset disabled\nrule"))
    replay.append(0, steps(6), [0, 0, 0, TERMINATED, 0, 0])
    assert replay.stats(0)["episodes"] == 1
    replay.end(0, TERMINATED, lane=0)
    assert replay.stats(0)["size"] == 5
    refused("INVALID", lambda: replay.end(0, TERMINATED, lane=2))


def test_items_by_hand_and_by_key():
    replay = Replay("leaf x i32\ntable queue size 9 sampler fifo\nwriter keep 3\nview queue items length 3 mask distinct")
    replay.append(0, {"x": [1, 2, 3]})
    assert replay.item(0, 0, 3) is True
    assert replay.item(0, 0, 2, 0.5) is True
    batch = replay.sample(0, 2)
    np.testing.assert_array_equal(batch["x"], [[1, 2, 3], [2, 3, 0]])
    np.testing.assert_array_equal(batch["mask"], [[1, 1, 1], [1, 1, 0]])
    np.testing.assert_array_equal(batch["lengths"], [3, 2])
    np.testing.assert_array_equal(batch["priorities"], [1, 0.5])
    assert replay.update(0, batch["keys"], [7, 8]) == 2
    assert replay.update(0, [], []) == 0
    assert replay.delete(0, batch["keys"][:1]) == 1
    assert replay.delete(0, batch["keys"]) == 1
    assert replay.stats()["size"] == 0
    replay.end(0, ENDED)


def test_items_by_key_and_written_values():
    replay = Replay("leaf x f32 2\nleaf y i32\ntable t size 9\nrule t length 2\nview t items\nview t items weights batch")
    replay.append(0, {"x": np.arange(8).reshape(4, 2), "y": np.arange(4)})
    refused("OUT_OF_TURN", lambda: replay.write(0, "y", [1], [[1, 2]]))
    keys = replay.sample(0, 50)["keys"]
    keys = np.unique(keys)
    before = replay.stats(0)["samples"]
    batch = replay.get(0, [*keys[::-1], 12345.0])
    np.testing.assert_array_equal(batch["keys"], keys[::-1])
    np.testing.assert_array_equal(batch["y"], [[2, 3], [1, 2], [0, 1]])
    assert replay.stats(0)["samples"] == before
    assert replay.write(0, "y", [keys[0], 12345.0], [[10, 11], [7, 7]]) == 2
    np.testing.assert_array_equal(replay.get(0, keys)["y"], [[10, 11], [11, 2], [2, 3]])
    assert replay.write(0, "x", keys[:1], [[[0.5, 1], [2, 3]]]) == 2
    np.testing.assert_array_equal(replay.get(0, keys[:1])["x"], [[[0.5, 1], [2, 3]]])
    refused("SPEC_MISMATCH", lambda: replay.write(0, "x", keys[:1], [[1, 2]]))
    refused("SPEC_MISMATCH", lambda: replay.write(0, "y", keys, [[1, 2]]))
    refused("NOT_FOUND", lambda: replay.write(0, "z", keys, [[1, 2]]))
    with pytest.raises(ReplayError, match=r"got 'key'\. Did you mean 'keys'\?"):
        replay.write(0, "key", keys, keys)
    refused("UNSUPPORTED", lambda: replay.write(0, "keys", keys, keys))
    refused("UNSUPPORTED", lambda: replay.get(1, keys))
    refused("INVALID_DATA", lambda: replay.write(0, "y", keys[:1], [[1.5, 2]]))


def test_priorities_decide():
    replay = Replay(TEXT)
    replay.append(0, steps(50), [0] * 49 + [TERMINATED])
    batch = replay.sample(0, 500, 1)
    keys = batch["keys"]
    replay.update(0, keys, np.where(batch["action"] == 3, 1, 0))
    assert set(replay.sample(0, 100, 1)["action"]) == {3}


def test_why_a_batch_is_short():
    replay = Replay("leaf x i32\ntable t size 9 minSize 2\nrule t length 1\nview t items\nview t items distinct")
    replay.append(0, {"x": 1})
    assert len(replay.sample(0, 3)["x"]) == 0 and replay.blocked == "minSize"
    replay.append(0, {"x": 2})
    assert len(replay.sample(1, 3)["x"]) == 2 and replay.blocked == "items"
    assert len(replay.sample(1, 2)["x"]) == 2 and replay.blocked is None


def test_stats_by_their_names():
    replay = Replay(TEXT)
    assert list(replay.stats()) == STATS
    replay.append(0, steps(10))
    replay.sample(0, 4, 0)
    stats = replay.stats(0)
    assert (stats["size"], stats["inserts"], stats["samples"], stats["heldSteps"]) == (7, 7, 4, 10)
    assert stats["newestKey"] > 0 and stats["bytes"] > 0


def test_a_snapshot_goes_on_alike(tmp_path):
    replay = Replay(TEXT)
    replay.append(0, steps(300), [0] * 299 + [TERMINATED])
    whole = replay.save()
    replay.save(tmp_path / "snapshot")
    assert (tmp_path / "snapshot").read_bytes() == whole
    view = "view memory transitions gamma 0.5 weights batch"
    others = [Replay.load(whole, view), Replay.load(tmp_path / "snapshot", view), Replay.load(str(tmp_path / "snapshot"), view)]
    for _ in range(3):
        batch = replay.sample(0, 32, 0.5)
        for other in others:
            for name, values in other.sample(0, 32, 0.5).items():
                np.testing.assert_array_equal(values, batch[name])
    assert Replay.load(whole).save() == whole


def test_a_file_is_replaced_by_a_whole_one(tmp_path):
    replay, path = Replay(TEXT), tmp_path / "snapshot"
    for n in (3, 300):
        replay.append(0, steps(n))
        replay.save(path)
        assert path.read_bytes() == replay.save() and [file.name for file in tmp_path.iterdir()] == ["snapshot"]
    whole = path.read_bytes()
    replay.close()
    refused("CLOSED", lambda: replay.save(path))
    assert path.read_bytes() == whole


def test_arrays_are_copies_or_views():
    replay = Replay(TEXT)
    replay.append(0, steps(100), [0] * 99 + [TERMINATED])
    copied = replay.sample(0, 8, 0)
    copied["observation"] += 1
    seen = replay.sample(0, 8, 0, copy=False)
    assert not seen["observation"].flags.owndata and not seen["observation"].flags.writeable
    with pytest.raises(ValueError):
        seen["observation"][0] = 0
    before = {name: values.copy() for name, values in seen.items()}
    for name, values in seen.items():
        np.testing.assert_array_equal(values, before[name])
    replay.sample(0, 8, 0)
    assert any((values != before[name]).any() for name, values in seen.items())


def test_views_outlive_their_replay():
    replay = Replay(TEXT)
    replay.append(0, steps(100), [0] * 99 + [TERMINATED])
    view = replay.sample(0, 8, 0, copy=False)["observation"]
    copied = view.copy()
    replay.close()
    del replay
    for _ in range(20):
        Replay(TEXT).append(0, steps(900))
    np.testing.assert_array_equal(view, copied)


def test_memory_that_grows_is_seen():
    replay = Replay("leaf x f64 64\ntable t size 40000\nrule t length 1\nview t items")
    values = np.arange(20000 * 64, dtype="f8").reshape(-1, 64)
    for _ in range(2):
        replay.append(0, {"x": values})
    batch = replay.sample(0, 3000)
    np.testing.assert_array_equal(batch["x"][:, 0], values[batch["x"][:, 0, 0].astype(int) // 64])


def test_it_closes():
    with Replay(TEXT) as replay:
        replay.append(0, steps(10))
    for call in (lambda: replay.append(0, steps(1)), lambda: replay.sample(0, 1, 0), replay.stats, replay.save, lambda: replay.end(0)):
        assert "Create a Replay" in refused("CLOSED", call)
    replay.close()


def test_threads_take_turns():
    """A long input for one view moves the input buffer, and the draws of one view replace the batches of other views."""
    replay = Replay("leaf x f64 64\ntable t size 20000\nrule t length 1\nview t items")
    blocks, failed = [1 + 7 * i for i in range(30)], []

    def work(base):
        try:
            for n in blocks:
                replay.append(0, {"x": np.full((n, 64), base)})
                drawn = replay.sample(0, n)
                assert drawn["x"].shape == (n, 1, 64) and (drawn["x"] == drawn["x"][:, :, :1]).all() and drawn["x"].all()
                assert replay.update(0, drawn["keys"], np.full(n, base)) > 0 and replay.stats(0)["size"] >= n
            replay.save()
        except BaseException as error:
            failed.append(error)

    switched = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=work, args=(base,)) for base in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(switched)
    assert not failed and replay.stats(0)["size"] == len(threads) * sum(blocks)
    assert Replay.load(replay.save()).stats(0)["size"] == len(threads) * sum(blocks)


def test_a_mixture_draws_from_its_sources():
    replay = Replay(TEXT + "\nview memory transitions gamma 0.9 weights batch\nmixture source 0 0.5 source 1 0.5")
    mixture = TEXT.count("\nview ") + 1
    replay.append(0, steps(10), ends=[0] * 9 + [TERMINATED])
    assert replay.sample(mixture, 5, 0.4)["source"].tolist() == [0, 0, 0, 1, 1]
    state = replay.mixture(mixture)
    assert state["carry"].tolist() == [-0.5, 0.5] and state["shares"].tolist() == [0.5, 0.5] and len(state["random"]) == 8
    assert replay.sample(mixture, 5, 0.4)["source"].tolist() == [0, 0, 1, 1, 1]
    replay.set_mixture(mixture, **state)
    assert replay.sample(mixture, 5, 0.4)["source"].tolist() == [0, 0, 1, 1, 1]
    replay.set_mixture(mixture, shares=[0, 1], carry=[0, 0])
    assert replay.sample(mixture, 4, 0.4)["source"].tolist() == [1, 1, 1, 1]
    refused("SPEC_MISMATCH", lambda: replay.set_mixture(mixture, shares=[1]))
    refused("INVALID", lambda: replay.set_mixture(mixture, shares=[0, 0]))
    refused("NOT_FOUND", lambda: replay.mixture(0))


def test_each_component_of_a_reward_has_returns_by_itself():
    replay = Replay(TEXT.replace("leaf reward f32", "leaf reward f32 2 3"))
    rewards = np.arange(60, dtype=np.float32).reshape(10, 2, 3)
    replay.append(0, {**steps(10), "reward": rewards}, ends=[0] * 9 + [TERMINATED])
    batch = replay.sample(0, 32, 0.4)
    assert batch["returns"].shape == (32, 2, 3) and batch["returns"].dtype == np.float32
    for first, taken, returns in zip(batch["action"], batch["steps"], batch["returns"]):
        np.testing.assert_array_equal(returns, sum(0.5**k * rewards[first + k] for k in range(taken)))
