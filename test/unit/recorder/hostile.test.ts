/** Tests recordings with correct checksums but invalid content: each must quickly cause a typed error, without using more memory than the file's size. */
import { describe, expect, test } from "vitest";
import { RECORDED_END, RECORDED_FINAL, RECORDED_FRAME, RECORDED_INDEX, RECORDED_STEP } from "../../../src/base/kinds.ts";
import { Contents, ENDED, endBytes } from "../../../src/datasets/model/recording/contents.ts";
import { open, openRecording } from "../../../src/recorder/index.ts";
import { bool, f32, f64, i32, text, u8 } from "../../../src/schema/constructors.ts";
import { encodeTagged, Log, type MemoryDirectory, memory } from "../../../src/storage/index.ts";
import { all } from "../../support/columns.ts";

const SPEC = { observation: { image: u8(2, 2, 3), on: bool() }, action: f32(2), words: text({ maxBytes: 8 }) };
const ABOUT = { content: "recording", version: 1, spec: SPEC, fps: 10, images: "raw", imagesIn: "rows", about: {} };
const FRAME = new Uint8Array(12).fill(7);
/** A row: its numbers (action before observation.on), then the length and the bytes of a text. */
const ROW = Uint8Array.of(...new Uint8Array(8), 1, 2, 0, 0, 0, 104, 105);
const END = endBytes({ flags: ENDED, task: "t" });

type Section = readonly [kind: number, id: number, payload: Uint8Array];
const STEP: readonly Section[] = [
  [RECORDED_FRAME, 0, FRAME],
  [RECORDED_STEP, 0, ROW],
];

/** Creates a directory with forged sections as groups. */
function forged(sections: readonly Section[], about: object = ABOUT, segmentBytes?: number): MemoryDirectory {
  const dir = memory();
  const log = Log.open(dir, { about, durability: "manual", ...(segmentBytes && { segmentBytes }) });
  for (const [kind, id, payload] of sections) {
    log.write(kind, id, payload);
    if (kind !== RECORDED_FRAME) log.commit();
  }
  log.close();
  return dir;
}

/** Returns the result or error of a reader, and of a recorder that continues the recording. */
async function outcome(dir: MemoryDirectory) {
  const failed = (error: { code?: string; message: string }) => `${error.code}: ${error.message}`;
  const reads = await openRecording(dir)
    .then(async (reader) => (await all(reader)).map(({ steps }) => steps.length))
    .catch(failed);
  const goes = await open({ dir: memory({ files: dir.files() }), logger: null })
    .then(async (recorder) => {
      const { episodes } = recorder;
      await recorder.close();
      return episodes;
    })
    .catch(failed);
  return [reads, goes] as const;
}

test("valid sections are read, and a recorder continues them", async () => {
  expect(await outcome(forged([...STEP, [RECORDED_END, 0, END]]))).toEqual([[1], 1]);
  expect(await outcome(forged(STEP))).toEqual([[1], 1]);
});

describe("invalid steps", () => {
  const cut = ROW.subarray(0, ROW.length - 1);
  test.each<readonly [string, readonly Section[], RegExp]>([
    ["without its frame", [[RECORDED_STEP, 0, ROW]], /^CORRUPT: a step has no frame of observation\/image \(00000001.rpr, byte \d+; episode 0, step 0\)/],
    [
      "a frame of another size",
      [
        [RECORDED_FRAME, 0, FRAME.subarray(1)],
        [RECORDED_STEP, 0, ROW],
      ],
      /^CORRUPT: observation\/image has 11 bytes of pixels instead of 12/,
    ],
    ["a frame of an unknown camera", [[RECORDED_FRAME, 9, FRAME], ...STEP], /^CORRUPT: the camera of a frame must .*0 … 0, got 9/],
    [
      "a short row",
      [
        [RECORDED_FRAME, 0, FRAME],
        [RECORDED_STEP, 0, ROW.subarray(0, 5)],
      ],
      /^CORRUPT: a step has 5 bytes, but needs at least 9/,
    ],
    [
      "a text that is cut",
      [
        [RECORDED_FRAME, 0, FRAME],
        [RECORDED_STEP, 0, cut],
      ],
      /^CORRUPT: words is truncated/,
    ],
    [
      "a text of 4 GB",
      [
        [RECORDED_FRAME, 0, FRAME],
        [RECORDED_STEP, 0, Uint8Array.of(...ROW.subarray(0, 9), 255, 255, 255, 255, 1)],
      ],
      /^CORRUPT: words is truncated/,
    ],
    [
      "a text that is not valid UTF-8",
      [
        [RECORDED_FRAME, 0, FRAME],
        [RECORDED_STEP, 0, Uint8Array.of(...cut, 255)],
      ],
      /^CORRUPT: words is not valid UTF-8/,
    ],
    [
      "bytes after the row",
      [
        [RECORDED_FRAME, 0, FRAME],
        [RECORDED_STEP, 0, Uint8Array.of(...ROW, 0)],
      ],
      /^CORRUPT: a step has 1 bytes too many/,
    ],
    [
      "an invalid bool",
      [
        [RECORDED_FRAME, 0, FRAME],
        [RECORDED_STEP, 0, ROW.slice().fill(2, 8, 9)],
      ],
      /^CORRUPT: observation\/on must be 0 or 1, got 2/,
    ],
  ])("are rejected: %s", async (_, sections, message) => {
    const [reads, goes] = await outcome(forged(sections));
    expect(reads).toMatch(message);
    // A recorder does not read earlier recordings.
    expect(goes).toBe(1);
  });
});

