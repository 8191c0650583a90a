/** Defines the metadata of a recording, which each segment repeats. */
import { ReplayError } from "../../../base/error.ts";
import { isLeaf } from "../../../schema/leaf.ts";
import type { Spec } from "../../../schema/spec.ts";
import { toRecordingSpec } from "./row-layout.ts";

export const VERSION = 1;

export type ImageFormat = "raw" | "png";
export type ImageStorage = "rows" | "files";

export interface RecordingAbout {
  readonly content: "recording";
  readonly version: number;
  readonly spec: Spec;
  readonly fps: number;
  readonly images: ImageFormat;
  readonly imagesIn: ImageStorage;
  /** The metadata that the program passed, such as the robot, the environment and the licence. */
  readonly about: { readonly [key: string]: unknown };
}

/** The fields of a step that are derived from its position in the episode. */
export const DERIVED = ["is_first", "is_last", "is_terminal"] as const;

/** Returns the rule that a spec breaks, or undefined if a recording can have this spec. */
export function specFault(spec: Spec): string | undefined {
  if (typeof spec !== "object" || spec === null || isLeaf(spec) || Array.isArray(spec) || !("observation" in spec && "action" in spec))
    return "an object of leaves with observation and action";
  const derived = DERIVED.find((name) => name in spec);
  return derived === undefined ? undefined : `an object without ${derived}, which Reprise derives from the episodes`;
}

/**
 * Parses and checks the metadata of a log directory. The directory may come from an untrusted source.
 * @throws ReplayError SPEC_MISMATCH if the directory contains something else · UNSUPPORTED if another version wrote it · CORRUPT if a field is invalid
 */
export function parseAbout(name: string, json: object): RecordingAbout {
  const { content, version, spec, fps, images, imagesIn, about } = json as Partial<RecordingAbout>;
  if (content !== "recording")
    throw new ReplayError("SPEC_MISMATCH", `${name} is not a recording: ${content === "replay" ? "it contains a Replay" : "it contains other data"}`);
  if (version !== VERSION)
    throw new ReplayError("UNSUPPORTED", `${name} is a recording of version ${version}, but this version of Reprise reads only version ${VERSION}`);
  const fieldError = (field: string) => new ReplayError("CORRUPT", `the header of the recording ${name} has no valid ${field}`);
  let checked: Spec;
  try {
    const fault = specFault(spec as Spec);
    if (fault !== undefined) throw new TypeError(`it must be ${fault}`);
    checked = toRecordingSpec(spec as Spec);
  } catch (error) {
    throw fieldError(`spec: ${(error as Error).message}`);
  }
  if (typeof fps !== "number" || !(fps > 0 && fps < Infinity)) throw fieldError("fps");
  if (images !== "raw" && images !== "png") throw fieldError("images");
  if (imagesIn !== "rows" && imagesIn !== "files") throw fieldError("imagesIn");
  if (typeof about !== "object" || about === null || Array.isArray(about)) throw fieldError("about");
  return { content, version, spec: checked, fps, images, imagesIn, about };
}
