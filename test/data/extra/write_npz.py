"""Writes small .npz files with NumPy, in the layout of test/data/record.py and in others.  python write_npz.py OUT_DIR"""
import json
import os
import sys
import zlib
import numpy as np

out = os.path.join(sys.argv[1], "npz")
os.makedirs(out, exist_ok=True)
rng = np.random.default_rng(5)
N = 40
lengths = np.array([12, 3, 25])
ends = np.cumsum(lengths) - 1
last = np.zeros(N, bool)
last[ends] = True
first = np.roll(last, 1)
terminal = np.zeros(N, bool)
terminal[ends[[0, 2]]] = True
steps = {"observation": rng.normal(size=(N, 4)).astype(np.float32), "action": rng.integers(0, 9, N), "reward": rng.normal(size=N).astype(np.float32),
         "is_first": first, "is_last": last, "is_terminal": terminal, "discount": np.where(last, 0, 1).astype(np.float32)}
np.savez_compressed(f"{out}/recorded.npz", lengths=lengths, **steps, image=rng.integers(0, 255, (N, 4, 4, 3), dtype=np.uint8))
np.savez(f"{out}/flags.npz", **{k: v for k, v in steps.items() if k not in ("is_first", "discount")})
flat = {"observations": steps["observation"].astype(np.float64), "actions": steps["action"].astype(np.int16), "rewards": steps["reward"].reshape(-1, 1),
        "terminals": terminal, "timeouts": last & ~terminal, "next_observations": steps["observation"].astype(np.float64) + 100}
np.savez_compressed(f"{out}/flat.npz", **flat)
nested = {"observation/state": np.asfortranarray(steps["observation"]), "observation/deep/count": np.arange(N, dtype=">i4"),
          "observation/half": (np.arange(N) / 8).astype(np.float16), "observation/cube": np.asfortranarray(np.arange(N * 6, dtype=">u2").reshape(N, 2, 3)),
          "action": steps["action"].astype(np.uint8), "reward": steps["reward"].astype(">f8"), "is_terminal": terminal, "lengths": lengths.astype(np.int32),
          "said": np.array([f"é {i}" for i in range(N)]), "raw": np.array([f"row {i}" for i in range(N)], "S7"), "big": np.array([f"b{i}" for i in range(N)], ">U4"),
          "i8": np.arange(N, dtype=np.int8), "u64": np.arange(N, dtype=np.uint64) + 2**63}
np.savez(f"{out}/nested.npz", **nested)
np.savez(f"{out}/objects.npz", **{**steps, "info": np.array([{"a": 1}] * N, dtype=object)}, allow_pickle=True)
np.savez(f"{out}/complex.npz", **{**steps, "info": np.zeros(N, np.complex64)})
np.savez(f"{out}/fields.npz", **{**steps, "info": np.zeros(N, [("a", "f4"), ("b", "i4")])})
crc = lambda v: zlib.crc32(np.ascontiguousarray(v.astype(v.dtype.newbyteorder("<"))).tobytes())
text = lambda v: zlib.crc32("\n".join(x if isinstance(x, str) else x.decode() for x in v.tolist()).encode())
expected = {"recorded": {k: crc(v) for k, v in steps.items()},
            "nested": {k: text(v) if v.dtype.kind in "US" else crc(v.astype(np.float32) if v.dtype == np.float16 else v) for k, v in nested.items() if k != "lengths"},
            "flat": {"observation": crc(flat["observations"]), "action": crc(flat["actions"]), "reward": crc(flat["rewards"])}}
json.dump(expected, open(f"{sys.argv[1]}/expected_npz.json", "w"), indent=1)
