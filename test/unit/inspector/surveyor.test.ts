/** Compares reports about a Replay with the Replay's own calls, and with a naive twin of its episodes. */
import { describe, expect, test } from "vitest";
import { f32, fifo, i32, minSize, prioritized, Replay, sampleToInsertRatio, text, u8 } from "../../../src/index.ts";
import { InspectorServer } from "../../../src/inspector/inspector-server.ts";
import type { DrawPreview, Episode, ItemView, Survey } from "../../../src/inspector/protocol.ts";
import { TestRandom } from "../../support/random.ts";
import { errorOf, expectError } from "../../support/refused.ts";
import { scaled, whole } from "../../support/size.ts";

const survey = (surveyor: InspectorServer, table = "t") => surveyor.answer({ kind: "survey", table }) as Survey;
const seen = (surveyor: InspectorServer) => (survey(surveyor).table as NonNullable<Survey["table"]>).sample;

function filled(steps: number, options: object = {}) {
  const replay = new Replay({ spec: { id: i32(), reward: f32() }, tables: { t: { maxSize: 1000, ...options } }, seed: 3 });
  const writer = replay.writer({ items: [{ table: "t", length: 1, priority: 1 }] });
  let id = 0;
  const append = (n: number) => {
    for (let i = 0; i < n; i++) writer.append({ id: id++, reward: i });
  };
  append(steps);
  return { replay, writer, append, table: replay.tables.t };
}

test("a survey of few items contains all of them, with the values of explain", () => {
  const { replay, table } = filled(300, { sampler: prioritized(0.5) });
  const { info } = table.sample(200);
  table.updatePriorities(
    info.keys,
    info.keys.map((key) => key % 7),
  );
  const { isWhole, keys, priorities, probabilities, timesSampled, lengths } = seen(new InspectorServer(replay));
  expect([isWhole, keys.length, new Set(keys).size]).toEqual([true, 300, 300]);
  keys.forEach((key, i) => {
    const { priority, probability, timesSampled: times, length, state } = table.explain(key);
    expect([state, priority, probability, times, length]).toEqual(["live", priorities[i], probabilities[i], timesSampled[i], lengths[i]]);
  });
});

