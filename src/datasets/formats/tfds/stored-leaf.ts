/** The leaves of the features: where each is in a record, and what becomes of it. */
import type { StepSpec } from "../../model/dataset.ts";
import { unsupportedFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { type Dimensions, FEATURES, type Feature } from "./features.ts";

export type LeafFeature = Exclude<Feature, { kind: "dict" | "sequence" }>;

export interface StoredLeaf {
  /** As tensorflow_datasets names it: `steps/observation/image`. */
  readonly key: string;
  /** Lengths of the sequences that it is in, the steps not among them. */
  readonly lengths: Dimensions;
  readonly feature: LeafFeature;
  /** Of the steps, or of the episode. */
  readonly inSteps: boolean;
}

/** The values of a leaf in one record: a flat column of all of them. */
export interface LeafItems {
  readonly data: ColumnData;
  /** Undefined where nobody can tell: values without elements. */
  readonly count?: number;
  /** Of each; null where there is none that could tell. */
  readonly shape: Dimensions;
}

/** Every leaf of a feature, in the order of a spec's leaves. */
export function storedLeaves(feature: Feature, key: string, inSteps: boolean, lengths: Dimensions = []): StoredLeaf[] {
  if (feature.kind === "sequence") return storedLeaves(feature.feature, key, inSteps, [...lengths, feature.length]);
  if (feature.kind === "dict") {
    const names = Object.keys(feature.features).sort();
    return names.flatMap((name) => storedLeaves(feature.features[name] as Feature, `${key}/${name}`, inSteps, lengths));
  }
  // A list of numbers says nothing of its rows: tensorflow_datasets writes none either.
  const unknown = feature.kind === "image" ? 0 : countUnknown(feature.shape);
  const isPlainFeature = feature.kind === "text" || (feature.kind === "numbers" && feature.encoding === "none");
  if (isPlainFeature && unknown > (inSteps || lengths.length > 0 ? 0 : 1)) {
    throw unsupportedFile({ file: FEATURES }, `feature ${key} has an unknown length: such a Tensor needs encoding="bytes" or "zlib"`);
  }
  if (unknown > 1 && lengths.length > 0)
    throw unsupportedFile({ file: FEATURES }, `feature ${key} is a Sequence of Tensors of unknown shape, which Reprise cannot read`);
  return [{ key, lengths, feature, inSteps }];
}

export function countUnknown(shape: Dimensions): number {
  return shape.filter((length) => length === null).length;
}

/** The keys of a record that belong to a leaf. */
export function keysOfLeaf(leaf: StoredLeaf): string[] {
  const { key, lengths, inSteps } = leaf;
  if (isDynamic(leaf)) return [`${key}/shape`, `${key}/value`];
  const rank = lengths.length + (inSteps ? 1 : 0);
  if (rank < 2) return [key];
  return [`${key}/ragged_flat_values`, ...Array.from({ length: rank - 1 }, (_, i) => `${key}/ragged_row_lengths_${i}`)];
}

/** Whether every value has its shape beside it. */
export function isDynamic({ feature }: StoredLeaf): boolean {
  return feature.kind === "numbers" && countUnknown(feature.shape) > 1;
}

/** Nested as the features, each leaf as `leafOf` says. */
export function featureSpec(
  feature: Feature,
  key: string,
  leafOf: (leaf: Pick<StoredLeaf, "key" | "feature" | "lengths">) => StepSpec,
  lengths: Dimensions = [],
): StepSpec {
  if (feature.kind === "sequence") return featureSpec(feature.feature, key, leafOf, [...lengths, feature.length]);
  if (feature.kind !== "dict") return leafOf({ key, feature, lengths });
  return Object.fromEntries(
    Object.entries(feature.features).map(([name, childFeature]) => [name, featureSpec(childFeature, `${key}/${name}`, leafOf, lengths)]),
  );
}
