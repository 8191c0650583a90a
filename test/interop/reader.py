"""Prints the items of a table as the Python client reads them, as JSON, in the order of the table. On request, it first writes some items itself."""
import json, sys
import numpy as np
import reverb

address, table, count, mode = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
client = reverb.Client(address)
if mode == "write":
    with client.trajectory_writer(num_keep_alive_refs=5) as writer:
        for i in range(count + 4):
            writer.append({"obs": np.float32([i, i + 0.5, -i]), "act": np.int32(i)})
            if i >= 4:
                history = writer.history
                writer.create_item(table, float(i), {"a": history["act"][-1], "o": history["obs"][-3:]})
        writer.flush()
else:
    found = []
    for _ in range(count):
        (sample,) = client.sample(table, 1, emit_timesteps=False)
        found.append({"priority": float(sample.info.priority), "key": str(sample.info.key), "data": [column.astype(np.float64).tolist() for column in sample.data]})
    print(json.dumps(found))
