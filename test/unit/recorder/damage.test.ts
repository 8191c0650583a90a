/** Tests recordings after crashes, damage and full disks: the beginning must be readable, or reading must throw a typed error, and recording can continue. */
import { describe, expect, test } from "vitest";
import { openRecording } from "../../../src/recorder/index.ts";
import { type MemoryDirectory, memory } from "../../../src/storage/index.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled, some, stride } from "../../support/size.ts";
import { act, expected, opened, read, STORAGES, type Step, stepOf, type TwinEpisode } from "./world.ts";

const REFUSED = ["CORRUPT", "EMPTY", "NOT_FOUND", "UNSUPPORTED", "SPEC_MISMATCH"];

type Episodes = readonly { readonly finished: boolean; readonly steps: readonly Readonly<Record<string, unknown>>[] }[];

/** Returns a step without the fields that depend on how its episode ends. */
const bare = ({ is_last: _, is_terminal: __, discount: ___, ...rest }: Readonly<Record<string, unknown>>) => rest;

/** Returns a text that is equal for equal values, whatever the order of their keys. */
const text = (value: unknown) =>
  JSON.stringify(value, (_, part) => {
    if (typeof part === "bigint") return String(part);
    const isNode = typeof part === "object" && part !== null && !Array.isArray(part);
    return isNode ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part;
  });

/** Returns whether `found` is the beginning of `whole`. The last episode may be partial, and discarded episodes may still exist. */
function begins(found: Episodes, whole: Episodes): boolean {
  return found.every((episode, i) => {
    const there = whole[i];
    if (there === undefined) return false;
    if (episode.finished || i < found.length - 1) return text(episode) === text(there);
    return episode.steps.every((step, k) => text(bare(step)) === text(bare(there.steps[k] ?? {})));
  });
}

/** Makes a recording without discarded episodes, so that reading any part from the start yields the first steps. */
async function recorded(options: Partial<Parameters<typeof opened>[0]>, steps: number, seed = 5) {
  const dir = memory();
  const recorder = await opened({ dir, segmentBytes: 4096, ...options });
  const random = new TestRandom(seed);
  const twin: TwinEpisode[] = [];
  for (let i = 0; i < steps; i++) {
    const step = stepOf(random);
    recorder.step(step);
    if (recorder.length === 1) twin.push({ steps: [step] });
    else (twin.at(-1) as TwinEpisode).steps.push(step);
    if (random.below(5) > 0) continue;
    const end = { success: random.below(2) === 1, task: `task ${i}` };
    await recorder.endEpisode(end);
    (twin.at(-1) as TwinEpisode).end = end;
  }
  await recorder.close();
  return { dir, twin, whole: expected(twin) as unknown as Episodes };
}

/** Reads a directory; returns the episodes or the error code. */
async function tried(files: Map<string, Uint8Array>): Promise<Episodes | string> {
  try {
    return (await read(files)) as unknown as Episodes;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === undefined || !REFUSED.includes(code)) throw error;
    return code;
  }
}

async function goesOn(files: Map<string, Uint8Array>, salvage = false): Promise<Episodes> {
  const dir = memory({ files });
  const recorder = await opened({ dir, salvage });
  const { episodes } = recorder;
  const step: Step = stepOf(new TestRandom(1));
  recorder.step(step);
  await recorder.endEpisode({ task: "after" });
  expect(recorder.episodes).toBe(episodes + 1);
  await recorder.close();
  const all = (await read(dir.crash())) as unknown as Episodes;
  expect(all.length).toBe(episodes + 1);
  expect(all.at(-1)).toMatchObject({ task: "after", finished: true });
  return all.slice(0, -1);
}

test("a newest file that is cut at any byte yields a prefix, and recording can continue", { timeout: 120_000 }, async () => {
  const { dir, whole } = await recorded({}, 60);
  const files = dir.files();
  const newest = [...files.keys()].sort().at(-1) as string;
  const bytes = files.get(newest) as Uint8Array<ArrayBuffer>;
  let steps = 0;
  for (let cut = 0; cut <= bytes.length; cut += stride(13, 211)) {
    const left = new Map<string, Uint8Array>(files).set(newest, bytes.slice(0, cut));
    const found = await tried(left);
    // The previous file refers to this one, so its head must have been on the disk.
    if (typeof found === "string" && steps === 0 && found === "CORRUPT") continue;
    if (typeof found === "string") throw new Error(`cut at ${cut}: ${found}`);
    expect(begins(found, whole)).toBe(true);
    const count = found.reduce((sum, { steps }) => sum + steps.length, 0);
    expect(count).toBeGreaterThanOrEqual(steps);
    steps = count;
    if (cut % 3 === 0) expect(await goesOn(left)).toEqual(found);
  }
  expect(steps).toBe(60);
});

