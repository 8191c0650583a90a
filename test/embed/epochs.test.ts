/** Compares epochs of embed.wasm with epochs of the public API: the same seed must produce the same items in the same order. */
import { expect, test } from "vitest";
import { i32, Replay } from "../../src/index.ts";
import { Embed, EmbedError } from "./host.ts";

const TEXT = `
leaf x i32
table t size 30 minSize 2
table used size 4 timesSampled 2
rule t length 1
view t items
view t items among newest 3
view used items`;

function both(steps: number) {
  const embed = new Embed().create(TEXT);
  const replay = new Replay({
    spec: { x: i32() },
    tables: { t: { maxSize: 30, rateLimiter: { samplesPerInsert: 1, minSize: 2, minDiff: -Number.MAX_VALUE, maxDiff: Number.MAX_VALUE } } },
  });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const append = (x: number) => {
    writer.append({ x });
    const [at = 0] = embed.give(embed.pack([new Map([["x", new Uint8Array(Int32Array.of(x).buffer)]])]));
    embed.did(embed.x.replay_append(embed.handle, 0, at, 1, 0, 0));
  };
  for (let x = 0; x < steps; x++) append(x);
  return { embed, table: replay.tables.t, append };
}

/** Draws the next batch of an epoch and returns its values. Updates `state` to the state after this batch. */
function next(embed: Embed, n: number, state: Float64Array, view = 0): number[] {
  const [at = 0] = embed.give(new Uint8Array(state.buffer));
  const count = embed.did(embed.x.replay_epoch(embed.handle, view, n, at));
  state.set(new Float64Array(embed.u8.slice(at, at + 48).buffer));
  if (count === 0) return [];
  const column = embed.columns(view).columns.find(({ name }) => name === "x");
  return [...new Int32Array(embed.u8.slice(column?.at ?? 0, (column?.at ?? 0) + 4 * count).buffer)];
}

test.each([true, false])("an epoch equals that of the public API, shuffled: %s", (shuffle) => {
  const { embed, table, append } = both(43);
  const state = Float64Array.of(Number(shuffle), 7, 0, 0, 0, 0);
  const dataset = table.dataset({ batchSize: 8, epochs: 2, seed: 7, shuffle });
  let x = 43;
  let batches = 0;
  for (const { steps, count } of dataset) {
    const { epoch, position, since, slots } = dataset.state();
    let ours = next(embed, 8, state);
    // The end of an epoch is reported once, as an empty batch.
    if (ours.length === 0) ours = next(embed, 8, state);
    expect(ours).toEqual([...steps.x.data].slice(0, count));
    expect([...state]).toEqual([Number(shuffle), 7, epoch, position, since, slots]);
    // After every second batch, a new item takes the slot of an older item.
    if (batches++ % 2 === 0) append(x++);
  }
  expect(next(embed, 8, state)).toEqual([]);
  expect(batches).toBeGreaterThan(6);
  expect([...state]).toEqual([Number(shuffle), 7, 2, 0, 0, 0]);
  expect(embed.stats(0)[4]).toBe(table.stats().samples);
});

test("invalid epoch calls are rejected and change nothing", () => {
  const { embed } = both(1);
  const fresh = () => Float64Array.of(1, 0, 0, 0, 0, 0);
  const refuse = (code: string, message: RegExp, ...args: Parameters<typeof next>) => {
    const before = embed.snapshot();
    try {
      next(...args);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(EmbedError);
      expect((error as Error).message).toMatch(message);
      expect((error as Error).message).toContain(code);
    }
    expect(embed.snapshot()).toEqual(before);
  };
  refuse("RATE_LIMITED", /does not allow 1 draws/, embed, 4, fresh());
  refuse("UNSUPPORTED", /without the options weights, among/, embed, 4, fresh(), 1);
  refuse("UNSUPPORTED", /without timesSampled/, embed, 4, fresh(), 2);
  refuse("INVALID", /state\[0\] must be 0 or 1, got 2/, embed, 4, Float64Array.of(2, 0, 0, 0, 0, 0));
  refuse("INVALID", /state\[3\] must be a whole number below 2\^32/, embed, 4, Float64Array.of(1, 0, 0, -1, 0, 0));
  refuse("INVALID", /belong to an epoch of this table/, embed, 4, Float64Array.of(1, 0, 0, 0, 5, 99));
  refuse("NOT_FOUND", /view must be/, embed, 4, fresh(), 9);
  refuse("INVALID", /n must be/, embed, 0, fresh());
});
