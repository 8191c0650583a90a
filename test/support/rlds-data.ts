/** Creates datasets with every kind of content that a file may have. */
import { expect } from "vitest";
import type { Each, RldsDataset, RldsEpisode, StepSpec } from "../../src/datasets/rlds/index.ts";
import { StepColumns } from "../../src/datasets/rlds/index.ts";

const leaf = (dtype: string, shape: readonly number[] = []) => ({ dtype, shape }) as StepSpec;

/** A spec with every dtype, nesting, text, images and empty shapes. */
export const EVERYTHING: StepSpec = {
  observation: {
    image: leaf("u8", [4, 5, 3]),
    state: leaf("f32", [2]),
    none: leaf("f32", [0]),
    wide: leaf("f64", [2, 2]),
    deep: { a: leaf("i8"), b: leaf("u16", [3]) },
  },
  action: leaf("i64"),
  reward: leaf("f64"),
  discount: leaf("f32"),
  is_first: leaf("bool"),
  is_last: leaf("bool"),
  is_terminal: leaf("bool"),
  text: leaf("string"),
  words: leaf("string", [2]),
  u64: leaf("u64"),
  u32: leaf("u32"),
  i16: leaf("i16"),
  i32: leaf("i32", [2]),
  flags: leaf("bool", [2]),
};

export const METADATA = { id: leaf("i64"), who: leaf("string"), score: leaf("f64"), vector: leaf("f32", [3]), inner: { ok: leaf("bool") } };

export function everythingStep(i: number, length: number) {
  return {
    observation: {
      image: Uint8Array.from({ length: 60 }, (_, k) => (k * 7 + i) % 256),
      state: Float32Array.of(i, -i / 3),
      none: new Float32Array(0),
      wide: [
        [0.1, i],
        [1e300, i % 2 === 0 ? -0 : Number.NaN],
      ],
      deep: { a: -i, b: [1, 2, 65535] },
    },
    action: BigInt(i) - 3n,
    reward: i === 1 ? -0 : 0.1 * i,
    discount: i === 2 ? Number.NEGATIVE_INFINITY : 1,
    is_first: i === 0,
    is_last: i === length - 1,
    is_terminal: false,
    text: `h\u00e9llo \u65e5\u672c \u{1f600} ${i}`,
    words: ["", "\u00df"],
    u64: 2n ** 63n - 1n,
    u32: 4294967295,
    i16: -32768,
    i32: [-2147483648, 2147483647],
    flags: [true, false],
  };
}

/** The expected second step of an episode with at least three steps. */
export const SECOND_STEP = {
  observation: { wide: Float64Array.of(0.1, 1, 1e300, Number.NaN), none: new Float32Array(0), deep: { a: -1, b: Uint16Array.of(1, 2, 65535) } },
  action: -2n,
  reward: -0,
  text: "h\u00e9llo \u65e5\u672c \u{1f600} 1",
  words: ["", "\u00df"],
  u64: 2n ** 63n - 1n,
  u32: 4294967295,
  i16: -32768,
  flags: Uint8Array.of(1, 0),
};

export type Made = RldsDataset<unknown> & RldsEpisode<unknown>[];

/** Returns episodes of these lengths. One of them may be empty. */
export function everything(lengths: readonly number[] = [3, 0, 5, 2]): Made {
  const episodes = lengths.map((length, k) => ({
    steps: Array.from({ length }, (_, i) => everythingStep(i, length)),
    id: BigInt(k) * 2n ** 55n,
    who: `operator \u00e9 ${k}`,
    score: k / 7,
    vector: [k, k / 2, k / 3],
    inner: { ok: k % 2 === 0 },
  }));
  return Object.assign(episodes, { stepSpec: EVERYTHING, metadataSpec: METADATA });
}

/** Returns all episodes as plain values that can be compared. */
export async function all(dataset: Each<RldsEpisode<unknown>>): Promise<{ readonly steps: unknown[]; readonly [name: string]: unknown }[]> {
  const found = [];
  for await (const { steps, ...metadata } of dataset as AsyncIterable<RldsEpisode<unknown>>) {
    const values = [];
    for await (const step of steps as AsyncIterable<unknown>) values.push(step);
    found.push({ ...metadata, steps: values });
  }
  return found;
}

/** Compares two datasets column by column, bit by bit. */
export async function expectSameColumns(found: AsyncIterable<RldsEpisode<unknown>>, expected: Each<RldsEpisode<unknown>>): Promise<number> {
  const others: RldsEpisode<unknown>[] = [];
  for await (const episode of found) others.push(episode);
  let count = 0;
  for await (const episode of expected as AsyncIterable<RldsEpisode<unknown>>) {
    const other = others[count++] as RldsEpisode<unknown>;
    const [a, b] = [other.steps as StepColumns<unknown>, episode.steps as StepColumns<unknown>];
    expect(a).toBeInstanceOf(StepColumns);
    expect({ ...other, steps: a.length }).toStrictEqual({ ...episode, steps: b.length });
    expect(a.spec).toEqual(b.spec);
    a.data.forEach((column, k) => {
      expect(isSame(column, b.data[k]), `column ${k} of episode ${count - 1}`).toBe(true);
    });
  }
  expect(others.length).toBe(count);
  return count;
}

function isSame(a: unknown, b: unknown): boolean {
  if (Array.isArray(a)) return JSON.stringify(a.map(String)) === JSON.stringify((b as unknown[]).map(String));
  const bytes = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength);
  return (a as object).constructor === (b as object).constructor && bytes(a as Uint8Array).equals(bytes(b as Uint8Array));
}
