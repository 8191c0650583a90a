/** Tests LeRobot datasets that pyarrow and pandas wrote in the layout of huggingface/lerobot. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  memorySink,
  openLeRobot,
  openTfds,
  RldsError,
  type SourceFile,
  type SourceFolder,
  sourceOf,
  withFinalObservations,
  writeTfds,
} from "../../../../../src/datasets/rlds/index.ts";
import { crc32 } from "../../../../support/crc32.ts";
import { errorFrom } from "../../../../support/later.ts";
import { expectError } from "../../../../support/refused.ts";
import { all } from "../../../../support/rlds-data.ts";

const EXTRA = fileURLToPath(new URL("../../../../data/extra/", import.meta.url));
const EXPECTED = JSON.parse(readFileSync(`${EXTRA}expected_parquet.json`, "utf8"));

/** The paths of leaves that have another name in LeRobot, by that name. */
const PATHS: { readonly [name: string]: string } = { "next.reward": "reward" };

describe.each(["lerobot_v2", "lerobot_v3"])("%s", (folder) => {
  it("returns the written columns bit by bit", async () => {
    const reader = await openLeRobot(`${EXTRA}${folder}`);
    expect({ episodes: reader.episodes, steps: reader.steps, format: reader.format }).toEqual({ episodes: 3, steps: 12, format: "lerobot" });
    const columns = new Map<string, number>();
    const lengths: number[] = [];
    for await (const { steps, episode_index } of reader) {
      expect(episode_index).toBe(BigInt(lengths.length));
      lengths.push(steps.length);
      const found = steps.columns;
      for (const name of Object.keys(EXPECTED.columns).filter((one) => one !== "episode_index")) {
        const keys = (PATHS[name] ?? name).split(".");
        const column = keys.reduce<unknown>((at, key) => (at as { [key: string]: unknown })[key], found) as { data: Uint8Array; shape: number[] };
        expect(column.shape, name).toEqual([steps.length, ...(name === "observation.gripper" ? [1] : EXPECTED.columns[name].shape)]);
        const { buffer, byteOffset, byteLength } = column.data;
        columns.set(name, crc32(new Uint8Array(buffer, byteOffset, byteLength), columns.get(name) ?? 0));
      }
    }
    expect(lengths).toEqual(EXPECTED.lengths);
    for (const [name, crc] of columns) expect({ name, crc }).toEqual({ name, crc: EXPECTED.columns[name].crc32 });
  });

  it("returns films as references, tasks as text and the last frame as the last step", async () => {
    const episodes = await all(await openLeRobot(`${EXTRA}${folder}`));
    const last = episodes.map(({ steps }) => steps.at(-1) as { [name: string]: unknown });
    expect(last.map(({ task }) => task)).toEqual([EXPECTED.tasks[0], EXPECTED.tasks[1], EXPECTED.tasks[0]]);
    expect(last.map(({ is_last, is_terminal, discount }) => [is_last, is_terminal, discount])).toEqual([
      [true, true, 0],
      [true, false, 1],
      [true, true, 0],
    ]);
    const [path, start] =
      folder === "lerobot_v2"
        ? ["videos/chunk-000/observation.images.wrist/episode_000002.mp4", 0]
        : ["videos/observation.images.wrist/chunk-000/file-000.mp4", 0.7];
    expect(last[2]).toMatchObject({
      observation: { images: { wrist: { path, timestamp: start + Math.fround(0.4) } } },
      next: { done: true, success: true },
      frame_index: 4n,
      index: 11n,
    });
    const done = await all(await openLeRobot(`${EXTRA}${folder}`, { terminal: "done" }));
    expect(done.map(({ steps }) => (steps.at(-1) as { is_terminal: boolean }).is_terminal)).toEqual([true, true, true]);
    const never = await all(await openLeRobot(`${EXTRA}${folder}`, { terminal: "never" }));
    expect(never.map(({ steps }) => (steps.at(-1) as { discount: number }).discount)).toEqual([1, 1, 1]);
  });

  it('keeps encoded images with images "bytes", and converts to an equal TFDS dataset', async () => {
    const raw = await openLeRobot(`${EXTRA}${folder}`, { images: "bytes" });
    expect(raw.stepSpec).toMatchObject({ observation: { images: { top: { dtype: "bytes", shape: [] } } } });
    const [episode] = await all(raw);
    const first = [...(episode?.steps ?? [])][0] as unknown as { observation: { images: { top: Uint8Array } } };
    expect([...first.observation.images.top.subarray(1, 4)]).toEqual([...new TextEncoder().encode("PNG")]);
    const files = memorySink();
    const source = await openLeRobot(`${EXTRA}${folder}`);
    await writeTfds(source, files, { name: "robot", images: ["observation/images/top"] });
    // RLDS requires a final observation, so the last one is repeated.
    expect(await all(await openTfds(files))).toEqual(await all(withFinalObservations(source)));
  });
});

it("openLeRobot rejects sources that are not LeRobot datasets, and invalid options", async () => {
  expectError(await errorFrom(openLeRobot(`${EXTRA}plain.parquet`)), "UNSUPPORTED", /a LeRobot dataset is a folder/);
  expectError(await errorFrom(openLeRobot(EXTRA)), "NOT_FOUND");
  expectError(await errorFrom(openLeRobot(EXTRA, { terminal: "x" as never })), RangeError, /^terminal/);
  expectError(await errorFrom(openLeRobot(EXTRA, { images: "x" as never })), RangeError, /^images/);
});

it("an IO error of an episode table is thrown, and a missing table ends the list", async () => {
  const faulty = (path: string, code: "IO" | "NOT_FOUND"): SourceFolder => ({
    name: "https://example.org/v3",
    list: async () => undefined,
    async open(name) {
      if (name === path) throw new RldsError(code, "the request failed", { file: name });
      const { file } = await sourceOf(`${EXTRA}lerobot_v3/${name}`);
      return file as SourceFile;
    },
  });
  const tables = ["chunk-000/file-000", "chunk-000/file-001", "chunk-001/file-000"].map((name) => `meta/episodes/${name}.parquet`);
  for (const table of tables) expectError(await errorFrom(openLeRobot(faulty(table, "IO"))), "IO", /the request failed/);
  for (const table of tables.slice(1)) expect((await openLeRobot(faulty(table, "NOT_FOUND"))).episodes).toBe(3);
  expectError(await errorFrom(openLeRobot(faulty(tables[0] as string, "NOT_FOUND"))), "NOT_FOUND", /the table of episodes does not exist/);
});
