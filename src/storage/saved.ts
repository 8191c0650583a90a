/** What the store knows of a Replay: it stands below it, and makes one only by what it is given. */

import { mustBe, oneFrom } from "../base/error.ts";
import type { Engine } from "../memory/engine.ts";
import type { Spec } from "../schema/spec.ts";

/** Options that are written, and make the same Replay again. */
export interface SavedOptions {
  readonly spec: Spec;
  readonly tables: { readonly [name: string]: object };
  readonly maxBytes: number;
  readonly seed: string;
  /** What was said of it. */
  readonly transition?: object | undefined;
}

export interface Saved<R = unknown> {
  readonly replay: R;
  readonly engine: Engine;
  readonly options: SavedOptions;
  readonly tables: readonly { readonly handle: number }[];
  /** Those that are open, in the order in which they were made. */
  readonly writers: readonly { readonly options: object; readonly streams: readonly number[] }[];
  /** Opens a writer that was saved. */
  adopt(options: object): void;
  /** Told once the state of all writers is there: they stay open, or close as `close` does. @param isCopy whether the run that they are of may go on */
  restored(writers: OpenWriters, isCopy?: boolean): void;
}

/** What becomes of the writers of an earlier run. */
export type OpenWriters = "keep" | "close";

const WAYS = ["keep", "close"] as const;

/** @throws RangeError */
export function checkWriters(writers: OpenWriters): OpenWriters {
  if (!WAYS.includes(writers)) throw mustBe(RangeError, "writers", oneFrom(WAYS), writers);
  return writers;
}

/** Makes a new Replay of options that were saved; `places` where a journal will ask for its changes: so many segments are told apart. */
export type Make<R> = (options: object, places: number) => Saved<R>;
