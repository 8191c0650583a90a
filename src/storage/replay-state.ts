/** Defines the interface of a Replay to storage. Storage is a layer below the Replay, and receives a function that makes a Replay. */

import { mustBeOneOf } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { Spec } from "../schema/spec.ts";

/** The saved options, from which the same Replay can be made again. */
export interface SavedOptions {
  readonly spec: Spec;
  readonly tables: { readonly [name: string]: object };
  readonly maxBytes: number;
  readonly storedBytes?: { readonly max: number; readonly evictFrom?: string } | undefined;
  readonly seed: string;
  /** The option `transition` as it was passed. */
  readonly transition?: object | undefined;
}

export interface ReplayState<R = unknown> {
  readonly replay: R;
  readonly engine: Engine;
  readonly options: SavedOptions;
  readonly tables: readonly { readonly handle: number }[];
  /** The open writers, in creation order. */
  readonly writers: readonly { readonly options: object; readonly streams: readonly number[] }[];
  /** Opens a saved writer. */
  adopt(options: object): void;
  /**
   * Runs after the state of all writers was loaded. Keeps the writers open, or closes them like `close`.
   * @param isCopy whether the original run may continue
   */
  finishRestore(writers: OpenWriters, isCopy?: boolean): void;
  /** Whether unnamed writers of an earlier run are still open and unused. */
  readonly hasOrphans: boolean;
}

/** The policy for the writers of an earlier run. */
export type OpenWriters = "keep" | "close";

const OPEN_WRITERS = ["keep", "close"] as const;

/** Returns the policy unchanged. @throws RangeError if it is neither "keep" nor "close" */
export function checkWriters(writers: OpenWriters): OpenWriters {
  if (!OPEN_WRITERS.includes(writers)) throw mustBeOneOf(RangeError, "writers", OPEN_WRITERS, writers);
  return writers;
}

/** Makes a new Replay from saved options. @param places the number of segments that a journal will distinguish; 0 without a journal */
export type MakeReplay<R> = (options: object, places: number) => ReplayState<R>;
