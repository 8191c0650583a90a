/** What a recorder is told when it is opened. */
import { finite, flag, integer, mustBe, onlyKeys } from "../base/error.ts";
import { SEGMENT_BYTES } from "../base/limits.ts";
import { type Logger, toConsole } from "../base/warnings.ts";
import { type ImageFormat, type ImageStorage, specFault } from "../datasets/model/recording/about.ts";
import type { Directory } from "../files/directory.ts";
import type { Spec } from "../schema/spec.ts";
import { checkDurability, type Durability, EVERY_SECOND } from "../storage/log/durability.ts";

export interface RecordOptions<S extends Spec = Spec> {
  /** A folder's path (Node, Deno, Bun), or what `opfs`, `sqlite` or `memory` of reprise/storage gave. */
  readonly dir: string | Directory;
  /**
   * What one step is: an object of leaves with `observation` and `action`, and whatever else there is, such as `reward`, `discount`, or `instruction: text({ maxBytes })`.
   * Leaves of u8 of the shape [height, width, 1, 3 or 4] are camera frames. May be left out where a recording is there.
   */
  readonly spec?: S;
  /** Steps a second, as they are meant to come. May be left out where a recording is there. */
  readonly fps?: number;
  /** How frames are kept: "raw" pixels (no work, and their full size), or as "png" (lossless; smaller, and work for the processor). "raw" where it is left out. */
  readonly images?: ImageFormat;
  /** Where frames are kept: in the "rows", or as "files" beside, one a frame. "rows" where it is left out. */
  readonly imagesIn?: ImageStorage;
  /** What readers show as `about`: robot, environment, licence. JSON. */
  readonly about?: { readonly [key: string]: unknown };
  /** When a step is on the disk; a second later at most where it is left out. */
  readonly durability?: Durability;
  /** Bytes of a file, about; 16 MiB where it is left out. */
  readonly segmentBytes?: number;
  /** Whether to go on with what stands before damage in the middle, and to cut off the rest. */
  readonly salvage?: boolean;
  /** Whether to take the directory from an owner that certainly has ended, where nobody else can tell. */
  readonly takeOver?: boolean;
  /** Told of warnings: what a crash cut off, a disk that is full. Default: console.warn; null for nobody. */
  readonly logger?: Logger | null;
  /** Another build of the core, for hosts that forbid compiling. */
  readonly module?: WebAssembly.Module;
}

const OPTIONS = "dir, spec, fps, images, imagesIn, about, durability, segmentBytes, salvage, takeOver, logger, module";

/** The options with what was left out, where that has a value of its own. @throws TypeError, RangeError */
export function checkedOptions<S extends Spec>(options: RecordOptions<S>) {
  onlyKeys("the options of open", options, OPTIONS);
  const { durability = EVERY_SECOND, segmentBytes = SEGMENT_BYTES, salvage = false, takeOver = false, logger = toConsole, ...rest } = options;
  const { dir, spec, fps, images, imagesIn, about } = rest;
  if (typeof dir !== "string" && typeof dir?.list !== "function")
    throw mustBe(TypeError, "dir", "the path of a directory, or what opfs(), sqlite() or memory() of reprise/storage gives", dir);
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
