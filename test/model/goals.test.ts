/**
 * Compares relabeling draws with a naive computation on the same steps. The cases include lanes, open episodes, eviction, deletes, items that a draw removes,
 * limiters, every kind of leaf, and a copy restored from a snapshot.
 */
import { expect, test } from "vitest";
import { ABOUT_KEY } from "../../src/base/abi.ts";
import { bf16, f16, f32, f64, fifo, i32, lifo, packed, prioritized, Replay, sampleToInsertRatio, shared, type Table, u8, uniform } from "../../src/index.ts";
import { engineOf } from "../../src/replay/replay.ts";
import { moduleOf } from "../support/core.ts";
import { broken } from "../support/health.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf } from "../support/refused.ts";
import { scaled } from "../support/size.ts";

const SIZE = 20;
/** The dtype and shape of the goal and the achieved goal, for each kind of storage. */
const FORMS = [
  () => [f32(2), f32(2)],
  () => [f64(), f64()],
  () => [u8(400), u8(400)],
  () => [shared("goals", u8(SIZE, SIZE)), shared("goals", u8(SIZE, SIZE))],
  () => [packed("goals", u8(SIZE, SIZE)), u8(SIZE, SIZE)],
  () => [f16(3), f16(3)],
  () => [f16(200), shared("half", f16(200))],
  () => [bf16(2), bf16(2)],
  () => [shared("stack", u8(4), 2), shared("stack", u8(4), 2)],
] as const;

// biome-ignore lint/suspicious/noExplicitAny: the spec is another one in each world
type Loose = any;
const leavesOf = (form: number): Loose => (FORMS[form] as (typeof FORMS)[number])();

/** Returns the values of a leaf that encode a number. Half floats represent these values exactly. */
const numbersOf = (leaf: { readonly shape: readonly number[]; readonly stack?: number }, id: number): number[] | number => {
  const size = sizeOf(leaf);
  const digits = [id % 16, Math.floor(id / 16) % 16, Math.floor(id / 256)];
  return size === 1 ? id : Array.from({ length: size }, (_, i) => (size === 2 ? ([id % 128, Math.floor(id / 128)][i] as number) : (digits[i % 3] as number)));
};
/** Returns the number encoded by the i-th value of an array. */
const idIn = (data: ArrayLike<number>, i: number, size: number): number => {
  const at = i * size;
  if (size === 1) return data[at] as number;
  if (size === 2) return (data[at] as number) + 128 * (data[at + 1] as number);
  return (data[at] as number) + 16 * (data[at + 1] as number) + 256 * (data[at + 2] as number);
};

interface Row {
  readonly id: number;
  readonly episode: number;
  readonly reward: number;
  readonly discount: number;
  end: "no" | "plain" | "truncated" | "terminated";
  /** Marks a final step with an omitted observation, which is all zeros. */
  isUnknown?: boolean;
}

/** Returns the number encoded by the values of a row. */
const shownId = ({ id, isUnknown }: Row) => (isUnknown ? 0 : id);

/** Returns the reward and the end of an episode for a goal. */
const rewardOf = (achieved: number, goal: number) => -Math.abs(achieved - goal) / 8;
const endsAt = (achieved: number, goal: number) => (achieved - goal) % 3 === 0;

interface World {
  readonly form: number;
  readonly strategy: "future" | "final" | "episode";
  readonly share: number;
  readonly n: number | undefined;
  readonly dtype: "f32" | "f64";
  readonly reward: "own" | "stored" | "both";
  readonly discounts: boolean;
  readonly lanes: number;
  readonly table: object;
  readonly rules: readonly object[];
}

function worldOf(random: TestRandom, seed: number): World {
  const sampler = random.pick([uniform(), prioritized(0.6), fifo(), lifo()]);
  const limits = random.pick([{}, {}, { maxTimesSampled: 3 }, { maxSteps: 70 }, { rateLimiter: sampleToInsertRatio(4, 1, 60), maxPending: 40 }]);
  return {
    form: seed % FORMS.length,
    strategy: random.pick(["future", "final", "episode"]),
    share: random.pick([0, 0.3, 0.8, 1]),
    n: random.pick([undefined, 1, 3]),
    dtype: random.pick(["f32", "f64"]),
    reward: random.pick(["own", "stored", "both"]),
    discounts: random.below(3) === 0,
    lanes: random.pick([1, 1, 3]),
    table: { maxSize: random.pick([25, 60]), sampler, remover: sampler.kind === "lifo" ? lifo() : fifo(), ...limits },
    rules: random.pick([
      [{ table: "t", nStep: 3 }],
      [{ table: "t", length: 4, stride: 3 }],
      [
        { table: "t", length: 2 },
        { table: "t", length: 5 },
      ],
      [],
    ]),
  };
}

