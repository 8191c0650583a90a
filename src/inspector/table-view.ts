/** Implements the view of one table: a sample of items with ages and episodes, single items, and previews of draws. Each costs O(sample). */
import { concatArrays } from "../base/bytes.ts";
import type { Blocked } from "../batch/batch.ts";
import { BLOCKED_BY } from "../batch/draw.ts";
import { MOST, Probe, type Seen } from "../batch/inspect-table.ts";
import { CoreStream } from "../memory/stream.ts";
import { engineOf, type Replay } from "../replay/replay.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import { SELECTOR_KINDS } from "../schema/selector.ts";
import type { Table } from "../tables/table.ts";
import { agesOf, findPreviousTurn } from "./item-ages.ts";
import { ItemWalk } from "./item-walk.ts";
import type { DrawnItem, DrawPreview, ItemAbout, ItemView, LeafAbout, LeafValues, Sample, TableSurvey } from "./protocol.ts";
import type { Random } from "./random.ts";

/** The maximum number of items in a survey's sample. A smaller table is read completely. */
const SAMPLE_SIZE = 512;
/** The maximum number of new items that a survey reads to find episodes. */
const EPISODE_ITEMS = 1024;
/** The maximum number of items of a table that is read from its beginning, if no item was evicted. */
const SMALL_TABLE = 4096;
/** The number of random slots whose neighbors show whether items use slots in turn. */
const ORDER_CHECKS = 16;
/** The maximum number of values per leaf in the view of one item, and of all leaves and items in the preview of a draw. */
const MAX_VALUES = 1 << 20;

export class TableView {
  readonly #table: Table;
  readonly #probe: Probe;
  readonly #random: Random;
  readonly #itemWalk: ItemWalk | undefined;
  readonly #leaves: readonly PlacedLeaf[];
  /** The difference between keys and slots in the turn before the newest item's turn (item-ages.ts). */
  #previousTurn = Number.NaN;

