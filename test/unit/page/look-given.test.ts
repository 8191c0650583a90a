/** Tests inputs of the room Look, and calls to its worker. */
import { MessageChannel } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { givenFiles, givenUrl, listedFiles } from "../../../page/look/model/given.ts";
import { Caller, type Port, serve, type Tell } from "../../../page/look/reading/port.ts";
import { stoppable } from "../../../page/look/reading/stoppable.ts";
import { withoutToken } from "../../../page/parts/without-token.ts";
import { RldsError } from "../../../src/datasets/rlds/index.ts";

const files = (...paths: string[]) => paths.map((path) => ({ path, file: new Blob([path]) }));
const pathsOf = (given: ReturnType<typeof givenFiles>) => (given?.kind === "files" ? [given.name, ...given.files.map(({ path }) => path)] : undefined);

describe("inputs", () => {
  it("are a file, the contents of a folder, or loose files", () => {
    expect(pathsOf(givenFiles(files("a.parquet")))).toEqual(["a.parquet", "a.parquet"]);
    expect(pathsOf(givenFiles(files("top/a.parquet", "top/b/c.parquet")))).toEqual(["top", "a.parquet", "b/c.parquet"]);
    expect(pathsOf(givenFiles(files("a.parquet", "b.parquet")))).toEqual(["files", "a.parquet", "b.parquet"]);
    expect(pathsOf(givenFiles(files("top/only.parquet")))).toEqual(["top", "only.parquet"]);
  });

  it("start at the LeRobot folder, at any depth", () => {
    expect(pathsOf(givenFiles(files("home/user/data/x.parquet", "home/user/meta/info.json")))).toEqual(["user", "data/x.parquet", "meta/info.json"]);
  });

  it("omit hidden files and folders", () => {
    expect(pathsOf(givenFiles(files("top/.DS_Store", "top/a.npz", "top/.git/config")))).toEqual(["top", "a.npz"]);
    expect(givenFiles(files(".DS_Store"))).toBeUndefined();
  });

  it("accept a path on the page's server, and reject other schemes and empty text", () => {
    expect(givenUrl(" /TOKEN/data/ ", "http://127.0.0.1:81")).toEqual({ kind: "url", url: "http://127.0.0.1:81/TOKEN/data/" });
    for (const bad of ["", "javascript:alert(1)", "file:///etc/passwd", "data:text/html,x"]) expect(() => givenUrl(bad, "http://h")).toThrow(TypeError);
  });

  it("accept a list of files only in the form that serve-page returns", () => {
    expect(listedFiles([{ path: "a", size: 1, more: 2 }])).toEqual([{ path: "a", size: 1 }]);
    for (const bad of [null, {}, [{ path: 1, size: 1 }], [{ path: "a", size: -1 }], [{ path: "a" }]]) expect(listedFiles(bad)).toBeUndefined();
  });
});

describe("the token of serve-page", () => {
  const token = "aB3_-".repeat(9).slice(0, 43);

  it.each([
    [`http://127.0.0.1:8000/${token}/data/meta/info.json: the server answered 404`, "data/meta/info.json: the server answered 404"],
    [`cannot open http://[::1]:8000/${token}/data/`, "cannot open data/"],
    [`/${token}/data/a%20b.parquet ends too early`, "data/a%20b.parquet ends too early"],
    [`an address must begin with https://, got "#look?from=%2F${token}%2Fdata%2F"`, 'an address must begin with https://, got "#look?from=data%2F"'],
    [`two: http://127.0.0.1:1/${token}/data/a and http://127.0.0.1:1/${token}/data`, "two: data/a and data"],
  ])("is removed from %s", (text, shown) => {
    expect(withoutToken(text)).toBe(shown);
    expect(withoutToken(text)).not.toContain(token);
  });

  it("is not found in texts that do not contain it", () => {
    for (const text of ["https://example.org/datasets/data/x.parquet", "/short/data/x", `/${token}x/data/y`, `/${token}/database`, "no address"])
      expect(withoutToken(text)).toBe(text);
  });

  it("is in no field of an error from the worker", async () => {
    const { port1, port2 } = new MessageChannel();
    const address = `http://127.0.0.1:8000/${token}/data/x.parquet`;
    serve(port1 as unknown as Port, {
      fail: async () => {
        throw new RldsError("IO", `${address} cannot be read`, { file: address });
      },
    });
    const error = (await new Caller(port2 as unknown as Port).call("fail", 0).catch((reason) => reason)) as Error & { readonly file: string };
    port1.close();
    expect([error.message, error.file, JSON.stringify(error).includes(token)]).toEqual([expect.stringContaining("data/x.parquet"), "data/x.parquet", false]);
    expect(error.message).not.toContain(token);
  });
});

describe("calls", () => {
  const verbs = {
    double: async (n: number) => 2 * n,
    count: async (to: number, signal: AbortSignal, tell: Tell) => {
      for (let i = 0; i < to; i++) {
        signal.throwIfAborted();
        tell(i);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return to;
    },
    fail: async () => {
      throw new RldsError("CORRUPT", "it is damaged", { file: "a.npz", episode: 3 });
    },
  };
  async function connected(use: (caller: Caller) => Promise<void>): Promise<void> {
    const { port1, port2 } = new MessageChannel();
    serve(port1 as unknown as Port, verbs as never);
    try {
      await use(new Caller(port2 as unknown as Port));
    } finally {
      port1.close();
    }
  }

  it("return their own answers and news, and reject with the place of an error", () =>
    connected(async (caller) => {
      const news: number[] = [];
      const all = await Promise.all([
        caller.call("double", 4),
        caller.call("count", 3, { onNews: (n: number) => void news.push(n) }),
        caller.call("double", 5),
      ]);
      expect([all, news]).toEqual([
        [8, 3, 10],
        [0, 1, 2],
      ]);
      await expect(caller.call("fail", 0)).rejects.toMatchObject({ name: "RldsError", code: "CORRUPT", file: "a.npz", episode: 3 });
      await expect(caller.call("toString", 0)).rejects.toThrow("no command toString");
    }));

  it("can be aborted, and other calls continue", () =>
    connected(async (caller) => {
      const stop = new AbortController();
      const counting = caller.call("count", 100_000, { signal: stop.signal });
      stop.abort();
      await expect(counting).rejects.toMatchObject({ name: "AbortError" });
      expect(await caller.call("double", 1)).toBe(2);
    }));

  it("reject if nobody is left to answer", () =>
    connected(async (caller) => {
      const waiting = caller.call("count", 100_000);
      caller.fail(new Error("gone"));
      await expect(waiting).rejects.toThrow("gone");
    }));
});

describe("stoppable", () => {
  it("ends while a value is pending, and closes its source later", async () => {
    let closed = false;
    async function* slow() {
      try {
        yield 1;
        await new Promise((resolve) => setTimeout(resolve, 50));
        yield 2;
      } finally {
        closed = true;
      }
    }
    const stop = new AbortController();
    const seen: number[] = [];
    const run = (async () => {
      for await (const value of stoppable(slow(), stop.signal)) {
        seen.push(value);
        setTimeout(() => stop.abort(), 5);
      }
    })();
    await expect(run).rejects.toMatchObject({ name: "AbortError" });
    expect([seen, closed]).toEqual([[1], false]);
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(closed).toBe(true);
  });
});
