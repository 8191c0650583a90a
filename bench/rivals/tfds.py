"""Reads a dataset with tensorflow_datasets in several ways: python tfds.py FOLDER WAY ROUNDS. Prints the minimum nanoseconds per step as JSON, without the
time of imports."""
import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import tensorflow_datasets as tfds  # noqa: E402

LARGE = 100_000


def nested(builder):
    """Iterates over steps as in the examples of RLDS: a step is a dict of NumPy values."""
    steps = 0
    for episode in builder.as_dataset(split="train"):
        for _ in episode["steps"].as_numpy_iterator():
            steps += 1
    return steps


def batched(builder):
    """Reads the steps of an episode as one batch of columns, without an object per step. Parsing and batching run ahead in TensorFlow's threads."""
    config = tfds.ReadConfig(interleave_cycle_length=1, try_autocache=False)
    dataset = builder.as_dataset(split="train", read_config=config).flat_map(lambda episode: episode["steps"].batch(LARGE)).prefetch(4)
    return sum(len(steps["reward"]) for steps in dataset.as_numpy_iterator())


def rows(builder):
    """Reads the steps of an episode as one batch, as `batched` does, and then creates a dict per step."""
    config = tfds.ReadConfig(interleave_cycle_length=1, try_autocache=False)
    dataset = builder.as_dataset(split="train", read_config=config).flat_map(lambda episode: episode["steps"].batch(LARGE)).prefetch(4)
    count = 0
    for steps in dataset.as_numpy_iterator():
        names = list(steps)
        for t in range(len(steps["reward"])):
            _ = {name: steps[name][t] for name in names}
            count += 1
    return count


def main(folder, way, rounds):
    builder = tfds.builder_from_directory(folder)
    best = float("inf")
    for _ in range(int(rounds)):
        start = time.perf_counter_ns()
        steps = {"nested": nested, "batched": batched, "rows": rows}[way](builder)
        best = min(best, (time.perf_counter_ns() - start) / steps)
    print(json.dumps({"steps": steps, "ns": best}))


if __name__ == "__main__":
    main(*sys.argv[1:])
