/** Converts single steps to bytes, and back into a stream (assembly/persistence/step.ts). */
import type { Engine } from "./engine.ts";
import type { CoreStream } from "./stream.ts";

export class StepCodec {
  readonly #engine: Engine;
  readonly #maxBytes: number;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#maxBytes = engine.core.x.record_max_bytes(engine.pool) >>> 0;
  }

  /**
   * Returns a row's bytes, valid until the next call.
   * @param previousRow the row of the previous step, whose frames are not written again; 0 if there is none
   */
  write(row: number, previousRow: number): Uint8Array {
    const { core, pool } = this.#engine;
    const at = core.scratch(this.#maxBytes);
    return core.u8.subarray(at, at + (core.x.record_write(pool, row, previousRow, at) >>> 0));
  }

  /**
   * Appends a step from bytes, which may be followed by other data. Returns the step's length in bytes; 0 if the bytes are not a step of this spec.
   * @throws ReplayError OUT_OF_MEMORY
   */
  append(stream: CoreStream, bytes: Uint8Array): number {
    const { core } = this.#engine;
    const at = core.scratch(bytes.length);
    core.u8.set(bytes, at);
    return core.checkedResult(core.x.record_append(stream.handle, at, bytes.length));
  }
}
