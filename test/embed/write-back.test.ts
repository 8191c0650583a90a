/** Compares items by key, and values that are written back to their steps, with table.get and table.writeSteps of TypeScript. */
import { expect, test } from "vitest";
import { f16, f32, i32, Replay, shared, text, u8, uniform } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf } from "../support/refused.ts";
import { scaled } from "../support/size.ts";
import { Embed, EmbedError } from "./host.ts";

const SPEC = { observation: f32(3), action: i32(), reward: f32(), half: f16(2), note: text({ maxBytes: 6 }), frames: shared("f", u8(4)) };
const VIEWS = `
view t items
view t items length 3 offset end
view t transitions gamma 0.9 next action
view t items weights batch
view t items offset uniform`;
const [WHOLE, ENDS, TRANSITIONS, WEIGHED, UNIFORM] = [0, 1, 2, 3, 4];

type World = Replay<typeof SPEC, "t">;

function world(random: TestRandom): World {
  const remover = random.below(2) === 0 ? { remover: uniform() } : {};
  const replay = new Replay({ spec: SPEC, tables: { t: { maxSize: 12, ...remover } }, seed: 3, logger: null });
  const writer = replay.writer({ items: [random.below(2) === 0 ? { table: "t", nStep: 3 } : { table: "t", length: 2 + random.below(3) }] });
  for (let k = 0; k < 40; k++) {
    const [a, b] = [random.below(100), random.below(100)];
    writer.append({ observation: [a, b, k], action: a, reward: b / 4, half: [a / 2, b], note: `n${k}`, frames: [a, 0, 0, b] });
    if (random.below(7) === 0) writer.endEpisode({ final: { observation: [0, 0, k] }, terminated: random.below(2) === 0 });
  }
  return replay;
}

/** Loads a snapshot of the Replay into embed.wasm. */
const embedded = (replay: World) => new Embed().load(new Uint8Array(bytesOf(replay)), VIEWS);

const doubles = (numbers: ArrayLike<number>) => new Uint8Array(Float64Array.from(numbers).buffer);

function get(embed: Embed, view: number, keys: ArrayLike<number>): number {
  const [at = 0] = embed.give(doubles(keys));
  return embed.did(embed.x.replay_get(embed.handle, view, at, keys.length));
}

function write(embed: Embed, view: number, column: number, keys: ArrayLike<number>, width: number, values: Uint8Array): number {
  const [at = 0, behind = 0] = embed.give(doubles(keys), values);
  return embed.did(embed.x.replay_write(embed.handle, view, column, at, keys.length, width, behind));
}

/** Returns the bytes of a column of the last batch of a view. */
function column(embed: Embed, view: number, name: string): Uint8Array {
  const { columns, entries } = embed.columns(view);
  const { at, bytes } = columns[numberOf(embed, view, name)] as (typeof columns)[number];
  return embed.u8.slice(at, at + entries * bytes);
}

const numberOf = (embed: Embed, view: number, name: string) => embed.columns(view).columns.findIndex((one) => one.name === name);

/** Returns the bytes of a column of a TypeScript batch, limited to its items. */
function bytesIn({ data, shape }: { readonly data: unknown; readonly shape: readonly number[] }, count: number): Uint8Array {
  const array = data as Float32Array;
  return new Uint8Array(array.slice(0, (array.length / (shape[0] as number)) * count).buffer);
}

/** Returns keys in any order, possibly with duplicates: mostly keys from `live`, and some keys that probably belong to no item. */
function someKeys(random: TestRandom, live: Float64Array): number[] {
  return Array.from({ length: 1 + random.below(9) }, () => (random.below(4) === 0 ? random.below(2 ** 20) : random.pick([...live])));
}

/** Compares the data of all live items on both sides, except the notes. @param live the keys of these items */
function expectSame(embed: Embed, replay: World, live: Float64Array): void {
  const batch = replay.tables.t.get(live);
  expect(get(embed, WHOLE, live)).toBe(batch.count);
  for (const leaf of ["observation", "action", "reward", "half", "frames"] as const)
    expect(column(embed, WHOLE, leaf), leaf).toEqual(bytesIn(batch.steps[leaf], batch.count));
}

