/** Tests packed leaves in all functions that copy or convert steps: the results must equal those of shared leaves, which are not compressed. */
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { openReplay, pushEpisodes } from "../../src/datasets/rlds/index.ts";
import { f32, fifo, i32, packed, Replay, type Spec, shared, u8, uniform } from "../../src/index.ts";
import { PersistentReplayBuffer, PrioritizedReplayBuffer, ReplayBuffer } from "../../src/pfrl/index.ts";
import { open, openRecording } from "../../src/recorder/index.ts";
import type { RowLeaf } from "../../src/schema/leaf.ts";
import { describeSpec } from "../../src/schema/spec.ts";
import { memory } from "../../src/storage/index.ts";
import {
  EpisodicReplayBuffer,
  LocalClient,
  PyUniformReplayBuffer,
  ReverbAddTrajectoryObserver,
  ReverbReplayBuffer,
  TFUniformReplayBuffer,
  trajectorySpec,
} from "../../src/tf-agents/index.ts";
import { broken } from "../support/health.ts";
import { storeOf } from "../support/pfrl.ts";
import { Pictures } from "../support/pictures.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf, errorOf, expectError } from "../support/refused.ts";
import { pair } from "./remote/support.ts";
import { episode } from "./tf-agents/support.ts";

/** A leaf that shares its frames unpacked, and the same leaf packed. */
const FORMS = [shared("screens", u8(20, 20), 2), packed("screens", u8(20, 20), 2)] as const;
const pictures = (n: number, size = 400) => {
  const made = new Pictures(size, 20, new TestRandom(n));
  return Array.from({ length: n }, () => made.next());
};
const stacks = (n: number) => {
  const frames = pictures(n + 1);
  return Array.from({ length: n }, (_, t) => new Uint8Array([...(frames[t] as Uint8Array), ...(frames[t + 1] as Uint8Array)]));
};

/** Returns the result of a call for each of the two leaves. */
const both = async <T>(make: (leaf: RowLeaf & { readonly stack: number }) => T | Promise<T>): Promise<[T, T]> => [
  await make(FORMS[0] as never),
  await make(FORMS[1] as never),
];
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, one) => (ArrayBuffer.isView(one) ? [...(one as Uint8Array)].map(Number) : one)));

test("a remote writer stores the same bytes as a local one", async () => {
  const spec = { observation: FORMS[1], x: i32() };
  const options = { spec, tables: { t: { maxSize: 300 } }, seed: 3 };
  const rules = { items: [{ table: "t" as const, length: 3 }] };
  const { replay, writer } = await pair(options, rules);
  const local = new Replay(options);
  const own = local.writer(rules);
  for (const [x, observation] of stacks(60).entries()) {
    own.append({ observation, x });
    await writer.append({ observation, x } as never);
    if (x % 20 === 19) {
      own.endEpisode();
      await writer.endEpisode();
    }
  }
  const block = { observation: new Uint8Array(stacks(7).flatMap((one) => [...one])), x: [1, 2, 3, 4, 5, 6, 7] };
  own.appendColumns(block);
  await writer.appendColumns(block as never);
  await writer.flush();
  expect(bytesOf(replay as never).equals(bytesOf(local))).toBe(true);
  expect(broken(replay)).toEqual([]);
});

test("a remote writer may share the frames, or use plain leaves", async () => {
  const replay = new Replay({ spec: { observation: FORMS[1] }, tables: { t: { maxSize: 9 } } });
  const { port1, port2 } = new MessageChannel();
  const { remoteWriter } = await import("../../src/remote/index.ts");
  for (const leaf of [FORMS[0], u8(2, 20, 20)]) {
    const [, writer] = await Promise.all([
      replay.acceptWriter(port1, { items: [{ table: "t", length: 1 }] }),
      remoteWriter(port2, { spec: { observation: leaf } }),
    ]);
    await writer.append({ observation: stacks(1)[0] } as never);
    await writer.close();
  }
  expect(replay.tables.t.size).toBe(2);
  port1.close();
});

