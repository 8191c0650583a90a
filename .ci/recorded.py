"""Reads an export of the page's room Record with a real library: `recorded.py TOOL PATH [PATH OF THE SAME EXPORT WITH IMAGES]`. The last line is JSON."""
import json
import logging
import os
import sys

import numpy as np


def tfds(path):
    import tensorflow_datasets

    builder = tensorflow_datasets.builder_from_directory(path)
    for episode in tensorflow_datasets.as_numpy(builder.as_dataset(split="train")):
        steps = list(episode["steps"])
        assert steps[0]["observation"]["image"].shape == (64, 64, 3) and steps[0]["observation"]["state"].shape == (10,)
        assert [bool(step["is_last"]) for step in steps] == [False] * (len(steps) - 1) + [True]
        yield len(steps) - 1, sum(float(step["reward"]) for step in steps)


def opened(path):
    import torch_apart  # noqa: F401
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    return LeRobotDataset("docking", root=path, video_backend="pyav")


def lerobot(dataset):
    lengths, sums = {}, {}
    for i in range(len(dataset)):
        frame = dataset[i]
        episode = int(frame["episode_index"])
        assert frame["observation.image"].shape == (3, 64, 64) and frame["observation.state"].shape == (10,)
        assert frame["task"] == "Steer the boat into the ring, and rest there."
        lengths[episode] = lengths.get(episode, 0) + 1
        sums[episode] = sums.get(episode, 0.0) + float(frame["next.reward"])
    return [(lengths[episode], sums[episode]) for episode in sorted(lengths)]


def minari(path):
    import minari

    for episode in minari.load_dataset(os.path.basename(path)).iterate_episodes():
        assert episode.observations["image"].shape == (len(episode.rewards) + 1, 64, 64, 3)
        yield len(episode.rewards), float(sum(episode.rewards))


def main(tool, path, images=None):
    logging.disable(logging.WARNING)
    said = {}
    if tool == "lerobot":
        dataset = opened(path)
        found = lerobot(dataset)
        if images is not None:
            beside = opened(images)
            pairs = ((dataset[i]["observation.image"].numpy(), beside[i]["observation.image"].numpy()) for i in range(0, len(dataset), 7))
            said["mean"] = float(np.mean([np.abs(film - image).mean() * 255 for film, image in pairs]))
    else:
        found = {"tfds": tfds, "minari": minari}[tool](path)
    said["episodes"] = [{"steps": steps, "sum": total} for steps, total in found]
    print(json.dumps(said))


main(*sys.argv[1:])
