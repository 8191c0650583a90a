"""Measures flashbax: each operation is one compiled JAX function, which also splits the random key. States are donated. Each result is awaited."""
import flashbax
import jax
import jax.numpy as jnp
import numpy as np

from source import ALPHA, BETA, BLOCK, SETS, WIDTH, adding, columns, priorities, priority_sets, repeated, steps

PACKAGE = "flashbax"
CANNOT = {"frames": "stores no frame once"}


def _one(block):
    return {name: jnp.asarray(value[0]) for name, value in block.items()}


def _fill(buffer, one, block, size):
    """Adds the block until the buffer is full."""
    state = jax.jit(buffer.init)(one)
    add = jax.jit(buffer.add, donate_argnums=0)
    block = jax.tree.map(jnp.asarray, block)
    for _ in range(0, size, BLOCK):
        state = add(state, block)
    return jax.block_until_ready(state)


def _drawing(state, sample):
    """Returns a call that draws a batch and waits for it."""

    @jax.jit
    def draw(state, key):
        key, own = jax.random.split(key)
        return key, sample(state, own)

    key = jax.random.key(1)

    def call():
        nonlocal key
        key, drawn = draw(state, key)
        return jax.block_until_ready(drawn)

    return call


def _items(batch, size):
    return flashbax.make_item_buffer(max_length=size, min_length=1, sample_batch_size=batch, add_batches=True)


def _prioritized(batch, size):
    return flashbax.make_prioritised_item_buffer(
        max_length=size, min_length=1, sample_batch_size=batch, add_batches=True, priority_exponent=ALPHA, device="cpu"
    )


def uniform(task):
    buffer = _items(task["batch"], task["steps"])
    block = columns()
    state = _fill(buffer, _one(block), block, task["steps"])
    draw = _drawing(state, buffer.sample)
    return repeated(draw), lambda: draw().experience


def _weighted(buffer, size):
    """Computes importance weights as in Reprise, scaled so that the largest weight of the batch is 1."""

    def sample(state, key):
        drawn = buffer.sample(state, key)
        weights = (size * drawn.probabilities) ** -BETA
        return drawn, weights / weights.max()

    return sample


def _filled_prioritized(buffer, size):
    block = columns()
    state = _fill(buffer, _one(block), block, size)
    new = jnp.asarray(np.resize(priorities(BLOCK, np.float32), size))
    return jax.block_until_ready(jax.jit(buffer.set_priorities)(state, jnp.arange(size), new))


def prioritized(task):
    batch, size = task["batch"], task["steps"]
    buffer = _prioritized(batch, size)
    state = _filled_prioritized(buffer, size)
    sample = _weighted(buffer, size)
    draw = _drawing(state, sample)

    def described():
        drawn, weights = draw()
        return drawn.experience | {"weights": weights}

    if not task.get("cycle"):
        return repeated(draw), described
    found = described()
    return _cycling(state, sample, buffer.set_priorities, batch), lambda: found


def _cycling(state, sample, update, batch):
    """Samples and updates in two calls, because a program learns in between. The state is donated, so nothing is copied."""

    @jax.jit
    def draw(state, key):
        key, own = jax.random.split(key)
        return key, sample(state, own)

    renew = jax.jit(update, donate_argnums=0)
    sets = [jnp.asarray(one) for one in priority_sets(batch, np.float32)]
    key = jax.random.key(1)

    def run(n):
        nonlocal key, state
        for k in range(n):
            key, (drawn, weights) = draw(state, key)
            jax.block_until_ready(weights)
            state = renew(state, drawn.indices, sets[k % SETS])
        jax.block_until_ready(state)

    return run


def windows(task):
    batch, size, length = task["batch"], task["steps"], task["length"]
    buffer = flashbax.make_trajectory_buffer(
        add_batch_size=1,
        sample_batch_size=batch,
        sample_sequence_length=length,
        period=1,
        min_length_time_axis=length,
        max_length_time_axis=size,
    )
    x = np.random.default_rng(19).random((1, BLOCK, WIDTH), np.float32)
    state = _fill(buffer, {"x": jnp.zeros(WIDTH, jnp.float32)}, {"x": x}, size)
    draw = _drawing(state, buffer.sample)
    return repeated(draw), lambda: draw().experience


def add(task):
    batch, size = task["batch"], task["steps"]
    buffer = _prioritized(batch, size) if task.get("priorities") else _items(batch, size)
    block = columns()
    state = _filled_prioritized(buffer, size) if task.get("priorities") else _fill(buffer, _one(block), block, size)
    found = _drawing(state, buffer.sample)().experience
    step = jax.jit(buffer.add, donate_argnums=0)
    given = [{name: np.asarray(value)[None] for name, value in one.items()} for one in steps()]

    def one(given):
        nonlocal state
        state = step(state, given)

    run = adding(one, given)

    def waited(n):
        run(n)
        jax.block_until_ready(state)

    return waited, lambda: found