describe("an invalid order of sections", () => {
  const none: Section = [RECORDED_INDEX, 1, new Contents().bytes()];
  test.each<readonly [string, readonly Section[], RegExp]>([
    ["an episode is left out", [...STEP, [RECORDED_FINAL, 2, ROW]], /^CORRUPT: .*must .*episode 1, got a step of episode 2/],
    [
      "an episode comes back",
      [...STEP, [RECORDED_END, 0, END], [RECORDED_STEP, 0, ROW]],
      /^CORRUPT: .*the next step must belong to episode 1, got a step of episode 0/,
    ],
    ["the first one is missing", [[RECORDED_STEP, 5, ROW]], /^CORRUPT: .*the next step must belong to episode 0, got a step of episode 5/],
    ["an invalid end", [...STEP, [RECORDED_END, 0, encodeTagged({ flags: 64, task: "" }, "x")]], /^CORRUPT: .*the end of an episode is invalid/],
    ["an end of nothing", [...STEP, [RECORDED_END, 0, Uint8Array.of(99)]], /^CORRUPT: a value is truncated or altered/],
  ])("is rejected: %s", async (_, sections, message) => {
    const [reads, goes] = await outcome(forged(sections));
    expect([reads, goes]).toEqual([expect.stringMatching(message), expect.stringMatching(message)]);
  });

  test("an episode without a step", async () => {
    expect(await outcome(forged([[RECORDED_END, 0, END]]))).toEqual([expect.stringMatching(/^CORRUPT: the episode has 0 steps/), 1]);
  });

  test("readers skip a section of unknown kind, and recorders reject it", async () => {
    expect(await outcome(forged([...STEP, [120, 0, FRAME]]))).toEqual([
      [1],
      expect.stringMatching(/^CORRUPT: the recording has a section of unknown kind 120/),
    ]);
    expect((await outcome(forged([none, ...STEP])))[0]).toEqual([1]);
  });
});

