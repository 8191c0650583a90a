/** Encodes steps as bytes, followed by the values that rows cannot store. */
import { corrupt, type ReplayError } from "../../base/error.ts";
import { StepCodec } from "../../memory/step-codec.ts";
import { decodeTagged, encodeTagged } from "../../storage/index.ts";
import type { RowValues } from "../rows/transition-part.ts";
import type { Env, Steps } from "./steps.ts";

export class Records {
  readonly #steps: Steps;
  readonly #codec: StepCodec;

  constructor(steps: Steps) {
    this.#steps = steps;
    this.#codec = new StepCodec(steps.engine);
  }

  /**
   * Returns a row's bytes, valid until the next call. @param previousRow the row of the previous step, whose frames are not written again; 0 if there is no
   * previous step
   */
  write(row: number, previousRow: number): Uint8Array {
    const rowBytes = this.#codec.write(row, previousRow);
    const record = this.#steps.engine.objectStore.get(row);
    if (record === undefined) return rowBytes;
    // Object.assign omits the empty elements of the array.
    const recordBytes = encodeTagged(Object.assign({}, record), "a step");
    const output = new Uint8Array(rowBytes.length + recordBytes.length);
    output.set(rowBytes);
    output.set(recordBytes, rowBytes.length);
    return output;
  }

  /** Appends an encoded step to an episode. @throws ReplayError CORRUPT if the bytes are not a step of the spec, OUT_OF_MEMORY */
  read(env: Env, payload: Uint8Array): void {
    this.#steps.mayGrow(env);
    const usedBytes = this.#codec.append(env.stream, payload);
    if (usedBytes === 0) throw damaged("a step does not match the spec");
    this.#steps.onAppend(env, usedBytes < payload.length ? recordOf(payload.subarray(usedBytes)) : undefined);
  }
}

function recordOf(bytes: Uint8Array): RowValues {
  const value = decodeTagged(bytes);
  if (typeof value !== "object" || value === null) throw damaged("the extras of a step are not an object");
  const record: RowValues = [];
  for (const [slot, object] of Object.entries(value)) record[Number(slot)] = object;
  return record;
}

/** Returns the error for data that another program wrote, or altered together with its checksum. */
export function damaged(what: string): ReplayError {
  return corrupt("the file was not written by this package", what);
}
