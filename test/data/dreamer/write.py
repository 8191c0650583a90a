"""Writes episodes in the same way as DreamerV2's driver and replay. common/driver.py begins with zeros for the action, and a row has the action and the reward
that led to it. common/replay.py saves each episode with np.savez_compressed under its time, name and length."""
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
for number, (length, terminal) in enumerate([(5, True), (3, False), (4, False)]):
    rows = length + 1
    t = np.arange(rows)
    action = np.zeros((rows, 2), np.float32)
    action[1:, 0] = t[1:] + 10 * number
    action[1:, 1] = -1
    episode = {
        "image": np.broadcast_to((t + 100 * number).astype(np.uint8)[:, None, None, None], (rows, 4, 4, 3)).copy(),
        "position": (t[:, None] + np.arange(2) / 10).astype(np.float32),
        "reward": np.where(t == 0, 0, t / 2).astype(np.float32),
        "discount": np.where(terminal & (t == length), 0, 1).astype(np.float32),
        "is_first": t == 0,
        "is_last": t == length,
        "is_terminal": terminal & (t == length),
        "action": action,
        "reset": t == 0,
        "log_steps": t.astype(np.int32),
    }
    np.savez_compressed(HERE / f"202601{10 + number:02d}T000000-{number:032x}-{length}.npz", **episode)
