/** Tests journals with `retain: "all"` as datasets: they must contain every acknowledged step, even if the tables have evicted it. */
import { describe, expect, it } from "vitest";
import { openReplay } from "../../../../src/datasets/rlds/index.ts";
import { type MemoryDirectory, memory } from "../../../../src/files/memory.ts";
import { f32, f64, i32, type OpenReplay, packed, prioritized, Replay, shared, text, u8, uniform } from "../../../../src/index.ts";
import { migrateJournal } from "../../../../src/storage/journal/migrate.ts";
import type { Log } from "../../../../src/storage/log/log.ts";
import { peekLog } from "../../../../src/storage/log/peek.ts";
import { aboutIn } from "../../../../src/storage/open.ts";
import { TestRandom } from "../../../support/random.ts";
import { some } from "../../../support/size.ts";

const spec = {
  observation: { id: i32(2), image: u8(300), stack: shared("frames", u8(6), 3), screens: packed("screens", u8(16, 16), 2), noise: packed("noise", i32(80)) },
  reward: f32(),
  note: text({ maxBytes: 12 }),
};

/** Returns a frame of a moving bar. */
const screenOf = (episode: number, step: number) =>
  Array.from({ length: 256 }, (_, i) => (step < 0 ? 0 : Math.abs((i % 16) - (step % 16)) < 2 ? 200 + (episode % 9) : i >> 4));
const noiseOf = (episode: number, step: number) => {
  const random = new TestRandom(1000 * episode + step);
  return Array.from({ length: 80 }, () => random.below(2 ** 31));
};

interface Lived {
  readonly ids: number[];
  end: "open" | "terminated" | "truncated" | "ended";
}

const stepOf = (episode: number, step: number) => ({
  observation: {
    id: [episode, step],
    image: new Uint8Array(300).fill(episode * 7 + step),
    stack: [step - 2, step - 1, step].map((k) => new Uint8Array(6).fill(k < 0 ? 0 : 1 + ((episode * 31 + k) % 200))).flatMap((frame) => [...frame]),
    screens: [step - 1, step].flatMap((k) => screenOf(episode, k)),
    noise: noiseOf(episode, step),
  },
  reward: step / 8,
  note: `é ${episode}/${step}`,
});

/** Runs a program that opens a Replay in a directory several times; returns the written steps. */
async function world(dir: MemoryDirectory, seed: number, tables: object, items: object[]): Promise<Lived[]> {
  const random = new TestRandom(seed);
  const lived: Lived[] = [];
  for (let run = 0; run < 3; run++) {
    const replay = await Replay.open({ dir, spec, tables, retain: "all", segmentBytes: 8192, durability: "manual", logger: null } as never);
    const own = [0, 1].map((k) => replay.writers[k] ?? replay.writer({ items, keep: 4 } as never)) as unknown as {
      append(s: object): void;
      endEpisode(o?: object): void;
    }[];
    const at = own.map((_, k) => (run === 0 ? -1 : (open[k] ?? -1)));
    for (let t = 0; t < 120; t++) {
      const k = random.below(2);
      if ((at[k] as number) < 0) at[k] = lived.push({ ids: [], end: "open" }) - 1;
      const episode = at[k] as number;
      const life = lived[episode] as Lived;
      const writer = own[k] as (typeof own)[number];
      const chance = random.next();
      const step = stepOf(episode, life.ids.length);
      if (chance < 0.06 && life.ids.length > 0) {
        const terminated = random.next() < 0.5;
        writer.endEpisode({ final: { ...step, reward: 0 }, terminated });
        life.ids.push(life.ids.length);
        life.end = terminated ? "terminated" : "truncated";
        at[k] = -1;
      } else {
        writer.append(step);
        life.ids.push(life.ids.length);
      }
    }
    open.splice(0, open.length, ...at);
    await replay.flush();
    replay.dispose();
  }
  return lived;
}
const open: number[] = [];

const reading = async (dir: MemoryDirectory) => {
  const reader = await openReplay<ReturnType<typeof stepOf>>(dir.files());
  const read = [];
  for await (const { steps, beginning, end } of reader) read.push({ steps: [...steps], beginning, end });
  await reader.close();
  return { read, reader };
};

