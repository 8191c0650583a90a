/** Steps as bytes, and what rows cannot hold behind them. */
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

  /** A row's bytes, good until the next call. @param previousRow the row of the step before, whose frames are not written again; 0 for none */
  write(row: number, previousRow: number): Uint8Array {
    const rowBytes = this.#codec.write(row, previousRow);
    const record = this.#steps.engine.objectStore.get(row);
    if (record === undefined) return rowBytes;
    // Places that are not taken are left out.
    const recordBytes = encodeTagged(Object.assign({}, record), "a step");
    const output = new Uint8Array(rowBytes.length + recordBytes.length);
    output.set(rowBytes);
    output.set(recordBytes, rowBytes.length);
    return output;
  }

  /** Appends a step that was written so to an episode. @throws ReplayError CORRUPT, OUT_OF_MEMORY */
  read(env: Env, payload: Uint8Array): void {
    this.#steps.mayGrow(env);
    const usedBytes = this.#codec.append(env.stream, payload);
    if (usedBytes === 0) throw damaged("a step is not of this spec");
    this.#steps.onAppend(env, usedBytes < payload.length ? recordOf(payload.subarray(usedBytes)) : undefined);
  }
}

function recordOf(bytes: Uint8Array): RowValues {
  const value = decodeTagged(bytes);
  if (typeof value !== "object" || value === null) throw damaged("what is beside a step is no record");
  const record: RowValues = [];
  for (const [slot, object] of Object.entries(value)) record[Number(slot)] = object;
  return record;
}

/** What was written by another program, or altered so that its checksum is right. */
export function damaged(what: string): ReplayError {
  return corrupt("the file was not written by this package", what);
}