  constructor(replay: Replay, table: Table, random: Random) {
    const engine = engineOf(replay);
    const probe = new Probe(engine, table.handle);
    this.#table = table;
    this.#probe = probe;
    this.#random = random;
    this.#leaves = engine.layout.leaves;
    if (!this.#isInOrder) return;
    const openEpisodes = () => {
      const rows = replay.writers.flatMap((writer) => writer.streams.map((stream) => new CoreStream(engine, stream).newest));
      return new Set(rows.filter((row) => row !== 0).map((row) => probe.episodeOf(row)));
    };
    const { size, deletes } = table.stats();
    const reward = rewardOf(replay);
    this.#itemWalk = new ItemWalk({ probe, rows: probe, reward, longest: () => probe.longest, openEpisodes }, deletes === 0 && size <= SMALL_TABLE);
  }

  static leavesOf(replay: Replay): readonly LeafAbout[] {
    return engineOf(replay).layout.leaves.map(({ path, leaf, shape }) => ({ path, dtype: leaf.dtype, shape: [...shape] }));
  }

  /** Whether the table keeps its items in the order of age. */
  get #isInOrder(): boolean {
    return SELECTOR_KINDS[this.#table.options.remover.kind].leaves !== undefined;
  }

  /** Returns a survey of the table's current state, with the episodes that were found since the last survey. */
  survey(): TableSurvey {
    const { name } = this.#table;
    const slots = this.#sampleSlots();
    const sample = this.#sampleOf(slots);
    const episodes = this.#itemWalk?.next(EPISODE_ITEMS, () => this.#randomSlot()) ?? [];
    return { name, sample, total: this.#probe.total, episodes, hasEpisodes: this.#itemWalk !== undefined };
  }

  /** Previews n draws with a separate random state. The table does not change. */
  draw(n: number): DrawPreview {
    const isOrdered = SELECTOR_KINDS[this.#table.options.sampler.kind].isDeterministic === true;
    const { slots, refused: refusal } = this.#probe.wouldDraw(n, (state) => this.#random.fill(state), isOrdered);
    let values = MAX_VALUES;
    const items = Array.from(slots, (slot): DrawnItem => {
      const about = this.about(this.#probe.keyOf(slot));
      values -= this.#leaves.reduce((sum, { size }) => sum + size, 0) * about.length;
      return { ...about, leaves: values < 0 ? undefined : this.#leavesOf(slot, about.length) };
    });
    const blocked = refusal && ({ by: BLOCKED_BY[refusal.code], have: refusal.have, need: refusal.need } as Blocked);
    return { table: this.#table.name, items, blocked: refusal?.code === 0 ? undefined : blocked };
  }

  /** Returns the information about an item, by its key. */
  about(key: number): ItemAbout {
    const probe = this.#probe;
    const { state, length = 0, priority = 0, probability = 0, timesSampled = 0 } = this.#table.explain(key);
    if (state === "gone") {
      const numbers = { length, priority, weight: Number.NaN, probability, timesSampled };
      return { key, state, ...numbers, age: Number.NaN, episode: Number.NaN, episodeAge: Number.NaN };
    }
    const slots = Uint32Array.of(probe.slotOf(key));
    const [row = 0] = probe.rows(slots, 0, 1, undefined).rows;
    const episode = probe.episodeOf(row);
    const { newest, total } = probe;
    const age = state === "live" && newest !== 0 ? this.#agesOf(slots, Float64Array.of(key), newest)[0] : undefined;
    const episodeAge = newest === 0 ? Number.NaN : this.#newestEpisode() - episode;
    const weight = total > 0 ? probability * total : Number.NaN;
    return { key, state, length, priority, weight, probability, timesSampled, age: age ?? Number.NaN, episode, episodeAge: Math.max(0, episodeAge) };
  }

  /** Returns an item with its steps, leaf by leaf. */
  view(key: number): ItemView {
    const about = this.about(key);
    const slot = about.state === "gone" ? 0 : this.#probe.slotOf(key);
    return { table: this.#table.name, ...about, leaves: slot === 0 ? [] : this.#leavesOf(slot, about.length) };
  }

  #leavesOf(slot: number, length: number): LeafValues[] {
    return this.#leaves.map((leaf) => this.#valuesOf(leaf, slot, length));
  }

  #valuesOf(leaf: PlacedLeaf, slot: number, length: number): LeafValues {
    const { path, size } = leaf;
    const about = { path, dtype: leaf.leaf.dtype, shape: leaf.shape };
    const maxSteps = Probe.stepsTogether(leaf);
    const steps = Math.min(length, Math.max(1, Math.floor(MAX_VALUES / size)));
    if (maxSteps === 0) return { ...about, data: undefined, steps: 0 };
    const chunks: ArrayLike<unknown>[] = [];
    for (let from = 0; from < steps; from += maxSteps) chunks.push(this.#probe.steps(slot, from, Math.min(maxSteps, steps - from), leaf));
    return { ...about, data: joined(chunks) as LeafValues["data"], steps };
  }

  #sampleOf(slots: Uint32Array): Sample {
    const probe = this.#probe;
    const chunks: Seen[] = [];
    for (let from = 0; from < slots.length; from += MOST) chunks.push(probe.see(slots.subarray(from, from + MOST)));
    const column = <K extends keyof Seen>(name: K) => joined(chunks.map((chunk) => chunk[name])) as Seen[K];
    const isEmpty = slots.length === 0;
    const keys = isEmpty ? new Float64Array(0) : column("keys");
    const { newest } = probe;
    if (newest !== 0 && !isEmpty) this.#previousTurn = findPreviousTurn(slots, keys, { slot: newest, key: probe.keyOf(newest) });
    const episodes = isEmpty ? new Uint32Array(0) : column("episodes");
    const newestEpisode = newest === 0 ? 0 : this.#newestEpisode();
    return {
      isWhole: slots.length === this.#table.size,
      keys,
      priorities: isEmpty ? new Float64Array(0) : column("priorities"),
      probabilities: isEmpty ? new Float64Array(0) : column("probabilities"),
      timesSampled: isEmpty ? new Uint32Array(0) : column("timesSampled"),
      lengths: isEmpty ? new Uint32Array(0) : column("lengths"),
      ages: this.#agesOf(slots, keys, newest),
      episodeAges: Float64Array.from(episodes, (episode) => (newest === 0 ? Number.NaN : Math.max(0, newestEpisode - episode))),
    };
  }

  #agesOf(slots: Uint32Array, keys: Float64Array, newest: number): Float64Array {
    const { high } = this.#probe;
    if (newest === 0 || !this.#isInTurn(newest, high)) return new Float64Array(slots.length).fill(Number.NaN);
    const ages = agesOf(slots, keys, { slot: newest, key: this.#probe.keyOf(newest) }, high, this.#previousTurn);
    for (let i = 0; i < ages.length; i++) if (!this.#isFollowed(slots[i] as number, high)) ages[i] = Number.NaN;
    return ages;
  }

  /** Returns whether items use slots in turn, with few exceptions. If many items were deleted or were evicted by draws, their ages are unknown. */
  #isInTurn(newest: number, high: number): boolean {
    const { remover, maxTimesSampled } = this.#table.options;
    if (
      SELECTOR_KINDS[remover.kind].leaves !== "newest" ||
      maxTimesSampled < Number.MAX_SAFE_INTEGER ||
      !this.#isFollowed(newest === 1 ? high : newest - 1, high)
    )
      return false;
    let outOfOrder = 0;
    for (let i = 0; i < ORDER_CHECKS; i++) {
      const slot = this.#randomSlot();
      outOfOrder += Number(slot !== 0 && !this.#isFollowed(slot, high));
    }
    return outOfOrder <= 1;
  }

  /** Returns whether the item in the next slot was added immediately after the item in a slot; true if the slot has no item. */
  #isFollowed(slot: number, high: number): boolean {
    if (!this.#probe.isThere(slot)) return true;
    const [next] = this.#probe.after(slot, 1);
    return next === undefined || next === (slot % high) + 1;
  }

  /** Returns the episode of the first step of the newest item. */
  #newestEpisode(): number {
    const [row = 0] = this.#probe.rows(Uint32Array.of(this.#probe.newest), 0, 1, undefined).rows;
    return this.#probe.episodeOf(row);
  }

  /** Returns all slots with items if the table has few items. Otherwise, returns random slots, possibly with duplicates. */
  #sampleSlots(): Uint32Array {
    const probe = this.#probe;
    const { high } = probe;
    const { size } = this.#table;
    const slots: number[] = [];
    if (high <= 2 * SAMPLE_SIZE && size <= SAMPLE_SIZE) {
      for (let slot = 1; slot <= high; slot++) if (probe.isThere(slot)) slots.push(slot);
      return Uint32Array.from(slots);
    }
    for (let tries = 0; slots.length < SAMPLE_SIZE && tries < 4 * SAMPLE_SIZE; tries++) {
      const slot = 1 + this.#random.integerBelow(high);
      if (probe.isThere(slot)) slots.push(slot);
    }
    return Uint32Array.from(slots);
  }

  #randomSlot(): number {
    const { high } = this.#probe;
    for (let tries = 0; tries < 16 && high > 0; tries++) {
      const slot = 1 + this.#random.integerBelow(high);
      if (this.#probe.isThere(slot)) return slot;
    }
    return 0;
  }
}

/** Returns the leaf of rewards; undefined if no leaf of the spec is a single number for rewards. */
export function rewardOf(replay: Replay): PlacedLeaf | undefined {
  try {
    const leaf = engineOf(replay).roles.optional("reward");
    return leaf?.size === 1 ? leaf : undefined;
  } catch {
    return undefined;
  }
}

/** Joins arrays of one class; a single array is not copied. */
function joined(pieces: readonly ArrayLike<unknown>[]): ArrayLike<unknown> {
  return pieces.length > 1 ? concatArrays(pieces) : (pieces[0] ?? []);
}
