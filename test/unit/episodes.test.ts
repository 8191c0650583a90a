/** Tests the ends of episodes: requirements, errors, and recent steps. */
import { describe, expect, test, vi } from "vitest";
import { f32, fifo, i32, prioritized, queueLimiter, Replay, text, u8 } from "../../src/index.ts";
import { broken } from "../support/health.ts";
import { errorOf, expectError } from "../support/refused.ts";

const spec = { observation: f32(2), action: i32(), reward: f32() };
const step = (id: number) => ({ observation: [id, id], action: id, reward: id });
const tables = { memory: { maxSize: 100 } };
const ofCode = (code: string) => expect.objectContaining({ code });

function lived(nStep = 3) {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ items: [{ table: "memory", nStep }] });
  return { replay, writer };
}

/** Returns the first numbers of each item's steps, oldest item first. */
function items(replay: Replay<typeof spec, "memory">): number[][] {
  const { size } = replay.table("memory");
  if (size === 0) return [];
  const { steps, lengths, info } = replay.table("memory").sample(size, { replacement: false });
  const width = steps.observation.shape[1] as number;
  const rows = [...lengths].map((length, i) => Array.from({ length }, (_, t) => steps.observation.data[(i * width + t) * 2] as number));
  return [...info.keys.keys()].sort((a, b) => (info.keys[a] as number) - (info.keys[b] as number)).map((i) => rows[i] as number[]);
}

describe("endEpisode with a final observation", () => {
  test("makes an item from each step, and shorter items near the end", () => {
    const { replay, writer } = lived();
    for (const id of [1, 2, 3, 4, 5]) writer.append(step(id));
    writer.endEpisode({ final: { observation: [6, 6] }, terminated: false });
    expect(items(replay)).toEqual([
      [1, 2, 3, 4],
      [2, 3, 4, 5],
      [3, 4, 5, 6],
      [4, 5, 6],
      [5, 6],
    ]);
    const { nStep } = replay.table("memory").sample(50, { nStep: { n: 3, gamma: 0.5, reward: "reward" } });
    expect(new Set(nStep.terminated)).toEqual(new Set([0]));
  });

  test("fills an omitted final step with zeros if the episode terminates", () => {
    const { replay, writer } = lived(1);
    writer.append(step(1));
    writer.endEpisode({ terminated: true });
    expect(items(replay)).toEqual([[1, 0]]);
    const { nStep } = replay.table("memory").sample(1, { nStep: { n: 1, gamma: 0.5, reward: "reward" } });
    expect([...nStep.returns, ...nStep.discounts, ...nStep.terminated, ...nStep.truncated]).toEqual([1, 0, 1, 0]);
  });

  test("keeps the final step until the next append, and starts no item there", () => {
    const replay = new Replay({ spec, tables });
    const writer = replay.writer();
    writer.append(step(1));
    writer.append(step(2));
    writer.endEpisode({ final: { observation: [3, 3] }, terminated: true });
    expect(writer.length).toBe(3);
    writer.createItem("memory", { length: 2 });
    writer.createItem("memory", { length: 3 });
    expect(() => writer.createItem("memory", { length: 1 })).toThrow(/final step of an episode/);
    writer.append(step(4));
    expect(writer.length).toBe(1);
    expect(items(replay)).toEqual([
      [2, 3],
      [1, 2, 3],
    ]);
    expect(broken(replay)).toEqual([]);
  });

  test("length rules count the final step as a step, and start no item there", () => {
    const replay = new Replay({ spec, tables });
    const writer = replay.writer({
      items: [
        { table: "memory", length: 1 },
        { table: "memory", length: 2 },
      ],
    });
    writer.append(step(1));
    writer.endEpisode({ final: { observation: [2, 2] }, terminated: false });
    expect(items(replay)).toEqual([[1], [1, 2]]);
  });

  test("inserts all items of an episode or none, and keeps the episode open on failure", () => {
    const replay = new Replay({ spec, tables: { memory: { maxSize: 10, rateLimiter: queueLimiter(3), maxTimesSampled: 1, maxPending: 1 } } });
    const writer = replay.writer({ items: [{ table: "memory", nStep: 5 }] });
    for (const id of [1, 2, 3, 4, 5]) writer.append(step(id));
    expect(() => writer.endEpisode({ terminated: true })).toThrow(ofCode("RATE_LIMITED"));
    expect(replay.table("memory").stats()).toMatchObject({ size: 0, pending: 0 });
    expect(writer.episodeSteps).toBe(5);
    const two = replay.writer({ items: [{ table: "memory", nStep: 5 }] });
    for (const id of [1, 2, 3, 4]) two.append(step(id));
    two.endEpisode({ terminated: true });
    expect(replay.table("memory").stats()).toMatchObject({ size: 3, pending: 1 });
    expect(broken(replay)).toEqual([]);
  });

  test("throws OUT_OF_TURN if the episode has no steps", () => {
    const { replay, writer } = lived();
    expect(() => writer.endEpisode({ terminated: true })).toThrow(/no step was appended/);
    writer.append(step(1));
    writer.endEpisode({ terminated: true });
    expect(() => writer.endEpisode({ terminated: true })).toThrow(ofCode("OUT_OF_TURN"));
    expect(replay.table("memory").size).toBe(1);
  });

  test("stores empty text and zeros for leaves that are missing from final", () => {
    const replay = new Replay({ spec: { ...spec, image: u8(2000), note: text({ maxBytes: 8 }) }, tables });
    const writer = replay.writer({ items: [{ table: "memory", nStep: 1 }] });
    const image = new Uint8Array(2000).fill(7);
    for (const id of [1, 2]) {
      writer.append({ ...step(id), image, note: "seen" });
      if (id === 1) writer.endEpisode({ final: { observation: [9, 9], note: "last" }, terminated: false });
      else writer.endEpisode({ terminated: true });
    }
    const { steps, info } = replay.table("memory").sample(2, { replacement: false });
    const at = info.keys.indexOf(Math.min(...info.keys));
    expect(steps.note.data.slice(2 * at, 2 * at + 2)).toEqual(["seen", "last"]);
    expect(steps.note.data.slice(2 * (1 - at), 2 * (1 - at) + 2)).toEqual(["seen", ""]);
    expect(steps.image.data.subarray(2000, 4000).every((byte) => byte === 0)).toBe(true);
  });
});

