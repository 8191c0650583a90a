"""Writes stores in the layout of diffusion_policy with zarr 3.1 and numcodecs 0.16, and the content that zarr reads from them. The stores cover versions 2 and
3, every supported codec, shards, and both orders."""
import json
import pathlib
import shutil
import tempfile
import zlib

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

HERE = pathlib.Path(__file__).parent
ENDS = np.array([7, 12, 23], np.int64)
ROWS = int(ENDS[-1])
rng = np.random.default_rng(7)


def arrays():
    """Returns an action of [3], an image, and a column of each type."""
    done = np.zeros(ROWS, bool)
    done[11] = True
    return {
        "action": rng.standard_normal((ROWS, 3)).astype(np.float32),
        "obs/image": rng.integers(0, 255, (ROWS, 4, 5, 3), np.uint8),
        "obs/pose": rng.standard_normal((ROWS, 7)),
        "obs/half": rng.standard_normal((ROWS, 2)).astype(np.float16),
        "obs/count": rng.integers(-(2**62), 2**62, (ROWS, 1), np.int64),
        "reward": rng.standard_normal((ROWS, 1)).astype(np.float32),
        "done": done,
        "timestamp": np.arange(ROWS) / 10,
    }


def fill(group, create):
    data = arrays()
    for name, value in data.items():
        create(group, f"data/{name}", value)
    create(group, "meta/episode_ends", ENDS)
    create(group, "meta/robot", np.array([1.5, 2.5, 3.5], np.float32))
    group.attrs["robot"] = "ur5"
    return data


def told(name, data):
    columns = {
        path: {"dtype": str(value.dtype), "shape": list(value.shape), "crc32": zlib.crc32(np.ascontiguousarray(value.astype(np.float32) if value.dtype == np.float16 else value).tobytes())}
        for path, value in data.items()
    }
    group = zarr.open_group(zarr.storage.ZipStore(HERE / name, mode="r"), mode="r")
    for path, value in data.items():
        assert np.array_equal(group[f"data/{path}"][:], value), (name, path)
    return columns


# Alternating codecs, chunks that cut rows and columns, Fortran order, big-endian numbers, and a filter.
OLD = [numcodecs.Blosc("zstd"), numcodecs.Zstd(3), numcodecs.GZip(5), numcodecs.LZ4(), numcodecs.Zlib(5), None, numcodecs.Blosc("lz4", shuffle=2), numcodecs.Blosc("blosclz")]


def old(group, name, value):
    turn = len([*group.get("data", {})]) if "data" in group else 0
    value = value.astype(value.dtype.newbyteorder(">")) if name.endswith("pose") else value
    chunks = tuple(max(1, (n + 1) // 2) for n in value.shape)
    filters = [numcodecs.Delta(value.dtype)] if name == "data/timestamp" else None
    names = ["data/action", "data/obs/image", "data/obs/pose", "data/obs/half", "data/obs/count", "data/reward", "data/done", "data/timestamp"]
    compressor = OLD[names.index(name)] if name in names else OLD[0]
    array = group.create_array(name, shape=value.shape, dtype=value.dtype, chunks=chunks, compressors=compressor, filters=filters, order="F" if name.endswith(("image", "pose")) else "C")
    array[:] = value


NEW = {
    "data/action": [ZstdCodec(level=3, checksum=True)],
    "data/obs/image": [BloscCodec(cname="zstd", shuffle="shuffle")],
    "data/obs/pose": [GzipCodec(level=5), Crc32cCodec()],
    "data/obs/half": [Crc32cCodec(), ZstdCodec()],
    "data/obs/count": [],
}


def new(group, name, value):
    chunks = tuple(max(1, (n + 1) // 2) for n in value.shape)
    endian = BytesCodec(endian="big") if name.endswith("pose") else "auto"
    filters = [TransposeCodec(order=tuple(range(value.ndim))[::-1])] if name.endswith("image") else "auto"
    array = group.create_array(name, shape=value.shape, dtype=value.dtype, chunks=chunks, compressors=NEW.get(name, "auto"), serializer=endian, filters=filters)
    array[:] = value


def sharded(group, name, value):
    # The last shard is not full, and rows 8 and 9 of the action are never written.
    chunks = (2, *value.shape[1:])
    codecs = {"data/obs/pose": [GzipCodec()], "data/obs/count": [BloscCodec(cname="lz4")], "data/reward": []}.get(name, [ZstdCodec()])
    array = group.create_array(name, shape=value.shape, dtype=value.dtype, chunks=chunks, shards=(8, *value.shape[1:]), compressors=codecs)
    if name == "data/action":
        value[8:10] = 0
    array[:] = value


expected = {}
for name, version, create in [("v2", 2, old), ("v3", 3, new), ("sharded", 3, sharded)]:
    target = HERE / f"{name}.zarr.zip"
    target.unlink(missing_ok=True)
    if name == "sharded":
        store = zarr.storage.ZipStore(target, mode="w")
        data = fill(zarr.create_group(store, zarr_format=version), create)
        store.close()
    else:
        # Archives of whole folders, as users create them.
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"{name}.zarr"
            data = fill(zarr.create_group(path, zarr_format=version), create)
            zarr.consolidate_metadata(path)
            shutil.make_archive(str(target.with_suffix("")), "zip", path)
    expected[name] = told(target.name, data)
(HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
