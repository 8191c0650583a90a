/** Tests readers that can start at any episode: the results must equal those of a full read, and little other data may be read. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { afterAll, describe, expect, it, test } from "vitest";
import {
  memorySink,
  openD4rl,
  openLeRobot,
  openMinari,
  openNpz,
  openParquet,
  openRlds,
  type RldsReader,
  type SourceFile,
  sourceOf,
  writeParquet,
} from "../../../../src/datasets/rlds/index.ts";
import { root } from "../../../support/core.ts";
import { errorFrom } from "../../../support/later.ts";
import { TestRandom } from "../../../support/random.ts";
import { expectError } from "../../../support/refused.ts";
import { all, everything } from "../../../support/rlds-data.ts";
import { some, whole } from "../../../support/size.ts";
import { storedArchive } from "./npz/npz-archive.ts";

const DATA = join(root, "test/data");
const FOLDER = mkdtempSync(join(tmpdir(), "reprise-random-access-"));
afterAll(() => rmSync(FOLDER, { recursive: true }));

/** Checks all guarantees of random access. */
async function expectRandomAccess(reader: RldsReader<unknown>): Promise<void> {
  const episodes = await all(reader);
  const { startingAt, lengths } = reader;
  if (startingAt === undefined || lengths === undefined) throw new Error(`no random access in ${reader.format}`);
  expect(await reader.lengths?.()).toEqual(episodes.map(({ steps }) => steps.length));
  const some = episodes.length < 20 ? episodes.map((_, k) => k) : [0, 1, Math.floor(episodes.length / 2), episodes.length - 1];
  for (const k of some) {
    const found = [];
    for await (const { steps, ...metadata } of reader.startingAt?.(k) ?? []) {
      found.push({ ...metadata, steps: [...steps] });
      if (found.length === 3) break;
    }
    expect(found, `from ${k}`).toEqual(episodes.slice(k, k + 3));
  }
  expect(await all(reader.startingAt?.(episodes.length) ?? [])).toEqual([]);
  expect(() => reader.startingAt?.(-1)).toThrow(/^episode must be an integer >= 0, got -1/);
  await reader.close();
}

/** Returns a file that counts the bytes read. */
function counted(bytes: Uint8Array, name: string): SourceFile & { read: SourceFile["read"]; count: number } {
  const file = {
    ...{ name, size: bytes.length, count: 0 },
    async read(at: number, length: number) {
      file.count += length;
      return bytes.slice(at, at + length);
    },
    async close() {},
  };
  return file;
}

describe("fixtures of real tools", () => {
  it.each([
    ["LeRobot 2", () => openLeRobot(join(DATA, "extra/lerobot_v2"))],
    ["LeRobot 3", () => openLeRobot(join(DATA, "extra/lerobot_v3"))],
    ["Minari", () => openMinari(join(DATA, "minari/cartpole/scripted-v0"))],
    ["Minari, nested", () => openMinari(join(DATA, "extra/minari/walk/nested-v0"))],
    ["D4RL", () => openD4rl(join(DATA, "d4rl/half_cheetah.hdf5"))],
    ["D4RL with a tail", () => openD4rl(join(DATA, "extra/d4rl/tail.hdf5"))],
    ["D4RL without final steps", () => openD4rl(join(DATA, "extra/d4rl/tail.hdf5"), { finalObservation: "none" })],
    ["D4RL with next observations", () => openD4rl(join(DATA, "extra/d4rl/next.hdf5"))],
    ["D4RL without timeouts", () => openD4rl(join(DATA, "extra/d4rl/no_timeouts.hdf5"), { maxEpisodeSteps: 7 })],
    ["Parquet of pandas", () => openParquet(join(DATA, "extra/plain.parquet"))],
    ["NPZ, flat", () => openNpz(join(DATA, "extra/npz/flat.npz"))],
    ["NPZ with flags", () => openNpz(join(DATA, "extra/npz/flags.npz"))],
  ] as readonly [string, () => Promise<RldsReader<unknown>>][])("%s", async (_, open) => {
    await expectRandomAccess(await open());
  });

  it("formats without an index have neither startingAt nor lengths", async () => {
    for (const path of ["tfds/cartpole", "extra/steps.jsonl"]) {
      const reader = await openRlds(join(DATA, path));
      expect([reader.startingAt, reader.lengths]).toEqual([undefined, undefined]);
      await reader.close();
    }
  });
});

