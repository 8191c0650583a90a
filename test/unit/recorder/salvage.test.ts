/** Tests reading a damaged recording: every whole episode must be returned, and damaged episodes are omitted. */
import { describe, expect, it, test } from "vitest";
import { openRecording } from "../../../src/recorder/index.ts";
import { type MemoryDirectory, memory } from "../../../src/storage/index.ts";
import { errorFrom } from "../../support/later.ts";
import { TestRandom } from "../../support/random.ts";
import { expectError } from "../../support/refused.ts";
import { opened, read, STORAGES, seen, stepOf } from "./world.ts";

/** Records episodes of three steps; the last one is still open, as after a crash. */
async function recorded(options: Partial<Parameters<typeof opened>[0]>, episodes = 4): Promise<MemoryDirectory> {
  const dir = memory();
  const recorder = await opened({ dir, segmentBytes: 4096, durability: "manual", ...options });
  const random = new TestRandom(3);
  for (let episode = 0; episode < episodes; episode++) {
    for (let i = 0; i < 3; i++) recorder.step(stepOf(random));
    if (episode < episodes - 1) await recorder.endEpisode({ task: `task ${episode}` });
  }
  await recorder.flush();
  return dir.crash();
}

async function salvaged(files: ReadonlyMap<string, Uint8Array>, options: Parameters<typeof openRecording>[1] = {}) {
  const recording = await openRecording(new Map(files) as never, { salvage: true, ...options });
  const episodes: { readonly task: string; readonly finished: boolean; readonly steps: readonly object[] }[] = [];
  for await (const episode of recording) episodes.push(seen(episode) as never);
  return { episodes, losses: recording.losses ?? [], recording };
}

const tasks = (episodes: readonly { readonly task: string }[]) => episodes.map(({ task }) => task);

describe.each(["raw", "png"] as const)("a frame file (%s)", (images) => {
  it.each([
    ["missing", (files: Map<string, Uint8Array>, name: string) => files.delete(name), /file of a frame is missing/],
    ["cut", (files: Map<string, Uint8Array>, name: string) => files.set(name, (files.get(name) as Uint8Array).slice(0, 5)), /truncated or altered/],
  ])("that is %s loses only its episode, or nothing if its camera is left out", async (_, damage, message) => {
    const files = (await recorded({ images, imagesIn: "files" })).files();
    const whole = await read(new Map(files) as never);
    const name = `000001-000001.observation.front.${images}`;
    expect(files.has(name)).toBe(true);
    damage(files, name);
    const error = await errorFrom(read(new Map(files) as never));
    expectError(error, "CORRUPT", message);
    expect((error as Error).message).toMatch(/Pass without: \["observation\/front"\].*Pass salvage: true to read the rest/);
    const { episodes, losses } = await salvaged(files);
    expect(episodes).toEqual(whole.filter((_, i) => i !== 1));
    expect(losses).toMatchObject([{ code: "CORRUPT", file: name }]);
    const { episodes: without, losses: none } = await salvaged(files, { salvage: false, without: ["observation/front"] });
    expect([tasks(without), none]).toEqual([["task 0", "task 1", "task 2", ""], []]);
    const observed = (of: readonly object[]) =>
      (of[1] as { readonly steps: readonly [object, { readonly observation: Record<string, unknown> }] }).steps[1].observation;
    expect({ ...observed(without), front: observed(whole).front }).toEqual(observed(whole));
  });
});

test.each(STORAGES)("a crash loses no flushed steps, and the open episode is read (%s in %s)", async (images, imagesIn) => {
  const files = (await recorded({ images, imagesIn })).files();
  const newest = [...files.keys()]
    .filter((name) => name.endsWith(".rpr"))
    .sort()
    .at(-1) as string;
  files.set(newest, Uint8Array.from([...(files.get(newest) as Uint8Array), 1, 2, 3]));
  const { episodes, losses } = await salvaged(files);
  expect(episodes.map(({ steps, finished }) => [steps.length, finished])).toEqual([
    [3, true],
    [3, true],
    [3, true],
    [3, false],
  ]);
  expect(losses.every(({ reason }) => reason.includes("not completely written"))).toBe(true);
});

test("excluded leaves take no memory", async () => {
  const files = (await recorded({})).files();
  const one = { maxBytes: 200 } as const;
  expectError(await errorFrom(salvaged(files, { ...one, salvage: false })), "UNSUPPORTED", /maxBytes/);
  const { episodes } = await salvaged(files, { ...one, salvage: false, without: ["observation/front", "observation/wrist"], rename: { action: "action/all" } });
  expect(tasks(episodes)).toEqual(["task 0", "task 1", "task 2", ""]);
  expectError(await errorFrom(salvaged(files, { without: ["action"] })), RangeError, /but remove action/);
});
