/**
 * Compares views of transitions with a naive computation on the same steps, for every kind of end, every way to create items and every option. Also compares
 * them with `sample` and nStep, draw by draw.
 */
import { expect, test } from "vitest";
import { bool, f32, f64, i32, prioritized, Replay, u8, uniform } from "../../src/index.ts";
import { broken } from "../support/health.ts";
import { TestRandom } from "../support/random.ts";
import { bytesOf } from "../support/refused.ts";
import { scaled } from "../support/size.ts";

/** A row in the records of the test. */
interface Row {
  readonly id: number;
  readonly reward: number;
  readonly discount: number;
  readonly flag: boolean;
  /** How the episode ends with this row. `truncated` and `terminated` mark final steps. */
  end: "no" | "plain" | "truncated" | "terminated";
}

interface Expected {
  ret: number;
  factor: number;
  steps: number;
  terminated: boolean;
  truncated: boolean;
}

/** Returns the transition of an item's rows, for these roles: Sutton and Barto, 2018, section 7.1, step by step. */
function transitionOf(rows: readonly Row[], n: number, gamma: number, roles: { readonly discount: boolean; readonly terminated: boolean }): Expected {
  let [ret, factor, steps] = [0, 1, 0];
  for (const row of rows.slice(0, Math.min(n, rows.length - 1))) {
    ret += factor * row.reward;
    const alive = roles.terminated && row.flag ? 0 : roles.discount ? row.discount : 1;
    factor *= gamma * alive;
    steps++;
    if (alive === 0) return { ret, factor, steps, terminated: true, truncated: false };
  }
  const { end } = rows[steps] as Row;
  if (end === "terminated") return { ret, factor: 0, steps, terminated: true, truncated: false };
  return { ret, factor, steps, terminated: false, truncated: end !== "no" };
}

const spec = { id: i32(), observation: { seen: f32(2), wide: u8(1100) }, action: i32(), reward: f64(), factor: f32(), over: bool(), mask: u8(3) };
type Step = { -readonly [K in keyof typeof spec]: never };

function stepOf({ id, reward, discount, flag }: Row): Step {
  const wide = new Uint8Array(1100).fill(id & 255);
  return { id, observation: { seen: [id, -id], wide }, action: 2 * id, reward, factor: discount, over: flag, mask: [id & 1, 1, 7] } as unknown as Step;
}

/** The steps of one environment, written to Replays in lock-step. */
class Past {
  readonly rows: Row[] = [];
  readonly byId = new Map<number, number>();
  #open = 0;
  #last = 0;
  readonly #random: TestRandom;
  readonly #rates: { readonly zero: number; readonly flag: number };

  constructor(random: TestRandom, rates: { readonly zero: number; readonly flag: number }) {
    this.#random = random;
    this.#rates = rates;
  }

