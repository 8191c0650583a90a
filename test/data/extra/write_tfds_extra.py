"""Writes small RLDS datasets with every kind of feature, using the real tensorflow_datasets, and the content that it reads from them.

python write_tfds_extra.py OUT_DIR         (needs tensorflow 2.15, tensorflow_datasets 4.9.4)
"""
import json
import sys
import zlib
import numpy as np
import tensorflow_datasets as tfds

f = tfds.features
RNG = np.random.default_rng(7)
WIDE = {"int8": np.int8, "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16, "int32": np.int32, "uint32": np.uint32, "int64": np.int64, "uint64": np.uint64}
FLAGS = ("is_first", "is_last", "is_terminal")


def base():
    return {**{k: f.Scalar(dtype=np.bool_) for k in FLAGS}, "reward": f.Scalar(dtype=np.float32), "discount": f.Scalar(dtype=np.float32), "action": f.Scalar(dtype=np.int64)}


def common(t, n):
    return {"is_first": t == 0, "is_last": t == n - 1, "is_terminal": False, "reward": np.float32(t / 4), "discount": np.float32(1), "action": t % 3}


def integers(dtype, shape, i):
    info = np.iinfo(dtype)
    # uint64 is stored as int64, so the upper half of its range cannot be written.
    most = min(info.max, 2**63 - 1)
    values = RNG.integers(info.min, most, size=shape, dtype=dtype, endpoint=True)
    values.reshape(-1)[0] = info.min if i % 2 else most
    return values


def dtypes():
    observation = {
        **{k: f.Tensor(shape=(2,), dtype=d) for k, d in WIDE.items()},
        "float16": f.Tensor(shape=(3,), dtype=np.float16), "float64": f.Tensor(shape=(2, 2), dtype=np.float64), "bools": f.Tensor(shape=(5,), dtype=np.bool_),
        "bytes_float64": f.Tensor(shape=(3,), dtype=np.float64, encoding="bytes"), "zlib_int16": f.Tensor(shape=(2, 3), dtype=np.int16, encoding="zlib"),
        "zlib_float16": f.Tensor(shape=(4,), dtype=np.float16, encoding="zlib"), "bytes_bool": f.Tensor(shape=(4,), dtype=np.bool_, encoding="bytes"),
        "bytes_unknown": f.Tensor(shape=(None, 2), dtype=np.int32, encoding="bytes"), "zlib_unknown": f.Tensor(shape=(None, 3), dtype=np.float32, encoding="zlib"),
        "zlib_dynamic": f.Tensor(shape=(None, None), dtype=np.uint8, encoding="zlib"), "scalar_zlib": f.Tensor(shape=(), dtype=np.int64, encoding="zlib"),
        "label": f.ClassLabel(num_classes=4), "box": f.BBoxFeature(), "words": f.Tensor(shape=(2,), dtype=np.str_),
        "open": f.Sequence(f.Tensor(shape=(2,), dtype=np.int32)),
    }
    step = {**base(), "observation": f.FeaturesDict(observation), "text": f.Text()}
    episode = {"names": f.Sequence(f.Text()), "table": f.Sequence(f.Sequence(np.int64)), "row": f.Tensor(shape=(None,), dtype=np.float32), "grid": f.Tensor(shape=(None, None), dtype=np.int16, encoding="zlib"),
               "pair": f.Tensor(shape=(2,), dtype=np.float64), "info": f.FeaturesDict({"seed": np.int64, "ok": np.bool_, "who": f.Text()}), "points": f.Sequence({"x": np.float32, "y": np.float32}),
               "rows": f.Sequence(f.Tensor(shape=(2,), dtype=np.int32))}

    def make(count, at):
        for e in range(count):
            n = 3 + (e + at) % 3
            steps = []
            for t in range(n):
                i = 10 * e + t
                steps.append({**common(t, n), "text": f"Schritt {t}: größer, 走る, 🤖" if t else "", "observation": {
                    **{k: integers(d, (2,), i) for k, d in WIDE.items()},
                    "float16": RNG.normal(size=3).astype(np.float16), "float64": RNG.normal(size=(2, 2)), "bools": RNG.random(5) > 0.5,
                    "bytes_float64": RNG.normal(size=3), "zlib_int16": integers(np.int16, (2, 3), i), "zlib_float16": np.array([np.inf, -2**-24, 65504, -0.0], np.float16), "bytes_bool": RNG.random(4) > 0.5,
                    "bytes_unknown": integers(np.int32, (3, 2), i), "zlib_unknown": RNG.normal(size=(2, 3)).astype(np.float32), "zlib_dynamic": integers(np.uint8, (2, 5), i), "scalar_zlib": np.int64(-i),
                    "label": i % 4, "box": f.BBox(ymin=0.1, xmin=0.2, ymax=0.5, xmax=0.75), "words": ["links", "ä" * t],
                    "open": integers(np.int32, (4, 2), i)}})
            yield e, {"steps": steps, "names": ["eins", "zwei", "drei"][: e % 4], "table": [[1, 2], [], [3]][: 1 + e % 3], "row": RNG.normal(size=e).astype(np.float32), "grid": integers(np.int16, (2, 1 + e), e),
                      "pair": np.array([0.5, e], np.float64), "info": {"seed": -e, "ok": bool(e % 2), "who": "Åsa"}, "points": [{"x": k, "y": -k} for k in range(e)], "rows": [[k, -k] for k in range(e)]}
    return f.FeaturesDict({"steps": f.Dataset(step), **episode}), {"train": make(5, 0), "test": make(2, 1)}


def gradient(h, w, c, i, dtype=np.uint8):
    y, x = np.mgrid[0:h, 0:w]
    return np.stack([(x * (k + 3) + y * (7 - k) + 11 * i) % 200 for k in range(c)], -1).astype(dtype)


def images():
    observation = {"jpeg": f.Image(shape=(16, 24, 3), encoding_format="jpeg"), "grey_jpeg": f.Image(shape=(16, 16, 1), encoding_format="jpeg"), "png": f.Image(shape=(9, 7, 3), encoding_format="png"), "grey": f.Image(shape=(5, 6, 1), encoding_format="png"),
                   "alpha": f.Image(shape=(4, 4, 4), encoding_format="png"), "deep": f.Image(shape=(4, 5, 1), dtype=np.uint16, encoding_format="png"), "depth": f.Image(shape=(4, 3, 1), dtype=np.float32, encoding_format="png"),
                   "open": f.Image(shape=(None, None, 3), encoding_format="png")}

    def smooth(h, w, c, t):
        y, x = np.mgrid[0:h, 0:w]
        return np.stack([40 + 4 * x + 3 * y + 5 * k + 2 * t for k in range(c)], -1).astype(np.uint8)

    def make():
        for e in range(2):
            n = 2 + e
            yield e, {"steps": [{**common(t, n), "observation": {
                "jpeg": smooth(16, 24, 3, t), "grey_jpeg": smooth(16, 16, 1, t), "png": gradient(9, 7, 3, t), "grey": gradient(5, 6, 1, t), "alpha": gradient(4, 4, 4, t), "deep": gradient(4, 5, 1, t, np.uint16) * np.uint16(300),
                "depth": RNG.normal(size=(4, 3, 1)).astype(np.float32), "open": gradient(6, 5, 3, t)}} for t in range(n)], "goal": gradient(3 + e, 4, 3, e)}
    return f.FeaturesDict({"steps": f.Dataset({**base(), "observation": f.FeaturesDict(observation)}), "goal": f.Image(shape=(None, None, 3))}), {"train": make()}


def fixed():
    """Writes sequences of known length within steps: tensorflow_datasets writes them, but only its reader without TensorFlow can read them. A test contains the
    expected content."""
    step = {**base(), "fixed": f.Sequence(np.float32, length=3), "pairs": f.Sequence({"a": np.int64, "b": f.Text()}, length=2), "deep": f.Sequence(f.Sequence(np.int16, length=2), length=3), "film": f.Video(shape=(2, 4, 4, 3))}

    def make():
        for e in range(2):
            yield e, {"steps": [{**common(t, 3), "fixed": [1.5 * t, e, 3], "pairs": [{"a": t, "b": "x"}, {"a": -e, "b": "ÿ" * t}], "deep": [[t, e], [2, 3], [-t, -e]], "film": np.stack([gradient(4, 4, 3, t), gradient(4, 4, 3, t + 1)])} for t in range(3)]}
    return f.FeaturesDict({"steps": f.Dataset(step)}), {"train": make()}


def ragged():
    def make():
        yield 0, {"steps": [{**common(t, 3), "open": list(range(t))} for t in range(3)]}
    return f.FeaturesDict({"steps": f.Dataset({**base(), "open": f.Sequence(np.float32)})}), {"train": make()}


def sizes():
    def make():
        for e in range(2):
            yield e, {"steps": [{**common(t, 2), "image": gradient(4 + e, 4, 3, t)} for t in range(2)]}
    return f.FeaturesDict({"steps": f.Dataset({**base(), "image": f.Image(shape=(None, None, 3))})}), {"train": make()}


def tiny():
    def make():
        for e in range(3):
            yield e, {"steps": [{**common(t, 2), "observation": np.array([t, e], np.float32), "text": "ab", "image": gradient(2, 2, 3, t), "zlib": np.arange(3, dtype=np.int32), "open": [t, e]} for t in range(2)], "id": e, "names": ["a", "b"][:e]}
    step = {**base(), "observation": f.Tensor(shape=(2,), dtype=np.float32), "text": f.Text(), "image": f.Image(shape=(2, 2, 3)), "zlib": f.Tensor(shape=(3,), dtype=np.int32, encoding="zlib"), "open": f.Sequence(np.int64)}
    return f.FeaturesDict({"steps": f.Dataset(step), "id": np.int64, "names": f.Sequence(f.Text())}), {"train": make()}


def plain(x):
    """Converts a value to JSON."""
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, bytes):
        return x.decode()
    if hasattr(x, "to_list"):
        return plain(x.to_list())
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, np.ndarray):
        return [plain(v) for v in x] if x.dtype == object or x.ndim > 1 else x.tolist()
    return x.item() if hasattr(x, "item") else x


