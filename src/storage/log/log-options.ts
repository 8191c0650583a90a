/** Defines and checks the options of a log. */
import { flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { SEGMENT_BYTES } from "../../base/limits.ts";
import { type FullLogger, type Logger, loggerOf } from "../../base/warnings.ts";
import { checkDurability, type Durability, EVERY_SECOND } from "./durability.ts";

export interface LogOptions {
  /** The JSON value that the owner stores in a new directory. It never changes. */
  readonly about: object;
  /** The number of bytes after which a segment ends, from 1 to 2^31. The group that exceeds this size still belongs to the segment. Default: 16 MiB. */
  readonly segmentBytes?: number;
  /** The time at which commits are written to the disk. Default: `{ everyMs: 1000 }`. */
  readonly durability?: Durability;
  /** Whether to keep the data before damage and drop the rest, instead of throwing. Default: false. */
  readonly salvage?: boolean;
  /** Whether to only read. A read-only log changes nothing, not even a torn tail, and takes no lock. Default: false. */
  readonly readOnly?: boolean;
  /** Whether to take the directory from an owner whose state Reprise cannot detect. Pass true only if the owner has certainly ended. Default: false. */
  readonly takeOver?: boolean;
  /** Receives messages about damage, repairs and failed writes. Default: none. */
  readonly logger?: Logger | null;
  /** The id of a new directory's run, which distinguishes its segments from the segments of other runs. Default: a random id. */
  readonly run?: string;
  /** Another build of the core, for hosts that forbid compiling. Default: the core of the package. */
  readonly module?: WebAssembly.Module;
}

const OPTIONS = "about, segmentBytes, durability, salvage, readOnly, takeOver, logger, run, module";

/** Returns the options with their defaults. @throws TypeError, RangeError if an option is invalid */
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
