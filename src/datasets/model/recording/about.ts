/** What a recording's directory says of itself, the same in each segment. */
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
  /** The program's own: robot, environment, licence. */
  readonly about: { readonly [key: string]: unknown };
}

/** Fields of a step that follow from where it stands. */
export const DERIVED = ["is_first", "is_last", "is_terminal"] as const;

/** Why a spec is none of a recording; undefined where it is one. */
export function specFault(spec: Spec): string | undefined {
  if (typeof spec !== "object" || spec === null || isLeaf(spec) || Array.isArray(spec) || !("observation" in spec && "action" in spec))
    return "an object of leaves with observation and action";
  const derived = DERIVED.find((name) => name in spec);
  return derived === undefined ? undefined : `without ${derived}, which follows from where an episode begins and ends`;
}

/**
 * What a log's directory says, checked: files may be anybody's.
 * @throws ReplayError SPEC_MISMATCH where something else is there · UNSUPPORTED for another version's · CORRUPT
 */
export function parseAbout(name: string, json: object): RecordingAbout {
  const { content, version, spec, fps, images, imagesIn, about } = json as Partial<RecordingAbout>;
  if (content !== "recording")
    throw new ReplayError("SPEC_MISMATCH", `${name} is not a recording: ${content === "replay" ? "a Replay is in it" : "something else is in it"}`);
  if (version !== VERSION) throw new ReplayError("UNSUPPORTED", `${name} is a recording of version ${version}: this version of Reprise reads ${VERSION}`);
  const fieldError = (field: string) => new ReplayError("CORRUPT", `${name} is a recording whose head has no ${field}`);
  let checked: Spec;
  try {
    const fault = specFault(spec as Spec);
    if (fault !== undefined) throw new TypeError(`its spec must be ${fault}`);
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
