/** Tests over 20,000 corrupt files: each must quickly cause a result, or an RldsError with its place, and take little memory. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { openTfds, RldsError, type RldsReader } from "../../../../../src/datasets/rlds/index.ts";
import { crc32 } from "../../../../support/crc32.ts";
import { TestRandom } from "../../../../support/random.ts";
import { scaled, some, stride } from "../../../../support/size.ts";
import { joined, recordsIn, tfRecord } from "../../../../support/tfrecord.ts";

const EXTRA = fileURLToPath(new URL("../../../../data/extra/tfds/", import.meta.url));
const MAX_BYTES = 2 ** 20;
const FEATURES = "features.json";
const INFO = "dataset_info.json";

type Files = ReadonlyMap<string, Uint8Array>;

function filesOf(name: string): { files: Files; shard: string; bytes: Uint8Array } {
  const folder = `${EXTRA}${name}/1.0.0/`;
  const files = new Map(readdirSync(folder).map((file) => [file, new Uint8Array(readFileSync(folder + file))]));
  const shard = [...files.keys()].find((file) => file.includes("tfrecord")) as string;
  return { files, shard, bytes: files.get(shard) as Uint8Array };
}

const TINY = filesOf("tiny");

/** Returns the contents of a dataset as text, or the error. */
async function outcome(files: Files, open?: RldsReader): Promise<string | RldsError> {
  const episodes: unknown[] = [];
  try {
    const reader = open ?? (await openTfds(files, { maxBytes: MAX_BYTES }));
    for await (const { steps, ...metadata } of reader) episodes.push([metadata, steps.length, steps.data.map((column) => Array.from(column as Float32Array))]);
    return JSON.stringify(episodes, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
  } catch (error) {
    if (!(error instanceof RldsError)) throw error;
    // For a record, the place includes the byte offset.
    const complete = typeof error.file === "string" && (!error.file.includes("tfrecord") || error.code === "NOT_FOUND" || typeof error.offset === "number");
    if (!complete) throw new Error(`no place: ${error.message}`, { cause: error });
    return error;
  }
}

/** Reads mutants, counts the outcomes, and checks time and memory. */
class Mutants {
  count = 0;
  results = 0;
  slowest = 0;
  max = 0;
  readonly #before = process.memoryUsage().rss;

  /** @param open an existing reader of these files */
  async run(files: Files, name = "", open?: RldsReader): Promise<string | RldsError> {
    const start = performance.now();
    const found = await outcome(files, open).catch((cause) => {
      throw new Error(`mutant ${this.count} ${name} ended in ${cause?.stack}`);
    });
    this.slowest = Math.max(this.slowest, performance.now() - start);
    if (this.count++ % 500 === 0) this.max = Math.max(this.max, process.memoryUsage().rss - this.#before);
    if (typeof found === "string") this.results++;
    return found;
  }

  end(): void {
    total += this.count;
    expect(this.slowest).toBeLessThan(10_000);
    expect(this.max).toBeLessThan(512 * 2 ** 20);
  }
}

/** The number of mutants in all previous tests. */
let total = 0;

const undamaged = await outcome(TINY.files);

function withFile({ files }: { files: Files }, name: string, bytes: Uint8Array): Files {
  return new Map([...files, [name, bytes]]);
}

function flipped(bytes: Uint8Array, at: number, bit: number): Uint8Array {
  // The slice of a Buffer would share its memory.
  const copy = new Uint8Array(bytes);
  copy[at] = (copy[at] as number) ^ (1 << bit);
  return copy;
}

describe("mutants of a small dataset", () => {
  test("the undamaged dataset has contents to compare with", () => {
    expect(undamaged).toContain("ab");
    expect((undamaged as string).length).toBeGreaterThan(300);
  });

  test("the checksums find every flipped bit and every truncated shard", async () => {
    const mutants = new Mutants();
    const first = (recordsIn(TINY.bytes)[0] as Uint8Array).length + 16;
    const files = new Map(TINY.files);
    const reader = await openTfds(files, { images: "bytes" });
    const run = async (bytes: Uint8Array) => {
      files.set(TINY.shard, bytes);
      const found = await mutants.run(files, "", reader);
      if (found instanceof RldsError && found.code === "CORRUPT" && found.file === TINY.shard) return;
      throw new Error(`mutant ${mutants.count} was not found`);
    };
    for (let at = 0; at < TINY.bytes.length; at += stride(1)) {
      await run(TINY.bytes.subarray(0, at));
      // In the first record all bits are flipped, in the others one bit of each byte.
      for (let bit = 0; bit < 8; bit++) if (at < first || bit === at % 8) await run(flipped(TINY.bytes, at, bit));
    }
    expect(mutants.count).toBeGreaterThan(scaled(7000));
    mutants.end();
  });

  test("records with flipped bits under a valid checksum are read, or throw an RldsError", async () => {
    const mutants = new Mutants();
    const [record] = recordsIn(TINY.bytes) as [Uint8Array];
    const files = new Map([...TINY.files, [TINY.shard, tfRecord(record)], [INFO, infoWithOne()]]);
    const reader = await openTfds(files, { maxBytes: MAX_BYTES });
    for (let at = 0; at < record.length; at += stride(1)) {
      for (let bit = 0; bit < 8; bit++) {
        files.set(TINY.shard, tfRecord(flipped(record, at, bit)));
        await mutants.run(files, `bit ${bit} of byte ${at}`, reader);
      }
    }
    // Some mutants only change a number, so they yield a result.
    expect(mutants.results).toBeGreaterThan(scaled(100));
    expect(mutants.count - mutants.results).toBeGreaterThan(scaled(1000));
    mutants.end();
  });

  test("records with removed, repeated, inserted or overwritten bytes, and valid checksums, are read or throw an RldsError", async () => {
    const mutants = new Mutants();
    const random = new TestRandom(20261122);
    const below = (n: number) => random.below(n);
    const [record] = recordsIn(TINY.bytes) as [Uint8Array];
    const info = infoWithOne();
    for (let i = 0; i < scaled(3000); i++) {
      let bytes: Uint8Array = record;
      for (let change = 0; change <= below(3); change++) {
        const [a, b] = [below(bytes.length + 1), below(bytes.length + 1)];
        const [from, to] = [Math.min(a, b), Math.max(a, b)];
        const part = bytes.slice(from, Math.min(to, from + 200));
        const kinds = [
          () => joined([bytes.slice(0, from), bytes.slice(Math.min(to, from + 20))]),
          () => joined([bytes.slice(0, from), part, part, bytes.slice(from)]),
          () => joined([bytes.slice(0, from), Uint8Array.from({ length: below(12) }, () => (below(2) ? 255 : below(256))), bytes.slice(from)]),
          () => bytes.map((byte, at) => (at >= from && at < from + 4 ? 255 : byte)),
        ];
        bytes = (kinds[below(kinds.length)] as () => Uint8Array)();
      }
      await mutants.run(new Map([...withFile(TINY, TINY.shard, tfRecord(bytes)), [INFO, info]]));
    }
    mutants.end();
  });

  test("truncated JSON files throw an RldsError, and changed ones are read, or throw one", async () => {
    const mutants = new Mutants();
    const random = new TestRandom(7);
    for (const name of [FEATURES, INFO]) {
      const bytes = TINY.files.get(name) as Uint8Array;
      for (let at = 0; at < bytes.length; at += stride(1)) {
        expect(await mutants.run(withFile(TINY, name, bytes.subarray(0, at)))).toBeInstanceOf(RldsError);
        const copy = bytes.slice();
        copy[at] = random.below(256);
        await mutants.run(withFile(TINY, name, copy), `byte ${at} of ${name}`);
      }
    }
    expect(mutants.count).toBeGreaterThan(scaled(3000));
    mutants.end();
  });

  test("datasets with changed JSON values are read, or throw an RldsError", async () => {
    const mutants = new Mutants();
    const others = [
      null,
      -1,
      0,
      1,
      "-1",
      "7",
      1e9,
      "1000000000",
      2 ** 53,
      "9007199254740993",
      1e308,
      0.5,
      "",
      "x",
      "../../../etc/passwd",
      "{DATASET}/../../x",
      "{__proto__}",
      [],
      {},
      [1, 2],
      [null, null],
      true,
      "float32",
      "int8",
      "string",
      "zlib",
    ];
    for (const name of [FEATURES, INFO]) {
      const json = JSON.parse(new TextDecoder().decode(TINY.files.get(name)));
      for (const path of some(pathsIn(json))) {
        for (const other of [...others, undefined])
          await mutants.run(withFile(TINY, name, encoded(replaced(json, path, other))), `${path.join(".")} = ${JSON.stringify(other)}`);
      }
    }
    expect(mutants.count).toBeGreaterThan(scaled(3000));
    mutants.end();
  });

  test("damaged images and tensors under a valid checksum are read, or throw an RldsError", async () => {
    for (const [name, step] of [
      ["images", 29],
      ["dtypes", 29],
      ["fixed", 3],
    ] as const) {
      const mutants = new Mutants();
      const dataset = filesOf(name);
      const records = recordsIn(dataset.bytes);
      const [first] = records as [Uint8Array];
      const rest = records.slice(1).map((record) => tfRecord(record));
      for (let at = 0; at < first.length; at += stride(step))
        await mutants.run(withFile(dataset, dataset.shard, joined([tfRecord(flipped(first, at, at % 8)), ...rest])), `byte ${at} of ${name}`);
      mutants.end();
    }
  });

  test("the tests read over 20,000 mutants, or a tenth of them in a scaled run", () => {
    expect(total).toBeGreaterThan(scaled(20_000));
  });
});

function encoded(json: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(json));
}

interface SplitJson {
  shardLengths: unknown;
  [key: string]: unknown;
}

function infoWith(change: (split: SplitJson) => void): Uint8Array {
  const json = JSON.parse(new TextDecoder().decode(TINY.files.get(INFO)));
  change(json.splits[0]);
  return encoded(json);
}

function infoWithOne(): Uint8Array {
  return infoWith((split) => {
    split.shardLengths = ["1"];
  });
}

/** Returns the paths of all values in a JSON value. */
function pathsIn(json: unknown, path: string[] = []): string[][] {
  if (typeof json !== "object" || json === null) return [path];
  return [path, ...Object.entries(json).flatMap(([key, value]) => pathsIn(value, [...path, key]))];
}

function replaced(json: unknown, [key, ...rest]: string[], other: unknown): unknown {
  if (key === undefined) return other ?? null;
  const copy = (Array.isArray(json) ? [...json] : { ...(json as object) }) as { [key: string]: unknown };
  copy[key] = replaced(copy[key], rest, other);
  if (rest.length === 0 && other === undefined) delete copy[key];
  return copy;
}

/** Returns a protobuf field that contains bytes. */
function field(number: number, bytes: Uint8Array): Uint8Array {
  return joined([Uint8Array.of((number << 3) | 2), varint(bytes.length), bytes]);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Uint8Array.from([...bytes, rest]);
}

const text = (value: string) => new TextEncoder().encode(value);

/** Returns an Example with these features: key, kind of list, and encoded values. */
function example(features: readonly (readonly [key: string, kind: number, list: Uint8Array])[]): Uint8Array {
  return field(1, joined(features.map(([key, kind, list]) => field(1, joined([field(1, text(key)), field(2, field(kind, list))])))));
}

/** Returns a dataset with one record, whose steps have the given features. */
function dataset(features: { [name: string]: object }, record: Uint8Array): Files {
  const step = { pythonClassName: "x.FeaturesDict", featuresDict: { features } };
  const json = {
    pythonClassName: "x.FeaturesDict",
    featuresDict: { features: { steps: { pythonClassName: "x.Dataset", sequence: { feature: step, length: "-1" } } } },
  };
  const info = { name: "d", fileFormat: "tfrecord", splits: [{ name: "train", shardLengths: ["1"] }] };
  return new Map([
    [FEATURES, encoded(json)],
    [INFO, encoded(info)],
    ["d-train.tfrecord-00000-of-00001", tfRecord(record)],
  ]);
}

const tensor = (dtype: string, dimensions: number[] = [], encoding = "none") => ({
  pythonClassName: "x.Tensor",
  tensor: { dtype, encoding, shape: { dimensions } },
});
const imageOf = (dimensions: number[]) => ({ pythonClassName: "x.Image", image: { dtype: "uint8", shape: { dimensions }, encodingFormat: "png" } });

function png(width: number, height: number, data: Uint8Array): Uint8Array {
  const chunk = (type: string, bytes: Uint8Array) => {
    const made = new Uint8Array(bytes.length + 12);
    new DataView(made.buffer).setUint32(0, bytes.length);
    made.set(text(type), 4);
    made.set(bytes, 8);
    new DataView(made.buffer).setUint32(bytes.length + 8, crc32(made.subarray(4, bytes.length + 8)));
    return made;
  };
  const head = new Uint8Array(13);
  new DataView(head.buffer).setUint32(0, width);
  new DataView(head.buffer).setUint32(4, height);
  head.set([8, 2, 0, 0, 0], 8);
  return joined([Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10), chunk("IHDR", head), chunk("IDAT", data), chunk("IEND", new Uint8Array(0))]);
}

