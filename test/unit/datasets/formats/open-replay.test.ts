/** Compares journals and snapshots, read as datasets, with a log of the writes: they must contain every stored step, in the order of writing. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { type Piece, storedEpisodes } from "../../../../src/batch/stored-episodes.ts";
import {
  createTrajectoryDataSpec,
  createTransitionSpec,
  importRlds,
  inspectRlds,
  memorySink,
  openParquet,
  openReplay,
  openRlds,
  openTfds,
  pushEpisodes,
  pushRldsToReverb,
  type RldsReader,
  type Source,
  writeParquet,
} from "../../../../src/datasets/rlds/index.ts";
import { bool, f32, fifo, i32, i64, lifo, prioritized, Replay, shared, text, u8, uniform } from "../../../../src/index.ts";
import { engineOf, stateOf } from "../../../../src/replay/replay.ts";
import { ReverbAddTrajectoryObserver } from "../../../../src/tf-agents/index.ts";
import { root } from "../../../support/core.ts";
import { fileServer } from "../../../support/file-server.ts";
import { errorFrom } from "../../../support/later.ts";
import { TestRandom } from "../../../support/random.ts";
import { expectError } from "../../../support/refused.ts";
import { all, expectSameColumns } from "../../../support/rlds-data.ts";
import { whole } from "../../../support/size.ts";

/** A copy of the constant in assembly/memory/layout.ts. */
const GRANULE_BITS = 12;
const SEEDS = whole ? 6 : 1;
const STEPS = whole ? 400 : 200;
const GOLDEN = join(root, "test/data/golden");
const FOLDER = mkdtempSync(join(tmpdir(), "reprise-open-replay-"));
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

const bytesOf = (replay: Replay) => new Blob([...replay.snapshot()]);

/** Identifies a step by its stored values: the episode's number in the log, and the step's number in the episode. */
interface Told {
  readonly episode: number;
  readonly step: number;
}

const spec = { observation: { id: i32(2), image: u8(300) }, action: f32(2), reward: f32(), note: text({ maxBytes: 12 }), big: i64() };

interface Logged {
  length: number;
  end: "terminated" | "truncated" | "ended" | "open";
}

/** Creates a Replay with random writes, and a log of them. */
function world(seed: number, tables: ConstructorParameters<typeof Replay>[0]["tables"], items: object[], manual: boolean) {
  const random = new TestRandom(seed);
  const replay = new Replay({ spec, tables, seed, logger: null } as never) as Replay;
  const log: Logged[] = [];
  const writers = [0, 1].map(() => ({ writer: replay.writer({ items, keep: 4 } as never), episode: -1 }));
  for (let t = 0; t < STEPS; t++) {
    const at = random.pick(writers);
    if (at.episode < 0) at.episode = log.push({ length: 0, end: "open" }) - 1;
    const logged = log[at.episode] as Logged;
    const step = stepOf(at.episode, logged.length);
    const chance = random.next();
    const writer = at.writer as never as {
      append(step: object): void;
      endEpisode(options?: object): void;
      createItem(table: string, options: object): void;
      length: number;
    };
    if (chance < 0.05 && logged.length > 0) {
      const { action: _, reward: __, ...final } = step;
      const terminated = random.next() < 0.5;
      writer.endEpisode({ final: { ...final, action: [0, 0], reward: 0 }, terminated });
      logged.length++;
      logged.end = terminated ? "terminated" : "truncated";
      at.episode = -1;
      continue;
    }
    writer.append(step);
    logged.length++;
    if (manual && random.next() < 0.3) writer.createItem("one", { length: 1 + random.below(Math.min(3, writer.length)), priority: random.next() });
    // With an nStep rule, endEpisode requires the kind of the end.
    if (random.next() < 0.03 && !items.some((item) => "nStep" in item)) {
      writer.endEpisode();
      logged.end = "ended";
      at.episode = -1;
    }
  }
  return { replay, log };
}

