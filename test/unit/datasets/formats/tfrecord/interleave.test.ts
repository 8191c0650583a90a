/** Tests interleaved TF-Agents files: their order, and the number of open files. */
import { describe, expect, it } from "vitest";
import type { SourceFile, SourceFolder } from "../../../../../src/datasets/formats/sources/source.ts";
import { recordsOf } from "../../../../../src/datasets/formats/tfrecord/records-of.ts";
import { openRlds } from "../../../../../src/datasets/rlds/index.ts";
import { f64, i32, i64, type Spec } from "../../../../../src/index.ts";
import type { Column } from "../../../../../src/schema/column.ts";
import { loadTfrecordDataset, TFRecordObserver, trajectorySpec } from "../../../../../src/tf-agents/index.ts";
import { all } from "../../../../support/columns.ts";
import { errorFrom } from "../../../../support/later.ts";

/** A folder that counts the files that are open. */
class CountedFolder implements SourceFolder {
  readonly name = "counted";
  open_ = 0;
  most = 0;
  readonly #files: ReadonlyMap<string, Uint8Array>;
  readonly #change: (file: SourceFile) => SourceFile;

  constructor(files: ReadonlyMap<string, Uint8Array>, change = (file: SourceFile) => file) {
    this.#files = files;
    this.#change = change;
  }

  async open(path: string): Promise<SourceFile> {
    const bytes = this.#files.get(path) as Uint8Array;
    this.most = Math.max(this.most, ++this.open_);
    return this.#change({
      name: path,
      size: bytes.length,
      read: async (at, length) => bytes.slice(at, at + length),
      close: async () => void this.open_--,
    });
  }

  async list(): Promise<readonly string[]> {
    return [...this.#files.keys()].sort();
  }
}

async function written(spec: Spec, steps: { readonly [file: string]: readonly unknown[] }): Promise<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>();
  for (const [name, list] of Object.entries(steps)) {
    const observer = new TFRecordObserver(name, spec, { pyMode: true, to: files });
    for (const step of list) await observer(step);
    await observer.close();
  }
  return files;
}

describe("more than 4,096 files", () => {
  it("are read in the order of TensorFlow, with at most 160 files open", async () => {
    const one = await written(i64(), { a: [0n, 1n, 2n], b: [0n] });
    const names = Array.from({ length: 5000 }, (_, i) => `f${i}`);
    const short = (i: number) => i % 3 === 0;
    const folder = new CountedFolder(new Map(names.map((name, i) => [name, one.get(short(i) ? "b" : "a") as Uint8Array])));
    const places: string[] = [];
    for await (const { file } of recordsOf(names, (path) => folder.open(path), { cycleLength: names.length, maxBytes: 2 ** 20 })) places.push(file);
    const long = names.filter((_, i) => !short(i));
    expect(places).toEqual([...names, ...long, ...long]);
    expect(folder.most).toBeLessThanOrEqual(160);
    expect(folder.open_).toBe(0);
    const spec = i64();
    expect(await all(await loadTfrecordDataset(names, { from: folder, spec }))).toHaveLength(places.length);
    expect(await all(await loadTfrecordDataset(names, { from: folder, spec, numParallelReads: 10_000 }))).toHaveLength(places.length);
  });

  it("a file that changes its size between reads is rejected by name", async () => {
    const one = await written(i64(), { a: [0n] });
    const names = Array.from({ length: 300 }, (_, i) => `f${i}`);
    const folder = new CountedFolder(new Map(names.map((name) => [name, one.get("a") as Uint8Array])));
    const opened = new Set<string>();
    const open = async (path: string) => {
      const file = await folder.open(path);
      const size = path === "f299" && opened.has(path) ? file.size + 1 : file.size;
      opened.add(path);
      return { ...file, size };
    };
    const read = async () => {
      for await (const _ of recordsOf(names, open, { cycleLength: 300, maxBytes: 2 ** 20 }));
    };
    expect(await errorFrom(read())).toMatchObject({ code: "IO", file: "f299", message: expect.stringContaining("changed while it was being read") });
    expect(folder.open_).toBe(0);
  });
});