describe("Parquet files of Reprise", () => {
  it.each(some([{ groupRows: 2, compression: "none" as const }, {}, { groupRows: 1 }, { fileBytes: 1, groupRows: 2 }, { fileBytes: 6000 }], 1))(
    "%o",
    async (options) => {
      const files = memorySink();
      await writeParquet(everything([0, 3, 0, 0, 5, 2, 1, 1, 4, 0]), files, options);
      await expectRandomAccess(await openParquet(files));
    },
  );

  it.runIf(whole)("are read one row group per episode", async () => {
    const files = memorySink();
    await writeParquet(everything(new Array(60).fill(20)), files, { groupRows: 20, compression: "none" });
    const bytes = files.get("part-00000.parquet") as Uint8Array;
    const file = counted(bytes, "all.parquet");
    const reader = await openParquet(file);
    const [opened] = [file.count];
    for await (const { id } of reader.startingAt?.(57) ?? []) {
      expect(id).toBe(57n * 2n ** 55n);
      break;
    }
    // One episode requires the footer twice more (for the number of episodes and for the groups) and about a sixtieth of the data.
    expect(file.count - opened).toBeLessThan(2 * opened + bytes.length / 40);
    const before = file.count;
    expect(await reader.lengths?.()).toEqual(new Array(60).fill(20));
    // Statistics contain the lengths, so only the footer is read.
    expect(file.count - before).toBeLessThanOrEqual(opened);
  });

  it("are rejected if they declare more episodes than their rows have", async () => {
    const files = memorySink();
    await writeParquet(everything([2, 2]), files, {});
    const bytes = files.get("part-00000.parquet") as Uint8Array;
    const text = Buffer.from(bytes).toString("latin1").replace('"episodes":2,', '"episodes":9,');
    const reader = await openParquet(new Map([["a.parquet", new Uint8Array(Buffer.from(text, "latin1"))]]));
    expectError(await errorFrom(reader.lengths?.() as Promise<unknown>), "CORRUPT", /the next episode must be 2, got 9/);
    expectError(await errorFrom(all(reader.startingAt?.(1) ?? [])), "CORRUPT", /declares 9 episodes up to its end/);
  });
});

describe("Parquet files of other programs", () => {
  type Columns = { readonly [name: string]: unknown[] };

  /** Returns the requested columns for episodes of the given lengths. */
  function rows(lengths: readonly number[], names: readonly string[]): Columns {
    const all: { [name: string]: unknown[] } = { obs: [], action: [] };
    lengths.forEach((length, k) => {
      for (let i = 0; i < length; i++) {
        all.obs?.push(k + i / 100);
        all.action?.push(i);
        const values: { [name: string]: unknown } = {
          ...{ episode_index: BigInt(k * 3), episode_id: `episode ${k}` },
          ...{ is_first: i === 0, is_last: i === length - 1, done: i === length - 1, timeout: i === length - 1 && k % 2 === 0 },
        };
        for (const name of names) all[name] = [...(all[name] ?? []), values[name]];
      }
    });
    return all;
  }

  function parquet(columns: Columns, from: number, to: number, rowGroupSize: number): Uint8Array {
    const writer = new ByteWriter();
    const file = new ParquetWriter({ writer, schema: schemaOf(columns) as never });
    for (let at = from; at < to; at += rowGroupSize) {
      const end = Math.min(to, at + rowGroupSize);
      file.write({ columnData: Object.entries(columns).map(([name, data]) => ({ name, data: data.slice(at, end) as number[] })), rowGroupSize });
    }
    file.finish();
    return writer.getBytes();
  }

  function schemaOf(columns: Columns) {
    const type = (value: unknown) => ({ bigint: "INT64", boolean: "BOOLEAN", number: "DOUBLE", string: "BYTE_ARRAY" })[typeof value as "bigint"];
    const leaves = Object.entries(columns).map(([name, [value]]) => ({
      ...{ name, type: type(value), repetition_type: "REQUIRED" },
      ...(typeof value === "string" ? { converted_type: "UTF8" } : {}),
    }));
    return [{ name: "schema", num_children: leaves.length }, ...leaves];
  }

  const random = new TestRandom(20);
  const below = (n: number) => random.below(n);

  const roles = ["episode_index", "episode_id", "is_first", "is_first is_last", "done timeout", ""];
  it.each(some(roles, 2))("support random access if episodes are separated by %j", async (role) => {
    const names = role.split(" ").filter(Boolean);
    for (let round = 0; round < 8; round++) {
      const lengths = Array.from({ length: 1 + below(7) }, () => 1 + below(9));
      const columns = rows(lengths, names);
      const count = lengths.reduce((a, b) => a + b, 0);
      const files = new Map<string, Uint8Array>();
      for (let from = 0; from < count; ) {
        const to = Math.min(count, from + 1 + below(count));
        files.set(`${files.size}.parquet`, parquet(columns, from, to, 1 + below(6)));
        from = to;
      }
      const reader = await openParquet(files);
      await expectRandomAccess(reader);
      const parts = names.length > 0 ? lengths : undefined;
      if (parts !== undefined) expect(await reader.lengths?.()).toEqual(parts);
    }
  });

  it.runIf(whole)("need only the episode column and the row groups of one episode", async () => {
    const lengths = new Array(50).fill(200);
    const columns = rows(lengths, ["episode_index"]);
    for (let i = 0; i < 20; i++)
      (columns as { [name: string]: unknown[] })[`more_${i}`] = (columns.obs as number[]).map((value) => value * Math.sin(i + value));
    const bytes = parquet(columns, 0, 10_000, 500);
    const file = counted(bytes, "plain.parquet");
    const reader = await openParquet(file);
    const footer = file.count;
    for await (const { steps } of reader.startingAt?.(41) ?? []) {
      expect(steps.length).toBe(200);
      expect((steps.at(7) as { observation: number }).observation).toBe(41.07);
      break;
    }
    expect(file.count).toBeLessThan(3 * footer + bytes.length / 8);
  });
});

