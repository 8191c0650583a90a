/**
 * Records the damage that a reader with the option `salvage` finds in its files. The losses of a writer, which are data that a format cannot store, are in
 * sinks/losses.ts.
 */
import { flag } from "../../base/error.ts";
import { type Place, RldsError, withEnding } from "../model/rlds-error.ts";

/** A damaged part of the files. */
export interface SourceLoss extends Place {
  readonly code: string;
  /** The description of the damage, like the message of an error. */
  readonly reason: string;
}

/** The maximum number of damaged parts that are listed. If a file is completely damaged, every line may count as a part. */
const MAX_PARTS = 1000;
/** The codes of errors for damaged or missing data. All other errors, such as a full disk or an invalid option, are thrown. */
const CODES = ["CORRUPT", "NOT_FOUND", "SPEC_MISMATCH", "INVALID_DATA", "EMPTY"];

/** The damage that a reader found. If a damaged place is read twice, it is recorded only once. */
export class Damage {
  /** The damage so far. The list grows while the files are read. */
  readonly all: readonly SourceLoss[];
  readonly #losses: SourceLoss[] = [];
  readonly #messages = new Set<string>();

  constructor() {
    this.all = this.#losses;
  }

  /** Records an error. @throws the error if its code is not one for damaged or missing data */
  add(error: unknown): void {
    if (!(error instanceof RldsError) || !CODES.includes(error.code)) throw error;
    const { file, offset, episode, step, message, code } = error;
    const place = { ...(file !== undefined && { file }), ...(offset !== undefined && { offset }), ...(episode !== undefined && { episode }) };
    this.#note({ ...place, ...(step !== undefined && { step }), code, reason: message });
  }

  /**
   * Returns a logger for opening a journal or a recording. The logger records each warning as damage, because each warning reports a part that was abandoned.
   */
  logger(file: string): { warn(message: string): void } {
    return { warn: (reason) => this.#note({ file, code: "CORRUPT", reason }) };
  }

  #note(loss: SourceLoss): void {
    if (this.#messages.has(loss.reason) || this.#losses.length === MAX_PARTS) return;
    this.#messages.add(loss.reason);
    this.#losses.push(loss);
  }
}

const SALVAGE = ". Pass salvage: true to read the rest";

/** Adds the option `salvage` as the remedy to an error about damage. Returns any other error unchanged. */
export function withSalvageRemedy(error: unknown): unknown {
  const isDamage = error instanceof RldsError && (error.code === "CORRUPT" || error.code === "NOT_FOUND");
  return isDamage && !error.message.includes(SALVAGE) ? withEnding(error, SALVAGE) : error;
}

/**
 * Records an error about damage.
 * @throws the error with the option `salvage` as its remedy if `losses` is undefined
 * @throws the error itself if its code is not one for damaged or missing data
 */
export function addDamage(losses: Damage | undefined, error: unknown): void {
  if (losses === undefined) throw withSalvageRemedy(error);
  losses.add(error);
}

/**
 * Returns the damage list of a reader with the option `salvage`. Returns undefined if the option is not set. @throws TypeError if `salvage` is not a boolean
 */
export function damageOf(salvage: boolean | undefined): Damage | undefined {
  return salvage !== undefined && flag("salvage", salvage) === 1 ? new Damage() : undefined;
}

/** Returns an object with the property `losses` of a reader, or an empty object if there is no damage list. */
export function withDamage(losses: Damage | undefined): { readonly losses?: readonly SourceLoss[] } {
  return losses === undefined ? {} : { losses: losses.all };
}
