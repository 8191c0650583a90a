"""A real Reverb server on this machine: prints its port, runs until its input ends."""
import sys
import reverb
import tensorflow as tf

# A selector or a rate limiter belongs to one role of one table.
selectors, limit = reverb.selectors, lambda: reverb.rate_limiters.MinSize(1)
spec = {"obs": tf.TensorSpec([None, 3], tf.float32), "act": tf.TensorSpec([None], tf.int32)}
server = reverb.Server([
    reverb.Table("free", selectors.Uniform(), selectors.Fifo(), 1_000_000, limit()),
    reverb.Table("first", selectors.Fifo(), selectors.Fifo(), 1_000_000, limit(), max_times_sampled=1),
    reverb.Table("signed", selectors.Uniform(), selectors.Fifo(), 1000, limit(), signature=spec),
    reverb.Table("prioritized", selectors.Prioritized(0.8), selectors.Fifo(), 1000, limit()),
    reverb.Table("heap", selectors.MaxHeap(), selectors.Fifo(), 1000, limit()),
    reverb.Table.queue("queue", 10),
], port=int(sys.argv[1]) if len(sys.argv) > 1 else None)
print(server.port, flush=True)
sys.stdin.read()
server.stop()
