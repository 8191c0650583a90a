/** Creates Replays of every interesting kind, and makes endless series of calls on them, for tests that compare two Replays. */
import {
  f32,
  i32,
  lifo,
  minHeap,
  packed,
  prioritized,
  queueLimiter,
  Replay,
  SELECTORS,
  type Spec,
  sampleToInsertRatio,
  shared,
  type TableOptions,
  text,
  u8,
  uniform,
} from "../../src/index.ts";
import { SELECTOR_KINDS, selectorOf } from "../../src/schema/selector.ts";
import type { Writer } from "../../src/tables/writer.ts";
import type { TestRandom } from "./random.ts";
import { each } from "./size.ts";

export type AnyReplay = Replay<Spec, string>;

export interface Scene {
  make(module?: WebAssembly.Module): AnyReplay;
  /** Makes one call that changes something, chosen with `random`. The limiter may reject it. */
  act(replay: AnyReplay, random: TestRandom): void;
}

function scene(
  spec: Spec,
  tables: { readonly [name: string]: TableOptions },
  open: (replay: AnyReplay) => void,
  step: (random: TestRandom, lanes: number) => unknown,
): Scene {
  const first = { v: { leaf: "x" in spec ? "x" : "r", at: 0 } };
  return {
    make(module) {
      const replay: AnyReplay = new Replay({ spec, tables, seed: 11, module });
      open(replay);
      return replay;
    },
    act(replay, random) {
      const writer = replay.writers[random.below(replay.writers.length)] as Writer<Spec, string>;
      const table = random.pick(Object.values(replay.tables));
      const dice = random.next();
      const lane = random.below(writer.options.lanes);
      if (dice < 0.6) unlessFull(() => writer.append(step(random, writer.options.lanes)));
      else if (dice < 0.75) {
        const length = 1 + random.below(4);
        if (writer.options.lanes === 1 && length <= writer.length)
          unlessFull(() => unlessFinal(() => writer.createItem(table, { length, lane, priority: random.below(5) })));
      } else if (dice < 0.8) {
        if (writer.options.items.some(({ nStep }) => nStep > 0)) return;
        writer.endEpisode({ lane });
      } else if (dice < 0.9) {
        const { info, count } = table.sample(4, { length: 1, columns: first });
        table.updatePriorities(
          info.keys.subarray(0, count),
          Array.from({ length: count }, () => 3 * random.next()),
        );
      } else if (dice < 0.98) table.sample(3, { length: 2, offset: "uniform", columns: first });
      else table.delete([writer.lastKey(table)]);
    },
  };
}

function unlessFull(call: () => unknown): void {
  try {
    call();
  } catch (error) {
    if ((error as { code?: string }).code !== "RATE_LIMITED") throw error;
  }
}

/** Makes a call that may fail only because an item cannot begin with a final step. */
function unlessFinal(call: () => unknown): void {
  try {
    call();
  } catch (error) {
    if (!(error as Error).message.includes("final step")) throw error;
  }
}

/**
 * Returns a scene of transitions: episodes end with the final observation, passed in every possible way, and the next step of each lane may be the final step.
 */
function transitions(tables: { readonly [name: string]: TableOptions }, open: (replay: AnyReplay) => void): Scene {
  const spec = { x: i32(), observation: f32(2), action: i32(), reward: f32() };
  const steps = (random: TestRandom, n: number) => {
    const x = Array.from({ length: n }, () => random.below(1e6));
    return { x, observation: new Float32Array(x.flatMap((v) => [v, -v])), action: x.map((v) => v % 3), reward: x.map((v) => v / 8) };
  };
  const single = (random: TestRandom) => {
    const { x, observation, action, reward } = steps(random, 1);
    return { x: x[0], observation, action: action[0], reward: reward[0] };
  };
  const { make, act } = scene(spec, tables, open, (random, lanes) => (lanes === 1 ? single(random) : steps(random, lanes)));
  const flags = (random: TestRandom, n: number) => Array.from({ length: n }, () => random.below(6) === 0);
  return {
    make,
    act(replay, random) {
      const dice = random.below(8);
      if (dice > 3) return act(replay, random);
      const writer = replay.writers[random.below(replay.writers.length)] as Writer;
      const { lanes, autoreset } = writer.options;
      const [terminated, truncated] = [flags(random, lanes), flags(random, lanes)];
      // In a single lane, only the newest step can end. Some of the rows after an end may be rejected.
      unlessOver(() => {
        if (dice < 2 && lanes === 1)
          writer.endEpisode({ final: random.below(2) === 0 ? single(random) : { observation: [1, 2] }, terminated: random.below(2) === 0 });
        else if (autoreset === "nextStep") writer.append(steps(random, lanes), { terminated, truncated });
        else if (lanes > 1) writer.append(steps(random, lanes), { terminated, truncated, final: steps(random, lanes) });
        else writer.appendColumns(steps(random, 3), { terminated: [0, 1, 0], truncated: [1, 0, 0], final: steps(random, 2) });
      });
    },
  };
}

/** Makes valid calls that fail only if there is no episode to end. */
function unlessOver(call: () => unknown): void {
  unlessFull(() => {
    try {
      call();
    } catch (error) {
      if (!["OUT_OF_TURN", "INVALID_DATA"].includes((error as { code?: string }).code as string)) throw error;
    }
  });
}

const REMOVERS = SELECTORS.filter((kind) => !SELECTOR_KINDS[kind].samplesOnly);
const numbers = { x: i32(), o: f32(2) };
const numbered = (random: TestRandom, lanes: number) => {
  const x = Array.from({ length: lanes }, () => random.below(1e6));
  const o = new Float32Array(x.flatMap((v) => [v, -v]));
  return lanes === 1 ? { x: x[0], o } : { x, o };
};
const one = (replay: AnyReplay) => void replay.writer({ items: Object.values(replay.tables).map(({ name }) => ({ table: name, length: 2 })) });

