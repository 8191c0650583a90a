/** Tests sinks: folder handles of web pages, and missing packages. */
import { describe, expect, it, vi } from "vitest";
import { openParquet, openTfds, type Sink, writeJsonl, writeParquet, writeTfds } from "../../../../src/datasets/rlds/index.ts";
import { errorFrom } from "../../../support/later.ts";
import { expectError } from "../../../support/refused.ts";
import { all, everything } from "../../../support/rlds-data.ts";

/** An in-memory FileSystemDirectoryHandle; written data becomes visible when the file is closed. */
class FakeFolder {
  readonly kind = "directory";
  readonly folders = new Map<string, FakeFolder>();
  readonly files = new Map<string, Uint8Array>();
  readonly name: string;
  readonly canMove: boolean;

  constructor(name: string, canMove: boolean) {
    this.name = name;
    this.canMove = canMove;
  }

  async getDirectoryHandle(name: string, { create = false } = {}): Promise<FakeFolder> {
    const found = this.folders.get(name);
    if (found === undefined && !create) throw new DOMException("none", "NotFoundError");
    const folder = found ?? new FakeFolder(name, this.canMove);
    this.folders.set(name, folder);
    return folder;
  }

  async getFileHandle(name: string, { create = false } = {}) {
    if (!this.files.has(name) && !create) throw new DOMException("none", "NotFoundError");
    if (create && !this.files.has(name)) this.files.set(name, new Uint8Array(0));
    const written: number[] = [];
    return {
      createWritable: async () => ({
        write: async (bytes: Uint8Array) => void written.push(...bytes),
        close: async () => void this.files.set(name, Uint8Array.from(written)),
      }),
      getFile: async () => new Blob([this.files.get(name) as Uint8Array<ArrayBuffer>]),
      ...(this.canMove ? { move: async (to: string) => this.rename(name, to) } : {}),
    };
  }

  async removeEntry(name: string): Promise<void> {
    if (!this.files.delete(name)) throw new DOMException("none", "NotFoundError");
  }

  async *entries(): AsyncGenerator<[string, { readonly kind: string }], void> {
    for (const name of this.files.keys()) yield [name, { kind: "file" }];
    for (const [name, folder] of this.folders) yield [name, folder];
  }

  /** Returns all files in the folder and its subfolders, by path. */
  flat(prefix = ""): Map<string, Uint8Array> {
    const below = [...this.folders].flatMap(([name, folder]) => [...folder.flat(`${prefix}${name}/`)]);
    return new Map([...[...this.files].map(([name, bytes]) => [prefix + name, bytes] as const), ...below]);
  }

  private rename(from: string, to: string): void {
    this.files.set(to, this.files.get(from) as Uint8Array);
    this.files.delete(from);
  }
}

describe.each([true, false])("a folder handle of a web page (files can be moved: %s)", (canMove) => {
  it("receives the same files as a Map", async () => {
    const [folder, map] = [new FakeFolder("root", canMove), new Map<string, Uint8Array>()];
    for (const to of [folder as unknown as Sink, map]) await writeTfds(everything(), to, { name: "made", shards: 2 });
    expect([...folder.flat()].sort()).toEqual([...map].sort());
    expect(await all(await openTfds(folder.flat()))).toHaveLength(4);
    expectError(await errorFrom(writeTfds(everything(), folder as unknown as Sink, { name: "made" })), "IO", /split train already exists/);
    await writeTfds(everything([1]), folder as unknown as Sink, { name: "made", overwrite: true });
    expect(await all(await openTfds(folder.flat()))).toHaveLength(1);
  });

  it("keeps no files after a failed write", async () => {
    const folder = new FakeFolder("root", canMove);
    const data = everything();
    (data[3]?.steps as unknown[])[1] = {};
    expectError(await errorFrom(writeParquet(data, folder as unknown as Sink)), "SPEC_MISMATCH");
    expectError(await errorFrom(writeJsonl(data, folder as unknown as Sink)), "SPEC_MISMATCH");
    expect(folder.flat().size).toBe(0);
  });
});

it("a leftover temporary file of a failed write is replaced and not read as data", async () => {
  const files = new Map([[".incomplete-0", new Uint8Array(9)]]);
  await writeParquet(everything(), files);
  expect([...files.keys()]).toEqual(["part-00000.parquet"]);
  expect(await all(await openParquet(files))).toHaveLength(4);
});

it("the error names the missing package", async () => {
  for (const name of ["hyparquet", "hyparquet-writer", "hyparquet-compressors"]) {
    vi.doMock(name, () => {
      throw new Error("not found");
    });
  }
  try {
    vi.resetModules();
    const packages = await import("../../../../src/datasets/formats/parquet/packages.ts");
    for (const [name, load] of [
      ["hyparquet", packages.hyparquet],
      ["hyparquet-writer", packages.hyparquetWriter],
      ["hyparquet-compressors", packages.compressors],
    ] as const) {
      const error = await errorFrom(load());
      expect(error).toMatchObject({ name: "RldsError", code: "UNSUPPORTED" });
      expect(error.message).toContain(`npm install ${name}`);
    }
  } finally {
    vi.doUnmock("hyparquet");
    vi.doUnmock("hyparquet-writer");
    vi.doUnmock("hyparquet-compressors");
    vi.resetModules();
  }
});
