/** Defines and checks the options of `open`. */
import { finite, flag, integer, mustBe, onlyKeys } from "../base/error.ts";
import { SEGMENT_BYTES } from "../base/limits.ts";
import { type Logger, toConsole } from "../base/warnings.ts";
import { type ImageFormat, type ImageStorage, specFault } from "../datasets/model/recording/about.ts";
import type { Directory } from "../files/directory.ts";
import type { Spec } from "../schema/spec.ts";
import { checkDurability, type Durability, EVERY_SECOND } from "../storage/log/durability.ts";

export interface RecordOptions<S extends Spec = Spec> {
  /** The path of a folder (Node, Deno, Bun), or a directory from `opfs`, `sqlite` or `memory` of reprise/storage. */
  readonly dir: string | Directory;
  /**
   * The spec of one step. It is an object with `observation`, `action` and any other leaves, such as `reward`, `discount`, or `instruction: text({ maxBytes
   * })`. A u8 leaf of shape [height, width, 1], [height, width, 3] or [height, width, 4] is a camera frame. Required for a new recording. Default: the spec of
   * the existing recording.
   */
  readonly spec?: S;
  /** The nominal number of steps per second. Required for a new recording. Default: the rate of the existing recording. */
  readonly fps?: number;
  /** The format of frames: "raw" for pixels (fast, full size), or "png" (lossless and smaller, but needs processor time). Default: "raw". */
  readonly images?: ImageFormat;
  /** The place where frames are stored: "rows" for the log, or "files" for a separate file per frame. Default: "rows". */
  readonly imagesIn?: ImageStorage;
  /** The metadata that readers return as `about`, such as the robot, the environment or the licence. Must be JSON. */
  readonly about?: { readonly [key: string]: unknown };
  /** When recorded steps are guaranteed to be on the disk. Default: within one second. */
  readonly durability?: Durability;
  /** The approximate size of a log file in bytes. Default: 16 MiB. */
  readonly segmentBytes?: number;
  /** Whether to open a damaged recording. The data before the damage is kept, and all data after it is cut off. Default: false. */
  readonly salvage?: boolean;
  /**
   * Whether to take over the directory if Reprise cannot detect whether its owner has ended. Set it only if you are sure that the owner has ended. Default:
   * false.
   */
  readonly takeOver?: boolean;
  /** Receives warnings, for example about data that a crash cut off, or about a full disk. Default: console.warn. Pass null to silence warnings. */
  readonly logger?: Logger | null;
  /** Another build of the core, for hosts that forbid compilation. Default: the core of the package. */
  readonly module?: WebAssembly.Module;
}

const OPTIONS = "dir, spec, fps, images, imagesIn, about, durability, segmentBytes, salvage, takeOver, logger, module";

/** Returns the options with their defaults. @throws TypeError, RangeError */
export function checkedOptions<S extends Spec>(options: RecordOptions<S>) {
  onlyKeys("the options of open", options, OPTIONS);
  const { durability = EVERY_SECOND, segmentBytes = SEGMENT_BYTES, salvage = false, takeOver = false, logger = toConsole, ...rest } = options;
  const { dir, spec, fps, images, imagesIn, about } = rest;
  if (typeof dir !== "string" && typeof dir?.list !== "function")
    throw mustBe(TypeError, "dir", "the path of a directory, or a directory from opfs(), sqlite() or memory() of reprise/storage", dir);
  if (spec !== undefined) {
    const fault = specFault(spec);
    if (fault !== undefined) throw mustBe(TypeError, "spec", fault, spec);
  }
  if (fps !== undefined && !(finite("fps", fps, 0) > 0)) throw mustBe(RangeError, "fps", "a number above 0", fps);
  if (images !== undefined && images !== "raw" && images !== "png") throw mustBe(RangeError, "images", '"raw" or "png"', images);
  if (imagesIn !== undefined && imagesIn !== "rows" && imagesIn !== "files") throw mustBe(RangeError, "imagesIn", '"rows" or "files"', imagesIn);
  if (about !== undefined && (typeof about !== "object" || about === null || Array.isArray(about))) throw mustBe(TypeError, "about", "an object", about);
  checkDurability(durability);
  integer("segmentBytes", segmentBytes, 4096, 2 ** 31);
  flag("salvage", salvage);
  flag("takeOver", takeOver);
  return { ...rest, durability, segmentBytes, salvage, takeOver, logger };
}
