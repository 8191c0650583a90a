/**
 * Manages the episodes of a buffer. The episode with id e is at location e mod capacity, until a later id takes over the location. Each location has a stream
 * of steps. Writers check the steps and append them. To continue an episode, a writer's lane borrows the stream of its location.
 */
import { concatArrays } from "../../base/bytes.ts";
import { ReplayError } from "../../base/error.ts";
import { MAX_LENGTH } from "../../base/limits.ts";
import type { Engine } from "../../memory/engine.ts";
import type { StreamSet } from "../../memory/streams.ts";
import { engineOf, type Replay } from "../../replay/replay.ts";
import type { Spec } from "../../schema/spec.ts";
import type { Writer } from "../../tables/writer.ts";
import type { Windows } from "../windows.ts";
import type { Batch } from "./frames.ts";

/** The steps of one episode at the start of an iteration. */
export interface EpisodeMark {
  readonly id: number;
  readonly location: number;
  readonly steps: number;
  /** The number of times that the location had been emptied by then. */
  readonly clears: number;
}

type AnyWriter = Writer<Spec, never, boolean>;

/** The destination of row `row` of a batch: the episode with this id. `opens` is set if the row begins a new episode. */
interface Target {
  readonly id: number;
  readonly opens: boolean;
  readonly row: number;
}

/** A copy of an episode that is added to an existing or a new episode. `index` is the position of the target's id, and `batch` has the copied steps, if any. */
export interface Copy {
  readonly index: number;
  readonly batch: Batch | undefined;
  readonly completed: boolean;
}

/** The ids to continue with. `skipped` lists the rows or copies that could not be written. */
export interface Addition {
  readonly ids: number[];
  readonly skipped: readonly number[];
}

/** The number of different batch sizes that get a writer of exactly that size. Batches of other sizes are split (see `#parts`). */
const USUAL_SIZES = 2;
/** The minimum number of steps that the writer of sequences keeps. */
const MIN_KEEP = 256;

export class EpisodeIds {
  readonly capacity: number;
  /** The newest id; -1 before the first id. */
  last = -1;
  /** The number of steps in all episodes. */
  frames = 0;
  readonly #engine: Engine;
  readonly #replay: Replay<Spec, never>;
  readonly #streams: StreamSet;
  readonly #completedOnly: boolean;
  readonly #completed: Uint8Array;
  /** The number of times that each location was emptied. */
  readonly #clears: Float64Array;
  /** The writer of sequences. Its stream is at least as long as the longest sequence so far. */
  #sequences: AnyWriter | undefined;
  /** The writers of batches, by number of lanes. These numbers are the sizes of the first batches, and powers of two. */
  readonly #batches = new Map<number, AnyWriter>();

  /** @param completedOnly whether only completed episodes can be drawn */
  constructor(replay: Replay<Spec, never>, { streams }: Windows, capacity: number, completedOnly: boolean) {
    this.capacity = capacity;
    this.#engine = engineOf(replay);
    this.#replay = replay;
    this.#streams = streams;
    this.#completedOnly = completedOnly;
    this.#completed = new Uint8Array(capacity);
    this.#clears = new Float64Array(capacity);
    if (completedOnly) for (let location = 0; location < capacity; location++) streams.show(location, false);
  }

  /** Returns whether the episode with this id is still at its location. */
  valid(id: number): boolean {
    return this.#validAfter(id, this.last);
  }

  location(id: number): number {
    return id % this.capacity;
  }

  /** Returns the id of the episode at a location, or a negative number if the location was never used. */
  idAt(location: number): number {
    const distance = (this.last - location) % this.capacity;
    return distance < 0 ? -1 : this.last - distance;
  }

  steps(location: number): number {
    return this.#streams.length(location);
  }

  isCompleted(location: number): boolean {
    return this.#completed[location] === 1;
  }