describe("an nStep rule", () => {
  test("requires terminated when an episode ends", () => {
    const { writer } = lived();
    writer.append(step(1));
    expect(() => writer.endEpisode()).toThrow(/^terminated .*nStep or sequence rule/);
    expect(() => writer.endEpisode({ final: { observation: [1, 1] } })).toThrow(/^terminated .*nStep or sequence rule/);
    expect(() => writer.endEpisode({ terminated: false })).toThrow(/^final .*truncated episode/);
    expect(() => writer.endEpisode({ final: { seen: 1 } as never, terminated: true })).toThrow(/seen is not one of them/);
    expect(() => writer.endEpisode({ terminated: 1 as never })).toThrow(/terminated must be a boolean/);
    expect(writer.episodeSteps).toBe(1);
  });

  test("rejects the option length, and requires nStep to be a positive integer", () => {
    const replay = new Replay({ spec, tables });
    expect(() => replay.writer({ items: [{ table: "memory", nStep: 3, length: 4 } as never] })).toThrow(/no option "length"/);
    for (const nStep of [0, -1, 1.5, "3"])
      expect(() => replay.writer({ items: [{ table: "memory", nStep: nStep as never }] })).toThrow(/items\[0\]\.nStep must be/);
  });

  test("requires the leaves of a transition", () => {
    const replay = new Replay({ spec: { obs: f32(), action: i32(), reward: f32() }, tables });
    expect(() => replay.writer({ items: [{ table: "memory", nStep: 3 }] })).toThrow(/requires the observation.*transition: \{ observation \}/);
    const named = new Replay({ spec: { obs: f32(), action: i32(), reward: f32() }, tables, transition: { observation: "obs" } });
    expect(named.writer({ items: [{ table: "memory", nStep: 3 }] }).length).toBe(0);
  });

  test("accepts only finite rewards, unless finite is false", () => {
    const { replay, writer } = lived();
    for (const reward of [Number.NaN, Number.POSITIVE_INFINITY, 1e39]) {
      expect(() => writer.append({ ...step(1), reward })).toThrow(/reward must be finite/);
      expect(() => writer.appendColumns({ observation: [1, 1], action: [1], reward: [reward] })).toThrow(ofCode("INVALID_DATA"));
    }
    expect(writer.length).toBe(0);
    const any = replay.writer({ items: [{ table: "memory", nStep: 3, finite: false }] });
    any.append({ ...step(1), reward: Number.NaN });
    expect(any.length).toBe(1);
    const own = replay.writer({ items: [{ table: "memory", length: 1 }] });
    own.append({ ...step(1), reward: Number.NaN });
  });

  test("closing the writer truncates the episode, and its last step starts no item", () => {
    const { replay, writer } = lived();
    for (const id of [1, 2, 3, 4, 5]) writer.append(step(id));
    writer.close();
    expect(items(replay)).toEqual([
      [1, 2, 3, 4],
      [2, 3, 4, 5],
      [3, 4, 5],
      [4, 5],
    ]);
    const { nStep } = replay.table("memory").sample(50, { nStep: { n: 3, gamma: 0.5, reward: "reward" } });
    expect(new Set(nStep.terminated)).toEqual(new Set([0]));
  });
});

