/** What a recording's directory says of itself, the same in each segment. */
import { ReplayError } from "../../../base/error.ts";
import { isLeaf } from "../../../schema/leaf.ts";
import type { Spec } from "../../../schema/spec.ts";
import { recordedSpec } from "./row-form.ts";

export const VERSION = 1;

export type ImageFormat = "raw" | "png";
export type ImagePlace = "rows" | "files";

export interface RecordingAbout {
  readonly content: "recording";
  readonly version: number;
  readonly spec: Spec;
  readonly fps: number;
  readonly images: ImageFormat;
  readonly imagesIn: ImagePlace;
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
export function checkedAbout(name: string, said: object): RecordingAbout {
  const { content, version, spec, fps, images, imagesIn, about } = said as Partial<RecordingAbout>;
  if (content !== "recording")
    throw new ReplayError("SPEC_MISMATCH", `${name} is no recording: ${content === "replay" ? "a Replay is in it" : "something else is in it"}`);
  if (version !== VERSION) throw new ReplayError("UNSUPPORTED", `${name} is a recording of version ${version}: this version of Reprise reads ${VERSION}`);
  const wrong = (what: string) => new ReplayError("CORRUPT", `${name} is a recording whose head has no ${what}`);
  let checked: Spec;
  try {
    const fault = specFault(spec as Spec);
    if (fault !== undefined) throw new TypeError(`its spec must be ${fault}`);
    checked = recordedSpec(spec as Spec);
  } catch (error) {
    throw wrong(`spec: ${(error as Error).message}`);
  }
  if (typeof fps !== "number" || !(fps > 0 && fps < Infinity)) throw wrong("fps");
  if (images !== "raw" && images !== "png") throw wrong("images");
  if (imagesIn !== "rows" && imagesIn !== "files") throw wrong("imagesIn");
  if (typeof about !== "object" || about === null || Array.isArray(about)) throw wrong("about");
  return { content, version, spec: checked, fps, images, imagesIn, about };
}
