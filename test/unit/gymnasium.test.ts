/** Compares transitions of real Gymnasium data with naive returns, for the first program in the README and for writers with lanes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { memory } from "../../src/files/memory.ts";
import * as reprise from "../../src/index.ts";
import { remoteWriter } from "../../src/remote/index.ts";
import { root } from "../support/core.ts";
import { cartPole, type Episode, type VectorRun } from "../support/gymnasium.ts";
import { broken } from "../support/health.ts";
import { some } from "../support/size.ts";
import { ends } from "./remote/support.ts";

const { f32, i32, prioritized, Replay } = reprise;
const GAMMA = 0.99;
const NS = [1, 2, 3, 4, 5];
const spec = { observation: f32(4), action: i32(), reward: f32() };
type Memory = reprise.Replay<typeof spec, "memory">;

interface Transition {
  readonly observation: readonly number[];
  readonly action: number;
  readonly returns: number;
  readonly discount: number;
  readonly steps: number;
  readonly terminated: number;
  readonly truncated: number;
  readonly next: readonly number[];
}

/** Returns an episode's transitions by definition: one per step, over up to n steps. An open episode has only the transitions that end before its last step. */
function transitionsOf({ observations, actions, rewards, terminated, truncated }: Episode, n: number): Transition[] {
  const ends = terminated || truncated;
  const made: Transition[] = [];
  for (let t = 0; t < actions.length; t++) {
    const steps = Math.min(n, actions.length - t);
    const isLast = t + steps === actions.length;
    // In an open episode, the observation after the last step is not stored yet.
    if (!ends && isLast) continue;
    let returns = 0;
    for (let k = steps - 1; k >= 0; k--) returns = (rewards[t + k] as number) + GAMMA * returns;
    made.push({
      observation: observations[t] as number[],
      action: actions[t] as number,
      returns,
      discount: isLast && terminated ? 0 : GAMMA ** steps,
      steps,
      terminated: Number(isLast && terminated),
      truncated: Number(isLast && !terminated),
      next: observations[t + steps] as number[],
    });
  }
  return made;
}

/** Returns every transition of the table, oldest first, as plain numbers. */
function stored(replay: Memory): Transition[] {
  expect(broken(replay)).toEqual([]);
  const { memory } = replay.tables;
  const batch = memory.transitions({ gamma: GAMMA, dtype: "f64" }).sample(memory.size, { replacement: false });
  const order = [...batch.keys.keys()].sort((a, b) => (batch.keys[a] as number) - (batch.keys[b] as number));
  const four = (column: { data: Float32Array }, i: number) => [...column.data.subarray(4 * i, 4 * i + 4)];
  return order.map((i) => ({
    observation: four(batch.observation, i),
    action: batch.action.data[i] as number,
    returns: batch.returns.data[i] as number,
    discount: batch.discounts.data[i] as number,
    steps: batch.steps.data[i] as number,
    terminated: batch.terminated.data[i] as number,
    truncated: batch.truncated.data[i] as number,
    next: four(batch.nextObservation, i),
  }));
}

function alike(got: readonly Transition[], wanted: readonly Transition[]): void {
  expect(got.length).toBe(wanted.length);
  got.forEach((one, i) => {
    const { returns, discount, observation, next, ...rest } = wanted[i] as Transition;
    expect(one).toMatchObject({ ...rest, observation: [...Float32Array.from(observation)], next: [...Float32Array.from(next)] });
    expect(one.returns).toBeCloseTo(returns, 10);
    expect(one.discount).toBeCloseTo(discount, 12);
  });
}

