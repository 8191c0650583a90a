/** Tests which files `reprise serve-page` serves, and to which clients. */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import fs from "node:fs/promises";
import { type IncomingHttpHeaders, request } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, test, vi } from "vitest";
import { UsageError } from "../../../src/cli/exit.ts";
import { pageFolder } from "../../../src/cli/page/page-folder.ts";
import { hostsOf } from "../../../src/cli/page/request.ts";
import { type PageServer, pageServer } from "../../../src/cli/page/server.ts";
import { run } from "../../../src/cli/program.ts";
import { openRlds, sourceOf } from "../../../src/datasets/rlds/index.ts";
import { root } from "../../support/core.ts";
import { stride, whole } from "../../support/size.ts";
import { DATA, failure, reprise, temporary } from "./support.ts";

/** Folders that cannot be listed, even if root runs the tests. A module mock would fail if another file has loaded the module. */
const locked = new Set<string>();
const { readdir } = fs;
fs.readdir = ((path: string, ...rest: unknown[]) =>
  locked.has(path)
    ? Promise.reject(Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" }))
    : Reflect.apply(readdir, fs, [path, ...rest])) as typeof readdir;
syncBuiltinESMExports();
afterAll(() => {
  fs.readdir = readdir;
  syncBuiltinESMExports();
});

const temp = temporary();
const PAGE = temp("page");
const FOLDER = temp("data");
const LARGE = Uint8Array.from({ length: 5_000_000 }, (_, i) => (i * 7) % 251);
let server: PageServer;
let base: string;
let token: string;

beforeAll(async () => {
  mkdirSync(join(PAGE, "chunks"), { recursive: true });
  writeFileSync(join(PAGE, "index.html"), "<!doctype html><title>the page</title>");
  writeFileSync(join(PAGE, "chunks", "a.js"), "export {}");
  writeFileSync(join(PAGE, "secret.txt"), "of the page");
  mkdirSync(join(FOLDER, "meta", ".hidden"), { recursive: true });
  writeFileSync(join(FOLDER, "meta", "a name with % and ü.json"), "{}");
  writeFileSync(join(FOLDER, "large.bin"), LARGE);
  writeFileSync(join(FOLDER, "page.html"), "<script>alert(1)</script>");
  writeFileSync(join(FOLDER, "film.mp4"), "film");
  writeFileSync(join(FOLDER, "empty"), "");
  writeFileSync(join(FOLDER, ".env"), "secret");
  writeFileSync(join(FOLDER, "meta", ".hidden", "key"), "secret");
  writeFileSync(temp("outside.txt"), "secret");
  mkdirSync(temp("data-beside"));
  writeFileSync(temp("data-beside", "near.txt"), "secret");
  symlinkSync(temp("outside.txt"), join(FOLDER, "link-out"));
  symlinkSync(temp("data-beside"), join(FOLDER, "folder-out"));
  symlinkSync(join(FOLDER, ".env"), join(FOLDER, "link-to-hidden"));
  symlinkSync(join(FOLDER, "film.mp4"), join(FOLDER, "link-inside.mp4"));
  server = await pageServer({ page: PAGE, path: FOLDER, port: 0 });
  [, base = "", token = ""] = /^(http:\/\/127\.0\.0\.1:\d+)\/#look\?from=\/([\w-]{43})\/data\/$/.exec(server.address) ?? [];
});
afterAll(() => server.close());

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends a request with the literal path, because HTTP clients normalize paths. */
function asked(path: string, { method = "GET", ...headers }: { readonly [name: string]: string } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    request({ host: hostname, port, path, method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }));
      response.on("error", reject);
    })
      .on("error", reject)
      .end();
  });
}

const data = (path: string) => `/${token}/data/${path}`;

