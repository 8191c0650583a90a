/** Generates random worlds with packed leaves, and random calls of every kind. */
import {
  bool,
  f32,
  f64,
  fifo,
  i16,
  i32,
  i64,
  lifo,
  maxHeap,
  minHeap,
  minSize,
  packed,
  prioritized,
  queueLimiter,
  type ReplayOptions,
  type Spec,
  sampleToInsertRatio,
  shared,
  type Table,
  type TableOptions,
  text,
  u8,
  uniform,
} from "../../src/index.ts";
import type { WriterOptions } from "../../src/tables/rules.ts";
import type { TestRandom } from "../support/random.ts";
import type { AnyReplay } from "../support/scenes.ts";
import { PackedSteps } from "./packed-steps.ts";
import type { TwinPacked } from "./twin-packed.ts";

/** The frames, with sizes around the thresholds of the code (packed from 256 bytes, copied directly from 1,024 bytes), odd sizes, and each kind of element. */
const FRAMES = {
  "256": () => u8(16, 16),
  "323": () => u8(17, 19),
  "1023": () => u8(33, 31),
  "1024": () => u8(32, 32),
  rgb: () => u8(20, 20, 3),
  f32: () => f32(9, 10),
  f64: () => f64(40),
  i16: () => i16(30, 20),
  i64: () => i64(33),
  bool: () => bool(300),
  text: () => text({ maxBytes: 300 }),
  words: () => text({ maxBytes: 30 }, 11),
} as const;
type Frame = keyof typeof FRAMES;
const NAMES = Object.keys(FRAMES) as Frame[];

const SELECTORS = [fifo, lifo, uniform, () => prioritized(1), () => prioritized(0.6), minHeap, maxHeap];
const PRIORITIES = [0, 0.25, 1, 1, 2, 5];

export interface World {
  readonly options: ReplayOptions<Spec, string> & { readonly spec: Spec };
  readonly writers: readonly WriterOptions[];
  /** Whether items are created with their own columns. */
  readonly hasColumns: boolean;
}

/** Returns a spec with one to three packed leaves, two of which may share frames, and leaves of every other kind. */
function specOf(random: TestRandom, seed: number): Spec {
  const frame = () => FRAMES[NAMES[(seed + random.below(2)) % NAMES.length] as Frame]() as ReturnType<typeof u8>;
  const [state, other] = [frame(), FRAMES[random.pick(NAMES)]() as ReturnType<typeof u8>];
  const pack = (name: string, leaf: ReturnType<typeof u8>) => (random.below(2) === 0 ? packed(name, leaf, 1 + random.below(4)) : packed(name, leaf));
  return {
    x: i32(),
    action: i32(),
    reward: f32(),
    observation: pack("f", state),
    ...(random.below(2) === 0 && { nextObserved: pack("f", state) }),
    ...(random.below(3) === 0 && { alone: pack("g", other) }),
    ...(random.below(3) === 0 && { wide: u8(random.pick([256, 1100])) }),
    ...(random.below(3) === 0 && { small: shared("s", u8(12), 2) }),
    ...(random.below(4) === 0 && { said: text({ maxBytes: 12 }) }),
  };
}

function tableOf(random: TestRandom, bare: boolean): TableOptions {
  const maxSize = random.pick([1, 2, 5, 16, 40, 64]);
  const limiter = random.below(5);
  return {
    maxSize,
    sampler: random.pick(SELECTORS)(),
    remover: random.pick(SELECTORS)(),
    rateLimiter: limiter === 0 ? queueLimiter(1 + random.below(60)) : limiter === 1 ? sampleToInsertRatio(random.pick([0.5, 2]), 1, 8) : minSize(1),
    maxPending: 40,
    ...(!bare && random.below(4) === 0 && { maxTimesSampled: 1 + random.below(3) }),
    ...(random.below(4) === 0 && { maxSteps: 1 + random.below(3 * maxSize) }),
  };
}

function writerOf(random: TestRandom, tables: readonly string[], hasColumns: boolean): WriterOptions {
  const lanes = random.pick([1, 1, 1, 2, 3]);
  const across = random.below(3) === 0;
  const items = Array.from({ length: random.below(3) }, () => {
    const [table, priority] = [random.pick(tables), random.pick([1, 0.5, "max"] as const)];
    return random.below(3) === 0
      ? { table, nStep: 1 + random.below(4), priority }
      : {
          table,
          length: 1 + random.below(5),
          stride: random.pick([1, 1, 2]),
          priority,
          ...(hasColumns && random.below(3) === 0 && { columns: { first: { leaf: "observation", at: 0 }, x: { leaf: "x" } } }),
        };
  });
  return { lanes, across, items, keep: 6 + random.below(8), ...(lanes > 1 && { autoreset: random.pick(["nextStep", "sameStep", "disabled"] as const) }) };
}

