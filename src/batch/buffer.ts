/**
 * Manages the memory of one batch while a draw fills it: new memory, the memory of a batch to refill, or arrays of the caller. Copies results out of scratch
 * memory.
 */

import { OUTPUT_BYTES, START } from "../base/abi.ts";
import { described, mustBe, ReplayError } from "../base/error.ts";
import { kindOf, prefixView, typedLength } from "../base/typed-arrays.ts";
import type { Engine } from "../memory/engine.ts";
import type { AnyArray, ArrayClass } from "../schema/dtype.ts";
import { alignUp } from "../schema/layout.ts";
import { valueAt } from "../schema/nest.ts";
import { leaseOf } from "./batch.ts";
import { Draw } from "./draw.ts";
import { type BatchLayout, type Field, type Lease, NO_TEXTS, NO_WINDOWS, type Output, SOURCE, type Texts, type Windows } from "./layout.ts";

/** The fields of a batch that draws write. */
export interface Filled {
  count: number;
  blocked?: unknown;
}

/** A view of an array of the caller, and of the part of scratch that is copied to it. */
interface Copy {
  readonly field: Field;
  readonly target: AnyArray;
  from: AnyArray;
}

/** A view of scratch, and its destination in memory. */
interface Piece {
  readonly from: Uint8Array;
  readonly to: number;
}

/** The receiver of buffers whose batches were released: a pool, or an object that empties their arrays. */
interface Home {
  back(buffer: BatchBuffer): void;
}

export class BatchBuffer {
  readonly engine: Engine;
  readonly layout: BatchLayout;
  /** The draw that fills the buffer. Its data are valid from `prepare` until another call uses scratch. */
  readonly draw: Draw;
  /** The receiver of the buffer when its batch is released; undefined if the batch is not lent. */
  home: Home | undefined = undefined;
  /** The core's arguments: the outputs and the lists of steps. `isPlanned` means that they are already in scratch. They stay there until another draw. */
  plan: Uint32Array = new Uint32Array(0);
  isPlanned = false;
  /** The address of the plan in scratch. */
  base = 0;
  /** The lists of steps of each output, item by item. Undefined unless the items show different steps. */
  lists: readonly Int32Array[] | undefined;
  texts: Texts = NO_TEXTS;
  /** The lease of the buffer's batch; undefined if Reprise did not make the batch. */
  lease: Lease | undefined;
  /** Whether the caller passed the batch, so its arrays may be longer than the draw. */
  readonly isRefilled: boolean;
  /** The batch to fill, and how its windows are read. */
  batch!: Filled;
  windows!: Windows;
  /** Whether the batch is unused since it was made or released, so it needs no checks. */
  isFresh = false;
  /** The memory of new arrays. Undefined if the buffer fills arrays of the caller. */
  #memory: Uint8Array<ArrayBuffer> | undefined;
  /** The views of scratch: one for everything that is copied to memory, or several if the draw was made for another buffer. */
  #pieces: readonly Piece[] = [];
  readonly #copies: Copy[] = [];
  /** The bytes of arrays that are not copied from scratch, by field number. Only for arrays of the caller. */
  readonly #direct: (Uint8Array | undefined)[] = [];
  #generation = -1;

  /**
   * @param into the batch to refill; by default, a new batch is made
   * @throws ReplayError SPEC_MISMATCH if an array of `into` is missing or too small
   */
  constructor(engine: Engine, layout: BatchLayout, into?: object) {
    this.engine = engine;
    this.layout = layout;
    this.draw = new Draw(engine);
    this.isRefilled = into !== undefined;
    if (into === undefined) this.renew();
    else this.refill(into);
  }

