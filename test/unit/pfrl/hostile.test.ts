/** Tests deceptive values passed to PFRL buffers: they are rejected with a message, and the stored state is unchanged. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  batchExperiences,
  batchRecurrentExperiences,
  EpisodicReplayBuffer,
  PersistentReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
  randomSubseq,
} from "../../../src/pfrl/index.ts";
import { memory } from "../../../src/storage/index.ts";
import { brokenBuffer, savedBytes } from "../../support/pfrl.ts";
import { errorOf, expectError } from "../../support/refused.ts";

const step = (i: number) => ({ state: [i, 0], action: i, reward: 1, nextState: [i + 1, 0] });
const rejected = (promise: Promise<unknown>) =>
  promise.then(
    () => new Error("the call was not refused"),
    (error: Error) => error,
  );

test.each([new ReplayBuffer(9), new EpisodicReplayBuffer(9)])("calls from a getter throw OUT_OF_TURN while a transition is read", (buffer) => {
  const inner: string[] = [];
  const again = <T>(value: T): T => {
    for (const call of [() => buffer.append(step(90)), () => buffer.stopCurrentEpisode(), () => buffer.sample(1)])
      inner.push((errorOf(call) as { code?: string }).code ?? "");
    return value;
  };
  for (let i = 0; i < 3; i++) {
    buffer.append({
      get state() {
        return again([i, 0]);
      },
      action: i,
      get reward() {
        return again(i);
      },
      nextState: [i + 1, 0],
      isStateTerminal: i === 2,
    });
  }
  expect(new Set(inner)).toEqual(new Set(["OUT_OF_TURN"]));
  const items = [...buffer.items()].flat() as { state: number[]; action: number; reward: number }[];
  expect(items.map(({ state, action, reward }) => [state[0], action, reward])).toEqual([
    [0, 0, 0],
    [1, 1, 1],
    [2, 2, 2],
  ]);
  expect(brokenBuffer(buffer)).toEqual([]);
});

test("updateErrors rejects errors and keys whose memory was transferred, or that report a wrong length", () => {
  const buffer = new PrioritizedReplayBuffer(9);
  for (let i = 0; i < 4; i++) buffer.append(step(i));
  buffer.sample(2);
  const before = savedBytes(buffer);
  const gone = new Float64Array(2);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  class Liar extends Float64Array {
    override get length(): number {
      return 2;
    }
  }
  for (const call of [() => buffer.updateErrors(gone), () => buffer.priorityFromErrors(gone), () => buffer.updateErrors([1, 2], gone)])
    expectError(errorOf(call), RangeError, /must be an array of numbers, got .* memory was transferred/);
  expectError(
    errorOf(() => buffer.updateErrors(new Liar(50))),
    RangeError,
    /^errors must be 2 numbers/,
  );
  expect(savedBytes(buffer).equals(before)).toBe(true);
});

describe("options of asynchronous calls", () => {
  const target = () => ({ directory: memory(), file: "x" });
  const buffer = new ReplayBuffer(9);
  buffer.append(step(1));
  test.each<[string, object | null, RegExp]>([
    ["an invalid signal", { signal: {} }, /^signal must be an AbortSignal/],
    ["a progress that is not a function", { onProgress: 1 }, /^onProgress must be a function, got 1/],
    ["another name", { onprogress: () => {} }, /has no option "onprogress"/],
    ["null", null, /^options must be an object/],
  ])("saveAsync and loadAsync reject %s", async (_, options, says) => {
    for (const call of [buffer.saveAsync(target(), options as object), buffer.loadAsync(target(), options as object)])
      expectError(await rejected(call), TypeError, says);
  });

  test("a rejected or aborted open releases the directory", async () => {
    const folder = mkdtempSync(join(tmpdir(), "pfrl-hostile-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const options of [{ signal: AbortSignal.abort() }, { signal: {} as AbortSignal }]) {
      await rejected(PersistentReplayBuffer.open(folder, 5, options));
      const locks = readdirSync(folder).filter((name) => name.startsWith("lock."));
      expect(locks.map((name) => readFileSync(join(folder, name), "utf8").trim())).toEqual(["{}"]);
    }
    new PersistentReplayBuffer(folder, 5).close();
  });
});

test("batch functions reject experiences that are not lists of transitions", () => {
  const how = { gamma: 0.9 };
  for (const batch of [batchExperiences, batchRecurrentExperiences]) {
    const refused = (experiences: unknown, says: RegExp) =>
      expectError(
        errorOf(() => batch(experiences as never, how)),
        TypeError,
        says,
      );
    refused([[step(1)], [null]], /^experiences\[1\]\[0\] must be a transition, got null/);
    refused(new Array(2), /^experiences\[0\] is required: a list of at least one transition/);
    refused([[step(1), { ...step(2), reward: 1n }]], /^reward of experiences\[0\]\[1\] must be a number, got 1n/);
  }
  for (const seq of [null, 3, {}])
    expectError(
      errorOf(() => randomSubseq(seq as never, 1, Math.random)),
      TypeError,
      /^seq must be an array/,
    );
});

describe("specs", () => {
  const circle: { [name: string]: unknown } = {};
  circle.again = circle;
  test.each<[string, object, typeof TypeError | typeof RangeError, RegExp]>([
    ["without a shape", { state: { dtype: "f32" } }, TypeError, /^shape of state is required: an array/],
    ["of a shape that is no list", { state: { a: { dtype: "f32", shape: 3 } } }, TypeError, /^shape of state\.a must be an array/],
    ["too large", { action: { dtype: "f32", shape: [2 ** 30, 2 ** 30] } }, RangeError, /^bytes of action must be/],
    ["of a reward without a shape", { reward: { dtype: "f32" } }, TypeError, /^shape of reward is required: an array/],
    ["of null extras", { extras: null }, TypeError, /^spec\.extras must be an object/],
    ["of an extra that is null", { extras: { h: null } }, TypeError, /^spec\.extras\.h must be a leaf/],
    ["that is a circle", { extras: { h: circle } }, RangeError, /^spec\.extras\.h\.again\S* must .*64/],
  ])("are rejected: %s", (_, wrong, kind, says) => {
    const leaf = { dtype: "f32", shape: [2] };
    expectError(
      errorOf(() => new ReplayBuffer(9, { spec: { state: leaf, action: leaf, ...wrong } as never })),
      kind,
      says,
    );
  });

  test("are copied, so later changes have no effect", () => {
    const leaf = { dtype: "f32", shape: [2] };
    const buffer = new ReplayBuffer(9, { spec: { state: leaf, action: leaf, extras: { h: leaf } } as never });
    leaf.shape[0] = 3;
    buffer.append({ state: [1, 2], action: [3, 4], reward: 1, h: [5, 6] });
    expect([...buffer.items()][0]?.[0]).toMatchObject({ state: Float32Array.of(1, 2), h: Float32Array.of(5, 6) });
  });
});
