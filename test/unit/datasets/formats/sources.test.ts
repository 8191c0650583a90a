/** Tests sources of files: paths, URLs, Blobs, chosen files, handles and Maps. */
import type { EventEmitter } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { openTfds, type Source, sourceOf } from "../../../../src/datasets/rlds/index.ts";
import { fileServer } from "../../../support/file-server.ts";
import { foundIn } from "../../../support/rlds-columns.ts";

const DATA = fileURLToPath(new URL("../../../data/tfds/", import.meta.url));
const NAME = "half_cheetah/1.0.0";
const FILES = new Map(readdirSync(DATA + NAME).map((file) => [`${NAME}/${file}`, new Uint8Array(readFileSync(`${DATA}${NAME}/${file}`))]));
const SHARD = `${NAME}/half_cheetah-train.tfrecord-00001-of-00003`;
const TEMPORARY = mkdtempSync(join(tmpdir(), "reprise-sources-"));

afterAll(() => rmSync(TEMPORARY, { recursive: true }));

/** Returns a File with a relative path, as from a form that selects a folder. */
function chosen(path: string, bytes: Uint8Array): File {
  const file = new File([bytes as Uint8Array<ArrayBuffer>], path.slice(path.lastIndexOf("/") + 1));
  Object.defineProperty(file, "webkitRelativePath", { value: path });
  return file;
}

/** Returns a FileSystemDirectoryHandle for a Map, with the methods that readers use. */
function handle(files: ReadonlyMap<string, Uint8Array>, prefix = "", name = "root"): FileSystemDirectoryHandle {
  const missing = (kind: string) => new DOMException(`no such ${kind}`, "NotFoundError");
  const names = () => [
    ...new Set([...files.keys()].filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length).split("/")[0] as string)),
  ];
  const isFile = (one: string) => files.has(prefix + one);
  const fileHandle = (one: string) => ({ kind: "file", name: one, getFile: async () => new File([files.get(prefix + one) as Uint8Array<ArrayBuffer>], one) });
  const made = {
    kind: "directory",
    name,
    async getDirectoryHandle(one: string) {
      if (isFile(one) || !names().includes(one)) throw missing("folder");
      return handle(files, `${prefix}${one}/`, one);
    },
    async getFileHandle(one: string) {
      if (!isFile(one)) throw missing("file");
      return fileHandle(one);
    },
    async *entries() {
      for (const one of names()) yield [one, isFile(one) ? fileHandle(one) : handle(files, `${prefix}${one}/`, one)];
    },
  };
  return made as unknown as FileSystemDirectoryHandle;
}

describe("openTfds reads the same dataset", () => {
  const expected = foundIn0(DATA + NAME);
  async function foundIn0(from: Source) {
    return foundIn(await openTfds(from));
  }

  test.each<[string, Source]>([
    ["by the URL of a file system", pathToFileURL(DATA + NAME)],
    ["as a Map of bytes", FILES],
    ["as a Map of Blobs", new Map([...FILES].map(([path, bytes]) => [path.slice(NAME.length + 1), new Blob([bytes as Uint8Array<ArrayBuffer>])]))],
    ["as files of a chosen folder", [...FILES].map(([path, bytes]) => chosen(path, bytes))],
    ["as files of the version's folder under another name", [...FILES].map(([path, bytes]) => chosen(`mine/${path.slice(NAME.length + 1)}`, bytes))],
    ["by a handle", handle(FILES) as Source],
  ])("%s", async (_, from) => {
    expect(await foundIn0(from)).toEqual(await expected);
  });

  test.each([
    ["with ranges", true, true],
    ["without ranges", false, false],
  ])("from a server %s", async (_, ranges) => {
    await using server = await fileServer(DATA, ranges);
    expect(await foundIn0(`${server.url}/${NAME}`)).toEqual(await expected);
    expect(await foundIn0(new URL(`${server.url}/${NAME}/`))).toEqual(await expected);
    const shard = server.asked.filter((line) => line.startsWith(`/${SHARD}`));
    // The file has 365,036 bytes; the first request returns 256 KiB of it and the total size.
    const once = ranges ? [`/${SHARD} bytes=0-262143`, `/${SHARD} bytes=0-365035`] : [`/${SHARD} bytes=0-262143`];
    expect(shard).toEqual([...once, ...once]);
  });
});