function stepOf(episode: number, step: number) {
  return {
    observation: { id: [episode, step], image: new Uint8Array(300).fill(episode * 7 + step) },
    action: [Math.fround(step / 3), -step],
    reward: step / 8,
    note: `é ${episode}/${step}`,
    big: 2n ** 60n + BigInt(step),
  };
}

/** Checks that a reader returns all stored steps as logged. */
async function expectLogged(reader: RldsReader, log: readonly Logged[], replay: Replay, manual = false): Promise<void> {
  const { steps: held, tables } = replay.stats();
  const hasEvicted = Object.values(tables).some(({ deletes }) => deletes > 0);
  const lengths = (await reader.lengths?.()) ?? [];
  const seen = new Map<number, Told[]>();
  let [episodes, steps, before] = [0, 0, -1];
  for await (const { steps: given, episode_id, beginning, end, final_step } of reader) {
    expect(given.length).toBe(lengths[episodes++]);
    steps += given.length;
    expect(episode_id as number).toBeGreaterThanOrEqual(before);
    before = episode_id as number;
    const told = [...given].map(({ observation: { id } }): Told => ({ episode: id[0], step: id[1] }));
    const [first] = told as [Told];
    const { length, end: how } = log[first.episode] as Logged;
    expect(told).toEqual(told.map((_, i) => ({ episode: first.episode, step: first.step + i })));
    const last = told.at(-1) as Told;
    const isEnd = last.step === length - 1;
    expect(end).toBe(isEnd ? how : "evicted");
    // With manually created items, the first stored step may be a later one.
    if (beginning !== "unknown" && (hasEvicted || !manual)) expect(beginning).toBe(first.step === 0 ? "there" : "evicted");
    const isFinal = isEnd && (how === "terminated" || how === "truncated");
    expect(final_step).toBe(isFinal ? "observation" : "transition");
    const words = ({ observation, ...rest }: ReturnType<typeof stepOf>) => ({
      ...rest,
      action: [...rest.action],
      seen: [...observation.id],
      image: Buffer.from(observation.image).toString("base64"),
    });
    const n = given.length;
    const expected = told.map(({ step: k }, i) => ({
      ...words(stepOf(first.episode, k)),
      ...(isFinal && i === n - 1 && { action: [0, 0], reward: 0 }),
      is_first: i === 0 && beginning !== "evicted",
      is_last: isEnd && how !== "open" && i === n - 1,
      is_terminal: isEnd && how === "terminated" && i === n - 1,
      discount: Number(!(isFinal && (i === n - 1 || (how === "terminated" && i === n - 2)))),
    }));
    expect([...given].map((step) => words(step as never))).toEqual(expected);
    seen.set(first.episode, [...(seen.get(first.episode) ?? []), ...told]);
  }
  expect([episodes, steps]).toEqual([reader.episodes, held]);
  // Every step occurs once.
  for (const told of seen.values()) expect(new Set(told.map(({ step }) => step)).size).toBe(told.length);
}

describe("openReplay returns the steps that were written", () => {
  const tables = {
    whole: { one: { maxSize: 1000, remover: fifo() } },
    recent: { one: { maxSize: 60, remover: fifo() } },
    scattered: { one: { maxSize: 40, sampler: prioritized(1), remover: uniform() }, two: { maxSize: 30, remover: lifo() } },
  };
  const rules = {
    single: [{ table: "one", length: 1 }],
    pairs: [{ table: "one", nStep: 1 }],
    windows: [{ table: "one", length: 4, stride: 2 }],
  };

  for (const [kind, made] of Object.entries(tables)) {
    for (const [rule, items] of Object.entries(rules)) {
      it(`${kind}, ${rule}`, async () => {
        for (let seed = 0; seed < SEEDS; seed++) {
          const { replay, log } = world(seed, made as never, [...items, ...("two" in made ? [{ table: "two", length: 2 }] : [])], false);
          const reader = await openReplay(bytesOf(replay));
          expect(reader).toMatchObject({ format: "snapshot", steps: replay.stats().steps });
          await expectLogged(reader, log, replay);
          await reader.close();
          if (kind === "whole" && rule !== "windows") expect(reader.episodes).toBe(log.filter(({ length }) => length > 0).length);
        }
      });
    }
    it(`${kind}, manually created items`, async () => {
      for (let seed = 10; seed < 10 + SEEDS; seed++) {
        const { replay, log } = world(seed, made as never, [], true);
        await expectLogged(await openReplay(bytesOf(replay)), log, replay, true);
      }
    });
  }
});

