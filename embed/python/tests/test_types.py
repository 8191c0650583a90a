"""Checks the type hints of the package, and of a program that uses it, with mypy."""

import subprocess
import sys

from support import ROOT

FOLDER = ROOT / "embed/python"


def mypy(tmp_path, *arguments):
    command = [sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--cache-dir", str(tmp_path), *arguments]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, env={"MYPYPATH": str(FOLDER)})
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_has_types(tmp_path):
    assert (FOLDER / "reprise_replay/py.typed").exists()
    mypy(tmp_path, "reprise_replay", "tests/typed.py")