describe("files that declare or decompress to too much data", () => {
  const nothing = example([["steps/a", 2, new Uint8Array(0)]]);
  const deep = (depth: number) => {
    let json: object = tensor("float32");
    for (let i = 0; i < depth; i++) json = { pythonClassName: "x.FeaturesDict", featuresDict: { features: { a: json } } };
    return json;
  };
  const bomb = deflateSync(new Uint8Array(64 * 2 ** 20));
  const jpegOf = (width: number, height: number, scans: number) => {
    const frame = [0xff, 0xc2, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0];
    const scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0];
    return Uint8Array.from([0xff, 0xd8, ...frame, ...Array.from({ length: scans }, () => scan).flat(), 0xff, 0xd9]);
  };

  test.each<[string, Files, RegExp]>([
    ["features nested 70 deep", dataset({ a: deep(70) }, nothing), /nested at most 64 levels deep/],
    ["a shape too large for a number", dataset({ a: tensor("float32", [2 ** 30, 2 ** 30]) }, nothing), /too many elements/],
    [
      "a tensor of 4 GB in 100 bytes",
      dataset({ a: tensor("float32", [2 ** 30], "zlib") }, example([["steps/a", 1, field(1, deflateSync(new Uint8Array(9)))]])),
      /more than the 1048576 that maxBytes allows/,
    ],
    [
      "zlib that comes to more than its shape",
      dataset({ a: tensor("uint8", [100], "zlib") }, example([["steps/a", 1, field(1, bomb)]])),
      /decompresses to more than 100/,
    ],
    [
      "zlib of unknown shape that comes to more than maxBytes",
      dataset({ a: tensor("uint8", [-1], "zlib") }, example([["steps/a", 1, field(1, bomb)]])),
      /decompresses to more than/,
    ],
    [
      "an image that declares 60,000 × 60,000 pixels",
      dataset({ a: imageOf([-1, -1, 3]) }, example([["steps/a", 1, field(1, png(60_000, 60_000, deflateSync(new Uint8Array(9))))]])),
      /would take|that maxBytes allows/,
    ],
    [
      "an image of 4 × 4 whose pixels come to 64 MB",
      dataset({ a: imageOf([4, 4, 3]) }, example([["steps/a", 1, field(1, png(4, 4, bomb))]])),
      /cannot be read/,
    ],
    [
      "a JPEG of 60,000 × 60,000",
      dataset({ a: imageOf([-1, -1, 3]) }, example([["steps/a", 1, field(1, jpegOf(60_000, 60_000, 1))]])),
      /the JPEG has only \d+ bytes for 60000 × 60000/,
    ],
    ["a JPEG of 10,000 scans", dataset({ a: imageOf([64, 64, 3]) }, example([["steps/a", 1, field(1, jpegOf(64, 64, 10_000))]])), /more than 100 scans/],
    ["groups nested 100,000 deep", dataset({ a: tensor("float32") }, new Uint8Array(100_000).fill(0x0b)), /not a tf.train.Example: maximum recursion depth/],
    [
      "a varint without an end",
      dataset({ a: tensor("int64") }, example([["steps/a", 3, field(1, new Uint8Array(50).fill(255))]])),
      /an integer is longer or truncated/,
    ],
    ["a length of 4 GB", dataset({ a: tensor("int64") }, Uint8Array.of(10, 255, 255, 255, 255, 15)), /declares 4294967295 bytes/],
    ["a text for numbers", dataset({ a: tensor("float32") }, example([["steps/a", 1, field(1, text("x"))]])), /must contain floats, got bytes/],
    [
      "a number that its dtype cannot hold",
      dataset({ a: tensor("int8") }, example([["steps/a", 3, field(1, Uint8Array.of(1, 0x80, 1))]])),
      /integers in -128 … 127/,
    ],
    ["a boolean that is neither", dataset({ a: tensor("bool") }, example([["steps/a", 3, field(1, Uint8Array.of(0, 1, 2))]])), /integers in 0 … 1/],
    [
      "columns of several lengths",
      dataset(
        { a: tensor("float32"), b: tensor("bool") },
        example([
          ["steps/a", 2, field(1, new Uint8Array(8))],
          ["steps/b", 3, field(1, new Uint8Array(3))],
        ]),
      ),
      /the same length: steps\/a has 2 steps, but steps\/b has 3/,
    ],
    [
      "20,000 texts of nothing",
      dataset({ a: { pythonClassName: "x.Text" } }, example([["steps/a", 1, joined(Array.from({ length: 20_000 }, () => Uint8Array.of(10, 0)))]])),
      /more than the \d+ that maxBytes allows/,
    ],
    ["floats that end within one", dataset({ a: tensor("float32") }, example([["steps/a", 2, field(1, new Uint8Array(7))]])), /floats of 4 bytes/],
  ])("rejects %s", async (_, files, message) => {
    const before = process.memoryUsage();
    const found = await outcome(files);
    const after = process.memoryUsage();
    expect(found).toBeInstanceOf(RldsError);
    expect((found as RldsError).message).toMatch(message);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(160 * 2 ** 20);
  });

  test("may contain a million empty features, keys and values", async () => {
    const many = (one: Uint8Array) => joined(Array.from({ length: 20_000 }, () => one));
    const real = field(1, joined([field(1, text("steps/a")), field(2, field(2, field(1, new Uint8Array(8))))]));
    const features = { a: tensor("float32") };
    for (const entry of [new Uint8Array(0), field(1, text("k".repeat(40))), field(2, new Uint8Array(0)), field(2, field(2, new Uint8Array(0)))]) {
      expect(await outcome(dataset(features, field(1, joined([many(field(1, entry)), real]))))).toBe('[[{"final_step":"transition"},2,[[0,0]]]]');
    }
    // If a key occurs twice, the last value is used.
    const other = field(1, joined([field(1, text("steps/a")), field(2, field(2, field(1, new Uint8Array(4))))]));
    expect(await outcome(dataset(features, field(1, joined([real, many(other)]))))).toBe('[[{"final_step":"transition"},1,[[0]]]]');
  });

  test("may split a list or leave it unpacked", async () => {
    const one = joined([Uint8Array.of(0x0d), new Uint8Array(new Float32Array([1]).buffer)]);
    const list = joined([one, field(1, new Uint8Array(new Float32Array([2, 3]).buffer)), one]);
    const pieces = joined([field(3, joined([Uint8Array.of(8, 5), Uint8Array.of(8, 0xff, 1)])), field(3, field(1, Uint8Array.of(7, 0x80, 1)))]);
    const ints = field(1, joined([field(1, text("steps/i")), field(2, pieces)]));
    const floats = field(1, joined([field(1, text("steps/a")), field(2, field(2, list))]));
    expect(await outcome(dataset({ a: tensor("float32"), i: tensor("int64") }, field(1, joined([floats, ints]))))).toBe(
      '[[{"final_step":"transition"},4,[[1,2,3,1],["5n","255n","7n","128n"]]]]',
    );
  });
});

