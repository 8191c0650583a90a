"""Writes HDF5 files in a robot layout that have circular links, dangling links, or too many links. Needs h5py 3.16."""
import pathlib

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent


def demo(file, rows=4):
    group = file.create_group("data/demo_0")
    group["actions"] = np.zeros((rows, 2), np.float32)
    group["obs/x"] = np.zeros((rows, 3), np.float32)
    return group


def write(name, change):
    with h5py.File(HERE / f"{name}.hdf5", "w") as file:
        change(file, demo(file))


def link(path, target):
    def change(file, group):
        group[path] = target(group)

    return change


write("circle_of_observations", link("obs/again", lambda group: group["obs"]))
write("circle_of_metadata", link("info/again", lambda group: group))
write("circle_of_names", link("obs/again", lambda group: h5py.SoftLink("/data/demo_0/obs/again")))
write("nowhere", link("obs/gone", lambda group: h5py.SoftLink("/nowhere")))
write("outside", link("obs/passwd", lambda group: h5py.ExternalLink("/etc/passwd", "/x")))


def paths(file, group):
    """Writes 15 groups with 6 links from each to the next one, so 6^14 paths."""
    below = file.create_group("pool/0")
    below["x"] = np.zeros((4, 1), np.float32)
    for i in range(1, 15):
        above = file.create_group(f"pool/{i}")
        for k in range(6):
            above[f"k{k}"] = below
        below = above
    group["obs/many"] = below


write("paths", paths)


def rows(file, group):
    for name, shape in [("actions", (10**9, 2)), ("obs/x", (10**9, 3))]:
        del group[name]
        group.create_dataset(name, shape=shape, dtype="f4", chunks=(1024, *shape[1:]))


write("rows", rows)


def wide(file, group):
    del group["obs/x"]
    group.create_dataset("obs/x", shape=(4, 10**9), dtype="f4", chunks=(1, 1024))


write("wide", wide)


def mask(file, group):
    file.create_dataset("mask/train", shape=(10**9,), dtype="S8", chunks=(1024,))


write("mask", mask)
