/** Tests that a failed open call leaves no file open. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import promises, { type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openD4rl, openJsonl, openLeRobot, openMinari, openNpz, openParquet, openRlds, openTfds, RldsError } from "../../../../src/datasets/rlds/index.ts";
import { root } from "../../../support/core.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-closing-"));
const handles: FileHandle[] = [];
const open = promises.open;
vi.spyOn(promises, "open").mockImplementation(async (...args) => {
  const handle = await open(...args);
  handles.push(handle);
  return handle;
});

beforeEach(() => {
  handles.length = 0;
});
afterAll(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const OPENERS = { openD4rl, openJsonl, openLeRobot, openMinari, openNpz, openParquet, openRlds, openTfds };
const FILES = {
  "steps.jsonl": "extra/steps.jsonl",
  "plain.parquet": "extra/plain.parquet",
  "tail.hdf5": "extra/d4rl/tail.hdf5",
  "flat.npz": "extra/npz/flat.npz",
};

/** Writes a truncated file twice, the second time as the only file of a folder. Returns the path of the first file, and the path of the folder. */
function damaged(name: string, from: string): string[] {
  const bytes = readFileSync(join(root, "test/data", from)).subarray(0, 60);
  mkdirSync(join(folder, `of-${name}`), { recursive: true });
  const paths = [join(folder, name), join(folder, `of-${name}`, name)];
  for (const path of paths) writeFileSync(path, bytes);
  return [paths[0] as string, join(folder, `of-${name}`)];
}

describe.each(Object.entries(OPENERS))("%s", (_, opener) => {
  it.each(Object.entries(FILES))("closes a damaged %s after the error", async (name, from) => {
    let tried = 0;
    for (const path of damaged(name, from)) {
      const error = await (opener as typeof openRlds)(path).then(
        () => undefined,
        (error) => error,
      );
      expect(error).toBeInstanceOf(RldsError);
      tried += handles.length;
      // The descriptor of a closed handle is -1.
      expect(handles.map(({ fd }) => fd)).toEqual(handles.map(() => -1));
    }
    expect(tried).toBeGreaterThan(0);
  });
});