describe("the golden files", () => {
  const ids = async (reader: RldsReader<unknown>) =>
    (await all(reader)).map(({ steps }) => steps.map((step) => (step as { observation: { wide: Uint8Array } }).observation.wide[0]));

  it("the journal and the snapshot contain the same episodes", async () => {
    const journal = await openRlds(join(GOLDEN, "journal"));
    const snapshot = await openRlds(join(GOLDEN, "snapshot.rpr"));
    expect([journal.format, snapshot.format, journal.steps, snapshot.steps]).toEqual(["journal", "snapshot", 36, 36]);
    expect(journal.stepSpec).toMatchObject({
      observation: { frames: { dtype: "u8", shape: [2, 16] }, said: { dtype: "string", shape: [] } },
      action: {},
      reward: {},
    });
    const found = await ids(journal);
    expect(found.flat().length).toBe(36);
    for (const run of found) expect(run).toEqual(run.map((_, i) => (run[0] as number) + i));
    await expectSameColumns(journal, snapshot as never);
    const [first] = await all(journal);
    expect(first?.steps[0]).toMatchObject({ observation: { said: expect.any(String) } });
    for (const { steps } of await all(journal))
      for (const step of steps) {
        const { frames, wide } = (step as { observation: { frames: Uint8Array; wide: Uint8Array } }).observation;
        const t = (wide[0] as number) % 7;
        expect([frames[16], wide[1099]]).toEqual([t, wide[0]]);
      }
    await journal.close();
  });

  it("the journal and the snapshot open from every kind of source", async () => {
    const expected = JSON.stringify(await ids(await openReplay(join(GOLDEN, "journal"))));
    const names = readdirSync(join(GOLDEN, "journal"));
    const files = new Map(names.map((name) => [name, new Uint8Array(readFileSync(join(GOLDEN, "journal", name)))]));
    const chosen = [...files].map(([name, bytes]) => {
      const file = new File([bytes], name);
      Object.defineProperty(file, "webkitRelativePath", { value: `run/${name}` });
      return file;
    });
    const sources: Source[] = [
      pathToFileURL(join(GOLDEN, "journal")),
      files,
      new Map([...files].map(([name, bytes]) => [`deep/er/${name}`, new Blob([bytes])])),
      chosen,
    ];
    for (const from of sources) expect(JSON.stringify(await ids(await openRlds(from)))).toBe(expected);
    const snapshot = new Uint8Array(readFileSync(join(GOLDEN, "snapshot.rpr")));
    await using server = await fileServer(GOLDEN, true);
    for (const from of [new Blob([snapshot]), `${server.url}/snapshot.rpr`] as const) expect((await openRlds(from)).steps).toBe(36);
  });

  it("reading does not change the folder and leaves no lock", async () => {
    const copy = join(FOLDER, "golden");
    cpSync(join(GOLDEN, "journal"), copy, { recursive: true });
    const state = () => readdirSync(copy).map((name) => [name, statSync(join(copy, name)).mtimeMs, readFileSync(join(copy, name)).toString("base64")]);
    const before = state();
    const reader = await openRlds(copy);
    await all(reader);
    expect(state()).toEqual(before);
    await reader.close();
    expect(state()).toEqual(before);
  });
});