test("a survey of many items samples each with equal probability", () => {
  const { replay, table } = filled(2000);
  const surveyor = new InspectorServer(replay);
  const counts = new Map<number, number>();
  const surveys = scaled(100, 10);
  for (let i = 0; i < surveys; i++) for (const key of seen(surveyor).keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  const expected = (surveys * 512) / table.size;
  const chi = Array.from(table.sample(1000, { replacement: false }).info.keys, (key) => ((counts.get(key) ?? 0) - expected) ** 2 / expected).reduce(
    (a, b) => a + b,
  );
  expect(seen(surveyor).isWhole).toBe(false);
  // For 1,000 cells, the statistic is expected to be 999 ± 45.
  expect(Math.abs(chi - 999)).toBeLessThan(5 * 45);
});

describe("ages", () => {
  test.each([
    ["a full table", 2500, {}],
    ["a table that is not full", 900, {}],
    ["a table whose oldest items are evicted for their steps", 2500, { maxSteps: 300 }],
  ])("in %s: the number of later items", (_, steps, options) => {
    const { replay, append } = filled(0, options);
    const surveyor = new InspectorServer(replay);
    let checked = 0;
    for (let i = 0; i < steps; i += 100) {
      append(100);
      const { keys, ages } = seen(surveyor);
      for (let j = 0; j < keys.length; j += 16) {
        const { leaves } = surveyor.answer({ kind: "item", table: "t", key: keys[j] as number }) as ItemView;
        // The value of a step is its time of arrival.
        const [id] = leaves.filter(({ path }) => path === "id").map(({ data }) => (data as Int32Array)[0] as number) as [number];
        expect(ages[j]).toBe(i + 99 - id);
        checked++;
      }
    }
    expect(checked).toBeGreaterThan(100);
  });

  test("are NaN if many items left out of turn, by deletion or by draws", () => {
    const { replay, append, table } = filled(1000);
    table.delete(Array.from(table.sample(300, { replacement: false }).info.keys));
    append(100);
    const queue = filled(900, { maxTimesSampled: 1, sampler: fifo() });
    for (const one of [replay, queue.replay]) expect([...seen(new InspectorServer(one)).ages].every(Number.isNaN)).toBe(true);
  });

  test("are NaN for items out of turn, and otherwise almost exact after deletions", () => {
    const { replay, append, table } = filled(3000);
    table.delete(Array.from(table.sample(5, { replacement: false }).info.keys));
    append(3000);
    const surveyor = new InspectorServer(replay);
    let known = 0;
    for (let i = 0; i < 10; i++) {
      const { keys, ages } = seen(surveyor);
      for (let j = 0; j < keys.length; j += 16) {
        if (Number.isNaN(ages[j])) continue;
        known++;
        const { leaves } = surveyor.answer({ kind: "item", table: "t", key: keys[j] as number }) as ItemView;
        const [id] = leaves.filter(({ path }) => path === "id").map(({ data }) => (data as Int32Array)[0] as number) as [number];
        expect(Math.abs(5999 - id - (ages[j] as number))).toBeLessThanOrEqual(5);
      }
    }
    expect(known).toBeGreaterThan(200);
  });

  test("in episodes are known with every remover", () => {
    const { replay, writer, append } = filled(0, { remover: prioritized() });
    for (let episode = 0; episode < 10; episode++) {
      append(5);
      writer.endEpisode();
    }
    const { ages, episodeAges } = seen(new InspectorServer(replay));
    expect([...ages].every(Number.isNaN)).toBe(true);
    expect([...episodeAges].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => Math.floor(i / 5)));
  });
});

describe("an item", () => {
  const spec = { image: u8(20, 30), wide: f32(500), name: text({ maxBytes: 20 }), flag: i32(2) };
  const replay = new Replay({ spec, tables: { t: { maxSize: 100, sampler: prioritized(0.5) } } });
  const writer = replay.writer({ items: [{ table: "t", length: 4, priority: 4 }] });
  for (let i = 0; i < 50; i++) writer.append({ image: new Uint8Array(600).fill(i), wide: new Float32Array(500).fill(i / 2), name: `step ${i}`, flag: [i, -i] });
  const surveyor = new InspectorServer(replay);

  test("contains every leaf of every step, like a batch", () => {
    const { info, steps } = replay.tables.t.sample(1);
    const item = surveyor.answer({ kind: "item", table: "t", key: info.keys[0] as number }) as ItemView;
    expect(item.leaves.map(({ path, dtype, shape, steps }) => [path, dtype, shape, steps])).toEqual([
      ["flag", "i32", [2], 4],
      ["image", "u8", [20, 30], 4],
      ["name", "string", [], 4],
      ["wide", "f32", [500], 4],
    ]);
    for (const { path, data } of item.leaves) expect([path, data]).toEqual([path, (steps as { [path: string]: { data: unknown } })[path]?.data]);
    const { priority, weight, probability, timesSampled, length, state } = item;
    expect({ priority, weight, probability, timesSampled, length, state }).toEqual({
      priority: 4,
      weight: 2,
      probability: 1 / 47,
      timesSampled: 1,
      length: 4,
      state: "live",
    });
  });

  test("that is gone has the state gone, and no leaves", () => {
    expect(surveyor.answer({ kind: "item", table: "t", key: 12345678 })).toMatchObject({ state: "gone", leaves: [] });
  });

  test("that waits for the rate limiter has the state waiting", () => {
    const replay = new Replay({ spec: f32(), tables: { t: { maxSize: 9, rateLimiter: sampleToInsertRatio(1, 1, [0, 2]) } } });
    const writer = replay.writer();
    for (let i = 0; i < 6; i++) {
      writer.append(i);
      writer.createItem("t", { length: 1 });
    }
    const surveyor = new InspectorServer(replay);
    expect(survey(surveyor).tables[0]).toMatchObject({ pending: 4, canInsert: false, canSample: true });
    const keys = Array.from({ length: 2 ** 13 }, (_, key) => key).filter((key) => replay.tables.t.explain(key).state === "waiting");
    expect(keys.length).toBe(4);
    expect(surveyor.answer({ kind: "item", table: "t", key: keys[0] as number })).toMatchObject({ state: "waiting", probability: 0, length: 1 });
  });

  test("omits a leaf that is too large for the reserved memory", () => {
    const replay = new Replay({ spec: { story: text({ maxBytes: 100_000 }), n: f32() }, tables: { t: { maxSize: 1 } } });
    replay.writer({ items: [{ table: "t", length: 1 }] }).append({ story: "long", n: 1 });
    const surveyor = new InspectorServer(replay);
    const { bytes } = replay.stats();
    const { leaves } = surveyor.answer({ kind: "item", table: "t", key: seen(surveyor).keys[0] as number }) as ItemView;
    expect(leaves.map(({ path, steps, data }) => [path, steps, data?.length])).toEqual([
      ["n", 1, 1],
      ["story", 0, undefined],
    ]);
    expect(replay.stats().bytes).toEqual(bytes);
  });
});

