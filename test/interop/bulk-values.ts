/** Defines the values of bulk.test.ts. They follow from the number of the item, both here and in bulk.py. */
import { bool, f32, f64, i32, i64, text, u8, u16 } from "../../src/schema/constructors.ts";

/** The dtype, shape and values of a column. */
export interface Wanted {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: ArrayLike<unknown>;
}

export const SPECS = {
  steps: { act: i32(), done: bool(), id: i64(), reward: f64(), vec: f32(17) },
  windows: { act: u16(), obs: f32(6), value: f64() },
  images: { img: u8(84, 84), name: text({ maxBytes: 200 }) },
};

export function step(i: number) {
  const vec = Float32Array.from({ length: 17 }, (_, k) => ((i * 31 + k * 17) % 1009) / 8);
  if (i % 97 === 0) vec.set([Number.NaN, -0, Number.NEGATIVE_INFINITY]);
  return { act: Math.imul(i, 2654435761), done: i % 50 === 49, id: BigInt(i) - (BigInt(i) << 40n), reward: i / 3, vec };
}

export function windowStep(s: number) {
  return { act: (s * 7) % 65536, obs: Float32Array.from({ length: 6 }, (_, k) => ((s * 13 + k) % 2048) / 4), value: s / 7 };
}

/** Yields the first step of each episode, and the step after its last step. */
export function* episodes(): Generator<readonly [first: number, end: number]> {
  for (let e = 0, first = 0; ; e++) {
    const end = first + 20 + 7 * (e % 5);
    yield [first, end];
    first = end;
  }
}

/** Yields the last step of each window of five. */
function* windowEnds(): Generator<number> {
  for (const [first, end] of episodes()) for (let s = first + 4; s < end; s++) yield s;
}

export function imageStep(i: number) {
  const img = new Uint8Array(84 * 84);
  for (let p = 0; p < img.length; p++) img[p] = p * 7 + (p >> 5) * i;
  return { img, name: `frame ${i} ${"é".repeat(i % 20)}` };
}

type Integers = readonly [letter: string, dtype: string, bits: number, array: (values: bigint[]) => ArrayLike<unknown>];
const INTEGERS: readonly Integers[] = [
  ["b", "i8", 8, (values) => Int8Array.from(values, Number)],
  ["c", "u8", 8, (values) => Uint8Array.from(values, Number)],
  ["d", "i16", 16, (values) => Int16Array.from(values, Number)],
  ["e", "u16", 16, (values) => Uint16Array.from(values, Number)],
  ["f", "i32", 32, (values) => Int32Array.from(values, Number)],
  ["g", "u32", 32, (values) => Uint32Array.from(values, Number)],
  ["h", "i64", 64, (values) => BigInt64Array.from(values)],
  ["i", "u64", 64, (values) => BigUint64Array.from(values)],
];

/** Returns a step with every dtype: half precision as f16 in a Float32Array, complex numbers as pairs. */
function allTypes(s: number): readonly Wanted[] {
  const integers = INTEGERS.map(([, dtype, bits, array]): Wanted => {
    const top = 1n << BigInt(bits);
    return { dtype, shape: [3], data: array([0, 1, 2].map((k) => (BigInt(s * 37 + k * 101) * (top / 251n + 1n)) % top)) };
  });
  return [
    { dtype: "i32", shape: [], data: Int32Array.of(s * 5 - 1000) },
    ...integers,
    { dtype: "f16", shape: [2], data: Float32Array.of((s % 2048) / 8, ((s + 1) % 2048) / 8) },
    { dtype: "f32", shape: [], data: Float32Array.of(s % 11 === 0 ? Number.NaN : s / 8) },
    { dtype: "f64", shape: [2], data: Float64Array.of(s / 3, -0) },
    { dtype: "f32", shape: [2], data: Float32Array.of(s / 2, 1 - s) },
    { dtype: "f64", shape: [2, 2], data: Float64Array.of(s / 3, 1, 0.25, 1 - s) },
    { dtype: "bool", shape: [2], data: Uint8Array.of(Number(s % 2 === 0), Number(s % 3 === 0)) },
    { dtype: "string", shape: [3], data: [`é${s}`, "", "x".repeat(s % 300)] },
    { dtype: "f32", shape: [0, 3], data: new Float32Array(0) },
  ];
}

/** Joins steps of a column into a column with a time dimension. */
function timed(steps: readonly Wanted[]): Wanted {
  const [{ dtype, shape, data }] = steps as readonly [Wanted];
  const all = steps.flatMap((one) => Array.from(one.data));
  const made = Array.isArray(data) ? all : (data.constructor as unknown as { from(values: unknown[]): ArrayLike<unknown> }).from(all);
  return { dtype, shape: [steps.length, ...shape], data: made };
}

/** The priority and the columns of each item that Python wrote. */
export const PYTHONS: { readonly [shape: string]: () => Generator<readonly [priority: number, columns: readonly Wanted[]]> } = {
  *windows() {
    for (const s of windowEnds()) {
      const steps = [4, 3, 2, 1, 0].map((back) => windowStep(s - back));
      const obs = steps.map(({ obs }): Wanted => ({ dtype: "f32", shape: [6], data: obs }));
      yield [
        s,
        [
          { dtype: "u16", shape: [5], data: Uint16Array.from(steps, ({ act }) => act) },
          obs[4] as Wanted,
          timed(obs),
          { dtype: "f64", shape: [2], data: Float64Array.from(steps.slice(3), ({ value }) => value) },
        ],
      ];
    }
  },
  *types() {
    for (let s = 0; ; s++) yield [s, allTypes(s).map((column, c) => ("ahq".includes("abcdefghijklmnopq"[c] as string) ? timed([column]) : column))];
  },
  *legacy() {
    for (let s = 2; ; s++) {
      const steps = [s - 2, s - 1, s].map(allTypes);
      yield [s, (steps[0] as readonly Wanted[]).map((_, c) => timed(steps.map((columns) => columns[c] as Wanted)))];
    }
  },
};

/** Returns the difference between a column and the expected column, or undefined if they are equal. Numbers are compared byte by byte. */
export function differenceOf({ dtype, shape, data }: Wanted, got: Wanted | undefined): string | undefined {
  if (got === undefined) return "it is not there";
  if (dtype !== got.dtype || shape.length !== got.shape.length || shape.some((n, i) => n !== got.shape[i]))
    return `${dtype} [${shape}] became ${got.dtype} [${got.shape}]`;
  if (Array.isArray(data)) return data.length === got.data.length && data.every((one, i) => one === got.data[i]) ? undefined : `${data} became ${got.data}`;
  return Buffer.compare(bytesOf(data), bytesOf(got.data)) === 0 ? undefined : `${data} became ${got.data}`;
}

function bytesOf(data: ArrayLike<unknown>): Uint8Array {
  const { buffer, byteOffset, byteLength } = data as unknown as Uint8Array;
  return new Uint8Array(buffer, byteOffset, byteLength);
}
