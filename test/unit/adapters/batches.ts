/** Creates batches for the tests of both adapters. */
import { bool, f32, f64, i8, i32, i64, prioritized, Replay, text, u8, u32 } from "../../../src/index.ts";

/** Creates a table of three-step transitions with a spec that contains every kind of leaf. */
export function filled() {
  const spec = {
    observation: { position: f32(2), pixels: u8(2, 2) },
    action: i32(),
    reward: f64(),
    big: i64(),
    counter: u32(),
    small: i8(),
    ok: bool(),
    note: text({ maxBytes: 8 }),
  };
  const replay = new Replay({ spec, tables: { t: { maxSize: 50, sampler: prioritized(1) } }, seed: 7 });
  const writer = replay.writer({ items: [{ table: "t", length: 3 }] });
  for (let t = 0; t < 30; t++) {
    const observation = { position: [t, -t], pixels: [[t, 1], [2, 255]] }; // biome-ignore format: one line
    writer.append({ observation, action: t % 2, reward: t / 8, big: BigInt(t), counter: t, small: -t, ok: t % 2 === 0, note: `n${t}` });
  }
  return { replay, table: replay.tables.t, writer };
}

export const OPTIONS = { length: 3, nStep: { n: 2, gamma: 0.5, reward: "reward" }, beta: 0.5, mask: true } as const;

/** Nested columns in which only the last visited number exceeds 32 bits. */
export const TOO_BIG = {
  a: { data: Float32Array.of(1, 2), shape: [2] },
  b: [{ data: BigInt64Array.of(1n, 2n ** 31n), shape: [2] }],
};

/** The options of a view of these transitions that adds the leaves of the next action. */
export const VIEW = { gamma: 0.5, next: ["action"] } as const;

/** The names of all numeric columns in a batch of the view, including weights. */
export const VIEWED = "action big counter discounts nextAction nextObservation observation ok returns small steps terminated truncated weights".split(" ");
