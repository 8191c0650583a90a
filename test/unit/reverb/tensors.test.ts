/** Tests the contents of tensors: all dtypes, delta encoding, texts and slices. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Chunks } from "../../../src/reverb/tensors/columns.ts";
import { slicesOf } from "../../../src/reverb/tensors/runs.ts";
import { readTensor, writeTensor } from "../../../src/reverb/tensors/tensors.ts";
import type { SliceMessage } from "../../../src/reverb/wire/item.ts";
import type { ChunkMessage, TensorMessage } from "../../../src/reverb/wire/tensor.ts";
import { type AnyArray, DTYPES, type Dtype } from "../../../src/schema/dtype.ts";
import { isHalf, widenHalves } from "../../../src/schema/half.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { scaled } from "../../support/size.ts";

const runs = { numRuns: scaled(500, 8) };
const hex = (content: Uint8Array) => Buffer.from(content).toString("hex");
const dtypes = Object.keys(DTYPES) as Dtype[];

function arrayOf(dtype: Dtype, bytes: Uint8Array): AnyArray {
  const { array, bytes: width } = DTYPES[dtype];
  if (isHalf(dtype)) return widenHalves(dtype, new Uint16Array(bytes.slice(0, bytes.length & ~1).buffer));
  return new array(bytes.slice(0, bytes.length - (bytes.length % width)).buffer);
}

function chunk(key: bigint, tensors: readonly TensorMessage[], deltaEncoded = false): ChunkMessage {
  return { key, episodeId: 1n, start: 0, end: (tensors[0]?.shape[0] as number) - 1, sparse: false, deltaEncoded, tensors, uncompressedSize: 0 };
}

const slice = (chunkKey: bigint, offset: number, length: number, index = 0): SliceMessage => ({ chunkKey, offset, length, index });

describe("worked examples", () => {
  it.each([
    ["i8", [3, 2], Int8Array.of(-128, 127, 127, 0, 1, -128), true, "0614807fff818280"],
    ["u8", [3, 2], Uint8Array.of(0, 255, 255, 0, 1, 0), true, "061400ffff010200"],
    ["f16", [3], Float32Array.of(1, -2, 65504), false, "0614003c00c0ff7b"],
    ["bf16", [3], Float32Array.of(1, -2, 3), false, "0614803f00c04040"],
    ["f32", [1, 3], Float32Array.of(1, 2, 3), false, "0c2c0000803f0000004000004040"],
    ["i64", [1], BigInt64Array.of(7n), false, "081c0700000000000000"],
    ["string", [1, 2], ["abababab", "z"], false, "080161626162616261627a"],
  ] as const)("%s %j", (dtype, shape, data, delta, content) => {
    expect(hex(writeTensor(dtype, shape, data, delta).content)).toBe(content);
  });

  it("one number per step is never delta-encoded", () => {
    const plain = writeTensor("i32", [3], Int32Array.of(100, 50, 25), false);
    expect(writeTensor("i32", [3], Int32Array.of(100, 50, 25), true)).toEqual(plain);
  });
});

describe("readTensor restores tensors from writeTensor", () => {
  it.each(dtypes)("%s, plain and delta-encoded", (dtype) => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 800 }), fc.integer({ min: 1, max: 5 }), fc.boolean(), (bytes, steps, delta) => {
        const all = arrayOf(dtype, bytes);
        const each = Math.floor(all.length / steps);
        const data = all.slice(0, steps * each);
        const { dtype: found, shape, data: again } = readTensor(writeTensor(dtype, [steps, each], data, delta), delta);
        expect(found).toBe(dtype);
        expect(shape).toEqual([steps, each]);
        expect(hex(new Uint8Array((again as AnyArray).buffer))).toBe(hex(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)));
      }),
      runs,
    );
  });

  it("texts that begin with a byte order mark", () => {
    expect(readTensor(writeTensor("string", [2], ["\ufeffa", "\ufeff"]), false).data).toEqual(["\ufeffa", "\ufeff"]);
  });

  it("texts", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: anyCharacter, maxLength: 300 })), (texts) => {
        expect(readTensor(writeTensor("string", [texts.length], texts), false).data).toEqual(texts);
      }),
      runs,
    );
  });

  it("a part of an array, and delta encoding does not change the array", () => {
    const whole = Int16Array.of(9, 1, 2, 3, 5, 9);
    const message = writeTensor("i16", [2, 2], whole.subarray(1, 5), true);
    expect([...whole]).toEqual([9, 1, 2, 3, 5, 9]);
    expect(readTensor(message, true).data).toEqual(Int16Array.of(1, 2, 3, 5));
  });
});

describe("malformed tensors", () => {
  const good = writeTensor("f32", [2, 2], Float32Array.of(1, 2, 3, 4));
  it.each([
    ["a shape of another size", { ...good, shape: [2, 3] }, "CORRUPT", "it should have 24 bytes"],
    ["a negative size", { ...good, shape: [-1, 2] }, "CORRUPT", "shape [-1, 2]"],
    ["a size beyond all memory", { ...good, shape: [2 ** 30, 2 ** 30] }, "CORRUPT", "impossible shape"],
    ["text of no length", { dtype: 7, shape: [3], content: Uint8Array.of(1, 1, 128) }, "CORRUPT", "the length of a string cannot be read"],
    ["text that ends early", { dtype: 7, shape: [1], content: Uint8Array.of(5, 65) }, "CORRUPT", "a string of 5 bytes should follow, but only 1 bytes remain"],
    ["text with a rest", { dtype: 7, shape: [1], content: Uint8Array.of(1, 65, 66) }, "CORRUPT", "1 bytes follow the last string"],
    ["more texts than bytes", { dtype: 7, shape: [2 ** 39], content: Uint8Array.of(1) }, "CORRUPT", "strings do not fit in 1 bytes"],
    ["a resource", { ...good, dtype: 20 }, "UNSUPPORTED", "data type 20"],
  ])("%s", (_, message, code, why) => {
    expect(() => readTensor(message, false)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(why) }));
  });
});

describe("columns", () => {
  const numbers = (from: number, steps: number) =>
    writeTensor(
      "i32",
      [steps, 2],
      Int32Array.from({ length: 2 * steps }, (_, i) => 2 * from + i),
    );
  const chunks = new Chunks([chunk(2n ** 64n - 1n, [numbers(0, 3), writeTensor("string", [3], ["a", "b", "c"])]), chunk(7n, [numbers(3, 2)])]);
  const column = (slices: readonly SliceMessage[], squeeze = false) => chunks.column({ slices, squeeze });

  it("join slices of numbers or text, and squeeze single steps", () => {
    expect(column([slice(2n ** 64n - 1n, 1, 2)]).column.toArray()).toEqual([[2, 3], [4, 5]]); // biome-ignore format: one line
    const joined = column([slice(2n ** 64n - 1n, 2, 1), slice(7n, 0, 2), slice(2n ** 64n - 1n, 0, 1)]);
    expect(joined.column.toArray()).toEqual([[4, 5], [6, 7], [8, 9], [0, 1]]); // biome-ignore format: one line
    expect(column([slice(7n, 1, 1)], true)).toMatchObject({ dtype: "i32", column: { shape: [2], data: Int32Array.of(8, 9) }, isSqueezed: true });
    expect(column([slice(2n ** 64n - 1n, 1, 1, 1)], true)).toMatchObject({ dtype: "string", column: { shape: [], data: ["b"] } });
    expect(column([slice(2n ** 64n - 1n, 0, 1, 1), slice(2n ** 64n - 1n, 2, 1, 1)]).column.data).toEqual(["a", "c"]);
  });

  it("read each of many chunks only a few times, in any order", () => {
    const count = 2000;
    let looks = 0;
    const many = Array.from({ length: count }, (_, i): ChunkMessage => {
      const { key: own, ...rest } = chunk(BigInt(i), [numbers(i, 1)]);
      return {
        ...rest,
        get key() {
          looks++;
          return own;
        },
      };
    });
    const slices = many.map((_, i) => slice(BigInt((i * 7) % count), 0, 1));
    const found = new Chunks(many).column({ slices, squeeze: false }).column.data;
    expect([found.length, found[2], found[2 * count - 2]]).toEqual([2 * count, 14, 2 * ((count - 1) * 7 % count)]); // biome-ignore format: one line
    expect(looks).toBeLessThan(5 * count);
  });

  it("throw OUT_OF_MEMORY if repeated steps exceed the limit", () => {
    const zeros = writeTensor("f32", [1, 1000], new Float32Array(1000));
    const words = writeTensor("string", [500], new Array<string>(500).fill(""));
    const of = (maxBytes: number) => new Chunks([chunk(1n, [zeros, words]), chunk(2n, [zeros])], maxBytes);
    const again = (times: number, key = 1n) => ({ slices: Array.from({ length: times }, () => slice(key, 0, 1)), squeeze: false });
    expect(of(20_000).column(again(5)).column.data.length).toBe(5000);
    const memory = expect.objectContaining({ code: "OUT_OF_MEMORY", message: expect.stringContaining("unpack to") });
    expect(() => of(20_000).column(again(6))).toThrow(memory);
    // The limit applies to all columns and all chunks together.
    const limited = of(20_000);
    limited.column(again(3));
    expect(() => limited.column(again(3))).toThrow(memory);
    const chunks = of(7999);
    chunks.column(again(1));
    expect(() => chunks.column(again(1, 2n))).toThrow(memory);
    // Texts are always copied, even from a single slice.
    const texts = of(10_000);
    texts.column({ slices: [slice(1n, 0, 500, 1)], squeeze: false });
    texts.column({ slices: [slice(1n, 0, 500, 1)], squeeze: false });
    expect(() => texts.column({ slices: [slice(1n, 0, 500, 1)], squeeze: false })).toThrow(memory);
  });

  it.each([
    ["no slices", [], false, "has no slices"],
    ["an unknown chunk", [slice(8n, 0, 1)], false, "chunk 8 is missing"],
    ["an unknown tensor", [slice(7n, 0, 1, 3)], false, "chunk 7 has no tensor 3"],
    ["steps beyond the chunk", [slice(7n, 1, 2)], false, "steps 1 to 3"],
    ["steps before the chunk", [slice(7n, -1, 2)], false, "steps -1 to 1"],
    ["no steps", [slice(7n, 0, 0)], false, "steps 0 to 0"],
    ["two squeezed steps", [slice(7n, 0, 2)], true, "a column of 2 steps cannot be squeezed"],
    ["two squeezed slices", [slice(7n, 0, 1), slice(7n, 1, 1)], true, "a column of 2 slices cannot be squeezed"],
    ["numbers and texts", [slice(7n, 0, 1), slice(2n ** 64n - 1n, 1, 1, 1)], false, "steps of i32 [2] and steps of string []"],
  ])("with %s throw CORRUPT", (_, slices, squeeze, why) => {
    expect(() => column(slices, squeeze)).toThrow(expect.objectContaining({ code: "CORRUPT", message: expect.stringContaining(why) }));
  });
});

it("slicesOf joins consecutive steps into one slice, without adding or losing steps", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ chunk: fc.nat(2), offset: fc.nat(5), index: fc.nat(1) }), { minLength: 1 }), (steps) => {
      const places = steps.map((at) => ({ chunkKey: BigInt(at.chunk), offset: at.offset, index: at.index }));
      const slices = slicesOf(places);
      const again = slices.flatMap((at) => Array.from({ length: at.length }, (_, i) => ({ chunkKey: at.chunkKey, offset: at.offset + i, index: at.index })));
      expect(again).toEqual(places);
      const joinable = slices.findIndex((at, i) => {
        const next = slices[i + 1];
        return next?.chunkKey === at.chunkKey && next.index === at.index && next.offset === at.offset + at.length;
      });
      expect(joinable).toBe(-1);
    }),
    runs,
  );
  const strided = [0, 2, 4, 6].map((offset) => ({ chunkKey: 1n, offset, index: 0 }));
  expect(slicesOf(strided).map(({ offset, length }) => [offset, length])).toEqual([[0, 1], [2, 1], [4, 1], [6, 1]]); // biome-ignore format: one line
});