describe("a wrong index", () => {
  /** Creates two segments; the second segment contains the index of the first. */
  const two = (index: Uint8Array) => forged([...STEP, ...Array.from({ length: 400 }, () => STEP).flat(), [RECORDED_INDEX, 1, index], ...STEP], ABOUT, 4096);
  const parts = (steps: number, before?: object) => {
    const fields = {
      before: before ?? { kept: 0, episode: 0, length: 0 },
      first: 0,
      steps: Uint32Array.of(steps),
      flags: Uint8Array.of(0),
      task: Uint32Array.of(0),
      tasks: [""],
    };
    return encodeTagged(fields, "index");
  };

  test.each<readonly [string, Uint8Array]>([
    ["four thousand million steps", parts(2 ** 32 - 1)],
    ["a negative number of episodes", parts(1, { kept: -1, episode: 0, length: 0 })],
    ["no lists", encodeTagged({ before: { kept: 0, episode: 0, length: 0 } }, "index")],
    [
      "an unknown task",
      encodeTagged(
        { before: { kept: 0, episode: 0, length: 0 }, first: 0, steps: Uint32Array.of(1), flags: Uint8Array.of(0), task: Uint32Array.of(3), tasks: [] },
        "index",
      ),
    ],
  ])("is ignored or rejected: %s", async (_, index) => {
    const [reads] = await outcome(two(index));
    // An index that is not at the beginning of its segment is ignored.
    if (Array.isArray(reads)) expect(reads).toEqual([402]);
    else expect(reads).toMatch(/^(CORRUPT|UNSUPPORTED): /);
  });

  test("is rejected if its count exceeds the bytes of the files", async () => {
    const dir = memory();
    const log = Log.open(dir, { about: ABOUT, durability: "manual", segmentBytes: 4096 });
    log.onSegment = () => log.write(RECORDED_INDEX, 1, parts(2 ** 32 - 1));
    for (let i = 0; i < 60; i++) {
      for (const section of STEP) log.write(...section);
      log.commit();
    }
    log.close();
    expect(log.segment).toBe(2);
    const said = /^the episode declares 42949\d+ steps, but the files have only \d+ bytes for it \(00000001.rpr, byte \d+; episode 0, step 0\)$/;
    for (const maxBytes of [1000, 2 ** 30, 2 ** 40])
      await expect(openRecording(dir, { maxBytes }).then(all)).rejects.toMatchObject({
        name: "RldsError",
        code: "CORRUPT",
        message: expect.stringMatching(said),
      });
  });

  test("is rejected if its steps exceed maxBytes or the memory of the machine", async () => {
    const dir = memory();
    const log = Log.open(dir, { about: { ...ABOUT, spec: { ...SPEC, action: f32(2 ** 24) } }, durability: "manual", segmentBytes: 4096 });
    log.onSegment = () => log.write(RECORDED_INDEX, 1, parts(2000));
    for (let i = 0; i < 600; i++) {
      for (const section of STEP) log.write(...section);
      log.commit();
    }
    log.close();
    await expect(openRecording(dir).then(all)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringMatching(/^the episode's 2\d+ steps take 1\d+ bytes in memory, more than the 1073741824 that maxBytes allows. Increase maxBytes/),
    });
    await expect(openRecording(dir, { maxBytes: 2 ** 50 }).then(all)).rejects.toMatchObject({
      name: "RldsError",
      code: "UNSUPPORTED",
      message: expect.stringMatching(/^the episode's 2\d+ steps take 1\d+ bytes in memory, more than this machine can allocate/),
    });
  });

  test("is rejected if it declares fewer steps than the segment contains", async () => {
    const dir = memory();
    const log = Log.open(dir, { about: ABOUT, durability: "manual", segmentBytes: 4096 });
    log.onSegment = () => log.write(RECORDED_INDEX, 1, parts(2));
    while (log.segment === 1) {
      for (const section of STEP) log.write(...section);
      log.commit();
    }
    log.close();
    expect((await outcome(dir))[0]).toMatch(/^CORRUPT: the episode has more than the declared 2 steps \(00000001.rpr, byte \d+; episode 0, step 2\)/);
  });
});

describe("invalid heads", () => {
  test.each<readonly [string, object, RegExp]>([
    ["of a Replay", { content: "replay" }, /^SPEC_MISMATCH: .*it contains a Replay/],
    ["of anything", { content: "x" }, /^SPEC_MISMATCH: /],
    ["of another version", { ...ABOUT, version: 2 }, /^UNSUPPORTED: .*version 2/],
    ["without a spec", { ...ABOUT, spec: undefined }, /^CORRUPT: .*no valid spec/],
    ["with a spec of another kind", { ...ABOUT, spec: { observation: 3, action: f32() } }, /^CORRUPT: .*no valid spec/],
    ["with a leaf of no dtype", { ...ABOUT, spec: { observation: { dtype: "f8", shape: [] }, action: f32() } }, /^CORRUPT: .*no valid spec: dtype of/],
    ["with a leaf of a million million numbers", { ...ABOUT, spec: { observation: f64(1000, 1000, 1000, 1000), action: i32() } }, /^CORRUPT: .*no valid spec/],
    ["with a derived leaf", { ...ABOUT, spec: { observation: f32(), action: f32(), is_first: f32() } }, /^CORRUPT: .*no valid spec/],
    ["without fps", { ...ABOUT, fps: "fast" }, /^CORRUPT: .*no valid fps/],
    ["of another image format", { ...ABOUT, images: "gif" }, /^CORRUPT: .*no valid images/],
    ["with frames elsewhere", { ...ABOUT, imagesIn: "http://x" }, /^CORRUPT: .*no valid imagesIn/],
    ["without about", { ...ABOUT, about: null }, /^CORRUPT: .*no valid about/],
  ])("are rejected: %s", async (_, about, message) => {
    const [reads, goes] = await outcome(forged(STEP, about));
    expect([reads, goes]).toEqual([expect.stringMatching(message), expect.stringMatching(message)]);
  });
});

test("a reader rejects invalid PNGs, PNGs of another size, and invalid or missing files of frames", async () => {
  const png = { ...ABOUT, images: "png" };
  expect((await outcome(forged(STEP, png)))[0]).toMatch(/^CORRUPT: the image is neither PNG nor JPEG/);
  const huge = Uint8Array.from([
    0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 1, 0, 0, 0, 1, 0, 0, 8, 2, 0, 0, 0, 1, 2, 3, 4, 5,
  ]);
  expect(
    (
      await outcome(
        forged(
          [
            [RECORDED_FRAME, 0, huge],
            [RECORDED_STEP, 0, ROW],
          ],
          png,
        ),
      )
    )[0],
  ).toMatch(/^CORRUPT: observation\/image is a png image of 65536 × 65536 pixels instead/);
  const beside = { ...ABOUT, imagesIn: "files" };
  expect((await outcome(forged(STEP, beside)))[0]).toMatch(
    /^CORRUPT: the section that describes the file 000000-000000.observation.image.raw has 12 bytes instead of 8/,
  );
  const told: readonly Section[] = [
    [RECORDED_FRAME, 0, new Uint8Array(8)],
    [RECORDED_STEP, 0, ROW],
  ];
  expect((await outcome(forged(told, beside)))[0]).toMatch(
    /^CORRUPT: the file of a frame is missing\. Pass without: \["observation\/image"\] to leave this column out \(000000-000000.observation.image.raw\)/,
  );
});
