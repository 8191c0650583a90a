/** Tests Durable Objects in workerd: their SQLite storage as a directory, and its content after the process is killed. `npm run runtimes` installs workerd. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runtimes } from "../../build/runtimes.mjs";
import { sqlite } from "../../src/storage/index.ts";
import { scaled, whole } from "../support/size.ts";
import { TestSqlite } from "../support/sqlite-storage.ts";
import { bundleWorker, serveWorker } from "../support/workerd.mjs";

const { workerd } = runtimes();
const required = process.env.REPRISE_RUNTIMES === "all";

describe.runIf(whole && (workerd !== undefined || required))("a Durable Object", () => {
  const folder = mkdtempSync(join(tmpdir(), "reprise-workerd-"));
  let modules: readonly string[] = [];
  let worker: Awaited<ReturnType<typeof serveWorker>>;
  const serve = () => serveWorker(workerd as string, folder, { modules, objects: { KEEPER: "Keeper" } });
  const ask = async (name: string, method: string, ...values: readonly unknown[]): Promise<unknown> => {
    const response = await fetch(`${worker.address}/${name}/${method}?${encodeURIComponent(JSON.stringify(values))}`);
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return JSON.parse(text);
  };

  beforeAll(async () => {
    modules = await bundleWorker(join(import.meta.dirname, "object.mjs"), folder);
    worker = await serve();
  });
  afterAll(async () => {
    await worker?.end();
    rmSync(folder, { recursive: true });
  });

  it("reads the same from its storage as from a map of bytes", async () => {
    for (let seed = 1; seed <= scaled(20); seed++) expect(await ask("twins", "play", seed, 150)).toBe(`played 150 calls of seed ${seed}`);
  });

  it("stores logs of many segments", async () => {
    for (let seed = 1; seed <= scaled(10); seed++) expect(await ask("logs", "log", seed)).toMatch(/^\d{3} sections in \d{2,} files$/);
  });

  it("counts rows and rolls back like the storage of the other tests", async () => {
    expect(await ask("facts", "facts")).toEqual({ appends: [1, 1, 1, 1, 1], afterRollback: [134_200, "ESTALE"], isSame: true });
    const storage = new TestSqlite();
    const file = sqlite(storage).open("f", true);
    let at = 0;
    const appends = [100, 100, 3000, 1000, 130_000].map((length) => {
      const before = storage.writes;
      at += file.write(new Uint8Array(length), at);
      return storage.writes - before;
    });
    expect(appends).toEqual([1, 1, 1, 1, 1]);
  });

  it("keeps every acknowledged step when the process is killed repeatedly", async () => {
    let acknowledged = 0;
    for (let kill = 0; kill < scaled(20); kill++) {
      for (let batch = 0; batch < 3; batch++) acknowledged = (await ask("kept", "append", 1 + ((kill * 37 + batch) % 200))) as number;
      // Part of the last batch may be stored, but no step may be stored twice.
      const last = ask("kept", "append", 100).catch(() => {});
      if (kill % 2 === 0) await new Promise((resolve) => setTimeout(resolve, kill % 5));
      await worker.end("SIGKILL");
      await last;
      worker = await serve();
      const { size, inOrder } = (await ask("kept", "count")) as { size: number; inOrder: boolean };
      expect(inOrder).toBe(true);
      expect(size).toBeGreaterThanOrEqual(acknowledged);
      expect(size).toBeLessThanOrEqual(acknowledged + 100);
    }
    expect(acknowledged).toBeGreaterThan(scaled(1000));
  });
});
