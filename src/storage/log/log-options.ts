/** Defines the options of a log, and their checks. */
import { flag, integer, mustBe, onlyKeys } from "../../base/error.ts";
import { SEGMENT_BYTES } from "../../base/limits.ts";
import { type FullLogger, type Logger, loggerOf } from "../../base/warnings.ts";
import { checkDurability, type Durability, EVERY_SECOND } from "./durability.ts";

export interface LogOptions {
  /** A JSON value of the owner for a new directory. It never changes. */
  readonly about: object;
  /** Bytes after which a segment ends, plus the group that exceeds them. Default: 16 MiB. */
  readonly segmentBytes?: number;
  /** Default: `{ everyMs: 1000 }` */
  readonly durability?: Durability;
  /** Keep the data before damage instead of throwing; the rest is lost. */
  readonly salvage?: boolean;
  /** Changes nothing, including a torn tail, and takes no lock. */
  readonly readOnly?: boolean;
  /** Take the directory even from an owner whose state is unknown. The caller must know that the owner has ended. */
  readonly takeOver?: boolean;
  /** Receives findings and repairs. Default: silent. */
  readonly logger?: Logger | null;
  /** The id of a new directory's run, which distinguishes its segments from others. Default: a random id. */
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
