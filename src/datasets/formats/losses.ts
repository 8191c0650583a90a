/** What a reader that salvages could not read. */
import { type Place, RldsError } from "../model/rlds-error.ts";

/** One part of the files that is not whole. */
export interface Loss extends Place {
  readonly code: string;
  /** The sentence that an error would have had. */
  readonly reason: string;
}

/** Losses that are kept; a file of garbage has one a line. */
const MAX_LOSSES = 1000;
/** What says that data are damaged or missing. Everything else, such as a full disk or a wrong option, stays an error. */
const CODES = ["CORRUPT", "NOT_FOUND", "SPEC_MISMATCH", "INVALID_DATA", "EMPTY"];

/** Losses of one reader. A place that was read twice counts once. */
export class Losses {
  readonly #losses = new Map<string, Loss>();

  get all(): readonly Loss[] {
    return [...this.#losses.values()];
  }

  /** Notes what an error says. @throws the error, if it is none of damaged or missing data */
  add(error: unknown): void {
    if (!(error instanceof RldsError) || !CODES.includes(error.code)) throw error;
    const { file, offset, episode, step, message, code } = error;
    const place = { ...(file !== undefined && { file }), ...(offset !== undefined && { offset }), ...(episode !== undefined && { episode }) };
    if (this.#losses.size < MAX_LOSSES) this.#losses.set(message, { ...place, ...(step !== undefined && { step }), code, reason: message });
  }
}