test("openTfds opens the newest version by numeric order, and requires a single dataset", async () => {
  const versions = ["0.9.0", "0.10.0", "0.2.0"].flatMap((version) => {
    return [...FILES].map(([path, bytes]) => {
      const named = path.endsWith("dataset_info.json") ? new TextEncoder().encode(new TextDecoder().decode(bytes).replace('"1.0.0"', `"${version}"`)) : bytes;
      return [path.replace("1.0.0", version), named] as const;
    });
  });
  expect((await openTfds(new Map(versions))).about.version).toBe("0.10.0");
  const two = new Map([...FILES, ...[...FILES].map(([path, bytes]) => [`other/${path}`, bytes] as const)]);
  await expect(openTfds(two)).rejects.toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringMatching(/2 datasets \(half_cheetah, other\/half_cheetah\)\. Open one of them/),
  });
  await expect(openTfds(new Map([["a/features.json", new Uint8Array(2)]]))).rejects.toMatchObject({ code: "NOT_FOUND", file: "the Map" });
});

describe("openTfds without a valid source", () => {
  test("rejects a missing path or file, and a single file", async () => {
    await expect(openTfds(join(TEMPORARY, "nothing"))).rejects.toMatchObject({ code: "NOT_FOUND", file: join(TEMPORARY, "nothing") });
    const { folder } = await sourceOf(DATA);
    await expect(folder?.open("half_cheetah/none")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(folder?.open("half_cheetah")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(openTfds(DATA + SHARD)).rejects.toMatchObject({ code: "UNSUPPORTED", message: expect.stringMatching(/Pass the folder/) });
    await expect(openTfds(new Blob([]))).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  test("names the path of a missing shard", async () => {
    const files = new Map([...FILES].filter(([path]) => path !== SHARD));
    const failure = await foundIn(await openTfds(files)).catch((error) => error);
    expect(failure).toMatchObject({ code: "NOT_FOUND", file: `the Map/${SHARD}` });
    const failed = await foundIn(await openTfds(handle(files) as Source)).catch((error) => error);
    expect(failed).toMatchObject({ code: "NOT_FOUND", file: SHARD });
  });

  test.each([null, undefined, 7, {}, [1], [{}]])("rejects %j", async (from) => {
    await expect(sourceOf(from as never)).rejects.toThrow(/must be|is required/);
  });
});

test("a folder rejects paths and links that lead outside the folder", async () => {
  const { folder } = await sourceOf(DATA);
  for (const path of ["../tfds.ts", "/etc/passwd", "a/../../b", "a\\b", "C:/b", "a//b", "", ".", "a\0b"]) {
    await expect(folder?.open(path)).rejects.toMatchObject({ code: "CORRUPT", file: expect.any(String) });
  }
  writeFileSync(join(TEMPORARY, "secret"), "secret");
  const inner = mkdtempSync(join(TEMPORARY, "set-"));
  symlinkSync(join(TEMPORARY, "secret"), join(inner, "features.json"));
  const { folder: linked } = await sourceOf(inner);
  await expect(linked?.open("features.json")).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringMatching(/leads outside/) });
});

describe("a server", () => {
  const INFO = `/${NAME}/dataset_info.json`;

  test.each([
    [404, "NOT_FOUND"],
    [410, "NOT_FOUND"],
    [403, "IO"],
    [500, "IO"],
  ])("status %i throws %s", async (status, code) => {
    await using server = await fileServer(DATA, true, (_, response) => {
      response.writeHead(status).end("no");
      return true;
    });
    await expect(openTfds(`${server.url}/${NAME}`)).rejects.toMatchObject({
      code,
      file: server.url + INFO,
      message: expect.stringMatching(`the server answered ${status}`),
    });
  });

  test("throws IO if the server is down", async () => {
    const server = await fileServer(DATA, true);
    await server[Symbol.asyncDispose]();
    await expect(openTfds(`${server.url}/${NAME}`)).rejects.toMatchObject({ code: "IO", file: server.url + INFO });
  });

  test.each([
    ["another range", "bytes 1-100/200"],
    ["more than there is", "bytes 0-100/50"],
  ])("throws IO if the server sends %s", async (_, range) => {
    await using server = await fileServer(DATA, true, (_, response) => {
      response.writeHead(206, { "Content-Range": range }).end(new Uint8Array(100));
      return true;
    });
    await expect(openTfds(`${server.url}/${NAME}`)).rejects.toMatchObject({ code: "IO" });
  });

  test("throws IO if the response ends early", async () => {
    await using short = await fileServer(DATA, true, (_, response) => {
      response.writeHead(206, { "Content-Range": "bytes 0-262143/365036" }).end(new Uint8Array(100));
      return true;
    });
    await expect(openTfds(`${short.url}/${NAME}`)).rejects.toMatchObject({ code: "IO" });
    await using broken = await fileServer(DATA, true, (_, response) => {
      response.writeHead(200, { "Content-Length": 5000 });
      response.write(new Uint8Array(100), () => response.destroy());
      return true;
    });
    await expect(openTfds(`${broken.url}/${NAME}`)).rejects.toMatchObject({
      code: "IO",
      message: expect.stringMatching(/ended early, after 100 bytes|request failed/),
    });
  });

  test("without ranges, rejects a file larger than maxBytes before the download ends", async () => {
    let sent = 0;
    await using server = await fileServer(DATA, false, (request, response) => {
      if (!request.url?.includes("tfrecord")) return false;
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(new Uint8Array(65536))) sent += 65536;
        if (!response.destroyed) response.once("drain", more);
      };
      more();
      return true;
    });
    const failure = await foundIn(await openTfds(`${server.url}/${NAME}`, { maxBytes: 2 ** 20 })).catch((error) => error);
    expect(failure).toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringMatching(/does not support range requests, and the file is larger than the 1048576 bytes that maxBytes allows/),
    });
    expect(sent).toBeLessThan(2 ** 25);
  });

  test("requests use the `fetch` option", async () => {
    await using server = await fileServer(DATA, true);
    const asked: string[] = [];
    const own: typeof fetch = (url, init) => {
      asked.push(String(url));
      return fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), Authorization: "Bearer 1" } });
    };
    await openTfds(`${server.url}/${NAME}`, { fetch: own });
    expect(asked).toEqual([server.url + INFO, `${server.url}/${NAME}/features.json`]);
  });

  test("the signal ends a request that gets no response", async () => {
    await using server = await fileServer(DATA, true, () => true);
    const failure = await openTfds(`${server.url}/${NAME}`, { signal: AbortSignal.timeout(50) }).catch((error) => error);
    expect(failure.name).toBe("TimeoutError");
  });

  test("without a readable Content-Range, the whole file is requested", async () => {
    await using server = await fileServer(DATA, true, (request, response) => {
      if (request.headers.range === undefined) return false;
      response.writeHead(206).end(new Uint8Array(10));
      return true;
    });
    expect((await openTfds(`${server.url}/${NAME}`)).name).toBe("half_cheetah");
  });
});

