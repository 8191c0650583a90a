/** The options of a log, and their checks. */
import { flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { SEGMENT_BYTES } from "../../base/limits.ts";
import { type FullLogger, type Logger, loggerOf } from "../../base/warnings.ts";
import { checkDurability, type Durability, EVERY_SECOND } from "./durability.ts";

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

const OPTIONS = "about, segmentBytes, durability, salvage, readOnly, takeOver, logger, run, module";

/** The options with their defaults. @throws TypeError, RangeError */
export function resolveLogOptions(options: LogOptions) {
  onlyKeys("Log", options, OPTIONS);
  const { about, segmentBytes = SEGMENT_BYTES, durability = EVERY_SECOND, salvage = false, readOnly = false, takeOver = false, ...rest } = options;
  integer("segmentBytes", segmentBytes, 1, 2 ** 31);
  checkDurability(durability);
  const logger: FullLogger = loggerOf(rest.logger);
  flag("salvage", salvage);
  if (typeof about !== "object" || about === null) throw mustBe(TypeError, "about", "an object", about);
  flag("readOnly", readOnly);
  flag("takeOver", takeOver);
  return { ...rest, about, segmentBytes, durability, salvage, readOnly, takeOver, logger };
}
