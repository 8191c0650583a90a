"""Runs the Python client: for each number that it receives, moves that many items and prints the time taken, one per line."""
import gc, json, os, sys, time

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import reverb

IN_FLIGHT = 100
UNCONFIRMED = 1000
task = json.loads(sys.argv[1])
address = f"127.0.0.1:{task['port']}"
client = reverb.Client(address)
random = np.random.default_rng(1)
# The arrays exist before the measurement, like the output of an environment.
STEPS = [{"action": np.int32(i), "done": np.bool_(i % 2), "obs": random.random(64, np.float32), "reward": np.float32(i)} for i in range(256)]
LISTS = [list(step.values()) for step in STEPS]


def legacy():
    writer = client.writer(max_sequence_length=1, chunk_length=1, max_in_flight_items=UNCONFIRMED)

    def run(n):
        for i in range(n):
            writer.append(LISTS[i & 255])
            writer.create_item("in", 1, 1.0)
        writer.flush()

    return run


def trajectory():
    # This writer does not limit items in flight.
    writer = client.trajectory_writer(num_keep_alive_refs=1)

    def run(n):
        for i in range(n):
            writer.append(STEPS[i & 255])
            writer.create_item("in", 1.0, {name: column[-1:] for name, column in writer.history.items()})
        writer.flush()

    return run


def sample():
    def run(n):
        for _ in client.sample(task["table"], n, emit_timesteps=False):
            pass

    return run


def sampler():
    # Does the same work as client.sample, which has one item in flight.
    def run(n):
        found = client._client.NewSampler(task["table"], n, IN_FLIGHT)
        for _ in range(n):
            found.GetNextTrajectory()

    return run


run = globals()[task["does"]]()
gc.collect()
gc.freeze()
print("{}", file=answers, flush=True)
for line in sys.stdin:
    start = time.perf_counter_ns()
    run(int(line))
    print(json.dumps({"ns": time.perf_counter_ns() - start}), file=answers, flush=True)