describe("a preview of a draw", () => {
  test.runIf(whole)("follows the probabilities of the table, and changes nothing in it", () => {
    const { replay, table } = filled(20, { sampler: prioritized(1) });
    const surveyor = new InspectorServer(replay);
    const { keys } = seen(surveyor);
    table.updatePriorities(
      keys,
      keys.map((_, i) => i),
    );
    const before = table.stats();
    const counts = new Map<number, number>();
    const draws = scaled(20, 2);
    for (let i = 0; i < draws; i++)
      for (const { key } of (surveyor.answer({ kind: "draw", table: "t", n: 1000 }) as DrawPreview).items) counts.set(key, (counts.get(key) ?? 0) + 1);
    const expected = (i: number) => (1000 * draws * (i + 1)) / 190;
    const chi = Array.from(keys.slice(1), (key, i) => ((counts.get(key) ?? 0) - expected(i)) ** 2 / expected(i)).reduce((a, b) => a + b);
    expect(counts.has(keys[0] as number)).toBe(false);
    // For 18 degrees of freedom, p is 0.001 at 42.3.
    expect(chi).toBeLessThan(42.3);
    expect(table.stats()).toEqual(before);
  });

  test("repeats single draws if items leave when they are drawn", () => {
    const { replay } = filled(10, { maxTimesSampled: 1 });
    const { items, blocked } = new InspectorServer(replay).answer({ kind: "draw", table: "t", n: 25 }) as DrawPreview;
    expect([items.length, blocked]).toEqual([25, undefined]);
  });

  test("is empty if the rate limiter blocks it, and contains the reason", () => {
    const { replay } = filled(3, { rateLimiter: minSize(5) });
    expect(new InspectorServer(replay).answer({ kind: "draw", table: "t", n: 4 })).toMatchObject({ items: [], blocked: { by: "minSize", have: 3, need: 5 } });
  });

  test("rejects wrong arguments by name", () => {
    const { replay } = filled(3);
    const surveyor = new InspectorServer(replay);
    expectError(
      errorOf(() => surveyor.answer({ kind: "draw", table: "t", n: 0 })),
      RangeError,
      /n must be an integer in 1 … 1024, got 0/,
    );
    expectError(
      errorOf(() => surveyor.answer({ kind: "survey", table: "u" })),
      "NOT_FOUND",
      /"u"/,
    );
    replay.dispose();
    expectError(
      errorOf(() => survey(surveyor)),
      "CLOSED",
      /disposed/,
    );
  });
});

