/** The state of a Replay for storage, which is a layer below it and receives a function to make one. */

import { mustBeOneOf } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { Spec } from "../schema/spec.ts";

/** Options that are written, and make the same Replay again. */
export interface SavedOptions {
  readonly spec: Spec;
  readonly tables: { readonly [name: string]: object };
  readonly maxBytes: number;
  readonly storedBytes?: { readonly max: number; readonly evictFrom?: string } | undefined;
  readonly seed: string;
  /** What was said of it. */
  readonly transition?: object | undefined;
}

export interface ReplayState<R = unknown> {
  readonly replay: R;
  readonly engine: Engine;
  readonly options: SavedOptions;
  readonly tables: readonly { readonly handle: number }[];
  /** Those that are open, in the order in which they were made. */
  readonly writers: readonly { readonly options: object; readonly streams: readonly number[] }[];
  /** Opens a writer that was saved. */
  adopt(options: object): void;
  /** Told once the state of all writers is there: they stay open, or close as `close` does. @param isCopy whether the run that they are of may go on */
  finishRestore(writers: OpenWriters, isCopy?: boolean): void;
  /** Whether unnamed writers of an earlier run are still open and unused. */
  readonly hasOrphans: boolean;
}

/** What becomes of the writers of an earlier run. */
export type OpenWriters = "keep" | "close";

const OPEN_WRITERS = ["keep", "close"] as const;

/** @throws RangeError */
export function checkWriters(writers: OpenWriters): OpenWriters {
  if (!OPEN_WRITERS.includes(writers)) throw mustBeOneOf(RangeError, "writers", OPEN_WRITERS, writers);
  return writers;
}

/** Makes a new Replay of options that were saved; `places` where a journal will ask for its changes: so many segments are told apart. */
export type MakeReplay<R> = (options: object, places: number) => ReplayState<R>;
