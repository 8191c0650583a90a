/** Tests that recordings are read back unchanged from any storage: recorded in one session or several, and read as a whole or one episode at a time. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openRlds, type ReadEpisode } from "../../../src/datasets/formats/index.ts";
import { open, openRecording } from "../../../src/recorder/index.ts";
import { f32, text, u8 } from "../../../src/schema/constructors.ts";
import { memory } from "../../../src/storage/index.ts";
import { all } from "../../support/columns.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled, some } from "../../support/size.ts";
import { act, expected, opened, plain, read, SPEC, STORAGES, seen, stepOf, type TwinEpisode } from "./world.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-record-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(some(STORAGES, 2))("%s in %s", (images, imagesIn) => {
  test("a recording of several sessions is read back unchanged from memory", async () => {
    const dir = memory();
    const twin: TwinEpisode[] = [];
    const random = new TestRandom(7);
    for (let session = 0; session < scaled(6, 2); session++) {
      const recorder = await opened({ dir, images, imagesIn, segmentBytes: 4096 });
      expect(recorder.episodes).toBe(expected(twin).length);
      await act(recorder, twin, random, 60);
      await recorder.flush();
      expect(await read(dir)).toEqual(expected(twin));
      await recorder.close();
    }
    expect(await read(dir)).toEqual(expected(twin));
    expect(await read(dir.files())).toEqual(expected(twin));
  });
});

async function recorded(dir: string | ReturnType<typeof memory>, steps: number, options: Partial<Parameters<typeof opened>[0]> = {}): Promise<TwinEpisode[]> {
  const twin: TwinEpisode[] = [];
  const recorder = await opened({ dir, segmentBytes: 4096, ...options });
  await act(recorder, twin, new TestRandom(3), steps);
  await recorder.close();
  return twin;
}

test.each(some(STORAGES, 1))("a recording in a folder is read back by openRecording and openRlds (%s in %s)", async (images, imagesIn) => {
  const dir = join(folder, `${images}-${imagesIn}`);
  const twin = await recorded(dir, 120, { images, imagesIn, about: { robot: "arm" } });
  expect(await read(dir)).toEqual(expected(twin));
  const reader = await openRlds(dir);
  expect(reader).toMatchObject({ format: "recording", name: dir, episodes: expected(twin).length, about: { fps: 30, robot: "arm" } });
  expect((reader.about.tasks as string[]).slice().sort()).toEqual(["pick the cube", "öffne die Tür"]);
  expect((await all(reader)).map(seen)).toEqual(expected(twin));
});

test("Blobs and URLs yield the same episodes, with few requests before steps are read", async () => {
  const dir = memory();
  const twin = await recorded(dir, 300);
  const blobs = new Map([...dir.files()].map(([name, bytes]) => [`session/${name}`, new Blob([bytes])] as const));
  expect(await read(blobs)).toEqual(expected(twin));
  const files = dir.files();
  const asked: string[] = [];
  const fetch = async (url: URL | string, { headers = {} }: { headers?: { Range?: string } } = {}) => {
    const name = String(url).split("/").at(-1) as string;
    const bytes = files.get(name);
    asked.push(name);
    if (bytes === undefined) return new Response(null, { status: 404 });
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.Range ?? "") ?? [];
    const part = bytes.slice(Number(from ?? 0), Math.min(Number(to ?? bytes.length - 1), bytes.length - 1) + 1);
    return new Response(part, { status: 206, headers: { "Content-Range": `bytes ${from}-${Number(from) + part.length - 1}/${bytes.length}` } });
  };
  const reader = await openRecording("http://127.0.0.1/run", { fetch: fetch as unknown as typeof globalThis.fetch });
  expect(reader.episodes).toBe(expected(twin).length);
  // Each older file is opened twice: for its size, and for its summary of the previous file.
  const older = [...files.keys()].sort().slice(0, -2);
  expect(older.length).toBeGreaterThan(5);
  expect(Math.max(...older.map((name) => asked.filter((one) => one === name).length))).toBe(2);
  expect((await all(reader)).map(seen)).toEqual(expected(twin));
});

test("a frame file that fails to read, or an aborted read, is not reported as damage", async () => {
  let fails = false;
  const dir = memory({ fault: ({ kind, file }) => (fails && kind === "read" && file.endsWith(".raw") ? { code: "EIO" } : undefined) });
  await recorded(dir, 20, { imagesIn: "files" });
  const stop = new AbortController();
  const files = dir.files();
  const fetch = async (url: URL | string) => {
    const name = String(url).split("/").at(-1) as string;
    if (name.endsWith(".raw")) stop.abort();
    stop.signal.throwIfAborted();
    return new Response(files.get(name)?.slice() ?? null, { status: files.has(name) ? 200 : 404 });
  };
  const reader = await openRecording("http://127.0.0.1/run", { fetch: fetch as unknown as typeof globalThis.fetch, signal: stop.signal });
  const error = await all(reader).catch((error: unknown) => error);
  expect(error).toBe(stop.signal.reason);
  fails = true;
  await expect(all(await openRecording(dir))).rejects.toThrow(expect.objectContaining({ code: "IO", message: expect.stringContaining("the device failed") }));
});

test("a folder with many thousands of frame files is listed fewer than five times", async () => {
  const recordedTo = memory();
  const twin = await recorded(recordedTo, 100, { imagesIn: "files" });
  const others = Array.from({ length: scaled(200_000) }, (_, i) => [`900000-${String(i).padStart(6, "0")}.front.raw`, new Uint8Array(0)] as const);
  const dir = memory({ files: [...recordedTo.files(), ...others] });
  let lists = 0;
  const counted = Object.assign(Object.create(dir) as typeof dir, {
    ...{ name: dir.name, open: dir.open.bind(dir), lock: dir.lock.bind(dir) },
    list() {
      lists++;
      return dir.list();
    },
  });
  expect(await read(counted)).toEqual(expected(twin));
  expect(lists).toBeLessThan(5);
});

test("startingAt reads from any episode, in any order and concurrently, and lengths() matches", async () => {
  const dir = memory();
  const whole = expected(await recorded(dir, 400)) as { steps: object[] }[];
  const reader = await openRecording(dir);
  expect(await reader.lengths()).toEqual(whole.map(({ steps }) => steps.length));
  expect(reader.steps).toBe(whole.reduce((sum, { steps }) => sum + steps.length, 0));
  for (const i of [whole.length - 1, 0, 3, Math.floor(whole.length / 2)]) {
    for await (const episode of reader.startingAt(i)) {
      expect(seen(episode)).toEqual(whole[i]);
      break;
    }
  }
  expect((await all(reader.startingAt(2))).map(seen)).toEqual(whole.slice(2));
  expect(await all(reader.startingAt(whole.length))).toEqual([]);
  expect(() => reader.startingAt(-1)).toThrow(RangeError);
  const [a, b] = await Promise.all([all<ReadEpisode>(reader), all(reader.startingAt(1))]);
  expect([a.map((one) => seen(one)), b.map(seen)]).toEqual([whole, whole.slice(1)]);
});

test.each(some(STORAGES, 1))("leaves whose names differ only by slashes or capitals are kept apart (%s in %s)", async (images, imagesIn) => {
  const dir = memory();
  const spec = { observation: { "a/b": f32(), a: { b: f32() }, Top: u8(1, 1, 1), top: u8(1, 1, 1) }, action: f32() };
  const recorder = await open({ dir, spec, fps: 10, images, imagesIn, logger: null });
  recorder.step({ observation: { "a/b": 1, a: { b: 2 }, Top: [3], top: [4] }, action: 5 });
  await recorder.endEpisode();
  await recorder.close();
  const [episode] = await all(await openRecording(dir));
  expect(plain(episode?.steps.at(0))).toMatchObject({ observation: { "a/b": 1, a: { b: 2 }, Top: [3], top: [4] }, action: 5 });
  // The names must also differ on file systems that ignore case.
  const names = [...dir.files().keys()].map((name) => name.toLowerCase());
  expect(names.length).toBe(new Set(names).size);
});

test("an episode without an end is unfinished, and recording continues with the next", async () => {
  const dir = memory();
  const spec = { observation: { image: u8(2, 2, 3) }, action: f32() };
  const step = (action: number) => ({ observation: { image: new Uint8Array(12).fill(action) }, action });
  const first = await open({ dir, spec, fps: 10 });
  first.step(step(1));
  first.step(step(2));
  expect([first.episodes, first.length]).toEqual([0, 2]);
  await first.close();
  await using second = await open({ dir });
  expect([second.episodes, second.length, second.fps]).toEqual([1, 0, 10]);
  second.step(step(3) as never);
  await second.endEpisode({ success: true, task: "stack", terminated: true });
  expect(second.episodes).toBe(2);
  const reader = await openRecording(dir);
  expect(reader.stepSpec).toMatchObject({ reward: f32(), discount: f32(), is_last: { dtype: "bool" } });
  const episodes = await all(reader);
  expect(episodes.map(({ task, success, finished }) => [task, success, finished])).toEqual([
    ["", false, false],
    ["stack", true, true],
  ]);
  expect(episodes.map(({ steps }) => steps.length)).toEqual([2, 1]);
  expect(episodes[1]?.steps.at(0)).toMatchObject({ reward: 0, discount: 0, is_first: true, is_last: true, is_terminal: true });
});

test("rejected calls explain the cause, and change nothing", async () => {
  const dir = memory();
  const twin: TwinEpisode[] = [];
  const recorder = await opened({ dir });
  const random = new TestRandom(1);
  await expect(recorder.endEpisode()).rejects.toThrow(expect.objectContaining({ code: "EMPTY" }));
  await act(recorder, twin, random, 30);
  if (recorder.length === 0) await act(recorder, twin, random, 1);
  const good = stepOf(random);
  const bad: readonly (readonly [unknown, RegExp])[] = [
    [{ ...good, instruction: "x".repeat(25) }, /instruction must .*24/],
    [{ ...good, reward: "1" }, /reward must be f32/],
    [{ ...good, observation: { ...good.observation, front: new Uint8Array(59) } }, /observation.front must be u8 of shape \[4, 5, 3\]/],
    [{ ...good, extra: 1 }, /extra/],
    [{ ...good, action: undefined }, /action/],
    [null, /must be/],
  ];
  for (const [step, message] of bad) expect(() => recorder.step(step as never)).toThrow(message);
  const calls = {
    ...good,
    get reward() {
      recorder.step(good);
      return 1;
    },
  };
  expect(() => recorder.step(calls)).toThrow(expect.objectContaining({ code: "OUT_OF_TURN" }));
  await expect(recorder.endEpisode({ task: 3 } as never)).rejects.toThrow(/task must .*got 3/);
  await expect(recorder.endEpisode({ done: true } as never)).rejects.toThrow("endEpisode has no option");
  await expect(recorder.endEpisode({ final: { observation: { front: [1] } } } as never)).rejects.toThrow(/observation.front must be u8/);
  await recorder.close();
  expect(() => recorder.step(good)).toThrow(expect.objectContaining({ code: "CLOSED" }));
  expect(await read(dir)).toEqual(expected(twin));
});

test("open rejects invalid options, and options that differ from those of an existing recording", async () => {
  const dir = memory();
  await (await opened({ dir })).close();
  const code = (code: string) => expect.objectContaining({ code });
  for (const given of [
    { fps: 15 },
    { images: "png" },
    { imagesIn: "files" },
    { spec: { ...SPEC, reward: f32(2) } },
    { spec: { ...SPEC, instruction: text({ maxBytes: 25 }) } },
  ])
    await expect(opened({ dir, ...given } as never)).rejects.toThrow(code("SPEC_MISMATCH"));
  await expect(open({ dir: memory() })).rejects.toThrow(code("NOT_FOUND"));
  await expect(open({ dir: join(folder, "nowhere") })).rejects.toThrow(code("NOT_FOUND"));
  for (const [given, message] of [
    [{ spec: f32() }, /^spec must .*observation and action/],
    [{ spec: { observation: f32(), action: f32(), is_last: f32() } }, /without is_last, which Reprise derives/],
    [{ fps: 0 }, /fps must be a number above 0/],
    [{ images: "jpeg" }, /images must be "raw" or "png"/],
    [{ imagesIn: "cloud" }, /imagesIn must be "rows" or "files"/],
    [{ dirs: "x" }, /has no option "dirs"/],
    [{ dir: 3 }, /dir must be the path/],
    [{ durability: "sometimes" }, /durability must be/],
  ] as const)
    await expect(opened({ dir: memory(), ...given } as never)).rejects.toThrow(message);
  await expect(opened({ dir: Object.assign(memory(), { fewFiles: true }), imagesIn: "files" })).rejects.toThrow(code("UNSUPPORTED"));
  await (await opened({ dir })).close();
});

test("about must equal the recording's, in any order of keys", async () => {
  const dir = memory();
  const about = { robot: { name: "arm", joints: [1, 2] }, licence: "MIT" };
  await (await opened({ dir, about })).close();
  await (await opened({ dir, about: { licence: "MIT", robot: { joints: [1, 2], name: "arm" } } })).close();
  await (await opened({ dir })).close();
  for (const [given, path] of [
    [{ ...about, licence: "GPL" }, /^about\.licence must .*"MIT".*got "GPL"/],
    [{ ...about, robot: { name: "arm", joints: [1, 3] } }, /^about\.robot\.joints\.1 must .*2/],
    [{ ...about, more: 1 }, /^about\.more must .*omitted/],
    [{ licence: "MIT" }, /^about\.robot is required/],
    [{}, /^about\.robot is required/],
  ] as const)
    await expect(opened({ dir, about: given })).rejects.toThrow(expect.objectContaining({ code: "SPEC_MISMATCH", message: expect.stringMatching(path) }));
});

test("opening a directory again takes it over, and keeps the recorded steps", async () => {
  const dir = join(folder, "twice");
  const first = await opened({ dir, images: "png", imagesIn: "files" });
  const step = stepOf(new TestRandom(2));
  first.step(step);
  const second = await opened({ dir });
  expect(() => first.step(step)).toThrow(expect.objectContaining({ code: "CLOSED" }));
  expect(second.episodes).toBe(1);
  expect(await read(dir)).toEqual(expected([{ steps: [step] }]));
  await second.close();
});
