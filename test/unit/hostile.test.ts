/** Tests deceptive values: arrays with a wrong length or detached memory, getters that call the Replay, and objects that change later. */
import { describe, expect, test } from "vitest";
import { bool, f32, f64, i32, Replay, text } from "../../src/index.ts";
import { broken } from "../support/health.ts";
import { bytesOf, errorOf, expectError, expectRefused } from "../support/refused.ts";

const spec = { x: f32(), o: f32(3), flag: bool(), mask: bool(4) } as const;
const step = (x: number) => ({ x, o: [x, x, x], flag: x % 2 === 1, mask: [1, 0, 0, 1] });

function filled() {
  const replay = new Replay({ spec, tables: { t: { maxSize: 20 } }, seed: 5 });
  const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
  for (let x = 0; x < 10; x++) writer.append(step(x));
  return { replay, writer, table: replay.table("t") };
}

/** An array that reports a wrong length. */
class Liar extends Float64Array {
  override get length(): number {
    return 2;
  }
}
class ShortLiar extends Float32Array {
  override get length(): number {
    return 3;
  }
}

describe("arrays that report a wrong length", () => {
  test("as keys or priorities are rejected, or read at their true length", () => {
    const { replay, table } = filled();
    const keys = table.sample(2).info.keys;
    expectRefused(replay, () => table.updatePriorities(keys, new Liar(100_000).fill(3)), RangeError, /^priorities must be an array of 2 numbers/);
    expect(table.delete(new Liar(50_000))).toBe(0);
    expect(broken(replay)).toEqual([]);
  });

  test("are rejected as step values and as columns", () => {
    const { replay, writer } = filled();
    expectRefused(replay, () => writer.append({ ...step(1), o: new ShortLiar(30_000).fill(7) }), "SPEC_MISMATCH", /^o must be f32 of shape \[3\]/);
    const columns = { x: [1], o: new ShortLiar(30_000).fill(7), flag: [0], mask: [0, 0, 0, 0] };
    expectRefused(replay, () => writer.appendColumns(columns), "SPEC_MISMATCH", /^o must be/);
    expect(broken(replay)).toEqual([]);
  });

  test("objects that imitate a typed array are rejected", () => {
    const { replay, writer, table } = filled();
    const fake = { [Symbol.toStringTag]: "Float32Array", length: 3, 0: 1, 1: 2, 2: 3 };
    expectRefused(replay, () => writer.append({ ...step(1), o: fake as never }), "SPEC_MISMATCH", /^o must be/);
    const born = Object.create(Float32Array.prototype) as Float32Array;
    expectRefused(replay, () => writer.append({ ...step(1), o: born }), "SPEC_MISMATCH", /^o must be/);
    const wide = new Replay({ spec: { x: f32(300) } });
    const images = wide.writer();
    const proxy = new Proxy(new Float32Array(300), {});
    expectRefused(wide, () => images.append({ x: proxy }), "SPEC_MISMATCH", /^x must be f32 of shape \[300\]/);
    expectRefused(replay, () => table.updatePriorities(fake as never, fake as never), TypeError, /^keys must be an array of numbers/);
    expectRefused(replay, () => table.delete(new DataView(new ArrayBuffer(8)) as never), TypeError, /^keys must be an array of numbers/);
  });
});

test("calls reject keys whose memory was transferred, and snapshot chunks that are not Uint8Arrays", () => {
  const { replay, table } = filled();
  const gone = new Float64Array(2);
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  expectRefused(replay, () => table.delete(gone), RangeError, /^keys must be an array of numbers, got .* memory was transferred/);
  expectRefused(replay, () => table.updatePriorities(gone, [1]), RangeError, /^keys must be an array of numbers/);
  expect(table.delete(new Float64Array(0))).toBe(0);
  expectError(
    errorOf(() => Replay.restore(gone as never)),
    TypeError,
    /^every chunk of source must be a Uint8Array, got Float64Array\(0\)/,
  );
  expectError(
    errorOf(() => Replay.restore([Object.create(Uint8Array.prototype)])),
    TypeError,
    /^every chunk of source must be a Uint8Array/,
  );
});

test("an array whose length changes while it is read keeps its first length", () => {
  const { replay, writer, table } = filled();
  let asked = 0;
  const growing = new Proxy([1, 1], { get: (list, key) => (key === "length" ? (asked++ > 0 ? 9000 : 2) : (Reflect.get(list, key) ?? 1)) });
  const { keys } = table.sample(2).info;
  expect(table.updatePriorities(keys, growing)).toBe(2);
  let read = 0;
  const flags = new Proxy([0, 0], { get: (list, key) => (key === "length" ? 2 : ++read > 2 ? 1 : Reflect.get(list, key)) });
  const columns = { x: [1, 2], o: new Float32Array(6), flag: [0, 0], mask: new Uint8Array(8) };
  expect(writer.appendColumns(columns, { terminated: flags as number[], final: {} })).toBe(2);
  expect(broken(replay)).toEqual([]);
});

