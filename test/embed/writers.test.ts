/** Tests the writer features that a host needs for remote writers: their options, and episodes that are discarded or truncated. */
import { expect, test } from "vitest";
import { f16, f32, i32, packed, prioritized, Replay, shared, text, u8, u16 } from "../../src/index.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf } from "../support/refused.ts";
import { scaled } from "../support/size.ts";
import { Embed } from "./host.ts";

// The leaves are in the order that all hosts use.
const SPEC = {
  action: i32(),
  bits: shared("goals", u16(4)),
  goal: shared("goals", f16(4)),
  note: text({ maxBytes: 5 }),
  observation: { image: packed("screens", u8(16, 16), 2), x: f16(3) },
  reward: f32(),
};

function stepOf(random: TestRandom) {
  const image = new Uint8Array(512).fill(random.below(4));
  const bits = Array.from({ length: 4 }, () => random.below(9));
  return {
    observation: { image, x: [random.below(9), 0, 1] },
    action: random.below(3),
    reward: random.below(5),
    note: `n${random.below(9)}`,
    goal: bits,
    bits,
  };
}

/** Returns a Replay with three writers in the middle of their episodes: one with an nStep rule, one with two lanes, and one with items across episodes. */
function world(random: TestRandom): Replay<typeof SPEC, "a" | "é"> {
  const replay = new Replay({ spec: SPEC, tables: { a: { maxSize: 30, sampler: prioritized(0.6) }, é: { maxSize: 20 } }, seed: 5, logger: null });
  const first = replay.writer({
    items: [
      { table: "a", nStep: 3 },
      { table: "é", length: 2 },
    ],
  });
  const second = replay.writer({ lanes: 2, autoreset: "sameStep", keep: 40, items: [{ table: "a", sequence: { length: 5, burnIn: 1 } }] });
  const third = replay.writer({ across: true, items: [{ table: "é", length: 3 }] });
  for (let k = 0; k < 25; k++) {
    first.append(stepOf(random));
    if (random.below(9) === 0) first.createItem("a", { length: 1, priority: 1 + random.below(4) });
    third.append(stepOf(random));
    const steps = [stepOf(random), stepOf(random)];
    second.append({
      observation: { image: steps.flatMap(({ observation }) => [...observation.image]), x: steps.map(({ observation }) => observation.x) },
      action: steps.map(({ action }) => action),
      reward: steps.map(({ reward }) => reward),
      note: steps.map(({ note }) => note),
      goal: steps.map(({ goal }) => goal),
      bits: steps.map(({ bits }) => bits),
    } as never);
    if (random.below(6) === 0) first.endEpisode({ final: stepOf(random), terminated: random.below(2) === 0 });
    if (random.below(6) === 0) second.endEpisode({ lane: random.below(2), final: stepOf(random), terminated: true } as never);
    if (random.below(6) === 0) third.endEpisode({});
  }
  return replay;
}

const same = (embed: Embed, bytes: Uint8Array) => expect(Buffer.from(embed.snapshot()).equals(Buffer.from(bytes))).toBe(true);

test("replay_discard discards an episode as TypeScript does", () => {
  const random = new TestRandom(1);
  for (let run = 0; run < scaled(30); run++) {
    // Both sides start from a snapshot, which reassigns rows.
    const replay = Replay.restore(new Uint8Array(bytesOf(world(random))), { logger: null });
    const embed = new Embed().load(new Uint8Array(bytesOf(replay)));
    same(embed, new Uint8Array(bytesOf(replay)));
    const [first, second] = [...replay.writers] as never as { discardEpisode(options: object): number }[];
    for (const [i, writer, lane] of [
      [0, first, 0],
      [1, second, 1],
      [0, first, 0],
      [1, second, 0],
    ] as const) {
      expect(embed.did(embed.x.replay_discard(embed.handle, i, lane))).toBe(writer?.discardEpisode({ lane }));
      same(embed, new Uint8Array(bytesOf(replay)));
    }
    expect(embed.x.replay_discard(embed.handle, 2, 0)).toBe(-7);
    expect(embed.error).toMatch(/^UNSUPPORTED: .*across/);
    expect(embed.x.replay_discard(embed.handle, 1, 2)).toBe(-16);
    expect(embed.x.replay_discard(embed.handle, 3, 0)).toBe(-18);
    same(embed, new Uint8Array(bytesOf(replay)));
  }
});