describe("the page and the data", () => {
  it("are served to clients with the address", async () => {
    const page = await asked("/");
    expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.body.toString()).toContain("the page");
    expect((await asked("/chunks/a.js")).headers["content-type"]).toBe("text/javascript; charset=utf-8");
    const list = await asked(data("index.json"));
    expect(list.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(list.body.toString())).toEqual([
      { path: "empty", size: 0 },
      { path: "film.mp4", size: 4 },
      { path: "large.bin", size: 5_000_000 },
      { path: "link-inside.mp4", size: 4 },
      { path: "meta/a name with % and ü.json", size: 2 },
      { path: "page.html", size: 25 },
    ]);
    expect(server.exclusions).toEqual({ links: ["folder-out", "link-out", "link-to-hidden"], unreadable: [], names: [] });
    expect((await asked(data(""))).body).toEqual(list.body);
    expect(Buffer.compare((await asked(data("large.bin"))).body, LARGE)).toBe(0);
    expect((await asked(data(`meta/${encodeURIComponent("a name with % and ü.json")}`))).body.toString()).toBe("{}");
    expect((await asked(data("link-inside.mp4"))).body.toString()).toBe("film");
    expect((await asked(data("empty"))).body.length).toBe(0);
  });

  it("support range requests", async () => {
    const ranged = async (range: string) => {
      const { status, headers, body } = await asked(data("large.bin"), { range });
      return [status, headers["content-range"], body.length, body[0]];
    };
    expect(await ranged("bytes=0-0")).toEqual([206, "bytes 0-0/5000000", 1, LARGE[0]]);
    expect(await ranged("bytes=1234567-2345678")).toEqual([206, "bytes 1234567-2345678/5000000", 1111112, LARGE[1234567]]);
    expect(await ranged("bytes=4999990-")).toEqual([206, "bytes 4999990-4999999/5000000", 10, LARGE[4999990]]);
    expect(await ranged("bytes=4999990-99999999")).toEqual([206, "bytes 4999990-4999999/5000000", 10, LARGE[4999990]]);
    expect(await ranged("bytes=-5")).toEqual([206, "bytes 4999995-4999999/5000000", 5, LARGE[4999995]]);
    for (const none of ["bytes=5000000-", "bytes=9-3", "bytes=-0"]) expect((await ranged(none)).slice(0, 2)).toEqual([416, "bytes */5000000"]);
    // An unsupported range is ignored, so the whole file is sent.
    for (const other of ["bytes=0-1,3-4", "lines=0-1", "bytes=a-b", "bytes=-"]) expect((await ranged(other))[0]).toBe(200);
    const head = await asked(data("large.bin"), { method: "HEAD", range: "bytes=0-9" });
    expect([head.status, head.headers["content-length"], head.body.length]).toEqual([206, "10", 0]);
    expect((await asked(data("empty"), { range: "bytes=0-9" })).status).toBe(416);
  });

  it("form a dataset that openRlds reads from the address", async () => {
    const own = await pageServer({ page: PAGE, path: join(DATA, "extra/lerobot_v3"), port: 0 });
    try {
      const url = new URL(new URL(own.address).hash.slice("#look?from=".length), own.address);
      const { folder } = await sourceOf(url);
      const listed = (await (await fetch(new URL("index.json", url))).json()) as { path: string }[];
      const reader = await openRlds({
        name: "served",
        open: async (path) => (folder as NonNullable<typeof folder>).open(path),
        list: async () => listed.map(({ path }) => path),
      });
      expect([reader.format, reader.episodes, await reader.lengths?.()]).toEqual(["lerobot", 3, [4, 3, 5]]);
    } finally {
      await own.close();
    }
  });

  it("exclude a subfolder that cannot be listed, and report it", async () => {
    const folder = temp("partly");
    for (const name of ["open", "shut"]) {
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, "a.txt"), name);
    }
    locked.add(join(folder, "shut"));
    const own = await pageServer({ page: PAGE, path: folder, port: 0 });
    try {
      const url = new URL(new URL(own.address).hash.slice("#look?from=".length), own.address);
      expect(await (await fetch(new URL("index.json", url))).json()).toEqual([{ path: "open/a.txt", size: 4 }]);
      expect(own.exclusions).toEqual({ links: [], unreadable: ["shut"], names: [] });
    } finally {
      await own.close();
    }
    locked.add(folder);
    await expect(pageServer({ page: PAGE, path: folder, port: 0 })).rejects.toMatchObject({
      code: "IO",
      message: expect.stringMatching(/cannot be listed: EACCES/),
    });
  });

  it.skipIf(process.platform === "win32")("include names with a colon, but not with a backslash or a drive letter", async () => {
    const folder = temp("names");
    mkdirSync(join(folder, "12:30"), { recursive: true });
    const line = '{"steps": [{"observation": 1, "action": 2, "reward": 0}]}\n';
    for (const name of ["12:30/run 12:30.jsonl", "a\\b.jsonl", "c:d.jsonl"]) writeFileSync(join(folder, name), line);
    const own = await pageServer({ page: PAGE, path: folder, port: 0 });
    try {
      const url = new URL(new URL(own.address).hash.slice("#look?from=".length), own.address);
      expect(await (await fetch(new URL("index.json", url))).json()).toEqual([{ path: "12:30/run 12:30.jsonl", size: line.length }]);
      expect(own.exclusions).toEqual({ links: [], unreadable: [], names: expect.arrayContaining(["a\\b.jsonl", "c:d.jsonl"]) });
      const { folder: served } = await sourceOf(url);
      expect((await served?.open("12:30/run 12:30.jsonl"))?.size).toBe(line.length);
      const reader = await openRlds(join(folder, "12:30"));
      expect(reader.format).toBe("jsonl");
      await reader.close();
      for (const name of ["a%5Cb.jsonl", "c%3Ad.jsonl"]) expect((await fetch(new URL(name, url))).status).toBe(400);
    } finally {
      await own.close();
    }
  });

  it("exclude links that leave the folder, as in a snapshot of a Hugging Face cache", async () => {
    const cache = temp("datasets--me--pusht");
    mkdirSync(join(cache, "blobs"), { recursive: true });
    mkdirSync(join(cache, "snapshots/abc/meta"), { recursive: true });
    writeFileSync(join(cache, "blobs/0123"), "{}");
    symlinkSync("../../../blobs/0123", join(cache, "snapshots/abc/meta/info.json"));
    const [all, snapshot] = [
      await pageServer({ page: PAGE, path: cache, port: 0 }),
      await pageServer({ page: PAGE, path: join(cache, "snapshots/abc"), port: 0 }),
    ];
    try {
      const urlOf = ({ address }: PageServer) => new URL(new URL(address).hash.slice("#look?from=".length), address);
      expect(await (await fetch(new URL("snapshots/abc/meta/info.json", urlOf(all)))).text()).toBe("{}");
      expect(all.exclusions.links).toEqual([]);
      expect(await (await fetch(new URL("index.json", urlOf(snapshot)))).json()).toEqual([]);
      expect((await fetch(new URL("meta/info.json", urlOf(snapshot)))).status).toBe(404);
      expect(snapshot.exclusions.links).toEqual(["meta/info.json"]);
    } finally {
      await all.close();
      await snapshot.close();
    }
  });

  it("are limited to one data file if the path is a file", async () => {
    const own = await pageServer({ page: PAGE, path: join(FOLDER, "film.mp4"), port: 0 });
    try {
      const url = new URL(new URL(own.address).hash.slice("#look?from=".length), own.address);
      expect(url.pathname).toMatch(/^\/[\w-]{43}\/data\/film\.mp4$/);
      expect(await (await fetch(url)).text()).toBe("film");
      expect(await (await fetch(new URL("index.json", url))).json()).toEqual([{ path: "film.mp4", size: 4 }]);
      expect((await fetch(new URL("large.bin", url))).status).toBe(404);
    } finally {
      await own.close();
    }
  });

  it("support any characters in the name of a single file", async () => {
    const name = "half # of 50 %, a+b ü.bin";
    writeFileSync(temp(name), "odd");
    const own = await pageServer({ page: PAGE, path: temp(name), port: 0 });
    try {
      // The page parses its hash in the same way.
      const from = new URLSearchParams(new URL(own.address).hash.slice("#look?".length)).get("from") as string;
      expect(await (await fetch(new URL(from, own.address))).text()).toBe("odd");
    } finally {
      await own.close();
    }
  });

  it.runIf(whole && process.platform === "linux")("close the file when a browser disconnects", async () => {
    const large = temp("larger.bin");
    writeFileSync(large, new Uint8Array(40 << 20));
    const own = await pageServer({ page: PAGE, path: large, port: 0 });
    const warned: string[] = [];
    const warn = (warning: Error) => warned.push(warning.message);
    process.on("warning", warn);
    try {
      const { port, hash } = new URL(own.address);
      const brokenOff = (after: number) =>
        new Promise<void>((resolve) => {
          let bytes = 0;
          const socket = connect(Number(port), "127.0.0.1", () => {
            socket.write(`GET ${hash.slice("#look?from=".length)} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
          });
          socket.on("data", ({ length }) => {
            bytes += length;
            if (bytes > after) socket.destroy();
          });
          socket.on("close", () => resolve());
        });
      const step = stride(1, 7);
      for (let i = 0; i < 60; i += step) await brokenOff((i % 20) * 300_000);
      const open = () =>
        readdirSync("/proc/self/fd").filter((fd) => {
          try {
            return readlinkSync(`/proc/self/fd/${fd}`) === large;
          } catch {
            return false;
          }
        }).length;
      await vi.waitFor(() => expect(open()).toBe(0), 10_000);
      // Node would close leaked file descriptors and log a warning.
      expect(warned.filter((message) => message.includes("file descriptor"))).toEqual([]);
    } finally {
      process.off("warning", warn);
      await own.close();
    }
  });
});

describe("access control", () => {
  it("requires the whole token", async () => {
    const wrong = [
      `/data/large.bin`,
      `/${"x".repeat(43)}/data/large.bin`,
      `/${token.slice(0, -1)}/data/large.bin`,
      `/${token}x/data/large.bin`,
      "/large.bin",
      `/${token}/large.bin`,
    ];
    for (const path of wrong) expect([path, (await asked(path)).status]).toEqual([path, 404]);
    expect((await asked(`/${token.toUpperCase()}/data/index.json`)).status).toBe(token.toUpperCase() === token ? 200 : 404);
  });

  it("uses a new token per server", async () => {
    const other = await pageServer({ page: PAGE, path: FOLDER, port: 0 });
    expect(other.address).not.toContain(token);
    await other.close();
  });

  it.each([["evil.example"], ["evil.example:PORT"], ["127.0.0.1"], ["127.0.0.1:1"], ["127.0.0.1.evil.example:PORT"], ["[::1]:PORT"], ["0.0.0.0:PORT"]])(
    "rejects the Host %j, which DNS rebinding could send",
    async (name) => {
      const host = name.replace("PORT", new URL(base).port);
      for (const path of ["/", data("large.bin"), data("index.json")]) expect((await asked(path, { host })).status).toBe(403);
    },
  );

  it("accepts hosts without a port on port 80", async () => {
    expect(hostsOf(80)).toEqual(["127.0.0.1", "127.0.0.1:80", "localhost", "localhost:80"]);
    expect(hostsOf(8080)).toEqual(["127.0.0.1:8080", "localhost:8080"]);
    const own = await pageServer({ page: PAGE, path: FOLDER, port: 80 }).catch(() => undefined);
    // Some systems do not allow listening on port 80.
    if (own === undefined) return;
    try {
      expect(await (await fetch(`http://localhost/`)).text()).toContain("the page");
      const headers = { origin: "http://127.0.0.1" };
      expect((await fetch(new URL(new URL(own.address).hash.slice("#look?from=".length), own.address), { headers })).status).toBe(200);
    } finally {
      await own.close();
    }
  });

  it("accepts the host localhost", async () => {
    expect((await asked(data("film.mp4"), { host: `localhost:${new URL(base).port}` })).status).toBe(200);
  });

  it("rejects cross-site requests and sends no CORS headers", async () => {
    expect((await asked(data("film.mp4"), { origin: "https://evil.example" })).status).toBe(403);
    expect((await asked(data("film.mp4"), { origin: "null" })).status).toBe(403);
    expect((await asked(data("film.mp4"), { origin: base })).status).toBe(200);
    for (const site of ["cross-site", "same-site"]) expect((await asked(data("film.mp4"), { "sec-fetch-site": site })).status).toBe(403);
    for (const site of ["same-origin", "none"]) expect((await asked(data("film.mp4"), { "sec-fetch-site": site })).status).toBe(200);
    for (const path of ["/", data("film.mp4"), data("index.json"), "/missing"]) {
      const { headers } = await asked(path);
      expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
      expect(headers).toMatchObject({
        ...{ "referrer-policy": "no-referrer", "x-content-type-options": "nosniff", "x-frame-options": "DENY" },
        ...{ "cross-origin-resource-policy": "same-origin", "cache-control": "no-store" },
      });
    }
  });

  it("rejects methods other than GET and HEAD", async () => {
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"]) {
      const { status, headers } = await asked(data("film.mp4"), { method });
      expect([method, status, headers.allow]).toEqual([method, 405, "GET, HEAD"]);
    }
    expect(readFileSync(join(FOLDER, "film.mp4"), "utf8")).toBe("film");
  });

  it("rejects paths outside the folder with dots, links, encodings or drives", async () => {
    const paths = [
      ...["../outside.txt", "..%2foutside.txt", "%2e%2e/outside.txt", "%2e%2e%2foutside.txt", "meta/../../outside.txt", "..\\outside.txt", "..%5coutside.txt"],
      ...["/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "c:/windows", "meta/%00", "%", "%ff", "./film.mp4", "meta//a"],
      ...["link-out", "folder-out/near.txt", "../data-beside/near.txt"],
    ];
    for (const path of paths) {
      const { status, body } = await asked(data(path));
      expect([path, status === 400 || status === 404]).toEqual([path, true]);
      expect(body.toString()).not.toContain("secret");
    }
    for (const path of ["/../outside.txt", "/%2e%2e/outside.txt", "/..%2f..%2foutside.txt", "/chunks/../../outside.txt"]) {
      const { status, body } = await asked(path);
      expect([path, status === 400 || status === 404]).toEqual([path, true]);
      expect(body.toString()).not.toContain("secret");
    }
  });

  it("rejects hidden files, even through a link", async () => {
    for (const path of [".env", "meta/.hidden/key", "%2eenv", "link-to-hidden"]) expect([path, (await asked(data(path))).status]).toEqual([path, 404]);
  });

  it("prevents documents of the data from running scripts", async () => {
    const { headers } = await asked(data("page.html"));
    expect(headers["content-type"]).toBe("application/octet-stream");
    expect(headers["content-security-policy"]).toBe("default-src 'none'; frame-ancestors 'none'; sandbox");
    expect((await asked(data("film.mp4"))).headers["content-type"]).toBe("video/mp4");
    expect((await asked("/")).headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  });

  it("rejects connections to another address of this machine", async () => {
    const port = Number(new URL(base).port);
    const error = await new Promise<{ code?: string } | undefined>((resolve) => {
      const socket = connect({ host: "127.0.0.2", port }, () => {
        socket.destroy();
        resolve(undefined);
      }).on("error", resolve);
    });
    expect(error?.code).toBe("ECONNREFUSED");
  });
});

describe("the verb serve-page", () => {
  test("prints help, and rejects a URL and a missing page package", async () => {
    expect((await reprise("serve-page", "--help")).stdout).toContain("The address contains a token");
    const { error } = await failure(2, "serve-page", "https://example.org/data");
    expect(error.message).toMatch(/^serve-page shows files on this machine/);
    const say = vi.spyOn(process.stderr, "write").mockImplementation(((_: string, done?: () => void) => done?.() ?? true) as typeof process.stderr.write);
    try {
      expect(await run(["serve-page", FOLDER], "1.0.0", temp("nowhere"))).toBe(2);
      expect(say.mock.calls[0]?.[0]).toBe(
        "reprise: USAGE: serve-page requires the package reprise-page, which is not installed. " +
          "Run npm install reprise-page@1.0.0, or npm run build:page in a clone of Reprise\n",
      );
    } finally {
      say.mockRestore();
    }
  });

  describe("pageFolder", () => {
    /** Installs a fake page package in a folder of modules, or next to the program. */
    function install(folder: string, version: string): string {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "reprise-page", version, exports: { "./package.json": "./package.json" } }));
      return join(folder, "page");
    }

    const [program, user] = [temp("place", "node_modules", "reprise", "dist"), temp("project", "a", "folder")];
    beforeAll(() => {
      for (const folder of [program, user]) mkdirSync(folder, { recursive: true });
    });

    test("finds only a package of the same version, in each place of installation", () => {
      expect(() => pageFolder("1.2.0", program, user)).toThrow(UsageError);
      const ofUser = install(temp("project", "node_modules", "reprise-page"), "1.1.0");
      expect(pageFolder("1.1.0", program, user)).toBe(ofUser);
      expect(() => pageFolder("1.2.0", program, user)).toThrow(
        new UsageError(
          `reprise-page must have the same version as reprise, 1.2.0, got 1.1.0 in ${temp("project", "node_modules", "reprise-page")}. ` +
            "Run npm install reprise-page@1.2.0, or npm run build:page in a clone of Reprise",
        ),
      );
      const ofProgram = install(temp("place", "node_modules", "reprise-page"), "1.2.0");
      expect(pageFolder("1.2.0", program, user)).toBe(ofProgram);
      expect(pageFolder("1.1.0", program, user)).toBe(ofUser);
      const built = install(join(program, "reprise-page"), "1.2.0");
      expect(pageFolder("1.2.0", program, user)).toBe(built);
    });

    test("ignores a package that cannot be read", () => {
      const broken = temp("broken", "node_modules", "reprise-page");
      mkdirSync(broken, { recursive: true });
      writeFileSync(join(broken, "package.json"), "{");
      expect(() => pageFolder("1.0.0", temp("nowhere"), temp("broken"))).toThrow("which is not installed");
    });
  });

  test.skipIf(!whole)("prints the address, serves until Ctrl-C, and exits with 0", async () => {
    // In a clone, the program finds the page next to itself, so this test puts a page next to a copy of the program.
    const dist = temp("dist");
    const left = ["/everywhere", "/embed/", "/reprise-page", "/release"];
    cpSync(join(root, "dist"), join(dist, "dist"), { recursive: true, filter: (path) => !left.some((part) => path.includes(`/dist${part}`)) });
    cpSync(join(root, "package.json"), join(dist, "package.json"));
    cpSync(PAGE, join(dist, "dist/reprise-page/page"), { recursive: true });
    cpSync(join(root, "package.json"), join(dist, "dist/reprise-page/package.json"));
    symlinkSync(join(root, "node_modules"), join(dist, "node_modules"));
    const child = spawn(process.execPath, [join(dist, "dist/cli.js"), "serve-page", FOLDER], { stdio: ["ignore", "pipe", "pipe"] });
    const address = await new Promise<string>((resolve) => child.stdout.once("data", (text) => resolve(String(text).split("\n")[0] as string)));
    const url = new URL(address);
    expect(await (await fetch(url)).text()).toContain("the page");
    const list = await fetch(new URL(`${url.hash.slice("#look?from=".length)}index.json`, url));
    expect(((await list.json()) as unknown[]).length).toBe(6);
    child.kill("SIGINT");
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0);
  });
});