describe("a journal that is being written", () => {
  it("is read as it was when it was opened, while its owner continues", async () => {
    const dir = join(FOLDER, "live");
    const tables = { memory: { maxSize: 1000 } };
    const replay = await Replay.open({ dir, spec: { observation: i32(), action: i32(), reward: f32() }, tables, durability: "always", logger: null });
    const writer = replay.writer({ items: [{ table: "memory", nStep: 1 }] });
    const append = (i: number) => writer.append({ observation: i, action: i, reward: i });
    for (let i = 0; i < 10; i++) append(i);
    await replay.flush();
    const reader = await openRlds(dir);
    for (let i = 10; i < 20; i++) append(i);
    writer.endEpisode({ final: { observation: 20, action: 0, reward: 0 }, terminated: true });
    await replay.flush();
    const [episode, ...more] = await all(reader);
    expect([episode?.steps.length, episode?.end, episode?.beginning, more.length]).toEqual([10, "open", "there", 0]);
    const again = await all(await openRlds(dir));
    expect(again.map(({ steps, end }) => [steps.length, end])).toEqual([[21, "terminated"]]);
    expect(replay.table("memory").size).toBe(20);
    replay.dispose();
    await reader.close();
  });
});

describe("steps in the form of RLDS", () => {
  it.each([
    ["transition", {}, {}],
    ["observation", {}, { final: { observation: 9, action: 0 } }],
    ["unknown", { is_last: bool() }, {}],
  ] as const)("final_step states the kind of the last step: %s", async (final_step, flags, end) => {
    const replay = new Replay({ spec: { observation: f32(), action: f32(), ...flags }, tables: { memory: { maxSize: 10 } }, logger: null });
    const writer = replay.writer({ items: [{ table: "memory", length: 1 }] });
    for (const last of [false, true]) writer.append({ observation: 1, action: 2, ...("is_last" in flags && { is_last: last }) } as never);
    writer.endEpisode(end as never);
    expect((await all(await openReplay(bytesOf(replay as never)))).map((episode) => episode.final_step)).toEqual([final_step]);
    replay.dispose();
  });

  it("pushed flags, discounts, rewards and final observations are restored", async () => {
    const source = await openTfds(join(root, "test/data/tfds/cartpole"));
    const replay = new Replay({ spec: await createTransitionSpec(source), tables: { memory: { maxSize: 10_000 } }, logger: null });
    const writer = replay.writer({ items: [{ table: "memory", nStep: 1 }] });
    await pushEpisodes(source, writer);
    const reader = await openReplay(bytesOf(replay as never));
    const [given, found] = [await all(source), await all(reader)];
    expect(found.length).toBe(given.length);
    found.forEach(({ steps, beginning, end }, k) => {
      const expected = given[k]?.steps as { [name: string]: unknown }[];
      expect(steps.length).toBe(expected.length);
      expect(beginning).toBe("there");
      expect(end).toBe(expected.at(-1)?.is_terminal ? "terminated" : "truncated");
      steps.forEach((step, i) => {
        const { observation, is_first, is_last, is_terminal, action, reward, discount } = step as { [name: string]: unknown };
        const own = expected[i] as { [name: string]: unknown };
        expect({ observation, is_first, is_last, is_terminal }).toEqual({
          observation: own.observation,
          is_first: own.is_first,
          is_last: own.is_last,
          is_terminal: own.is_terminal,
        });
        if (i < steps.length - 1) expect({ action, reward, discount }).toEqual({ action: own.action, reward: own.reward, discount: own.discount });
      });
    });
    // The dataset has no faults.
    expect((await inspectRlds(reader)).faultyEpisodes).toBe(0);
    const files = memorySink();
    const report = await writeParquet(importRlds(reader), files);
    expect(report.steps).toBe(reader.steps);
    await expectSameColumns(await openParquet(files), reader as never);
  });

  it("trajectories of TF-Agents become the original episodes", async () => {
    const source = await openTfds(join(root, "test/data/tfds/cartpole"));
    const replay = new Replay({ spec: await createTrajectoryDataSpec(source), tables: { memory: { maxSize: 10_000 } }, logger: null });
    await pushRldsToReverb(source, new ReverbAddTrajectoryObserver(replay as never, { tableName: "memory", sequenceLength: 2 }));
    const reader = await openReplay(bytesOf(replay as never));
    const flags = (steps: unknown[]) =>
      steps.map((step) => {
        const { observation, is_first, is_last, is_terminal } = step as { [name: string]: unknown };
        return { observation, is_first, is_last, is_terminal };
      });
    const [given, found] = [await all(source), await all(reader)];
    expect(found.map(({ steps }) => flags(steps))).toEqual(given.map(({ steps }) => flags(steps)));
    expect((await inspectRlds(reader)).faultyEpisodes).toBe(0);
  });

  it("custom names, a spec of one leaf and the option transition are supported", async () => {
    const made = (spec: object, transition?: object) => {
      const replay = new Replay({ spec, tables: { memory: { maxSize: 10 } }, logger: null, ...(transition && { transition }) } as never) as Replay;
      const writer = replay.writer({ items: [{ table: "memory", length: 1 }] });
      return { replay, writer: writer as never as { append(step: object): void; endEpisode(): void } };
    };
    const named = made({ obs: { x: f32(2) }, act: i32(), r: f32(), observation: i32(), is_last: f32() }, { observation: "obs", action: "act", reward: "r" });
    named.writer.append({ obs: { x: [1, 2] }, act: 3, r: 4, observation: 5, is_last: 6 });
    const [episode] = await all(await openReplay(bytesOf(named.replay)));
    expect(episode?.steps[0]).toMatchObject({ observation: { x: Float32Array.of(1, 2) }, action: 3, reward: 4, observation_: 5, is_last_: 6, is_last: false });
    expect(episode).toMatchObject({ end: "open", beginning: "there" });

    const slashed = made({ observation: { "a/b": f32(), a: { b: f32() } }, action: f32() });
    slashed.writer.append({ observation: { "a/b": 1, a: { b: 2 } }, action: 3 });
    expect((await all(await openReplay(bytesOf(slashed.replay))))[0]?.steps[0]).toMatchObject({ observation: { "a/b": 1, a: { b: 2 } }, action: 3 });

    const bare = made(f32(3));
    bare.writer.append([1, 2, 3] as never);
    bare.writer.endEpisode();
    expect((await all(await openReplay(bytesOf(bare.replay))))[0]).toMatchObject({
      end: "ended",
      steps: [{ observation: Float32Array.of(1, 2, 3), reward: 0, discount: 1, is_first: true, is_last: true, is_terminal: false }],
    });

    const later = made({ s: f32(), a: i32(), done: f32() });
    for (const done of [0, 0, 1]) later.writer.append({ s: done, a: 1, done });
    later.writer.endEpisode();
    const told = await openReplay(bytesOf(later.replay), { transition: { observation: "s", action: "a", terminated: "done" } });
    const [only] = await all(told);
    expect(only).toMatchObject({ end: "terminated" });
    expect(only?.steps.map((step) => (step as { discount: number }).discount)).toEqual([1, 1, 0]);
    expect(only?.steps[2]).toMatchObject({ observation: 1, action: 1, done: 1, is_terminal: true });
    expectError(await errorFrom(openReplay(bytesOf(later.replay), { transition: { observation: "x" } })), "NOT_FOUND", /transition.observation/);
  });

  it("shared frames are restored at the memory limit", async () => {
    const maxBytes = 1 << 20;
    const replay = new Replay({
      spec: { observation: shared("f", u8(16, 16), 4), action: i32() },
      tables: { memory: { maxSize: 300 } },
      maxBytes,
      logger: null,
    });
    const writer = replay.writer({ items: [{ table: "memory", length: 1 }] });
    const frames = (t: number) => Uint8Array.from({ length: 4 * 256 }, (_, i) => Math.max(0, t - 3 + Math.floor(i / 256)) % 256);
    for (let t = 0; t < 500; t++) writer.append({ observation: frames(t), action: t });
    const reader = await openReplay(bytesOf(replay as never));
    expect(reader.episodes).toBe(1);
    const [episode] = await all(reader);
    const steps = episode?.steps as { observation: Uint8Array; action: number }[];
    expect(steps.length).toBe(replay.stats().steps);
    for (const { observation, action } of steps) expect(observation).toEqual(frames(action));
    expect(episode).toMatchObject({ beginning: "evicted", end: "open" });
  });
});

