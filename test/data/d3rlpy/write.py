"""Writes files in the formats of d3rlpy: version 2 with the function `dump` of d3rlpy 2.8.1 (only its module is loaded, because the whole package needs torch),
and a flat file of version 1 as MDPDataset.dump of d3rlpy 1.1 writes it."""
import importlib.util
import pathlib
import sys
import types

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent


def dump_of_d3rlpy():
    """Loads d3rlpy/dataset/io.py without its imports for reading."""
    package = pathlib.Path(importlib.util.find_spec("d3rlpy").submodule_search_locations[0]) / "dataset"
    for name, names in {"components": ["Episode", "EpisodeBase"], "episode_generator": ["EpisodeGenerator"]}.items():
        module = sys.modules[f"alone.{name}"] = types.ModuleType(f"alone.{name}")
        for each in names:
            setattr(module, each, object)
    sys.modules["alone"] = types.ModuleType("alone")
    spec = importlib.util.spec_from_file_location("alone.io", package / "io.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.dump


class Episode:
    def __init__(self, steps, number, terminated, tuple_observations):
        base = np.arange(steps * 3, dtype=np.float32).reshape(steps, 3) + 100 * number
        self.data = {
            "observations": (base, (base[:, :1] * 2).astype(np.uint8)) if tuple_observations else base,
            "actions": np.arange(steps * 2, dtype=np.float32).reshape(steps, 2),
            "rewards": np.arange(steps, dtype=np.float32).reshape(steps, 1) + 0.5,
            "terminated": terminated,
            "embeddings": np.ones((steps, 4), np.float32) * number,
        }

    def serialize(self):
        return self.data


dump = dump_of_d3rlpy()
with open(HERE / "v2.h5", "w+b") as file:
    dump([Episode(steps, number, number % 2 == 0, False) for number, steps in enumerate([4, 2, 3] + [1] * 9)], file)
with open(HERE / "tuples.h5", "w+b") as file:
    dump([Episode(3, 0, True, True), Episode(2, 1, False, True)], file)
with h5py.File(HERE / "v1.h5", "w") as file:
    file["observations"] = np.arange(18, dtype=np.float32).reshape(6, 3)
    file["actions"] = np.array([0, 1, 2, 0, 1, 2], np.int32)
    file["rewards"] = np.arange(6, dtype=np.float32)
    file["terminals"] = np.array([0, 0, 1, 0, 0, 0], np.float32)
    file["episode_terminals"] = np.array([0, 0, 1, 0, 0, 1], np.float32)
    file["discrete_action"] = True
    file["create_mask"] = False
    file["mask_size"] = 1
    file["version"] = "1.0"
