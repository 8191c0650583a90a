"""Writes an episode in robomimic's layout whose columns are longer than the part that a reader reads at a time: half floats, booleans and texts, in chunks.

python write_long.py OUT_DIR        (needs h5py; wrote with h5py 3.16)
"""
import os
import sys
import h5py
import numpy as np

out = os.path.join(sys.argv[1], "robots")
os.makedirs(out, exist_ok=True)
ROWS = 20_000
columns = {
    "actions": np.zeros((ROWS, 1), np.float32),
    "rewards": np.zeros(ROWS, np.float32),
    "dones": np.arange(ROWS) == ROWS - 1,
    "obs/half": (np.arange(ROWS * 30) % 97 / 4).astype(np.float16).reshape(ROWS, 30),
    "obs/flags": (np.arange(ROWS * 60) % 7 == 0).reshape(ROWS, 60),
    "obs/texts": np.array([f"row {i % 1000}" for i in range(ROWS)], "S64"),
}
with h5py.File(f"{out}/long.hdf5", "w") as f:
    demo = f.create_group("data/demo_0")
    demo.attrs["num_samples"] = ROWS
    for key, value in columns.items():
        demo.create_dataset(key, data=value, chunks=(1000, *value.shape[1:]), compression="gzip", compression_opts=9)
