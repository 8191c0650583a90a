/** Converts records to episodes. */

import { sizeOf } from "../../../schema/leaf.ts";
import { pack } from "../../../schema/nest.ts";
import type { StepSpec } from "../../model/dataset.ts";
import { lastFlagOf } from "../../model/final-observation.ts";
import { FINAL_STEP, finalStepOf } from "../../model/final-step.ts";
import { type Place, unsupportedFile } from "../../model/rlds-error.ts";
import { StepColumns } from "../../model/step-columns.ts";
import type { ReadEpisode } from "../reader.ts";
import { columnOf, type LeafColumn } from "./columns.ts";
import { Example, type Keys, keysOf } from "./example.ts";
import { type Dimensions, FEATURES, type Feature } from "./features.ts";
import { type Decoding, dtypeOf, shapeIn } from "./items.ts";
import { metadataOf } from "./metadata.ts";
import { featureSpec, keysOfLeaf, type StoredLeaf, storedLeaves } from "./stored-leaf.ts";

const STEPS = "steps";

export class EpisodeSchema {
  readonly #steps: Feature;
  readonly #leaves: readonly StoredLeaf[];
  readonly #metadata: readonly { readonly name: string; readonly feature: Feature; readonly leaves: readonly StoredLeaf[] }[];
  readonly #keys: Keys;
  readonly #decoding: Decoding;
  readonly #maxBytes: number;
  /** The shapes of the steps' values, by key. */
  readonly #shapes: Map<string, Dimensions>;

  /** @throws RldsError UNSUPPORTED if the features are not those of an RLDS dataset */
  constructor(features: Feature, decoding: Decoding, maxBytes: number) {
    const steps = features.kind === "dict" ? features.features[STEPS] : undefined;
    if (features.kind !== "dict" || steps?.kind !== "sequence" || steps.feature.kind !== "dict") {
      throw unsupportedFile({ file: FEATURES }, "the dataset is not RLDS: it has no feature `steps` that is a Dataset of a FeaturesDict");
    }
    this.#steps = steps.feature;
    this.#leaves = storedLeaves(steps.feature, STEPS, true);
    this.#metadata = Object.entries(features.features)
      .filter(([name]) => name !== STEPS)
      .map(([name, feature]) => ({ name, feature, leaves: storedLeaves(feature, name, false) }));
    this.#keys = keysOf([this.#leaves, ...this.#metadata.map(({ leaves }) => leaves)].flat().flatMap(keysOfLeaf));
    this.#decoding = decoding;
    this.#maxBytes = maxBytes;
    this.#shapes = new Map(this.#leaves.map((leaf) => [leaf.key, [...leaf.lengths, ...shapeIn(leaf.feature, decoding)]]));
  }

  /** Whether the shapes of all values in a step are known. */
  get isKnown(): boolean {
    return [...this.#shapes.values()].every((shape) => !shape.includes(null));
  }

  /** The spec of a step. A length that is not known yet is 0. */
  get stepSpec(): StepSpec {
    return featureSpec(this.#steps, STEPS, ({ key, feature }) => {
      const shape = this.#shapes.get(key) as Dimensions;
      return { dtype: dtypeOf(feature, this.#decoding), shape: shape.map((length) => length ?? 0) } as StepSpec;
    });
  }

  /** The spec of the metadata. A length that differs between episodes is -1. */
  get metadataSpec(): { readonly [name: string]: StepSpec } {
    const leafOf = ({ feature, lengths }: Pick<StoredLeaf, "feature" | "lengths">) => {
      const shape = [...lengths, ...shapeIn(feature, this.#decoding)];
      return { dtype: dtypeOf(feature, this.#decoding), shape: shape.map((length) => length ?? -1) } as StepSpec;
    };
    return Object.fromEntries(this.#metadata.map(({ name, feature }) => [name, featureSpec(feature, name, leafOf)]));
  }

  /** Uses a record to determine the shapes that the features leave open. */
  learn(bytes: Uint8Array, place: Place): void {
    const { columns, length } = this.#columns(this.#example(bytes, place));
    if (length === 0) return;
    this.#leaves.forEach(({ key }, i) => {
      this.#shapes.set(key, (columns[i] as LeafColumn).shape);
    });
  }

  /** Returns the episode in a record. @throws RldsError CORRUPT if the record is damaged · UNSUPPORTED if its values have different shapes */
  episode<S>(bytes: Uint8Array, place: Place, spec: StepSpec): ReadEpisode<S> {
    const example = this.#example(bytes, place);
    const { columns, length } = this.#columns(example);
    const values = columns.map(({ data }) => data);
    const steps = new StepColumns<S>(spec, values, length);
    const metadata = this.#metadata.map(({ name, feature, leaves }) => {
      const values = leaves.map((leaf) => metadataOf(example, leaf, this.#decoding));
      // The dtypes in this spec do not matter, because it only nests the values.
      const spec = featureSpec(feature, name, () => ({ dtype: "u8", shape: [] }));
      return [name, pack(spec, values)];
    });
    return { [FINAL_STEP]: finalStepOf({}, lastFlagOf(steps) === true), ...Object.fromEntries(metadata), steps };
  }

  #example(bytes: Uint8Array, place: Place): Example {
    return new Example(bytes, this.#keys, place, this.#maxBytes);
  }

  #columns(example: Example): { columns: LeafColumn[]; length: number } {
    const columns = this.#leaves.map((leaf) => columnOf(example, leaf, this.#shapes.get(leaf.key) as Dimensions, this.#decoding));
    const firstKnown = columns.findIndex(({ length }) => length !== undefined);
    const length = columns[firstKnown]?.length ?? 0;
    columns.forEach((column, i) => {
      const size = sizeOf(column.shape.map((size) => size ?? 0));
      const columnLength = column.length ?? (size === 0 ? length : 0);
      if (columnLength === length) return;
      throw example.corruptError(
        `all features of the steps must have the same length: ${this.#leaves[firstKnown]?.key} has ${length} steps, but ${this.#leaves[i]?.key} has ${columnLength}`,
      );
    });
    return { columns, length };
  }
}