describe("episodes", () => {
  /** Plays episodes in lanes, and returns them. */
  function played(random: TestRandom, { maxSize, length, steps, look }: { maxSize: number; length: number; steps: number; look: (replay: Replay) => void }) {
    const replay = new Replay({ spec: { reward: f32(), o: f32() }, tables: { t: { maxSize } }, logger: null });
    const lanes = [1, 1, 2].map((n) => replay.writer({ items: [{ table: "t", length: Math.min(length, n + length) }] }));
    const open = lanes.map(() => ({ return: 0, length: 0 }));
    const ended: Pick<Episode, "return" | "length" | "end">[] = [];
    for (let i = 0; i < steps; i++) {
      const lane = random.below(lanes.length);
      const [writer, episode] = [lanes[lane], open[lane]] as [(typeof lanes)[0], (typeof open)[0]];
      const reward = random.below(64);
      writer.append({ reward, o: i });
      episode.return += reward;
      episode.length++;
      if (random.below(9) === 0 && episode.length >= length) {
        const end = random.pick(["ended", "truncated", "terminated"] as const);
        writer.endEpisode(end === "ended" ? {} : { final: { o: 1 }, terminated: end === "terminated" });
        ended.push({ ...episode, end });
        open[lane] = { return: 0, length: 0 };
      }
      if (random.below(5) === 0) look(replay);
    }
    look(replay);
    return { replay, ended };
  }
  const known = ({ return: sum, length, end }: Pick<Episode, "return" | "length" | "end">) => `${sum} ${length} ${end}`;

  test("that are watched from the start are all reported, with their returns, lengths and ends", () => {
    for (let seed = 1; seed <= scaled(60); seed++) {
      const found: Episode[] = [];
      let surveyor: InspectorServer | undefined;
      const look = (replay: Replay) => {
        surveyor ??= new InspectorServer(replay);
        found.push(...(survey(surveyor).table?.episodes ?? []));
      };
      const { ended } = played(new TestRandom(seed), { maxSize: 4000, length: 2 + (seed % 4), steps: 1500, look });
      expect([seed, found.map(known).sort()]).toEqual([seed, ended.map(known).sort()]);
      expect(new Set(found.map(({ number }) => number)).size).toBe(found.length);
    }
  });

  test("of single steps are also reported, after later episodes have started", () => {
    const found: Episode[] = [];
    let surveyor: InspectorServer | undefined;
    const look = (replay: Replay) => {
      surveyor ??= new InspectorServer(replay);
      found.push(...(survey(surveyor).table?.episodes ?? []));
    };
    const { ended } = played(new TestRandom(5), { maxSize: 4000, length: 1, steps: 1500, look });
    expect(found.length).toBeGreaterThan(0.8 * ended.length);
    const all = ended.map(({ return: sum, length }) => `${sum} ${length}`);
    for (const { return: sum, length } of found) expect(all).toContain(`${sum} ${length}`);
  });

  test("of a store that was full before the first survey are reported correctly", () => {
    for (let seed = 1; seed <= scaled(20, 2); seed++) {
      const { replay, ended } = played(new TestRandom(seed), { maxSize: 6000, length: 2, steps: 12_000, look: () => {} });
      const surveyor = new InspectorServer(replay);
      const found = new Map<number, Episode>();
      for (let i = 0; i < 30; i++) for (const episode of survey(surveyor).table?.episodes ?? []) found.set(episode.number, episode);
      expect(found.size).toBeGreaterThan(30);
      const all = new Set(ended.map(known));
      for (const episode of found.values()) expect(all).toContain(known(episode));
    }
  });

  test("are absent for a table that keeps no order of age, and hasEpisodes is false", () => {
    const { replay } = filled(10, { remover: prioritized() });
    expect(survey(new InspectorServer(replay)).table).toMatchObject({ hasEpisodes: false, episodes: [] });
  });
});
