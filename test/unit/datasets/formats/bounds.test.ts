/** Tests that the file size and maxBytes limit the memory and time that a reader uses. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { imageDecoder } from "../../../../src/datasets/formats/images/images.ts";
import { openJsonl } from "../../../../src/datasets/formats/jsonl/open-jsonl.ts";
import { openNpz } from "../../../../src/datasets/formats/npz/open-npz.ts";
import { openRlds } from "../../../../src/datasets/formats/open.ts";
import { openTfds } from "../../../../src/datasets/formats/tfds/open-tfds.ts";
import { memorySink, type RldsDataset, type StepSpec, writeJsonl, writeParquet } from "../../../../src/datasets/rlds/index.ts";
import { all } from "../../../support/columns.ts";
import { root } from "../../../support/core.ts";
import { whole } from "../../../support/size.ts";
import { archive, npyHeader } from "./npz/npz-archive.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-bounds-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("a NumPy archive", () => {
  it("is rejected if a shape has many digits and an invalid end", async () => {
    const bytes = archive({ name: "a.npy", header: `{'descr': '<f4', 'fortran_order': False, 'shape': (${"1".repeat(28)}x), }`, elements: 0 });
    await expect(openNpz(new Blob([bytes]))).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringContaining("an invalid header") });
  });

  // Only the full number of rows tests the memory limit and a timely abort.
  const ROWS = whole ? 16_000_000 : 800_000;
  /** Returns an archive with these flags or other one-byte columns. */
  const flagged = (...names: readonly string[]) =>
    archive(...names.map((name) => ({ name: `${name}.npy`, header: npyHeader("|b1", `(${ROWS},)`), elements: ROWS })));
  const NAMES = ["observation", "action", "reward", "is_first", "is_last", "is_terminal"];

  it.runIf(whole)("stays within the memory limit while it is inflated", () => {
    const path = join(folder, "flags.npz");
    writeFileSync(path, flagged(...NAMES));
    const program = `
      import { openRlds } from ${JSON.stringify(join(root, "dist/rlds.js"))};
      await openRlds(${JSON.stringify(join(folder, "none.npz"))}).catch(() => undefined);
      const before = process.resourceUsage().maxRSS;
      const told = await openRlds(${JSON.stringify(path)}, { maxBytes: 150e6 }).then(({ episodes }) => episodes, ({ code }) => code);
      console.log(JSON.stringify({ told, megabytes: (process.resourceUsage().maxRSS - before) / 1000 }));`;
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
    expect(stderr).toBe("");
    const { told, megabytes } = JSON.parse(stdout);
    // The file has 96 MB of arrays, of which 48 MB are flags that are read.
    expect(told).toBe(1);
    expect(megabytes).toBeLessThan(300);
  });

  it("is rejected if flags, texts, f16 values or lengths would exceed maxBytes in memory", async () => {
    const bytes = flagged(...NAMES);
    await expect(openNpz(new Blob([bytes]), { maxBytes: 6 * ROWS + 1000 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/the file needs .* bytes in memory, including is_first, more than the .* that maxBytes allows. Increase maxBytes/),
    });
    const one = (descr: string, elements: number) => archive({ name: "reward.npy", header: npyHeader(descr, "(1000,)"), elements });
    await expect(openNpz(new Blob([one("<f2", 2000)]), { maxBytes: 3000 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining("maxBytes"),
    });
    await expect(openNpz(new Blob([one("|S3", 3000)]), { maxBytes: 20_000 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining("maxBytes"),
    });
    const lengths = archive(
      ...["observation", "action", "reward", "is_terminal"].map((name) => ({ name: `${name}.npy`, header: npyHeader("|b1", "(0,)"), elements: 0 })),
      { name: "lengths.npy", header: npyHeader("|u1", "(1000000,)"), elements: 1_000_000 },
    );
    await expect(openNpz(new Blob([lengths]), { maxBytes: 4_000_000 })).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringContaining("including lengths"),
    });
    expect((await openNpz(new Blob([lengths]), { maxBytes: 20_000_000 })).episodes).toBe(1_000_000);
  });

  it.runIf(whole)("stops inflating when the signal aborts", async () => {
    const abort = new AbortController();
    setTimeout(() => abort.abort(new Error("enough")));
    await expect(openNpz(new Blob([flagged(...NAMES)]), { signal: abort.signal })).rejects.toThrow("enough");
  });
});

describe("more leaves than a step can have are rejected early", () => {
  const told = { name: "RldsError", code: "UNSUPPORTED", message: expect.stringMatching(/has \d+ leaves, but a step can have at most 4096/) };
  const step = { observation: 1, action: 1, reward: 1, is_first: true, is_last: true, is_terminal: true };
  const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]));

  it.each<[string, object]>([
    ["fields", { ...step, observation: wide }],
    ["a list whose last element is of another kind", { ...step, observation: [...new Array(5000).fill(0), true] }],
    ["metadata", { ...step, info: wide }],
  ])("in JSON lines: %s", async (_, value) => {
    await expect(openJsonl(new Blob([JSON.stringify(value)]))).rejects.toMatchObject(told);
  });

  it("in a spec of JSON lines", async () => {
    const stepSpec = { observation: Object.fromEntries(Object.keys(wide).map((name) => [name, { dtype: "f32", shape: [] }])) };
    await expect(openJsonl(new Blob([JSON.stringify({ rlds: 1, stepSpec, metadataSpec: {} })]))).rejects.toMatchObject(told);
  });

  it("in NumPy archives", async () => {
    const many = Array.from({ length: 5000 }, (_, i) => ({ name: `info/k${i}.npy`, header: npyHeader("|u1", "(2,)"), elements: 2 }));
    await expect(openNpz(new Blob([archive(...many)]))).rejects.toMatchObject(told);
  });

  it("in TFDS", async () => {
    const feature = { pythonClassName: "x.Tensor", tensor: { shape: {}, dtype: "float32", encoding: "none" } };
    const features = { pythonClassName: "x.FeaturesDict", featuresDict: { features: Object.fromEntries(Object.keys(wide).map((name) => [name, feature])) } };
    const files = new Map([
      ["dataset_info.json", new Blob(['{"name":"a","splits":[]}'])],
      ["features.json", new Blob([JSON.stringify(features)])],
    ]);
    await expect(openTfds(files)).rejects.toMatchObject(told);
  });
});

