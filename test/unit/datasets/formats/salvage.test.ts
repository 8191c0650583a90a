/** Tests that readers return the intact part of damaged and incomplete files, and report the rest. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openRlds, writeJsonl, writeParquet } from "../../../../src/datasets/rlds/index.ts";
import { f32, i32, Replay } from "../../../../src/index.ts";
import { errorFrom } from "../../../support/later.ts";
import { expectError } from "../../../support/refused.ts";
import { whole } from "../../../support/size.ts";
import { dataFolder } from "../rlds/data.ts";

const temp = mkdtempSync(join(tmpdir(), "salvage-"));
afterAll(() => rmSync(temp, { recursive: true, force: true }));

async function read(from: Parameters<typeof openRlds>[0], options: { readonly salvage?: boolean } = { salvage: true }) {
  const reader = await openRlds(from, options);
  try {
    const lengths: number[] = [];
    for await (const { steps } of reader) lengths.push(steps.length);
    return { lengths, losses: reader.losses ?? [], reader };
  } finally {
    await reader.close();
  }
}

const strict = (from: Parameters<typeof openRlds>[0]) => errorFrom(read(from, {}));

function copy(path: string): string {
  const target = mkdtempSync(join(temp, "copy-"));
  cpSync(dataFolder(path), target, { recursive: true });
  return target;
}

describe("LeRobot", () => {
  it("wrong counts after a crash are reported, and all episodes are read", async () => {
    const path = dataFolder("wild/lerobot_crash_info");
    expectError(await strict(path), "CORRUPT", /3 episodes.* 5\. Pass salvage: true to read the rest/);
    const { lengths, losses } = await read(path);
    expect(lengths).toEqual([5, 3, 4]);
    expect(losses.map(({ file, code }) => [file, code])).toEqual([["meta/info.json", "CORRUPT"]]);
    expect(losses[0]?.reason).toMatch(/declares 5 episodes.* has 3/);
  });

  it("a missing file or a Git LFS pointer loses only its own episodes", async () => {
    const { lengths, losses } = await read(dataFolder("wild/lerobot_lfs_pointer"));
    expect(lengths).toEqual([3, 4]);
    expect(losses.map(({ code }) => code)).toEqual(["CORRUPT", "NOT_FOUND"]);
    const folder = copy("extra/lerobot_v2");
    const whole = await read(folder, {});
    const [first] = readdirSync(join(folder, "data/chunk-000")).sort();
    rmSync(join(folder, "data/chunk-000", first as string));
    const { lengths: rest, losses: missing } = await read(folder);
    expect(rest).toEqual(whole.lengths.slice(1));
    expect(missing.every(({ code }) => code === "NOT_FOUND")).toBe(true);
  });

  it("a truncated list of episodes is reported, and all episodes are read", async () => {
    const folder = copy("wild/lerobot_crash_info");
    truncateSync(join(folder, "meta/episodes/chunk-000/file-000.parquet"), 1000);
    const { lengths, losses } = await read(folder);
    expect(lengths).toEqual([5, 3, 4]);
    expect(losses.some(({ file }) => file?.startsWith("meta/episodes"))).toBe(true);
  });
});

describe("HDF5 of robots", () => {
  /** Overwrites 64 bytes of a file at the offset that `bytes` returns. */
  const damage = (file: string, bytes: (whole: Buffer) => number) => {
    const whole = readFileSync(file);
    const at = bytes(whole);
    whole.fill(0xff, at, at + 64);
    writeFileSync(file, whole);
  };

  it.runIf(whole)("a truncated ALOHA file loses only its own episode", async () => {
    for (const name of ["episode_0.hdf5", "episode_4.hdf5", "episode_10.hdf5"]) {
      const folder = copy("wild/hdf5_robots/aloha");
      const whole = await read(folder, {});
      const file = join(folder, name);
      truncateSync(file, 700);
      const error = await strict(folder);
      expectError(error, "CORRUPT", /Pass salvage: true to read the rest/);
      const { lengths, losses } = await read(folder);
      expect(lengths).toEqual(whole.lengths.filter((_, i) => `episode_${i}.hdf5` !== name));
      expect(losses).toMatchObject([{ file: name, code: "CORRUPT" }]);
      rmSync(file);
      writeFileSync(file, "");
      expect((await read(folder)).lengths).toEqual(lengths);
    }
  });

  it("a damaged robomimic demonstration loses only its own episode", async () => {
    const folder = copy("wild/hdf5_robots");
    const file = join(folder, "robomimic.hdf5");
    const whole = await read(file, {});
    // The damage hits the last occurrence of the dataset's name in its demonstration's group.
    damage(file, (bytes) => bytes.lastIndexOf("actions") - 8);
    const error = await strict(file);
    expectError(error, "CORRUPT", /Pass salvage: true to read the rest/);
    const { lengths, losses } = await read(file);
    expect(lengths.length).toBe(whole.lengths.length - 1);
    expect(whole.lengths).toEqual(expect.arrayContaining(lengths));
    expect(losses.length).toBe(1);
  });
});

