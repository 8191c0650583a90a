/** One instance of the core: the only file that compiles WebAssembly and the only one that holds views on linear memory. */
import bytes from "../dist/core-bytes.js";
import { ABI_VERSION, E_CORRUPT, E_KEYS_EXHAUSTED, E_OUT_OF_MEMORY, type Exports } from "./abi.ts";
import { DTYPES } from "./dtype.ts";
import { ReplayError } from "./error.ts";

const GRANULE = 4096;
/** By which the bytes are written in the string (build/wasm-bytes.mjs). */
const MASK = 112;
/** 4 GiB less a page: byte offsets stay below 2^32. */
export const MOST_BYTES = 0xffff0000;

/** The core that comes with the package, compiled once. */
let builtIn: WebAssembly.Module | undefined;

/** A module from the string that stands for it. */
export function compile(bytes: string): WebAssembly.Module {
  return new WebAssembly.Module(Uint8Array.from(bytes, (char) => char.charCodeAt(0) ^ MASK));
}

export class Core {
  readonly x: Exports;
  bool!: Uint8Array<ArrayBuffer>;
  u8!: Uint8Array<ArrayBuffer>;
  i8!: Int8Array<ArrayBuffer>;
  u16!: Uint16Array<ArrayBuffer>;
  i16!: Int16Array<ArrayBuffer>;
  u32!: Uint32Array<ArrayBuffer>;
  i32!: Int32Array<ArrayBuffer>;
  u64!: BigUint64Array<ArrayBuffer>;
  i64!: BigInt64Array<ArrayBuffer>;
  f32!: Float32Array<ArrayBuffer>;
  f64!: Float64Array<ArrayBuffer>;
  /** Raised when memory grew or scratch moved: whoever keeps views of his own makes them anew. */
  generation = 0;
  /** Told at once when memory moved. */
  readonly lookers = new Set<{ moved(): void }>();
  readonly #maxBytes: number;
  #scratch = 0;
  #scratchBytes = 0;

  /** @param module another build of the core: the scalar one, or where a host compiles ahead of time */
  constructor(maxBytes: number, module: WebAssembly.Module = (builtIn ??= compile(bytes))) {
    this.#maxBytes = maxBytes;
    this.x = new WebAssembly.Instance(module, {}).exports as unknown as Exports;
    const version = this.x.ABI_VERSION?.value;
    if (version !== ABI_VERSION) throw new ReplayError("UNSUPPORTED", `core must have ABI version ${ABI_VERSION}, got ${version}: install both anew`);
    this.x.arena_init(Math.floor(Math.min(maxBytes, MOST_BYTES) / GRANULE));
    this.refresh();
  }

  /** Memory has grown: makes the views anew. To be called where `u8.length` is 0. */
  refresh(): void {
    const views = Object.entries(DTYPES).map(([dtype, { array }]) => [dtype, new array(this.x.memory.buffer)]);
    Object.assign(this, Object.fromEntries(views));
    this.generation++;
    for (const looker of this.lookers) looker.moved();
  }

  /** Takes zeroed memory. */
  alloc(size: number): number {
    const at = size > MOST_BYTES ? 0 : this.x.arena_alloc(size) >>> 0;
    if (this.u8.length === 0) this.refresh();
    if (at === 0) throw this.failure(E_OUT_OF_MEMORY, `${size} more bytes`);
    return at;
  }

  /** One region for everything that lives no longer than a call; it moves when it grows. */
  scratch(size: number): number {
    if (size > this.#scratchBytes) {
      const most = Math.max(size, 2 * this.#scratchBytes, 4 * GRANULE);
      this.x.arena_free(this.#scratch, this.#scratchBytes);
      this.#scratch = most > MOST_BYTES ? 0 : this.x.arena_alloc(most) >>> 0;
      this.#scratchBytes = this.#scratch === 0 ? 0 : most;
      if (this.u8.length === 0) this.refresh();
      // Near the limit there may be room for what is needed, and for no more.
      if (this.#scratch === 0) {
        this.#scratch = this.alloc(size);
        this.#scratchBytes = size;
      }
      this.generation++;
    }
    return this.#scratch;
  }

  /** The error of a refused call, for codes that mean the same everywhere. `what`: what was not possible. */
  failure(code: number, what: string): ReplayError {
    if (code === E_OUT_OF_MEMORY) return new ReplayError("OUT_OF_MEMORY", `maxBytes of ${this.#maxBytes} leaves no room for ${what}: raise it, or lower a maxSize`);
    if (code === E_KEYS_EXHAUSTED) return new ReplayError("KEYS_EXHAUSTED", `no key is left for ${what}: every one was used`);
    if (code === E_CORRUPT) return new ReplayError("CORRUPT", `${what} contradicts itself`);
    return new ReplayError("INVALID_DATA", `${what} was refused with code ${code}`);
  }
}