describe("reprise/agents", () => {
  test.each(["TFUniformReplayBuffer", "PyUniformReplayBuffer", "EpisodicReplayBuffer"])("%s returns the same as with shared leaves", async (name) => {
    const [one, other] = await both((leaf) => {
      const spec = { o: leaf as unknown as ReturnType<typeof u8>, n: i32() };
      const data = stacks(40);
      if (name === "PyUniformReplayBuffer") {
        const buffer = new PyUniformReplayBuffer(spec, { capacity: 10, seed: 2 } as never);
        for (const [n, o] of data.entries()) buffer.addBatch({ o: [o], n: [n] } as never);
        return plain([buffer.gatherAll(), buffer.getNext({ sampleBatchSize: 3, numSteps: 2 })]);
      }
      if (name === "EpisodicReplayBuffer") {
        const buffer = new EpisodicReplayBuffer(spec as never, { capacity: 5, beginEpisodeFn: () => false, endEpisodeFn: () => false, seed: 2 } as never);
        for (let k = 0; k < 8; k++)
          buffer.addSequence({ o: new Uint8Array(data.slice(5 * k, 5 * k + 5).flatMap((o) => [...o])), n: [0, 1, 2, 3, 4] } as never, -1 as never);
        return plain([buffer.gatherAll?.(), buffer.numFrames()]);
      }
      const buffer = new TFUniformReplayBuffer(spec, { batchSize: 2, maxLength: 6, seed: 2 } as never);
      for (let t = 0; t < 20; t++) buffer.addBatch({ o: [data[t], data[t + 20]], n: [t, -t] } as never);
      return plain([buffer.gatherAll(), buffer.getNext({ sampleBatchSize: 3, numSteps: 2 })]);
    });
    expect(other).toEqual(one);
    expect(JSON.stringify(one).length).toBeGreaterThan(1000);
  });

  test("an observer stores the same as with shared leaves, and ReverbReplayBuffer opens its table", async () => {
    const [one, other] = await both((leaf) => {
      const spec = trajectorySpec({ observation: leaf as unknown as ReturnType<typeof u8>, action: i32() });
      const replay = new Replay({ spec, tables: { t: { maxSize: 50, sampler: fifo() } } });
      const observer = new ReverbAddTrajectoryObserver(replay as never, { tableName: "t", sequenceLength: 2 });
      const frames = stacks(30);
      for (let k = 0; k < 3; k++) for (const [i, step] of episode(8, 10 * k).entries()) observer({ ...step, observation: frames[9 * k + i] } as never);
      const client = new LocalClient(replay as never);
      const buffer = new ReverbReplayBuffer(spec as never, { tableName: "t", sequenceLength: 2, client } as never);
      expect(buffer.capacity).toBe(50);
      return plain((replay.table("t") as never as { sample(n: number, o: object): { detached(): unknown } }).sample(20, { replacement: false }).detached());
    });
    expect(other).toEqual(one);
  });
});

