/** Tests `Replay.restore` with a spec, which compares the spec that the program expects with the stored spec. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { f32, i32, Replay, type ReplayOptions, type Spec, shared, text, u8 } from "../../src/index.ts";
import { bytesOf, errorOf, expectError } from "../support/refused.ts";

const v1 = { observation: { pixels: u8(4, 4), state: f32(3) }, action: i32(), said: text({ maxBytes: 8 }), frames: shared("f", u8(16), 2) };
const tables = { t: { maxSize: 4 } };
const saved = () => bytesOf(new Replay<Spec, string>({ spec: v1, tables }));

test("the same spec restores a typed Replay", () => {
  const replay = Replay.restore(saved(), { spec: v1 });
  expect(replay.options.spec).toEqual(v1);
  expectTypeOf(replay.options).not.toBeAny();
  expectTypeOf(replay.writer().append).parameter(0).not.toBeAny();
  // The order of keys does not matter.
  const { action, ...rest } = v1;
  expect(Replay.restore(saved(), { spec: { action, ...rest } }).options.spec).toEqual(v1);
});

describe("another spec throws SPEC_MISMATCH with the first difference", () => {
  const { said, observation, action } = v1;
  const cases: [string, Spec, RegExp][] = [
    ["shape", { ...v1, observation: { ...observation, state: f32(4) } }, /^spec\.observation\.state must .*f32.*\[3\].*got f32 of shape \[4\]/],
    ["dtype", { ...v1, action: f32() }, /^spec\.action must .*i32.*\[\].*got f32 of shape \[\]/],
    ["a leaf more", { ...v1, reward: f32() }, /^spec\.reward must .*got f32 of shape \[\]/],
    ["a leaf less", { observation, action, said }, /^spec\.frames must be u8 of shape \[2, 16\] shared as "f", a stack of 2, as in the snapshot, got nothing/],
    [
      "a leaf for a nest",
      { ...v1, observation: f32(3) },
      /^spec\.observation must be an object with keys pixels, state, as in the snapshot, got f32 of shape \[3\]/,
    ],
    ["a nest for a leaf", { ...v1, action: { a: i32() } }, /^spec\.action must be i32 of shape \[\], as in the snapshot, got an object with keys a/],
    [
      "a list for an object",
      { ...v1, observation: [u8(4, 4), f32(3)] },
      /^spec\.observation must be an object with keys pixels, state, as .*got an array of 2/,
    ],
    [
      "maxBytes of text",
      { ...v1, said: text({ maxBytes: 9 }) },
      /^spec\.said must be string of shape \[\] with maxBytes 8, as .*got string of shape \[\] with maxBytes 9/,
    ],
    [
      "shared frames",
      { ...v1, frames: shared("g", u8(16), 2) },
      /^spec\.frames must be .* shared as "f", a stack of 2, as .*got .* shared as "g", a stack of 2/,
    ],
    ["a stack", { ...v1, frames: shared("f", u8(2, 16)) }, /^spec\.frames must be .* a stack of 2, as .*got u8 of shape \[2, 16\] shared as "f"/],
    [
      "a step that is a leaf",
      f32(3),
      /^spec must be an object with keys .*, as in the snapshot, got f32 of shape \[3\]\. .*\(see docs\/migrate\/saved-memory\.md\)$/,
    ],
  ];
  test.each(cases)("%s", async (_, spec, rule) => {
    expectError(
      errorOf(() => Replay.restore(saved(), { spec })),
      "SPEC_MISMATCH",
      rule,
    );
    const later = async function* () {
      yield new Uint8Array(saved());
    };
    await expect(Replay.restore(later(), { spec })).rejects.toThrow(rule);
  });
});

test("an invalid spec throws before any data is read", () => {
  expectError(
    errorOf(() => Replay.restore([], { spec: { a: 1 } as never })),
    TypeError,
    /spec of a must be a leaf/,
  );
});

test("a list is compared by index", () => {
  const list = bytesOf(new Replay<Spec, string>({ spec: [f32(), i32()], tables: {} }));
  expect(Replay.restore(list, { spec: [f32(), i32()] }).options.spec).toEqual([f32(), i32()]);
  expectError(
    errorOf(() => Replay.restore(list, { spec: [i32(), f32()] })),
    "SPEC_MISMATCH",
    /^spec\.0 must be f32/,
  );
  expectError(
    errorOf(() => Replay.restore(list, { spec: { 0: f32(), 1: i32() } })),
    "SPEC_MISMATCH",
    /^spec must .*array of 2/,
  );
});

test("options that only Replay.open has are rejected", () => {
  const options: Partial<ReplayOptions> = { seed: 1 };
  expectError(
    errorOf(() => Replay.restore(saved(), options as never)),
    TypeError,
    /Replay\.restore has no option "seed"\. Options: module, logger, spec, writers/,
  );
});