test("closing a writer with length rules marks its last transition as truncated", () => {
  const replay = new Replay({ spec, tables: { memory: { maxSize: 50, sampler: fifo() } }, logger: null });
  const writer = replay.writer({ items: [{ table: "memory", length: 2 }] });
  for (const id of [1, 2, 3]) writer.append(step(id));
  const seen = () => [...replay.tables.memory.transitions({ gamma: 1 }).sample(2, { replacement: false }).truncated.data].sort();
  expect(seen()).toEqual([0, 0]);
  writer.close();
  expect(seen()).toEqual([0, 1]);
});

test.each([1, 2])("closing a writer with an nStep rule of %i marks its newest step as final", (nStep) => {
  const replay = new Replay({ spec, tables: { memory: { maxSize: 50, sampler: fifo() } }, logger: null });
  const writer = replay.writer({ items: [{ table: "memory", nStep }] });
  for (const id of [1, 2, 3]) writer.append(step(id));
  writer.close();
  const { steps, truncated } = replay.tables.memory.transitions({ gamma: 0.5 }).sample(2, { replacement: false });
  expect([steps.data, truncated.data]).toEqual(
    nStep === 1 ? [new Uint32Array([1, 1]), new Uint8Array([0, 1])] : [new Uint32Array([2, 1]), new Uint8Array([1, 1])],
  );
});

test("endEpisode requires final for a truncated episode, even with autoreset nextStep", () => {
  const replay = new Replay({ spec, tables });
  const writer = replay.writer({ lanes: 2, autoreset: "nextStep", items: [{ table: "memory", nStep: 1 }] });
  writer.append({ observation: new Float32Array(4), action: [1, 2], reward: [1, 2] }, { terminated: [0, 0] });
  expect(() => writer.endEpisode({ lane: 1, terminated: false })).toThrow(/^final .*truncated episode/);
  writer.endEpisode({ lane: 1, terminated: false, final: { observation: [3, 3] } });
  expect(replay.tables.memory.size).toBe(1);
});

test("final must contain the observation if the episode is truncated", () => {
  const message = /^final must be an object with "observation", .*truncated episode.* got an object with keys/;
  const { replay, writer } = lived(2);
  writer.append(step(1));
  expect(() => writer.endEpisode({ terminated: false, final: { reward: 1 } })).toThrow(message);
  const { observation, action, reward } = { observation: [[1, 1]], action: [1], reward: [1] };
  const block = { terminated: [0], truncated: [1], final: { action: [1] } };
  expect(() => writer.appendColumns({ observation, action, reward }, block)).toThrow(message);
  const lanes = replay.writer({ lanes: 2, autoreset: "sameStep", items: [{ table: "memory", nStep: 1 }] });
  const two = { observation: [step(1).observation, step(2).observation], action: [1, 2], reward: [1, 2] };
  expect(() => lanes.append(two, { terminated: [0, 1], truncated: [1, 0], final: { action: [1, 1] } })).toThrow(message);
  expect([writer.length, lanes.length]).toEqual([1, 0]);
  lanes.append(two, { terminated: [0, 1], final: { action: [1, 1] } });
  writer.endEpisode({ terminated: true, final: { reward: 1 } });
  expect(replay.tables.memory.size).toBe(2);
});

