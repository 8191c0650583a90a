/** Tests terminated episodes in lanes that reset with the next step: steps after the end must not contribute to returns. */
import { describe, expect, test } from "vitest";
import { memory } from "../../src/files/memory.ts";
import { f32, fifo, i32, Replay, shared, u8 } from "../../src/index.ts";
import { remoteWriter } from "../../src/remote/index.ts";
import { broken } from "../support/health.ts";
import { ends } from "./remote/support.ts";

const spec = { observation: f32(), action: i32(), reward: f32(), frame: shared("frames", u8(3)), wide: f32(100) };
const tables = { t: { maxSize: 1000, sampler: fifo() } };
type Any = Replay<typeof spec, "t">;

const frameOf = (id: number) => [id, id, 1];
const two = (a: number, b: number) => ({
  observation: [a, b],
  action: [a, b],
  reward: [a, b],
  frame: [frameOf(a), frameOf(b)],
  wide: [...new Array(100).fill(a), ...new Array(100).fill(b)] as number[],
});

/** Returns the columns of a view for each item, oldest first. */
function seen({ tables: { t } }: Any) {
  const { observation, nextObservation, returns, terminated, truncated, steps } = t.transitions({ gamma: 1 }).sample(t.size, { replacement: false });
  return Array.from({ length: t.size }, (_, i) => ({
    from: observation.data[i],
    to: nextObservation.data[i],
    return: returns.data[i],
    steps: steps.data[i],
    how: terminated.data[i] ? "terminated" : truncated.data[i] ? "truncated" : "goes on",
  }));
}

const options = { lanes: 2, autoreset: "nextStep", items: [{ table: "t", nStep: 2 }] } as const;

/** Appends two steps to each of two lanes, then terminates lane 0. */
function lived(replay = new Replay({ spec, tables })) {
  const writer = replay.writer(options);
  writer.append(two(1, 11));
  writer.append(two(2, 12), { terminated: [1, 0], truncated: [0, 0] });
  return { replay, writer };
}

const whole = [
  { from: 1, to: 0, return: 3, steps: 2, how: "terminated" },
  { from: 2, to: 0, return: 2, steps: 1, how: "terminated" },
];

test("a terminated episode creates its transitions immediately, with the last reward", () => {
  const { replay, writer } = lived();
  expect(seen(replay)).toEqual(whole);
  expect([writer.length, writer.episodeSteps]).toEqual([3, 0]);
  expect(broken(replay)).toEqual([]);
});

test("transitions of a terminated episode stay if the writer is closed before the next step", () => {
  const { replay, writer } = lived();
  writer.close();
  expect(seen(replay)).toEqual([...whole, { from: 11, to: 12, return: 11, steps: 1, how: "truncated" }]);
  expect(broken(replay)).toEqual([]);
});

test("the next step fills in the final observation in every leaf, and is not a separate step", () => {
  const { replay, writer } = lived();
  const [first] = replay.tables.t.sample(1).info.keys;
  writer.append(two(3, 13));
  expect(seen(replay).slice(0, 2)).toEqual(whole.map((one) => ({ ...one, to: 3 })));
  const { steps, info } = replay.tables.t.sample(3, { replacement: false });
  expect(info.keys[0]).toBe(first);
  expect([...steps.frame.data.subarray(6, 9), ...steps.wide.data.subarray(200, 202), steps.action.data[2]]).toEqual([3, 3, 1, 3, 3, 3]);
  expect([writer.length, writer.episodeSteps]).toEqual([3, 0]);
  writer.append(two(4, 14));
  expect([writer.length, writer.episodeSteps]).toEqual([1, 1]);
  writer.append(two(5, 15), { terminated: [1, 0] });
  expect(seen(replay).filter(({ from = 0 }) => from < 10 && from > 2)).toEqual([
    { from: 4, to: 0, return: 9, steps: 2, how: "terminated" },
    { from: 5, to: 0, return: 5, steps: 1, how: "terminated" },
  ]);
  expect(broken(replay)).toEqual([]);
});

