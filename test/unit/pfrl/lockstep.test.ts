/**
 * Compares persistent buffers with an in-memory twin and a list of all stored items, during random sequences of appends, ends, draws, saves, loads of files
 * with other windows, reopenings with other capacities, and directories that become ancestors.
 */
import { describe, expect, test } from "vitest";
import {
  EpisodicReplayBuffer,
  type Listed,
  PersistentEpisodicReplayBuffer,
  PersistentReplayBuffer,
  PrioritizedReplayBuffer,
  ReplayBuffer,
  type Transition,
  type TransitionBatch,
} from "../../../src/pfrl/index.ts";
import { type Directory, type MemoryDirectory, memory } from "../../../src/storage/index.ts";
import { TestRandom } from "../../support/random.ts";
import { scaled, slow } from "../../support/size.ts";

const LIST = { form: "list" } as const;
const CAPACITIES = [3, 7, 20, 60, null];
type Items = (readonly Transition[])[];
type Persistent = PersistentReplayBuffer | PersistentEpisodicReplayBuffer;
type Twin = ReplayBuffer | EpisodicReplayBuffer;

/** Converts items to texts, which the test runner compares much faster and shows on one line per item. */
const told = (items: Items | Listed<readonly Transition[]>) =>
  items.map((item) => item.map((one) => JSON.stringify(Object.entries(one).sort(byName), plain)).join());
const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]) => (a < b ? -1 : 1);
const plain = (_: string, value: unknown) => (ArrayBuffer.isView(value) ? bytesOf(value) : value);
const bytesOf = (view: ArrayBufferView) => `${view.constructor.name} ${Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString("hex")}`;

const frames = (i: number) => [0, 1].map((k) => new Uint8Array(80).fill((i + k) & 0xff));
const EXTRAS: readonly ((i: number) => object)[] = [
  () => ({}),
  (i) => ({ a: i }),
  (i) => ({ b: `w${i}` }),
  (i) => ({ a: -i, c: Float32Array.of(i) }),
  () => ({ a: null, c: null }),
];

/** The common interface of both kinds of buffers. */
interface Family {
  open(directory: Directory, capacity: number | null, options: object): Persistent;
  twin(capacity: number | null, seed: number): Twin;
  /** Creates an in-memory buffer with windows of `numSteps` steps, whose files other buffers load. */
  file(numSteps: number, prioritized: boolean): ReplayBuffer | PrioritizedReplayBuffer | EpisodicReplayBuffer;
  /** Returns the newest stored items that fit the capacity. */
  newest(stored: Items, capacity: number | null): Items;
  items(buffer: Twin | Persistent | PrioritizedReplayBuffer): Items;
  draw(buffer: Twin | Persistent, n: number, form: object): Listed<readonly Transition[]> | TransitionBatch;
}

const TRANSITIONS: Family = {
  open: (directory, capacity, options) => new PersistentReplayBuffer(directory, capacity, options),
  twin: (capacity, seed) => new ReplayBuffer(capacity, { seed }),
  file: (numSteps, prioritized) => (prioritized ? new PrioritizedReplayBuffer({ numSteps }) : new ReplayBuffer({ numSteps })),
  newest: (stored, capacity) => (capacity === null ? stored : stored.slice(-capacity)),
  items: (buffer) => [...buffer.items()] as Items,
  draw: (buffer, n, form) => buffer.sample(n, form as never) as never,
};

const EPISODES: Family = {
  open: (directory, capacity, options) => new PersistentEpisodicReplayBuffer(directory, capacity, options),
  twin: (capacity, seed) => new EpisodicReplayBuffer(capacity, { seed }),
  file: () => new EpisodicReplayBuffer(),
  newest(stored, capacity) {
    let from = 0;
    let steps = stored.reduce((sum, { length }) => sum + length, 0);
    while (capacity !== null && steps > capacity) steps -= (stored[from++] as readonly Transition[]).length;
    return stored.slice(from);
  },
  items: (buffer) => [...(buffer as EpisodicReplayBuffer).episodes()],
  draw: (buffer, n, form) => (buffer as EpisodicReplayBuffer).sampleEpisodes(n, form as never) as never,
};

