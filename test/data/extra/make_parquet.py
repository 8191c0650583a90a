"""Writes lerobot_v2, lerobot_v3 and plain.parquet with pyarrow and pandas, in the layout of huggingface/lerobot, and the content that a reader must find to
expected_parquet.json.

python make_parquet.py [FOLDER]          (needs pyarrow, pandas, pillow)
"""
import io
import json
import os
import shutil
import sys
import zlib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

HERE = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
LENGTHS = [4, 3, 5]
TASKS = ["push the T", "lift the cube: ünïcode"]
FPS = 10
FEATURES = {
    "observation.state": {"dtype": "float32", "shape": [2], "names": ["x", "y"]},
    "observation.matrix": {"dtype": "float64", "shape": [2, 3], "names": None},
    "observation.gripper": {"dtype": "float32", "shape": [1], "names": None},
    "observation.images.top": {"dtype": "image", "shape": [4, 5, 3], "names": ["height", "width", "channels"]},
    "observation.images.wrist": {"dtype": "video", "shape": [48, 64, 3], "names": ["height", "width", "channels"], "info": {"video.fps": FPS, "video.codec": "av1"}},
    "action": {"dtype": "float32", "shape": [2], "names": ["x", "y"]},
    "next.reward": {"dtype": "float32", "shape": [1], "names": None},
    "next.done": {"dtype": "bool", "shape": [1], "names": None},
    "next.success": {"dtype": "bool", "shape": [1], "names": None},
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "frame_index": {"dtype": "int64", "shape": [1], "names": None},
    "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    "index": {"dtype": "int64", "shape": [1], "names": None},
    "task_index": {"dtype": "int64", "shape": [1], "names": None},
}
STATS = {"min": [0.0], "max": [1.0], "mean": [0.5], "std": [0.1], "count": [4]}


def png(pixels):
    to = io.BytesIO()
    Image.fromarray(pixels).save(to, "PNG")
    return to.getvalue()


def frames(random):
    index = 0
    for episode, length in enumerate(LENGTHS):
        rows = []
        for t in range(length):
            pixels = random.integers(0, 256, (4, 5, 3), dtype=np.uint8)
            rows.append({
                "observation.state": random.standard_normal(2).astype(np.float32), "observation.matrix": random.standard_normal((2, 3)),
                "observation.gripper": np.float32(random.standard_normal()), "observation.images.top": pixels, "action": random.standard_normal(2).astype(np.float32),
                "next.reward": np.float32(random.standard_normal()), "next.done": t == length - 1, "next.success": t == length - 1 and episode != 1,
                "timestamp": np.float32(t / FPS), "frame_index": t, "episode_index": episode, "index": index, "task_index": episode % 2,
            })
            index += 1
        yield rows


def table(rows):
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns = {}
    for name, feature in FEATURES.items():
        if feature["dtype"] == "video":
            continue
        values = [row[name] for row in rows]
        if feature["dtype"] == "image":
            columns[name] = pa.array([{"bytes": png(v), "path": f"frame_{i:06d}.png"} for i, v in enumerate(values)], image)
        elif feature["shape"] == [1]:
            columns[name] = pa.array([v.item() if hasattr(v, "item") else v for v in values], pa.from_numpy_dtype(feature["dtype"]))
        elif len(feature["shape"]) == 1:
            columns[name] = pa.array([v.tolist() for v in values], pa.list_(pa.from_numpy_dtype(feature["dtype"]), feature["shape"][0]))
        else:
            columns[name] = pa.array([v.tolist() for v in values], pa.list_(pa.list_(pa.from_numpy_dtype(feature["dtype"]))))
    return pa.table(columns).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": {}}})})


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as to:
        to.write(content)


def info(version, data_path, video_path, **more):
    return json.dumps({
        "codebase_version": version, "robot_type": "pusht", "total_episodes": len(LENGTHS), "total_frames": sum(LENGTHS), "total_tasks": len(TASKS), "chunks_size": 1000, **more,
        "fps": FPS, "splits": {"train": f"0:{len(LENGTHS)}"}, "data_path": data_path, "video_path": video_path, "features": FEATURES}, indent=4)