describe("uncompressed NPZ", () => {
  // Smaller files are read in one piece.
  const ROWS = 40_000;
  const lengths = Array.from({ length: 400 }, (_, k) => 60 + (k % 5) * 20);
  const observation = new Float32Array(ROWS * 128);
  for (let i = 0; i < observation.length; i++) observation[i] = i % 8191;
  const action = Int32Array.from({ length: ROWS }, (_, i) => i);
  const ends = new Uint8Array(ROWS);
  for (let k = 0, at = 0; k < lengths.length; k++) {
    at += lengths[k] as number;
    ends[at - 1] = 1;
  }
  const columns = {
    observation: [observation, [ROWS, 128]],
    action: [action, [ROWS]],
    reward: [Float64Array.from(action, (a) => a / 2), [ROWS]],
  } as const;
  const byLengths = storedArchive({ ...columns, is_terminal: [ends, [ROWS]], lengths: [Int32Array.from(lengths), [lengths.length]] });
  const flat = storedArchive({ ...columns, terminals: [ends, [ROWS]], timeouts: [new Uint8Array(ROWS), [ROWS]] });

  test.each([
    { by: "lengths", bytes: byLengths, more: 0 },
    { by: "terminals", bytes: flat, more: 1 },
  ])("with $by: opening and one episode read less than 2 % of the file", async ({ bytes, more }) => {
    const file = counted(bytes, "large.npz");
    const reader = await openNpz(file, { finalObservation: "rlds" });
    expect((await reader.lengths?.())?.slice(0, 3)).toEqual([60 + more, 80 + more, 100 + more]);
    for await (const { steps } of reader.startingAt?.(lengths.length - 1) ?? []) {
      expect((steps.at(3) as { action: number }).action).toBe(ROWS - 140 + 3);
      expect((steps.at(3) as { observation: Float32Array }).observation[5]).toBe(((ROWS - 137) * 128 + 5) % 8191);
      break;
    }
    expect(file.count).toBeLessThan(bytes.length / 50);
    await reader.close();
  });

  it("returns every episode in a full read", async () => {
    const reader = await openNpz(new Blob([byLengths as Uint8Array<ArrayBuffer>]));
    let [k, row] = [0, 0];
    for await (const { steps } of reader) {
      const { observation: seen, action: done } = steps.columns;
      expect(steps.length).toBe(lengths[k++]);
      expect(Buffer.compare(Buffer.from(seen.data.buffer), Buffer.from(observation.buffer, row * 512, steps.length * 512))).toBe(0);
      expect(done.data[0]).toBe(row);
      row += steps.length;
    }
    expect(k).toBe(lengths.length);
  });

  it("a full read detects a changed byte", async () => {
    const altered = byLengths.slice();
    altered[5_000_000] = (altered[5_000_000] as number) ^ 1;
    const reader = await openNpz(new Blob([altered]));
    expectError(
      await errorFrom(
        (async () => {
          for await (const _ of reader);
        })(),
      ),
      "CORRUPT",
      /the checksum of observation.npy does not match/,
    );
    await reader.close();
  });

  it("an episode larger than maxBytes is rejected", async () => {
    const one = storedArchive({ ...columns, is_terminal: [ends, [ROWS]], lengths: [Int32Array.of(ROWS), [1]] });
    const reader = await openNpz(new Blob([one as Uint8Array<ArrayBuffer>]), { maxBytes: 2 ** 22 });
    expectError(
      await errorFrom(
        (async () => {
          for await (const _ of reader);
        })(),
      ),
      "CORRUPT",
      /an episode takes 20960000 bytes, more than the 4194304 that maxBytes allows. Increase maxBytes/,
    );
  });
});

test("openRlds accepts a file or folder object of the caller and does not close it", async () => {
  const { file } = await sourceOf(join(DATA, "extra/plain.parquet"));
  let closed = 0;
  const own = { ...(file as SourceFile), close: async () => void closed++ };
  const reader = await openRlds(own);
  expect((await all(reader)).length).toBeGreaterThan(0);
  await reader.close();
  expect(closed).toBe(0);
  await file?.close();
  const bytes = readFileSync(join(DATA, "extra/plain.parquet"));
  const { folder } = await sourceOf(new Map([["b/plain.parquet", new Uint8Array(bytes)]]));
  if (folder === undefined) throw new Error("no folder");
  const listed = { ...folder, list: async () => ["b/plain.parquet"] };
  expect((await all(await openRlds(listed))).length).toBeGreaterThan(0);
});
