/** Tests files that were written when the format got its current version: they must be read unchanged, and current files must have the same bytes. */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { root } from "../../support/core.ts";

const FOLDER = join(root, "test/data/golden");
const NAMES = readdirSync(FOLDER, { recursive: true, withFileTypes: true }).flatMap((one) => (one.isFile() ? [join(one.parentPath, one.name)] : []));
const FILES = new Map(NAMES.map((path) => [relative(FOLDER, path).replaceAll("\\", "/"), readFileSync(path)] as const).filter(([name]) => name !== "make.mjs"));
/** Returns the files of a folder, by name. */
const inFolder = (folder: string) =>
  [...FILES].flatMap(([name, bytes]) => (name.startsWith(`${folder}/`) ? [[name.slice(folder.length + 1), bytes] as const] : []));
const CONTENT = JSON.parse(String(FILES.get("content.json")));
// The golden files were made with the built package, so it is used here.
const [{ Replay }, { memory }, { contentOf, contentOfBuffer, live, made, PFRL, play, saved }] = await Promise.all(
  ["dist/index.js", "dist/storage.js", "test/data/golden/make.mjs"].map((file) => import(pathToFileURL(join(root, file)).href)),
);

const bytesOf = (replay: { snapshot(): Iterable<Uint8Array> }) => Buffer.concat([...replay.snapshot()]);

test("the golden snapshot is restored, and written again with the same bytes", () => {
  const golden = FILES.get("snapshot.rpr") as Buffer;
  const replay = Replay.restore(golden, { logger: null });
  expect(bytesOf(replay).equals(golden)).toBe(true);
  expect(contentOf(replay)).toEqual(CONTENT);
});

test("the golden journal opens unchanged without a warning, and continues", async () => {
  const warned: string[] = [];
  const files = inFolder("journal");
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

const BUFFERS = JSON.parse(String(FILES.get("pfrl/content.json")));

test("the golden PFRL file loads unchanged, and is saved again with the same bytes", () => {
  const directory = memory({ files: inFolder("pfrl") });
  const buffer = saved();
  buffer.load({ directory, file: "saved.rpr" });
  buffer.save({ directory, file: "again.rpr" });
  expect(Buffer.from(directory.files().get("again.rpr")).equals(FILES.get("pfrl/saved.rpr") as Buffer)).toBe(true);
  expect(contentOfBuffer(buffer)).toEqual(BUFFERS.saved);
});

test.each(Object.keys(PFRL))("the golden PFRL directory of %s opens unchanged, and continues", (name) => {
  const open = PFRL[name];
  const dir = memory({ files: inFolder(`pfrl/${name}`) });
  const buffer = open(dir);
  expect(contentOfBuffer(buffer)).toEqual(BUFFERS[name]);
  play(buffer, 23, 40);
  buffer.close();
  const again = open(dir);
  expect(contentOfBuffer(again)).toEqual(contentOfBuffer(buffer));
  again.close();
});

test("new files equal the golden ones (otherwise raise the format version and run `node test/data/golden/make.mjs`)", async () => {
  const today = (await made()) as Map<string, Buffer>;
  expect([...today.keys()].sort()).toEqual([...FILES.keys()].sort());
  for (const [name, bytes] of today) expect([name, bytes.equals(FILES.get(name) as Buffer)]).toEqual([name, true]);
});
