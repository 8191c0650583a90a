"""Writes tables with pandas 2, and the content that pandas reads from them."""
import json
import pathlib

import numpy as np
import pandas

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(5)
ROWS = 40
table = {f"observation_{i}": rng.standard_normal(ROWS).astype(np.float32) for i in range(3)}
table |= {f"action.{i}": rng.standard_normal(ROWS) for i in range(2)}
table["reward"] = rng.integers(0, 5, ROWS) / 10
table["terminated"] = np.arange(ROWS) == 17
table["truncated"] = np.arange(ROWS) == ROWS - 1
table["seed"] = [2**53 + 1 + i for i in range(ROWS)]
table["note"] = ['left, then "right"' if i % 7 == 0 else f"line\n{i}" if i % 5 == 0 else "é" * (i % 3) for i in range(ROWS)]
table["lidar[0][0]"], table["lidar[0][1]"], table["lidar[1][0]"], table["lidar[1][1]"] = (np.arange(ROWS) + k for k in range(4))
frame = pandas.DataFrame(table)
frame["distance"] = np.where(np.arange(ROWS) % 9 == 0, np.nan, 1.5)
frame.to_csv(HERE / "pandas.csv")
frame.to_csv(HERE / "pandas.tsv", sep="\t", index=False, lineterminator="\r\n")
expected = {name: [None if isinstance(x, float) and np.isnan(x) else x for x in frame[name].tolist()] for name in frame}
(HERE / "expected.json").write_text(json.dumps(expected) + "\n")
