/** Compares PFRL buffers with naive twins: makes the same random steps, ends and stops of several environments on both, and compares all visible state. */
import { describe, expect, test } from "vitest";
import {
  EpisodicReplayBuffer,
  PrioritizedEpisodicReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
  type SaveTarget,
  type Transition,
} from "../../../src/pfrl/index.ts";
import { type MemoryDirectory, memory } from "../../../src/storage/index.ts";
import { expectAlike } from "../../support/alike.ts";
import { moduleOf } from "../../support/core.ts";
import { storeOf } from "../../support/pfrl.ts";
import { TestRandom } from "../../support/random.ts";
import { each, scaled } from "../../support/size.ts";
import { TwinEpisodes, TwinTransitions } from "./twin-pfrl.ts";

const STEPS = scaled(240, 16);
const ENVS: readonly unknown[] = [0, "a", { env: 1 }, Number.NaN, null];
/** The build of the core that has assertions. */
const module = moduleOf("debug");

/** Forms of a state that cover every storage location: inline in a row, shared, in frames, and outside the row. */
const FORMS: { readonly [form: string]: (id: number) => unknown } = {
  number: (id) => id,
  floats: (id) => Float32Array.of(id, -id),
  shared: (id) => new Float64Array(20).fill(id),
  wide: (id) => new Float32Array(300).fill(id),
  frames: (id) => Array.from({ length: 3 }, (_, k) => new Uint16Array(40).fill((id + k) & 0xffff)),
  object: (id) => `state ${id}`,
  nested: (id) => ({ place: [id, id + 1], image: new Uint8Array(70).fill(id), name: `n${id}` }),
};

const transition = (form: string, id: number, terminal: boolean, env: unknown) => {
  const state = FORMS[form] as (id: number) => unknown;
  // The omitted fields differ between steps.
  const more = id % 3 === 0 ? { nextAction: -id } : {};
  const extras = id % 4 === 1 ? { tag: `t${id}`, logp: -id / 8 } : id % 4 === 2 ? { logp: null } : {};
  const next = terminal && id % 2 === 0 ? {} : { nextState: state(id + 1) };
  return { state: state(id), action: id, reward: id / 4, ...next, ...more, ...extras, isStateTerminal: terminal, envId: env };
};

/** Returns the stored form of a step. */
function stored(form: string, id: number, terminals: ReadonlySet<number>): Transition {
  const { envId: _, nextState = null, nextAction = null, ...rest } = transition(form, id, terminals.has(id), 0) as { [name: string]: unknown };
  return { ...rest, nextState, nextAction } as unknown as Transition;
}

interface Run {
  readonly random: TestRandom;
  readonly terminals: Set<number>;
  /** Appends the next step, or stops an episode. */
  step(append: (env: unknown, id: number, terminal: boolean) => void, stop: (env: unknown) => void): void;
}

function runOf(seed: number, length: number): Run {
  const random = new TestRandom(seed);
  const terminals = new Set<number>();
  let id = 0;
  return {
    random,
    terminals,
    step(append, stop) {
      const env = random.pick(ENVS);
      if (random.next() < 0.08) stop(env);
      else {
        id++;
        const terminal = random.next() < 1 / length;
        if (terminal) terminals.add(id);
        append(env, id, terminal);
      }
    },
  };
}

function liveRows(buffer: object): number {
  const { engine } = storeOf(buffer).contents?.steps ?? {};
  return engine === undefined ? 0 : engine.core.x.pool_live(engine.pool);
}

const idsOf = (windows: Map<unknown, readonly Transition[]>) => new Map([...windows].map(([env, steps]) => [env, steps.map(({ action }) => action)]));

let files = 0;
/** Returns a buffer after a round trip through a file. */
function reloaded<B extends { save(file: SaveTarget): void; load(file: SaveTarget): void }>(directory: MemoryDirectory, from: B, to: B): B {
  const file = { directory, file: `f${files++}` };
  from.save(file);
  to.load(file);
  return to;
}