describe("priority max", () => {
  const weighted = () => new Replay({ spec, tables: { memory: { maxSize: 4, sampler: prioritized(1) } }, logger: null });
  const newest = (replay: ReturnType<typeof weighted>) => {
    const writer = replay.writer({ items: [{ table: "memory", nStep: 1 }] });
    writer.append(step(1));
    writer.append(step(2));
    const key = writer.lastKey("memory");
    writer.close();
    return { key, priority: replay.table("memory").explain(key).priority };
  };

  test("is the default for transitions on prioritized tables: 1 initially, then the largest priority set", () => {
    const replay = weighted();
    const { key, priority } = newest(replay);
    expect(priority).toBe(1);
    replay.table("memory").updatePriorities([key], [50]);
    expect(newest(replay).priority).toBe(50);
    replay.table("memory").updatePriorities([key], [0.5]);
    expect(newest(replay).priority).toBe(50);
  });

  test("lasts until the table is cleared, and survives snapshots", () => {
    const replay = weighted();
    const writer = replay.writer();
    writer.append(step(1));
    writer.createItem("memory", { length: 1, priority: 7 });
    for (let id = 2; id < 9; id++) newest(replay);
    expect(replay.table("memory").explain(writer.lastKey("memory")).priority).toBe(7);
    const again = Replay.restore<typeof spec, "memory">(replay.snapshot());
    expect(newest(again as never).priority).toBe(7);
    replay.table("memory").clear();
    expect(newest(replay).priority).toBe(1);
  });

  test("applies to length rules, and to appendColumns", () => {
    const replay = weighted();
    const writer = replay.writer({ items: [{ table: "memory", length: 1, priority: "max" }] });
    writer.append(step(1));
    replay.table("memory").updatePriorities([writer.lastKey("memory")], [9]);
    writer.appendColumns({ observation: new Float32Array(80), action: new Int32Array(40), reward: new Float32Array(40) });
    expect([...replay.table("memory").sample(4, { replacement: false }).info.priorities]).toEqual([9, 9, 9, 9]);
  });

  test("applies to createItem", () => {
    const replay = weighted();
    const table = replay.table("memory");
    const writer = replay.writer();
    const priorityOf = (priority: number | "max") => {
      writer.append(step(1));
      writer.createItem("memory", { length: 1, priority });
      return table.explain(writer.lastKey("memory")).priority;
    };
    expect(priorityOf("max")).toBe(1);
    expect(priorityOf(3)).toBe(3);
    expect(priorityOf("max")).toBe(3);
    table.updatePriorities([writer.lastKey("memory")], [8]);
    expect(priorityOf("max")).toBe(8);
    table.clear();
    expect(priorityOf("max")).toBe(1);
    expectError(
      errorOf(() => priorityOf("min" as "max")),
      TypeError,
      /^priority must be a finite number, or "max", got "min"/,
    );
  });
});

describe("lanes", () => {
  const two = { observation: [1, 1, 2, 2], action: [1, 2], reward: [1, 2] };

  test("with transitions require autoreset", () => {
    const replay = new Replay({ spec, tables });
    expect(() => replay.writer({ lanes: 2, items: [{ table: "memory", nStep: 1 }] })).toThrow(/autoreset is required: one of/);
    expect(() => replay.writer({ autoreset: "never" as never })).toThrow(RangeError);
  });

  test("accept final observations of the lanes that end, nested with gaps or flat", () => {
    for (const observation of [[null, [9, 9]], [0, 0, 9, 9], [undefined, new Float32Array([9, 9])], new Float32Array([0, 0, 9, 9])]) {
      const replay = new Replay({ spec, tables });
      const writer = replay.writer({ lanes: 2, autoreset: "sameStep", items: [{ table: "memory", nStep: 1 }] });
      writer.append(two, { terminated: [false, false], truncated: [false, true], final: { observation: observation as never } });
      expect(items(replay)).toEqual([[2, 9]]);
      expect(() => writer.append(two, { terminated: [0, 0], truncated: [1, 0] })).toThrow(/^final .*truncated episode/);
      expect(() => writer.append(two, { truncated: [1, 0] })).toThrow(/^final .*pass terminated/);
      expect(() => writer.append(two, { terminated: [0] })).toThrow(/terminated must be an array of 2/);
      expect(() => writer.append(two, { terminated: [1, 0], final: { observation: [[1, 1]] } as never })).toThrow(/final\.observation/);
      expect(() => writer.endEpisode({ terminated: true })).toThrow(/^lane .*the writer has 2 lanes/);
      expect(broken(replay)).toEqual([]);
    }
  });

  test("a writer with one lane rejects terminated in append, and suggests endEpisode", () => {
    const { writer } = lived();
    writer.append(step(1));
    expect(() => writer.append(step(2), { terminated: [true] } as never)).toThrow(/Call endEpisode/);
    expect(writer.length).toBe(1);
  });

  test("with nextStep reject an end at the final step of a lane, and reject final", () => {
    const replay = new Replay({ spec, tables });
    const writer = replay.writer({ lanes: 2, autoreset: "nextStep", items: [{ table: "memory", nStep: 1 }] });
    writer.append(two, { terminated: [true, false] });
    expect(() => writer.append(two, { terminated: [true, false] })).toThrow(/lane 0 is the final step.*sameStep/);
    expect(() => writer.append(two, { terminated: [false, true], final: two as never })).toThrow(/^final must be omitted/);
    expect(() => writer.endEpisode({ lane: 0, terminated: true })).toThrow(/lane 0 is the final step/);
    writer.append(two, { terminated: [false, false] });
    expect(replay.table("memory").size).toBe(2);
  });
});

