/** Tests the validation of keys: arrays that would lose bits and numbers that cannot be keys are rejected, and stale keys are skipped. */
import { describe, expect, test } from "vitest";
import { i32, mixture, prioritized, Replay } from "../../src/index.ts";
import { PrioritizedReplayBuffer } from "../../src/pfrl/index.ts";
import { ReverbClient } from "../../src/reverb/index.ts";
import { type DrawnItem, LocalClient, ReverbReplayBuffer, type TableClient } from "../../src/tf-agents/index.ts";
import { errorOf, expectError, expectRefused } from "../support/refused.ts";
import { whole } from "../support/size.ts";

const spec = { x: i32() };

function filled() {
  const replay = new Replay({ spec, tables: { t: { maxSize: 8, sampler: prioritized() } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  const keys: number[] = [];
  for (let x = 0; x < 6; x++) {
    writer.append({ x });
    keys.push(writer.lastKey("t"));
  }
  return { replay, table: replay.table("t"), keys };
}

/** Typed arrays that cannot represent every key. */
const NARROW: readonly (new (list: number[]) => ArrayLike<number>)[] = [
  Float32Array,
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  ...("Float16Array" in globalThis ? [(globalThis as unknown as { Float16Array: new (list: number[]) => ArrayLike<number> }).Float16Array] : []),
];

test("calls with keys reject columns whose size differs from their shape, and priorities whose shape differs from the keys", () => {
  const { replay, table, keys } = filled();
  const six = Float64Array.from(keys);
  const two = (shape: number[], Numbers: typeof Float32Array | typeof Int32Array = Float32Array) => ({ data: new Numbers(6).fill(2), shape });
  const refused = (of: () => unknown, says: RegExp) => expectRefused(replay, of, RangeError, says);
  // Otherwise the priorities would apply to the wrong keys.
  refused(() => table.updatePriorities({ data: six, shape: [3, 2] }, two([2, 3])), /^priorities must .*\[3, 2\].*got a column of shape \[2, 3\]/);
  for (const list of [six, keys, { data: six, shape: [6] }])
    refused(() => table.updatePriorities(list, two([3, 2])), /^priorities must .*got a column of shape \[3, 2\]/);
  refused(() => table.updatePriorities(six, two([3])), /^priorities must .*\[3\], got /);
  refused(() => table.updatePriorities({ data: six, shape: [4] }, [1, 1, 1, 1]), /^keys must .*\[4\], got /);
  refused(() => table.delete({ data: six, shape: [-2, -3] }), /^keys must .*\[-2, -3\], got /);
  refused(() => table.delete({ data: six, shape: [3] }), /^keys must .*\[3\], got /);
  for (const shape of [[6], [6, 1], [1, 6, 1]]) expect(table.updatePriorities(six, two(shape))).toBe(6);
  expect(table.updatePriorities({ data: six, shape: [3, 1, 2] }, two([3, 2], Int32Array))).toBe(6);
  const client = new LocalClient(replay);
  refused(() => client.mutatePriorities("t", { deletes: { data: six, shape: [2] } as never }), /^deletes must .*\[2\], got /);
  const mix = mixture([{ from: table, share: 1 }]);
  const batch = mix.sample(6);
  refused(() => mix.updatePriorities(batch, two([3, 2])), /^priorities must .*\[3, 2\]/);
  const buffer = new PrioritizedReplayBuffer(4, { seed: 1 });
  for (let k = 0; k < 4; k++) buffer.append({ state: [k], action: k, reward: 0, nextState: [k + 1] });
  buffer.sample(2);
  expect(() => buffer.updateErrors({ data: new Float32Array([1, 2, 3, 4]), shape: [2, 2] })).toThrow(/^errors must .*\[2, 2\]/);
  expect(buffer.updateErrors({ data: new Float32Array([1, 2]), shape: [2, 1] })).toBe(2);
});

test("calls that accept keys also accept columns of keys and priorities", () => {
  const { table, keys } = filled();
  const column = { data: Float64Array.from(keys), shape: [3, 2] };
  expect(table.updatePriorities(column, { data: new Float32Array(6).fill(2), shape: [6] })).toBe(6);
  expect(table.explain(keys[5] as number).priority).toBe(2);
  expect(() => table.updatePriorities(column, [1])).toThrow(/^priorities must be an array of 6 numbers/);
  expect(() => table.updatePriorities({ data: new Float32Array(2), shape: [2] } as never, [1, 1])).toThrow(/Float32Array loses bits of large keys/);
  expect(table.delete({ data: Float64Array.from(keys.slice(0, 2)), shape: [2, 1] })).toBe(2);
  expect(table.size).toBe(4);
  const buffer = new PrioritizedReplayBuffer(4, { seed: 1 });
  for (let k = 0; k < 4; k++) buffer.append({ state: [k], action: k, reward: 0, nextState: [k + 1] });
  const batch = buffer.sample(2);
  expect(buffer.updateErrors({ data: new Float32Array([1, 2]), shape: [2] }, { data: Float64Array.from(batch.keys), shape: [2] })).toBe(2);
});

/** Numbers that are not keys, with the expected description of the invalid ones in [key, ...numbers]. */
const NO_KEYS: readonly [number[], string][] = [
  [[1.5, Number.NaN, -1], "got 1.5 at keys[1] (3 values are invalid)"],
  [[7, Number.NaN], "got NaN at keys[2]."],
  [[-1], "got -1 at keys[1]."],
  [[Number.POSITIVE_INFINITY, 2 ** 53], "got Infinity at keys[1] (2 values are invalid)"],
  [[2 ** 53], "got 9007199254740992 at keys[1]."],
];

test.runIf(whole)("calls with keys reject a Float32Array of keys above 2^24, which would name other items", () => {
  const replay = new Replay({ spec, tables: { t: { maxSize: 4, sampler: prioritized() } } });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let x = 0; x < 9_000_000; x += 3000) writer.appendColumns({ x: new Int32Array(3000) });
  const table = replay.table("t");
  const { keys } = table.sample(4, { replacement: false }).info;
  expect(Math.max(...keys)).toBeGreaterThan(2 ** 24);
  expectRefused(replay, () => table.updatePriorities(Float32Array.from(keys), [1, 2, 3, 4]), TypeError, /^keys must .*Float64Array/, /Float32Array\(4\)/);
  expect(table.updatePriorities(keys, [1, 2, 3, 4])).toBe(4);
});

describe("keys of a table", () => {
  test.each(NARROW.map((kind) => [kind.name, kind] as const))("reject %s", (name, Kind) => {
    const { replay, table } = filled();
    const narrow = new Kind([1, 2]) as never;
    const says = [/^keys must .*Float64Array.*batch\.keys \([A-Z]\w+ loses bits/, new RegExp(`got ${name}\\(2\\)`)];
    expectRefused(replay, () => table.updatePriorities(narrow, [1, 1]), TypeError, ...says);
    expectRefused(replay, () => table.delete(narrow), TypeError, ...says);
    expectRefused(replay, () => table.delete(new Kind([]) as never), TypeError, ...says.slice(0, 1));
  });

  test.each(NO_KEYS)("reject %j", (wrong, says) => {
    const { replay, table, keys } = filled();
    const mixed = [keys[5] as number, ...wrong];
    for (const given of [mixed, Float64Array.from(mixed)]) {
      const told = errorOf(() => table.updatePriorities(given, new Float64Array(mixed.length).fill(9)));
      expect(told.message).toContain(says);
      expectRefused(replay, () => table.updatePriorities(given, new Float64Array(mixed.length).fill(9)), RangeError, /^keys must .*2\^53/);
      expectRefused(replay, () => table.delete(given), RangeError, /^keys must .*2\^53/);
    }
    for (const key of wrong) if (key !== 7) expectRefused(replay, () => table.explain(key), RangeError, /^key must .*2\^53/);
  });

  test("that are stale are skipped, including 0", () => {
    const { table, keys } = filled();
    const stale = [0, -0, 7, 12345, 2 ** 40, 2 ** 53 - 1];
    expect(table.updatePriorities([...stale, keys[3] as number], [...stale.map(() => 5), 5])).toBe(1);
    expect(table.delete(stale)).toBe(0);
    for (const key of stale) expect(table.explain(key).state).toBe("gone");
  });

  test("cannot be a whole batch, and the error names the batch's keys", () => {
    const { replay, table } = filled();
    const batch = table.sample(2);
    expectRefused(replay, () => table.updatePriorities(batch as never, [1, 1]), TypeError, /^keys must .*batch\.info\.keys/);
    expectRefused(replay, () => table.delete(batch as never), TypeError, /batch\.info\.keys/);
    expectRefused(replay, () => table.updatePriorities(batch.info as never, [1, 1]), TypeError, /^keys must .*batch\.keys/);
    const roles = new Replay({ spec: { observation: i32(), action: i32(), reward: i32() }, tables: { t: { maxSize: 8, sampler: prioritized() } } });
    const writer = roles.writer({ items: [{ table: "t", nStep: 1 }] });
    for (let i = 0; i < 4; i++) writer.append({ observation: i, action: 0, reward: 0 });
    const transitions = roles.table("t").transitions({ gamma: 1 }).sample(2);
    expectRefused(roles, () => roles.table("t").updatePriorities(transitions as never, [1, 1]), TypeError, /^keys must .*batch\.keys/);
  });
});

describe("keys of a client", () => {
  const cases: [string, object, typeof TypeError | typeof RangeError, RegExp][] = [
    ["deletes that lose bits", { deletes: new Float32Array([1]) }, TypeError, /^deletes must .*Float64Array/],
    ["deletes that wrap", { deletes: new Uint32Array([1]) }, TypeError, /^deletes must .*Float64Array/],
    ["deletes that are not keys", { deletes: [1, 1.5, Number.NaN, -1] }, RangeError, /^deletes must be .*, got 1\.5 at deletes\[1\] \(3 values/],
    ["bigints that are not keys", { deletes: [-1n, 2n ** 64n] }, RangeError, /got -1n at deletes\[0\] \(2 values/],
    [
      "updates that are not keys",
      {
        updates: [
          [1, 1],
          [Number.NaN, 1],
        ],
      },
      RangeError,
      /^updates must be .*, got NaN at updates\[1\]/,
    ],
  ];

  test.each(cases)("a local client rejects %s", (_, changes, kind, says) => {
    const { replay } = filled();
    expectRefused(replay, () => new LocalClient(replay).mutatePriorities("t", changes as never), kind, says);
  });

  test.each(cases)("a client of a server rejects %s", async (_, changes, kind, says) => {
    // No server listens on this port, so the error must occur before anything is sent.
    await using client = new ReverbClient("127.0.0.1:1");
    const error = await client.mutatePriorities("t", changes as never).then(
      () => new Error("the call was not refused"),
      (reason: Error) => reason,
    );
    expectError(error, kind, says);
  });

  test("a server's key that is too large for a table is ignored", () => {
    const { replay, table } = filled();
    new LocalClient(replay).mutatePriorities("t", { updates: [[2n ** 63n, 1]], deletes: [2n ** 64n - 1n, 2n ** 53n] });
    expect(table.size).toBe(6);
  });

  test("are checked by a buffer over a client and by a buffer over a table", async () => {
    const { replay } = filled();
    const local = new LocalClient(replay);
    const narrow = new Float32Array([1]);
    const direct = new ReverbReplayBuffer(spec, { tableName: "t", client: replay } as never);
    expectRefused(replay, () => direct.updatePriorities(narrow, [1]), TypeError, /^keys must .*Float64Array/);
    expectRefused(replay, () => direct.updatePriorities([1.5], [1]), RangeError, /^keys must be whole numbers/);
    const far = {
      serverInfo: () => local.serverInfo(),
      mutatePriorities: (...of: Parameters<TableClient["mutatePriorities"]>) => local.mutatePriorities(...of),
      sampler: () => ({ next: () => undefined as DrawnItem | undefined, close: () => {} }),
    };
    const buffer = new ReverbReplayBuffer(spec, { tableName: "t", client: far } as never);
    const error = (list: ArrayLike<number>) => errorOf(() => buffer.updatePriorities(list as never, [1]) as never);
    expectError(error(narrow), TypeError, /^keys must .*Float64Array/);
    expectError(error([Number.NaN]), RangeError, /^keys must be whole numbers.*, got NaN at keys\[0\]/);
  });
});

test("a PFRL buffer rejects wrong keys, and skips stale ones", () => {
  const buffer = new PrioritizedReplayBuffer(10);
  for (let i = 0; i < 4; i++) buffer.append({ state: [i], action: 0, reward: 1, nextState: [i + 1], isStateTerminal: false });
  const before = JSON.stringify(buffer.priorities());
  expectError(
    errorOf(() => buffer.updateErrors([1], new Float32Array([1]))),
    TypeError,
    /^keys must .*Float64Array/,
  );
  const { keys } = buffer.priorities();
  expectError(
    errorOf(() => buffer.updateErrors([100, 1, 1], [keys[0] as number, 1.5, -1])),
    RangeError,
    /^keys must be whole .*, got 1\.5 at keys\[1\] \(2 values/,
  );
  expect([JSON.stringify(buffer.priorities()), buffer.maxPriority]).toEqual([before, 1]);
  expect(buffer.updateErrors([2, 1], [keys[0] as number, 0])).toBe(1);
});