/** @param makeSpec creates another kind of spec */
export function worldOf(seed: number, random: TestRandom, makeSpec: (random: TestRandom, seed: number) => Spec = specOf): World {
  const tables = Object.fromEntries(["t", "u"].slice(0, 1 + random.below(2)).map((name) => [name, tableOf(random, false)]));
  const hasColumns = seed % 2 === 0;
  return {
    hasColumns,
    options: { spec: makeSpec(random, seed), tables, seed, logger: null },
    writers: Array.from({ length: 1 + random.below(3) }, () => writerOf(random, Object.keys(tables), hasColumns)),
  };
}

/** Makes calls of the writers and tables of a world, on every Replay in lock-step. */
export class PackedCalls {
  readonly #twins: TwinPacked;
  readonly #random: TestRandom;
  readonly #steps: readonly PackedSteps[];
  readonly #tables: readonly string[];
  readonly #leaves: readonly string[];
  readonly #hasColumns: boolean;
  #known: number[] = [];

  constructor(twins: TwinPacked, world: World, random: TestRandom) {
    this.#twins = twins;
    this.#random = random;
    this.#steps = world.writers.map(({ lanes = 1 }) => new PackedSteps(world.options.spec, lanes, random));
    this.#hasColumns = world.hasColumns;
    this.#tables = Object.keys(world.options.tables as object);
    this.#leaves = Object.keys(world.options.spec);
  }

  /** Makes one call that changes something or draws. */
  act(): void {
    const random = this.#random;
    const dice = random.below(100);
    if (dice < 40) this.#append();
    else if (dice < 50) this.#block();
    else if (dice < 58) this.#create();
    else if (dice < 62) this.#end();
    else if (dice < 67) this.#update();
    else if (dice < 70) this.#delete();
    else if (dice < 71) this.#twins.all((replay) => replay.table(random.pick([this.#tables[0] as string])).clear());
    else if (dice < 76) this.#loop();
    else if (dice < 80) this.#twins.release(random.below(8));
    else this.#sample();
  }