describe.each([
  ["the oldest leave", { a: { maxSize: 5 } }, [{ table: "a", length: 2 }]],
  [
    "any may leave",
    { a: { maxSize: 6, remover: uniform() }, b: { maxSize: 3, sampler: prioritized() } },
    [
      { table: "a", length: 1 },
      { table: "b", length: 4 },
    ],
  ],
  ["no item is ever made", { a: { maxSize: 5 } }, []],
])("if %s", (_, tables, items) => {
  it.each(some([1, 2], 1))("all steps of all episodes are read in order over several runs (seed %i)", async (seed) => {
    const dir = memory();
    const lived = await world(dir, seed, tables, items);
    const { read, reader } = await reading(dir);
    expect([reader.episodes, reader.steps]).toEqual([lived.length, lived.reduce((sum, { ids }) => sum + ids.length, 0)]);
    expect(await reader.lengths?.()).toEqual(lived.map(({ ids }) => ids.length));
    for (const [episode, { ids, end }] of lived.entries()) {
      const found = read[episode] as (typeof read)[number];
      expect([found.beginning, found.end]).toEqual(["there", end]);
      const plain = found.steps.map(({ observation: { id, image, stack, screens, noise }, reward, note }) => ({
        observation: { id: [...id], image, stack: [...stack], screens: [...screens], noise: [...noise] },
        reward,
        note,
      }));
      expect(plain).toEqual(
        ids.map((step) => ({ ...stepOf(episode, step), ...(step === ids.length - 1 && (end === "terminated" || end === "truncated") && { reward: 0 }) })),
      );
    }
  });

  it("all steps remain after a migration and back, with further steps in between", async () => {
    const dir = memory();
    await world(dir, 4, tables, items);
    const plainOf = async () => (await reading(dir)).read.map(({ steps, ...rest }) => ({ ...rest, steps: steps.map((step) => JSON.stringify(step)) }));
    const before = await plainOf();
    const { note, reward, ...others } = spec;
    const wider = { ...others, reward: f64(), remark: note, mood: i32() };
    const smaller = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, { ...table, maxSize: 2 }]));
    const common = { dir, retain: "all", durability: "manual", logger: null, onMismatch: "migrate" };
    const migrate = (step: object) => ({ ...step, mood: 3 });
    const next = (await Replay.open({ ...common, spec: wider, tables: smaller, rename: { note: "remark" }, migrate } as never)) as unknown as OpenReplay;
    const moods = (await reading(dir)).read.map(({ steps }) => steps.map((step) => (step as never as { mood: number }).mood));
    expect(moods).toEqual(before.map(({ steps }) => steps.map(() => 3)));
    // The next steps continue the journal and take free rows.
    const writer = next.writer({ items, keep: 4 } as never) as unknown as { append(step: object): void; endEpisode(options: object): void };
    for (let t = 0; t < 40; t++) {
      const { note: remark, ...step } = stepOf(90, t);
      writer.append({ ...step, remark, mood: t });
    }
    writer.endEpisode({ terminated: false });
    next.dispose();
    const back = ({ mood, ...step }: { mood: number }) => step;
    (await Replay.open({ ...common, spec, tables: smaller, rename: { remark: "note" }, migrate: back } as never)).dispose();
    const after = await plainOf();
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.length).toBe(before.length + 1);
    expect(after.at(-1)).toMatchObject({ end: "ended", beginning: "there" });
    const last = (await reading(dir)).read.at(-1)?.steps.map(({ note, reward }) => [note, reward]);
    expect(last).toEqual(Array.from({ length: 40 }, (_, t) => [stepOf(90, t).note, t / 8]));
  });
});

