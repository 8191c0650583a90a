"""Tests the two ways to call an export: both return the same results, and raise the same errors."""

import importlib

import pytest
import wasmtime
from player import digest
from reprise_replay import instance
from reprise_replay.export import checked, direct
from support import ROOT

# This is the module. It contains a function of the same name.
export = importlib.import_module("reprise_replay.export")

PROGRAM = """(module
  (func (export "mixed") (param $a i32) (param $x f64) (param $b i32) (result i32)
    (i32.add (i32.xor (local.get $a) (local.get $b)) (i32.trunc_f64_s (local.get $x))))
  (func (export "same") (param i32) (result i32) (local.get 0))
  (func (export "constant") (result i32) (i32.const -7))
  (func (export "trap") (param i32) (result i32) unreachable)
  (func $deep (export "deep") (param i32) (result i32) (i32.add (i32.const 1) (call $deep (local.get 0)))))"""


def functions(way):
    store = wasmtime.Store()
    exports = wasmtime.Instance(store, wasmtime.Module(store.engine, PROGRAM), []).exports(store)
    return {name: way(store, function) for name, function in exports.items()}


def test_wasmtime_has_the_direct_call():
    assert export.DIRECT


@pytest.mark.parametrize("way", [direct, checked])
def test_numbers(way):
    all_of = functions(way)
    for number in (0, 1, -1, 2**31 - 1, -(2**31)):
        assert all_of["same"](number) == number
    assert all_of["constant"]() == -7
    assert all_of["mixed"](12, -3.5, 10) == (12 ^ 10) - 3
    # A call leaves no state for the next call.
    assert [all_of["mixed"](1, 5.0, 0), all_of["mixed"](0, 0.0, 0)] == [6, 0]


def test_addresses_from_2_gib_on():
    all_of = functions(direct)
    assert [all_of["same"](number) for number in (2**31, 2**32 - 1, 2**32 - 16)] == [-(2**31), -1, -16]
    assert all_of["mixed"](2**32 - 1, 0.5, 2**31) == 2**31 - 1


@pytest.mark.parametrize("way", [direct, checked])
def test_traps(way):
    all_of = functions(way)
    for _ in range(3):
        with pytest.raises(wasmtime.Trap, match="unreachable"):
            all_of["trap"](1)
        with pytest.raises(wasmtime.Trap, match="stack"):
            all_of["deep"](1)
        assert all_of["same"](5) == 5


def test_arguments_must_fit_the_signature():
    for way in (direct, checked):
        for wrong in ((), (1, 2), ("1",), (None,)):
            with pytest.raises((TypeError, ValueError, wasmtime.WasmtimeError)):
                functions(way)["same"](*wrong)


def test_the_digest_by_the_public_way(monkeypatch):
    monkeypatch.setattr(instance, "export", checked)
    assert f"digest {digest(ROOT / 'dist/embed/packed.bin')}" == (ROOT / "test/embed/packed-digest.txt").read_text().strip()
