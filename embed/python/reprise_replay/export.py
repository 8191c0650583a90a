"""Wraps the exports of a wasmtime instance in plain functions of numbers."""

from __future__ import annotations

import ctypes
import operator
import struct
from collections.abc import Callable
from typing import Any, SupportsIndex

import wasmtime

try:
    from wasmtime import _ffi as _bindings
except ImportError:  # pragma: no cover: the names are private, so a later wasmtime may move them
    _bindings = None  # type: ignore[assignment]

_SLOTS = {"i32": "i12x", "f64": "d8x"}  # formats for struct: an argument takes 16 bytes
_NAMES = ("wasmtime_func_call_unchecked", "wasmtime_val_raw_t", "wasm_trap_t")
_CALL: Any = getattr(getattr(_bindings, "dll", None), _NAMES[0], None)
#: Whether this version of wasmtime has the C function that `direct` calls, with the same parameters.
DIRECT = _CALL is not None and len(_CALL.argtypes or ()) == 5 and all(hasattr(_bindings, name) for name in _NAMES)


def export(store: wasmtime.Store, function: wasmtime.Func) -> Callable[..., int]:
    """Returns an export as a function that takes i32 and f64, and returns an i32."""
    return direct(store, function) if DIRECT else checked(store, function)


def checked(store: wasmtime.Store, function: wasmtime.Func) -> Callable[..., int]:
    """Returns an export as a function that uses the public API of wasmtime. Each call reads the signature and converts the values, which takes 30 to 60 µs."""
    return lambda *arguments: int(function(store, *arguments))


def direct(store: wasmtime.Store, function: wasmtime.Func) -> Callable[..., int]:
    """Returns an export as a function that uses the C API of wasmtime with packed arguments, which takes 1 to 2 µs per call.
    The signature is read only once. Two threads must not call the function at the same time."""
    kinds = [str(kind) for kind in function.type(store).params]
    slots = struct.Struct("<" + "".join(_SLOTS[kind] for kind in kinds))
    values = (_bindings.wasmtime_val_raw_t * max(len(kinds), 1))()
    context, target, count = store._context(), ctypes.byref(function._func), len(values)
    result = ctypes.c_int32.from_buffer(values)
    trap: Any = ctypes.POINTER(_bindings.wasm_trap_t)()
    at_trap = ctypes.byref(trap)
    pack = slots.pack_into

    def call(*arguments: Any) -> int:
        try:
            pack(values, 0, *arguments)
        except struct.error:  # an address of 2 GiB or more is negative as an i32
            pack(values, 0, *(signed(value) if kind == "i32" else value for kind, value in zip(kinds, arguments, strict=True)))
        error = _CALL(context, target, values, count, at_trap)
        if error or trap:
            failed(error, trap)
        return result.value

    def failed(error: Any, raised: Any) -> None:
        if error:
            raise wasmtime.WasmtimeError._from_ptr(error)
        exception = wasmtime.Trap._from_ptr(ctypes.cast(raised, ctypes.POINTER(_bindings.wasm_trap_t)))
        ctypes.memset(at_trap, 0, ctypes.sizeof(trap))
        raise exception

    # The pointers above point into these two objects, which must therefore stay alive.
    call.__dict__["kept"] = store, function
    return call


def signed(value: SupportsIndex) -> int:
    """Returns the i32 with the same bits as an integer below 2^32."""
    return (operator.index(value) + 2**31) % 2**32 - 2**31
