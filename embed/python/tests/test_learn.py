"""Tests the example: a game in JavaScript collects steps, Torch learns from its memory, and the game continues with the trained network."""

import json
import subprocess
import sys

import pytest
from support import ROOT, node

EXAMPLES = ROOT / "embed/python/examples"


def test_torch_learns_what_a_game_collected(tmp_path):
    pytest.importorskip("torch")
    snapshot, learned, network = (tmp_path / name for name in ("snapshot", "learned", "network.json"))
    collected = json.loads(node(EXAMPLES / "game.js", "collect", snapshot))
    program = f"import sys; sys.path.insert(0, {str(EXAMPLES.parent)!r}); sys.path.insert(0, {str(EXAMPLES)!r}); import learn; learn.main(*sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", program, snapshot, learned, network], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    losses = json.loads(done.stdout)
    assert losses["last"] < 0.8 * losses["first"]
    went_on = json.loads(node(EXAMPLES / "game.js", "play", learned, network))
    assert collected["caught"] < 0.3 and went_on["caught"] > 0.6
    assert went_on["size"] > collected["size"] and went_on["priorities"] > 20