describe("an option getter that closes the writer or disposes of the Replay", () => {
  const columns = { x: [1], o: new Float32Array(3), flag: [0], mask: new Uint8Array(4) };
  type World = ReturnType<typeof filled>;
  const calls: [string, (world: World, end: () => undefined) => unknown][] = [
    ["appendColumns", ({ writer }, end) => writer.appendColumns(columns, { get final() { return end(); } })], // biome-ignore format: one call per line
    ["createItem", ({ writer }, end) => writer.createItem("t", { length: 1, get priority() { return end(); } } as never)], // biome-ignore format: one call per line
    ["endEpisode", ({ writer }, end) => writer.endEpisode({ terminated: true, get lane() { return end(); } } as never)], // biome-ignore format: one call per line
    ["endEpisode without more", ({ writer }, end) => writer.endEpisode({ get lane() { return end(); } } as never)], // biome-ignore format: one call per line
  ];
  test.each(calls)("makes %s throw CLOSED, and has no other effect", (_, call) => {
    const first = filled();
    expectError(errorOf(() => call(first, () => void first.writer.close())), "CLOSED", /^this writer was closed/); // biome-ignore format: one line
    // A new writer reuses the memory of the closed writer.
    const other = first.replay.writer({ items: [{ table: "t", length: 1 }] });
    expect([other.length, first.table.size]).toEqual([0, 10]);
    expect(broken(first.replay)).toEqual([]);
    const world = filled();
    expectError(errorOf(() => call(world, () => void world.replay.dispose())), "CLOSED", /^this Replay was disposed of/); // biome-ignore format: one line
    expectError(errorOf(() => world.replay.stats()), "CLOSED"); // biome-ignore format: one line
  });

  test("makes sample throw OUT_OF_TURN before anything is drawn", () => {
    const { replay, table } = filled();
    expectRefused(replay as never, () => table.sample(2, { get length() { replay.dispose(); return 1; } }), "OUT_OF_TURN"); // biome-ignore format: one line
    expect(table.sample(2).count).toBe(2);
  });

  test("makes a view of transitions throw OUT_OF_TURN before anything is drawn", () => {
    const replay = new Replay({ spec: { observation: f32(), action: f32(), reward: f32() }, tables: { t: { maxSize: 20 } } });
    const writer = replay.writer({ items: [{ table: "t", length: 2 }] });
    for (let reward = 0; reward < 9; reward++) writer.append({ observation: reward, action: 0, reward });
    const view = replay.table("t").transitions({ gamma: 0.9 });
    expectError(errorOf(() => view.sample(2, { get among() { replay.dispose(); return 0; } })), "OUT_OF_TURN"); // biome-ignore format: one line
    expect(view.sample(2).count).toBe(2);
  });
});

describe("bool leaves", () => {
  const mask = Uint8Array.of(1, 7, 0, 0);
  test("reject bytes other than 0 and 1 in steps, columns and final observations", () => {
    const { replay, writer } = filled();
    expectRefused(replay, () => writer.append({ ...step(1), mask }), "INVALID_DATA", /^mask must .*got 7/);
    expectRefused(replay, () => writer.append({ ...step(1), flag: 7 as never }), "INVALID_DATA", /^flag must be bool/);
    const columns = { x: [1], o: new Float32Array(3), flag: Uint8Array.of(2), mask: new Uint8Array(4) };
    expectRefused(replay, () => writer.appendColumns(columns), "INVALID_DATA", /^flag must be bool/);
    expectRefused(replay, () => writer.endEpisode({ final: { mask }, terminated: true }), "INVALID_DATA", /^final\.mask must be bool/);
  });

  test("reject bytes other than 0 and 1 in the staged step", () => {
    const { replay, writer, table } = filled();
    const { staged } = writer;
    staged.mask.set(mask);
    expectRefused(replay, () => writer.append(), "INVALID_DATA", /^staged\.mask must .*got 7/);
    staged.mask.fill(1);
    expectError(
      errorOf(() => {
        staged.flag = 7;
      }),
      "INVALID_DATA",
      /^flag must be bool/,
    );
    staged.flag = 1;
    writer.append();
    expect(table.size).toBe(11);
  });

  test("reject bytes other than 0 and 1 in lanes", () => {
    const replay = new Replay({ spec, tables: { t: { maxSize: 20 } } });
    const writer = replay.writer({ lanes: 2 });
    const flag = Uint8Array.of(0, 9);
    const two = { x: [1, 2], o: new Float32Array(6), mask: new Uint8Array(8) };
    expectRefused(replay, () => writer.append({ ...two, flag }), "INVALID_DATA", /^flag must be bool/);
  });
});