  complete(location: number, completed: boolean): void {
    this.#completed[location] = Number(completed);
    if (!this.#completedOnly) return;
    this.#streams.show(location, completed);
    // A draw that waits may now be able to use this episode.
    if (completed) this.#engine.changed();
  }

  /** Yields the episodes that have steps and can be drawn, in the order of their ids. O(capacity) */
  *validMarks(): Generator<EpisodeMark, void> {
    for (let id = Math.max(0, this.last - this.capacity + 1); id <= this.last; id++) {
      const location = this.location(id);
      const steps = this.steps(location);
      if (steps > 0 && (!this.#completedOnly || this.isCompleted(location))) yield { id, location, steps, clears: this.#clears[location] as number };
    }
  }

  /** Returns whether the marked steps still exist. */
  has({ id, location, clears }: EpisodeMark): boolean {
    return this.valid(id) && this.#clears[location] === clears;
  }

  /** Drops the steps at a location. The id of the episode stays valid. O(steps) */
  clear(location: number): void {
    this.frames -= this.steps(location);
    this.#streams.end(location);
    (this.#clears[location] as number)++;
    this.complete(location, false);
    this.#engine.changed();
  }

  clearAll(): void {
    for (let location = 0; location < this.capacity; location++) this.clear(location);
  }

  /**
   * Adds a sequence to an existing or a new episode. Nothing changes if the call throws.
   * @returns the episode's id
   * @throws ReplayError STALE_KEY if the episode with this id does not exist, OUT_OF_MEMORY
   */
  addSequence(id: number | undefined, batch: Batch): number {
    const to = id ?? this.last + 1;
    if (id !== undefined && !this.valid(id)) throw this.staleError(id);
    this.#reserve([{ id: to, opens: id === undefined, rows: batch.rows }]);
    this.#append(to, id === undefined, batch);
    return to;
  }

  /**
   * Adds one row to each of several episodes. An id of `undefined` starts a new episode. All new ids are assigned first, in the order of the rows. If a new id
   * takes over the location of another row's episode, that row is skipped. Nothing changes if the call throws.
   * @returns the ids, and the rows that were skipped
   * @throws ReplayError STALE_KEY if no row can be written, or if an id was never assigned · OUT_OF_MEMORY
   */
  addBatch(inputIds: readonly (number | undefined)[], { rows, values }: Batch): Addition {
    const { ids, last, leftOut: skipped } = this.#assign(inputIds, [...inputIds.keys()]);
    // An id that occurs several times needs one round per occurrence.
    const rounds: Target[][] = [];
    const times = new Map<number, number>();
    for (const [row, id] of ids.entries()) {
      if (!this.#validAfter(id, last)) continue;
      const time = times.get(id) ?? 0;
      times.set(id, time + 1);
      rounds[time] = [...(rounds[time] ?? []), { id, opens: id > this.last && time === 0, row }];
    }
    this.#reserve([...times].map(([id, steps]) => ({ id, opens: id > this.last, rows: steps })));
    const parts = rounds.flatMap((targets) => this.#parts(targets));
    for (const { writer, targets } of parts) {
      const step = targets.length === rows ? values : pickRows(values, rows, targets);
      // A writer with a single lane expects steps without a lane dimension, so the row is appended as columns of one step.
      this.#write(writer, targets, () => (targets.length === 1 ? writer.appendColumns(step as never) : writer.append(step as never)));
    }
    // The newest ids may belong to skipped rows, for which nothing was written.
    this.last = last;
    return { ids, skipped };
  }

  /**
   * Adds copies one after the other, possibly several to the same episode. An id of `undefined` starts a new episode. All new ids are assigned first, in the
   * order of `inputIds`. A copy whose episode is overwritten by a new id is skipped. Nothing changes if the call throws.
   * @throws ReplayError STALE_KEY if no copy can be written, or if an id was never assigned · OUT_OF_MEMORY
   */
  extend(inputIds: readonly (number | undefined)[], copies: readonly Copy[]): Addition {
    const indices = copies.map(({ index }) => index);
    const { ids, last, leftOut: skipped } = this.#assign(inputIds, indices);
    const idOf = ({ index }: Copy) => ids[index] as number;
    const validCopies = copies.filter((copy) => this.#validAfter(idOf(copy), last));
    const rows = new Map<number, number>();
    for (const copy of validCopies) rows.set(idOf(copy), (rows.get(idOf(copy)) ?? 0) + (copy.batch?.rows ?? 0));
    this.#reserve([...rows].map(([id, steps]) => ({ id, opens: id > this.last, rows: steps })));
    // The writer of sequences also needs memory for its stream and for a block of columns.
    const longest = Math.max(0, ...validCopies.map(({ batch }) => batch?.rows ?? 0));
    if (longest > 0) this.#sequenceWriter(longest);
    if (longest > 0) this.#engine.reserveBlock(longest);
    // Nothing fails from here on.
    while (this.last < last) this.#begin(this.last + 1);
    for (const copy of validCopies) {
      if (copy.batch !== undefined) this.#append(idOf(copy), false, copy.batch);
      this.complete(this.location(idOf(copy)), copy.completed);
    }
    return { ids, skipped };
  }

  /** Returns the error for an id whose episode was overwritten, or that was never assigned. */
  staleError(id: number): ReplayError {
    const reason = id > this.last ? "has not begun" : "was overwritten";
    return new ReplayError("STALE_KEY", `episode ${id} ${reason}. The capacity is ${this.capacity} episodes, and the newest episode is ${this.last}`);
  }

  /**
   * Assigns new ids. `leftOut` lists the positions in `indices` that cannot be written, because the new ids overwrite their episodes.
   * @throws ReplayError STALE_KEY if every position is skipped, or if an id was never assigned
   */
  #assign(inputIds: readonly (number | undefined)[], indices: readonly number[]) {
    // An id that is used before it is assigned would seem valid once the new ids exist.
    const early = indices.map((index) => inputIds[index]).find((id) => id !== undefined && id > this.last);
    if (early !== undefined) throw this.staleError(early);
    let last = this.last;
    const ids = inputIds.map((id) => id ?? ++last);
    const skipped = [...indices.keys()].filter((j) => !this.#validAfter(ids[indices[j] as number] as number, last));
    if (skipped.length > 0 && skipped.length === indices.length) throw this.staleError(ids[indices[0] as number] as number);
    return { ids, last, leftOut: skipped };
  }

  /** Returns whether an id will be valid after all ids up to `last` are assigned. */
  #validAfter(id: number, last: number): boolean {
    return id >= 0 && id <= last && id > last - this.capacity;
  }

  #begin(id: number): void {
    this.clear(this.location(id));
    this.last = Math.max(this.last, id);
  }

  /** Reserves memory for additions. If memory runs out, the call throws and all steps are unchanged. */
  #reserve(additions: readonly { readonly id: number; readonly opens: boolean; readonly rows: number }[]): void {
    let rows = 0;
    for (const addition of additions) {
      const location = this.location(addition.id);
      // A new episode replaces the steps at its location.
      const more = addition.opens ? Math.max(0, addition.rows - this.steps(location)) : addition.rows;
      this.#streams.reserve(location, more);
      rows += addition.rows;
    }
    this.#engine.reserve(rows);
  }

  /** Appends a sequence to an existing or a new episode. */
  #append(id: number, opens: boolean, { rows, values }: Batch): void {
    const writer = this.#sequenceWriter(rows);
    this.#write(writer, [{ id, opens, row: 0 }], () => writer.appendColumns(values as never));
  }

  /** Appends with a writer whose lanes borrow the streams. A new episode begins in its lane, then takes over its location. */
  #write(writer: AnyWriter, targets: readonly Target[], append: () => unknown): void {
    const lanes = writer.streams;
    for (const [lane, { id, opens }] of targets.entries()) if (!opens) this.#streams.lend(this.location(id), lanes[lane] as number);
    let appended = false;
    try {
      append();
      appended = true;
    } finally {
      for (const [lane, { id, opens }] of targets.entries()) {
        if (opens && !appended) continue;
        if (opens) this.#begin(id);
        const previousSteps = this.steps(this.location(id));
        // If nothing was appended, the streams return unchanged.
        this.#streams.take(this.location(id), lanes[lane] as number);
        this.frames += this.steps(this.location(id)) - previousSteps;
      }
      this.#engine.changed();
    }
  }

  #sequenceWriter(steps: number): AnyWriter {
    if (this.#sequences === undefined || this.#sequences.options.keep < steps) {
      const keep = Math.max(MIN_KEEP, steps, Math.min(2 ** Math.ceil(Math.log2(steps)), MAX_LENGTH));
      const writer = this.#replay.writer({ keep, items: [] }) as unknown as AnyWriter;
      this.#sequences?.close();
      this.#sequences = writer;
    }
    return this.#sequences;
  }

  /**
   * Splits the rows over one writer, or over a few writers whose numbers of lanes are powers of two. A writer's memory is never fully freed, so a writer for
   * every number of rows would leak memory. Together, these writers take at most a few times the memory of the largest batch.
   */
  #parts(targets: readonly Target[]) {
    const parts: { readonly writer: AnyWriter; readonly targets: readonly Target[] }[] = [];
    for (let from = 0; from < targets.length; ) {
      const remaining = targets.length - from;
      const lanes = this.#batches.has(remaining) || this.#batches.size < USUAL_SIZES ? remaining : 2 ** Math.floor(Math.log2(remaining));
      const writer = this.#batches.get(lanes) ?? (this.#replay.writer({ lanes, keep: 1, items: [] }) as unknown as AnyWriter);
      this.#batches.set(lanes, writer);
      parts.push({ writer, targets: targets.slice(from, from + lanes) });
      from += lanes;
    }
    return parts;
  }
}

/** Returns the rows of a batch that belong to these targets. */
function pickRows(values: unknown, rows: number, targets: readonly Target[]): unknown {
  const isEnd = ArrayBuffer.isView(values) || (Array.isArray(values) && typeof values[0] === "string");
  if (!isEnd) {
    const parts = Object.entries(values as object).map(([key, part]) => [key, pickRows(part, rows, targets)] as const);
    return Array.isArray(values) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
  }
  const array = values as Float32Array;
  const rowSize = array.length / rows;
  return concatArrays(targets.map(({ row }) => array.slice(row * rowSize, (row + 1) * rowSize)));
}
