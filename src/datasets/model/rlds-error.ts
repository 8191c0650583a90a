/** What is wrong with data, and where. */
import { ReplayError, type ReplayErrorCode } from "../../base/error.ts";

/** Where something was found; what is not known is left out. Episodes and steps count from 0. */
export interface Place {
  readonly file?: string;
  /** In bytes, from the file's beginning. */
  readonly offset?: number;
  readonly episode?: number;
  readonly step?: number;
  /** Trajectories that were pushed before it. */
  readonly pushed?: number;
}

/**
 * A ReplayError that tells its place, in fields and in its text. CORRUPT: a file that is not what it should be · NOT_FOUND: one that is not there · UNSUPPORTED: one that
 * nobody here reads, or for which a package is missing · INVALID_DATA: steps in an order that no episode has · SPEC_MISMATCH: steps of another form · EMPTY: no steps at all.
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

/** Where a file is not what its format says. */
export interface Fault extends Place {
  /** What of the file is wrong, such as an array or a line: the message begins with it. */
  readonly subject?: string;
}

/** The error for a file that is not what its format says. @param where as the format knows it */
export function corruptFile({ subject, ...place }: Fault, what: string, cause?: unknown): RldsError {
  return new RldsError("CORRUPT", subject === undefined ? what : `${subject} ${what}`, place, { cause });
}

/** The error for a file that this version does not read. */
export function unsupportedFile(place: Place, what: string, cause?: unknown): RldsError {
  return new RldsError("UNSUPPORTED", what, place, { cause });
}

/** What an error of one column says at its end: the options that help. @param keys of the column @param isNull whether a value for nulls helps, too */
export function columnRemedy(keys: readonly string[], isNull = false): string {
  const name = JSON.stringify(keys.join("/"));
  return `; without: [${name}] leaves it out${isNull ? `, null: { ${name}: … } states a value for nulls` : ""}`;
}

/** The same error with the options that help against a bad column; any other error as it is. */
export function withRemedy(error: unknown, keys: readonly string[], isNull = false): unknown {
  if (!(error instanceof RldsError) || !["CORRUPT", "UNSUPPORTED", "INVALID_DATA", "SPEC_MISMATCH"].includes(error.code)) return error;
  return withEnding(error, columnRemedy(keys, isNull));
}

/** The same error with more at the end of its sentence. */
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

/** ` (half_cheetah-train.tfrecord-00000-of-00003, byte 1024; episode 3, step 7; 20 trajectories came before it)` */
export function describePlace({ file, offset, episode, step, pushed }: Place): string {
  const inFile = [file, offset === undefined ? undefined : `byte ${offset}`];
  const inData = [episode === undefined ? undefined : `episode ${episode}`, step === undefined ? undefined : `step ${step}`];
  const pushedText = pushed === undefined ? undefined : `${pushed} ${pushed === 1 ? "trajectory" : "trajectories"} came before it`;
  const parts = [...[inFile, inData].map((words) => words.filter((word) => word !== undefined).join(", ")), pushedText].filter((part) => part);
  return parts.length === 0 ? "" : ` (${parts.join("; ")})`;
}
