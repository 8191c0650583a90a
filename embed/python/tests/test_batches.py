"""Tests batches as an iterable: in a loop and with a DataLoader, the draws are the same as those of `sample`."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from reprise_replay import Replay
from support import TEXT, refused, steps

LIMITED = TEXT.replace("0.6", "0.6 minSize 5")


def filled(text=TEXT):
    replay = Replay(text)
    replay.append(0, steps(200), ends=[0] * 199 + [3])
    return replay


def same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        assert np.asarray(values).tobytes() == theirs[name].tobytes(), name


def annealed(index):
    return min(1.0, 0.4 + 0.1 * index)


@pytest.mark.parametrize("beta", [0.4, annealed])
def test_draws_are_those_of_sample(beta):
    ours, theirs = filled(), filled()
    for i, batch in enumerate(ours.batches(0, 16, beta, count=10)):
        other = theirs.sample(0, 16, beta if beta == 0.4 else beta(i))
        same(batch, other)
        for replay in (ours, theirs):
            # Nothing is drawn ahead, so the next batch uses these priorities.
            replay.update(0, other["keys"], np.arange(16) + i)
            replay.append(0, steps(3, 1000 + i))
    assert i == 9 and ours.save() == theirs.save()


def test_each_pass_draws_anew():
    batches = filled().batches(0, 4, 0.4, count=3)
    assert len(batches) == 3
    assert [len(list(batches)), len(list(batches))] == [3, 3]
    assert list(filled().batches(0, 4, 0.4, count=0)) == []


def test_without_count_there_is_no_end():
    batches = filled().batches(0, 4, 0.4)
    drawn = [batch for batch, _ in zip(batches, range(100))]
    assert len(drawn) == 100
    with pytest.raises(TypeError, match="count"):
        len(batches)


def test_without_copy():
    replay = filled()
    batch = next(iter(replay.batches(0, 4, 0.4, copy=False)))
    assert not batch["returns"].flags.writeable
    first = batch["returns"].copy()
    same(batch, replay.get(0, batch["keys"].copy(), copy=False) if "weights" not in batch else batch)
    assert (first == batch["returns"]).all()


def test_an_empty_batch_is_refused_and_the_iterator_continues():
    replay = Replay(LIMITED)
    iterator = iter(replay.batches(0, 4, annealed, count=2))
    refused("EMPTY", lambda: next(iterator))
    replay.append(0, steps(5))
    assert "2 items" in refused("RATE_LIMITED", lambda: next(iterator))
    replay.append(0, steps(5, 5))
    twin = Replay.load(replay.save(), "view memory transitions gamma 0.5 weights batch")
    # Refused draws did not use an index.
    for beta in (0.4, 0.5):
        same(next(iterator), twin.sample(0, 4, beta))
    assert next(iterator, None) is None


def test_an_empty_batch_of_items_is_refused():
    items = "leaf x f32\ntable t size 9 minSize 2\nrule t length 1\nview t items"
    iterator = iter(Replay(items).batches(0, 4))
    refused("RATE_LIMITED", lambda: next(iterator))


def test_a_batch_is_waited_for():
    replay = Replay(LIMITED)

    def play():
        for i in range(10):
            replay.append(0, steps(1, i))

    thread = threading.Thread(target=play)
    thread.start()
    batch = next(iter(replay.batches(0, 4, 0.4, timeout=None)))
    thread.join()
    assert len(batch["keys"]) == 4


def test_close_ends_the_wait():
    replay = Replay(LIMITED)
    thread = threading.Thread(target=replay.close)
    thread.start()
    refused("CLOSED", lambda: next(iter(replay.batches(0, 4, 0.4, timeout=None))))
    thread.join()


def test_arguments():
    replay = filled()
    refused("INVALID", lambda: replay.batches(0, 4, count=-1))
    refused("INVALID", lambda: replay.batches(0, 4, timeout=-1.0))
    with pytest.raises(TypeError):
        replay.batches(0, 4, count=1.5)
    refused("NOT_FOUND", lambda: next(iter(replay.batches(7, 4, 0.4))))
    refused("INVALID", lambda: next(iter(replay.batches(0, 0, 0.4))))


def test_it_does_not_go_to_another_process():
    assert "num_workers must be 0" in refused("UNSUPPORTED", lambda: pickle.dumps(filled().batches(0, 4, 0.4)))


def test_the_package_does_not_import_torch():
    program = "import sys, reprise_replay; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=".", env={"PYTHONPATH": ":".join(sys.path)}).returncode == 0


def test_a_data_loader_draws_the_same():
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    ours, theirs = filled(), filled()
    loader = DataLoader(ours.batches(0, 16, annealed, count=5), batch_size=None)
    assert len(loader) == 5
    for i, batch in enumerate(loader):
        assert all(isinstance(values, torch.Tensor) for values in batch.values())
        same(batch, theirs.sample(0, 16, annealed(i)))
        for replay in (ours, theirs):
            replay.update(0, np.asarray(batch["keys"]), np.arange(16) + i)
    assert i == 4 and ours.save() == theirs.save()


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_data_loader_with_workers_is_refused(start):
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    replay = filled()
    before = replay.save()
    with pytest.raises(Exception, match="num_workers must be 0"):
        next(iter(DataLoader(replay.batches(0, 4, 0.4, count=1), batch_size=None, num_workers=1, multiprocessing_context=start)))
    assert replay.save() == before and torch
