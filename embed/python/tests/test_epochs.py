"""Tests draws of the newest items, and epochs in which each item occurs once."""

import numpy as np
from reprise_replay import Replay, epoch_state
from support import refused

TEXT = """
leaf x i32
table t size 40
table old size 4 sampler recency 2
rule t length 1
rule old length 1
view t items
view t items among newest 3
view t items among newest share 0.25
view t items weights batch
"""


def filled(n):
    replay = Replay(TEXT)
    replay.append(0, {"x": np.arange(n, dtype=np.int32)})
    return replay


def values(batch):
    return batch["x"].ravel().tolist()


def test_the_newest_alone_are_drawn():
    replay = filled(50)
    assert set(values(replay.sample(1, 100))) == {47, 48, 49}
    assert set(values(replay.sample(2, 400))) == set(range(40, 50))


def test_an_epoch_has_each_item_once():
    replay = filled(50)
    state = epoch_state(3)
    orders = [[], []]
    for batch in replay.epochs(0, 12, epochs=2, state=state):
        orders[int(state[2])] += values(batch)
    assert [sorted(order) for order in orders] == [list(range(10, 50))] * 2
    assert orders[0] != orders[1] != sorted(orders[1])
    assert state.tolist() == [1, 3, 2, 0, 0, 0]
    assert replay.stats(0)["samples"] == 80
    assert [len(values(batch)) for batch in replay.epochs(0, 12)] == [12, 12, 12, 4]
    assert [x for batch in filled(5).epochs(0, 2, state=epoch_state(shuffle=False)) for x in values(batch)] == list(range(5))


def test_epochs_go_on_in_a_loaded_replay():
    replay, state = filled(40), epoch_state()
    given = values(next(replay.epochs(0, 15, state=state)))
    replay.append(0, {"x": [100, 101]})
    copy, kept = Replay.load(replay.save(), "view t items"), state.copy()
    ours = [x for batch in replay.epochs(0, 15, state=state) for x in values(batch)]
    assert ours == [x for batch in copy.epochs(0, 15, state=kept) for x in values(batch)]
    assert sorted(ours) == sorted(set(range(2, 40)) - set(given))


def test_what_an_epoch_cannot_be():
    replay = filled(4)
    assert "without the options weights" in refused("UNSUPPORTED", lambda: list(replay.epochs(3, 2)))
    assert "is empty" in refused("EMPTY", lambda: list(Replay(TEXT).epochs(0, 2)))
    assert "epoch_state" in refused("INVALID", lambda: list(replay.epochs(0, 2, state=[1, 0, 0, 0, 0, 0])))
    assert "state[1]" in refused("INVALID", lambda: list(replay.epochs(0, 2, state=np.array([1, 0.5, 0, 0, 0, 0]))))
    assert "of this table" in refused("INVALID", lambda: list(replay.epochs(0, 2, state=np.array([1, 0, 0, 0, 9, 99.0]))))