describe("a batch to refill whose memory was transferred", () => {
  test.each(["o", "x", "keys", "mask"])("is rejected before anything is drawn: %s", (which) => {
    const { replay, table } = filled();
    const into = table.batch(4, { length: 1, mask: true }).detached();
    table.sample(4, { into, mask: true });
    const array = { o: into.steps.o.data, x: into.steps.x.data, keys: into.info.keys, mask: into.mask }[which] as Float32Array<ArrayBuffer>;
    structuredClone(array, { transfer: [array.buffer] });
    expectRefused(replay, () => table.sample(4, { into, mask: true }), "SPEC_MISMATCH", /^into\./);
  });

  test("is rejected if values would be copied into it directly", () => {
    const replay = new Replay({ spec: { image: f32(600) }, tables: { t: { maxSize: 4, maxTimesSampled: 1 } } });
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    writer.append({ image: new Float32Array(600) });
    const into = replay.table("t").batch(1, { length: 1 }).detached();
    structuredClone(into.steps.image.data, { transfer: [into.steps.image.data.buffer] });
    expectRefused(replay, () => replay.table("t").sample(1, { into }), "SPEC_MISMATCH", /^into\.steps\.image\.data (must be|is required:)/);
    expect(replay.table("t").size).toBe(1);
  });

  test("is rejected if all its arrays share the transferred buffer", () => {
    const { replay, table } = filled();
    const into = table.batch(4, { length: 1, mask: true });
    structuredClone(into.steps.x.data, { transfer: [into.steps.x.data.buffer] });
    expectRefused(replay, () => table.sample(4, { into, mask: true }), "SPEC_MISMATCH", /^into must .*transferred/);
  });
});

describe("a batch to refill that was frozen after it was filled", () => {
  test.each(["batch", "texts"])("is rejected before anything is drawn: %s", (what) => {
    const replay = new Replay({ spec: { x: f32(), s: text({ maxBytes: 9 }) }, tables: { t: { maxSize: 4, maxTimesSampled: 1 } } });
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    for (let i = 0; i < 4; i++) writer.append({ x: i, s: "one" });
    const table = replay.table("t");
    const into = table.batch(1, { length: 1 });
    table.sample(1, { into });
    Object.freeze(what === "batch" ? into : into.steps.s.data);
    expectRefused(replay, () => table.sample(1, { into }), "SPEC_MISMATCH", /frozen/);
    expect(table.size).toBe(3);
  });

  test("is rejected if it is a batch of transitions", () => {
    const spec = { observation: f32(), action: i32(), reward: f32() };
    const replay = new Replay({ spec, tables: { t: { maxSize: 4, maxTimesSampled: 1 } } });
    const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
    for (let i = 0; i < 4; i++) writer.append({ observation: i, action: 0, reward: 1 });
    const view = replay.table("t").transitions({ gamma: 1 });
    const into = view.batch(1);
    view.sample(1, { into });
    Object.freeze(into);
    expectRefused(replay, () => view.sample(1, { into }), "SPEC_MISMATCH", /frozen/);
    expect(replay.table("t").size).toBe(2);
  });
});

describe("a call made while another call reads its arguments", () => {
  const again = /called while another call was reading its arguments/;
  const calls: { readonly [name: string]: (all: ReturnType<typeof filled>) => unknown } = {
    append: ({ writer }) => writer.append(step(5)),
    sample: ({ table }) => table.sample(3),
    close: ({ writer }) => writer.close(),
    dispose: ({ replay }) => replay.dispose(),
    writer: ({ replay }) => replay.writer({ keep: 1_000_000 }),
    updatePriorities: ({ table }) => table.updatePriorities([1], [1]),
  };
  test.each(Object.keys(calls))("throws OUT_OF_TURN and changes nothing: %s", (name) => {
    const all = filled();
    const { replay, writer, table } = all;
    const before = bytesOf(replay);
    const call = calls[name] as (typeof calls)[string];
    const seen: Error[] = [];
    const within = <T>(value: T): T => {
      seen.push(errorOf(() => call(all)));
      return value;
    };
    const given = (x: number) => ({
      ...step(x),
      get o() {
        return within([x, x, x]);
      },
    });
    writer.append(given(11));
    const element = (value: number) => Object.defineProperty([value, 0], 1, { get: () => within(value) });
    writer.appendColumns({ x: element(12), o: new Float32Array(6).fill(12), flag: [0, 0], mask: new Uint8Array(8) });
    writer.endEpisode({ final: { x: 1, o: Object.defineProperty([1, 1, 0], 2, { get: () => within(1) }) }, terminated: true });
    expect(seen.length).toBe(3);
    for (const error of seen) expectError(error, "OUT_OF_TURN", again);
    expect(broken(replay)).toEqual([]);
    expect(table.size).toBe(13);
    const { steps } = table.sample(200);
    for (let i = 0; i < 200; i++) expect([...steps.o.data.subarray(3 * i, 3 * i + 3)]).toEqual(new Array(3).fill(steps.x.data[i]));
    expect(bytesOf(replay).equals(before)).toBe(false);
  });
});

