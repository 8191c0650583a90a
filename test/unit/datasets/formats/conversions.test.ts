/** Tests conversions between all formats: no action, reward or episode end may be lost, whatever the kind of the last step. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  memorySink,
  openRlds,
  type RldsDataset,
  type RldsReader,
  type RldsStep,
  type Sink,
  type Source,
  type StepSpec,
  withFinalObservations,
  writeCsv,
  writeHdf5,
  writeJsonl,
  writeLeRobot,
  writeMinari,
  writeNpz,
  writeParquet,
  writeTfds,
} from "../../../../src/datasets/rlds/index.ts";
import { f32, Replay } from "../../../../src/index.ts";
import { open as record } from "../../../../src/recorder/index.ts";
import { root } from "../../../support/core.ts";
import { type EpisodeFacts, factsOf } from "../../../support/episode-facts.ts";
import { FLAGS, leaf } from "../../../support/random-steps.ts";
import { each } from "../../../support/size.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-conversions-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SPEC = { observation: leaf("f32", [2]), action: leaf("f32", [1]), reward: leaf("f32"), discount: leaf("f32"), ...FLAGS } as unknown as StepSpec;

interface Kind {
  readonly actions: number;
  readonly final: boolean;
  readonly terminal: boolean;
}

/** All kinds of episodes, with three actions or one. The only reward is at the step where it is most easily lost. */
const KINDS: readonly Kind[] = [3, 1].flatMap((actions) => [true, false].flatMap((final) => [true, false].map((terminal) => ({ actions, final, terminal }))));
const WANTED: readonly EpisodeFacts[] = KINDS.map(({ actions, terminal }) => {
  const rewards = Array.from({ length: actions }, (_, i) => rewardOf(actions, i));
  return { actions, rewards, return: rewards.reduce((a, b) => a + b), terminal };
});

function rewardOf(actions: number, i: number): number {
  return i === actions - 1 ? 1 : -0.25;
}

const observationOf = (episode: number, i: number) => Float32Array.of(10 * episode + i + 1, -i);

/** Returns an RLDS episode that declares the kind of its last step. */
function episodeOf({ actions, final, terminal }: Kind, k: number) {
  const length = actions + Number(final);
  const steps = Array.from({ length }, (_, i): RldsStep => {
    const [isLast, isFinal] = [i === length - 1, i === actions];
    return {
      observation: observationOf(k, i),
      action: Float32Array.of(isFinal ? 0 : i + 1),
      reward: isFinal ? 0 : rewardOf(actions, i),
      discount: isFinal || (terminal && i === actions - 1) ? 0 : 1,
      ...{ is_first: i === 0, is_last: isLast, is_terminal: isLast && terminal },
    };
  });
  return { final_step: final ? "observation" : "transition", steps };
}

const mixed = () =>
  Object.assign(KINDS.map(episodeOf), { stepSpec: SPEC, metadataSpec: { final_step: leaf("string") as StepSpec } }) as unknown as RldsDataset<unknown>;

type Write = (data: RldsDataset<unknown>, to: Sink) => Promise<unknown>;

/** A writer for each format. */
const TARGETS: { readonly [format: string]: Write } = {
  tfds: (data, to) => writeTfds(data, to, { name: "all" }),
  minari: (data, to) => writeMinari(data, to, { id: "all-v0" }),
  lerobot: (data, to) => writeLeRobot(data, to, { fps: 10 }),
  "lerobot 2.1": (data, to) => writeLeRobot(data, to, { fps: 10, version: "2.1" }),
  parquet: (data, to) => writeParquet(data, to),
  jsonl: (data, to) => writeJsonl(data, to),
  npz: (data, to) => writeNpz(data, to),
  hdf5: (data, to) => writeHdf5(data, to),
  csv: (data, to) => writeCsv(data, to),
};

async function written(format: string, data: RldsDataset<unknown>): Promise<RldsReader<unknown>> {
  const files = memorySink();
  await (TARGETS[format] as Write)(data, files);
  return openRlds(sourceOfSink(files));
}