describe("TFDS", () => {
  it("a truncated shard keeps its whole records, and a damaged record is the only loss", async () => {
    const whole = await read(dataFolder("tfds/half_cheetah"), {});
    const folder = copy("tfds/half_cheetah");
    const [shard] = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.includes("tfrecord"))
      .sort();
    const file = join(folder, shard as string);
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, bytes.length - 100));
    expectError(await strict(folder), "CORRUPT", /truncated.*\. Pass salvage: true to read the rest \(/);
    const cut = await read(folder);
    expect(cut.lengths.length).toBe(whole.lengths.length - 1);
    expect(cut.losses.length).toBe(1);
    const altered = Buffer.from(bytes);
    altered[40] = (altered[40] as number) ^ 1;
    writeFileSync(file, altered);
    expectError(await strict(folder), "CORRUPT", /checksum/);
    const damaged = await read(folder);
    expect(damaged.lengths).toEqual(whole.lengths.slice(1));
    expect(damaged.losses).toMatchObject([{ code: "CORRUPT", offset: 0 }]);
    rmSync(file);
    expect((await read(folder)).losses).toMatchObject([{ code: "NOT_FOUND" }]);
  });
});

describe("JSON lines", () => {
  it("a truncated last line is reported as a loss", async () => {
    const path = dataFolder("wild/partial.jsonl");
    expectError(await strict(path), "CORRUPT", /line 6 is not JSON.*\. Pass salvage: true to read the rest \(/);
    const { lengths, losses } = await read(path);
    expect(lengths).toEqual([6]);
    expect(losses).toMatchObject([{ code: "CORRUPT", offset: 474 }]);
  });

  it("a damaged line in the middle splits its episode and affects no other", async () => {
    const line = (i: number) => JSON.stringify({ observation: [i], action: 0, reward: 1, done: i % 4 === 3 });
    const lines = Array.from({ length: 12 }, (_, i) => (i === 5 ? '{"observation": [' : line(i)));
    const { lengths, losses } = await read(new Blob([lines.join("\n")]));
    expect(lengths).toEqual([5, 1, 3, 5]);
    expect(losses.length).toBe(1);
  });

  it("of Reprise: a damaged line loses the rest of its episode", async () => {
    const files = new Map<string, Uint8Array>();
    const data = await openRlds(dataFolder("tfds/cartpole"), { split: "train[:3]" });
    await writeJsonl(data, files as never);
    await data.close();
    const whole = await read(files, {});
    const [[name, bytes]] = [...files] as [[string, Uint8Array]];
    const lines = new TextDecoder().decode(bytes).trimEnd().split("\n");
    // The intact part is the head, the first episode, and ten steps of the second episode.
    lines[12] = "{";
    const { lengths, losses } = await read(new Map([[name, new TextEncoder().encode(lines.join("\n"))]]));
    expect(lengths).toEqual([10, ...whole.lengths.slice(1)]);
    expect(losses.length).toBeGreaterThan(0);
  });
});

describe("Parquet", () => {
  it("of Reprise: a damaged part is reported, and other parts are read", async () => {
    const files = new Map<string, Uint8Array>();
    const data = await openRlds(dataFolder("tfds/cartpole"));
    await writeParquet(data, files as never, { fileBytes: 1, groupRows: 256 });
    await data.close();
    const whole = await read(files, {});
    const parts = [...files.keys()].sort();
    expect(parts.length).toBeGreaterThan(2);
    const rest = new Map(files);
    rest.set(parts[1] as string, (files.get(parts[1] as string) as Uint8Array).subarray(0, 500));
    expectError(await strict(rest), "CORRUPT", /\. Pass salvage: true to read the rest/);
    const { lengths, losses } = await read(rest);
    expect(lengths.length).toBeLessThan(whole.lengths.length);
    expect(lengths.length).toBeGreaterThan(0);
    expect(whole.lengths.slice(0, 3)).toEqual(lengths.slice(0, 3));
    expect(losses.some(({ file }) => file === parts[1])).toBe(true);
  });
});

describe("journals", () => {
  it("return the episodes before the damage", async () => {
    const dir = join(temp, "journal");
    const replay = await Replay.open({
      dir,
      spec: { observation: f32(2), action: i32(), reward: f32() },
      tables: { t: { maxSize: 1000 } },
      segmentBytes: 4096,
      durability: "manual",
    });
    const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
    for (let episode = 0; episode < 40; episode++) {
      for (let i = 0; i < 10; i++) writer.append({ observation: [episode, i], action: i, reward: 1 });
      writer.endEpisode({ final: { observation: [episode, 10] }, terminated: true });
      replay.flush();
    }
    replay.dispose();
    const whole = await read(dir, {});
    const segments = readdirSync(dir)
      .filter((name) => name.endsWith(".rpr"))
      .sort();
    expect(segments.length).toBeGreaterThan(3);
    const file = join(dir, segments[segments.length - 2] as string);
    const bytes = readFileSync(file);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 255;
    writeFileSync(file, bytes);
    expectError(await strict(dir), "CORRUPT", /\. Pass salvage: true to read the rest/);
    const { lengths, losses } = await read(dir);
    expect(lengths.length).toBeGreaterThan(0);
    expect(lengths.length).toBeLessThan(whole.lengths.length);
    expect(losses.length).toBeGreaterThan(0);
    // Reading must not change the file.
    expect(readFileSync(file)).toEqual(bytes);
  });
});