  #flags(n: number, rate: number): Uint8Array {
    return Uint8Array.from({ length: n }, () => (this.#random.next() < rate ? 1 : 0));
  }

  #append(): void {
    const random = this.#random;
    const k = random.below(this.#steps.length);
    const steps = this.#steps[k] as PackedSteps;
    const { lanes, autoreset } = this.#twins.writer(k).options;
    const step = steps.step();
    if (random.below(4) > 0) {
      this.#twins.all((replay) => this.#twins.writer(k, replay).append(step as never));
      return;
    }
    const ends = { terminated: this.#flags(lanes, 0.2), truncated: this.#flags(lanes, 0.2) };
    const final = autoreset !== "nextStep" && random.below(8) > 0 ? steps.finals(lanes, false) : undefined;
    this.#twins.all((replay) => this.#twins.writer(k, replay).append(step as never, { ...ends, ...(final && { final }) } as never));
  }

  #block(): void {
    const random = this.#random;
    const k = random.below(this.#steps.length);
    const steps = this.#steps[k] as PackedSteps;
    const { lanes } = this.#twins.writer(k).options;
    const length = 1 + random.below(random.below(6) === 0 ? 40 : 6);
    const columns = steps.block(length);
    const rows = length * lanes;
    const [ends, terminated, truncated] = [this.#flags(rows, 0.1), this.#flags(rows, 0.1), this.#flags(rows, 0.1)];
    for (let i = 0; i < rows; i++) if (terminated[i] || ends[i]) truncated[i] = 0;
    for (let i = 0; i < rows; i++) if (terminated[i]) ends[i] = 0;
    const count = terminated.filter((one, i) => one || truncated[i]).length;
    const choice = random.below(3);
    const options = choice === 0 ? {} : choice === 1 ? { ends } : { ends, terminated, truncated, ...(count > 0 && { final: steps.finals(count, false) }) };
    this.#twins.all((replay) => this.#twins.writer(k, replay).appendColumns(columns as never, options as never));
  }

  #create(): void {
    const random = this.#random;
    const k = random.below(this.#steps.length);
    const { lanes } = this.#twins.writer(k).options;
    const columns = this.#hasColumns && random.below(3) === 0 ? { last: { leaf: "observation", at: -1 }, x: { leaf: "x", at: 0 } } : undefined;
    const options = { length: 1 + random.below(6), lane: random.below(lanes), priority: random.pick(PRIORITIES), ...(columns && { columns }) };
    const table = random.pick(this.#tables);
    this.#twins.all((replay) =>
      this.#twins
        .writer(k, replay)
        .createItem(table, options as never)
        ?.catch(() => {}),
    );
  }

  #end(): void {
    const random = this.#random;
    const k = random.below(this.#steps.length);
    const { lanes } = this.#twins.writer(k).options;
    const final = random.below(2) === 0 ? { final: (this.#steps[k] as PackedSteps).finals(1, lanes === 1), terminated: random.below(2) === 0 } : {};
    const lane = random.below(lanes);
    this.#twins.all((replay) => this.#twins.writer(k, replay).endEpisode({ lane, ...final } as never));
  }

  #keys(): number[] {
    return this.#known.filter(() => this.#random.below(3) === 0);
  }

  #update(): void {
    const table = this.#random.pick(this.#tables);
    const keys = this.#keys();
    const priorities = keys.map(() => this.#random.pick(PRIORITIES));
    this.#twins.all((replay) => replay.table(table).updatePriorities(keys, priorities));
  }

  #delete(): void {
    const table = this.#random.pick(this.#tables);
    const keys = this.#keys().slice(0, 2);
    this.#twins.all((replay) => replay.table(table).delete(keys));
  }

  #loop(): void {
    const table = this.#random.pick(this.#tables);
    const options = { batchSize: 1 + this.#random.below(5), length: 1 + this.#random.below(4) };
    const turns = 1 + this.#random.below(3);
    this.#twins.all((replay) => {
      const batches: unknown[] = [];
      if (replay.table(table).size === 0) return batches;
      for (const batch of (replay.table(table) as Table).dataset(options as never)) {
        batches.push((batch as { detached(): unknown }).detached());
        if (batches.length === turns) break;
      }
      return batches;
    });
  }

  #columns(): object {
    const random = this.#random;
    const place = () => random.below(9) - 4;
    return Object.fromEntries(
      Array.from({ length: 1 + random.below(3) }, (_, i) => {
        const leaf = random.below(2) === 0 ? "observation" : random.pick(this.#leaves);
        const dice = random.below(4);
        if (dice === 0) return [`c${i}`, { leaf, at: place() }];
        if (dice === 1) return [`c${i}`, { leaf, from: place(), step: 1 + random.below(2) }];
        if (dice === 2) return [`c${i}`, { leaf, steps: Array.from({ length: 1 + random.below(4) }, place) }];
        return [`c${i}`, { leaf }];
      }),
    );
  }

  #sample(): void {
    const random = this.#random;
    const table = random.pick(this.#tables);
    const n = 1 + random.below(12);
    const nStep = { n: 1 + random.below(3), gamma: 0.5, reward: "reward" };
    if (random.below(4) === 0) {
      const made = { gamma: random.pick([0.5, 0.9]), ...(random.below(2) === 0 && { n: 2, next: ["action", "x"] }) };
      this.#twins.view(table, n, made, { ...(random.below(3) === 0 && { beta: 0.5 }), ...(random.below(4) === 0 && { replacement: false }) });
      return;
    }
    const length = 1 + random.below(6);
    const options = {
      ...(random.below(2) === 0 && { length, offset: random.pick(["start", "end", "uniform"]) }),
      ...(random.below(3) === 0 && { cross: random.below(2) === 0 }),
      ...(random.below(2) === 0 && { columns: this.#columns() }),
      ...(random.below(4) === 0 && { nStep }),
      ...(random.below(4) === 0 && { mask: true }),
      ...(random.below(4) === 0 && { beta: 0.4 }),
      ...(random.below(5) === 0 && { replacement: false }),
      ...(random.below(6) === 0 && { among: 1 + random.below(6) }),
    };
    const dice = random.below(4);
    if (dice === 0) this.#twins.into(table, 1 + (n & 3), { ...options, length });
    else if (dice === 1) this.#twins.lend(table, n, options);
    else {
      const batch = this.#twins.all((replay: AnyReplay) => (replay.table(table) as Table).sample(n, options as never)) as {
        info?: { keys: Float64Array };
        count?: number;
      };
      if (batch.info !== undefined) this.#known = [...this.#known.slice(-20), ...batch.info.keys.subarray(0, batch.count)];
    }
  }
}