it("a migration that would make a file too large is rejected and changes nothing", async () => {
  const dir = memory();
  await world(dir, 3, { a: { maxSize: 5 } }, [{ table: "a", length: 2 }]);
  const files = dir.files();
  const existing = aboutIn(dir, peekLog(dir, { salvage: false, takeOver: false }) as Log);
  const logger = { warn: () => {}, info: () => {} };
  const migration = migrateJournal({
    directory: dir,
    existing,
    options: { spec: { ...spec, mood: i32() }, migrate: (step: object) => ({ ...step, mood: 0 }) } as never,
    takeOver: false,
    module: undefined,
    logger,
    warningLogger: null,
    maxBytes: 100_000,
  });
  const all = async () => {
    for await (const _ of migration);
  };
  await expect(all()).rejects.toThrow(/retain: "all", so a migration would write more than 100000 bytes to one file/);
  expect(dir.files()).toEqual(files);
});

it("steps of a salvaged directory are not returned twice", async () => {
  const dir = memory();
  await world(dir, 3, { a: { maxSize: 5 } }, [{ table: "a", length: 2 }]);
  const files = dir.files();
  const before = (await reading(dir)).read.flatMap(({ steps }) => steps.map(({ note }) => note));
  const newest = [...files.keys()].sort().at(-2) as string;
  const bytes = files.get(newest) as Uint8Array<ArrayBuffer>;
  bytes[bytes.length >> 1] = 255 ^ (bytes[bytes.length >> 1] as number);
  const damaged = memory({ files });
  (await Replay.open({ dir: damaged, salvage: true, logger: null })).dispose();
  const after = (await reading(damaged)).read.flatMap(({ steps }) => steps.map(({ note }) => note));
  expect(after.length).toBeLessThan(before.length);
  expect(after.length).toBeGreaterThan(before.length / 2);
  expect(new Set(after).size).toBe(after.length);
  expect(before).toEqual(expect.arrayContaining(after));
  const migrate = (step: object) => ({ ...step, mood: 1 });
  const options = { spec: { ...spec, mood: i32() }, tables: { a: { maxSize: 5 } }, logger: null, onMismatch: "migrate", migrate };
  (await Replay.open({ dir: damaged, ...options } as never)).dispose();
  expect((await reading(damaged)).read.flatMap(({ steps }) => steps.map(({ note }) => note))).toEqual(after);
});

it("blocks are read in order, even with several lanes", async () => {
  const dir = memory();
  const replay = await Replay.open({ dir, spec: { x: f32() }, tables: { a: { maxSize: 12 } }, retain: "all", logger: null });
  const [one, two] = [replay.writer({ items: [{ table: "a", length: 1 }], keep: 2 }), replay.writer({ items: [{ table: "a", length: 2 }], lanes: 2, keep: 2 })];
  for (let t = 0; t < 20; t++) {
    one.appendColumns({ x: [3 * t, 3 * t + 1, 3 * t + 2] });
    two.appendColumns({
      x: [
        [200 + 2 * t, 300 + 2 * t],
        [201 + 2 * t, 301 + 2 * t],
      ].flat(),
    } as never);
  }
  replay.dispose();
  const { read } = await reading(dir);
  const from = (first: number, n: number) => Array.from({ length: n }, (_, i) => first + i);
  const found = read.map(({ steps }) => steps.map(({ observation }) => (observation as never as { x: number }).x));
  expect(found.sort((a, b) => (a[0] as number) - (b[0] as number))).toEqual([from(0, 60), from(200, 40), from(300, 40)]);
});

it('a journal without retain "all" returns only the steps in its tables', async () => {
  const dir = memory();
  const replay = await Replay.open({ dir, spec: { x: f32() }, tables: { a: { maxSize: 3 } }, logger: null });
  const writer = replay.writer({ items: [{ table: "a", length: 1 }], keep: 2 });
  for (let x = 0; x < 10; x++) writer.append({ x });
  replay.dispose();
  expect((await openReplay(dir.files())).steps).toBe(3);
});

