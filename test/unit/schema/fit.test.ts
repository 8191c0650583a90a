import { describe, expect, it } from "vitest";
import { type PutOptions, put, targetOf } from "../../../src/schema/copy-values.ts";
import type { NumberArray } from "../../../src/schema/dtype.ts";

const into = (dtype: Parameters<typeof targetOf>[0], shape: readonly number[], value: unknown, taking?: PutOptions) => {
  const target = targetOf(dtype, shape);
  const made = new Float64Array(target.size + 2).fill(9) as NumberArray;
  const misfit = put(target, made, 1, value, taking);
  // Neighbouring values are not changed.
  expect([made[0], made.at(-1)]).toEqual([9, 9]);
  const checked = put(target, undefined, 1, value, taking);
  expect(checked).toEqual(misfit);
  return misfit === undefined ? Array.from(made.slice(1, -1)) : `${misfit.code}: ${misfit.rule}`;
};

describe("values that are put into arrays", () => {
  it("may be nested, flat, or typed arrays at any depth", () => {
    const nested = [
      [1, 2],
      [3, 4],
    ];
    for (const value of [nested, [1, 2, 3, 4], Float32Array.of(1, 2, 3, 4), [Float32Array.of(1, 2), [3, 4]], [Float64Array.of(1, 2), [3, 4]]])
      expect(into("f32", [2, 2], value)).toEqual([1, 2, 3, 4]);
    expect(into("u8", [2], Uint8ClampedArray.of(1, 2))).toEqual([1, 2]);
    for (const value of [5, [1, 2, 3], [[1, 2], [3]], [1, [2, 3]], Float64Array.of(1, 2, 3, 4), new DataView(new ArrayBuffer(4)), null, undefined, {}, "1234"])
      expect(into("f32", [2, 2], value)).toMatch(/^SPEC_MISMATCH: f32/);
  });

  it("are single numbers, or typed arrays of one element, for a scalar", () => {
    expect(into("i32", [], 5)).toEqual([5]);
    expect(into("i32", [], Int32Array.of(5))).toEqual([5]);
    expect(into("i32", [], [5])).toBe("SPEC_MISMATCH: i32, an integer in -2147483648 … 2147483647");
    expect(into("f32", [], "5")).toBe("SPEC_MISMATCH: f32, a number");
    expect(into("i64", [], 1.5)).toBe("SPEC_MISMATCH: i64, a bigint or a safe integer");
  });

  it("are rejected if the dtype cannot hold them", () => {
    expect(into("u8", [2], [1, 256])).toBe("INVALID_DATA: u8, an integer in 0 … 255");
    expect(into("i16", [], 0.5)).toBe("INVALID_DATA: i16, an integer in -32768 … 32767");
    expect(into("u32", [], Number.NaN)).toBe("INVALID_DATA: u32, an integer in 0 … 4294967295");
    expect(into("bool", [], 2)).toBe("INVALID_DATA: bool, an integer in 0 … 1");
    expect(into("bool", [2], Uint8Array.of(1, 2), {})).toBe("INVALID_DATA: bool, an integer in 0 … 1");
  });

  it("may be other numbers or columns if the options allow them", () => {
    const any: PutOptions = { anyNumbers: true };
    expect(into("f32", [2], Int8Array.of(1, 2))).toBe("SPEC_MISMATCH: f32 of shape [2]");
    expect(into("f32", [2], Int8Array.of(1, 2), any)).toEqual([1, 2]);
    expect(into("u8", [2], BigInt64Array.of(1n, 2n), any)).toEqual([1, 2]);
    expect(into("u8", [1], BigInt64Array.of(256n), any)).toBe("INVALID_DATA: u8, an integer in 0 … 255");
    expect(into("i32", [2], [true, 2n], any)).toEqual([1, 2]);
    const column = { data: [1, 2], shape: [2] };
    expect(into("f32", [2], column)).toBe("SPEC_MISMATCH: f32 of shape [2]");
    expect(into("f32", [2], column, { columns: true })).toEqual([1, 2]);
    expect(into("f32", [2, 1], column, { columns: true })).toBe("SPEC_MISMATCH: f32 of shape [2, 1]");
  });
});