test("an episode without items is logged once, and counted every time", () => {
  const logger = vi.fn();
  const replay = new Replay({ spec, tables, logger });
  const short = replay.writer({ items: [{ table: "memory", length: 4 }] });
  const none = replay.writer();
  const own = replay.writer();
  for (const writer of [short, none, own]) {
    writer.append(step(1));
    if (writer === own) writer.createItem("memory", { length: 1 });
    writer.endEpisode();
    writer.endEpisode();
  }
  short.appendColumns({ observation: [1, 1], action: [1], reward: [1] }, { ends: [1] });
  expect(replay.stats().warnings.barrenEpisodes).toBe(3);
  expect(logger.mock.calls).toEqual([[expect.stringMatching(/an episode ended without an item: the shortest rule needs 4 steps/)]]);
  const quiet = new Replay({ spec, tables, logger: null });
  const writer = quiet.writer();
  writer.append(step(1));
  writer.endEpisode();
  expect(quiet.stats().warnings.barrenEpisodes).toBe(1);
});

describe("createItem after endEpisode", () => {
  const barren = ({ stats }: { stats(): { warnings: { barrenEpisodes: number } } }) => stats().warnings.barrenEpisodes;
  const open = (items?: readonly { table: "memory"; length: number }[], lanes?: number) => {
    const logger = vi.fn();
    const replay = new Replay({ spec, tables, logger });
    const writer = replay.writer({ ...(items && { items }), ...(lanes !== undefined && { lanes }) });
    return { replay, writer, logger, count: () => barren({ stats: () => replay.stats() }) };
  };

  test.each([[undefined], [[{ table: "memory", length: 9 }] as const]])("prevents the warning about an episode without items (rules: %j)", (items) => {
    const { writer, logger, count } = open(items);
    for (let episode = 0; episode < 3; episode++) {
      writer.append(step(1));
      writer.append(step(2));
      writer.endEpisode({ final: { observation: [3, 3] }, terminated: true });
      writer.createItem("memory", { length: writer.length });
    }
    writer.close();
    expect([count(), logger.mock.calls]).toEqual([0, []]);
  });

  test.each(["append", "appendColumns", "endEpisode", "close"] as const)("is reported as missing by the next call if it was not called: %s", (call) => {
    const { writer, logger, count } = open();
    writer.append(step(1));
    writer.endEpisode({ terminated: true });
    expect(count()).toBe(0);
    if (call === "append") writer.append(step(2));
    else if (call === "appendColumns") writer.appendColumns({ observation: [1, 1], action: [1], reward: [1] });
    else writer[call]();
    expect([count(), logger.mock.calls.length]).toEqual([1, 1]);
  });

  test("prevents the warning for its lane", () => {
    const { writer, logger, count } = open(undefined, 2);
    const two = { observation: [1, 1, 2, 2], action: [1, 2], reward: [1, 2] } as never;
    writer.append(two, { terminated: [0, 1] } as never);
    writer.createItem("memory", { length: 2, lane: 1 });
    writer.append(two);
    expect([count(), logger.mock.calls]).toEqual([0, []]);
  });

  test("prevents the warnings for all its episodes if the writer is across", () => {
    const logger = vi.fn();
    const replay = new Replay({ spec, tables, logger });
    const writer = replay.writer({ across: true });
    for (let episode = 0; episode < 3; episode++) {
      writer.append(step(1));
      writer.endEpisode();
    }
    writer.createItem("memory", { length: 3 });
    expect([replay.stats().warnings.barrenEpisodes, logger.mock.calls]).toEqual([0, []]);
  });
});
