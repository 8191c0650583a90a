"""What is installed, and the programs of the documents."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from support import ROOT, WASM

FOLDER = ROOT / "embed/python"
PAGE = (ROOT / "docs/embedding.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
#: The one that pip install is for.
FIRST = next(program for program in PROGRAMS if "reprise_replay" in program)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package as pip installs it, without the clone beside it."""
    target = tmp_path_factory.mktemp("installed")
    # In a copy, since setuptools leaves its work beside what it builds.
    source = shutil.copytree(FOLDER, tmp_path_factory.mktemp("source") / "python", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", target, source], check=True)
    return target


def run(program, folder, path=()):
    code = f"import sys\nsys.path[:0] = {list(map(str, path))}\n{program}"
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)


def test_there_are_programs():
    assert len(PROGRAMS) >= 2


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_of_the_documents_run(program, installed, tmp_path):
    # The one without the module names the file as it is in a clone.
    folder = tmp_path if "reprise_replay" in program else ROOT
    done = run(program, folder, [installed])
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    said = [line.split("  # → ")[1] for line in program.splitlines() if "  # → " in line]
    assert "reprise_replay" not in program or done.stdout.splitlines() == said


def test_the_first_program_is_short():
    assert len([line for line in FIRST.splitlines() if line.strip()]) <= 10


def test_it_is_installed_whole(installed):
    assert (installed / "reprise_replay/embed.wasm").read_bytes() == WASM.read_bytes()


def test_the_module_is_small_and_of_the_package_s_version():
    files = list((FOLDER / "reprise_replay").glob("*.py"))
    assert sum(len(file.read_text().splitlines()) for file in files) <= 300
    version = json.loads((ROOT / "package.json").read_text())["version"]
    assert f'version = "{version}"' in (FOLDER / "pyproject.toml").read_text()