def version2(root, episodes):
    shutil.rmtree(root, ignore_errors=True)
    write(f"{root}/meta/info.json", info("v2.1", "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
                                         "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4", total_videos=3, total_chunks=1))
    write(f"{root}/meta/tasks.jsonl", "".join(json.dumps({"task_index": i, "task": task}) + "\n" for i, task in enumerate(TASKS)))
    write(f"{root}/meta/episodes.jsonl", "".join(json.dumps({"episode_index": i, "tasks": [TASKS[i % 2]], "length": n}) + "\n" for i, n in enumerate(LENGTHS)))
    os.makedirs(f"{root}/data/chunk-000")
    for i, rows in enumerate(episodes):
        pq.write_table(table(rows), f"{root}/data/chunk-000/episode_{i:06d}.parquet")


def version3(root, episodes):
    shutil.rmtree(root, ignore_errors=True)
    write(f"{root}/meta/info.json", info("v3.0", "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet", "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
                                         data_files_size_in_mb=100, video_files_size_in_mb=500))
    pd.DataFrame({"task_index": range(len(TASKS))}, index=TASKS).to_parquet(f"{root}/meta/tasks.parquet")
    os.makedirs(f"{root}/meta/episodes/chunk-000")
    os.makedirs(f"{root}/data/chunk-000")
    listed = []
    start = 0
    video = "videos/observation.images.wrist"
    for i, length in enumerate(LENGTHS):
        listed.append({
            "episode_index": i, "tasks": [TASKS[i % 2]], "length": length, "data/chunk_index": 0, "data/file_index": i // 2, "dataset_from_index": start, "dataset_to_index": start + length,
            f"{video}/chunk_index": 0, f"{video}/file_index": 0, f"{video}/from_timestamp": start / FPS, f"{video}/to_timestamp": (start + length) / FPS,
            **{f"stats/action/{name}": value for name, value in STATS.items()}, "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0})
        start += length
    pq.write_table(pa.Table.from_pylist(listed), f"{root}/meta/episodes/chunk-000/file-000.parquet", compression="snappy", use_dictionary=True)
    # Two episodes are in one file, the third in another. Row groups cut episodes.
    pq.write_table(table(episodes[0] + episodes[1]), f"{root}/data/chunk-000/file-000.parquet", row_group_size=3)
    pq.write_table(table(episodes[2]), f"{root}/data/chunk-000/file-001.parquet", compression="zstd")


def plain(path, episodes):
    """Writes a table as users do with pandas: without our metadata, with a missing float, and with flags instead of episode numbers."""
    rows = [{
        "obs": row["observation.state"].tolist(), "pose": {"x": float(row["observation.state"][0]), "ok": row["next.done"]}, "action": int(row["index"]) - 5, "reward": float(row["next.reward"]),
        "terminated": row["next.success"], "truncated": row["next.done"] and not row["next.success"], "note": f"row {row['index']}", "when": pd.Timestamp("2024-01-01") + pd.Timedelta(seconds=row["index"]),
    } for rows in episodes for row in rows]
    frame = pd.DataFrame(rows)
    frame.loc[2, "reward"] = np.nan
    frame["small"] = frame["action"].astype(np.int8)
    frame["unsigned"] = np.arange(len(rows)).astype(np.uint32) + np.uint32(2**32 - 100)
    frame["half"] = np.arange(len(rows)).astype(np.float16) / np.float16(8)
    frame.to_parquet(path, compression="gzip", row_group_size=5)


def main():
    episodes = list(frames(np.random.default_rng(7)))
    version2(f"{HERE}/lerobot_v2", episodes)
    version3(f"{HERE}/lerobot_v3", episodes)
    plain(f"{HERE}/plain.parquet", episodes)
    rows = [row for rows in episodes for row in rows]
    columns = {}
    for name in rows[0]:
        values = np.stack([np.asarray(row[name]) for row in rows])
        columns[name] = {"dtype": str(values.dtype), "shape": list(values.shape[1:]), "crc32": zlib.crc32(np.ascontiguousarray(values).tobytes())}
    with open(f"{HERE}/expected_parquet.json", "w") as to:
        json.dump({"lengths": LENGTHS, "tasks": TASKS, "columns": columns, "state": np.stack([row["observation.state"] for row in rows]).tolist()}, to, indent=1)


if __name__ == "__main__":
    main()
