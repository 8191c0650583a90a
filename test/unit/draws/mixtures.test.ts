/** Tests errors, warnings and waits of mixtures. test/model/mixtures compares their draws with a twin. */
import { describe, expect, test } from "vitest";
import {
  f32,
  fifo,
  i32,
  minSize,
  mixture,
  prioritized,
  queueLimiter,
  Replay,
  sampleToInsertRatio,
  type TableOptions,
  text,
  uniform,
} from "../../../src/index.ts";
import { chiSquare } from "../../support/chi-square.ts";
import { bytesOf, errorOf, expectError, expectRefused } from "../../support/refused.ts";

const SPEC = { observation: f32(2), action: i32(), reward: f32() };

/** Creates a Replay whose table `t` has `steps` transitions. */
function filled(steps: number, options: Partial<TableOptions> = {}, seed = 1, logger: ((message: string) => void) | null = null) {
  const replay = new Replay({ spec: SPEC, tables: { t: { maxSize: 1000, ...options }, u: { maxSize: 1000, ...options } }, seed, logger });
  const writer = replay.writer({ items: [{ table: "t", nStep: 1 }] });
  const append = (n: number) => {
    for (let i = 0; i < n; i++) writer.append({ observation: [i, seed], action: i, reward: 1 });
  };
  append(steps + (steps > 0 ? 1 : 0));
  return { replay, table: replay.table("t"), view: replay.table("t").transitions({ gamma: 0.9 }), append };
}

const countsOf = (source: ArrayLike<number>, k: number) => Array.from({ length: k }, (_, i) => Array.from(source).filter((of) => of === i).length);

describe("counts per source", () => {
  test("are exact, because later batches make up for rounding", () => {
    const [a, b, c] = [filled(9), filled(9, {}, 2), filled(9, {}, 3)];
    const mix = mixture([
      { from: a.view, share: 0.1 },
      { from: b.view, share: 0.2 },
      { from: c.view, share: 0.7 },
    ]);
    const seen = Array.from({ length: 20 }, () => countsOf(mix.sample(5).source.data, 3));
    expect(seen.slice(0, 4)).toEqual([
      [1, 1, 3],
      [0, 1, 4],
      [1, 1, 3],
      [0, 1, 4],
    ]);
    // The mixture has returned 100 rows in total.
    expect([0, 1, 2].map((i) => seen.reduce((sum, counts) => sum + (counts[i] as number), 0))).toEqual([10, 20, 70]);
  });

  test("follow share functions, and a share of 0 allows an empty source", () => {
    const [a, b] = [filled(9), filled(0, {}, 2)];
    const asked: number[] = [];
    const share = (draw: number) => {
      asked.push(draw);
      return draw < 2 ? 0 : 1;
    };
    const mix = mixture([
      { from: a.view, share: 3 },
      { from: b.view, share },
    ]);
    expect(countsOf(mix.sample(8).source.data, 2)).toEqual([8, 0]);
    expect(countsOf(mix.sample(8).source.data, 2)).toEqual([8, 0]);
    expectError(
      errorOf(() => mix.sample(8)),
      "EMPTY",
      /source 1 of the mixture: table "t" is empty/,
      /fallback/,
    );
    b.append(5);
    expect(countsOf(mix.sample(8).source.data, 2)).toEqual([6, 2]);
    // The rejected draw was not counted.
    expect(asked).toEqual([0, 1, 2, 2]);
  });

  test("are binomial with exact: false, and rows of a source stay together", () => {
    const [a, b] = [filled(9), filled(9, {}, 2)];
    const mix = mixture(
      [
        { from: a.table, share: 1 },
        { from: b.table, share: 3 },
      ],
      { exact: false, seed: 5 },
    );
    const seen = [0, 0, 0, 0, 0];
    for (let i = 0; i < 4000; i++) {
      const { source } = mix.sample(4).info;
      expect([...source]).toEqual([...source].sort());
      seen[countsOf(source, 2)[1] as number] = (seen[countsOf(source, 2)[1] as number] as number) + 1;
    }
    const choose = [1, 4, 6, 4, 1];
    expect(
      chiSquare(
        seen,
        choose.map((ways, k) => ways * 0.75 ** k * 0.25 ** (4 - k)),
      ),
    ).toBeGreaterThan(1e-3);
  });

  test("continue from a state in JSON, exact or random", () => {
    for (const exact of [true, false]) {
      const make = (state?: ReturnType<ReturnType<typeof mixture>["state"]>) => {
        const [a, b] = [filled(9), filled(9, {}, 2)];
        return mixture(
          [
            { from: a.view, share: 0.3 },
            { from: b.view, share: 0.7 },
          ],
          { exact, seed: 2n ** 63n, ...(state && { state }) },
        );
      };
      const mix = make();
      for (let i = 0; i < 3; i++) mix.sample(7);
      const again = make(JSON.parse(JSON.stringify(mix.state())));
      expect(again.state()).toEqual(mix.state());
      expect(mix.state().draw).toBe(3);
      for (let i = 0; i < 9; i++) expect([...again.sample(7).source.data]).toEqual([...mix.sample(7).source.data]);
    }
  });
});

