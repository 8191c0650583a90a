"""Writes an HDF5 file in D4RL's layout whose infos have the same numbers, each compressed with a different filter of hdf5plugin.

python write_filters.py OUT_DIR        (needs h5py and hdf5plugin; wrote with h5py 3.16.0, hdf5plugin 7.1.0)
"""
import sys
import h5py
import hdf5plugin
import numpy as np

N = 60
numbers = (np.arange(3 * N) // 4).reshape(N, 3).astype(np.float32)
FILTERS = {
    "plain": {},
    "gzip": {"compression": "gzip"},
    "szip": {"compression": "szip"},
    "lzf": {"compression": "lzf"},
    "lzf_shuffled": {"compression": "lzf", "shuffle": True},
    "blosc": hdf5plugin.Blosc(),
    "blosc_zstd": hdf5plugin.Blosc(cname="zstd", shuffle=hdf5plugin.Blosc.BITSHUFFLE),
    "blosc2": hdf5plugin.Blosc2(),
    "bitshuffle": hdf5plugin.Bitshuffle(),
    "bz2": hdf5plugin.BZip2(),
    "lz4": hdf5plugin.LZ4(),
    "zfp": hdf5plugin.Zfp(reversible=True),
    "zstd": hdf5plugin.Zstd(),
}
with h5py.File(f"{sys.argv[1]}/d4rl/filters.hdf5", "w") as f:
    f["observations"], f["actions"], f["rewards"] = numbers, numbers[:, :2], numbers[:, 0]
    f["terminals"], f["timeouts"] = np.zeros(N, bool), np.arange(N) == N - 1
    for name, options in FILTERS.items():
        f.create_dataset(f"infos/{name}", data=numbers, chunks=(25, 3), **options)
    # h5wasm-plugins does not support this filter.
    f.create_dataset("others/sperr", data=numbers, chunks=(25, 3), **hdf5plugin.Sperr())