def flatten(x, prefix=""):
    if isinstance(x, dict):
        for k in sorted(x):
            yield from flatten(x[k], f"{prefix}/{k}" if prefix else k)
    else:
        yield prefix, x


def read(builder, split, jpeg):
    columns, episodes, lengths, returns = {}, [], [], []
    for ep in builder.as_dataset(split=split):
        steps = [dict(flatten(s)) for s in ep.pop("steps").as_numpy_iterator()]
        lengths.append(len(steps))
        returns.append(float(sum(float(s["reward"]) for s in steps)))
        for s in steps:
            for k, v in s.items():
                v = v.to_list() if hasattr(v, "to_list") else v
                columns.setdefault(k, []).append(v)
        episodes.append(plain({k: v if isinstance(v, dict) else (v.to_list() if hasattr(v, "to_list") else v.numpy()) for k, v in _numpy(ep).items()}))
    found = {}
    for k, values in sorted(columns.items()):
        a = np.asarray(values)
        if a.dtype.kind in "SO":
            found[k] = {"dtype": "string", "crc32": zlib.crc32(b"\n".join(np.asarray(values, object).reshape(-1)))}
            continue
        dtype = str(a.dtype)
        # Reprise stores half floats in arrays of float32.
        if a.dtype == np.float16:
            a = a.astype(np.float32)
        a = np.ascontiguousarray(a)
        found[k] = {"dtype": dtype, "shape": list(a.shape[1:]), "crc32": zlib.crc32(a.tobytes()), "sum": float(a.astype(np.float64).sum()), "first": a[0].reshape(-1)[:4].tolist()}
        # JSON has no infinity, so only the checksum is compared.
        if not np.isfinite(found[k]["sum"]):
            del found[k]["sum"], found[k]["first"]
        if k in jpeg:
            found[k]["pixels"] = a[0].reshape(-1).tolist()
    return {"episodes": len(lengths), "steps": sum(lengths), "lengths": lengths, "mean_return": float(np.mean(returns)), "columns": found, "metadata": episodes}