/** Returns the written files. A single file is passed as a file, because readers do not search folders for it. */
function sourceOfSink(files: Map<string, Uint8Array>): Source {
  const [[name, bytes] = ["", new Uint8Array(0)]] = files;
  return files.size === 1 && /\.(npz|hdf5|csv)$/.test(name) ? new File([bytes as Uint8Array<ArrayBuffer>], name) : files;
}

const data = (path: string) => () => openRlds(join(root, "test/data", path));

/** Returns JSON lines of transitions. If an episode has a final observation, its last line contains it. */
function transitionLines(): Source {
  const lines = KINDS.flatMap(({ actions, final, terminal }, k) =>
    Array.from({ length: actions }, (_, i) => {
      const isLast = i === actions - 1;
      return {
        ...{ obs: [...observationOf(k, i)], action: [i + 1], reward: rewardOf(actions, i), terminated: isLast && terminal, truncated: isLast && !terminal },
        // All lines have the same form, so a missing next observation repeats the current one.
        next_obs: final || !isLast ? [...observationOf(k, i + 1)] : [...observationOf(k, i)],
      };
    }),
  );
  return new File([lines.map((line) => `${JSON.stringify(line)}\n`).join("")], "transitions.jsonl");
}

/** Makes a recording that contains all kinds of episodes. */
async function recorded(): Promise<string> {
  const dir = mkdtempSync(join(folder, "recording-"));
  const recorder = await record({ dir, fps: 10, spec: { observation: f32(2), action: f32(1), reward: f32() } });
  for (const [k, { actions, final, terminal }] of KINDS.entries()) {
    for (let i = 0; i < actions; i++) recorder.step({ observation: observationOf(k, i), action: [i + 1], reward: rewardOf(actions, i) });
    await recorder.endEpisode({ terminated: terminal, ...(final && { final: { observation: observationOf(k, actions) } }) });
  }
  await recorder.close();
  return dir;
}

/** Returns a snapshot of a Replay that contains all kinds of episodes. */
async function snapshot(): Promise<Source> {
  const replay = new Replay({ spec: { observation: f32(2), action: f32(1), reward: f32(), discount: f32() }, tables: { t: { maxSize: 1000 } } });
  // Items of transitions contain final steps; items of single steps do not.
  const writers = [replay.writer({ items: [{ table: "t", nStep: 1 }] }), replay.writer({ items: [{ table: "t", length: 1 }] })] as const;
  for (const [k, { actions, final, terminal }] of KINDS.entries()) {
    const writer = writers[final ? 0 : 1];
    for (let i = 0; i < actions; i++) {
      const discount = terminal && i === actions - 1 ? 0 : 1;
      writer.append({ observation: observationOf(k, i), action: [i + 1], reward: rewardOf(actions, i), discount });
    }
    // Without an explicit flag, the discount determines how an episode ends.
    writer.endEpisode(final ? { final: { observation: observationOf(k, actions) }, terminated: terminal } : {});
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of replay.snapshot()) chunks.push(chunk.slice());
  replay.dispose();
  return new File(chunks as Uint8Array<ArrayBuffer>[], "snapshot.rpr");
}

/** Datasets of every readable format, with the expected facts of those made here. */
const SOURCES: { readonly [name: string]: { readonly open: () => Promise<RldsReader<unknown>>; readonly facts?: readonly EpisodeFacts[] } } = {
  ...Object.fromEntries(Object.keys(TARGETS).map((format) => [`${format} of ours`, { open: () => written(format, mixed()), facts: WANTED }])),
  "lines of transitions": { open: () => openRlds(transitionLines()), facts: WANTED },
  "a recording": { open: async () => openRlds(await recorded()), facts: WANTED },
  "a snapshot": { open: async () => openRlds(await snapshot()), facts: WANTED },
  "a journal": { open: data("golden/journal") },
  "lines of a sparse reward": { open: data("wild/sparse.jsonl") },
  "Parquet of others": { open: data("wild/sparse.parquet") },
  "LeRobot of others": { open: data("wild/lerobot_sparse") },
  "D4RL with timeouts": { open: data("wild/d4rl_goal_timeout.hdf5") },
  "Minari in HDF5": { open: data("minari/cartpole/scripted-v0") },
  "TFDS of others": { open: () => openRlds(join(root, "test/data/tfds/cartpole"), { split: "train[:4]" }) },
  ...Object.fromEntries(["whole", "next", "tail"].map((name) => [`D4RL: ${name}`, { open: data(`extra/d4rl/${name}.hdf5`) }])),
  ...Object.fromEntries(["flags", "recorded"].map((name) => [`NPZ: ${name}`, { open: data(`extra/npz/${name}.npz`) }])),
};