  /** Makes a new batch with the same layout. @throws ReplayError OUT_OF_MEMORY */
  renew(): this {
    const { layout } = this;
    const bytes = layout.bytes < PAGED ? new Uint8Array(new ArrayBuffer(layout.bytes)) : newMemory(layout.bytes);
    const texts = layout.texts.length === 0 ? NO_TEXTS : layout.newTexts();
    this.#memory = bytes;
    this.texts = texts;
    this.#newBatch(bytes.buffer, texts, []);
    return this;
  }

  /** Lends the buffer's batch. Returned memory gets a new batch object, so that holders of the old batch cannot release the new batch. */
  lend(home: Home): this {
    this.home = home;
    const { isReleased, memory, texts, columns } = this.lease as Lease;
    if (isReleased) this.#newBatch(memory, texts, columns);
    (this.lease as Lease).owner = this;
    return this;
  }

  /** Makes a batch, with a new lease of the memory. @param columns the columns read so far */
  #newBatch(memory: ArrayBuffer, texts: Texts, columns: unknown[]): void {
    const { layout } = this;
    const windows = { ...NO_WINDOWS };
    this.windows = windows;
    this.lease = { layout, memory, texts, columns, windows, itemLayouts: undefined, owner: undefined, isReleased: false };
    this.batch = new layout.batch(this.lease) as Filled;
  }

  /** Passes the buffer to its `home`, because its batch was released. */
  back(): void {
    this.home?.back(this);
  }

  /** Returns the buffer's batch, and keeps no reference to the batch. */
  give(): object {
    const { batch } = this;
    this.batch = NO_BATCH;
    this.lease = undefined;
    this.#memory = undefined;
    this.texts = NO_TEXTS;
    return batch;
  }

  /** Transfers the buffer's memory, so that all arrays in it become empty. */
  detach(): void {
    const memory = this.#memory;
    if (memory !== undefined && memory.length > 0) structuredClone(memory.buffer, { transfer: [memory.buffer] });
    this.#memory = undefined;
    this.texts = NO_TEXTS;
  }

  /** Whether a released batch can be filled again: its memory was not transferred, and none of its objects is frozen. */
  get canRefill(): boolean {
    const isThere = this.#memory !== undefined && this.#memory.length > 0 && Object.isExtensible(this.batch);
    return isThere && !this.texts.some((text) => text !== undefined && Object.isFrozen(text));
  }

  /** The row of the batch that contains the first item of this buffer. */
  get first(): number {
    return 0;
  }

  /** Returns the array of a field, by the number of the field: strings for text, otherwise a typed array. */
  array(field: number): AnyArray | string[] {
    const { type, each, keys, shape } = this.layout.fields[field] as Field;
    if (type === undefined) return this.texts[field] as string[];
    if (this.#memory === undefined) return valueAt(this.batch, shape === undefined ? keys : [...keys, "data"]) as AnyArray;
    return new type(this.#memory.buffer, this.layout.starts[field] as number, this.layout.n * each);
  }

  /** Returns the memory that contains a field's array, for arrays that are not copied from scratch. */
  bytesOf(field: number): Uint8Array {
    return this.#memory ?? (this.#direct[field] as Uint8Array);
  }

  startOf(field: number): number {
    return this.#memory === undefined ? 0 : (this.layout.starts[field] as number);
  }

  /**
   * Prepares a draw in scratch memory. Every allocation that may fail happens here, before the table changes. @throws ReplayError OUT_OF_MEMORY · the errors of
   * `check`
   */
  prepare(): Draw {
    const { draw, layout } = this;
    const { core } = this.engine;
    if (this.isFresh) this.isFresh = false;
    else this.check();
    if (core.owner !== draw) this.isPlanned = false;
    this.base = draw.prepare(layout.scratch, layout.n, layout.rows);
    if (this.#generation !== core.generation) this.look(true);
    this.#generation = core.generation;
    return draw;
  }

  /** Takes over the draw of a buffer for more items or longer windows. */
  takeOver(other: BatchBuffer): void {
    this.base = other.base;
    this.draw.handle = other.draw.handle;
    this.look(false);
    other.isPlanned = false;
    // The views of scratch must be recreated for the next draw, which is made for this buffer again.
    this.#generation = -1;
  }

  /** Checks that the batch can be filled. @throws ReplayError SPEC_MISMATCH if its memory was transferred, if a part of it is frozen, or if it was released */
  check(): void {
    const { n, isBlockable, fields } = this.layout;
    if (this.#memory?.length === 0) throw transferred();
    for (let i = 0; i < this.#copies.length; i++) {
      const { field, target } = this.#copies[i] as Copy;
      if (target.length !== n * field.each) throw detachedError(field, n);
    }
    for (let i = 0; i < this.#direct.length; i++) {
      const view = this.#direct[i];
      if (view !== undefined && view.length === 0 && n * (fields[i] as Field).each > 0) throw detachedError(fields[i] as Field, n);
    }
    for (let i = 0; i < this.texts.length; i++) {
      const target = this.texts[i];
      if (target !== undefined && Object.isFrozen(target)) throw mustBe("SPEC_MISMATCH", (fields[i] as Field).path, "an array that is not frozen", target);
    }
    const { batch } = this;
    const { count, blocked } = batch;
    if (this.lease?.isReleased) throw released();
    // A failed write detects a frozen batch, and costs less than a check.
    try {
      batch.count = count;
      if (isBlockable) batch.blocked = blocked;
    } catch {
      mustBeWritable(batch, isBlockable);
    }
  }

  /** Records at which steps of their items the windows of a draw begin. */
  keepStarts(count: number): void {
    const { windows, layout } = this;
    if (windows.starts?.length !== layout.n) windows.starts = new Uint32Array(layout.n);
    const { u32 } = this.engine.core;
    const first = this.draw.address(START) / 4;
    for (let i = 0; i < count; i++) windows.starts[i] = u32[first + i] as number;
  }

  /** Copies the first `count` items from scratch to the arrays of the batch. */
  copyOut(count: number): void {
    const memory = this.#memory;
    const copies = this.#copies;
    const { n } = this.layout;
    // The loop uses an index: before V8 optimizes this function, `for … of` allocates an object per iteration.
    if (memory !== undefined && count < n) this.#copySome(memory, count);
    else if (memory !== undefined) for (let i = 0; i < this.#pieces.length; i++) memory.set((this.#pieces[i] as Piece).from, (this.#pieces[i] as Piece).to);
    for (let i = 0; i < copies.length; i++) {
      const { target, from, field } = copies[i] as Copy;
      // Both sides have the same class, so this is a plain copy of memory.
      (target as Float64Array).set((count === n ? from : from.subarray(0, count * field.each)) as Float64Array);
    }
  }

  /** The address in scratch of the lists of steps per item. Text, stops and values follow these lists. */
  get listsAt(): number {
    return this.base + this.layout.head;
  }

  /** Returns the address in scratch of a field whose values are gathered or computed. */
  valueAt(field: number): number {
    return this.#valuesAt + (this.layout.fields[field] as Field).at;
  }

  textAt({ steps }: Output): number {
    return this.listsAt + alignUp(4 * steps.length * this.layout.n, 16);
  }

  stopAt({ stop }: Output): number {
    return this.listsAt + this.layout.temporary + stop;
  }

  /** The address in scratch at which packed frames are unpacked and half-precision numbers are widened; 0 if the layout has neither. */
  get windowAt(): number {
    return this.layout.window === 0 ? 0 : this.listsAt + this.layout.temporary + this.layout.stops;
  }

  /** The address of the layout's extra memory. */
  get extraAt(): number {
    return this.listsAt + this.layout.temporary + this.layout.stops + this.layout.window;
  }

  get #valuesAt(): number {
    return this.extraAt + this.layout.extra;
  }

  /** Returns the address in scratch of any field, including a column of the draw. */
  addressOf(field: number): number {
    return this.sourceOf(this.layout.fields[field] as Field);
  }

  protected refill(into: object): void {
    mustBeWritable(into, this.layout.isBlockable);
    const lease = leaseOf(into);
    if (lease?.isReleased) throw released();
    this.batch = into as Filled;
    this.lease = lease;
    this.windows = lease?.windows ?? { ...NO_WINDOWS };
    if (lease === undefined || !this.layout.isAlike(lease.layout)) {
      this.#borrow(into);
      return;
    }
    if (lease.memory.byteLength === 0) throw transferred();
    this.#memory = new Uint8Array(lease.memory);
    this.texts = lease.texts;
  }

  /** Makes the buffer fill arrays of the caller. @throws ReplayError SPEC_MISMATCH if an array is too small or has the wrong class */
  #borrow(into: object): void {
    const { n, fields } = this.layout;
    const texts: (string[] | undefined)[] = [];
    for (const [i, field] of fields.entries()) {
      const { keys, path, type, each, source, shape } = field;
      const array = valueAt(into, shape === undefined ? keys : [...keys, "data"]);
      if (type === undefined) {
        if (!Array.isArray(array)) throw mustBe("SPEC_MISMATCH", path, "an array", array);
        texts[i] = array;
        continue;
      }
      if (kindOf(array) !== type.name || typedLength(array as AnyArray) < n * each)
        throw mustBe("SPEC_MISMATCH", path, `${type.name.startsWith("I") ? "an" : "a"} ${type.name} of at least ${n * each} elements`, array);
      // The parts of a mixture's batch write directly to their rows.
      if (source === "direct" || this.layout.holds & SOURCE) this.#direct[i] = prefixView(array as AnyArray, Uint8Array, n * each * type.BYTES_PER_ELEMENT);
      else this.#copies.push({ field, target: prefixView(array as AnyArray, type, n * each), from: NOTHING });
    }
    this.texts = texts;
  }

  /**
   * Recreates the views of scratch and the plan.
   * @param isOwn whether the draw was made for this buffer, so that the columns of the draw are laid out as in memory
   */
  protected look(isOwn: boolean): void {
    const { u8 } = this.engine.core;
    const { n, fields, starts, copied, values } = this.layout;
    const from = this.#valuesAt;
    for (const copy of this.#copies) copy.from = new (copy.field.type as ArrayClass)(u8.buffer, this.sourceOf(copy.field), n * copy.field.each);
    const pieces = [{ from: u8.subarray(from, from + (isOwn ? copied : values)), to: 0 }];
    for (const [i, field] of fields.entries()) {
      if (isOwn || field.source !== "draw") continue;
      const at = this.sourceOf(field);
      pieces.push({ from: u8.subarray(at, at + n * (field.type as ArrayClass).BYTES_PER_ELEMENT), to: starts[i] as number });
    }
    this.#pieces = pieces;
    this.plan = this.planned();
    this.isPlanned = false;
  }

  /** Returns the plan: one OUTPUT per array, and the lists of steps. */
  protected planned(): Uint32Array {
    const { outputs, straight, texts, head, runs, fields, picks } = this.layout;
    const all = [...outputs, ...straight, ...texts];
    const plan = new Uint32Array((head - runs) / 4);
    const lists = (OUTPUT_BYTES / 4) * all.length;
    const places = picks && new Map(picks.map((step, place) => [step, place]));
    for (const [i, output] of all.entries()) {
      const { leaf, steps, list, field } = output;
      const { type, source, at } = fields[field] as Field;
      const to = type === undefined ? this.textAt(output) : source === "direct" ? this.stopAt(output) : this.#valuesAt + at;
      plan.set([leaf.index, this.base + 4 * (lists + list), steps.length, 0, to], (OUTPUT_BYTES / 4) * i);
      plan.set(places === undefined ? steps : steps.map((step) => places.get(step) as number), lists + list);
    }
    return plan;
  }

  /** Returns the address in scratch that an array is copied from. */
  protected sourceOf({ source, at }: Field): number {
    return source === "draw" ? this.draw.address(at) : this.#valuesAt + at;
  }

  /** Copies only the first items; later elements stay unchanged. */
  #copySome(memory: Uint8Array, count: number): void {
    const { u8 } = this.engine.core;
    const { fields, starts } = this.layout;
    for (const [i, field] of fields.entries()) {
      if (field.type === undefined || field.source === "direct") continue;
      const from = this.sourceOf(field);
      memory.set(u8.subarray(from, from + count * field.each * field.type.BYTES_PER_ELEMENT), starts[i] as number);
    }
  }
}

/**
 * Checks before the draw that the fields of the batch other than its arrays are writable. @throws TypeError if `into` is not an object · ReplayError
 * SPEC_MISMATCH if a field is read-only
 */
function mustBeWritable(into: object, isBlockable: boolean): void {
  if (typeof into !== "object" || into === null) throw mustBe(TypeError, "into", "a batch to refill", into);
  for (const name of isBlockable ? ["count", "blocked"] : ["count"])
    if (!Reflect.set(into, name, (into as { readonly [name: string]: unknown })[name]))
      throw mustBe("SPEC_MISMATCH", `into.${name}`, ["writable", "Pass a batch that is not frozen"], into);
}

/** Returns the error for a batch to refill that is already released. */
function released(): Error {
  const remedy = "To keep a batch, sample without recycle, or into table.batch(n, …)";
  return mustBe(
    "SPEC_MISMATCH",
    "into",
    ["a batch that has not been released, because another draw may use its memory", remedy],
    described("a released batch"),
  );
}

function transferred(): Error {
  return mustBe("SPEC_MISMATCH", "into", "a batch whose memory has not been transferred", described("a batch whose memory was transferred"));
}

function detachedError({ path, each }: Field, n: number): Error {
  return mustBe("SPEC_MISMATCH", path, `an array of at least ${n * each} elements`, described("an array whose memory was transferred or has shrunk"));
}

const NOTHING = new Uint8Array(0);
/** The placeholder for a batch that now belongs to the caller. */
const NO_BATCH: Filled = Object.freeze({ count: 0 });

/** The size in bytes above which glibc maps memory separately and unmaps it on free. The threshold rises when a larger mapping is freed. */
const PAGED = 1 << 17;
/** The largest mapping that raises glibc's threshold: 32 MiB including its header. */
const LESSON = (1 << 25) - (1 << 14);
let hasLearned = (globalThis as { readonly process?: { readonly release?: { readonly name?: string } } }).process?.release?.name !== "node";
/** A batch must have fewer bytes than this, because the offsets in a batch are u32. */
const MAX_BYTES = 2 ** 32;

/** Returns the memory of a large batch. @throws ReplayError OUT_OF_MEMORY */
function newMemory(bytes: number): Uint8Array<ArrayBuffer> {
  if (!hasLearned) teach();
  try {
    if (bytes < MAX_BYTES) return new Uint8Array(new ArrayBuffer(bytes));
  } catch {}
  const limit = bytes < MAX_BYTES ? "this runtime cannot allocate one array of that size" : "a batch must be smaller than 4 GiB";
  throw new ReplayError("OUT_OF_MEMORY", `the batch would have ${bytes} bytes, but ${limit}. Sample fewer items, or shorter windows`);
}

/**
 * Raises glibc's threshold for mapped memory by freeing one large array, whose pages are never touched. Afterwards, glibc reuses freed memory, which makes new
 * batches up to three times as fast. On most systems, Node runs on glibc.
 */
function teach(): void {
  hasLearned = true;
  try {
    new ArrayBuffer(LESSON);
  } catch {
    // Too little memory is free for this array. The batch itself either fits, or fails with its own error.
  }
}