def _numpy(x):
    return {k: ({n: (m.to_list() if hasattr(m, "to_list") else m.numpy()) for n, m in v.items()} if isinstance(v, dict) else v) for k, v in x.items()}


def main(out):
    expected = {}
    made = {"dtypes": dtypes, "images": images, "fixed": fixed, "ragged": ragged, "sizes": sizes, "tiny": tiny}
    for name, make in made.items():
        features, splits = make()
        tfds.dataset_builders.store_as_tfds_dataset(name=name, version="1.0.0", data_dir=out, features=features, split_datasets=splits, disable_shuffling=True,
                                                    download_config=tfds.download.DownloadConfig(num_shards=2 if name == "dtypes" else 1, try_download_gcs=False))
        builder = tfds.builder_from_directory(f"{out}/{name}/1.0.0")
        if name in ("dtypes", "images", "tiny"):
            expected[name] = {split: read(builder, split, ("observation/jpeg", "observation/grey_jpeg")) for split in splits}
        # Writes the same file without whitespace, which is most of its size.
        path = f"{out}/{name}/1.0.0/features.json"
        text = json.dumps(json.load(open(path)), separators=(",", ":"))
        open(path, "w").write(text)
    json.dump(expected, open(f"{out}/expected.json", "w"), ensure_ascii=False, allow_nan=False)


if __name__ == "__main__":
    main(sys.argv[1])
