/** Lists the leaves of the features, with their places in a record and their types. */
import type { StepSpec } from "../../model/dataset.ts";
import { unsupportedFile } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { type Dimensions, FEATURES, type Feature } from "./features.ts";

export type LeafFeature = Exclude<Feature, { kind: "dict" | "sequence" }>;

export interface StoredLeaf {
  /** The key in tensorflow_datasets, such as `steps/observation/image`. */
  readonly key: string;
  /** The lengths of the sequences around the leaf, except the steps. */
  readonly lengths: Dimensions;
  readonly feature: LeafFeature;
  /** Whether the leaf belongs to the steps. Otherwise, it belongs to the episode. */
  readonly inSteps: boolean;
}

/** The values of a leaf in one record, as a flat column. */
export interface LeafItems {
  readonly data: ColumnData;
  /** The number of values. Undefined for values without elements, whose number is unknown. */
  readonly count?: number;
  /** The shape of each value. A length is null if there is no value that determines it. */
  readonly shape: Dimensions;
}

/** Returns every leaf of a feature, in the order of a spec's leaves. */
export function storedLeaves(feature: Feature, key: string, inSteps: boolean, lengths: Dimensions = []): StoredLeaf[] {
  if (feature.kind === "sequence") return storedLeaves(feature.feature, key, inSteps, [...lengths, feature.length]);
  if (feature.kind === "dict") {
    const names = Object.keys(feature.features).sort();
    return names.flatMap((name) => storedLeaves(feature.features[name] as Feature, `${key}/${name}`, inSteps, lengths));
  }
  // A list of plain values does not store the lengths of its rows.
  const unknown = feature.kind === "image" ? 0 : countUnknown(feature.shape);
  const isPlainFeature = feature.kind === "text" || (feature.kind === "numbers" && feature.encoding === "none");
  if (isPlainFeature && unknown > (inSteps || lengths.length > 0 ? 0 : 1)) {
    throw unsupportedFile(
      { file: FEATURES },
      `feature ${key} is a Tensor of unknown length, which Reprise cannot read. Write it with encoding="bytes" or "zlib"`,
    );
  }
  if (unknown > 1 && lengths.length > 0)
    throw unsupportedFile({ file: FEATURES }, `feature ${key} is a Sequence of Tensors of unknown shape, which Reprise cannot read`);
  return [{ key, lengths, feature, inSteps }];
}

export function countUnknown(shape: Dimensions): number {
  return shape.filter((length) => length === null).length;
}

/** Returns the keys of a record that belong to a leaf. */
export function keysOfLeaf(leaf: StoredLeaf): string[] {
  const { key, lengths, inSteps } = leaf;
  if (isDynamic(leaf)) return [`${key}/shape`, `${key}/value`];
  const rank = lengths.length + (inSteps ? 1 : 0);
  if (rank < 2) return [key];
  return [`${key}/ragged_flat_values`, ...Array.from({ length: rank - 1 }, (_, i) => `${key}/ragged_row_lengths_${i}`)];
}

/** Returns whether a shape is stored with every value. */
export function isDynamic({ feature }: StoredLeaf): boolean {
  return feature.kind === "numbers" && countUnknown(feature.shape) > 1;
}

/** Returns the spec of a feature, with a leaf from `leafOf` for each of its leaves. */
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
