"""Writes the files in this folder that are not copies of a tool's output. Usage: python write_more.py
(needs h5py 3.16, numpy 2.4, Pillow 13, opencv-python-headless 5.0)"""

import json
import os

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def minari(path, episodes):
    """Writes episodes as Minari's DataCollector stores them, with the given attributes."""
    folder = os.path.join(HERE, path, "data")
    os.makedirs(folder, exist_ok=True)
    with h5py.File(os.path.join(folder, "main_data.hdf5"), "w") as file:
        for number, attributes in enumerate(episodes):
            group = file.create_group(f"episode_{number}")
            group["observations"] = np.arange(3, dtype=np.float32).reshape(3, 1)
            group["actions"] = np.arange(2, dtype=np.int64)
            group["rewards"] = np.ones(2, dtype=np.float64)
            group["terminations"] = np.array([False, True])
            group["truncations"] = np.array([False, False])
            group.attrs["id"] = number
            group.attrs["total_steps"] = 2
            for name, value in attributes.items():
                group.attrs[name] = value
    about = {"total_episodes": len(episodes), "total_steps": 2 * len(episodes), "data_format": "hdf5", "dataset_id": "options/x-v0"}
    with open(os.path.join(folder, "metadata.json"), "w") as file:
        json.dump(about, file)


minari(
    "minari/options/x-v0",
    [
        {"seed": np.int64(3), "level": np.int64(1), "goal": np.array([1.0, 2.0]), "kind": "a", "wide": np.int64(-5)},
        {"seed": np.uint64(2**64 - 1), "options/gravity": -9.81, "options/flag": True, "level": 0.5, "goal": np.array([1.0]), "kind": np.int64(7)},
        {"options/gravity": np.float32(1.5), "options/name": "x", "level": np.int32(2), "goal": np.array([1.0, 2.0]), "kind": "b", "wide": np.uint64(2**63)},
    ],
)