test("checksums of zlib and PNG find damage under a valid record checksum", async () => {
  const pixels = Uint8Array.from({ length: 4 * 13 }, (_, i) => (i % 13 === 0 ? 0 : i * 5));
  const values = { a: deflateSync(Uint8Array.from({ length: 64 }, (_, i) => i % 7)), b: png(4, 4, deflateSync(pixels)) };
  const features = { a: tensor("uint8", [64], "zlib"), b: imageOf([4, 4, 3]) };
  const files = (a: Uint8Array, b: Uint8Array) =>
    dataset(
      features,
      example([
        ["steps/a", 1, field(1, a)],
        ["steps/b", 1, field(1, b)],
      ]),
    );
  const right = await outcome(files(values.a, values.b));
  expect(right).toContain("[0,1,2,3,4,5,6,0");
  let found = 0;
  for (const name of ["a", "b"] as const) {
    for (let at = 0; at < values[name].length; at++) {
      for (let bit = at % stride(1, 8); bit < 8; bit += stride(1, 8)) {
        const mutant = { ...values, [name]: flipped(values[name], at, bit) };
        const result = await outcome(files(mutant.a, mutant.b));
        if (result instanceof RldsError) found++;
        else if (result !== right) throw new Error(`bit ${bit} of byte ${at} of ${name} was not found`);
      }
    }
  }
  expect(found).toBeGreaterThan(scaled(1000, 125));
});

