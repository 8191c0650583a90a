/** Tests damaged and hostile Parquet files: a reader must throw an RldsError with the file's name, without exceeding the memory limit or hanging. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { memorySink, openLeRobot, openParquet, RldsError, writeParquet } from "../../../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../../../support/later.ts";
import { expectError } from "../../../../support/refused.ts";
import { all, everything } from "../../../../support/rlds-data.ts";
import { scaled } from "../../../../support/size.ts";

const EXTRA = fileURLToPath(new URL("../../../../data/extra/", import.meta.url));
const MUTANTS = scaled(1000);
const MAX_BYTES = 2 ** 24;

/** Returns a plain Uint8Array, because slices of a Buffer would share its memory. */
const own = (path: string) => new Uint8Array(readFileSync(path));

/** Returns a seeded generator of numbers. */
function numbers(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 12)) >>> 0) % below;
  };
}

function flip(bytes: Uint8Array, at: number, bit: number): void {
  bytes[at] = (bytes[at] as number) ^ (1 << bit);
}

function mutant(bytes: Uint8Array, next: (below: number) => number): Uint8Array {
  const made = bytes.slice();
  const footer = bytes.length - 8 - new DataView(bytes.buffer, bytes.byteOffset).getUint32(bytes.length - 8, true);
  // Half of the changes affect the footer, which contains the lengths.
  const at = () => (next(2) === 0 ? next(made.length) : footer + next(made.length - footer));
  for (let count = 1 + next(3); count > 0; count--) {
    const kind = next(5);
    if (kind === 0) made[at()] = next(256);
    else if (kind === 1) flip(made, at(), next(8));
    else if (kind === 2) made.fill(255, at(), Math.min(made.length, at() + 5));
    else if (kind === 3) made.copyWithin(at(), at(), Math.min(made.length, at() + 8));
    else return made.subarray(0, next(made.length));
  }
  return made;
}

const files: { [name: string]: Uint8Array } = {
  "of pandas": own(`${EXTRA}plain.parquet`),
  "of LeRobot": own(`${EXTRA}lerobot_v3/data/chunk-000/file-001.parquet`),
};

beforeAll(async () => {
  for (const compression of ["snappy", "none"] as const) {
    const sink = memorySink();
    await writeParquet(everything([2, 0, 3]), sink, { compression, groupRows: 3 });
    files[`of ours, ${compression}`] = sink.get("part-00000.parquet") as Uint8Array;
  }
});

describe("damaged files", () => {
  it.each(["of ours, snappy", "of ours, none", "of pandas", "of LeRobot"])("%s: are read, or cause an RldsError that names the file", async (name) => {
    const bytes = files[name] as Uint8Array;
    expect(await all(await openParquet(new Map([["x.parquet", bytes]])))).not.toHaveLength(0);
    const next = numbers(7);
    const codes: { [code: string]: number } = {};
    for (let i = 0; i < MUTANTS; i++) {
      const made = mutant(bytes, next);
      const read = openParquet(new Map([["x.parquet", made]]), { maxBytes: MAX_BYTES }).then(all);
      const code = await read.then(
        () => "read",
        (error: RldsError) => {
          if (!(error instanceof RldsError)) throw new Error(`mutant ${i}: ${error}`, { cause: error });
          if (error.file !== "x.parquet") throw new Error(`mutant ${i} names no file: ${error.message}`, { cause: error });
          return error.code;
        },
      );
      codes[code] = (codes[code] ?? 0) + 1;
    }
    const { CORRUPT = 0, read = 0, UNSUPPORTED = 0, INVALID_DATA = 0, EMPTY = 0, SPEC_MISMATCH = 0 } = codes;
    expect(CORRUPT + read + UNSUPPORTED + INVALID_DATA + EMPTY + SPEC_MISMATCH).toBe(MUTANTS);
    expect(CORRUPT).toBeGreaterThan(MUTANTS / 4);
  });
});