def jpegs(path):
    """Writes frames of noise, edges and smooth color, each as JPEG in several ways, and the pixels as libjpeg decodes them (Pillow)."""
    import io

    import cv2
    from PIL import Image

    random = np.random.default_rng(7)
    arrays = {}
    for width, height in [(64, 48), (37, 23), (5, 3), (1, 2)]:
        y, x = np.mgrid[0:height, 0:width]
        smooth = np.stack([x * 255 // max(width - 1, 1), y * 255 // max(height - 1, 1), (x + y) % 256], axis=-1).astype(np.uint8)
        blocks = np.where(((x // 5 + y // 7) % 2 == 0)[..., None], np.array([230, 20, 40], np.uint8), np.array([10, 60, 220], np.uint8))
        noise = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
        for kind, pixels in [("smooth", smooth), ("blocks", blocks), ("noise", noise)]:
            for sampling in ["4:4:4", "4:2:2", "4:2:0", "4:1:1"]:
                for progressive in [False, True]:
                    stream = io.BytesIO()
                    Image.fromarray(pixels).save(stream, "JPEG", quality=85, subsampling=sampling, progressive=progressive)
                    name = f"{kind}_{width}x{height}_{sampling.replace(':', '')}{'_progressive' if progressive else ''}"
                    arrays[f"{name}.jpg"] = np.frombuffer(stream.getvalue(), np.uint8)
                    arrays[f"{name}.rgb"] = np.asarray(Image.open(stream).convert("RGB"))
    # Subsampled chrominance in only one direction, which Pillow can read but not write.
    for kind in ["one", "two"]:
        for sampling in ["440", "411"]:
            wide = random.integers(0, 256, (23, 37, 3), dtype=np.uint8)
            stream = cv2.imencode(".jpg", wide, [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, getattr(cv2, f"IMWRITE_JPEG_SAMPLING_FACTOR_{sampling}")])[1]
            arrays[f"{kind}_{sampling}.jpg"] = stream
            arrays[f"{kind}_{sampling}.rgb"] = np.asarray(Image.open(io.BytesIO(stream.tobytes())).convert("RGB"))
    rgb = io.BytesIO()
    Image.fromarray(noise).save(rgb, "JPEG", quality=95, keep_rgb=True)
    arrays["rgb.jpg"] = np.frombuffer(rgb.getvalue(), np.uint8)
    arrays["rgb.rgb"] = np.asarray(Image.open(rgb))
    grey = io.BytesIO()
    Image.fromarray(smooth[..., 0]).save(grey, "JPEG", quality=85)
    arrays["grey.jpg"] = np.frombuffer(grey.getvalue(), np.uint8)
    arrays["grey.rgb"] = np.asarray(Image.open(grey).convert("RGB"))
    np.savez_compressed(os.path.join(HERE, path), **arrays)


jpegs("jpeg.npz")


def orders(path):
    """Writes every kind of number in both byte orders, as datasets of D4RL's infos and as attributes: all have 0, 1, -2 … of their type."""
    steps = 6
    with h5py.File(os.path.join(HERE, path), "w", track_order=False) as file:
        file["observations"] = np.arange(steps * 2, dtype=">f4").reshape(steps, 2)
        file["actions"] = np.arange(steps, dtype=">i2")
        file["rewards"] = np.ones(steps, dtype=">f8")
        for name, last in [("terminals", True), ("timeouts", False)]:
            flags = np.zeros(steps, dtype=">i2")
            flags[-1] = last
            # A boolean in a form that NumPy never writes: two bytes, big-endian.
            kind = h5py.h5t.enum_create(h5py.h5t.STD_I16BE)
            kind.enum_insert(b"FALSE", 0)
            kind.enum_insert(b"TRUE", 1)
            space = h5py.h5s.create_simple((steps,))
            h5py.h5d.create(file.id, name.encode(), kind, space).write(h5py.h5s.ALL, h5py.h5s.ALL, flags, kind)
        infos = file.create_group("infos")
        values = [0, 1, 2, 100, 3, 4]
        for order, mark in [("<", "little"), (">", "big")]:
            for kind in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]:
                dtype = np.dtype(f"{order}{kind}")
                infos[f"{mark}_{kind}"] = np.array(values, dtype=dtype)
                enum = h5py.enum_dtype({"A": 0, "B": 1, "C": 2, "D": 100, "E": 3, "F": 4}, basetype=dtype)
                infos.create_dataset(f"{mark}_enum_{kind}", data=np.array(values, dtype=dtype), dtype=enum)
                data = np.array([(v, v) for v in values], dtype=dtype)
                for word, base in [("array", dtype), ("pair", enum)]:
                    two = h5py.h5t.array_create(h5py.h5t.py_create(base, logical=True), (2,))
                    h5py.h5d.create(infos.id, f"{mark}_{word}_{kind}".encode(), two, h5py.h5s.create_simple((steps,))).write(h5py.h5s.ALL, h5py.h5s.ALL, data, two)
                file.attrs.create(f"{mark}_enum_{kind}", np.array(values[3], dtype=dtype), dtype=enum)
                file.attrs[f"{mark}_{kind}"] = np.array(values[3], dtype=dtype)
            for kind in ["f2", "f4", "f8"]:
                infos[f"{mark}_{kind}"] = np.array(values, dtype=f"{order}{kind}")
                file.attrs[f"{mark}_{kind}"] = np.array(values[3], dtype=f"{order}{kind}")


orders("orders.hdf5")


def robots():
    """Writes the layouts that the files of hdf5_robots do not have: Isaac Lab, robosuite, ALOHA with JPEGs, ManiSkill with nested observations."""
    import io

    from PIL import Image

    with h5py.File(os.path.join(HERE, "hdf5_robots/isaaclab.hdf5"), "w") as file:
        data = file.create_group("data")
        data.attrs["env_args"] = json.dumps({"env_name": "Isaac-Lift", "type": 2})
        for number, steps in [(10, 3), (2, 2)]:
            demo = data.create_group(f"demo_{number}")
            demo.attrs["num_samples"] = steps
            demo.attrs["success"] = number == 2
            demo["actions"] = np.full((steps, 2), number, np.float32)
            demo["obs/joint_pos"] = np.arange(steps * 2, dtype=np.float32).reshape(steps, 2)
            demo["states/articulation/robot/root_pose"] = np.zeros((steps, 7), np.float32)
            demo["initial_state/articulation/robot/root_pose"] = np.zeros((1, 7), np.float32)
    with h5py.File(os.path.join(HERE, "hdf5_robots/robosuite.hdf5"), "w") as file:
        data = file.create_group("data")
        data.attrs["env"] = "Lift"
        for number in [1, 2]:
            demo = data.create_group(f"demo_{number}")
            demo.attrs["model_file"] = f"<mujoco model='{number}'/>"
            demo["states"] = np.full((4, 5), number, np.float64)
            demo["actions"] = np.full((4, 2), number, np.float64)
    os.makedirs(os.path.join(HERE, "hdf5_robots/aloha"), exist_ok=True)
    for number in range(11):
        with h5py.File(os.path.join(HERE, f"hdf5_robots/aloha/episode_{number}.hdf5"), "w") as file:
            file.attrs["sim"] = False
            file.attrs["compress"] = True
            steps = 2 + number % 2
            frames = []
            for t in range(steps):
                stream = io.BytesIO()
                Image.fromarray(np.full((8, 16, 3), 10 * number + t, np.uint8)).save(stream, "JPEG", quality=95)
                frames.append(np.frombuffer(stream.getvalue(), np.uint8))
            width = max(len(frame) for frame in frames)
            file["observations/images/top"] = np.stack([np.pad(frame, (0, width - len(frame))) for frame in frames])
            file["compress_len"] = np.array([[len(frame) for frame in frames]], np.float32)
            file["observations/qpos"] = np.full((steps, 3), number, np.float32)
            file["observations/qvel"] = np.zeros((steps, 3), np.float32)
            file["observations/effort"] = np.zeros((steps, 3), np.float32)
            file["action"] = np.full((steps, 3), number, np.float32)
            file["base_action"] = np.full((steps, 2), number, np.float32)
    with h5py.File(os.path.join(HERE, "hdf5_robots/maniskill_nested.h5"), "w") as file:
        for number, steps in [(0, 3), (1, 2)]:
            group = file.create_group(f"traj_{number}")
            group["actions"] = np.full((steps, 2), number, np.float32)
            group["obs/agent/qpos"] = np.arange((steps + 1) * 2, dtype=np.float32).reshape(steps + 1, 2)
            group["obs/sensor_data/camera/rgb"] = np.zeros((steps + 1, 4, 4, 3), np.uint8)
            group["env_states/actors/cube"] = np.arange((steps + 1) * 3, dtype=np.float32).reshape(steps + 1, 3)
            group["success"] = np.array([False] * (steps - 1) + [True])
            group["terminated"] = np.array([False] * (steps - 1) + [number == 0])
            group["truncated"] = np.array([False] * (steps - 1) + [number == 1])


robots()