describe("arguments that change later", () => {
  test("changing a spec, sampler or limiter does not affect the Replay", () => {
    const mutable = { x: { dtype: "f32", shape: [2] }, y: i32() } as { [name: string]: unknown };
    const sampler = { kind: "uniform" };
    const rateLimiter = { samplesPerInsert: 1, minSize: 1, minDiff: -9, maxDiff: 9 };
    const replay = new Replay({ spec: mutable as never, tables: { t: { maxSize: 4, sampler: sampler as never, rateLimiter } } }) as unknown as Replay;
    const before = bytesOf(replay);
    (mutable.x as { shape: number[] }).shape.push(3);
    delete mutable.y;
    sampler.kind = "fifo";
    rateLimiter.maxDiff = 0;
    expect(bytesOf(replay).equals(before)).toBe(true);
    expect(() => (replay.options.spec as never as { x: { shape: number[] } }).x.shape.push(1)).toThrow(TypeError);
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    writer.append({ x: [1, 2], y: 3 });
    expect(Replay.restore(bytesOf(replay)).table("t").sample(1).steps.y?.data[0]).toBe(3);
  });

  test("a column getter that changes its value is read once", () => {
    const { replay, writer, table } = filled();
    let asked = 0;
    const columns = {
      a: {
        leaf: "x",
        get at() {
          return asked++ === 0 ? 0 : -1;
        },
      },
    };
    writer.createItem("t", { length: 2, columns: columns as never });
    expect(Replay.restore(bytesOf(replay)).table("t").size).toBe(table.size);
    expectRefused(replay, () => writer.createItem("t", { length: 1, columns: { a: { leaf: "x", at: 1n as never } } }), TypeError, /^columns\.a\.at must be/);
  });
});

test("a staged assignment still works after memory growth makes the staged arrays outdated", () => {
  const { replay, writer, table } = filled();
  const { staged } = writer;
  staged.o.set([1, 2, 3]);
  const { used } = replay.stats().bytes;
  replay.writer({ keep: 1_000_000 });
  expect(replay.stats().bytes.used).toBeGreaterThan(used);
  staged.o = Float32Array.of(4, 5, 6);
  writer.append();
  expect([...table.sample(100).steps.o.data]).toContain(6);
});

describe("a staged number whose valueOf calls the Replay", () => {
  const spec = { a: f32(), b: i32(), c: f64() };
  test.each(["a", "b", "c"] as const)("is written to the current memory of the step, or throws CLOSED: %s", (name) => {
    const replay = new Replay({ spec, tables: { t: { maxSize: 4 } } });
    const writer = replay.writer({ items: [{ table: "t", length: 1 }] });
    const { staged } = writer;
    const { used } = replay.stats().bytes;
    const grown = {
      valueOf() {
        replay.writer({ keep: 1_000_000 });
        return 7;
      },
    };
    staged[name] = grown as never;
    expect(replay.stats().bytes.used).toBeGreaterThan(used);
    writer.append();
    expect(replay.table("t").sample(1).steps[name].data[0]).toBe(7);
    const closing = {
      valueOf() {
        writer.close();
        return 7;
      },
    };
    expectError(
      errorOf(() => Object.assign(staged, { [name]: closing })),
      "CLOSED",
      /writer was closed/,
    );
  });
});

describe("invalid names and specs", () => {
  test("__proto__ is rejected as the name of a leaf or a table", () => {
    const named = JSON.parse('{"__proto__": 1, "x": 1}');
    const wrong = { ...Object.fromEntries(Object.keys(named).map((name) => [name, f32()])) };
    expectError(
      errorOf(() => new Replay({ spec: wrong })),
      RangeError,
      /__proto__/,
    );
    expectError(
      errorOf(() => new Replay({ spec: f32(), tables: Object.fromEntries([["__proto__", { maxSize: 1 }]]) })),
      RangeError,
      /name of a table/,
    );
  });

  test("a spec that contains itself is rejected", () => {
    const circle: { [name: string]: unknown } = { x: f32() };
    circle.again = circle;
    expectError(
      errorOf(() => new Replay({ spec: circle as never })),
      RangeError,
      /nested at most 64 levels deep/,
    );
  });
});
