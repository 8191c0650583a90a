"""Writes small HDF5 files in D4RL's layout with h5py, and the output of RLDS's importer (tensorflow_datasets.d4rl) for the files that it can read.

python write_d4rl.py OUT_DIR        (needs h5py and tensorflow_datasets; wrote with h5py 3.x, tensorflow_datasets 4.9.4)
"""
import json
import os
import sys
import zlib
import h5py
import numpy as np
from tensorflow_datasets.d4rl import dataset_utils

out = os.path.join(sys.argv[1], "d4rl")
os.makedirs(out, exist_ok=True)
rng = np.random.default_rng(3)
N = 60


def columns(ends, terminal):
    terminals, timeouts = np.zeros(N, bool), np.zeros(N, bool)
    for end, over in zip(ends, terminal):
        (terminals if over else timeouts)[end - 1] = True
    return {"observations": rng.normal(size=(N, 3)), "actions": rng.normal(size=(N, 2)).astype(np.float32),
            "rewards": rng.normal(size=(N, 1)).astype(np.float32), "terminals": terminals, "timeouts": timeouts}


def write(name, data, **options):
    with h5py.File(f"{out}/{name}.hdf5", "w") as f:
        for key, value in data.items():
            f.create_dataset(key, data=value, **(options if np.ndim(value) else {}))
    return f"{out}/{name}.hdf5"


def read(value):
    if isinstance(value, dict):
        return {k: read(v) for k, v in value.items()}
    if isinstance(value, bytes):
        return value.decode()
    value = np.asarray(value)
    return {"dtype": str(value.dtype), "shape": list(value.shape), "crc32": zlib.crc32(np.ascontiguousarray(value).tobytes())}


# A whole dataset: episodes that end in both ways, chunks that match no slice, infos and metadata.
whole = columns([7, 20, 33, 60], [True, False, True, False])
whole["infos/qpos"] = rng.normal(size=(N, 2))
whole["infos/action_log_probs"] = rng.normal(size=N)
whole["metadata/algorithm"] = np.bytes_("SAC")
whole["metadata/iteration"] = np.int64(3)
whole["metadata/policy/fc0/weight"] = rng.normal(size=(2, 3)).astype(np.float32)
files = {"whole": write("whole", whole, chunks=True, compression="gzip", shuffle=True)}
# Only one episode, because the importer takes the last row of the file for every final observation.
one = columns([60], [True])
one["next_observations"] = np.concatenate([one["observations"][1:], rng.normal(size=(1, 3))])
files["next"] = write("next", one)
expected = {}
for name, path in files.items():
    expected[name] = [read(episode) for _, episode in dataset_utils.generate_examples(path)]
json.dump(expected, open(f"{sys.argv[1]}/expected_d4rl.json", "w"), indent=1)

# The file ends in the middle of an episode, and has next observations.
tail = columns([20, 41], [True, False])
tail["next_observations"] = tail["observations"] + 100
write("tail", tail)
no_timeouts = columns([9], [True])
del no_timeouts["timeouts"]
write("no_timeouts", no_timeouts)

# All types, each as a column of infos.
odd = columns([60], [False])
odd["infos/big_endian"] = np.arange(N, dtype=">i4")
odd["infos/half"] = (np.arange(N) / 7).astype(np.float16)
odd["infos/u64"] = np.arange(N, dtype=np.uint64) + 2**63
odd["infos/fixed"] = np.array([f"row {i}" for i in range(N)], "S8")
odd["infos/enum"] = (np.arange(N) % 3).astype(np.uint8)
path = write("odd", odd)
with h5py.File(path, "a") as f:
    f.create_dataset("infos/texts", data=[f"é {i}" * (i % 4) for i in range(N)], dtype=h5py.string_dtype())
    ragged = f.create_dataset("infos/ragged", (N,), dtype=h5py.vlen_dtype(np.uint8))
    for i in range(N):
        ragged[i] = np.arange(i % 5, dtype=np.uint8)
    pairs = f.create_dataset("infos/pairs", (N,), dtype=np.dtype((np.float32, (2,))))
    pairs[...] = np.stack([np.arange(N), -np.arange(N)], 1).astype(np.float32)
    del f["infos/enum"]
    f.create_dataset("infos/enum", data=(np.arange(N) % 3).astype(np.uint8), dtype=h5py.enum_dtype({"A": 0, "B": 1, "C": 2}, np.uint8))
    f.attrs["env"] = "odd-v0"
    f.attrs["numbers"] = np.arange(3)

# Invalid files.
bad = columns([60], [False])
write("lzf", bad, chunks=True, compression="lzf")
path = write("refused", bad)
with h5py.File(path, "a") as f:
    f.create_dataset("infos/compound", data=np.zeros(N, [("a", "f4"), ("b", "i4")]))
    f.create_dataset("infos/complex", data=np.zeros(N, np.complex64))
    layout = h5py.VirtualLayout((N,), "f4")
    layout[:] = h5py.VirtualSource("elsewhere.hdf5", "x", (N,))
    f.create_virtual_dataset("infos/virtual", layout)
    f["infos/linked"] = h5py.ExternalLink("/etc/passwd", "/x")
    f.create_dataset("infos/outside", (N,), "u1", external=[("/etc/passwd", 0, N)])
    f["infos/circle"] = f["infos"]