/** Returns the README's first program with recorded episodes instead of a policy and an environment. Each replacement must find its target. */
function firstProgram(n: number): (parts: object) => Memory {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  let code = (readme.match(/^## First program\n[\s\S]*?^```js\n([\s\S]*?)^```$/m) as RegExpMatchArray)[1] as string;
  const put = (from: string | RegExp, to: string) => {
    expect(code.split(from).length, String(from)).toBe(2);
    code = code.replace(from, to);
  };
  put(/^import .* from "reprise";$/m, "const { f32, i32, prioritized, Replay } = reprise;");
  put("observation: f32(1)", "observation: f32(4)");
  put("nStep: 3", `nStep: ${n}`);
  put("let observation = [0];", "let observation = world.reset();");
  put("t <= 10_000", "t <= world.steps");
  put(/const action = .*;.*your policy/, "const action = world.action();");
  put(/const next = .*;.*your environment/, "const next = world.step();");
  put(/const terminated = .*;.*your time limit/, "const { terminated, truncated } = world.ends();");
  put("reward: terminated ? 1 : 0", "reward: world.reward()");
  put("? [0] : next", "? world.reset() : next");
  return (parts) => new Function(...Object.keys(parts), `${code}; return replay;`)(...Object.values(parts)) as Memory;
}

/** Plays recorded episodes one after another, with the interface of an environment. */
class World {
  readonly steps: number;
  readonly #episodes: readonly Episode[];
  #at = -1;
  #t = 0;

  constructor(episodes: readonly Episode[]) {
    this.#episodes = episodes;
    this.steps = episodes.reduce((sum, { actions }) => sum + actions.length, 0);
  }

  get #episode(): Episode {
    return this.#episodes[this.#at] as Episode;
  }

  reset(): readonly number[] | undefined {
    this.#at++;
    this.#t = 0;
    return this.#episode?.observations[0];
  }

  action(): number | undefined {
    return this.#episode.actions[this.#t];
  }

  step(): readonly number[] | undefined {
    this.#t++;
    return this.#episode.observations[this.#t];
  }

  reward(): number | undefined {
    return this.#episode.rewards[this.#t - 1];
  }

  ends() {
    const { actions, terminated, truncated } = this.#episode;
    const isLast = this.#t === actions.length;
    return { terminated: isLast && terminated, truncated: isLast && truncated };
  }
}

test("the recorded episodes end as terminated, as truncated, and as both", () => {
  const ways = new Set(cartPole.episodes.map(({ terminated, truncated }) => `${terminated} ${truncated}`));
  expect(ways).toEqual(new Set(["true false", "false true", "true true"]));
});

describe("README's first program on Gymnasium's CartPole", () => {
  test.each(some(NS, 2))("produces the expected transitions of %i steps", (n) => {
    const replay = firstProgram(n)({ reprise, world: new World(cartPole.episodes), console: { log: () => {} } });
    alike(
      stored(replay),
      cartPole.episodes.flatMap((episode) => transitionsOf(episode, n)),
    );
  });
});

const AUTORESET = { NEXT_STEP: "nextStep", SAME_STEP: "sameStep", DISABLED: "disabled" } as const;
const tables = { memory: { maxSize: 10_000, sampler: prioritized(0.6) } };

/** Interruptions between two environment steps, after which the Replay must continue from its previous state. */
const MEANWHILE: {
  readonly [name: string]: { make(): Promise<Memory>; go(replay: Memory): Promise<Memory>; writer?(replay: Memory, options: object): Promise<Taker> };
} = {
  nothing: { make: async () => new Replay({ spec, tables }), go: async (replay) => replay },
  "a port": { make: async () => new Replay({ spec, tables }), go: async (replay) => replay, writer: remote },
  "a snapshot": { make: async () => new Replay({ spec, tables }), go: async (replay) => Replay.restore<typeof spec, "memory">(replay.snapshot()) },
  "a crash": {
    make: async () => {
      const dir = memory();
      const replay = await Replay.open({ spec, tables, dir, durability: "manual" });
      return Object.assign(replay, { dir }) as never;
    },
    go: async (replay) => {
      await replay.flush();
      const dir = (replay as never as { dir: ReturnType<typeof memory> }).dir.crash();
      return Object.assign(await Replay.open<typeof spec, "memory">({ dir, durability: "manual" }), { dir }) as never;
    },
  },
};

/** A local or remote writer. */
type Taker = Pick<reprise.Writer, "flush"> & Record<"append" | "appendColumns" | "endEpisode", (...given: never[]) => unknown>;

/** Creates a remote writer with a small limit of data in flight. */
async function remote(replay: Memory, { lanes = 1, ...options }: { readonly lanes?: number } = {}): Promise<Taker> {
  const [here, there] = ends();
  const [writer] = await Promise.all([remoteWriter(there, { spec, lanes }), replay.acceptWriter(here, { ...options, maxInFlight: 7 })]);
  return writer as unknown as Taker;
}

/** Writes the steps of a vector environment, with one lane per environment. */
async function lanesOf(run: VectorRun, n: number, meanwhile: string): Promise<Memory> {
  const { make, go, writer: writerOf } = MEANWHILE[meanwhile] as (typeof MEANWHILE)[string];
  let replay = await make();
  const lanes = run.lanes.length;
  const options = { lanes, autoreset: AUTORESET[run.autoreset_mode], items: [{ table: "memory", nStep: n }] } as const;
  let writer: Taker = writerOf === undefined ? replay.writer(options) : await writerOf(replay, options);
  let observation = run.first;
  for (const [i, { actions, reward, terminated, truncated, observation: next, final_obs, reset }] of run.steps.entries()) {
    const final = run.autoreset_mode === "NEXT_STEP" ? undefined : { observation: run.autoreset_mode === "SAME_STEP" ? final_obs : next };
    const given = final?.observation === undefined ? {} : { final };
    const room = writer.append({ observation, action: actions, reward } as never, { terminated, truncated, ...given } as never);
    if (room !== undefined) await room;
    observation = reset === undefined ? next : next.map((one, lane) => (terminated[lane] || truncated[lane] ? (reset[lane] as number[]) : one));
    if (i % 40 !== 17 || writerOf !== undefined) continue;
    replay = await go(replay);
    writer = replay.writers[0] as reprise.Writer;
  }
  await writer.flush();
  return replay;
}

/** Sorts transitions, because transitions of different lanes are interleaved. */
function sorted(transitions: readonly Transition[]): Transition[] {
  const name = ({ observation, steps }: Transition) => `${[...Float32Array.from(observation)].join()} ${steps}`;
  return [...transitions].sort((a, b) => (name(a) < name(b) ? -1 : 1));
}

describe.each(cartPole.vector)("lanes, autoreset $autoreset_mode", (run) => {
  test.each(
    some(
      Object.keys(MEANWHILE).flatMap((meanwhile) => NS.map((n) => [meanwhile, n] as const)),
      3,
    ),
  )("with %s in between, produce the expected transitions of %i steps", async (meanwhile, n) => {
    const replay = await lanesOf(run, n, meanwhile);
    const wanted = run.lanes.flatMap((episodes) => episodes.flatMap((episode) => transitionsOf(episode, n)));
    alike(sorted(stored(replay)), sorted(wanted));
  });
});

describe("one environment's episodes across a port", () => {
  const wanted = (n: number) => cartPole.episodes.flatMap((episode) => transitionsOf(episode, n));

  test.each(some(NS, 1))("step by step, produce the same transitions of %i steps as a local writer", async (n) => {
    const items = [{ table: "memory", nStep: n }] as const;
    const [replay, home] = [new Replay({ spec, tables, seed: n }), new Replay({ spec, tables, seed: n })];
    const writers: readonly Taker[] = [await remote(replay, { items } as object), home.writer({ items })];
    const digest = ({ tables: { memory } }: Memory) => memory.size > 0 && memory.transitions({ gamma: GAMMA }).sample(32, { beta: 0.4 });
    for (const { observations, actions, rewards, terminated } of cartPole.episodes) {
      for (const writer of writers) {
        for (const [t, action] of actions.entries()) await writer.append({ observation: observations[t], action, reward: rewards[t] } as never);
        await writer.endEpisode({ final: { observation: observations[actions.length] }, terminated } as never);
        await writer.flush();
      }
      expect(digest(replay)).toEqual(digest(home));
    }
    alike(stored(replay), wanted(n));
    alike(stored(home), wanted(n));
  });

  test.each(some(NS, 1))("as columns, produce the expected transitions of %i steps", async (n) => {
    const replay = new Replay({ spec, tables });
    const writer = await remote(replay, { items: [{ table: "memory", nStep: n }] } as object);
    for (const { observations, actions, rewards, terminated, truncated } of cartPole.episodes) {
      const last = (flag: boolean) => actions.map((_, t) => flag && t === actions.length - 1);
      const columns = { observation: observations.slice(0, -1), action: actions, reward: rewards };
      const ends = { terminated: last(terminated), truncated: last(truncated), final: { observation: observations.slice(-1) } };
      await writer.appendColumns(columns as never, ends as never);
    }
    await writer.flush();
    alike(stored(replay), wanted(n));
  });
});
