import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Core } from "../../../src/memory/core.ts";
import { DTYPES, type Dtype, dtypeOf, isArrayOf } from "../../../src/schema/dtype.ts";
import { ARRAYS } from "../../../src/storage/tags.ts";

const dtypes = Object.entries(DTYPES) as [Dtype, (typeof DTYPES)[Dtype]][];

describe("the table of dtypes", () => {
  it("has the same codes as the core", () => {
    const source = readFileSync("assembly/rows/leaf.ts", "utf8");
    const named = [...source.matchAll(/^(?:export )?const (BOOL|[IUF]\d+|BF16): u32 = (\d+);$/gm)].map(([, name, code]) => [name?.toLowerCase(), Number(code)]);
    expect(named).toEqual(dtypes.map(([dtype, { code }]) => [dtype, code]));
  });

  it("has the same array types as the core's views", () => {
    const core = new Core(2 ** 20);
    for (const [dtype, { array }] of dtypes) expect(core[dtype as "f64"], dtype).toBeInstanceOf(array);
  });

  it("has array types that files can name", () => {
    for (const [dtype, { array }] of dtypes) expect(ARRAYS, dtype).toContain(array);
    for (const array of ARRAYS) expect(dtypeOf(new array(1)), array.name).toBeDefined();
  });

  it("has the exact bounds of its array types", () => {
    for (const [dtype, { array, min, max, big, float }] of dtypes) {
      if (float) {
        expect([min, max], dtype).toEqual([-Infinity, Infinity]);
        continue;
      }
      const one = new array(1) as Int32Array;
      const held = (value: number | bigint) => {
        one[0] = value as number;
        return one[0] as number | bigint;
      };
      expect([held(min), held(max)], dtype).toEqual([min, max]);
      const beyond = big ? [(min as bigint) - 1n, (max as bigint) + 1n] : [(min as number) - 1, (max as number) + 1];
      if (dtype !== "bool") expect([held(beyond[0] as number), held(beyond[1] as number)], dtype).toEqual([max, min]);
    }
  });

  it("assigns a dtype to typed arrays, including clamped pixels, and undefined to other values", () => {
    expect([new Uint8Array(1), new Uint8ClampedArray(1), new BigInt64Array(1), new Float32Array(1)].map(dtypeOf)).toEqual(["u8", "u8", "i64", "f32"]);
    expect([[1], 1, 1n, "u8", null, undefined, {}, new DataView(new ArrayBuffer(1)), new Map()].map(dtypeOf)).toEqual(Array(9).fill(undefined));
    expect(isArrayOf("bool", new Uint8Array(1))).toBe(true);
    expect(isArrayOf("i8", new Uint8Array(1))).toBe(false);
  });
});