test.each(STORAGES)("acknowledged steps survive a crash at any unsynced byte (%s in %s)", async (images, imagesIn) => {
  const dir = memory();
  const random = new TestRandom(9);
  const twin: TwinEpisode[] = [];
  const recorder = await opened({ dir, images, imagesIn, segmentBytes: 4096, durability: "manual" });
  let sure: Episodes = [];
  for (let i = 0; i < scaled(60); i++) {
    await act(recorder, twin, random, 1 + random.below(6));
    const now = expected(twin) as unknown as Episodes;
    if (random.below(4) === 0) {
      await recorder.flush();
      sure = now;
    }
    const left = dir.crash(random.below(2) * random.below(dir.unsynced + 1)).files();
    const found = await tried(left);
    if (typeof found === "string") expect(sure.length).toBe(0);
    else {
      // A discarded episode may still exist, as an unfinished one at the end.
      const kept = begins(found, now) ? found : found.slice(0, -1);
      expect(begins(kept, now)).toBe(true);
      expect(begins(sure, found) || begins(sure, now)).toBe(true);
      expect(kept.length).toBeGreaterThanOrEqual(sure.filter(({ finished }) => finished).length);
      if (random.below(6) === 0) await goesOn(left);
    }
  }
  await recorder.close();
});

test.each(["raw", "png"] as const)("frames are on the disk before the log refers to them (%s)", { timeout: 120_000 }, async (images) => {
  const unsynced = new Set<string>();
  const dir = memory({
    fault: ({ kind, file }) => {
      if (/\.(raw|png)$/.test(file)) {
        if (kind === "write") unsynced.add(file);
        if (kind === "sync" || kind === "remove") unsynced.delete(file);
      }
      return undefined;
    },
  });
  const random = new TestRandom(13);
  const twin: TwinEpisode[] = [];
  const recorder = await opened({ dir, images, imagesIn: "files", segmentBytes: 4096, durability: "manual" });
  let [sure, lost]: [Episodes, number] = [[], 0];
  for (let i = 0; i < scaled(40); i++) {
    await act(recorder, twin, random, 1 + random.below(12));
    const now = expected(twin) as unknown as Episodes;
    const way = random.below(4);
    if (way === 0) await recorder.flush();
    // Opening a reader in this process flushes the log.
    if (way === 1) await openRecording(dir);
    if (way < 2) sure = now;
    // After a power failure, the whole log is on the disk, but frames that were not awaited are lost.
    const left = dir.files();
    for (const file of unsynced) left.delete(file);
    lost += unsynced.size;
    const found = await tried(left);
    if (typeof found === "string") expect([found, sure.length]).toEqual(["EMPTY", 0]);
    else {
      // A discarded episode may exist or not, like an unfinished one at the end.
      const least = begins(sure, now) ? sure : sure.slice(0, -1);
      const most = begins(found, now) ? found : found.slice(0, -1);
      expect([begins(least, found), begins(most, now)]).toEqual([true, true]);
    }
  }
  await recorder.close();
  expect(lost).toBeGreaterThan(0);
});

const WAYS = ["flip", "flip", "cut", "delete", "zero", "append", "exchange"] as const;

