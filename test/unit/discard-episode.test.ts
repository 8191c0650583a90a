/** Tests discarded episodes: all of their data must be removed, and all other data must be unchanged. */
import { expect, test } from "vitest";
import { f32, i32, prioritized, queueLimiter, Replay, shared, u8, uniform } from "../../src/index.ts";
import { memory } from "../../src/storage/index.ts";
import { broken } from "../support/health.ts";
import { TestRandom } from "../support/random.ts";
import { errorOf, expectError } from "../support/refused.ts";
import { scaled } from "../support/size.ts";
import { pair, until } from "./remote/support.ts";

const SPEC = { observation: shared("frames", u8(4), 2), action: i32(), reward: f32(), episode: i32() };

/** Returns the episode of each step in all items of a table. */
function episodesIn(replay: Replay, name: string): Set<number> {
  const table = replay.table(name);
  if (table.size === 0) return new Set();
  const keys = table.sample(table.size, { replacement: false }).info.keys;
  return new Set(
    table
      .get(keys, { columns: { episode: { leaf: "episode" } } })
      .toArray()
      .flatMap((item) => (item as { episode: number[] }).episode),
  );
}

async function world(seed: number): Promise<void> {
  const random = new TestRandom(seed);
  const limiter = random.below(3) === 0 ? { rateLimiter: queueLimiter(6), maxSize: 8 } : { maxSize: 40 };
  const remover = random.below(2) === 0 ? uniform() : undefined;
  const options = {
    spec: SPEC,
    tables: { t: { ...limiter, ...(remover && { remover }) }, p: { maxSize: 1000, sampler: prioritized(0.5) } },
    seed,
    logger: null,
  };
  const dir = memory();
  const isJournaled = seed % 3 === 0;
  let replay = isJournaled ? await Replay.open({ ...options, dir, durability: "manual" }) : new Replay(options);
  const lanes = 1 + random.below(3);
  const rule = random.below(2) === 0 ? { table: "p", nStep: 2 } : { table: "p", length: 1 + random.below(6) };
  const writer = replay.writer({ lanes, items: [rule as never], keep: 10, ...(lanes > 1 && { autoreset: "disabled" as const }) });
  const other = replay.writer({ items: [{ table: "p", length: 2 }] });
  const discarded = new Set<number>();
  const open = Array.from({ length: lanes }, (_, lane) => 100 + lane);
  const lengths = open.map(() => 0);
  let next = 1000;
  const step = (episode: number) => ({ observation: new Uint8Array(8).fill(episode), action: 1, reward: 1, episode });
  const join = (episodes: readonly number[]) => ({
    observation: Uint8Array.from(episodes.flatMap((e) => [...step(e).observation])),
    action: episodes.map(() => 1),
    reward: episodes.map(() => 1),
    episode: episodes,
  });
  for (let k = 0; k < 60; k++) {
    writer.append(join(open) as never);
    for (const lane of lengths.keys()) lengths[lane] = (lengths[lane] as number) + 1;
    other.append(step(7));
    const lane = random.below(lanes);
    if (random.below(2) === 0 && replay.table("t").stats().pending < 5)
      void writer.createItem("t", { length: 1 + random.below(Math.min(3, lengths[lane] as number)), lane });
    const what = random.below(8);
    if (what === 0) {
      const held = replay.stats().steps;
      const which = random.below(4) === 0 ? undefined : lane;
      const before = (name: "t" | "p") => replay.table(name).size + replay.table(name).stats().pending;
      const [t, p] = [before("t"), before("p")];
      const count = writer.discardEpisode(which === undefined ? {} : { lane: which });
      expect(count).toBe(t + p - before("t") - before("p"));
      expect(replay.stats().steps).toBeLessThanOrEqual(held);
      for (const i of which === undefined ? open.keys() : [which]) {
        discarded.add(open[i] as number);
        open[i] = next++;
        lengths[i] = 0;
      }
      expect(writer.discardEpisode(which === undefined ? {} : { lane: which })).toBe(0);
      expect(broken(replay)).toEqual([]);
    } else if (what === 1) {
      writer.endEpisode({ lane, terminated: false, final: { observation: new Uint8Array(8) } } as never);
      open[lane] = next++;
      lengths[lane] = 0;
    }
    if (random.below(10) === 0) replay.table("t").sample(2);
    for (const name of ["t", "p"]) for (const episode of episodesIn(replay, name)) expect(discarded.has(episode), `${episode}`).toBe(false);
  }
  const [size, steps] = [replay.table("p").size, [...episodesIn(replay, "p")].sort()];
  if (isJournaled) {
    replay.dispose();
    replay = await Replay.open({ ...options, dir, durability: "manual" });
  } else replay = Replay.restore(replay.snapshot()) as typeof replay;
  expect([replay.table("p").size, [...episodesIn(replay, "p")].sort()]).toEqual([size, steps]);
  expect(broken(replay)).toEqual([]);
}

test("discardEpisode deletes the items of the episode from all tables, and no others", async () => {
  for (let seed = 0; seed < scaled(200, 3); seed++) await world(seed);
});

test("discardEpisode ends waits for its items, counts them as deleted and rejects invalid calls", async () => {
  const replay = new Replay({ spec: f32(), tables: { t: { maxSize: 10, rateLimiter: queueLimiter(1) } }, logger: null });
  const writer = replay.writer();
  for (let k = 0; k < 3; k++) writer.append(k);
  expect(writer.createItem("t", { length: 2 })).toBe(undefined);
  const key = writer.lastKey("t");
  const waiting = writer.createItem("t", { length: 1 });
  expect(replay.table("t").stats()).toMatchObject({ size: 1, pending: 1, inserts: 1, deletes: 0 });
  expect(writer.discardEpisode()).toBe(2);
  await waiting;
  expect(replay.table("t").stats()).toMatchObject({ size: 0, pending: 0, inserts: 1, deletes: 1 });
  expect(replay.table("t").explain(key).state).toBe("gone");
  expect(replay.table("t").updatePriorities([key], [5])).toBe(0);
  expect([writer.length, replay.stats().steps]).toEqual([0, 0]);
  expectError(
    errorOf(() => replay.writer({ across: true }).discardEpisode()),
    "UNSUPPORTED",
    /^discardEpisode requires a writer without across/,
  );
  expectError(
    errorOf(() => writer.discardEpisode({ lane: 1 })),
    RangeError,
    /^lane must be/,
  );
  expectError(
    errorOf(() => writer.discardEpisode({ final: 1 } as object)),
    TypeError,
    /^discardEpisode has no option "final"/,
  );
});

test("a remote writer discards episodes over a port", async () => {
  const { replay, writer } = await pair({ spec: f32(), tables: { t: { maxSize: 50 } } }, { items: [{ table: "t", length: 2 }] });
  for (let k = 1; k < 4; k++) await writer.append(k);
  await writer.endEpisode();
  await writer.discardEpisode();
  for (let k = 11; k < 14; k++) await writer.append(k);
  await writer.createItem("t", { length: 3 });
  await writer.discardEpisode();
  for (let k = 21; k < 23; k++) await writer.append(k);
  await writer.flush();
  await until(() => replay.table("t").size === 3);
  const table = replay.table("t");
  const items = table.sample(3, { replacement: false }).toArray() as unknown as number[][];
  expect(items.sort((a, b) => (a[0] as number) - (b[0] as number))).toEqual([
    [1, 2],
    [2, 3],
    [21, 22],
  ]);
});