const frames = { s: shared("f", u8(40), 2), n: shared("f", u8(40)), wide: u8(1500), r: f32() };
const framed = (random: TestRandom) => {
  const frame = () => new Uint8Array(40).fill(random.below(4));
  return { s: new Uint8Array([...frame(), ...frame()]), n: frame(), wide: new Uint8Array(1500).fill(random.below(256)), r: random.next() };
};

const packedFrames = { s: packed("f", u8(16, 17), 2), n: packed("f", u8(16, 17)), wide: packed("g", f32(300)), r: f32() };
const pictured = (random: TestRandom) => {
  // Screens with motion, some of which repeat, noise, and zeros.
  const frame = () => {
    const k = random.below(12);
    if (k > 9) return new Uint8Array(272).fill(0);
    return k === 9 ? Uint8Array.from({ length: 272 }, () => random.below(256)) : Uint8Array.from({ length: 272 }, (_, i) => (i % 17 === k ? 200 : i >> 4));
  };
  return { s: new Uint8Array([...frame(), ...frame()]), n: frame(), wide: new Float32Array(300).fill(random.below(50), random.below(300)), r: random.next() };
};

const texts = { x: i32(), said: text({ maxBytes: 24 }), words: shared("w", text({ maxBytes: 5 }, 2)) };
const WORDS = ["", "a", "né", "€", "𝄞", "\0\ufeff"];
const spoken = (random: TestRandom, lanes: number) => {
  const all = (make: () => unknown) => (lanes === 1 ? make() : Array.from({ length: lanes }, make));
  const word = () => random.pick(WORDS);
  return {
    x: all(() => random.below(1e6)),
    said: all(() => word() + word() + word()),
    words: all(() => [word(), word()]),
  };
};

export const SCENES: { readonly [name: string]: Scene } = {
  ...Object.fromEntries(
    SELECTORS.flatMap((sampler) =>
      REMOVERS.map((remover) => [
        `${sampler} over ${remover}`,
        scene(numbers, { t: { maxSize: 30, sampler: selectorOf(sampler, 0.6, true), remover: selectorOf(remover, 0.6, true) } }, one, numbered),
      ]),
    ),
  ),
  "items that wait": scene(
    numbers,
    {
      q: { maxSize: 20, rateLimiter: queueLimiter(6), maxTimesSampled: 1, maxPending: 9 },
      r: { maxSize: 20, rateLimiter: sampleToInsertRatio(2, 3, 6), maxPending: 5 },
    },
    (replay) => void replay.writer(),
    numbered,
  ),
  "limits of steps and draws": scene(
    numbers,
    { t: { maxSize: 30, maxSteps: 40, maxTimesSampled: 3, sampler: prioritized(), remover: minHeap() } },
    one,
    numbered,
  ),
  "several writers and lanes": scene(
    numbers,
    { t: { maxSize: 25 }, u: { maxSize: 9, sampler: prioritized(), remover: uniform() } },
    (replay) => {
      replay.writer({ lanes: 3, items: [{ table: "t", length: 2, stride: 2 }] });
      replay.writer({
        across: true,
        keep: 6,
        items: [{ table: "u", length: 4, priority: 2, columns: { first: { leaf: "x", at: 0 }, rest: { leaf: "o", from: 1 } } }],
      });
      replay.writer({ keep: 9 });
    },
    numbered,
  ),
  "shared and wide leaves": scene(
    frames,
    { t: { maxSize: 30 }, u: { maxSize: 8, sampler: prioritized(2), remover: lifo() } },
    (replay) => {
      replay.writer({ items: [{ table: "t", length: 3 }], across: true });
      replay.writer();
    },
    framed,
  ),
  "packed leaves": scene(
    packedFrames,
    { t: { maxSize: 30 }, u: { maxSize: 8, sampler: prioritized(2), remover: uniform() } },
    (replay) => {
      replay.writer({ items: [{ table: "t", length: 3 }], across: true });
      replay.writer({ items: [{ table: "u", length: 1 }] });
    },
    pictured,
  ),
  transitions: transitions({ t: { maxSize: 30, sampler: prioritized(0.6) }, u: { maxSize: 12 } }, (replay) => {
    replay.writer({ items: [{ table: "t", nStep: 3 }] });
    replay.writer({
      lanes: 3,
      autoreset: "nextStep",
      items: [
        { table: "t", nStep: 2 },
        { table: "u", length: 2 },
      ],
    });
    replay.writer({ lanes: 2, autoreset: "sameStep", across: true, items: [{ table: "u", nStep: 1 }] });
  }),
  text: scene(
    texts,
    { t: { maxSize: 30 }, u: { maxSize: 8, sampler: prioritized(2), remover: lifo() } },
    (replay) => {
      replay.writer({ items: [{ table: "t", length: 3, columns: { said: { leaf: "said" }, first: { leaf: "words", at: 0 } } }], across: true });
      replay.writer({ lanes: 2, items: [{ table: "u", length: 2 }] });
    },
    spoken,
  ),
};

/**
 * Returns the names of the scenes that `npm test` runs: every third scene of a list, starting at `turn`. The list contains scenes with two selectors, in which
 * each selector is the sampler once and the remover once, and all other scenes.
 */
export function sceneNames(turn: number): string[] {
  const some = SELECTORS.flatMap((sampler, i) => each(REMOVERS.length, REMOVERS, i + turn).map((remover) => `${sampler} over ${remover}`));
  return [...each(3, [...some, ...Object.keys(SCENES).slice(SELECTORS.length * REMOVERS.length)], turn)];
}