describe.each([
  [1, 1],
  [1, 3],
  [7, 1],
  [7, 2],
  [23, 4],
  [null, 3],
] as const)("n-step transitions, capacity %s, %s steps", (capacity, numSteps) => {
  test.each(each(6, Object.keys(FORMS), numSteps + (capacity ?? 0)))("equal the twin's for states of the form %s", (form) => {
    const run = runOf(3 + numSteps, 6);
    const twin = new TwinTransitions(capacity ?? Number.POSITIVE_INFINITY, numSteps);
    const directory = memory();
    const make = (own = capacity) => [new ReplayBuffer(own, numSteps, { module }), new PrioritizedReplayBuffer(own, { numSteps, module })] as const;
    const buffers = make();
    for (let i = 0; i < STEPS; i++) {
      run.step(
        (env, id, terminal) => {
          twin.append(env, { id, terminal });
          for (const buffer of buffers) buffer.append(transition(form, id, terminal, env));
        },
        (env) => {
          twin.stop(env);
          for (const buffer of buffers) buffer.stopCurrentEpisode(env);
        },
      );
      for (const buffer of buffers) {
        expect(buffer.length).toBe(twin.items.length);
        expect(liveRows(buffer)).toBe(twin.held);
        if (i % 40 !== 0) continue;
        expectAlike(
          [...buffer.items()],
          twin.items.map((item) => item.map((id) => stored(form, id, run.terminals))),
        );
        expect(idsOf(buffer.running())).toEqual(twin.windows);
      }
    }
    // Saves the buffers, and loads them into buffers with the same capacity, without a limit, and with a capacity of 5.
    for (const [k, own] of [capacity, null, 5].entries()) {
      for (const [i, fresh] of make(own as typeof capacity).entries()) {
        const buffer = reloaded(directory, buffers[i] as ReplayBuffer, fresh as ReplayBuffer);
        expectAlike(
          [...buffer.items()],
          twin.items.map((item) => item.map((id) => stored(form, id, run.terminals))),
        );
        if (k > 0) continue;
        const n = Math.min(5, buffer.length);
        expect(buffer.sample(n, { form: "list" })).toEqual((buffers[i] as ReplayBuffer).sample(n, { form: "list" }));
      }
    }
  });
});

describe.each([1, 6, 30, null])("episodes, capacity %s", (capacity) => {
  test.each(each(6, Object.keys(FORMS), capacity ?? 2))("equal the twin's for states of the form %s", (form) => {
    const run = runOf(11, 5);
    const limit = capacity ?? Number.POSITIVE_INFINITY;
    const twins = [new TwinEpisodes(limit, true), new TwinEpisodes(limit, false)] as const;
    const directory = memory();
    const make = () => [new EpisodicReplayBuffer(capacity, { module }), new PrioritizedEpisodicReplayBuffer(capacity, { module })] as const;
    const buffers = make();
    for (let i = 0; i < STEPS; i++) {
      run.step(
        (env, id, terminal) => {
          for (const twin of twins) twin.append(env, { id, terminal });
          for (const buffer of buffers) buffer.append(transition(form, id, terminal, env));
        },
        (env) => {
          for (const twin of twins) twin.stop(env);
          for (const buffer of buffers) buffer.stopCurrentEpisode(env);
        },
      );
      for (const [k, buffer] of buffers.entries()) {
        const twin = twins[k] as TwinEpisodes;
        expect([buffer.length, buffer.nEpisodes]).toEqual([twin.memory.length, twin.episodes.length]);
        expect(liveRows(buffer)).toBe(twin.held);
        if (i % 40 !== 0) continue;
        expectEpisodes(buffer, twin, form, run.terminals);
        expect(idsOf(buffer.running())).toEqual(twin.windows);
      }
    }
    for (const [k, fresh] of make().entries()) {
      const buffer = reloaded(directory, buffers[k] as EpisodicReplayBuffer, fresh as EpisodicReplayBuffer);
      expectEpisodes(buffer, twins[k] as TwinEpisodes, form, run.terminals);
      const n = Math.min(3, buffer.nEpisodes);
      if (n > 0) expect(buffer.sampleEpisodes(n, 2, { form: "list" })).toEqual((buffers[k] as EpisodicReplayBuffer).sampleEpisodes(n, 2, { form: "list" }));
      const m = Math.min(4, buffer.length);
      expect(buffer.sample(m, { form: "list" })).toEqual((buffers[k] as EpisodicReplayBuffer).sample(m, { form: "list" }));
    }
  });
});

function expectEpisodes(
  buffer: EpisodicReplayBuffer | PrioritizedEpisodicReplayBuffer,
  twin: TwinEpisodes,
  form: string,
  terminals: ReadonlySet<number>,
): void {
  const of = (id: number) => stored(form, id, terminals);
  expectAlike(
    [...buffer.episodes()],
    twin.episodes.map((episode) => episode.map(of)),
  );
  expectAlike([...buffer.items()].flat(), twin.memory.map(of));
}
