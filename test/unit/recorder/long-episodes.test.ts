/** Tests recorded episodes larger than the memory limit: their frames stay on the disk until they are needed. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import {
  createTransitionSpec,
  importRlds,
  memorySink,
  openRlds,
  pushEpisodes,
  type RldsDataset,
  type RldsStep,
  writeJsonl,
  writeLeRobot,
  writeMinari,
  writeParquet,
  writeTfds,
} from "../../../src/datasets/rlds/index.ts";
import { f32, Replay, u8 } from "../../../src/index.ts";
import { open, openRecording } from "../../../src/recorder/index.ts";
import { type Directory, memory, node } from "../../../src/storage/index.ts";
import { whole } from "../../support/size.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "reprise-long-"));
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

const STEPS = 12;
const PIXELS = 32 * 32 * 3;
/** Less than the size of an episode's frames, but more than one frame and all other data. */
const MAX_BYTES = 8 * PIXELS;
const spec = { observation: { front: u8(32, 32, 3), side: u8(32, 32, 1), state: f32(2) }, action: f32(1) };

const frame = (length: number, seed: number) => Uint8Array.from({ length }, (_, i) => (i * 7 + seed * 31) & 255);

async function record(dir: string | Directory, options: object, hasFinal: boolean): Promise<void> {
  const recorder = await open({ dir, spec, fps: 10, segmentBytes: 1 << 17, ...options });
  for (let episode = 0; episode < 2; episode++) {
    for (let t = 0; t < STEPS; t++) recorder.step(stepOf(episode, t));
    recorder.endEpisode({ task: "go", ...(hasFinal && { final: stepOf(episode, STEPS) }), ...(hasFinal && { terminated: true }) } as never);
  }
  await recorder.close();
}

const stepOf = (episode: number, t: number) => ({
  observation: { front: frame(PIXELS, episode + t), side: frame(32 * 32, 3 * t), state: [t, episode] },
  action: [t / 10],
});

const filesOf = async (write: (to: ReturnType<typeof memorySink>) => Promise<unknown>) => {
  const files = memorySink();
  await write(files);
  return new Map(files);
};

describe.each([
  ["raw, in rows", { images: "raw" }],
  ["PNG, in rows", { images: "png" }],
  ["PNG, in files", { images: "png", imagesIn: "files" }],
] as const)("frames as %s", (name, options) => {
  it.runIf(whole).each([true, false])("equal the frames read into memory (final step: %s)", async (hasFinal) => {
    const path = join(FOLDER, `${name.replace(/\W+/g, "-")}-${hasFinal}`);
    await record(path, options, hasFinal);
    for (const from of [path, node(path)]) {
      const [whole, long] = [await openRecording(from), await openRecording(from, { maxBytes: MAX_BYTES })];
      const episodes: RldsStep[][] = [];
      for await (const { steps } of whole) episodes.push([...steps]);
      let number = 0;
      for await (const { steps } of long) {
        expect([...steps]).toEqual(episodes[number++]);
        expect(() => structuredClone(steps.columns)).toThrow(/maxBytes/);
        expect(steps.data[steps.data.length - 1]).toBeDefined();
        expect(() => steps.data.map((column) => column.length)).toThrow(expect.objectContaining({ code: "UNSUPPORTED" }));
      }
      const writers: readonly ((data: RldsDataset, to: ReturnType<typeof memorySink>) => Promise<unknown>)[] = [
        (data, to) => writeParquet(data, to),
        (data, to) => writeJsonl(data, to),
        (data, to) => writeLeRobot(data, to, { fps: 10 }),
      ];
      for (const write of writers) {
        const expected = await filesOf((to) => write(whole as RldsDataset, to));
        expect(await filesOf((to) => write(long as RldsDataset, to))).toEqual(expected);
        if (from === path)
          expect(await filesOf((to) => write(importRlds(long as RldsDataset), to))).toEqual(await filesOf((to) => write(importRlds(whole as RldsDataset), to)));
      }
      // These formats store an episode in one piece.
      for (const write of [
        (to: ReturnType<typeof memorySink>) => writeTfds(long, to, { name: "x" }),
        (to: ReturnType<typeof memorySink>) => writeMinari(long, to, { id: "x-v0" }),
      ])
        await expect(filesOf(write)).rejects.toMatchObject({ code: "UNSUPPORTED", message: expect.stringMatching(/maxBytes/) });
      await whole.close();
      await long.close();
    }
  });

  it("can be pushed into a Replay", async () => {
    const dir = memory();
    if ("imagesIn" in options) return;
    await record(dir, options, false);
    const snapshots: Uint8Array[][] = [];
    for (const maxBytes of [2 ** 30, MAX_BYTES]) {
      const data = (await openRlds(dir, { maxBytes })) as RldsDataset;
      const replay = new Replay({ spec: await createTransitionSpec(data), tables: { memory: { maxSize: 1000 } } });
      const writer = replay.writer({ items: [{ table: "memory", nStep: 1 }] });
      expect(await pushEpisodes(data, writer)).toMatchObject({ episodes: 2 });
      writer.close();
      snapshots.push([...replay.snapshot()]);
      replay.dispose();
    }
    expect(snapshots[1]).toEqual(snapshots[0]);
  });
});

it("a frame that changes during reading is rejected with the name of its file", async () => {
  const path = join(FOLDER, "changed");
  await record(path, { images: "raw" }, true);
  const below = node(path);
  const reader = await openRecording(path, { maxBytes: MAX_BYTES });
  for await (const { steps } of reader) {
    const name = below.list().sort()[0] as string;
    const file = below.open(name, false);
    file.write(frame(file.size - 1000, 99), 900);
    file.close();
    expect(() => steps.at(3)).toThrow(expect.objectContaining({ code: "CORRUPT", file: name }));
    break;
  }
  await reader.close();
});
