"""Tests the live example: a game runs in a page, a learner runs in Python, and neither leaves a process or file behind."""

import os
import shutil
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest
from support import ROOT

SCRIPT = ROOT / "embed/python/examples/run.mjs"


@pytest.fixture
def started():
    """Yields a function that starts the example with a goal, in a separate session, and a function that returns the processes that are left of it."""
    pytest.importorskip("torch")
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))):
        pytest.skip("Chromium is not installed")
    mark = f"REPRISE_EXAMPLE={uuid.uuid4()}"
    name, value = mark.split("=")
    running = []

    def start(goal):
        command = [os.environ.get("REPRISE_NODE", "node"), str(SCRIPT), str(goal)]
        running.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, name: value}, start_new_session=True))
        return running[0]

    yield start, lambda: processes(mark)
    for process in running:
        process.kill()
        process.stdout.close()


def processes(mark):
    """Returns the processes that have a text in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append((path.parent / "cmdline").read_bytes()[:80])
        except OSError:
            continue
    return found


def test_it_reaches_the_return_and_ends(started):
    start, left = started
    out, _ = start(0.8).communicate(timeout=150)
    assert "REACHED a mean return of 0.8 over 200 balls" in out
    assert left() == []


@pytest.mark.parametrize("everybody", [True, False])
def test_ctrl_c_leaves_nothing(started, everybody):
    start, left = started
    # This goal is never reached.
    process = start(2)
    while "updates" not in process.stdout.readline():
        assert process.poll() is None
    assert len(left()) > 2
    # A terminal signals all processes of its group; `kill` signals only one process.
    if everybody:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    # The last processes of a browser disappear shortly after its end.
    for _ in range(100):
        if not left():
            break
        time.sleep(0.05)
    assert left() == []