describe("steps that one call both adds and evicts are read", () => {
  const kept = async (options: object, run: (replay: OpenReplay) => void) => {
    const dir = memory();
    const replay = await Replay.open({ dir, spec: { x: f32() }, retain: "all", logger: null, ...options } as never);
    run(replay as never);
    replay.dispose();
    const { read } = await reading(dir);
    return read.map(({ steps, end }) => [steps.map(({ observation }) => (observation as never as { x: number }).x).join(), end]).sort();
  };
  const x = (first: number, n: number) => Array.from({ length: n }, (_, i) => first + i);
  const tables = { a: { maxSize: 3 } };
  const items = [{ table: "a", length: 1 }] as const;

  it("a block that is larger than the table", async () => {
    const found = await kept({ tables }, (replay) => {
      const writer = replay.writer({ items: [...items], keep: 1 });
      for (let k = 0; k < 3; k++) writer.appendColumns({ x: x(40 * k, 40) } as never);
    });
    expect(found).toEqual([[x(0, 120).join(), "open"]]);
  });

  it("a block of many episodes without items, with and without final steps", async () => {
    const found = await kept({ tables }, (replay) => {
      const writer = replay.writer({ items: [], keep: 1 });
      const at = (...steps: number[]) => Array.from({ length: 12 }, (_, i) => Number(steps.includes(i)));
      writer.appendColumns({ x: x(0, 12) } as never, { ends: at(1, 8), terminated: at(4), truncated: at(6), final: { x: [100, 200] } } as never);
    });
    const ends = [
      ["0,1", "ended"],
      ["2,3,4,100", "terminated"],
      ["5,6,200", "truncated"],
      ["7,8", "ended"],
      ["9,10,11", "open"],
    ];
    expect(found).toEqual(ends.sort());
  });

  it("steps of several lanes without items, whose episodes end in the same call", async () => {
    const found = await kept({ tables }, (replay) => {
      const writer = replay.writer({ items: [], keep: 1, lanes: 7 });
      for (let t = 0; t < 5; t++)
        writer.appendColumns({ x: x(0, 7).map((lane) => 100 * lane + t) } as never, { ends: x(0, 7).map((lane) => Number(t === lane)) } as never);
    });
    const episodes = x(0, 7).flatMap((lane) => {
      const steps = x(100 * lane, 5);
      const [ended, open] = [steps.slice(0, lane + 1), steps.slice(lane + 1)];
      return [[ended.join(), lane < 5 ? "ended" : "open"], ...(open.length > 0 ? [[open.join(), "open"]] : [])];
    });
    expect(found).toEqual(episodes.sort());
  });

  it("an episode that ends when nothing else holds its steps", async () => {
    const found = await kept({ tables }, (replay) => {
      const writer = replay.writer({ items: [], keep: 1 });
      for (const n of x(0, 3)) writer.append({ x: n } as never);
      writer.endEpisode();
      writer.append({ x: 9 } as never);
    });
    expect(found).toEqual([
      ["0,1,2", "ended"],
      ["9", "open"],
    ]);
  });

  it.each([
    ["with frames that steps share", shared("frames", u8(4), 3)],
    ["with frames that are packed", packed("frames", u8(16, 16), 3)],
  ])("%s", async (_, frame) => {
    const dir = memory();
    const stacked = { frame, x: f32() };
    const each = frame.shape.reduce((a: number, b) => a * b, 1);
    const replay = await Replay.open({ dir, spec: stacked, tables, retain: "all", logger: null });
    const writer = replay.writer({ items: [{ table: "a", length: 2 }], keep: 2 });
    const frames = (t: number) => [t - 2, t - 1, t].flatMap((k) => new Array(each).fill(Math.max(k, 0)));
    for (let k = 0; k < 4; k++) writer.appendColumns({ frame: x(30 * k, 30).flatMap(frames), x: x(30 * k, 30) } as never);
    // Steps are kept in memory only until the journal has stored them.
    expect(replay.stats().steps).toBeLessThan(8);
    replay.dispose();
    const { read } = await reading(dir);
    const found = read.flatMap(({ steps }) => steps.map(({ observation }) => observation as never as { x: number; frame: ArrayLike<number> }));
    expect(found.map((step) => [step.x, ...Array.from(step.frame)])).toEqual(x(0, 120).map((t) => [t, ...frames(t)]));
    (await Replay.open({ dir: memory({ files: dir.files() }), logger: null })).dispose();
  });
});