test("replay_truncate truncates open episodes as `writers close` does, and the writers stay usable", () => {
  const random = new TestRandom(2);
  for (let run = 0; run < scaled(30); run++) {
    const bytes = new Uint8Array(bytesOf(world(random)));
    const [embed, closed] = [new Embed().load(bytes), new Embed().load(bytes, "writers close")];
    for (const i of [0, 1, 2]) embed.did(embed.x.replay_truncate(embed.handle, i));
    same(embed, closed.snapshot());
    // No episode is open anymore, so truncating an episode changes nothing.
    for (const i of [2, 0, 1]) embed.did(embed.x.replay_truncate(embed.handle, i));
    same(embed, closed.snapshot());
    const { stepBytes } = embed.columns(-1);
    for (const host of [embed, closed]) {
      const [at = 0] = host.give(new Uint8Array(stepBytes * 12));
      for (const i of [0, 1, 2]) host.did(host.x.replay_append(host.handle, i, at, 12, 0, 0));
    }
    same(embed, closed.snapshot());
    expect(embed.x.replay_truncate(embed.handle, 3)).toBe(-18);
  }
});

test("replay_writer describes each writer", () => {
  const random = new TestRandom(3);
  const embed = new Embed().load(new Uint8Array(bytesOf(world(random))));
  const told = (writer: number) => {
    const at = embed.x.replay_writer(embed.handle, writer) >>> 0;
    const words = Array.from({ length: 12 }, (_, i) => embed.view.getUint32(at + 4 * i, true));
    const name = (from: number) => {
      const [start, length] = [embed.view.getUint32(from, true), embed.view.getUint32(from + 4, true)];
      return new TextDecoder().decode(embed.u8.subarray(start, start + length));
    };
    const [tables = 0, rules = 0, leaves = 0] = [words[8], words[9], words[10]];
    const behind = at + 48 + 16 * tables;
    return {
      head: [...words.slice(0, 6), name(at + 24), ...words.slice(8)],
      tables: Array.from({ length: tables }, (_, i) => [name(at + 48 + 16 * i), embed.view.getFloat64(at + 56 + 16 * i, true)]),
      rules: Array.from({ length: rules }, (_, k) => embed.view.getUint32(behind + 4 * k, true)),
      leaves: Array.from({ length: leaves }, (_, i) => [0, 4, 8, 12].map((offset) => embed.view.getUint32(behind + 4 * rules + 16 * i + offset, true))),
    };
  };
  const tables = told(0).tables;
  expect(tables.map(([name]) => name)).toEqual(["a", "é"]);
  expect(tables[0]?.[1]).toBeGreaterThan(1);
  expect(tables[1]?.[1]).toBe(1);
  // action, bits, goal, note, observation.image, observation.x, reward: half floats are returned as f32.
  const leaves = [
    [0, 1, 4, 0],
    [1, 1, 8, 0],
    [1, 1, 16, 0],
    [0, 1, 12, 0],
    [2, 2, 256, 1],
    [0, 1, 12, 1],
    [0, 1, 4, 0],
  ];
  expect(told(0)).toEqual({ head: [1, 32, 0, 1, 1, 7, "observation", 2, 2, 7, 2], tables, rules: [0, 1], leaves });
  expect(told(1)).toEqual({ head: [2, 40, 0, 3, 1, 7, "observation", 2, 1, 7, 2], tables, rules: [0], leaves });
  expect(told(2)).toEqual({ head: [1, 32, 1, 1, 0, 0, "observation", 2, 1, 7, 2], tables, rules: [1], leaves });
  expect(embed.x.replay_writer(embed.handle, 3)).toBe(0);
  expect(embed.error).toMatch(/^NOT_FOUND: /);
});
