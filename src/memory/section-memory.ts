/**
 * Provides memory in which sections are written, read and checksummed in place. It is a separate instance of the core without an arena, because it may outlive
 * a Replay.
 */
import type { Exports } from "../base/abi.ts";
import { ReplayError } from "../base/error.ts";
import { MAX_SECTION_BYTES } from "../base/limits.ts";
import { type Core, PAGE } from "./core.ts";
import { instance } from "./module.ts";
import { SECTION_MAX } from "./state.ts";

export class SectionMemory {
  readonly x: Exports;
  /** The address of the first byte that sections may use. */
  readonly base: number;
  u8!: Uint8Array<ArrayBuffer>;
  view!: DataView<ArrayBuffer>;

  constructor(module?: WebAssembly.Module) {
    this.x = instance(module);
    this.base = this.x.SECTIONS_AT.value;
    this.#refreshViews();
  }

  /** Makes room for `size` bytes from `base` on, and recreates the views. @throws ReplayError OUT_OF_MEMORY */
  reserve(size: number): void {
    const missing = this.base + size - this.u8.length;
    if (missing <= 0) return;
    try {
      if (size > 2 * MAX_SECTION_BYTES) throw new RangeError("the sections are too large");
      // The memory is doubled if possible, since it may keep growing.
      this.x.memory.grow(Math.ceil(Math.max(missing, Math.min(this.u8.length, MAX_SECTION_BYTES)) / PAGE));
    } catch {
      throw new ReplayError("OUT_OF_MEMORY", `no memory is left for ${size} bytes of a snapshot or log`);
    }
    this.#refreshViews();
  }

  /** Writes the head of a section whose payload follows it. */
  seal(at: number, kind: number, id: number, bytes: number): void {
    this.x.section_seal(at, kind, id, bytes);
  }

  /** Returns the expected checksum of the section at an address. */
  sum(at: number): number {
    return this.x.section_sum(at) >>> 0;
  }

  #refreshViews(): void {
    this.u8 = new Uint8Array(this.x.memory.buffer as ArrayBuffer);
    this.view = new DataView(this.x.memory.buffer as ArrayBuffer);
  }
}

/**
 * Returns a section made in a core's scratch, as a copy of its bytes. A long payload that is not already in scratch is sealed in separate memory, since the
 * core may be full.
 * @param head the number of bytes before the payload. The payload may already be in place
 */
export function sealSection(core: Core, head: number, kind: number, id: number, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = payload.length;
  if (bytes > SECTION_MAX && payload.buffer !== core.u8.buffer) {
    const memory = new SectionMemory(core.module);
    memory.reserve(head + bytes);
    memory.u8.set(payload, memory.base + head);
    memory.seal(memory.base, kind, id, bytes);
    return memory.u8.slice(memory.base, memory.base + head + bytes);
  }
  const at = core.scratch(head + bytes);
  if (payload.byteOffset !== at + head) core.u8.set(payload, at + head);
  core.x.section_seal(at, kind, id, bytes);
  return core.u8.slice(at, at + head + bytes);
}
