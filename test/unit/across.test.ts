/** Tests `across` writers: rules and calls make items from a lane's continuous stream of steps, whichever method appended the steps. */
import { describe, expect, test, vi } from "vitest";
import { memory } from "../../src/files/memory.ts";
import { f32, fifo, i32, queueLimiter, Replay } from "../../src/index.ts";
import { remoteWriter } from "../../src/remote/index.ts";
import { broken } from "../support/health.ts";
import { some } from "../support/size.ts";
import { ends } from "./remote/support.ts";

const spec = { observation: f32(), action: i32(), reward: f32() };
const step = (id: number) => ({ observation: id, action: id, reward: id });
const tables = { t: { maxSize: 1000, sampler: fifo() } };
type Any = Replay<typeof spec, "t">;

/** Returns the steps of each item, oldest first, as in `sample`. */
function items({ tables: { t } }: Any): number[][] {
  return t.size === 0
    ? []
    : t
        .sample(t.size, { replacement: false })
        .toArray()
        .map(({ observation }) => observation as number[]);
}

/** Returns the windows of `length` steps at every `stride`-th step of a stream, except those that begin with a final step. */
function windows(stream: readonly number[], finals: ReadonlySet<number>, length: number, stride = 1): number[][] {
  return stream.flatMap((_, i) => {
    const window = stream.slice(i, i + length);
    return i % stride === 0 && window.length === length && !finals.has(window[0] as number) ? [window] : [];
  });
}

/** Returns the step ids of `count` episodes of `steps` steps, optionally with a final step after each episode. */
function episodes(count: number, steps: number, final: boolean) {
  const each = steps + Number(final);
  const all = Array.from({ length: count * each }, (_, id) => id + 1);
  const finals = new Set(final ? all.filter((id) => id % each === 0) : []);
  return { all, finals };
}

describe.each(
  some(
    [
      [4, 1, 3],
      [2, 1, 3],
      [1, 1, 2],
      [5, 3, 2],
      [3, 2, 7],
    ],
    2,
  ),
)("a rule of length %i and stride %i over episodes of %i steps", (length, stride, steps) => {
  for (const final of [false, true]) {
    const { all, finals } = episodes(10, steps, final);
    const wanted = windows(all, finals, length, stride);
    const options = { across: true, items: [{ table: "t", length, stride }] } as const;
    const each = steps + Number(final);

    test(`a writer creates every window of the stream, step by step (final steps: ${final})`, () => {
      const logger = vi.fn();
      const replay = new Replay({ spec, tables, logger });
      const writer = replay.writer(options);
      for (const id of all) {
        if (finals.has(id)) writer.endEpisode({ final: { observation: id }, terminated: false });
        else writer.append(step(id));
        if (!final && id % steps === 0) writer.endEpisode();
      }
      expect(items(replay)).toEqual(wanted);
      expect(logger).not.toHaveBeenCalled();
      expect(broken(replay)).toEqual([]);
    });

    test(`a writer creates every window in blocks of any size, after snapshots and crashes (final steps: ${final})`, async () => {
      const dir = memory();
      const first = await Replay.open({ spec, tables, dir, durability: "manual" });
      first.writer(options);
      await first.flush();
      let replay = (await Replay.open<typeof spec, "t">({ dir: dir.crash(), durability: "manual" })) as Any;
      const seen = all.filter((id) => !finals.has(id));
      for (let at = 0, size = 1; at < seen.length; at += size, size = (size * 7 + 3) % 11 || 1) {
        const part = seen.slice(at, at + size);
        const flags = part.map((id) => id % each === (final ? steps : 0));
        const ended = part.filter((_, i) => flags[i]);
        const how = final ? { truncated: flags, final: { observation: ended.map((id) => id + 1) } } : { ends: flags };
        replay.writers[0]?.appendColumns({ observation: part, action: part, reward: part } as never, how as never);
        replay = Replay.restore<typeof spec, "t">(replay.snapshot());
      }
      expect(items(replay)).toEqual(wanted);
      expect(broken(replay)).toEqual([]);
    });

    test(`a writer creates every window over a port (final steps: ${final})`, async () => {
      const replay = new Replay({ spec, tables });
      const [here, there] = ends();
      const [writer, accepted] = await Promise.all([remoteWriter(there, { spec }), replay.acceptWriter(here, options)]);
      for (const id of all) {
        if (finals.has(id)) await writer.endEpisode({ final: { observation: id }, terminated: false });
        else await writer.append(step(id));
        if (!final && id % steps === 0) await writer.endEpisode();
      }
      await writer.close();
      await accepted.closed;
      expect(items(replay)).toEqual(wanted);
    });

    test(`a call creates all of its items or none if a limiter has no room (final steps: ${final})`, () => {
      const limited = { t: { maxSize: 1000, sampler: fifo(), rateLimiter: queueLimiter(3), maxPending: 2, maxTimesSampled: 1 } };
      const replay = new Replay({ spec, tables: limited });
      const writer = replay.writer(options);
      const seen = all.filter((id) => !finals.has(id));
      const got: number[][] = [];
      const take = () => {
        for (const { observation } of replay.tables.t.sample(1).toArray()) got.push(observation as number[]);
      };
      for (let at = 0; at < seen.length; ) {
        let size = Math.min(6, seen.length - at);
        for (;;) {
          const part = seen.slice(at, at + size);
          const flags = part.map((id) => id % each === (final ? steps : 0));
          const ended = part.filter((_, i) => flags[i]);
          const how = final ? { truncated: flags, final: { observation: ended.map((id) => id + 1) } } : { ends: flags };
          const before = replay.stats();
          try {
            writer.appendColumns({ observation: part, action: part, reward: part }, how as never);
            break;
          } catch (error) {
            expect(error).toMatchObject({ code: "RATE_LIMITED" });
            expect(replay.stats()).toEqual(before);
            if (size > 1) size = Math.ceil(size / 2);
            else take();
          }
        }
        at += size;
      }
      while (replay.tables.t.size > 0) take();
      expect(got).toEqual(wanted);
      expect(broken(replay)).toEqual([]);
    });
  }
});