describe("reprise/pfrl", () => {
  const step = (frames: readonly Uint8Array[], t: number) => ({
    state: [frames[t], frames[t + 1]],
    action: t % 4,
    reward: t / 2,
    nextState: [frames[t + 1], frames[t + 2]],
    isStateTerminal: t % 10 === 9,
  });
  const fill = <B extends { append(transition: object): void }>(buffer: B, n = 40): B => {
    const frames = pictures(n + 2, 20 * 20);
    for (let t = 0; t < n; t++) buffer.append(step(frames, t));
    return buffer;
  };
  const options = [{ seed: 4 }, { seed: 4, packed: true }, { seed: 4, packed: { ratio: 10 } }] as const;
  const isPacked = (buffer: object) => storeOf(buffer).contents?.steps.engine.entryPools.length;

  test.each([
    ["ReplayBuffer", (own: object) => new ReplayBuffer({ capacity: 25, numSteps: 2, ...own })],
    ["PrioritizedReplayBuffer", (own: object) => new PrioritizedReplayBuffer({ capacity: 25, ...own })],
    ["PersistentReplayBuffer", (own: object) => new PersistentReplayBuffer(memory(), 25, own as never)],
  ])("%s packs the frames of stacks, and returns the same as without packing", (_, make) => {
    const [raw, ...others] = options.map((own) => fill(make(own) as ReplayBuffer)) as [ReplayBuffer, ...ReplayBuffer[]];
    expect([raw, ...others].map(isPacked)).toEqual([0, 1, 1]);
    const seen = (buffer: ReplayBuffer) => {
      const sampled = plain(buffer.sample(8, { form: "list" }));
      const priorities = buffer as unknown as { updateErrors?(errors: number[]): void };
      priorities.updateErrors?.([1, 2, 3, 4, 5, 6, 7, 8]);
      return [sampled, plain([...buffer.items()])];
    };
    const [expected, ...found] = [raw, ...others].map(seen);
    for (const one of found) expect(one).toEqual(expected);
  });

  test("files are the same with and without packing, and load in both", () => {
    const [raw, packing] = options.map((own) => fill(new ReplayBuffer({ capacity: 25, ...own }))) as [ReplayBuffer, ReplayBuffer];
    const directory = memory();
    raw.save({ directory, file: "raw" });
    packing.save({ directory, file: "packed" });
    for (const [file, own] of [
      ["raw", options[1]],
      ["packed", options[0]],
    ] as const) {
      const buffer = new ReplayBuffer({ capacity: 25, ...own });
      buffer.load({ directory, file });
      expect(plain([...buffer.items()])).toEqual(plain([...raw.items()]));
      expect(isPacked(buffer)).toBe(own === options[1] ? 1 : 0);
    }
    const dir = memory();
    fill(new PersistentReplayBuffer(dir, 25, { packed: true, durability: "always" }) as unknown as ReplayBuffer).items();
    const again = new PersistentReplayBuffer(memory({ files: dir.files() }), 25, {} as never);
    expect(plain([...again.items()])).toEqual(plain([...raw.items()]));
    expect(isPacked(again)).toBe(0);
  });

  test("a million screens fit if they are packed, and otherwise the error suggests packing", () => {
    const screens = { state: Array.from({ length: 4 }, () => new Uint8Array(84 * 84)), action: 0, reward: 0 };
    expectError(
      errorOf(() => new ReplayBuffer(1_000_000).append(screens)),
      RangeError,
      /capacity must be small enough for maxBytes/,
      /pass packed: true/,
    );
    const buffer = new ReplayBuffer(1_000_000, { packed: { ratio: 8 } });
    buffer.append(screens);
    expect(buffer.capacity).toBe(1_000_000);
  });

  test("small states are not packed, and invalid options are rejected", () => {
    const buffer = new ReplayBuffer({ packed: true });
    buffer.append({ state: new Float32Array(20), action: 0, reward: 0 });
    expect(isPacked(buffer)).toBe(0);
    for (const bad of [1, "yes", { ratio: 0.5 }, { rate: 4 }, null]) expect(() => new ReplayBuffer({ packed: bad as never })).toThrow(/packed|ratio/);
  });
});

test("reprise/rlds pushes the same episodes into plain and packed leaves", async () => {
  const dir = memory();
  const recorder = await open({ dir, spec: { observation: { image: u8(20, 20, 1) }, action: i32() }, fps: 30 });
  const images = pictures(20);
  for (let k = 0; k < 2; k++) {
    for (let t = 0; t < 9; t++) recorder.step({ observation: { image: images[10 * k + t] }, action: t } as never);
    await recorder.endEpisode({ final: { observation: { image: images[10 * k + 9] } }, terminated: true } as never);
  }
  await recorder.close();
  const forms = [u8(20, 20, 1), packed("images", u8(20, 20, 1))];
  const [one, other] = await Promise.all(
    forms.map(async (image) => {
      const replay = new Replay({ spec: { observation: { image }, action: i32() }, tables: { t: { maxSize: 100, sampler: fifo() } } });
      const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
      const reading = await openRecording(dir);
      const pushed = await pushEpisodes(reading as never, writer as never);
      await reading.close();
      return [pushed, plain(replay.table("t").sample(replay.table("t").size, { replacement: false }).detached())];
    }),
  );
  expect(other).toEqual(one);
  expect((one as [{ steps: number }])[0].steps).toBeGreaterThan(16);
});