describe("files with wrong sizes or structures", () => {
  const read = async (bytes: Uint8Array, maxBytes = MAX_BYTES) => errorFrom(openParquet(new Map([["x.parquet", bytes]]), { maxBytes }).then(all));

  it("files that are not plain Parquet are rejected", async () => {
    expectError(await read(new Uint8Array(3)), "CORRUPT", /3 bytes.*\(x\.parquet\)/);
    expectError(await read(new Uint8Array(100)), "CORRUPT", /PAR1/);
    const encrypted = files["of pandas"]?.slice() as Uint8Array;
    encrypted.set(new TextEncoder().encode("PARE"), encrypted.length - 4);
    expectError(await read(encrypted), "UNSUPPORTED", /encrypted/);
    const long = files["of pandas"]?.slice() as Uint8Array;
    long.fill(255, long.length - 8, long.length - 4);
    expectError(await read(long), "CORRUPT", /footer declares 4294967295 bytes/);
  });

  it("footers with endless lists and structs are rejected", async () => {
    const withFooter = (footer: number[]) => {
      const bytes = new Uint8Array(4 + footer.length + 8);
      const magic = new TextEncoder().encode("PAR1");
      bytes.set(magic);
      bytes.set(footer, 4);
      new DataView(bytes.buffer).setUint32(4 + footer.length, footer.length, true);
      bytes.set(magic, bytes.length - 4);
      return bytes;
    };
    expectError(await read(withFooter([0x19, 0xfc, 0xff, 0xff, 0xff, 0x0f])), "CORRUPT", /more than the bytes that follow/);
    expectError(await read(withFooter(new Array(1000).fill(0x1c))), "CORRUPT", /nested too deeply/);
    expectError(await read(withFooter(new Array(1000).fill(0x19))), "CORRUPT", /nested too deeply|longer than/);
    expectError(await read(withFooter([0])), "CORRUPT", /footer cannot be read: a required part is missing/);
  });

  it("files larger than maxBytes are rejected", async () => {
    const bytes = files["of ours, none"] as Uint8Array;
    expectError(await read(bytes, 100), "CORRUPT", /footer has \d+ bytes/);
    expectError(await read(files["of ours, snappy"] as Uint8Array, 4000), "CORRUPT", /maxBytes|footer/);
  });

  it("decodeRuns decodes only the requested values, and rejects truncated runs", async () => {
    const { decodeRuns } = await import("../../../../../src/datasets/formats/parquet/runs.ts");
    const read = (bytes: number[], width = 1) => [...decodeRuns(Uint8Array.from(bytes), width, new Uint32Array(10))];
    const varint = [0xfe, 0xff, 0xff, 0xff, 0x0f];
    expect(read([...varint, 1])).toEqual(new Array(10).fill(1));
    expect(() => read([0xff, 0xff, 0xff, 0xff, 0x0f, 1])).toThrow(/too early/);
    expect(() => read([0, 0, 0, 0])).toThrow(/too early/);
    expect(() => read([20])).toThrow(/too early/);
    expect(read([20, 1])).toEqual(new Array(10).fill(1));
    expect(read([5, 1, 2])).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    expect(read([0, 0, 5, 0x39, 0x0f, 0x53, 0x97, 0x31, 0x86], 3)).toEqual([1, 7, 4, 7, 0, 6, 4, 2, 7, 2]);
    expect(() => read([20, 1], 32)).toThrow(/32 bits/);
  });
});

describe("LeRobot", () => {
  const base = () => {
    const names = [
      "meta/info.json",
      "meta/tasks.parquet",
      "meta/episodes/chunk-000/file-000.parquet",
      "data/chunk-000/file-000.parquet",
      "data/chunk-000/file-001.parquet",
    ];
    return new Map<string, Uint8Array>(names.map((name) => [name, own(`${EXTRA}lerobot_v3/${name}`)]));
  };
  const info = (change: object) => {
    const map = base();
    const found = JSON.parse(new TextDecoder().decode(map.get("meta/info.json")));
    map.set("meta/info.json", new TextEncoder().encode(JSON.stringify({ ...found, ...change })));
    return map;
  };
  const read = async (map: Map<string, Uint8Array>) => errorFrom(openLeRobot(map).then(all));

  it("paths outside the folder are rejected", async () => {
    for (const data_path of ["../../{chunk_index}.parquet", "/etc/passwd", "data/../../x.parquet", "C:/x", "data//x"])
      expectError(await read(info({ data_path })), "CORRUPT", /not a file inside the dataset's folder/);
    expectError(await read(info({ video_path: "../../{video_key}" })), "CORRUPT", /not a file inside/);
    expectError(await read(info({ data_path: "data/{episode_index.__class__}" })), "NOT_FOUND");
    expectError(await read(info({ data_path: "data/{other}" })), "CORRUPT", /unknown variable/);
  });

  it("an invalid info.json is rejected", async () => {
    const single = { dtype: "float32", shape: [1] };
    expectError(await read(info({ codebase_version: "v1.6" })), "UNSUPPORTED", /codebase_version must be v2\.0, v2\.1 or v3\.0, got "v1\.6"/);
    expectError(await read(info({ total_episodes: 7 })), "CORRUPT", /3 episodes.* 7/);
    expectError(await read(info({ features: { action: { dtype: "float32", shape: [-1] } } })), "CORRUPT", /feature action/);
    expectError(await read(info({ features: { nothing: single } })), "UNSUPPORTED", /must have a feature for observation.*rename/);
    const features = { "observation.state": { dtype: "float32", shape: [3] }, action: { dtype: "float32", shape: [3] }, nothing: single };
    expectError(await read(info({ features })), "CORRUPT", /declares a feature nothing of dtype float32.*without: \["nothing"\]/);
    expectError(await read(info({ data_path: 3 })), "CORRUPT", /data_path/);
    const map = base();
    map.set("meta/info.json", new TextEncoder().encode("{"));
    expectError(await read(map), "CORRUPT", /is not JSON/);
    map.delete("meta/info.json");
    expectError(await read(map), "NOT_FOUND");
  });

  it("each damaged file reads or throws an RldsError", async () => {
    const next = numbers(3);
    for (let i = 0; i < scaled(400); i++) {
      const map = base();
      const names = [...map.keys()];
      const name = names[i % names.length] as string;
      const bytes = map.get(name) as Uint8Array;
      if (name.endsWith(".parquet")) map.set(name, mutant(bytes, next));
      else {
        const made = bytes.slice();
        for (let count = 3; count > 0; count--) made[next(made.length)] = 32 + next(95);
        map.set(name, made);
      }
      const error = await openLeRobot(map, { maxBytes: MAX_BYTES })
        .then(all)
        .then(
          () => undefined,
          (reason: unknown) => reason,
        );
      if (error !== undefined && !(error instanceof RldsError)) throw new Error(`mutant ${i} of ${name}: ${error}`, { cause: error });
    }
  });
});
