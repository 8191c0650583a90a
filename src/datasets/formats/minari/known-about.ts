/** Maps the metadata.json of Minari to the metadata of a dataset. */
import { isText } from "../../../schema/leaf.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { type About, nestedAbout } from "../about.ts";
import { FORMAT_NAMES } from "../dtypes.ts";
import { parseJson } from "../json.ts";
import type { Losses } from "../sinks/losses.ts";
import type { Space } from "./images.ts";

/** The keys that Minari reads and that cannot be derived from the steps. */
const KEPT = [
  ...["env_spec", "eval_env_spec", "description", "requirements", "algorithm_name", "code_permalink", "author", "author_email"],
  ...["ref_min_score", "ref_max_score", "num_episodes_average_score"],
];
/** The keys whose values the writer determines, so values from the source are left out. */
const COUNTED = [
  ...["total_episodes", "total_steps", "data_format", "jpeg_encoding", "observation_space", "action_space", "dataset_id", "minari_version", "dataset_size"],
];

/** Returns the metadata for metadata.json, with Minari's keys at the top level and all other keys below `about`. */
export function minariAbout(about: About | undefined): About {
  if (about === undefined) return {};
  const entries = Object.entries(about);
  const others = entries.filter(([name]) => !KEPT.includes(name) && !COUNTED.includes(name));
  return { ...Object.fromEntries(entries.filter(([name]) => KEPT.includes(name))), ...(others.length > 0 && { about: Object.fromEntries(others) }) };
}

/** Returns the content of metadata.json as the metadata of a reader, with all keys at the top level. */
export function unnestedAbout({ about, ...own }: About): About {
  return { ...nestedAbout(about), ...own };
}

/**
 * Returns a space as text. If the space of the source has the same kind of values, returns that space, with its bounds. Otherwise, returns the space that was
 * derived from the values.
 * @param name the name of the space, for example `observation_space`
 */
export function spaceWithBounds(name: string, about: About | undefined, spec: StepSpec, computed: string, losses: Losses): string {
  const text = about?.[name];
  if (typeof text !== "string" || text === computed) return computed;
  try {
    if (isSpaceOf(parseJson(text) as Space, spec)) return text;
  } catch {
    // A text that is not JSON is not a space.
  }
  losses.add(name, "the space of the source does not match the values, so the bounds are those of the dtypes");
  return computed;
}

/** Returns whether values of a spec belong to a space. The bounds of the space are ignored. */
function isSpaceOf(space: (Space & { readonly nvec?: unknown; readonly n?: unknown }) | undefined, spec: StepSpec): boolean {
  if (typeof space !== "object" || space === null) return false;
  const { type, dtype, shape, subspaces, nvec, n } = space;
  const leaf = spec as StepLeaf;
  if (typeof leaf.dtype !== "string" || !Array.isArray(leaf.shape)) {
    if (type !== (Array.isArray(spec) ? "Tuple" : "Dict") || typeof subspaces !== "object" || subspaces === null) return false;
    const names = Object.keys(spec);
    return (
      names.length === Object.keys(subspaces).length && names.every((key) => isSpaceOf(subspaces[key], (spec as { [key: string]: StepSpec })[key] as StepSpec))
    );
  }
  const hasShape = (wanted: unknown) => Array.isArray(wanted) && wanted.join() === leaf.shape.join();
  if (isText(leaf)) return type === "Text" && leaf.shape.length === 0;
  const isInteger = /^[iu]/.test(leaf.dtype);
  if (type === "Box") return dtype === FORMAT_NAMES[leaf.dtype].numpy && hasShape(shape);
  if (type === "Discrete") return isInteger && leaf.shape.length === 0;
  if (type === "MultiBinary") return isInteger && hasShape(Array.isArray(n) ? n : [n]);
  return type === "MultiDiscrete" && isInteger && Array.isArray(nvec) && hasShape([nvec.length]);
}
