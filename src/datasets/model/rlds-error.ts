/** Defines the errors for faulty data, which include the place of the fault. */
import { countText, ReplayError, type ReplayErrorCode } from "../../base/error.ts";

/** The place of a fault. Unknown fields are omitted. Episodes and steps are numbered from 0. */
export interface Place {
  readonly file?: string;
  /** The offset from the beginning of the file, in bytes. */
  readonly offset?: number;
  readonly episode?: number;
  readonly step?: number;
  /** The number of trajectories that were pushed before the fault. */
  readonly pushed?: number;
}

/**
 * A ReplayError whose fields and message include the place of the fault.
 *
 * Its codes are:
 * - CORRUPT: a file violates its format;
 * - NOT_FOUND: a file is missing;
 * - UNSUPPORTED: Reprise cannot read a file, or requires a missing package;
 * - INVALID_DATA: steps are in an impossible order;
 * - SPEC_MISMATCH: steps have a different form;
 * - EMPTY: the data has no steps;
 * - IO: a file cannot be read or written;
 * - CLOSED: the reader or writer is closed;
 * - any code of a ReplayError that this error wraps, such as LOCKED.
 */
export class RldsError extends ReplayError implements Place {
  readonly file?: string;
  readonly offset?: number;
  readonly episode?: number;
  readonly step?: number;
  readonly pushed?: number;

  constructor(code: ReplayErrorCode, message: string, place: Place = {}, options?: ErrorOptions) {
    super(code, `${message}${describePlace(place)}`);
    this.name = "RldsError";
    Object.assign(this, place);
    if (options?.cause !== undefined) this.cause = options.cause;
  }
}

/** The place at which a file violates its format. */
export interface Fault extends Place {
  /** The faulty part of the file, such as an array or a line. The message begins with this text. */
  readonly subject?: string;
}

/** Returns the error for a file that violates its format. */
export function corruptFile({ subject, ...place }: Fault, what: string, cause?: unknown): RldsError {
  return new RldsError("CORRUPT", subject === undefined ? what : `${subject} ${what}`, place, { cause });
}

/** Returns the error for a file that this version cannot read. */
export function unsupportedFile(place: Place, what: string, cause?: unknown): RldsError {
  return new RldsError("UNSUPPORTED", what, place, { cause });
}

/**
 * Returns the end of a message about one column, which names the options that help. @param keys the path of the column @param isNull whether replacing nulls
 * also helps
 */
export function columnRemedy(keys: readonly string[], isNull = false): string {
  const name = JSON.stringify(keys.join("/"));
  return `. Pass without: [${name}] to leave this column out${isNull ? `, or null: { ${name}: … } to replace nulls` : ""}`;
}

/** Adds the options that help to an error about one column. Returns any other error unchanged. */
export function withRemedy(error: unknown, keys: readonly string[], isNull = false): unknown {
  if (!(error instanceof RldsError) || !["CORRUPT", "UNSUPPORTED", "INVALID_DATA", "SPEC_MISMATCH"].includes(error.code)) return error;
  return withEnding(error, columnRemedy(keys, isNull));
}

/** Returns the error with more text at the end of its message. */
export function withEnding(error: RldsError, ending: string): RldsError {
  const { file, offset, episode, step, pushed, cause } = error;
  const place = {
    ...(file !== undefined && { file }),
    ...(offset !== undefined && { offset }),
    ...(episode !== undefined && { episode }),
    ...(step !== undefined && { step }),
    ...(pushed !== undefined && { pushed }),
  };
  const end = describePlace(place);
  const what = error.message.endsWith(end) ? error.message.slice(0, error.message.length - end.length) : error.message;
  return new RldsError(error.code, `${what}${ending}`, place, { cause });
}

/** Returns a place as text, such as ` (half_cheetah-train.tfrecord-00000-of-00003, byte 1024; episode 3, step 7; 20 trajectories came before it)` */
export function describePlace({ file, offset, episode, step, pushed }: Place): string {
  const inFile = [file, offset === undefined ? undefined : `byte ${offset}`];
  const inData = [episode === undefined ? undefined : `episode ${episode}`, step === undefined ? undefined : `step ${step}`];
  const pushedText = pushed === undefined ? undefined : `${countText(pushed, "trajectory", "trajectories")} came before it`;
  const parts = [...[inFile, inData].map((words) => words.filter((word) => word !== undefined).join(", ")), pushedText].filter((part) => part);
  return parts.length === 0 ? "" : ` (${parts.join("; ")})`;
}
