/** Tests version 2.1 of LeRobot: its layout, and reading it back with openLeRobot and pyarrow. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  type Films,
  type MakeVideoEncoder,
  memorySink,
  openLeRobot,
  openRlds,
  type RldsDataset,
  type Source,
  type StepSpec,
  writeLeRobot,
} from "../../../../../src/datasets/rlds/index.ts";
import { root } from "../../../../support/core.ts";
import { FLAGS, leaf, type MadeDataset, made } from "../../../../support/random-steps.ts";
import { pythonWith } from "../../../../support/real-python.ts";
import { all } from "../../../../support/rlds-data.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-lerobot-21-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SPEC = {
  observation: { images: { top: leaf("u8", [4, 5, 3]) }, state: leaf("f32", [2]) },
  action: leaf("f32", [2]),
  ...{ reward: leaf("f64"), discount: leaf("f64"), ...FLAGS, task: leaf("string") },
} as const;
const METADATA = { operator: leaf("string") } as const;
const demonstrations = (lengths: readonly number[] = [3, 1, 5]) =>
  made(SPEC as unknown as StepSpec, lengths, { metadataSpec: METADATA, metadata: (k) => ({ operator: `operator ${k}` }) });

const asDataset = (data: MadeDataset) => data as unknown as RldsDataset<unknown>;
const stepsAt = <T>(data: MadeDataset, k: number) => (data[k] as MadeDataset[number]).steps as T[];
const OPTIONS = { fps: 10, version: "2.1", finalStep: "transition" } as const;
const text = (files: Map<string, Uint8Array>, path: string) => new TextDecoder().decode(files.get(path));
const lines = (files: Map<string, Uint8Array>, path: string) =>
  text(files, path)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

test("version 2.1 has one table per episode and JSON lines, and loses only metadata", async () => {
  const data = demonstrations();
  const files = memorySink();
  const { losses } = await writeLeRobot(asDataset(data), files, OPTIONS);
  expect(losses).toEqual([{ what: "operator", reason: "LeRobot 2.1 has no metadata of episodes" }]);
  expect([...files.keys()].sort()).toEqual([
    ...[0, 1, 2].map((k) => `data/chunk-000/episode_00000${k}.parquet`),
    ...["meta/episodes.jsonl", "meta/episodes_stats.jsonl", "meta/info.json", "meta/tasks.jsonl"],
  ]);
  expect([...files.keys()].at(-1)).toBe("meta/info.json");
  expect(JSON.parse(text(files, "meta/info.json"))).toMatchObject({
    ...{ codebase_version: "v2.1", total_episodes: 3, total_frames: 9, total_videos: 0, total_chunks: 1, chunks_size: 1000, fps: 10, splits: { train: "0:3" } },
    ...{ data_path: "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet", video_path: null },
  });
  const tasks = lines(files, "meta/tasks.jsonl");
  expect(tasks.map(({ task_index }) => task_index)).toEqual(tasks.map((_, i) => i));
  const told = data.map(({ steps }) => [...new Set((steps as { task: string }[]).map(({ task }) => task))]);
  expect(lines(files, "meta/episodes.jsonl")).toEqual(data.map(({ steps }, k) => ({ episode_index: k, tasks: told[k], length: steps.length })));
  const statistics = lines(files, "meta/episodes_stats.jsonl");
  expect(statistics.map(({ episode_index }) => episode_index)).toEqual([0, 1, 2]);
  for (const [k, { stats }] of statistics.entries()) {
    const actions = stepsAt<{ action: Float32Array }>(data, k).map(({ action }) => [...action] as [number, number]);
    expect(Object.keys(stats.action)).toEqual(["min", "max", "mean", "std", "count"]);
    expect(stats.action.min).toEqual([0, 1].map((i) => Math.min(...actions.map((action) => action[i] as number))));
    expect(stats.action.count).toEqual([actions.length]);
    expect(stats["observation.images.top"].mean).toEqual(Array(3).fill([[expect.any(Number)]]));
    expect(stats.index.min).toEqual([[0, 3, 4][k]]);
  }
  const reader = await openRlds(files as Source);
  expect([reader.format, reader.episodes, reader.steps]).toEqual(["lerobot", 3, 9]);
  for (const [k, { steps }] of (await all(reader)).entries())
    for (const [i, step] of (steps as unknown[]).entries()) expect(step).toMatchObject(stepsAt<object>(data, k)[i] as object);
});

test("each version replaces the other, including its films", async () => {
  const files = memorySink();
  const videoEncoder: MakeVideoEncoder = async ({ write }) => ({
    codec: "h264",
    add: (pixels) => write(pixels.slice(0, 4)),
    finish: () => write(Uint8Array.of(9)),
    cancel: async () => {},
  });
  const filmed = { ...OPTIONS, videos: ["observation/images/top"], videoEncoder, overwrite: true };
  await writeLeRobot(asDataset(demonstrations()), files, filmed);
  const films = (version: RegExp) => [...files.keys()].filter((path) => version.test(path));
  expect(films(/^videos/)).toEqual([0, 1, 2].map((k) => `videos/chunk-000/observation.images.top/episode_00000${k}.mp4`));
  expect(films(/^videos/).map((path) => files.get(path)?.length)).toEqual([13, 5, 21]);
  expect(JSON.parse(text(files, "meta/info.json"))).toMatchObject({
    total_videos: 3,
    video_path: "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
  });
  const again = await openLeRobot(files);
  for await (const { steps } of again)
    expect(steps.columns.observation.images.top.path.data[0]).toMatch(/^videos\/chunk-000\/observation\.images\.top\/episode_/);
  await writeLeRobot(asDataset(demonstrations()), files, { ...filmed, version: "3.0" });
  expect(films(/^videos/)).toEqual(["videos/observation.images.top/chunk-000/file-000.mp4"]);
  expect(films(/^(data|meta)/).some((path) => /episode_|jsonl/.test(path))).toBe(false);
  await writeLeRobot(asDataset(demonstrations([2])), files, filmed);
  expect([...files.keys()].sort()).toEqual([
    ...["data/chunk-000/episode_000000.parquet", "meta/episodes.jsonl", "meta/episodes_stats.jsonl", "meta/info.json", "meta/tasks.jsonl"],
    "videos/chunk-000/observation.images.top/episode_000000.mp4",
  ]);
  await expect(writeLeRobot(asDataset(demonstrations()), files, { ...OPTIONS, version: "2.0" as never })).rejects.toThrow(
    'version must be "2.1" or "3.0", got "2.0"',
  );
});

test("a film of one episode is copied, and a film of several episodes is rejected", async () => {
  const source = join(root, "test/data/wild/lerobot_video");
  const filmed = await openLeRobot(source);
  const lengths = (await filmed.lengths?.()) as readonly number[];
  expect(lengths.length).toBeGreaterThan(1);
  const options = { fps: Number(filmed.about.fps), version: "2.1" } as const;
  const films = filmed.films as Films;
  const refused = memorySink();
  await expect(writeLeRobot(filmed as RldsDataset<unknown>, refused, { ...options, films })).rejects.toThrow("version 2.1 requires one film per episode");
  expect(refused.size).toBe(0);
  // The film is the same, except that it claims the frame count of the first episode.
  const film = readFileSync(join(source, "videos/observation.images.top/chunk-000/file-000.mp4"));
  film.writeUInt32BE(lengths[0] as number, film.indexOf("stsz") + 12);
  const bytes = new Uint8Array(film);
  const file = { name: "film", size: bytes.length, read: async (at: number, length: number) => bytes.slice(at, at + length), close: async () => {} };
  const one = {
    stepSpec: filmed.stepSpec,
    metadataSpec: filmed.metadataSpec,
    async *[Symbol.asyncIterator]() {
      for await (const episode of filmed) {
        yield episode;
        break;
      }
    },
  };
  const copied = memorySink();
  await writeLeRobot(one as unknown as RldsDataset<unknown>, copied, { ...options, films: { ...films, open: async () => file } });
  expect(copied.get("videos/chunk-000/observation.images.top/episode_000000.mp4")).toEqual(bytes);
  const reader = await openLeRobot(copied);
  for await (const { steps } of reader) expect(steps.length).toBe(lengths[0]);
  await filmed.close();
});

const python = pythonWith("pyarrow.parquet");

test.skipIf(python === undefined)("pyarrow reads the tables in the documented layout", async () => {
  const data = demonstrations();
  const path = join(folder, "pyarrow");
  await writeLeRobot(asDataset(data), path, OPTIONS);
  const script = [
    "import json, os, sys, pyarrow.parquet as pq",
    "root = sys.argv[1]",
    "info = json.load(open(os.path.join(root, 'meta/info.json')))",
    "episodes = [json.loads(l) for l in open(os.path.join(root, 'meta/episodes.jsonl'))]",
    "tasks = {t['task_index']: t['task'] for t in map(json.loads, open(os.path.join(root, 'meta/tasks.jsonl')))}",
    "def one(e):",
    "    i = e['episode_index']",
    "    t = pq.read_table(os.path.join(root, info['data_path'].format(episode_chunk=i // info['chunks_size'], episode_index=i)))",
    "    assert t.num_rows == e['length']",
    "    return {'action': t['action'].to_pylist(), 'state': t['observation.state'].to_pylist(), 'reward': t['next.reward'].to_pylist(), 'index': t['index'].to_pylist(), 'task': [tasks[k] for k in t['task_index'].to_pylist()], 'png': [x['bytes'][1:4].decode() for x in t['observation.images.top'].to_pylist()]}",
    "print(json.dumps([one(e) for e in episodes]))",
  ].join("\n");
  const { stdout, stderr, status } = spawnSync(python as string, ["-W", "ignore", "-c", script, path], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  type Step = { readonly action: Float32Array; readonly observation: { readonly state: Float32Array }; readonly reward: number; readonly task: string };
  let index = 0;
  expect(JSON.parse(stdout)).toEqual(
    data.map(({ steps }) => {
      const own = steps as Step[];
      return {
        ...{
          action: own.map(({ action }) => [...action]),
          state: own.map(({ observation }) => [...observation.state]),
          reward: own.map(({ reward }) => reward),
        },
        ...{ index: own.map(() => index++), task: own.map(({ task }) => task), png: own.map(() => "PNG") },
      };
    }),
  );
});