describe("files over a network", () => {
  it("are requested only once, because they need no file handles", async () => {
    const one = await written(i64(), { a: [0n, 1n] });
    const names = Array.from({ length: 150 }, (_, i) => `f${i}`);
    const requests = new Map<string, number>();
    const fetch = async (url: string | URL | Request) => {
      const { pathname, search } = new URL(String(url));
      const name = pathname.slice(1);
      if (search !== "?signature=1") return new Response(null, { status: 403 });
      requests.set(name, (requests.get(name) ?? 0) + 1);
      return new Response(one.get(name.endsWith(".spec") ? "a.spec" : "a") as Uint8Array<ArrayBuffer>);
    };
    const options = { fetch: fetch as never };
    const urls = names.map((name) => `http://files.test/${name}?signature=1`);
    expect(await all(await loadTfrecordDataset(urls, options))).toHaveLength(300);
    expect(new Set(requests.values()).size).toBe(1);
    const [each] = requests.values();
    requests.clear();
    expect(await all(await loadTfrecordDataset(names, { ...options, from: "http://files.test/?signature=1" }))).toHaveLength(300);
    expect(new Set(requests.values())).toEqual(new Set([each]));
  });
});

describe("a failed close of a file", () => {
  const closing = (folder: CountedFolder, failing: readonly string[]) => async (path: string) => {
    const file = await folder.open(path);
    return {
      ...file,
      close: async () => {
        await file.close();
        if (failing.includes(path)) throw new Error(`${path} does not close`);
      },
    };
  };
  const setUp = async () => new CountedFolder(await written(i64(), { a: [0n, 1n], b: [0n, 1n], c: [0n, 1n] }));
  const OPTIONS = { cycleLength: 3, maxBytes: 2 ** 20 };

  it("does not leave other files open", async () => {
    const folder = await setUp();
    const read = async () => {
      for await (const _ of recordsOf(["a", "b", "c"], closing(folder, ["a", "b"]), OPTIONS)) break;
    };
    expect(await errorFrom(read())).toMatchObject({ message: "a does not close" });
    expect(folder.open_).toBe(0);
  });

  it("at the end of a file is reported, and all files are closed", async () => {
    const folder = await setUp();
    const read = async () => {
      for await (const _ of recordsOf(["a", "b", "c"], closing(folder, ["a"]), OPTIONS));
    };
    expect(await errorFrom(read())).toMatchObject({ message: "a does not close" });
    expect(folder.open_).toBe(0);
  });

  it("does not hide the error that ended the read", async () => {
    const folder = await setUp();
    const open = closing(folder, ["a"]);
    const read = async () => {
      const failing = async (path: string) => {
        if (path === "c") throw new Error("c is not there");
        return open(path);
      };
      for await (const _ of recordsOf(["a", "b", "c"], failing, OPTIONS));
    };
    expect(await errorFrom(read())).toMatchObject({ message: "c is not there" });
    expect(folder.open_).toBe(0);
  });
});

describe("a source of Node Buffers", () => {
  // A slice of a Buffer is a view of shared memory.
  const shared = (bytes: Uint8Array): Buffer => {
    const pool = Buffer.alloc(bytes.length + 24, 7);
    pool.set(bytes, 16);
    return pool.subarray(16, 16 + bytes.length);
  };
  const buffers = (files: ReadonlyMap<string, Uint8Array>): SourceFolder =>
    new CountedFolder(files, (file) => ({ ...file, read: async (at, length) => shared(await file.read(at, length)) }));

  it("returns the values of the file", async () => {
    const spec: Spec = { a: f64(2), b: i32() };
    const files = await written(spec, { x: [{ a: [1.5, -2], b: 7 }] });
    const [element] = (await all(await loadTfrecordDataset(["x"], { from: buffers(files), addBatchDim: false }))) as { a: Column; b: Column }[];
    expect(element?.a.data).toEqual(new Float64Array([1.5, -2]));
    expect(element?.b.data).toEqual(new Int32Array([7]));
  });

  it("opens as a dataset", async () => {
    const spec = trajectorySpec({ observation: f64(2), action: i32() });
    const step = { stepType: 0, nextStepType: 2, observation: [1.5, -2], action: 7, policyInfo: [], reward: 1, discount: 1 };
    const files = await written(spec, { x: [step] });
    const [episode] = await all(await openRlds(buffers(files)));
    expect([...(episode?.steps ?? [])].map(({ observation }) => [...observation])).toEqual([[1.5, -2]]);
  });
});