test("files are closed at the end, after an early break, and after an error", async () => {
  let open = 0;
  const original = fs.open;
  (fs as { open: unknown }).open = async (...args: Parameters<typeof fs.open>) => {
    const file = await original(...args);
    open++;
    (file as unknown as EventEmitter).once("close", () => open--);
    return file;
  };
  syncBuiltinESMExports();
  try {
    const reader = await openTfds(DATA + NAME);
    expect(open).toBe(0);
    for await (const _ of reader) {
      expect(open).toBe(1);
      break;
    }
    expect(open).toBe(0);
    await foundIn(reader);
    expect(open).toBe(0);
    const small = await openTfds(DATA + NAME, { maxBytes: 25_000 });
    await expect(foundIn(small)).rejects.toMatchObject({ code: "CORRUPT", message: expect.stringMatching(/that maxBytes allows/) });
    expect(open).toBe(0);
  } finally {
    (fs as { open: unknown }).open = original;
    syncBuiltinESMExports();
  }
});

test("an aborted reader rejects, and a closed reader throws CLOSED", async () => {
  const controller = new AbortController();
  const iterator = (await openTfds(FILES, { signal: controller.signal }))[Symbol.asyncIterator]();
  await iterator.next();
  controller.abort(new Error("enough"));
  await expect(iterator.next()).rejects.toThrow("enough");
  const closed = await openTfds(FILES);
  await closed.close();
  await expect(closed[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "CLOSED" });
});
