"""Tests the installed package, and the programs in the documents."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from support import ROOT, WASM

FOLDER = ROOT / "embed/python"
#: The comment in which a program states its output.
SAID = "  # → "


def programs(path):
    """Returns the programs of a page, each with the comment before it, if there is one."""
    return re.findall(r"(<!-- [^\n]* -->\n)?^```python\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)


PROGRAMS = [(page.name, *program) for page in (ROOT / "docs/embed/python.md", ROOT / "docs/embed/protocol.md", FOLDER / "README.md") for program in programs(page)]
#: The first program that uses the package.
FIRST = next(program for _, _, program in PROGRAMS if "reprise_replay" in program)
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Builds the wheel of the package."""
    # The wheel is built from a copy, because setuptools leaves files next to the sources.
    source = shutil.copytree(FOLDER, tmp_path_factory.mktemp("source") / "python", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    target = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, *PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", target, source], check=True)
    (made,) = target.iterdir()
    return made


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Installs the package with pip, independently of the clone."""
    target = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, *PIP, "install", "--no-deps", "--target", target, wheel], check=True)
    return target


def run(program, folder, path=()):
    code = f"import sys\nsys.path[:0] = {list(map(str, path))}\n{program}"
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)


def test_there_are_programs():
    assert len(PROGRAMS) >= 4


@pytest.mark.parametrize(("page", "comment", "program"), PROGRAMS)
def test_programs_of_the_documents_run(page, comment, program, installed, tmp_path):
    if "torch" in comment and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    # A program without the module refers to files by their paths in a clone.
    folder = tmp_path if "reprise_replay" in program else ROOT
    done = run(program, folder, [installed])
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    said = [line.split(SAID)[1] for line in program.splitlines() if SAID in line]
    assert "reprise_replay" not in program or done.stdout.splitlines() == said


def test_the_first_program_is_short():
    assert len([line for line in FIRST.splitlines() if line.strip()]) <= 10


def test_the_wheel_is_whole(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        (metadata,) = (file.read(name).decode() for name in names if name.endswith("/METADATA"))
        assert file.read("reprise_replay/embed.wasm") == WASM.read_bytes()
        assert any(name.endswith("LICENSE") for name in names) and "reprise_replay/py.typed" in names
    assert (FOLDER / "README.md").read_text(encoding="utf-8").strip() in metadata.replace("\r\n", "\n")
    modules = {file.relative_to(FOLDER).as_posix() for file in (FOLDER / "reprise_replay").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules


def test_a_clean_environment_installs_the_wheel(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "clean"], check=True)
    (python,) = (path for path in (tmp_path / "clean/bin/python", tmp_path / "clean/Scripts/python.exe") if path.exists())
    subprocess.run([python, *PIP, "install", wheel], check=True)
    done = subprocess.run([python, "-c", FIRST], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines() == [line.split(SAID)[1] for line in FIRST.splitlines() if SAID in line], done.stderr
    # Modules that need websockets say how to install it, and the wheel installs it as an extra.
    remote = [python, "-c", "from reprise_replay.remote import accept"]
    assert 'pip install "reprise-replay[websockets]"' in subprocess.run(remote, cwd=tmp_path, capture_output=True, text=True).stderr
    subprocess.run([python, *PIP, "install", f"{wheel}[websockets]"], check=True)
    subprocess.run(remote, cwd=tmp_path, check=True)


def test_modules_are_short_and_of_the_package_s_version():
    for file in (FOLDER / "reprise_replay").rglob("*.py"):
        assert len(file.read_text().splitlines()) < 400, file
    version = json.loads((ROOT / "package.json").read_text())["version"]
    assert f'version = "{version}"' in (FOLDER / "pyproject.toml").read_text()