function play(seed: number): void {
  const random = new TestRandom(seed);
  const replay = world(random);
  const table = replay.tables.t;
  const embed = embedded(replay);
  const live = table.sample(table.size, { replacement: false }).info.keys.slice();
  expectSame(embed, replay, live);
  for (let round = 0; round < 6; round++) {
    const keys = someKeys(random, live);
    const view = random.pick([WHOLE, ENDS] as number[]);
    const batch = table.get(keys, view === ENDS ? { length: 3, offset: "end" } : {});
    expect(get(embed, view, keys)).toBe(batch.count);
    if (batch.count === 0) continue;
    expect(column(embed, view, "keys")).toEqual(doubles(batch.info.keys.subarray(0, batch.count)));
    const leaf = random.pick(["observation", "action", "reward", "half"] as const);
    expect(column(embed, view, leaf)).toEqual(bytesIn(batch.steps[leaf], batch.count));
    const { width } = embed.columns(view);
    const { data, shape } = batch.steps[leaf];
    const each = data.length / (shape[0] as number);
    const values = (data.constructor as Float32ArrayConstructor).from({ length: keys.length * each }, () => random.below(50));
    const there = keys.flatMap((key, i) => (batch.info.keys.includes(key) ? [...values.subarray(i * each, (i + 1) * each)] : []));
    const written = write(embed, view, numberOf(embed, view, leaf), keys, width, new Uint8Array(values.buffer));
    expect(written).toBe(table.writeSteps(batch, { [leaf]: there }).written);
    expectSame(embed, replay, live);
  }
  if (table.sample(table.size, { replacement: false }).lengths.includes(1)) return;
  // TypeScript cannot get transitions by key. So it draws a batch, and embed.wasm gets the transitions with the same keys.
  for (let round = 0; round < 4; round++) {
    const batch = table.transitions({ gamma: 0.9, next: ["action"] }).sample(5);
    const keys = batch.keys.slice(0, batch.count);
    expect(get(embed, TRANSITIONS, keys)).toBe(batch.count);
    for (const name of ["observation", "nextObservation", "nextAction", "returns"] as const)
      expect(column(embed, TRANSITIONS, name), name).toEqual(bytesIn(batch[name], batch.count));
    const name = random.pick(["observation", "nextObservation", "nextAction"] as const);
    const { data } = batch[name];
    const values = (data.constructor as Float32ArrayConstructor).from(data, () => random.below(50));
    const written = write(embed, TRANSITIONS, numberOf(embed, TRANSITIONS, name), keys, 1, new Uint8Array(values.buffer));
    expect(written).toBe(table.writeSteps(batch, { [name]: values }).written);
    expectSame(embed, replay, live);
  }
}

test("reading items by key and writing values match TypeScript", () => {
  for (let seed = 0; seed < scaled(150, 12); seed++) play(seed);
});

test("unsupported reads and writes are rejected and change nothing", () => {
  const replay = world(new TestRandom(4));
  const embed = embedded(replay);
  const keys = replay.tables.t.sample(2).info.keys;
  const before = embed.snapshot();
  expect(get(embed, WHOLE, [1e9])).toBe(0);
  expect(() => get(embed, WEIGHED, keys)).toThrowError(/^UNSUPPORTED: a view with weights cannot read or write items by key/);
  expect(() => get(embed, UNIFORM, keys)).toThrowError(/^UNSUPPORTED: a view with offset uniform/);
  expect(() => get(embed, WHOLE, [1.5])).toThrowError(/^INVALID: keys\[0\] must be a whole number/);
  expect(() => get(embed, WHOLE, [])).toThrowError(/^INVALID: n must be an integer from 1/);
  get(embed, WHOLE, keys);
  const [frames, info, note, reward] = ["frames", "keys", "note", "reward"].map((name) => numberOf(embed, WHOLE, name)) as [number, number, number, number];
  const nothing = new Uint8Array(1024);
  expect(() => write(embed, WHOLE, frames, keys, 1, nothing)).toThrowError(
    /^UNSUPPORTED: column \d+ cannot be written, because several steps share its values/,
  );
  expect(() => write(embed, WHOLE, info, keys, 1, nothing)).toThrowError(/^UNSUPPORTED: column \d+ cannot be written, because it is computed/);
  expect(() => write(embed, WHOLE, 99, keys, 1, nothing)).toThrowError(/^NOT_FOUND: column must .*got 99/);
  expect(() => write(embed, WHOLE, note, keys, 1, new Uint8Array(1024).fill(255))).toThrowError(
    /^INVALID_DATA: step\[0\]: "note"\[0\] must have at most 6 bytes/,
  );
  expect(() => write(embed, WHOLE, reward, keys, 0, nothing)).toThrowError(/^INVALID: width must be an integer from 1/);
  expect(() => write(embed, WHOLE, reward, keys, 2 ** 20, nothing)).toThrowError(EmbedError);
  expect(Buffer.compare(embed.snapshot(), before)).toBe(0);
});
