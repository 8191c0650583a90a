/** Concatenates datasets. */
import { mustBe, onlyKeys } from "../../../base/error.ts";
import { specDifference } from "../../formats/columns/spec-difference.ts";
import { withSchema } from "../../formats/sinks/writer.ts";
import type { RldsDataset, RldsEpisode, RldsStep, StepSpec } from "../../model/dataset.ts";
import { attachSchema, episodesOf } from "../../model/derive.ts";
import { emptyGroups } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";

export interface ConcatOptions {
  /** The names of the datasets in messages. Default: "dataset 0", "dataset 1", and so on. */
  readonly names?: readonly string[];
}

/**
 * Returns the episodes of all datasets, one dataset after the other. The specs of their steps and metadata must be equal. Works lazily, with O(1) memory.
 * @throws TypeError if an argument is invalid
 * @throws RldsError SPEC_MISMATCH during iteration if the specs differ. The error includes the first difference
 */
export function concatEpisodes<S = RldsStep>(datasets: readonly RldsDataset<S>[], options: ConcatOptions = {}): RldsDataset<S> & AsyncIterable<RldsEpisode<S>> {
  const { names = [] } = onlyKeys("options", options, "names");
  if (!Array.isArray(datasets) || datasets.length === 0) throw mustBe(TypeError, "datasets", "an array of at least one dataset", datasets);
  for (const dataset of datasets) episodesOf(dataset);
  const nameOf = (k: number) => names[k] ?? `dataset ${k}`;
  const check = (k: number, part: "step" | "metadata", first: object | undefined, spec: object | undefined) => {
    const difference = k === 0 || first === undefined || spec === undefined ? undefined : differenceOf(first as StepSpec, spec as StepSpec);
    if (difference === undefined) return;
    const what = part === "step" ? "steps" : "metadata";
    throw new RldsError(
      "SPEC_MISMATCH",
      `the ${what} of ${nameOf(k)} must match those of ${nameOf(0)}, but ${difference}. Rename, cast or leave out the parts that differ`,
    );
  };
  const first = datasets[0] as RldsDataset<S>;
  const all = {
    async *[Symbol.asyncIterator]() {
      // The specs that are known in advance are compared before any data is read.
      for (const [k, dataset] of datasets.entries()) {
        check(k, "step", first.stepSpec, dataset.stepSpec);
        check(k, "metadata", first.metadataSpec, dataset.metadataSpec);
      }
      let specs: { readonly stepSpec: StepSpec; readonly metadataSpec: object } | undefined;
      for (const [k, dataset] of datasets.entries()) {
        const form = await withSchema(dataset as RldsDataset<unknown>);
        try {
          check(k, "step", specs?.stepSpec, form.stepSpec);
          check(k, "metadata", specs?.metadataSpec, form.metadataSpec);
          specs ??= form;
          yield* form.episodes as AsyncIterable<RldsEpisode<S>>;
        } finally {
          await form.close();
        }
      }
    },
  };
  return attachSchema<S>(all, {
    get stepSpec() {
      return first.stepSpec as StepSpec;
    },
    get metadataSpec() {
      return first.metadataSpec as NonNullable<typeof first.metadataSpec>;
    },
  }) as typeof all & RldsDataset<S>;
}

/** Returns the first difference between two specs. Groups without leaves also count, because a writer has one spec for all episodes. */
function differenceOf(first: StepSpec, spec: StepSpec): string | undefined {
  const [expected, actual] = [emptyGroups(first), emptyGroups(spec)];
  const missing = expected.find((path) => !actual.includes(path));
  const added = actual.find((path) => !expected.includes(path));
  const ofGroups = missing !== undefined ? `the empty group ${missing} is missing` : added !== undefined ? `it also has the empty group ${added}` : undefined;
  return specDifference(first, spec) ?? ofGroups;
}