it.each(["jsonl", "parquet"] as const)("writing a shape with millions of empty lists is rejected: %s", async (format) => {
  const stepSpec = {
    ...Object.fromEntries(["action", "reward", "discount"].map((name) => [name, { dtype: "f32", shape: [] }])),
    ...Object.fromEntries(["is_first", "is_last", "is_terminal"].map((name) => [name, { dtype: "bool", shape: [] }])),
  };
  const named = (shape: readonly number[]) => ({ ...stepSpec, observation: { dtype: "f32", shape } }) as StepSpec;
  const dataset = (shape: readonly number[]) => ({ stepSpec: named(shape), metadataSpec: {}, async *[Symbol.asyncIterator]() {} }) as RldsDataset<unknown>;
  const write = format === "jsonl" ? writeJsonl : writeParquet;
  for (const shape of [
    [1e8, 0],
    [100, 1000, 1000, 0],
    [0, 1e8],
  ])
    await expect(write(dataset(shape), memorySink())).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringMatching(/^observation of shape \[.*\] would become \d+ empty lists, more than the maximum of 65536/),
    });
  await write(dataset([64, 64, 0]), memorySink());
});

/** Returns a progressive JPEG of a grey image. Its scans have only a few bytes, but each covers the whole image. */
function jpeg(side: number, scans: number, bytesOfScan: number): Uint8Array {
  const u16 = (value: number) => [value >> 8, value & 255];
  const frame = [0xff, 0xc2, ...u16(11), 8, ...u16(side), ...u16(side), 1, 1, 0x11, 0];
  const scan = [0xff, 0xda, ...u16(8), 1, 1, 0, 1, 63, 0, ...new Array(bytesOfScan).fill(0x55)];
  return Uint8Array.from([0xff, 0xd8, ...frame, ...Array.from({ length: scans }, () => scan).flat(), 0xff, 0xd9]);
}

it.each([
  ["more blocks than bits", jpeg(12_000, 100, 280)],
  ["more scans over many blocks than its bytes can say", jpeg(1600, 60, 280)],
])("a JPEG with %s is rejected before it is decoded", async (_, bytes) => {
  const decode = await imageDecoder();
  expect(() => decode(bytes, { type: "u8", channels: 1 }, 2 ** 30)).toThrow(/the JPEG has only \d+ bytes for \d+ × \d+ pixels in \d+ scans/);
});

describe("paths that are not files", () => {
  const pipe = join(folder, "pipe.jsonl");
  it.runIf(process.platform !== "win32")("are rejected: pipes and devices, even as a metadata file", async () => {
    execFileSync("mkfifo", [pipe]);
    await expect(openRlds(pipe)).rejects.toMatchObject({ name: "RldsError", code: "NOT_FOUND", message: expect.stringContaining("a pipe") });
    const dataset = mkdtempSync(join(folder, "tfds-"));
    execFileSync("mkfifo", [join(dataset, "dataset_info.json")]);
    await expect(openTfds(dataset)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(openRlds("/dev/zero")).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("JSON nested 100,000 levels deep is rejected", () => {
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  const objects = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
  const step = { observation: 1, action: 1, reward: 1, is_first: true, is_last: true, is_terminal: true };
  const lines = (...all: readonly string[]) => new Blob([all.join("\n")]);
  const wrong = { name: "RldsError", code: "CORRUPT", message: expect.stringContaining("is nested more than 256 levels deep") };

  it.each([deep, objects])("in JSON lines", async (value) => {
    for (const field of ["observation", "episode", "is_last", "info", "rlds"])
      await expect(openJsonl(lines(`{"${field}": ${value}}`))).rejects.toMatchObject(wrong);
    const first = JSON.stringify(step);
    const later = await openJsonl(lines(first, first.replace('"observation":1', `"observation":${value}`)));
    await expect(all(later)).rejects.toMatchObject({ ...wrong, message: expect.stringMatching(/^line 2 .*nested more than/) });
  });

  it("in the description of a dataset, even in a text inside it", async () => {
    const files = (info: string, features: string) =>
      new Map(
        [
          ["dataset_info.json", info],
          ["features.json", features],
        ].map(([name, text]) => [name as string, new Blob([text as string])]),
      );
    const info = '{"name":"a","splits":[]}';
    await expect(openTfds(files(`{"name":${deep}}`, "{}"))).rejects.toMatchObject(wrong);
    await expect(openTfds(files(info, `{"a":${objects}}`))).rejects.toMatchObject(wrong);
    await expect(openTfds(files(info, JSON.stringify({ type: "x.FeaturesDict", content: deep })))).rejects.toMatchObject({ code: "CORRUPT" });
  });
});
