"""Contains the shared parts of several tests."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from reprise_replay import ReplayError

ROOT = Path(__file__).resolve().parents[3]
WASM = ROOT / "dist/embed.wasm"

TEXT = """
leaf observation f32 4
leaf action i32
leaf reward f32
table memory size 1000 sampler prioritized 0.6
rule memory nStep 3
view memory transitions gamma 0.5 weights batch
seed 7
"""


def steps(n, first=0):
    """Returns distinct steps of TEXT."""
    numbers = np.arange(first, first + n)
    return {"observation": np.repeat(numbers[:, None], 4, 1).astype("f4"), "action": numbers.astype("i4"), "reward": np.ones(n, "f4")}


def refused(code, call):
    """Asserts that a call is refused with a code, and returns the text of the error."""
    with pytest.raises(ReplayError) as caught:
        call()
    assert caught.value.code == code, caught.value
    assert str(caught.value).startswith(f"{code}: ")
    return str(caught.value)


def node(*arguments):
    """Returns the output of a JavaScript script."""
    done = subprocess.run([os.environ.get("REPRISE_NODE", "node"), *map(str, arguments)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
