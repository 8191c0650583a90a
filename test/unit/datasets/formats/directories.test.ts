/** Tests datasets in directories of reprise/storage: every reader must accept any object that implements the type. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { openRecording, openReplay, openRlds, type ReadEpisode, type RldsReader, type RldsStep, type Source } from "../../../../src/datasets/rlds/index.ts";
import { f32, i32, Replay } from "../../../../src/index.ts";
import { open as openRecorder } from "../../../../src/recorder/index.ts";
import { type Directory, memory, type StorageFile } from "../../../../src/storage/index.ts";
import { all } from "../../../support/rlds-data.ts";
import { dataFolder } from "../rlds/data.ts";

/** Returns the files of a folder by relative path. */
function filesOf(folder: string, prefix = ""): [string, Uint8Array][] {
  return readdirSync(folder).flatMap((name) => {
    const path = `${folder}/${name}`;
    return statSync(path).isDirectory()
      ? filesOf(path, `${prefix}${name}/`)
      : ([[prefix + name, new Uint8Array(readFileSync(path))]] as [string, Uint8Array][]);
  });
}

/** Returns a directory similar to OPFS: it has no path, opens few files, and reads any length. */
function foreign(below: Directory): Directory {
  return {
    name: "opfs",
    fewFiles: true,
    list: () => below.list(),
    open: (name, create) => {
      const file = below.open(name, create);
      // Each read returns only a few bytes, as on some systems.
      const read: StorageFile["read"] = (into, at) => file.read(into.subarray(0, 100), at);
      return { size: file.size, read, write: file.write, truncate: file.truncate, sync: file.sync, close: file.close };
    },
    remove: (name) => below.remove(name),
    lock: (onTakeover, takeOver) => below.lock(onTakeover, takeOver),
  };
}

async function summary(reader: RldsReader<unknown>) {
  const episodes: ReadEpisode<unknown>[] = [];
  for await (const episode of reader as AsyncIterable<ReadEpisode<unknown>>) episodes.push(episode);
  await reader.close();
  return [reader.format, reader.stepSpec, episodes.map(({ steps, ...metadata }) => [metadata, steps.data])];
}

describe("a directory of reprise/storage", () => {
  it.each(["tfds/cartpole", "minari/cartpole/scripted-v0", "extra/lerobot_v3", "d4rl"])(
    "returns the same episodes of %s as the folder on disk",
    async (name) => {
      const from = memory({ files: filesOf(dataFolder(name)) });
      const expected = await summary(await openRlds(dataFolder(name)));
      expect(await summary(await openRlds(from))).toEqual(expected);
      expect(await summary(await openRlds(foreign(from)))).toEqual(expected);
    },
  );

  it("is rejected if it is empty, unreadable or has no dataset", async () => {
    for (const open of [openRlds, openReplay, openRecording] as readonly ((from: Source) => Promise<unknown>)[])
      await expect(open(memory())).rejects.toMatchObject({ name: "RldsError", code: expect.stringMatching(/UNSUPPORTED|NOT_FOUND|EMPTY/) });
    await expect(openRlds(memory({ files: [["a.txt", new Uint8Array(3)]] }))).rejects.toMatchObject({ code: "UNSUPPORTED" });
    const broken = memory({ files: [["a.jsonl", new Uint8Array(3)]], fault: ({ kind }) => (kind === "read" ? { code: "EIO" } : undefined) });
    await expect(openRlds(broken)).rejects.toMatchObject({ code: "IO" });
    const bomb = memory({ files: [["../a.jsonl", new Uint8Array(3)]] });
    await expect(openRlds(bomb)).rejects.toMatchObject({ code: "CORRUPT" });
  });

  it("is read as a journal, even while its owner appends", async () => {
    const dir = memory();
    const replay = await Replay.open({ dir, spec: { observation: f32(2), action: i32(), reward: f32() }, tables: { memory: { maxSize: 100 } }, logger: null });
    const writer = replay.writer({ items: [{ table: "memory", nStep: 1 }] });
    for (let i = 0; i < 5; i++) writer.append({ observation: [i, i], action: i, reward: 1 });
    for (const from of [dir, foreign(dir)]) {
      await replay.flush();
      for (const open of [openRlds, openReplay]) {
        const reader = await open(from);
        expect([reader.format, reader.steps]).toEqual(["journal", 5]);
        const [episode] = (await all(reader)) as { readonly steps: readonly RldsStep[] }[];
        expect(Array.from(episode?.steps ?? [], ({ action }) => action)).toEqual([0, 1, 2, 3, 4]);
        await reader.close();
      }
    }
    writer.append({ observation: [5, 5], action: 5, reward: 1 });
    await replay.flush();
    const again = await openReplay(dir);
    expect(again.steps).toBe(6);
    await again.close();
    replay.dispose();
  });

  it("is read as a recording, also by openRlds", async () => {
    const dir = memory();
    const recorder = await openRecorder({ dir, fps: 10, spec: { observation: f32(2), action: i32() } });
    recorder.step({ observation: [1, 2], action: 3 });
    recorder.step({ observation: [3, 4], action: 5 });
    recorder.endEpisode();
    for (const open of [openRlds, openRecording]) {
      const reader = await open(dir);
      expect([reader.format, reader.steps]).toEqual(["recording", 2]);
      await reader.close();
    }
    await recorder.close();
  });
});