test("a truncated step waits for its final observation", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer(options);
  writer.append(two(1, 11), { truncated: [1, 0], terminated: [0, 0] });
  expect(replay.tables.t.size).toBe(0);
  writer.append(two(2, 12));
  expect(seen(replay)).toEqual([{ from: 1, to: 2, return: 1, steps: 1, how: "truncated" }]);
});

describe.each(["snapshot", "crash"])("after a %s between the two steps", (kind) => {
  test("the final observation reaches the same items", async () => {
    const dir = memory();
    const { replay } = lived((await Replay.open({ spec, tables, dir, durability: "manual" })) as Any);
    await replay.flush();
    const again = (kind === "snapshot" ? Replay.restore(replay.snapshot()) : await Replay.open({ dir: dir.crash(), durability: "manual" })) as unknown as Any;
    expect(seen(again)).toEqual(whole);
    again.writers[0]?.append(two(3, 13) as never);
    expect(seen(again).slice(0, 2)).toEqual(whole.map((one) => ({ ...one, to: 3 })));
    await again.flush();
    expect(broken(again)).toEqual([]);
  });
});

test("blocks with many ends create the same transitions as single steps", () => {
  const replays = [new Replay({ spec, tables }), new Replay({ spec, tables })] as const;
  const [blocks, steps] = replays.map((replay) => replay.writer({ ...options, keep: 40 }));
  const how = (t: number) => [Number(t % 5 === 2), Number(t % 3 === 0)];
  const rows = Array.from({ length: 60 }, (_, t) => t + 1);
  for (const t of rows) steps?.append(two(t, 100 + t), { terminated: how(t) });
  const of = (part: readonly number[]) => {
    const all = part.map((t) => two(t, 100 + t));
    return Object.fromEntries(Object.keys(spec).map((name) => [name, all.flatMap((one) => (one[name as "frame"] as readonly unknown[]).flat())])) as never;
  };
  for (const [from, to] of [
    [0, 1],
    [1, 2],
    [2, 30],
    [30, 33],
    [33, 60],
  ] as const)
    blocks?.appendColumns(of(rows.slice(from, to)), { terminated: rows.slice(from, to).flatMap(how) });
  expect(seen(replays[0])).toEqual(seen(replays[1]));
  expect(replays.map(broken)).toEqual([[], []]);
});

test("a plain end before the next step starts a new episode, and another end throws", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ lanes: 2, autoreset: "nextStep", items: [{ table: "t", length: 2 }] });
  writer.append(two(1, 11), { terminated: [1, 0] });
  expect(() => writer.endEpisode({ lane: 0, terminated: true })).toThrow(/the next step of lane 0 is the final step/);
  writer.endEpisode({ lane: 0 });
  expect(seen(replay)).toEqual([{ from: 1, to: 0, return: 1, steps: 1, how: "terminated" }]);
  writer.append(two(2, 12));
  writer.append(two(3, 13));
  expect(seen(replay).find(({ from }) => from === 2)).toEqual({ from: 2, to: 3, return: 2, steps: 1, how: "goes on" });
  expect(broken(replay)).toEqual([]);
});

test("a remote writer follows the same rules over a port", async () => {
  const replay = new Replay({ spec, tables });
  const [here, there] = ends();
  const { lanes, ...own } = options;
  const [writer, accepted] = await Promise.all([remoteWriter(there, { spec, lanes }), replay.acceptWriter(here, own)]);
  await writer.append(two(1, 11));
  await writer.append(two(2, 12), { terminated: [1, 0] });
  expect([writer.length, writer.episodeSteps]).toEqual([3, 0]);
  expect(() => writer.createItem("t", { length: 1 })).toThrow(/begin with the final step/);
  await writer.close();
  await accepted.closed;
  expect(seen(replay).slice(0, 2)).toEqual(whole);
});