function mutated(files: Map<string, Uint8Array>, random: TestRandom): Map<string, Uint8Array> {
  const names = [...files.keys()].filter((name) => !name.startsWith("lock")).sort();
  // Separate frames consist of many files, so half of the changes affect the log.
  const segments = names.filter((name) => name.endsWith(".rpr"));
  const hit = random.below(2) === 0 ? segments : names;
  const name = hit[random.below(hit.length)] as string;
  const bytes = (files.get(name) as Uint8Array).slice();
  const way = WAYS[random.below(WAYS.length)];
  const at = random.below(Math.max(1, bytes.length));
  const changed = new Map(files);
  if (way === "flip")
    for (let k = random.below(3); k >= 0; k--) bytes[random.below(bytes.length)] = (bytes[random.below(bytes.length)] as number) ^ (1 << random.below(8));
  if (way === "zero") bytes.fill(0, at, at + random.below(200));
  changed.set(name, way === "cut" ? bytes.subarray(0, at) : way === "append" ? Uint8Array.of(...bytes, 1, 2, 3) : bytes);
  if (way === "delete") changed.delete(name);
  if (way === "exchange") {
    const other = names[random.below(names.length)] as string;
    changed.set(name, files.get(other) as Uint8Array).set(other, files.get(name) as Uint8Array);
  }
  return changed;
}

describe("altered recordings", () => {
  test.each(STORAGES)("cause a typed error, or are read as a prefix (%s in %s)", { timeout: 240_000 }, async (images, imagesIn) => {
    const { dir, whole } = await recorded({ images, imagesIn }, 40);
    const random = new TestRandom(11);
    const counts = { read: 0, refused: 0, on: 0, salvaged: 0 };
    for (let i = 0; i < scaled(400); i++) {
      const files = mutated(dir.files(), random);
      const found = await tried(files);
      if (typeof found === "string") counts.refused++;
      else {
        counts.read++;
        expect(begins(found, whole)).toBe(true);
      }
      if (i % 2 > 0) continue;
      for (const salvage of [false, true]) {
        try {
          // If separate frames are damaged, the episodes before the damage cannot be read.
          const before = await goesOn(files, salvage).catch((error) => {
            if (imagesIn === "files" && error.code === "CORRUPT") return [];
            throw error;
          });
          expect(begins(before, whole)).toBe(true);
          if (salvage) counts.salvaged++;
          else counts.on++;
          break;
        } catch (error) {
          if (!REFUSED.includes((error as { code: string }).code)) throw error;
        }
      }
    }
    expect(Math.min(counts.read, counts.refused, counts.on)).toBeGreaterThan(0);
  });
});