describe("file path templates that lead outside", () => {
  test.each(["../secret", "/etc/passwd", "a/../../b", "{SPLIT}/../..", "..", "C:\\x", "{NOBODY}", "a\0b", "//x"])("rejects %j", async (filepathTemplate) => {
    const info = infoWith((split) => {
      split.filepathTemplate = filepathTemplate;
    });
    expect(await outcome(withFile(TINY, INFO, info))).toMatchObject({ code: "CORRUPT" });
  });
});

describe("dataset_info.json", () => {
  test.each([
    ["fewer", ["4"], /must have 4 records, as dataset_info.json declares, got 3/],
    ["more", ["2"], /must have 2 records, as dataset_info.json declares, got more/],
  ])("rejects shards with %s records than declared", async (_, shardLengths, message) => {
    const info = infoWith((split) => {
      split.shardLengths = shardLengths;
    });
    const found = await outcome(withFile(TINY, INFO, info));
    expect(found).toMatchObject({ code: "CORRUPT", file: TINY.shard, offset: expect.any(Number) });
    expect((found as RldsError).message).toMatch(message);
  });

  test.each(["array_record", "riegeli", "bagz", "parquet"])("rejects the format %s", async (fileFormat) => {
    const json = JSON.parse(new TextDecoder().decode(TINY.files.get(INFO)));
    const found = await outcome(withFile(TINY, INFO, encoded({ ...json, fileFormat })));
    expect(found).toMatchObject({ code: "UNSUPPORTED", file: INFO, message: expect.stringContaining(fileFormat) });
  });
});

test.each([
  ["observation/sound", "tensorflow_datasets.core.features.audio_feature.Audio"],
  ["maybe", "tensorflow_datasets.core.features.optional_feature.Optional"],
  ["own", "my_project.features.Point"],
])("rejects feature %s of class %s, and names its path and class", async (path, pythonClassName) => {
  const features = path
    .split("/")
    .reduceRight<object>((inner, name) => ({ pythonClassName: "x.FeaturesDict", featuresDict: { features: { [name]: inner } } }), { pythonClassName });
  const found = await outcome(dataset((features as { featuresDict: { features: { [name: string]: object } } }).featuresDict.features, new Uint8Array(0)));
  expect(found).toMatchObject({ code: "UNSUPPORTED", file: FEATURES, message: expect.stringContaining(`steps/${path} is of class ${pythonClassName}`) });
});
