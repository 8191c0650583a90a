/** What a log is told when it is opened. */
import type { Logger } from "../../base/warnings.ts";
import type { Durability } from "./durability.ts";

export interface LogOptions {
  /** The owner's, for a new directory; JSON. It never changes. */
  readonly about: object;
  /** Where a segment ends, but for the group that goes beyond. Default: 16 MiB */
  readonly segmentBytes?: number;
  /** Default: `{ everyMs: 1000 }` */
  readonly durability?: Durability;
  /** Keep what stands before damage instead of refusing it; the rest is given up. */
  readonly salvage?: boolean;
  /** Nothing is changed, not even a torn tail, and nothing locked. */
  readonly readOnly?: boolean;
  /** Takes the directory also from an owner of whom nobody can tell whether it still runs: the caller knows that it does not. */
  readonly takeOver?: boolean;
  /** Told what was found and mended. Default: nobody. */
  readonly logger?: Logger | null;
  /** The id of a new directory's run, which tells its segments from others. Default: a drawn one */
  readonly run?: string;
  /** Another build of the core, for hosts that forbid compiling. */
  readonly module?: WebAssembly.Module;
}
