/** Tests `priorities` of appendColumns with `nStep` rules: each transition gets the priority of its first step. */
import { describe, expect, test } from "vitest";
import { memory } from "../../src/files/memory.ts";
import { f32, fifo, i32, prioritized, Replay, type Writer } from "../../src/index.ts";
import { remoteWriter } from "../../src/remote/index.ts";
import { broken } from "../support/health.ts";
import { TestRandom } from "../support/random.ts";
import { some } from "../support/size.ts";
import { ends } from "./remote/support.ts";

const spec = { observation: f32(), action: i32(), reward: f32() };
const tables = { t: { maxSize: 5000, sampler: fifo() } };
type Any = Replay<typeof spec, "t">;

const columns = (ids: readonly number[]) => ({ observation: ids, action: ids, reward: ids });
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** Returns the priority of each transition, by its first step. */
function priorities({ tables: { t } }: Any): Map<number, number> {
  const { observation, keys } = t.transitions({ gamma: 1 }).sample(t.size, { replacement: false });
  return new Map([...keys].map((key, i) => [observation.data[i] as number, t.explain(key).priority as number]));
}

const pairs = (replay: Any) => [...priorities(replay)].sort(([a], [b]) => a - b);

test.each(some([1, 2, 3, 5, 9], 2))("priorities of one block apply to its transitions, nStep %i", (nStep) => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ items: [{ table: "t", nStep }] });
  const given = { priorities: { t: range(10, 15) }, truncated: [0, 0, 0, 0, 1], final: { observation: [6] } };
  writer.appendColumns(columns(range(1, 6)), given);
  expect(pairs(replay)).toEqual(range(1, 6).map((id) => [id, 9 + id]));
  expect(broken(replay)).toEqual([]);
});

test("a pending transition keeps its priority across later calls, endEpisode and close", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ items: [{ table: "t", nStep: 3, priority: 7 }] });
  writer.appendColumns(columns([1, 2]), { priorities: { t: [11, 12] } });
  writer.append({ observation: 3, action: 3, reward: 3 });
  writer.appendColumns(columns([4, 5]), { priorities: { t: [14, 0] } });
  writer.appendColumns(columns([6]));
  writer.endEpisode({ terminated: true });
  writer.append({ observation: 8, action: 8, reward: 8 });
  writer.appendColumns(columns([9, 10]), { priorities: { t: [19, 20] } });
  writer.close();
  expect(pairs(replay)).toEqual([
    [1, 11],
    [2, 12],
    [3, 7],
    [4, 14],
    [5, 0],
    [6, 7],
    [8, 7],
    [9, 19],
  ]);
  expect(broken(replay)).toEqual([]);
});

describe.each(["a snapshot", "a crash", "nothing", "a port"])("with %s in between", (between) => {
  test.each(some([1, 2, 3, 4], 1))("any division into blocks produces the same priorities (seed %i)", async (seed) => {
    const random = new TestRandom(seed);
    const lanes = random.pick([1, 1, 3]);
    const nStep = 1 + random.below(5);
    const autoreset = random.pick(["nextStep", "sameStep"] as const);
    const options = {
      lanes,
      autoreset,
      items: [
        { table: "t", nStep, priority: 0.5 },
        { table: "t", length: 1, stride: 1000, priority: 3 },
      ],
    } as const;
    const dir = memory();
    let replay: Any = between === "a crash" ? ((await Replay.open({ spec, tables, dir, durability: "manual" })) as Any) : new Replay({ spec, tables });
    const { lanes: _, ...own } = options;
    const [here, there] = ends();
    const remote = between === "a port" ? (await Promise.all([remoteWriter(there, { spec, lanes }), replay.acceptWriter(here, own)]))[0] : undefined;
    if (remote === undefined) replay.writer(options);
    let at = dir;
    const wanted = new Map<number, number>();
    let id = 0;
    let over = new Array(lanes).fill(0);
    for (let call = 0; call < 25; call++) {
      const steps = 1 + random.below(random.pick([2, 30]));
      const ids = range(id + 1, id + 1 + steps * lanes);
      id += ids.length;
      const given = random.below(3) === 0 ? undefined : ids.map(() => random.below(9));
      const flags = ids.map(() => 0);
      ids.forEach((one, r) => {
        const isValue = autoreset === "nextStep" && over[r % lanes] === 1;
        if (!isValue) wanted.set(one, given?.[r] ?? 0.5);
        const ends = !isValue && random.next() < 0.15;
        flags[r] = Number(ends);
        over[r % lanes] = Number(ends);
      });
      if (autoreset === "sameStep") over = over.map(() => 0);
      const how = { terminated: flags, ...(given && { priorities: { t: given } }) };
      const writer = remote ?? (replay.writers[0] as unknown as Writer);
      await writer.appendColumns(columns(ids) as never, how as never);
      await remote?.flush();
      if (between === "a snapshot") replay = Replay.restore(replay.snapshot()) as unknown as Any;
      if (between !== "a crash") continue;
      await replay.flush();
      at = at.crash();
      replay = (await Replay.open({ dir: at, durability: "manual" })) as unknown as Any;
    }
    expect(broken(replay)).toEqual([]);
    const { t } = replay.tables;
    const batch = t.sample(t.size, { replacement: false });
    const width = batch.steps.observation.shape[1] as number;
    let seen = 0;
    for (let i = 0; i < t.size; i++) {
      if ((batch.lengths[i] as number) === 1) continue;
      const first = batch.steps.observation.data[i * width] as number;
      expect([first, batch.info.priorities[i]]).toEqual([first, wanted.get(first)]);
      seen++;
    }
    expect(seen).toBeGreaterThan(20);
  });
});

test("priorities of a long block apply in a full table", () => {
  for (const nStep of [1, 2, 5]) {
    const replay = new Replay({ spec, tables: { t: { maxSize: 50, sampler: prioritized(1) } } });
    const writer = replay.writer({ items: [{ table: "t", nStep, priority: 0.25 }] });
    writer.appendColumns(columns(range(1, 101)));
    writer.appendColumns(columns(range(101, 301)), { priorities: { t: range(101, 301) } });
    writer.appendColumns(columns(range(301, 321)));
    const wanted = (id: number) => (id > 300 ? 0.25 : id);
    expect(pairs(replay)).toEqual(range(321 - nStep - 50, 321 - nStep).map((id) => [id, wanted(id)]));
    expect(broken(replay)).toEqual([]);
  }
});

test("with a length rule, a priority belongs to the item that ends with its step", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  writer.appendColumns(columns([1, 2, 3]), { priorities: { t: [11, 12, 13] } });
  expect(pairs(replay)).toEqual([
    [1, 12],
    [2, 13],
  ]);
});