describe("damaged and invalid sources", () => {
  it("are rejected with an error that names the cause", async () => {
    expectError(await errorFrom(openReplay(join(root, "test/data/tfds"))), "NOT_FOUND", /the folder has no journal: the file 00000001.rpr is missing/);
    expectError(await errorFrom(openReplay(join(FOLDER, "nowhere"))), "NOT_FOUND", /no such file or folder/);
    expectError(await errorFrom(openReplay(new Blob(["REPRISE1"]))), "CORRUPT", /the end is missing/);
    expectError(await errorFrom(openReplay(new Blob(['{"not": "a snapshot"}']))), "CORRUPT", /snapshot must begin with REPRISE1/);
    const [segment] = readdirSync(join(GOLDEN, "journal"));
    expectError(await errorFrom(openReplay(join(GOLDEN, "journal", segment as string))), "UNSUPPORTED", /a journal is a folder, got one of its files/);
    expectError(await errorFrom(openReplay("x", { split: "train" } as never)), TypeError, /split/);
    const two = new Map(["a", "b"].map((name) => [`${name}/00000001.rpr`, new Uint8Array(100)]));
    expectError(await errorFrom(openReplay(two)), "UNSUPPORTED", /2 journals \(a, b\)\. Open one of them/);
    const files = new Map(readdirSync(join(GOLDEN, "journal")).map((name) => [name, new Uint8Array(readFileSync(join(GOLDEN, "journal", name)))]));
    expectError(await errorFrom(openReplay(files, { maxBytes: 1000 })), "UNSUPPORTED", /more than the 1000 bytes that maxBytes allows\. Increase maxBytes/);
  });

  it("with a cycle of rows in an item return each row once", async () => {
    const replay = new Replay({ spec: { observation: i32(), action: i32() }, tables: { memory: { maxSize: 10 } }, logger: null });
    const writer = replay.writer({ items: [{ table: "memory", length: 4 }] });
    for (let i = 0; i < 4; i++) writer.append({ observation: i, action: i });
    writer.endEpisode();
    const engine = engineOf(replay);
    const [{ rows }] = storedEpisodes(engine, stateOf(replay)) as [Piece];
    const [, second, third] = rows as unknown as [number, number, number];
    // This is the link in the row's head (assembly/rows/row.ts).
    engine.core.u32[((third >> 10) * 2 ** GRANULE_BITS + (third & 1023) * 12) / 4 + 1] = second;
    const found = await all(await openReplay(bytesOf(replay as never)));
    expect(found.flatMap(({ steps }) => steps.map((step) => (step as { observation: number }).observation))).toEqual([0, 1, 2]);
  });

  it("with a changed byte throw an RldsError", async () => {
    const bytes = readFileSync(join(GOLDEN, "snapshot.rpr"));
    const random = new TestRandom(3);
    for (let round = 0; round < (whole ? 60 : 15); round++) {
      const damaged = new Uint8Array(bytes);
      const at = random.below(damaged.length);
      damaged[at] = (damaged[at] as number) ^ (1 + random.below(255));
      const error = await errorFrom(openReplay(new Blob([damaged])));
      expect(["CORRUPT", "UNSUPPORTED"]).toContain((error as { code?: string }).code);
      expect(error.name).toBe("RldsError");
    }
    const dir = join(FOLDER, "damaged");
    cpSync(join(GOLDEN, "journal"), dir, { recursive: true });
    const [name] = readdirSync(dir) as [string];
    const segment = readFileSync(join(dir, name));
    segment[segment.length >> 1] = (segment[segment.length >> 1] as number) ^ 255;
    writeFileSync(join(dir, name), segment);
    expectError(await errorFrom(openReplay(dir)), "CORRUPT", /./);
  });
});
