/**
 * Manages one instance of the core, and the views of its linear memory. Other code that keeps views recreates them after memory has moved (`generation`,
 * `listeners`).
 */
import { E_KEYS_EXHAUSTED, E_STORED, ERROR_ARGUMENT, ERROR_VALUE, type Exports } from "../base/abi.ts";
import { ReplayError } from "../base/error.ts";
import { MAX_REPLAY_BYTES } from "../base/limits.ts";
import { DTYPES } from "../schema/dtype.ts";
import type { HalfDtype } from "../schema/half.ts";
import { instance } from "./module.ts";

const GRANULE = 4096;
/** The number of bytes of a page, the unit in which WebAssembly memory grows. */
export const PAGE = 65536;

export class Core {
  readonly x: Exports;
  /** The build of the core, if the host passed one. */
  readonly module: WebAssembly.Module | undefined;
  /** The views of memory that code uses by name. There is one view per dtype. */
  u8!: Uint8Array<ArrayBuffer>;
  u32!: Uint32Array<ArrayBuffer>;
  i32!: Int32Array<ArrayBuffer>;
  f64!: Float64Array<ArrayBuffer>;
  /** Increases when memory grows or scratch moves. Holders of views compare this number, and recreate the views if it differs. */
  generation = 0;
  /** The last user of scratch, if that user passed itself. While the owner is the same object, its data in scratch is still valid. */
  owner: object | undefined;
  /** The remedy that messages name if memory is too small. The creator of the core may replace it. */
  remedy = "lower maxSize or maxSteps";
  /** The objects that are notified immediately after memory has moved. */
  readonly listeners = new Set<{ onMemoryMoved(): void }>();
  readonly #maxBytes: number;
  #scratch = 0;
  #scratchBytes = 0;

  /**
   * @param module another build of the core: the scalar build, or a build that the host compiled ahead of time
   * @param tracking whether to record changes for a journal
   */
  constructor(maxBytes: number, module?: WebAssembly.Module, tracking = false) {
    this.#maxBytes = maxBytes;
    this.module = module;
    this.x = instance(module);
    this.x.arena_init(Math.floor(Math.min(maxBytes, MAX_REPLAY_BYTES) / GRANULE), tracking ? 1 : 0);
    this.refresh();
  }

  /** Renews the views if memory has moved. For use after a call that may have taken memory. */
  refreshIfMoved(): void {
    if (this.u8.length === 0) this.refresh();
  }

  /** Recreates the views. */
  refresh(): void {
    for (const dtype in DTYPES) this[dtype as "u8"] = new DTYPES[dtype as "u8"].array(this.x.memory.buffer) as Uint8Array<ArrayBuffer>;
    this.generation++;
    for (const listener of this.listeners) listener.onMemoryMoved();
  }

  /** Allocates zeroed memory, and returns its address. @throws ReplayError OUT_OF_MEMORY */
  alloc(size: number): number {
    const at = size > MAX_REPLAY_BYTES ? 0 : this.x.arena_alloc(size) >>> 0;
    this.refreshIfMoved();
    if (at === 0) throw this.errorFor();
    return at;
  }

  /**
   * Checks the result of a call that may have taken memory, and returns the result.
   * @throws ReplayError OUT_OF_MEMORY, KEYS_EXHAUSTED if the result is an error code
   */
  checkedResult(code: number): number {
    this.refreshIfMoved();
    if (code < 0) throw this.errorFor(code);
    return code;
  }

  /** Grows the memory so that `bytes` more bytes fit, up to `maxBytes`. Does nothing if they fit already, or if the memory cannot grow. */
  growFor(bytes: number): void {
    this.refreshIfMoved();
    const end = Math.min(this.x.arena_used() + bytes, this.#maxBytes);
    const missing = Math.ceil((Math.floor(end / GRANULE) * GRANULE - this.u8.length) / PAGE);
    if (missing <= 0) return;
    try {
      this.x.memory.grow(missing);
    } catch {
      // The memory grows while the rows are loaded, as far as it can.
      return;
    }
    this.refresh();
  }

  /** Returns the number of bytes that a pool takes for `rows` rows of `bytesPerRow` bytes each. `bytesPerRow` includes the HEAD of a row. */
  poolRoom(bytesPerRow: number, rows: number): number {
    return this.x.pool_room(bytesPerRow, rows);
  }

  /** The argument, or the element of a batch, that the last failed call reported. */
  get errorArgument(): number {
    return this.i32[ERROR_ARGUMENT] as number;
  }

  get errorValue(): number {
    return this.f64[ERROR_VALUE] as number;
  }

  /**
   * Converts n elements of f32 at `from` to half floats at `to`, which may be the same address. Returns the number of elements converted before the first that
   * would become infinite. O(n)
   */
  narrow(dtype: HalfDtype, to: number, from: number, n: number): number {
    return this.x.halves_narrow(to, from, n, dtype === "bf16" ? 1 : 0);
  }

  /**
   * Returns the address of scratch, a region of at least `size` bytes for data that lives no longer than a call. The region moves when it grows. @throws
   * ReplayError OUT_OF_MEMORY
   */
  scratch(size: number, owner?: object): number {
    const old = this.#scratchBytes;
    this.owner = owner;
    if (size > old) {
      this.x.arena_free(this.#scratch, old);
      // Near the limit, there may be room only for the exact size. If there is not, the old size is allocated again.
      if (!this.#allocScratch(Math.max(size, 2 * old, 4 * GRANULE)) && !this.#allocScratch(size)) this.#allocScratch(old);
      this.refreshIfMoved();
      this.generation++;
      if (this.#scratchBytes < size) throw this.errorFor();
    }
    return this.#scratch;
  }

  /** Allocates the region for scratch. Returns whether there was room. */
  #allocScratch(bytes: number): boolean {
    this.#scratch = bytes === 0 || bytes > MAX_REPLAY_BYTES ? 0 : this.x.arena_alloc(bytes) >>> 0;
    this.#scratchBytes = this.#scratch === 0 ? 0 : bytes;
    return this.#scratch !== 0;
  }

  /** Returns the error of a call that found no memory, no room within `storedBytes.max`, or no key. @param code undefined if the call found no memory */
  errorFor(code?: number): Error {
    if (code === E_KEYS_EXHAUSTED) return new ReplayError("KEYS_EXHAUSTED", "all keys of this table are used up. Create a new Replay");
    if (code === E_STORED) {
      const mebibytes = Number((this.errorValue / 2 ** 20).toPrecision(4));
      return new ReplayError("OUT_OF_MEMORY", `storedBytes.max (${mebibytes} MiB) is reached, and no item is left to evict. Increase it, or release steps`);
    }
    const max = Number((this.#maxBytes / 2 ** 20).toPrecision(4));
    return new ReplayError("OUT_OF_MEMORY", `out of memory: maxBytes (${max} MiB) is reached. Increase it, or ${this.remedy}`);
  }
}