  row(end: Row["end"] = "no"): Row {
    const random = this.#random;
    const id = ++this.#last;
    const discount = random.next() < this.#rates.zero ? 0 : Math.fround(0.5 + random.next());
    const row = { id, reward: random.next() - 0.5, discount, flag: random.next() < this.#rates.flag, end };
    this.byId.set(id, this.rows.length);
    this.rows.push(row);
    this.#open = end === "no" ? this.#open + 1 : 0;
    return row;
  }

  /** The number of steps in the open episode. */
  get open(): number {
    return this.#open;
  }

  /** Records that the newest step was the last step of its episode. */
  ends(): void {
    (this.rows.at(-1) as Row).end = "plain";
    this.#open = 0;
  }

  /** Returns the rows of an item. */
  item(first: number, length: number): Row[] {
    const at = this.byId.get(first) as number;
    return this.rows.slice(at, at + length);
  }
}

const ROLES = [
  { discount: false, terminated: false },
  { discount: true, terminated: false },
  { discount: false, terminated: true },
  { discount: true, terminated: true },
];

function replayOf(seed: number) {
  const roles = ROLES[seed % 4] as (typeof ROLES)[number];
  const transition = { ...(roles.discount && { discount: "factor" }), ...(roles.terminated && { terminated: "over" }) };
  const sampler = seed % 3 === 0 ? uniform() : prioritized(0.7);
  return new Replay({ spec, tables: { ruled: { maxSize: 40, sampler }, made: { maxSize: 40, sampler } }, transition, seed });
}

type Pair = readonly [ReturnType<typeof replayOf>, ReturnType<typeof replayOf>];
type Table = ReturnType<typeof replayOf>["tables"]["made"];

/** Compares the view of one Replay with the rows, and with `sample` of the other Replay. */
function compare(pair: Pair, name: "ruled" | "made", past: Past, random: TestRandom, seed: number): number {
  const [own, other] = pair.map((replay) => replay.tables[name]) as [Table, Table];
  const roles = ROLES[seed % 4] as (typeof ROLES)[number];
  const gamma = random.pick([0, 0.5, 0.9, 1]);
  const n = random.pick([undefined, 1, 2, 3]);
  const dtype = random.pick([undefined, "f32", "f64"] as const);
  const count = 1 + random.below(20);
  let view: ReturnType<typeof viewOf>;
  const viewOf = () => own.transitions({ gamma, n, dtype, next: ["action", "id", "mask"] });
  try {
    view = viewOf();
    if (n !== undefined) view.batch(1);
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError);
    return 0;
  }
  const into = random.below(2) === 0 ? { into: view.batch(count, { beta: 0.4 }) } : {};
  let batch: ReturnType<typeof viewOf> extends never ? never : Awaited<ReturnType<typeof view.sample>> & { weights?: { data: Float32Array | Float64Array } };
  try {
    batch = view.sample(count, { ...into, beta: 0.4 });
  } catch (error) {
    expect(String(error)).toMatch(/RangeError: n must be <= /);
    return 0;
  }
  if ("into" in into) expect(batch).toBe(into.into);
  const float = (x: number) => (dtype === "f64" ? x : Math.fround(x));
  const { info } = other.sample(count, { length: 2, beta: 0.4 });
  expect([...batch.keys]).toEqual([...info.keys]);
  expect([...(batch.weights as { data: Float32Array }).data]).toEqual([...info.weights].map(float));
  expect(batch.count).toBe(count);
  for (let i = 0; i < count; i++) {
    const { length = 0 } = own.explain(batch.keys[i] as number);
    const first = batch.id.data[i] as number;
    const rows = past.item(first, length);
    const expected = transitionOf(rows, n ?? 1000, gamma, roles);
    const last = rows[expected.steps] as Row;
    const at = `seed ${seed}, n ${n}, gamma ${gamma}, rows ${JSON.stringify(rows)}`;
    expect(
      {
        ret: batch.returns.data[i],
        factor: batch.discounts.data[i],
        steps: batch.steps.data[i],
        terminated: batch.terminated.data[i] === 1,
        truncated: batch.truncated.data[i] === 1,
      },
      at,
    ).toEqual({ ...expected, ret: float(expected.ret), factor: float(expected.factor) });
    const { seen, wide } = batch.observation;
    expect([seen.data[2 * i], seen.data[2 * i + 1], wide.data[1100 * i + 1099], batch.action.data[i]], at).toEqual([first, -first, first & 255, 2 * first]);
    const next = batch.nextObservation;
    const found = [next.seen.data[2 * i], next.wide.data[1100 * i], batch.nextAction.data[i], batch.nextId.data[i], batch.nextMask.data[3 * i + 2]];
    expect(found, at).toEqual([last.id, last.id & 255, 2 * last.id, last.id, 7]);
  }
  return 1;
}

test("a transition view matches a naive computation for every kind of item and end", () => {
  let compared = 0;
  for (let seed = 1; seed <= scaled(40, 2); seed++) {
    const random = new TestRandom(seed);
    let pair: Pair = [replayOf(seed), replayOf(seed)];
    // Ends marked by a leaf are rare, because other kinds of ends would not occur otherwise.
    const past = new Past(random, { zero: 0.05, flag: 0.05 });
    const nStep = 1 + random.below(4);
    const makes = random.below(2) === 0;
    const writers = pair.map((replay) => replay.writer(makes ? {} : { items: [{ table: "ruled", nStep, priority: 2 }] }));
    const name = makes ? "made" : "ruled";
    for (let act = 0; act < 120; act++) {
      const what = random.below(10);
      if (what < 6 || past.open === 0) {
        const step = stepOf(past.row());
        for (const writer of writers) writer.append(step);
      } else if (what === 6 && makes) {
        for (const writer of writers) writer.endEpisode();
        past.ends();
      } else if (what < 8) {
        const terminated = random.below(2) === 0;
        const final = stepOf(past.row(terminated ? "terminated" : "truncated"));
        for (const writer of writers) writer.endEpisode({ final, terminated });
      }
      const have = Math.min(...writers.map((writer) => writer.length));
      if (makes && have > 1 && random.below(2) === 0) {
        const item = { length: 2 + random.below(Math.min(have - 1, 6)), priority: 1 + random.next() };
        for (const writer of writers) writer.createItem("made", item);
      }
      if (pair[0].tables[name].size > 0 && random.below(3) === 0) compared += compare(pair, name, past, random, seed);
      if (act === 80) {
        expect(broken(pair[0])).toEqual([]);
        // After a restore from a snapshot, everything is the same, including the roles.
        const restored = Replay.restore(bytesOf(pair[0])) as unknown as Pair[0];
        writers[0] = restored.writers[0] as never;
        pair = [restored, pair[1]];
      }
    }
    expect(compared).toBeGreaterThan(10 * seed);
  }
});
