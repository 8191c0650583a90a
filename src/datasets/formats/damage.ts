/** Records damage that a salvaging reader found in its files. Data that a target format cannot store is a loss of the writer (sinks/losses.ts). */
import { flag } from "../../base/error.ts";
import { type Place, RldsError, withEnding } from "../model/rlds-error.ts";

/** A damaged part of the files. */
export interface SourceLoss extends Place {
  readonly code: string;
  /** The description of the damage, like the message of an error. */
  readonly reason: string;
}

/** The maximum number of listed parts. A file of garbage may have a damaged part in every line. */
const MAX_PARTS = 1000;
/** The codes of damaged or missing data. All other errors, such as a full disk or an invalid option, are thrown. */
const CODES = ["CORRUPT", "NOT_FOUND", "SPEC_MISMATCH", "INVALID_DATA", "EMPTY"];

/** The damage that a reader found. Reading a damaged place twice records it once. */
export class Damage {
  /** The damage so far. The list grows while the files are read. */
  readonly all: readonly SourceLoss[];
  readonly #losses: SourceLoss[] = [];
  readonly #messages = new Set<string>();

  constructor() {
    this.all = this.#losses;
  }

  /** Records an error. @throws the error, unless it means damaged or missing data */
  add(error: unknown): void {
    if (!(error instanceof RldsError) || !CODES.includes(error.code)) throw error;
    const { file, offset, episode, step, message, code } = error;
    const place = { ...(file !== undefined && { file }), ...(offset !== undefined && { offset }), ...(episode !== undefined && { episode }) };
    this.#note({ ...place, ...(step !== undefined && { step }), code, reason: message });
  }

  /** Returns a logger that records the warnings of a log, each of which reports an abandoned part. */
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

/** Returns an error about damage with the option `salvage` as its remedy. Returns any other error unchanged. */
export function withSalvageRemedy(error: unknown): unknown {
  const isDamage = error instanceof RldsError && (error.code === "CORRUPT" || error.code === "NOT_FOUND");
  return isDamage && !error.message.includes(SALVAGE) ? withEnding(error, SALVAGE) : error;
}

/** Records damage of a part if losses are allowed. @throws the error otherwise, with the option `salvage` as its remedy */
export function addDamage(losses: Damage | undefined, error: unknown): void {
  if (losses === undefined) throw withSalvageRemedy(error);
  losses.add(error);
}

/** Returns the damage list of a reader with the option `salvage`; undefined without it. @throws TypeError if `salvage` is not a boolean */
export function damageOf(salvage: boolean | undefined): Damage | undefined {
  return salvage !== undefined && flag("salvage", salvage) === 1 ? new Damage() : undefined;
}

/** Returns the property `losses` of a reader, or an empty object without a damage list. */
export function withDamage(losses: Damage | undefined): { readonly losses?: readonly SourceLoss[] } {
  return losses === undefined ? {} : { losses: losses.all };
}
