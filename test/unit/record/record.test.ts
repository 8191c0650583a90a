/** What was recorded is read back, whatever the storage; in one go, over several openings, and one episode at a time. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openRlds } from "../../../src/formats/index.ts";
import { open, openRecording } from "../../../src/record/index.ts";
import { f32, text, u8 } from "../../../src/spec/constructors.ts";
import { memory } from "../../../src/store/index.ts";
import { all } from "../../support/columns.ts";
import { TestRandom } from "../../support/random.ts";
import { act, expected, opened, read, SPEC, seen, stepOf, type TwinEpisode } from "./world.ts";

const folder = mkdtempSync(join(tmpdir(), "reprise-record-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const STORAGES = [
  ["raw", "rows"],
  ["png", "rows"],
  ["raw", "files"],
  ["png", "files"],
] as const;

describe.each(STORAGES)("%s in %s", (images, imagesIn) => {
  test("what is recorded over several openings is what is read, from memory", async () => {
    const dir = memory();
    const twin: TwinEpisode[] = [];
    const random = new TestRandom(7);
    for (let session = 0; session < 6; session++) {
      const recorder = await opened({ dir, images, imagesIn, segmentBytes: 4096 });
      expect(recorder.episodes).toBe(expected(twin).length);
      await act(recorder, twin, random, 60);
      await recorder.flush();
      expect(await read(dir)).toEqual(expected(twin));
      await recorder.close();
    }
    expect(await read(dir)).toEqual(expected(twin));
    expect(await read(dir.files())).toEqual(expected(twin));
  });
});
