/** Tests encoding values as bytes, and decoding them. */

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeTagged, encodeTagged } from "../../../src/storage/index.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled } from "../../support/size.ts";

const ARRAYS = [
  [Uint8Array, fc.uint8Array()],
  [Int8Array, fc.int8Array()],
  [Uint8ClampedArray, fc.uint8ClampedArray()],
  [Uint16Array, fc.uint16Array()],
  [Int16Array, fc.int16Array()],
  [Uint32Array, fc.uint32Array()],
  [Int32Array, fc.int32Array()],
  [Float32Array, fc.float32Array()],
  [Float64Array, fc.float64Array()],
  [BigUint64Array, fc.bigUint64Array()],
  [BigInt64Array, fc.bigInt64Array()],
] as const;

const arrays: fc.Arbitrary<unknown> = fc.oneof(...ARRAYS.map(([, arbitrary]) => arbitrary as fc.Arbitrary<unknown>));

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom(null, undefined, true, false),
    fc.double(),
    fc.integer(),
    fc.bigInt(),
    // The text may contain any code units, including lone surrogates.
    fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
    fc.string({ unit: anyCharacter }),
    fc.date({ noInvalidDate: false }),
    arrays,
    fc.uint8Array().map((bytes) => bytes.slice().buffer),
    fc.array(tie("value")),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "toString")), tie("value"), { noNullPrototype: true }),
    fc.array(fc.tuple(tie("value"), tie("value"))).map((entries) => new Map(entries)),
    fc.array(tie("value")).map((members) => new Set(members)),
  ),
}));

describe("tagged values", () => {
  it("decode to equal values", () => {
    fc.assert(
      fc.property(value, (one) => {
        expect(isDeepStrictEqual(decodeTagged(encodeTagged(one, "it")), one)).toBe(true);
      }),
      { seed: 6, numRuns: scaled(500, 100) },
    );
  });

  it("keep special numbers, and encode only the visible part of a view", () => {
    for (const number of [-0, Number.NaN, Number.POSITIVE_INFINITY, 5e-324, Number.MAX_VALUE]) expect(decodeTagged(encodeTagged(number, "it"))).toBe(number);
    expect(decodeTagged(encodeTagged(Float32Array.of(1, 2, 3, 4).subarray(1, 3), "it"))).toStrictEqual(Float32Array.of(2, 3));
    expect(decodeTagged(encodeTagged(Buffer.from("text"), "it"))).toStrictEqual(new Uint8Array(Buffer.from("text")));
    expect(decodeTagged(encodeTagged(new Array(1), "it"))).toStrictEqual([undefined]);
    expect(decodeTagged(encodeTagged(Object.assign(Object.create(null), { a: 1 }), "it"))).toStrictEqual({ a: 1 });
    const shared = { a: 1 };
    expect(decodeTagged(encodeTagged([shared, shared], "it"))).toStrictEqual([{ a: 1 }, { a: 1 }]);
  });

  it("do not change prototypes", () => {
    const made = decodeTagged(encodeTagged(JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}'), "it")) as object;
    expect(Object.keys(made)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
    expect(({} as { polluted?: number }).polluted).toBe(undefined);
  });

  it("reject an unsupported value with its path", () => {
    const circle: { a: { b?: object } } = { a: {} };
    circle.a.b = circle;
    let deep: unknown = 1;
    for (let i = 0; i < 129; i++) deep = [deep];
    class Point {}
    const wrong: [unknown, RegExp][] = [
      [{ a: [0, () => 1] }, /^state\.a\[1\] must be .*got a function/],
      [Symbol.iterator, /^state must be/],
      [{ "not a name": new Map([[1, new Point()]]) }, /^state\["not a name"\]\["value 0"\] must be .*Point/],
      [new Set([new WeakMap()]), /^state\["member 0"\] must be .*WeakMap/],
      [new Map([[Promise.resolve(), 1]]), /^state\["key 0"\] must be/],
      [{ a: new DataView(new ArrayBuffer(8)) }, /^state\.a must be/],
      [{ [Symbol("s")]: 1 }, /^state must be/],
      [circle, /^state\.a\.b is cyclic/],
      [deep, /nested more than 128 levels deep/],
    ];
    for (const [one, says] of wrong)
      expectError(
        errorOf(() => encodeTagged(one, "state")),
        TypeError,
        says,
      );
    expect(decodeTagged(encodeTagged((deep as unknown[])[0], "state"))).toStrictEqual((deep as unknown[])[0]);
  });
});

describe("invalid bytes", () => {
  const corrupt = (bytes: Uint8Array) =>
    expectError(
      errorOf(() => decodeTagged(bytes)),
      "CORRUPT",
      /byte \d+/,
    );

  it("are rejected if they are cut, too long, or have a bad tag or length", () => {
    fc.assert(
      fc.property(value, (one) => {
        const bytes = encodeTagged(one, "it");
        for (const length of [0, bytes.length >> 1, bytes.length - 1]) corrupt(bytes.subarray(0, length));
        corrupt(Uint8Array.of(...bytes, 0));
      }),
      { seed: 7, numRuns: 100 },
    );
    for (const bytes of [
      [99],
      [9, 255, 255, 255, 255],
      [11, 1, 0, 0, 0, 1],
      [6, 1, 0, 0, 0, 0xff],
      [5, 1, 0, 0, 0, 0x7a],
      [7, 1, 0, 0, 0, 65],
      [33 + 1, 9, 0, 0, 0],
    ]) {
      corrupt(Uint8Array.from(bytes));
    }
    corrupt(Uint8Array.from([35, 3, 0, 0, 0, 1, 2, 3]));
    corrupt(Uint8Array.from([10, 1, 0, 0, 0, 4, 0, 0, 0, 0, 1]));
    const deep = new Uint8Array(5 * 100_000);
    for (let at = 0; at < deep.length; at += 5) deep.set([9, 1, 0, 0, 0], at);
    corrupt(deep);
  });

  it("with any bit flipped decode to a value or throw CORRUPT", () => {
    fc.assert(
      fc.property(value, fc.nat(), fc.nat(7), (one, at, bit) => {
        const bytes = encodeTagged(one, "it");
        const place = at % bytes.length;
        bytes[place] = (bytes[place] as number) ^ (1 << bit);
        try {
          decodeTagged(bytes);
        } catch (error) {
          expect((error as { code?: string }).code).toBe("CORRUPT");
        }
      }),
      { seed: 8, numRuns: scaled(1000, 200) },
    );
  });
});