const rounded = (facts: readonly EpisodeFacts[]) => facts.map((one) => ({ ...one, return: Number(one.return.toPrecision(12)) }));

// Only a subset of the pairs is tested: each source with one target, and each target with at least one source.
describe.each(Object.entries(SOURCES).map(([name, source], k) => [name, source, k] as const))("%s", (_, { open, facts }, k) => {
  test.each(each(Object.keys(TARGETS).length, Object.keys(TARGETS), k))("written as %s keeps actions, rewards, returns and ends", async (target) => {
    const source = await open();
    const before = await factsOf(source);
    if (facts !== undefined) expect(before).toEqual(facts);
    expect(before.length).toBeGreaterThan(0);
    const again = await written(target, source as RldsDataset<unknown>);
    expect(rounded(await factsOf(again))).toEqual(rounded(before));
    for await (const { final_step } of again) expect(["observation", "transition"]).toContain(final_step);
    await Promise.all([source.close(), again.close()]);
  });
});

test("table formats keep both kinds of final step, and other formats use one kind", async () => {
  const kindsOf = async (reader: RldsReader<unknown>) => {
    const kinds: unknown[] = [];
    for await (const { final_step } of reader) kinds.push(final_step);
    return kinds;
  };
  const stated = KINDS.map(({ final }) => (final ? "observation" : "transition"));
  for (const format of ["parquet", "jsonl", "npz", "hdf5", "csv"]) expect(await kindsOf(await written(format, mixed()))).toEqual(stated);
  for (const format of ["tfds", "minari"]) expect(await kindsOf(await written(format, mixed()))).toEqual(KINDS.map(() => "observation"));
  for (const format of ["lerobot", "lerobot 2.1"]) expect(await kindsOf(await written(format, mixed()))).toEqual(KINDS.map(() => "transition"));
});

test("TFDS and Minari repeat a missing final observation and count it", async () => {
  const missing = KINDS.filter(({ final }) => !final).length;
  for (const format of ["tfds", "minari"]) {
    const files = memorySink();
    expect(await (TARGETS[format] as Write)(mixed(), files)).toMatchObject({ repeated: missing });
    let k = 0;
    for await (const { steps } of await openRlds(files as Source)) {
      const { actions, final } = KINDS[k] as Kind;
      const last = (steps as { at(i: number): RldsStep; length: number }).at(actions);
      expect(steps).toHaveLength(actions + 1);
      expect(last.observation).toEqual(observationOf(k, final ? actions : actions - 1));
      expect(last).toMatchObject({ action: Float32Array.of(0), reward: 0, is_last: true });
      k++;
    }
  }
  for (const format of ["lerobot", "lerobot 2.1", "parquet", "jsonl", "npz", "hdf5", "csv"])
    expect(await (TARGETS[format] as Write)(mixed(), memorySink())).toMatchObject({ repeated: 0 });
});

test("streamed steps end like steps in an array", async () => {
  const streamed = Object.assign(
    KINDS.map((kind, k) => {
      const { steps, ...metadata } = episodeOf(kind, k);
      return {
        ...metadata,
        // All steps reuse one array for the observation, as some generators do.
        steps: (async function* () {
          const observation = new Float32Array(2);
          for (const step of steps) {
            observation.set(step.observation);
            yield { ...step, observation };
          }
        })(),
      };
    }),
    { stepSpec: SPEC, metadataSpec: { final_step: leaf("string") as StepSpec } },
  ) as unknown as RldsDataset<unknown>;
  const found = withFinalObservations(streamed);
  const files = memorySink();
  await writeJsonl(found, files);
  expect(found.finalSteps).toEqual({ repeated: 4, dropped: 0 });
  const wanted = memorySink();
  await writeJsonl(withFinalObservations(mixed()), wanted);
  expect([...files]).toEqual([...wanted]);
});
