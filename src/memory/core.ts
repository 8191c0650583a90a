/** One instance of the core, and the only file that holds views on its linear memory. */
import { E_KEYS_EXHAUSTED, E_STORED, ERROR_ARGUMENT, ERROR_VALUE, type Exports } from "../base/abi.ts";
import { ReplayError } from "../base/error.ts";
import { MAX_REPLAY_BYTES } from "../base/limits.ts";
import { DTYPES } from "../schema/dtype.ts";
import type { HalfDtype } from "../schema/half.ts";
import { instance } from "./module.ts";

const GRANULE = 4096;

export class Core {
  readonly x: Exports;
  /** The build of the core, where the host gave one. */
  readonly module: WebAssembly.Module | undefined;
  /** Views of memory, one a dtype; these are asked for by name. */
  u8!: Uint8Array<ArrayBuffer>;
  u32!: Uint32Array<ArrayBuffer>;
  i32!: Int32Array<ArrayBuffer>;
  f64!: Float64Array<ArrayBuffer>;
  /** Raised when memory grew or scratch moved: whoever keeps views of his own makes them anew. */
  generation = 0;
  /** Who took scratch last, where he said so: as long as that is himself, what he wrote there stands. */
  owner: object | undefined;
  /** What to do where memory is too small, by the names of who made this core. */
  remedy = "lower maxSize or maxSteps";
  /** Called immediately when memory has moved. */
  readonly listeners = new Set<{ onMemoryMoved(): void }>();
  readonly #maxBytes: number;
  #scratch = 0;
  #scratchBytes = 0;

  /**
   * @param module another build of the core: the scalar one, or where a host compiles ahead of time
   * @param tracking whether changes are noted for a journal
   */
  constructor(maxBytes: number, module?: WebAssembly.Module, tracking = false) {
    this.#maxBytes = maxBytes;
    this.module = module;
    this.x = instance(module);
    this.x.arena_init(Math.floor(Math.min(maxBytes, MAX_REPLAY_BYTES) / GRANULE), tracking ? 1 : 0);
    this.refresh();
  }

  /** After a call that may have taken memory: renews the views if memory has moved. */
  refreshIfMoved(): void {
    if (this.u8.length === 0) this.refresh();
  }

  /** Makes the views anew. */
  refresh(): void {
    for (const dtype in DTYPES) this[dtype as "u8"] = new DTYPES[dtype as "u8"].array(this.x.memory.buffer) as Uint8Array<ArrayBuffer>;
    this.generation++;
    for (const listener of this.listeners) listener.onMemoryMoved();
  }

  /** Takes zeroed memory. */
  alloc(size: number): number {
    const at = size > MAX_REPLAY_BYTES ? 0 : this.x.arena_alloc(size) >>> 0;
    this.refreshIfMoved();
    if (at === 0) throw this.errorFor();
    return at;
  }

  /** Ends a call that may have taken memory: what it gave. @throws ReplayError OUT_OF_MEMORY, KEYS_EXHAUSTED for a code */
  checkedResult(code: number): number {
    this.refreshIfMoved();
    if (code < 0) throw this.errorFor(code);
    return code;
  }

  /** Bytes that a pool takes for so many rows of `bytesPerRow` bytes each, HEAD included. */
  poolRoom(bytesPerRow: number, rows: number): number {
    return this.x.pool_room(bytesPerRow, rows);
  }

  /** Of the call that was refused last: which argument, or which element of a batch; and its value. */
  get errorArgument(): number {
    return this.i32[ERROR_ARGUMENT] as number;
  }

  get errorValue(): number {
    return this.f64[ERROR_VALUE] as number;
  }

  /** Makes half floats of n elements of f32 at `from`, which may be `to`. How many there were before one that would become infinite: then part of them is written. O(n) */
  narrow(dtype: HalfDtype, to: number, from: number, n: number): number {
    return this.x.halves_narrow(to, from, n, dtype === "bf16" ? 1 : 0);
  }

  /** One region for everything that lives no longer than a call; it moves when it grows. */
  scratch(size: number, owner?: object): number {
    const old = this.#scratchBytes;
    this.owner = owner;
    if (size > old) {
      this.x.arena_free(this.#scratch, old);
      // Near the limit there may be room for what is needed, and for no more; or not for that: then what was there is taken again.
      if (!this.#allocScratch(Math.max(size, 2 * old, 4 * GRANULE)) && !this.#allocScratch(size)) this.#allocScratch(old);
      this.refreshIfMoved();
      this.generation++;
      if (this.#scratchBytes < size) throw this.errorFor();
    }
    return this.#scratch;
  }

  /** The region for scratch; whether there was room for it. */
  #allocScratch(bytes: number): boolean {
    this.#scratch = bytes === 0 || bytes > MAX_REPLAY_BYTES ? 0 : this.x.arena_alloc(bytes) >>> 0;
    this.#scratchBytes = this.#scratch === 0 ? 0 : bytes;
    return this.#scratch !== 0;
  }

  /** The error of a call that found no room, or no key. @param code undefined for no room */
  errorFor(code?: number): Error {
    if (code === E_KEYS_EXHAUSTED) return new ReplayError("KEYS_EXHAUSTED", "all keys of this table are used up: make a new Replay");
    if (code === E_STORED) {
      const mebibytes = Number((this.errorValue / 2 ** 20).toPrecision(4));
      return new ReplayError("OUT_OF_MEMORY", `storedBytes.max (${mebibytes} MiB) is reached, and no item is left to evict: raise it, or let steps go`);
    }
    const max = Number((this.#maxBytes / 2 ** 20).toPrecision(4));
    return new ReplayError("OUT_OF_MEMORY", `out of memory: maxBytes (${max} MiB) is reached; raise it, or ${this.remedy}`);
  }
}