class Past {
  readonly rows = new Map<number, Row>();
  readonly byEpisode = new Map<number, Row[]>();
  #last = 0;
  #episodes = 0;
  readonly #open: number[];
  readonly #random: TestRandom;
  readonly #world: World;

  constructor(world: World, random: TestRandom) {
    this.#open = new Array(world.lanes).fill(0);
    this.#random = random;
    this.#world = world;
  }

  steps(lane: number): number {
    return this.byEpisode.get(this.#open[lane] as number)?.length ?? 0;
  }

  row(lane: number, end: Row["end"] = "no"): Row {
    const random = this.#random;
    if (this.#open[lane] === 0) this.#open[lane] = ++this.#episodes;
    const episode = this.#open[lane] as number;
    const discount = this.#world.discounts ? random.pick([1, 0.5, 0.25, 0]) : 1;
    const row: Row = { id: ++this.#last, episode, reward: random.below(64) / 8, discount, end };
    this.rows.set(row.id, row);
    this.byEpisode.set(episode, [...(this.byEpisode.get(episode) ?? []), row]);
    if (end !== "no") this.#open[lane] = 0;
    return row;
  }

  ends(lane: number): void {
    const rows = this.byEpisode.get(this.#open[lane] as number);
    if (rows !== undefined) (rows.at(-1) as Row).end = "plain";
    this.#open[lane] = 0;
  }

  /** Returns the rows of an item. */
  item(first: number, length: number): Row[] {
    const row = this.rows.get(first) as Row;
    const rows = this.byEpisode.get(row.episode) as Row[];
    const at = rows.indexOf(row);
    return rows.slice(at, at + length);
  }
}

const viewOf = (t: Table, world: World, seen?: (m: object) => void): Loose => {
  const { n, dtype, strategy, share, form } = world;
  const [goalLeaf] = leavesOf(form);
  const size = sizeOf(goalLeaf);
  const ids = (column: { data: ArrayLike<number> }, m: number) => Array.from({ length: m }, (_, i) => idIn(column.data, i, size));
  const pairs = <T>(of: (achieved: number, goal: number) => T) =>
    ((steps: { achieved: { data: ArrayLike<number> }; goal: { data: ArrayLike<number> }; rows: Uint32Array }): T[] => {
      seen?.(steps);
      const goals = ids(steps.goal, steps.rows.length);
      return ids(steps.achieved, steps.rows.length).map((achieved, i) => of(achieved, goals[i] as number));
    }) as never;
  return (t as Table<unknown, unknown>).transitions({
    gamma: 0.5,
    n,
    dtype,
    next: ["twin"],
    relabel: {
      goal: "observation.desired",
      achieved: "observation.achieved",
      strategy,
      share,
      reward: world.reward === "stored" ? "stored" : pairs(rewardOf),
      ...(world.reward === "both" && { terminated: pairs(endsAt) }),
    },
  } as never);
};

/** Returns the transition of an item's rows, as stored or for another goal. */
function expectedOf(rows: readonly Row[], world: World, goal: number | undefined) {
  const own = goal !== undefined && world.reward !== "stored";
  const ends = own && world.reward === "both";
  let [ret, factor, steps, terminated] = [0, 1, 0, false];
  let stored = 0;
  const limit = Math.min(world.n ?? 1e9, rows.length - 1);
  for (let alive = 1; stored < limit && alive !== 0; stored++) alive = (rows[stored] as Row).discount;
  const isOver = (rows[stored - 1] as Row).discount === 0 || (rows[stored] as Row).end === "terminated";
  for (const row of rows.slice(0, stored)) {
    const achieved = shownId(rows[steps + 1] as Row);
    ret += factor * (own ? rewardOf(achieved, goal) : row.reward);
    factor *= 0.5 * (ends && row.discount === 0 ? 1 : row.discount);
    steps++;
    if (ends && endsAt(achieved, goal)) {
      terminated = true;
      break;
    }
  }
  if (!ends) terminated = isOver;
  const hasEnded = isOver || (rows[stored] as Row).end !== "no";
  return { ret, factor: terminated ? 0 : factor, steps, terminated, truncated: hasEnded && !terminated };
}

type AnyReplay = ReturnType<typeof replayOf>;

/** Returns the keys of all live items, oldest first. */
function keysOf(replay: AnyReplay, t: Table): number[] {
  const { core } = engineOf(replay);
  const at = core.scratch(4 * t.size + 4);
  const count = core.x.table_slots(t.handle, 0, t.size, at);
  return Array.from(core.u32.slice(at / 4, at / 4 + count), (slot) => core.x.table_about(t.handle, slot, ABOUT_KEY));
}

/** Returns the rows of all live items, by their keys. */
function itemsOf(replay: AnyReplay, past: Past): Map<number, readonly Row[]> {
  const t = replay.tables.t as Table;
  const keys = keysOf(replay, t);
  if (keys.length === 0) return new Map();
  const { steps, count } = t.get(keys, { columns: { id: { leaf: "id", at: 0 } } } as Loose) as Loose;
  expect(count).toBe(keys.length);
  return new Map(keys.map((key, i) => [key, past.item(steps.id.data[i] as number, t.explain(key).length as number)]));
}

const heldBy = (items: Map<number, readonly Row[]>, episode: number): Row[] =>
  [...new Set([...items.values()].flat())].filter((row) => row.episode === episode && !row.isUnknown).sort((a, b) => a.id - b.id);

/** Compares one draw with the naive computation. Returns how many transitions were checked. */
function check(replay: AnyReplay, view: Loose, world: World, past: Past, random: TestRandom, at: string): number {
  const before = itemsOf(replay, past);
  const { pending } = (replay.tables.t as Table).stats();
  const count = 1 + random.below(20);
  const snapshot = bytesOf(replay);
  const copy = Replay.restore(snapshot, { logger: null }) as AnyReplay;
  const options = { ...(random.below(2) === 0 && { beta: 0.5 }), ...(random.below(3) === 0 && { into: view.batch(count) }) };
  if ("into" in options) delete (options as Loose).beta;
  let batch: Loose;
  try {
    batch = view.sample(count, options);
  } catch (error) {
    expect(`${(error as Loose).code} ${error}`).toMatch(/EMPTY|RATE_LIMITED|TOO_FEW|RangeError: n must be <= /);
    expect(bytesOf(replay).equals(snapshot)).toBe(true);
    return 0;
  }
  expect(broken(replay), at).toEqual([]);
  // After derived state is rebuilt, the goals are the same.
  const { into: _, ...others } = options as Loose;
  expect(
    viewOf(copy.tables.t as Table, world)
      .sample(count, others)
      .toArray(),
    at,
  ).toEqual(batch.toArray());
  expect(bytesOf(copy).equals(bytesOf(replay)), at).toBe(true);
  const after = itemsOf(replay, past);
  const unable = Array.from({ length: count }, (_, i) => {
    const rows = before.get(batch.keys[i]) ?? after.get(batch.keys[i]) ?? [];
    return Number(rows[expectedOf(rows, { ...world, reward: "stored" }, undefined).steps]?.isUnknown ?? false);
  }).reduce((a, b) => a + b, 0);
  const flags = [...batch.relabelled.data.subarray(0, count)];
  expect(
    flags.reduce((a: number, b: number) => a + b, 0),
    at,
  ).toBe(Math.min(Math.floor(world.share * count + 1e-9), flags.length - unable));
  const float = (x: number) => (world.dtype === "f64" ? x : Math.fround(x));
  const [leaf] = leavesOf(world.form);
  const size = sizeOf(leaf);
  const idAt = (column: { data: ArrayLike<number> }, i: number) => idIn(column.data, i, size);
  for (let i = 0; i < count; i++) {
    const rows = before.get(batch.keys[i]) ?? after.get(batch.keys[i]) ?? [];
    const first = rows[0] as Row;
    expect(batch.twin.data[i], at).toBe(first.id);
    let goal: number | undefined;
    const shown = idAt(batch.observation.desired, i);
    if (flags[i] === 1) {
      goal = shown;
      const held = heldBy(before, first.episode);
      // A waiting item may have been inserted with this draw.
      const all = heldBy(new Map([...before, ...after]), first.episode);
      const later = (list: readonly Row[]) => list.filter((row) => (world.strategy === "episode" ? row !== list[0] : row.id > first.id)).map(({ id }) => id);
      // The item was inserted with one draw, and left immediately or with another draw.
      const waited = pending === 0 ? [] : (past.byEpisode.get(first.episode) as readonly Row[]).filter((row) => !row.isUnknown);
      const allowed = [...(world.strategy === "final" ? [held.at(-1)?.id, all.at(-1)?.id] : [...later(held), ...later(all)]), ...later(waited)];
      expect(allowed, `${at}: the goal of ${first.id} is ${goal}`).toContain(goal);
    } else expect(shown, at).toBe(desiredOf(first.id));
    const expected = expectedOf(rows, world, goal);
    const last = rows[expected.steps] as Row;
    expect(
      {
        ret: batch.returns.data[i],
        factor: batch.discounts.data[i],
        steps: batch.steps.data[i],
        terminated: batch.terminated.data[i] === 1,
        truncated: batch.truncated.data[i] === 1,
        last: batch.nextTwin.data[i],
        nextGoal: idAt(batch.nextObservation.desired, i),
        achieved: [idAt(batch.observation.achieved, i), idAt(batch.nextObservation.achieved, i)],
      },
      `${at}: ${JSON.stringify({ goal, rows })}`,
    ).toEqual({
      ...expected,
      ret: float(expected.ret),
      factor: float(expected.factor),
      last: shownId(last),
      nextGoal: goal ?? (last.isUnknown ? 0 : desiredOf(last.id)),
      achieved: [first.id, shownId(last)],
    });
  }
  return count;
}

/** Returns steps of lanes as columns. */
function columnsOf(steps: readonly Loose[]): Loose {
  const [first] = steps;
  if (typeof first !== "object" || Array.isArray(first)) return steps;
  return Object.fromEntries(Object.keys(first).map((key) => [key, columnsOf(steps.map((step) => step[key]))]));
}

const desiredOf = (id: number) => 1900 - (id % 900);
const sizeOf = (leaf: { shape: readonly number[]; stack?: number }) => leaf.shape.reduce((a, b) => a * b, leaf.stack ?? 1);

function replayOf(world: World, seed: number) {
  const [desired, achieved] = leavesOf(world.form);
  const spec = { observation: { desired, achieved, seen: f32(2) }, action: i32(), reward: f64(), factor: f32(), id: i32(), twin: i32() };
  return new Replay({
    spec,
    tables: { t: world.table as Loose },
    transition: { discount: "factor" },
    seed,
    logger: null,
    ...(seed % 4 === 0 && { module: moduleOf("debug") }),
  } as Loose);
}

function play(seed: number, rounds: number): number {
  const random = new TestRandom(seed);
  const world = worldOf(random, seed);
  const replay = replayOf(world, seed);
  const past = new Past(world, random);
  const t = replay.tables.t as Table;
  const many = world.lanes > 1;
  const writer = replay.writer({ keep: 8, items: world.rules, ...(many && { lanes: world.lanes, autoreset: "disabled" }) } as Loose) as Loose;
  const [desired, achieved] = leavesOf(world.form);
  const stepOf = (row: Row) => ({
    observation: { desired: numbersOf(desired, desiredOf(row.id)), achieved: numbersOf(achieved, row.id), seen: [row.id, -row.id] },
    action: row.id,
    reward: row.reward,
    factor: row.discount,
    id: row.id,
    twin: row.id,
  });
  const lane = (i: number) => (many ? { lane: i } : {});
  let view = viewOf(t, world);
  let looked = 0;
  for (let round = 0; round < rounds; round++) {
    const what = random.below(10);
    try {
      if (what < 5) {
        for (let count = 1 + random.below(6); count > 0; count--) {
          const rows = Array.from({ length: world.lanes }, (_, i) => past.row(i));
          writer.append(many ? columnsOf(rows.map(stepOf)) : stepOf(rows[0] as Row));
          if (random.below(12) !== 0) continue;
          const i = random.below(world.lanes);
          const how = random.pick(["terminated", "truncated", ...(world.rules.some((rule) => "nStep" in rule) ? [] : ["plain"])]) as Row["end"];
          if (how === "plain") {
            past.ends(i);
            writer.endEpisode(lane(i));
          } else if (how === "terminated" && random.below(3) === 0) {
            past.row(i, how).isUnknown = true;
            writer.endEpisode({ ...lane(i), terminated: true });
          } else writer.endEpisode({ ...lane(i), final: stepOf(past.row(i, how)), terminated: how === "terminated" });
        }
      } else if (what < 7) {
        const i = random.below(world.lanes);
        const steps = Math.min(past.steps(i), 8);
        if (steps > 1) writer.createItem("t", { ...lane(i), length: 2 + random.below(steps - 1), priority: 1 + random.below(4) });
      } else if (what === 7) {
        const keys = keysOf(replay, t);
        if (keys.length > 0) t.delete(Array.from({ length: 1 + random.below(6) }, () => random.pick(keys)));
      }
    } catch (error) {
      // The twin now has one more step than the table, so this world cannot continue.
      expect((error as Loose).code, String(error)).toBe("RATE_LIMITED");
      return looked;
    }
    const at = `seed ${seed}, round ${round}, ${JSON.stringify(world)}`;
    expect(broken(replay), at).toEqual([]);
    if (what < 8) continue;
    looked += check(replay, view, world, past, random, at);
    if (random.below(8) === 0) view = viewOf(t, world);
  }
  return looked;
}

test("relabeling draws match a naive computation on the same steps, before and after a restore", () => {
  let looked = 0;
  for (let seed = 0; seed < scaled(200, 8); seed++) looked += play(seed, 60);
  expect(looked).toBeGreaterThan(scaled(5_000, 200));
});
