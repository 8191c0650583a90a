/** Files that were written when the format got its version: they are read as they were, and what is written today has the same bytes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { root } from "../../support/core.ts";

const FOLDER = join(root, "test/data/golden");
const FILES = new Map(
  ["snapshot.rpr", "content.json", ...readdirSync(join(FOLDER, "journal")).map((name) => `journal/${name}`)].map((name) => [
    name,
    readFileSync(join(FOLDER, name)),
  ]),
);
const CONTENT = JSON.parse(String(FILES.get("content.json")));
// The package as it is built, as the script has it that makes the files.
const [{ Replay }, { memory }, { contentOf, live, made }] = await Promise.all(
  ["dist/index.js", "dist/storage.js", "test/data/golden/make.mjs"].map((file) => import(pathToFileURL(join(root, file)).href)),
);

const bytesOf = (replay: { snapshot(): Iterable<Uint8Array> }) => Buffer.concat([...replay.snapshot()]);

test("the golden snapshot is read, and written again to the byte", () => {
  const golden = FILES.get("snapshot.rpr") as Buffer;
  const replay = Replay.restore(golden, { logger: null });
  expect(bytesOf(replay).equals(golden)).toBe(true);
  expect(contentOf(replay)).toEqual(CONTENT);
});

test("the golden journal is read as it was, without a warning, and goes on", async () => {
  const warned: string[] = [];
  const files = [...FILES].flatMap(([name, bytes]) => (name.startsWith("journal/") ? [[name.slice(8), bytes] as const] : []));
  const dir = memory({ files });
  const replay = await Replay.open({ dir, durability: "manual", logger: (message: string) => warned.push(message) });
  expect(replay.journal.kept).toEqual({ t: 26, weights: Float32Array.of(0.5, 24), when: new Date(24), big: 2n ** 70n, seen: new Map([["a", new Set([24])]]) });
  expect(warned).toEqual([]);
  expect(contentOf(await Replay.open({ dir: memory({ files }), logger: null }))).toEqual(CONTENT);
  const twin = Replay.restore(FILES.get("snapshot.rpr"), { logger: null });
  for (const one of [replay, twin]) live(one, 26, 40);
  await replay.flush();
  const again = await Replay.open({ dir: dir.crash(), durability: "manual", logger: null });
  expect(contentOf(again)).toEqual(contentOf(twin));
});

test("today the same files are made; where they are others, the version of the format must be raised and `node test/data/golden/make.mjs` run", async () => {
  const today = (await made()) as Map<string, Buffer>;
  expect([...today.keys()].sort()).toEqual([...FILES.keys()].sort());
  for (const [name, bytes] of today) expect([name, bytes.equals(FILES.get(name) as Buffer)]).toEqual([name, true]);
});