test("a recorder accepts packed leaves, and stores their frames unpacked", async () => {
  const dir = memory();
  const spec = { observation: packed("images", u8(20, 20, 1)), action: f32() };
  const recorder = await open({ dir, spec, fps: 30 });
  for (const [action, observation] of pictures(5).entries()) recorder.step({ observation, action });
  await recorder.close();
  expect(recorder.spec).toEqual({ observation: u8(20, 20, 1), action: f32() });
});

test("openReplay reads snapshots and journals", async () => {
  const spec = { observation: FORMS[1], reward: f32() };
  const tables = { t: { maxSize: 12, remover: uniform() } };
  const dir = memory();
  const replay = await Replay.open({ dir, spec, tables });
  const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
  for (const [reward, observation] of stacks(30).entries()) writer.append({ observation, reward });
  await replay.flush();
  const read = async (source: Parameters<typeof openReplay>[0]) => {
    const reader = await openReplay(source);
    const found = [];
    for await (const { steps } of reader)
      for (const { observation, reward } of steps as Iterable<{ observation: Uint8Array; reward: number }>) found.push([reward, [...observation]]);
    await reader.close();
    return found;
  };
  const stored = await read(new Blob([new Uint8Array(bytesOf(replay))]));
  expect(stored.length).toBeGreaterThan(12);
  const all = stacks(30);
  for (const [reward, observation] of stored) expect(observation).toEqual([...(all[reward as number] as Uint8Array)]);
  expect(await read(dir.files())).toEqual(stored);
  replay.dispose();
});

describe("specs of packed leaves", () => {
  const spec = { observation: FORMS[1], x: i32() };
  test("are shown with the shape that batches have", () => {
    expect(inspect(describeSpec(spec))).toContain("observation: u8 [2, 20, 20]");
    const replay = new Replay({ spec, tables: { t: { maxSize: 3 } } });
    expect(replay.options.spec).toEqual(spec);
    expect(replay.table("t").batch(2, { length: 1 }).steps.observation.shape).toEqual([2, 1, 2, 20, 20]);
  });

  test.each<[string, RowLeaf, RegExp]>([
    [
      "shared",
      FORMS[0],
      /^spec\.observation must be u8 of shape \[2, 20, 20\] packed as "screens", a stack of 2, as .*got u8 of shape \[2, 20, 20\] shared as "screens"/,
    ],
    ["not shared", u8(2, 20, 20), /packed as "screens".*got u8 of shape \[2, 20, 20\]/],
    ["of another name", packed("other", u8(20, 20), 2), /packed as "screens".*got .* packed as "other"/],
  ])("are rejected if they differ from the stored spec, and the error names the difference: %s", async (_, observation, says) => {
    const bytes = bytesOf(new Replay<Spec, string>({ spec, tables: { t: { maxSize: 3 } } }));
    expectError(
      errorOf(() => Replay.restore(bytes, { spec: { observation, x: i32() } as Spec })),
      "SPEC_MISMATCH",
      says,
    );
    const dir = memory();
    (await Replay.open({ dir, spec, tables: { t: { maxSize: 3 } } })).dispose();
    await expect(Replay.open({ dir, spec: { observation, x: i32() } as Spec, tables: { t: { maxSize: 3 } } })).rejects.toThrow(
      says.source.startsWith("^") ? new RegExp(says.source.replace("^spec", "^options\\.spec")) : says,
    );
  });

  test("may have another ratio, and the stored ratio stays", () => {
    const bytes = bytesOf(new Replay<Spec, string>({ spec, tables: { t: { maxSize: 3 } } }));
    const restored = Replay.restore(bytes, { spec: { observation: packed("screens", u8(20, 20), 2, { ratio: 9 }), x: i32() } });
    expect(restored.options.spec).toEqual(spec);
  });
});