describe("a full disk", () => {
  /** Creates a directory on a disk that can be filled. */
  function disk() {
    const state = { full: 0, dir: undefined as unknown as MemoryDirectory, random: new TestRandom(3) };
    state.dir = memory({
      fault: ({ kind }) => {
        if (state.full === 0 || kind === "read" || kind === "remove") return undefined;
        state.full--;
        return kind === "sync" ? undefined : { code: "ENOSPC", bytes: kind === "write" ? state.random.below(60) : 0 };
      },
    });
    return state;
  }

  test.each(
    some(
      STORAGES.flatMap(([images, place]) => (["always", "manual"] as const).map((durability) => [images, place, durability] as const)),
      3,
    ),
  )("a rejected call records nothing, and acknowledged steps survive (%s in %s, %s)", async (images, imagesIn, durability) => {
    const state = disk();
    const { random } = state;
    const twin: TwinEpisode[] = [];
    const recorder = await opened({ dir: state.dir, images, imagesIn, durability, segmentBytes: 4096 });
    let [refused, sure] = [0, 0];
    const count = () => twin.reduce((sum, { steps }) => sum + steps.length, 0);
    for (let i = 0; i < 200; i++) {
      if (state.full === 0 && random.below(12) === 0) state.full = 1 + random.below(12);
      const before = [recorder.episodes, recorder.length];
      try {
        if (recorder.length > 2 && random.below(4) === 0) {
          const end = { task: `t${i}`, success: true };
          await recorder.endEpisode(end);
          (twin.at(-1) as TwinEpisode).end = end;
        } else {
          const step = stepOf(random);
          recorder.step(step);
          if (recorder.length === 1) twin.push({ steps: [step] });
          else (twin.at(-1) as TwinEpisode).steps.push(step);
        }
        if (durability === "always") sure = count();
      } catch (error) {
        expect((error as { code: string }).code).toBe("IO");
        expect((error as Error).message).toMatch(/ENOSPC.*this call had no effect/);
        expect([recorder.episodes, recorder.length]).toEqual(before);
        refused++;
      }
      if (random.below(8) === 0)
        await recorder.flush().then(
          () => {
            sure = count();
          },
          (error) => expect(error.code).toBe("IO"),
        );
      if (random.below(12) > 0) continue;
      const found = await tried(state.dir.crash().files());
      const there = typeof found === "string" ? 0 : found.reduce((sum, { steps }) => sum + steps.length, 0);
      expect(there).toBeGreaterThanOrEqual(sure);
    }
    // If steps wait in memory, little is written before a flush, so few errors occur.
    if (durability === "always" || imagesIn === "files") expect(refused).toBeGreaterThan(10);
    state.full = 0;
    await recorder.flush();
    expect(await read(state.dir.crash())).toEqual(expected(twin));
    await recorder.close();
    if (imagesIn === "files") {
      const frames = [...state.dir.files().keys()].filter((name) => /\.(raw|png)$/.test(name));
      await (await opened({ dir: state.dir })).close();
      expect(frames.length).toBe(2 * count());
    }
  });

  test("a timer that finds no space logs it once, and the next step tries again", async () => {
    const state = disk();
    const heard: string[] = [];
    const recorder = await opened({
      dir: state.dir,
      durability: { everyMs: 1 },
      logger: { warn: (text) => heard.push(text), info: (text) => heard.push(text) },
    });
    recorder.step(stepOf(state.random));
    state.full = 1000;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(heard).toEqual([expect.stringMatching(/ENOSPC.*in memory$/)]);
    expect(() => recorder.step(stepOf(state.random))).toThrow(expect.objectContaining({ code: "IO" }));
    state.full = 0;
    recorder.step(stepOf(state.random));
    await recorder.close();
    expect(heard[1]).toMatch(/written again$/);
    expect((await openRecording(state.dir.crash())).steps).toBe(2);
  });

  test("a failed sync ends the recording, and acknowledged steps survive", async () => {
    let fails = false;
    const dir = memory({ fault: ({ kind }) => (fails && kind === "sync" ? { code: "EIO" } : undefined) });
    const recorder = await opened({ dir, durability: "always" });
    recorder.step(stepOf(new TestRandom(1)));
    fails = true;
    for (let i = 0; i < 2; i++) expect(() => recorder.step(stepOf(new TestRandom(1)))).toThrow(expect.objectContaining({ code: "IO" }));
    await expect(recorder.close()).rejects.toThrow(expect.objectContaining({ code: "IO" }));
    expect((await openRecording(dir.crash())).steps).toBe(1);
  });

  test("a failed sync of separate frames also ends the recording, with a message to reopen it", async () => {
    let fails = false;
    const dir = memory({ fault: ({ kind, file }) => (fails && kind === "sync" && file.endsWith(".raw") ? { code: "EIO" } : undefined) });
    const recorder = await opened({ dir, durability: "always", imagesIn: "files" });
    recorder.step(stepOf(new TestRandom(1)));
    fails = true;
    const messages: string[] = [];
    for (let i = 0; i < 2; i++)
      try {
        recorder.step(stepOf(new TestRandom(2)));
      } catch (error) {
        messages.push((error as Error).message);
      }
    expect(messages).toEqual([
      expect.stringMatching(/the device failed.*this call had no effect$/),
      expect.stringMatching(/Open the recording again.*this call had no effect$/),
    ]);
    await expect(recorder.close()).rejects.toThrow(expect.objectContaining({ code: "IO" }));
    expect((await openRecording(dir.crash())).steps).toBe(1);
  });

  test("a failed sync of the log keeps the separate frames of a written step", async () => {
    let fails = false;
    const dir = memory({ fault: ({ kind, file }) => (fails && kind === "sync" && file.endsWith(".rpr") ? { code: "EIO" } : undefined) });
    const recorder = await opened({ dir, durability: "always", imagesIn: "files" });
    recorder.step(stepOf(new TestRandom(1)));
    fails = true;
    expect(() => recorder.step(stepOf(new TestRandom(2)))).toThrow(expect.objectContaining({ code: "IO" }));
    await expect(recorder.close()).rejects.toThrow(expect.objectContaining({ code: "IO" }));
    const steps = async (left: MemoryDirectory) => ((await read(left)) as unknown as Episodes).map((episode) => episode.steps.length);
    expect(await steps(dir.crash())).toEqual([1]);
    expect(await steps(dir.crash(Number.POSITIVE_INFINITY))).toEqual([2]);
  });
});
