/** Tests deriving specs from steps, and checking steps against specs. */
import { expect, test } from "vitest";
import { stepChecker } from "../../../../src/datasets/model/step-spec.ts";
import { checkStep, RldsError, type StepSpec, stepSpecOf } from "../../../../src/datasets/rlds/index.ts";
import { bool, f32, f64, flatten, i8, i32, i64, type Leaf, Replay, u8, u64 } from "../../../../src/index.ts";
import { errorOf, expectError, isRefused } from "../../../support/refused.ts";

const text = { dtype: "string", shape: [] } as const;

test("stepSpecOf infers dtypes of typed arrays, nested shapes and text", () => {
  const step = {
    observation: {
      image: new Uint8Array(12),
      pixels: new Uint8ClampedArray(3),
      state: [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      depth: { data: new Float64Array(6), shape: [2, 3] },
    },
    action: 3,
    reward: 0.5,
    discount: new Float32Array([1]),
    is_first: true,
    is_last: false,
    is_terminal: false,
    id: 7n,
    ids: [1n, 2n],
    flags: [true, false],
    goal: "reach",
    words: ["a", "b"],
    rows: [new Int8Array(3), new Int8Array(3)],
    list: [{ a: 1 }, { b: new BigUint64Array(2) }],
    captions: { data: ["a", "b"], shape: [2, 1] },
    buffer: Buffer.from("four"),
  };
  const spec = {
    observation: { image: u8(12), pixels: u8(3), state: f32(3, 2), depth: f64(2, 3) },
    action: f32(),
    reward: f32(),
    discount: f32(1),
    is_first: bool(),
    is_last: bool(),
    is_terminal: bool(),
    id: i64(),
    ids: i64(2),
    flags: bool(2),
    goal: text,
    words: { dtype: "string", shape: [2] },
    rows: i8(2, 3),
    list: [{ a: f32() }, { b: u64(2) }],
    captions: { dtype: "string", shape: [2, 1] },
    buffer: u8(4),
  };
  expect(stepSpecOf(step)).toEqual(spec);
  expect(() => checkStep(stepSpecOf(step), step)).not.toThrow();
});

test.each<[string, unknown, string]>([
  ["ragged", { a: { b: [[1, 2], [3]] } }, "a/b/1"],
  ["mixed", { a: [1, "two"] }, "a/1"],
  ["mixed typed arrays", { a: [new Uint8Array(2), new Int8Array(2)] }, "a/1"],
  ["empty", { a: [] }, "a"],
  ["empty typed array", { a: new Float32Array(0) }, "a"],
  ["null", { a: { b: null } }, "a/b"],
  ["undefined", { a: undefined }, "a"],
  ["a function", { a: () => 1 }, "a"],
  ["a DataView", { a: new DataView(new ArrayBuffer(8)) }, "a"],
  ["null in an array", { a: [null] }, "a/0"],
  ["a hole in a list of objects", { a: [{ b: 1 }, null] }, "a/1"],
])("stepSpecOf throws SPEC_MISMATCH with path and place: %s", (_, step, path) => {
  const error = errorOf(() => stepSpecOf(step, { episode: 2, step: 5 }));
  expectError(error, "SPEC_MISMATCH", new RegExp(`^${path} (must be|is required).*episode 2, step 5`));
  expect(error).toBeInstanceOf(RldsError);
});

test("a cyclic value throws SPEC_MISMATCH instead of a stack overflow", () => {
  const circle: { self?: object } = {};
  circle.self = circle;
  expectError(
    errorOf(() => stepSpecOf(circle)),
    "SPEC_MISMATCH",
    /^self is cyclic: it contains itself$/,
  );
});

const LEAVES: readonly Leaf[] = [f32(), f32(3), f64(2, 2), u8(), u8(4), i8(2), i32(), bool(), bool(2), i64(), u64(2)];
const VALUES: readonly unknown[] = [
  ...[0, 1, -1, 0.5, 255, 256, 2 ** 31, Number.NaN, true, 1n, -1n, 2n ** 64n, "1", null, undefined, {}, []],
  ...[
    [0, 1],
    [0, 1, 2],
    [
      [0, 1],
      [2, 3],
    ],
    [0, 1, 2, 3],
    [[0], [1]],
    [0.5, 0],
    [true, false],
    [1n, 2n],
    ["a", "b"],
    [[0, 1], [2]],
    [-200, 0],
    [[0, 1, 2, 3]],
  ],
  ...[
    new Float32Array(1),
    new Float32Array(3),
    new Float64Array(4),
    new Uint8Array(2),
    new Uint8Array(4),
    new Int8Array(2),
    new BigInt64Array(1),
    new BigUint64Array(2),
  ],
];

test("stepChecker accepts the same values as the writer of a Replay", () => {
  for (const leaf of LEAVES) {
    const writer = new Replay({ spec: { x: leaf }, tables: { t: { maxSize: 4 } } }).writer();
    for (const value of VALUES) {
      const took = !isRefused(() => writer.append({ x: value } as never));
      const check = stepChecker({ x: leaf })({ x: value });
      expect(check === undefined, `${leaf.dtype}[${leaf.shape}] and ${JSON.stringify(value, (_, v) => (typeof v === "bigint" ? `${v}n` : v))}`).toBe(took);
    }
  }
});

test("checkStep names the leaf, the rule, the value and the place", () => {
  const spec: StepSpec = { observation: { state: f32(4) }, goal: text, words: { dtype: "string", shape: [2] }, raw: { dtype: "bytes", shape: [] } };
  const step = { observation: { state: [1, 2, 3, 4] }, goal: "a", words: ["a", "b"], raw: new Uint8Array(3) };
  expect(() => checkStep(spec, step)).not.toThrow();
  expect(() => checkStep(spec, { ...step, observation: { state: { data: new Float32Array(4), shape: [4] } } })).not.toThrow();
  const refused = (change: object) => errorOf(() => checkStep(spec, { ...step, ...change }, { episode: 1, step: 2 }));
  expectError(
    refused({ observation: { state: new Float32Array(3) } }),
    "SPEC_MISMATCH",
    /^observation\/state must be f32 of shape \[4\], got Float32Array\(3\) \(episode 1, step 2\)$/,
  );
  expectError(refused({ observation: { state: { data: new Float32Array(4), shape: [2, 2] } } }), "SPEC_MISMATCH", /^observation\/state/);
  expectError(refused({ goal: 1 }), "SPEC_MISMATCH", /^goal must be string, well-formed text, got 1/);
  expectError(refused({ words: ["a"] }), "SPEC_MISMATCH", /^words/);
  expectError(refused({ raw: "a" }), "SPEC_MISMATCH", /^raw/);
  expectError(refused({ extra: 1 }), "SPEC_MISMATCH", /^step must be an object without extra \(step\.extra is not in the spec\), got an object/);
  expectError(refused({ observation: {} }), "SPEC_MISMATCH", /^observation must be an object/);
  const { goal: _, ...without } = step;
  expectError(
    errorOf(() => checkStep(spec, { ...without, other: 1 })),
    "SPEC_MISMATCH",
    /^goal is required/,
  );
});

test("flatten and stepSpecOf have the same order of leaves", () => {
  const step = { b: [1, 2], a: { d: 1, c: [3] } };
  expect(flatten(stepSpecOf(step) as never, step)).toEqual([[3], 1, [1, 2]]);
});