class Run {
  readonly #family: Family;
  readonly #random: TestRandom;
  readonly #seed: number;
  #directory: MemoryDirectory = memory();
  #ancestor: Directory | null = null;
  #capacity: number | null;
  #buffer: Persistent;
  #twin: Twin;
  /** Whether both buffers must draw the same items. The twin cannot imitate some reopenings. */
  #alike = true;
  /** All items of the directory and its ancestors. `#over` states whether memory contains more items than the capacity. */
  #stored: Items = [];
  #over = false;
  readonly #running = new Map<number, Transition[]>();
  readonly #files: { readonly directory: MemoryDirectory; readonly file: string; readonly items: Items }[] = [];
  #next = 0;

  constructor(family: Family, seed: number) {
    this.#family = family;
    this.#seed = seed;
    this.#random = new TestRandom(seed);
    this.#capacity = this.#random.pick(CAPACITIES);
    this.#buffer = this.#open();
    this.#twin = family.twin(this.#capacity, seed);
  }

  step(): void {
    const below = (n: number) => this.#random.below(n);
    const what = below(100);
    if (what < 62) this.#append(below(3), below(6) === 0);
    else if (what < 70) this.#stop(below(3));
    else if (what < 85) this.#draw();
    else if (what < 89) this.#save();
    else if (what < 92) this.#load();
    else if (what < 95) this.#makeFile();
    else if (what < 99) this.#reopen(below(3) === 0 ? this.#random.pick(CAPACITIES) : this.#capacity);
    // An in-memory directory cannot be found by name, so there are at most two generations.
    else if (this.#ancestor === null) this.#descend();
  }

  check(): void {
    const { items, newest } = this.#family;
    const expected = this.#over ? this.#stored : newest(this.#stored, this.#capacity);
    expect(told(items(this.#buffer))).toEqual(told(expected));
    expect(told(items(this.#twin))).toEqual(told(expected));
  }

  close(): void {
    this.#buffer.close();
  }

  #open(): Persistent {
    const segmentBytes = this.#random.pick([500, 5000, 1 << 20]);
    return this.#family.open(this.#directory, this.#capacity, { durability: "manual", seed: this.#seed, segmentBytes, ancestor: this.#ancestor });
  }

  #transition(isStateTerminal: boolean): Transition {
    const i = this.#next++;
    return { state: frames(i), action: i, reward: i / 4, nextState: frames(i + 1), nextAction: null, isStateTerminal, ...this.#random.pick(EXTRAS)(i) };
  }

  #append(envId: number, terminal: boolean): void {
    const transition = this.#transition(terminal);
    for (const buffer of [this.#buffer, this.#twin]) buffer.append({ ...transition, envId });
    const running = [...(this.#running.get(envId) ?? []), transition];
    this.#running.set(envId, running);
    if (this.#family === TRANSITIONS) this.#store([transition]);
    if (terminal) this.#end(envId);
  }

  #stop(envId: number): void {
    for (const buffer of [this.#buffer, this.#twin]) buffer.stopCurrentEpisode(envId);
    this.#end(envId);
  }

  #end(envId: number): void {
    const running = this.#running.get(envId);
    this.#running.delete(envId);
    if (running !== undefined && this.#family === EPISODES) this.#store(running);
  }

  #store(item: readonly Transition[]): void {
    if (this.#over) this.#stored = [...this.#stored];
    this.#over = false;
    this.#stored.push(item);
  }

  #draw(): void {
    const { draw, items } = this.#family;
    const there = "nEpisodes" in this.#twin ? this.#twin.nEpisodes : this.#twin.length;
    const n = this.#random.below(Math.min(there, 8) + 1);
    if (n === 0) return;
    const list = draw(this.#twin, n, LIST) as Listed<readonly Transition[]>;
    if (this.#random.next() < 0.5) {
      const own = draw(this.#buffer, n, LIST) as Listed<readonly Transition[]>;
      if (this.#alike) expect(told(own)).toEqual(told(list));
      const states = new Set(items(this.#buffer).map(([first]) => first?.action));
      for (const [first] of own) expect(states.has(first?.action)).toBe(true);
      return;
    }
    const { lengths, reward, nextState, isStateTerminal, count } = draw(this.#buffer, n, {}) as TransitionBatch;
    if (!this.#alike) return;
    expect([...lengths]).toEqual(list.map(({ length }) => length));
    const width = reward.data.length / count;
    const each = (of: (one: Transition) => number) =>
      list.flatMap((item) => Array.from({ length: width }, (_, t) => (item[t] === undefined ? 0 : of(item[t]))));
    expect([...reward.data]).toEqual(each((one) => one.reward));
    expect([...isStateTerminal.data]).toEqual(each((one) => Number(one.isStateTerminal)));
    const { data } = nextState as { data: Uint8Array };
    const last = (item: readonly Transition[]) => ((item.at(-1) as Transition).nextState as [Uint8Array])[0][0];
    // For an episode, `nextState` contains one value per step; for other items, it contains only the value of the last step.
    const at = (i: number) => (data.length / count) * i + (this.#family === EPISODES ? (data.length / count / width) * ((lengths[i] as number) - 1) : 0);
    expect(list.map((_, i) => data[at(i)])).toEqual(list.map(last));
  }

  #save(): void {
    const file = { directory: memory(), file: "saved" };
    this.#buffer.save(file);
    const reader = this.#family.file(1 + this.#random.below(4), this.#random.next() < 0.5);
    reader.load(file);
    const items = this.#family.items(reader);
    expect(told(items)).toEqual(told(this.#family.items(this.#buffer)));
    this.#files.push({ ...file, items });
  }

  /** Saves a file of a buffer with different windows. */
  #makeFile(): void {
    const maker = this.#family.file(1 + this.#random.below(4), this.#random.next() < 0.5);
    for (let n = this.#random.below(12); n > 0; n--) maker.append({ ...this.#transition(this.#random.below(5) === 0), envId: this.#random.below(2) });
    const file = { directory: memory(), file: "made" };
    maker.save(file);
    this.#files.push({ ...file, items: this.#family.items(maker) });
  }

  #load(): void {
    if (this.#files.length === 0) return;
    const file = this.#random.pick(this.#files);
    for (const buffer of [this.#buffer, this.#twin]) buffer.load(file);
    this.#stored = [...file.items];
    this.#over = true;
    this.#alike = this.#stored.length > 0;
  }

  #reopen(capacity: number | null): void {
    const { newest, items } = this.#family;
    this.#buffer.close();
    const before = items(this.#twin);
    const same = capacity === this.#capacity && !this.#over && !(this.#family === EPISODES && this.#running.size > 0);
    this.#capacity = capacity;
    this.#buffer = this.#open();
    this.#over = false;
    const expected = newest(this.#stored, capacity);
    expect(told(items(this.#buffer))).toEqual(told(expected));
    if (same && before.length === expected.length) {
      for (const envId of this.#running.keys()) this.#twin.stopCurrentEpisode(envId);
    } else {
      this.#twin = this.#family.twin(capacity, this.#seed);
      const file = { directory: memory(), file: "again" };
      this.#buffer.save(file);
      this.#twin.load(file);
      this.#alike = false;
    }
    this.#running.clear();
  }

  /** Makes the current directory the ancestor of a new one. */
  #descend(): void {
    if (this.#random.next() < 0.5) this.#buffer.close();
    this.#ancestor = this.#directory;
    this.#directory = memory({ name: `generation ${this.#next}` });
    const parent = this.#buffer;
    const { items, newest } = this.#family;
    this.#buffer = this.#open();
    parent.close();
    this.#over = false;
    this.#running.clear();
    expect(told(items(this.#buffer))).toEqual(told(newest(this.#stored, this.#capacity)));
    this.#twin = this.#family.twin(this.#capacity, this.#seed);
    const file = { directory: memory(), file: "again" };
    this.#buffer.save(file);
    this.#twin.load(file);
    this.#alike = false;
  }
}

describe.each([
  ["transitions", TRANSITIONS],
  ["episodes", EPISODES],
] as const)("%s", (name, family) => {
  const runs = scaled(slow ? 24 : 12, 1);
  const calls = scaled(200, 100);
  test(`equal those of an in-memory twin in ${runs} runs of ${calls} calls`, { timeout: 300_000 }, () => {
    for (let i = 0; i < runs; i++) {
      const seed = i + Number(process.env.REPRISE_SEED ?? 0);
      const run = new Run(family, seed);
      for (let call = 0; call < calls; call++) {
        try {
          run.step();
          if (call % 10 === 9) run.check();
        } catch (error) {
          (error as Error).message = `${name}, seed ${seed}, call ${call}: ${(error as Error).message}`;
          throw error;
        }
      }
      run.close();
    }
  });
});