test("each lane has its own stream", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ lanes: 2, across: true, autoreset: "sameStep", items: [{ table: "t", length: 3 }] });
  for (let t = 1; t < 7; t++) {
    const two = [t, 10 + t];
    writer.append({ observation: two, action: two, reward: two });
    if (t % 2 === 0) writer.endEpisode({ lane: 0 });
  }
  const own = items(replay);
  expect(own.filter(([first = 0]) => first < 10)).toEqual(windows([1, 2, 3, 4, 5, 6], new Set(), 3));
  expect(own.filter(([first = 0]) => first > 10)).toEqual(windows([11, 12, 13, 14, 15, 16], new Set(), 3));
});

test("transitions of an across writer stay in their episodes", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ across: true, items: [{ table: "t", nStep: 3 }] });
  for (const id of [1, 2, 4, 5]) {
    writer.append(step(id));
    if (id % 3 === 2) writer.endEpisode({ final: { observation: id + 1 }, terminated: true });
  }
  expect(items(replay)).toEqual([
    [1, 2, 3],
    [2, 3],
    [4, 5, 6],
    [5, 6],
  ]);
});

test("an item of several episodes is returned whole, and cross: false stops at the boundary", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ across: true, items: [] });
  for (const id of [1, 2, 3, 4]) {
    writer.append(step(id));
    if (id === 2) writer.endEpisode();
  }
  writer.createItem("t", { length: 4 });
  const { t } = replay.tables;
  expect(items(replay)).toEqual([[1, 2, 3, 4]]);
  expect([...t.sample(1, { length: 3, offset: "end" }).steps.observation.data]).toEqual([2, 3, 4]);
  expect([...t.sample(1, { columns: { last: { leaf: "observation", at: -1 } } }).steps.last.data]).toEqual([4]);
  const into = t.batch(1, { length: 4 });
  expect([...t.sample(1, { into }).steps.observation.data]).toEqual([1, 2, 3, 4]);
  const cut = t.sample(1, { cross: false });
  expect([[...cut.steps.observation.data], [...cut.lengths]]).toEqual([[1, 2, 0, 0], [2]]);
  // A return still stops at the end of its episode.
  const { nStep } = t.sample(1, { nStep: { n: 3, gamma: 1, reward: "reward" } });
  expect([nStep.returns[0], nStep.steps[0], nStep.truncated[0]]).toEqual([1, 1, 1]);
});

describe("a transition view rejects items that begin with the last step of an episode", () => {
  const refusal = /items that cannot become transitions/;
  const filled = (table: object = tables.t) => {
    const replay = new Replay({ spec, tables: { t: { maxSize: 9, ...table } }, logger: null });
    const writer = replay.writer({ across: true });
    for (const id of [1, 2, 3]) {
      writer.append(step(id));
      if (id === 2) writer.endEpisode();
    }
    return { replay, writer };
  };

  test("like items of a single step, because no transition has 0 steps", () => {
    const { replay, writer } = filled();
    const view = replay.tables.t.transitions({ gamma: 0.5 });
    writer.createItem("t", { length: 3 });
    expect([...view.sample(1).steps.data]).toEqual([1]);
    writer.createItem("t", { length: 2 });
    const before = replay.stats();
    expect(() => view.sample(2, { replacement: false })).toThrow(expect.objectContaining({ code: "SPEC_MISMATCH", message: expect.stringMatching(refusal) }));
    expect(replay.stats()).toEqual(before);
    const restored = Replay.restore<typeof spec, "t">(replay.snapshot());
    expect(() => restored.tables.t.transitions({ gamma: 0.5 }).sample(2, { replacement: false })).toThrow(refusal);
    replay.tables.t.clear();
    writer.createItem("t", { length: 3 });
    expect([...view.sample(1).steps.data]).toEqual([1]);
  });

  test("while items wait, in sampleWhenReady", async () => {
    const { replay, writer } = filled({ rateLimiter: queueLimiter(1), maxTimesSampled: 1, sampler: fifo() });
    const view = replay.tables.t.transitions({ gamma: 0.5 });
    writer.createItem("t", { length: 3 });
    writer.createItem("t", { length: 2 })?.catch(() => {});
    await expect(view.sampleWhenReady(2)).rejects.toThrow(refusal);
  });

  test("unless a final step follows", () => {
    const replay = new Replay({ spec, tables });
    const writer = replay.writer({ across: true });
    writer.append(step(1));
    writer.endEpisode({ final: { observation: 2 }, terminated: true });
    writer.append(step(3));
    writer.createItem("t", { length: 3 });
    const { steps, returns, terminated } = replay.tables.t.transitions({ gamma: 0.5 }).sample(1);
    expect([steps.data[0], returns.data[0], terminated.data[0]]).toEqual([1, 1, 1]);
  });
});