describe("errors", () => {
  test("of any source are thrown before the first source draws", () => {
    const [a, b] = [filled(9, { sampler: prioritized(1) }), filled(9, { rateLimiter: sampleToInsertRatio(1, 1, [-100, 12]) }, 2)];
    const mix = mixture([
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ]);
    const before = bytesOf(b.replay);
    expectRefused(a.replay, () => mix.sample(400), "RATE_LIMITED", /source 1 of the mixture: table "t"/);
    expectRefused(a.replay, () => mix.sample(30, { replacement: false }), "TOO_FEW", /source 0/);
    expectRefused(a.replay, () => mix.sample(30, { normalize: "table", beta: 1 }), "UNSUPPORTED", /withMin/);
    expectRefused(a.replay, () => mix.sample(0), RangeError, /n must be/);
    expectRefused(a.replay, () => mix.sample(2, { betta: 1 } as never), TypeError, /betta/);
    expectRefused(a.replay, () => mix.sample(2, { into: {} }), "SPEC_MISMATCH", /into/);
    expect(bytesOf(b.replay).equals(before)).toBe(true);
    expect(mix.state().draw).toBe(0);
  });

  test("that need a look at a source are also thrown by ready", () => {
    const { replay, view } = filled(9, { sampler: prioritized(1), remover: fifo() });
    const mix = mixture([
      { from: view, share: 1 },
      { from: filled(9).view, share: 1 },
    ]);
    const before = bytesOf(replay);
    expect([mix.ready(4), mix.ready(4)]).toEqual([true, true]);
    expect(bytesOf(replay).equals(before)).toBe(true);
    const writer = replay.writer();
    for (let k = 0; k < 3; k++) {
      writer.append({ observation: [0, 0], action: 0, reward: 0 });
      writer.createItem("u", { length: 1 });
    }
    const single = mixture([{ from: replay.table("u").transitions({ gamma: 1 }), share: 1 }]);
    for (const call of [() => single.ready(2), () => single.sample(2)]) expectRefused(replay, call, "SPEC_MISMATCH", /items that cannot become transitions/);
    const { replay: other, view: stratified } = filled(9, { sampler: fifo() });
    const bad = mixture([{ from: stratified, share: 1, stratified: true }]);
    for (const call of [() => bad.ready(2), () => bad.sample(2)]) expectRefused(other, call, "UNSUPPORTED", /stratified requires/);
    expect(mix.sample(4).count).toBe(4);
  });

  test("count the draws of several sources from one table together", () => {
    const { replay, view, table } = filled(9, { sampler: fifo(), maxTimesSampled: 1 });
    const mix = mixture([
      { from: view, share: 1 },
      { from: view, share: 1 },
    ]);
    expectRefused(replay, () => mix.sample(12), "TOO_FEW");
    expect(mix.ready(12)).toBe(false);
    const { action } = mix.sample(8);
    expect([...action.data]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(table.size).toBe(1);
    // Each of the eight items could be drawn once, but items drawn twice leave, and the limiter requires six items.
    const few = filled(8, { sampler: fifo(), maxTimesSampled: 2, rateLimiter: minSize(6) });
    const both = mixture([
      { from: few.view, share: 3, replacement: false },
      { from: few.view, share: 5 },
    ]);
    expect([few.table.ready(8, { replacement: false }), both.ready(8)]).toEqual([true, false]);
    expectRefused(few.replay, () => both.sample(8), "TOO_FEW");
    // Only one source has a share, so the other source draws nothing.
    const only = mixture([
      { from: few.view, share: 1, replacement: false },
      { from: few.view, share: 0 },
    ]);
    expect(only.ready(8)).toBe(true);
    expect(new Set(only.sample(8).action.data).size).toBe(8);
    const oldest = mixture([
      { from: view, share: 1, among: 1 },
      { from: view, share: 1 },
    ]);
    expectError(
      errorOf(() => oldest.sample(2)),
      "TOO_FEW",
    );
  });

  test.each<[string, (a: ReturnType<typeof filled>) => unknown, Parameters<typeof expectError>[1], RegExp]>([
    ["no sources", () => mixture([]), TypeError, /sources must be an array/],
    ["no table", () => mixture([{ from: {} as never, share: 1 }]), TypeError, /sources\[0\].from/],
    ["no share", ({ view }) => mixture([{ from: view } as never]), TypeError, /sources\[0\].share/],
    ["a negative share", ({ view }) => mixture([{ from: view, share: -1 }]), RangeError, /sources\[0\].share/],
    ["an unknown option", ({ view }) => mixture([{ from: view, share: 1, weight: 1 } as never]), TypeError, /weight/],
    [
      "two kinds",
      ({ view, table }) =>
        mixture([
          { from: view, share: 1 },
          { from: table, share: 1 },
        ] as never),
      TypeError,
      /of one kind.*Transitions, Table/,
    ],
    ["a seed", ({ view }) => mixture([{ from: view, share: 1 }], { seed: -1 }), RangeError, /seed/],
    ["a fallback", ({ view }) => mixture([{ from: view, share: 1 }], { fallback: "none" as never }), RangeError, /fallback/],
    ["exact", ({ view }) => mixture([{ from: view, share: 1 }], { exact: 1 as never }), TypeError, /exact/],
    [
      "a state",
      ({ view }) => mixture([{ from: view, share: 1 }], { state: { draw: 0, carry: [0, 0], random: [] } }),
      "SPEC_MISMATCH",
      /^state .* 2 sources, .* has 1/,
    ],
    ["a state's words", ({ view }) => mixture([{ from: view, share: 1 }], { state: { draw: 0, carry: [0], random: [1] } }), TypeError, /state.random/],
    ["among", ({ view }) => mixture([{ from: view, share: 1, among: 0 }]), RangeError, /among/],
    ["shares that are all 0", ({ view }) => mixture([{ from: view, share: 0 }]).sample(1), RangeError, /sum of the shares in draw 0/],
    ["what a function returns", ({ view }) => mixture([{ from: view, share: () => Number.NaN }]).sample(1), RangeError, /share of source 0 in draw 0/],
  ])("are thrown for invalid arguments: %s", (_, call, kind, says) => {
    expectError(
      errorOf(() => call(filled(5))),
      kind,
      says,
    );
  });

  test("name the first difference between the columns of sources", () => {
    const { view, table } = filled(5);
    const other = (spec: object, size = 2) => {
      const replay = new Replay({ spec: { ...SPEC, ...spec } as typeof SPEC, tables: { t: { maxSize: 9 } }, seed: 1 });
      replay.writer({ items: [{ table: "t", nStep: 1 }] }).appendColumns({
        observation: new Float32Array(3 * size),
        action: [1, 2, 3],
        reward: [1, 2, 3],
        ...("word" in spec && { word: ["a", "b", "c"] }),
      } as never);
      return replay.table("t");
    };
    const refusal = (spec: object, size?: number) =>
      errorOf(() =>
        mixture([
          { from: view, share: 1 },
          { from: other(spec, size).transitions({ gamma: 1 }), share: 1 },
        ]),
      );
    expectError(
      refusal({ observation: f32(3) }, 3),
      "SPEC_MISMATCH",
      /observation: Float32Array of shape \[n, 2\] in the first source, Float32Array of shape \[n, 3\] in another/,
    );
    expectError(refusal({ action: f32() }), "SPEC_MISMATCH", /action: Int32Array/);
    const more = other({ word: text({ maxBytes: 4 }) });
    expectError(
      errorOf(() =>
        mixture([
          { from: view, share: 1 },
          { from: more.transitions({ gamma: 1 }), share: 1 },
        ]),
      ),
      "SPEC_MISMATCH",
      /word: nothing in the first source, text/,
    );
    // If the sources are tables, options choose the columns.
    const mix = mixture([
      { from: table, share: 1 },
      { from: more as unknown as typeof table, share: 1 },
    ]);
    expectError(
      errorOf(() => mix.sample(4)),
      "SPEC_MISMATCH",
      /steps.word/,
    );
    expect(mix.sample(4, { columns: { a: { leaf: "action", at: 0 } } }).steps.a.data).toHaveLength(4);
    const named = new Replay({ spec: { ...SPEC, source: i32() }, tables: { t: { maxSize: 9 } } });
    expectError(
      errorOf(() => mixture([{ from: named.table("t").transitions({ gamma: 1 }), share: 1 }])),
      "SPEC_MISMATCH",
      /Rename the leaf/,
    );
  });

  test("in priorities are thrown before the first priority is set", () => {
    const [a, b] = [filled(9, { sampler: prioritized(1) }), filled(9, { sampler: prioritized(1) }, 2)];
    const mix = mixture([
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ]);
    const batch = mix.sample(6);
    expectRefused(a.replay, () => mix.updatePriorities(batch, [1, 1, 1, 1, 1, -1]), RangeError, /priorities\[5\]/);
    expectRefused(a.replay, () => mix.updatePriorities(batch, [1]), RangeError, /priorities/);
    const ofView = a.view.sample(2);
    expectRefused(a.replay, () => mix.updatePriorities(ofView, [1, 1]), TypeError, /batch of this mixture/);
    expectRefused(
      a.replay,
      () => mix.updatePriorities({ ...batch, count: 6, keys: batch.keys, source: { data: [0, 0, 0, 9, 9, 9] } }, [1, 1, 1, 1, 1, 1]),
      RangeError,
      /source of row 3/,
    );
    expect(mix.updatePriorities(batch, [2, 2, 2, 3, 3, 3])).toBe(6);
    expect(a.table.explain(batch.keys[0] as number).priority).toBe(2);
    expect(b.table.explain(batch.keys[3] as number).priority).toBe(3);
  });

  test("are thrown if a batch of a mixture is passed to a view, or the reverse", () => {
    const { table, view, replay } = filled(9);
    const mix = mixture([{ from: view, share: 1 }]);
    const [mixed, items, ofView] = [mix.sample(4), mixture([{ from: table, share: 1 }]).sample(4), view.sample(4)];
    expectRefused(replay, () => view.sample(4, { into: mixed }), TypeError, /a batch of a mixture/);
    expectRefused(replay, () => table.sample(4, { into: items }), TypeError, /a batch of a mixture/);
    expectRefused(replay, () => mix.sample(4, { into: ofView }), "SPEC_MISMATCH", /into.source/);
    expectRefused(replay, () => table.writeSteps(mixed, { reward: [1, 2, 3, 4] }), "UNSUPPORTED", /^batch belongs to a mixture/);
  });

  test("are thrown for calls in the middle of a draw, and after a Replay is disposed", () => {
    const [a, b] = [filled(9), filled(9, {}, 2)];
    let inner: unknown;
    const mix = mixture([
      { from: a.view, share: 1 },
      {
        from: b.view,
        share: () => {
          try {
            b.view.sample(1);
          } catch (error) {
            inner = error;
          }
          return 1;
        },
      },
    ]);
    mix.sample(4);
    expectError(inner as Error, "OUT_OF_TURN");
    b.replay[Symbol.dispose]();
    expectError(
      errorOf(() => mix.sample(4)),
      "CLOSED",
    );
    a.view.sample(1);
  });
});

describe("a batch", () => {
  test("of items is as wide as the longest drawn item", () => {
    const replay = new Replay({ spec: { n: i32() }, tables: { t: { maxSize: 9 }, u: { maxSize: 9 } } });
    const writer = replay.writer({ keep: 9 });
    for (let i = 0; i < 9; i++) writer.append({ n: i });
    writer.createItem("t", { length: 9 });
    writer.createItem("u", { length: 2 });
    replay.table("t").clear();
    writer.createItem("t", { length: 3 });
    writer.createItem("u", { length: 7, priority: 0 });
    replay.table("u").delete([
      replay
        .table("u")
        .sample(20)
        .info.keys.find((key) => replay.table("u").explain(key).length === 7) ?? 0,
    ]);
    const mix = mixture([
      { from: replay.table("t"), share: 1 },
      { from: replay.table("u"), share: 1 },
    ]);
    const { steps, lengths } = mix.sample(2);
    expect([steps.n.shape, [...steps.n.data], [...lengths]]).toEqual([
      [2, 3],
      [6, 7, 8, 7, 8, 0],
      [3, 2],
    ]);
    using lent = mix.sample(2, { recycle: true });
    expect([...lent.steps.n.data]).toEqual([6, 7, 8, 7, 8, 0]);
    expect(mix.sample(2, { length: 4 }).steps.n.shape).toEqual([2, 4]);
  });

  test("has weights that are divided by the largest, even if f32 cannot represent them", () => {
    const [a, b] = [filled(0, { sampler: prioritized(1) }), filled(9, { sampler: uniform() }, 2)];
    const writer = a.replay.writer({ items: [{ table: "t", nStep: 1 }] });
    for (let i = 0; i < 3; i++) writer.append({ observation: [0, 0], action: 0, reward: 0 });
    const keys = a.table.sample(50).info.keys;
    const [first, second] = [Math.min(...keys), Math.max(...keys)];
    const mix = mixture([
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ]);
    a.table.updatePriorities([first, second], [1e-60, 1e-60]);
    const { weights } = mix.sample(4, { beta: 1 });
    expect([...weights.data]).toEqual([1, 1, 1, 1]);
    a.table.updatePriorities([first, second], [3, 1]);
    const more = mix.sample(40, { beta: 1 });
    const expected = Array.from({ length: 40 }, (_, i) => (i >= 20 ? 1 / 2 : more.keys[i] === first ? 2 / 3 / 2 : 1));
    expect([...more.weights.data]).toEqual(expected.map(Math.fround));
    expect([...mix.sample(40, { beta: 1, normalize: "none" }).weights.data].slice(20)).toEqual(new Array(20).fill(1));
  });

  test("can fill arrays of the caller, even longer ones and shared memory", () => {
    const [a, b] = [filled(9), filled(9, {}, 2)];
    const mix = mixture([
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ]);
    const column = (data: object, ...shape: number[]) => ({ data, shape });
    const shared = (n: number) => new Float32Array(new SharedArrayBuffer(4 * n));
    const into = {
      count: 0,
      observation: column(shared(12), 6, 2),
      nextObservation: column(shared(12), 6, 2),
      action: column(new Int32Array(6), 6),
      returns: column(new Float32Array(6), 6),
      discounts: column(new Float32Array(6), 6),
      steps: column(new Uint32Array(6), 6),
      terminated: column(new Uint8Array(6), 6),
      truncated: column(new Uint8Array(6), 6),
      source: column(new Uint8Array(6).fill(9), 6),
      keys: new Float64Array(6).fill(99),
    };
    const twin = mixture([
      { from: filled(9).view, share: 1 },
      { from: filled(9, {}, 2).view, share: 1 },
    ]);
    for (let i = 0; i < 3; i++) {
      const batch = mix.sample(4, { into });
      const own = twin.sample(4);
      expect(batch).toBe(into);
      expect([...(into.observation.data as Float32Array)].slice(0, 8)).toEqual([...own.observation.data]);
      expect([...into.keys]).toEqual([...own.keys, 0, 0]);
      expect([...(into.source.data as Uint8Array)].slice(0, 4)).toEqual([0, 0, 1, 1]);
    }
  });
});

describe("waiting", () => {
  test("draws nothing before every source has its share, across Replays", async () => {
    const [a, b] = [filled(9, { rateLimiter: minSize(20) }), filled(0, { rateLimiter: queueLimiter(8), maxTimesSampled: 1 }, 2)];
    const mix = mixture([
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ]);
    const waiting = mix.sampleWhenReady(8);
    b.append(6);
    await Promise.resolve();
    expect(b.table.size).toBe(5);
    a.append(10);
    await Promise.resolve();
    expect(b.table.size).toBe(5);
    a.append(1);
    const batch = await waiting;
    expect(countsOf(batch.source.data, 2)).toEqual([4, 4]);
    expect(b.table.size).toBe(1);
    expect(mix.state().draw).toBe(1);
  });

  test("ends without a draw after a timeout or a signal, and with CLOSED after a dispose", async () => {
    const [a, b] = [filled(9), filled(0, {}, 2)];
    const mix = mixture([
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ]);
    const before = bytesOf(a.replay);
    const error = await mix.sampleWhenReady(8, { timeoutMs: 0 }).catch((reason: Error) => reason);
    expectError(error as Error, "TIMEOUT", /the mixture of the tables "t", "t" could not provide 8 items/);
    expect("batch" in (error as object)).toBe(false);
    const stop = new AbortController();
    const aborted = mix.sampleWhenReady(8, { signal: stop.signal });
    stop.abort(new Error("no more"));
    await expect(aborted).rejects.toThrow("no more");
    expect(bytesOf(a.replay).equals(before)).toBe(true);
    const closed = mix.sampleWhenReady(8);
    b.replay[Symbol.dispose]();
    await expect(closed).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("rejects a size that can never be drawn", async () => {
    const [a, b] = [filled(9), filled(9, { maxSize: 10, maxTimesSampled: 1 }, 2)];
    const mix = mixture([
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ]);
    await expect(mix.sampleWhenReady(40)).rejects.toThrow(/n must be <= 10/);
  });

  test("serves waits for one mixture in the order of their calls", async () => {
    const [a, b] = [filled(9), filled(0, { maxTimesSampled: 1 }, 2)];
    const mix = mixture([
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ]);
    const order: number[] = [];
    const waits = [4, 2].map((n) => mix.sampleWhenReady(n).then(() => order.push(n)));
    b.append(2);
    await Promise.resolve();
    b.append(6);
    await Promise.all(waits);
    expect(order).toEqual([4, 2]);
  });
});

describe("loops", () => {
  test("end when a source has too few items, and continue after new items", async () => {
    const [a, b] = [filled(9), filled(9, { maxTimesSampled: 1 }, 2)];
    const mix = mixture([
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ]);
    let count = 0;
    for (const batch of mix.dataset({ batchSize: 8 })) count += batch.count;
    expect([count, b.table.size]).toEqual([16, 1]);
    count = 0;
    b.append(8);
    for await (const batch of mix.dataset({ batchSize: 8, timeoutMs: 0 })) count += batch.count;
    expect([count, b.table.size]).toEqual([16, 1]);
  });

  test("draw ahead if no source counts draws, and unused batches do not count", async () => {
    const [a, b] = [filled(9), filled(9, { sampler: prioritized(1) }, 2)];
    const mix = mixture([
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ]);
    let turns = 0;
    for await (const _ of mix.dataset({ batchSize: 4, prefetch: 3, recycle: true })) if (++turns === 2) break;
    expect([a, b].map(({ table }) => table.stats().samples)).toEqual([4, 4]);
    const warned: string[] = [];
    const counting = filled(9, { maxTimesSampled: 90 }, 3, (message) => warned.push(message));
    const other = mixture([
      { from: a.view, share: 1 },
      { from: counting.view, share: 1 },
    ]);
    for await (const _ of other.dataset({ batchSize: 4, prefetch: 3 })) break;
    expect(counting.table.stats().samples).toBe(2);
    expect(warned.join()).toMatch(/prefetch draws nothing ahead/);
  });
});

describe("warnings", () => {
  test("about beta and priorities are logged only if no source uses priorities", () => {
    const said: string[] = [];
    const log = (message: string) => said.push(message);
    const [a, b, c] = [filled(9, {}, 1, log), filled(9, { sampler: prioritized(1) }, 2, log), filled(9, {}, 3, log)];
    const mix = mixture([
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ]);
    const batch = mix.sample(4, { beta: 0.4 });
    expect(mix.updatePriorities(batch, [1, 1, 1, 1])).toBe(2);
    expect(said).toEqual([]);
    const plain = mixture([
      { from: a.view, share: 1 },
      { from: c.view, share: 1 },
    ]);
    plain.updatePriorities(plain.sample(4, { beta: 0.4 }), [1, 1, 1, 1]);
    expect(said).toHaveLength(1);
    expect(said[0]).toMatch(/beta has no effect/);
  });
});

test("with a fallback, the other sources replace the rows of a source with too few items", () => {
  const [a, b] = [filled(9), filled(0, { rateLimiter: minSize(5) }, 2)];
  const mix = mixture(
    [
      { from: a.view, share: 1 },
      { from: b.view, share: 1 },
    ],
    { fallback: "others" },
  );
  expect(countsOf(mix.sample(8).source.data, 2)).toEqual([8, 0]);
  b.append(5);
  expect(countsOf(mix.sample(8).source.data, 2)).toEqual([8, 0]);
  b.append(1);
  expect(countsOf(mix.sample(8).source.data, 2)).toEqual([4, 4]);
  a.table.clear();
  b.table.clear();
  expectError(
    errorOf(() => mix.sample(8)),
    "EMPTY",
    /source 0/,
  );
});

test("each part of a batch of sequences equals a sample of its view", () => {
  const spec = { observation: f32(2), action: i32(), reward: f32() };
  const make = (seed: number, length: number) => {
    const replay = new Replay({ spec, tables: { seq: { maxSize: 50 } }, seed, logger: null });
    const writer = replay.writer({ items: [{ table: "seq", sequence: { length, burnIn: 1 } }] });
    for (let k = 0; k < 60; k++) {
      writer.append({ observation: [seed, k], action: k, reward: k });
      if (k % 9 === 8) writer.endEpisode({ final: { observation: [0, 0] }, terminated: k % 2 === 0 });
    }
    return replay;
  };
  const [a, b] = [make(1, 5), make(2, 5)];
  const [c, d] = [make(1, 5), make(2, 5)];
  const options = { gamma: 0.9, n: 2 } as const;
  const mix = mixture([
    { from: a.tables.seq.sequences(options), share: 1 },
    { from: b.tables.seq.sequences(options), share: 2 },
  ]);
  const into = mix.batch(9);
  const parts = [c.tables.seq.sequences(options), d.tables.seq.sequences(options)] as const;
  for (let round = 0; round < 5; round++) {
    const batch = round % 2 === 0 ? mix.sample(9) : mix.sample(9, { into });
    const [first, second] = [parts[0].sample(3), parts[1].sample(6)];
    expect([...batch.source.data]).toEqual([0, 0, 0, 1, 1, 1, 1, 1, 1]);
    for (const name of ["observation", "action", "returns", "discounts", "bootstraps", "mask", "learningMask", "isFirst", "isLast", "isTerminal"] as const)
      expect([...batch[name].data], name).toEqual([...first[name].data, ...second[name].data]);
    expect([...batch.keys]).toEqual([...first.keys, ...second.keys]);
    expect(mix.updatePriorities(batch, parts[0].prioritiesOf(batch, new Float32Array(9 * 5)))).toBe(0);
  }
});

test("a share function can read table sizes, to draw each new item once", () => {
  const replay = new Replay({ spec: { x: i32() }, tables: { fresh: { maxSize: 100, sampler: fifo(), maxTimesSampled: 1 }, all: { maxSize: 100 } } });
  const { fresh, all } = replay.tables;
  const writer = replay.writer({
    items: [
      { table: "fresh", length: 1 },
      { table: "all", length: 1 },
    ],
  });
  const news = () => Math.min(fresh.size, 16);
  const mix = mixture([
    { from: fresh, share: news },
    { from: all, share: () => 16 - news() },
  ]);
  for (let t = 0; t < 20; t++) writer.append({ x: t });
  const seen: number[] = [];
  for (const rows of [16, 4, 0]) {
    const { steps, info } = mix.sample(16);
    expect([...info.source].filter((source) => source === 0)).toHaveLength(rows);
    seen.push(...steps.x.data.subarray(0, rows));
  }
  expect(seen).toEqual(Array.from({ length: 20 }, (_, t) => t));
});
