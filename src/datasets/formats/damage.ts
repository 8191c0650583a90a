/** Damage of the files that are read: what a reader that salvages could not read. What a target cannot hold is a loss (sinks/losses.ts). */
import { flag } from "../../base/error.ts";
import { type Place, RldsError, withEnding } from "../model/rlds-error.ts";

/** One part of the files that is not whole. */
export interface SourceLoss extends Place {
  readonly code: string;
  /** The sentence that an error would have had. */
  readonly reason: string;
}

/** The most parts that are listed; a file of garbage has one a line. */
const MAX_PARTS = 1000;
/** What says that data are damaged or missing. Everything else, such as a full disk or a wrong option, stays an error. */
const CODES = ["CORRUPT", "NOT_FOUND", "SPEC_MISMATCH", "INVALID_DATA", "EMPTY"];

/** The damage that one reader met. A place that was read twice counts once. */
export class Damage {
  /** Grows while the files are read. */
  readonly all: readonly SourceLoss[];
  readonly #losses: SourceLoss[] = [];
  readonly #messages = new Set<string>();

  constructor() {
    this.all = this.#losses;
  }

  /** Notes what an error says. @throws the error, if it is none of damaged or missing data */
  add(error: unknown): void {
    if (!(error instanceof RldsError) || !CODES.includes(error.code)) throw error;
    const { file, offset, episode, step, message, code } = error;
    const place = { ...(file !== undefined && { file }), ...(offset !== undefined && { offset }), ...(episode !== undefined && { episode }) };
    this.#note({ ...place, ...(step !== undefined && { step }), code, reason: message });
  }

  /** What takes the warnings of a log: each is of something that is given up. */
  logger(file: string): { warn(message: string): void } {
    return { warn: (reason) => this.#note({ file, code: "CORRUPT", reason }) };
  }

  #note(loss: SourceLoss): void {
    if (this.#messages.has(loss.reason) || this.#losses.length === MAX_PARTS) return;
    this.#messages.add(loss.reason);
    this.#losses.push(loss);
  }
}

const SALVAGE = "; salvage: true reads the rest";

/** The error of damage with the option that reads the rest; any other error as it is. */
export function withSalvageRemedy(error: unknown): unknown {
  const isDamage = error instanceof RldsError && (error.code === "CORRUPT" || error.code === "NOT_FOUND");
  return isDamage && !error.message.includes(SALVAGE) ? withEnding(error, SALVAGE) : error;
}

/** Notes damage of a part, if it may be lost. @throws the error, which names the option `salvage` otherwise */
export function addDamage(losses: Damage | undefined, error: unknown): void {
  if (losses === undefined) throw withSalvageRemedy(error);
  losses.add(error);
}

/** What a reader with the option `salvage` has; undefined without it. @throws TypeError */
export function damageOf(salvage: boolean | undefined): Damage | undefined {
  return salvage !== undefined && flag("salvage", salvage) === 1 ? new Damage() : undefined;
}

/** The part of a reader that tells them. */
export function withDamage(losses: Damage | undefined): { readonly losses?: readonly SourceLoss[] } {
  return losses === undefined ? {} : { losses: losses.all };
}
