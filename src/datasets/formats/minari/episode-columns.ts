/** Builds the Parquet columns of a Minari episode. Structs are nested like the spaces. */

import { fold, setPart } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import type { EncodePng } from "../images/png-encoder.ts";
import { columnSchema, type SchemaElement } from "../parquet/schema.ts";
import { type ColumnRows, rowOf } from "../parquet/table-writer.ts";
import { isEncodable, isImage } from "./spaces.ts";

/** Converts observations, actions or infos to a column. */
export class ColumnGroup {
  readonly #name: string;
  readonly #spec: StepSpec;
  readonly #leaves: readonly StoredLeaf[];

  /** @param encodePng the PNG encoder, if images are stored as PNG */
  constructor(name: string, spec: StepSpec, encodePng: EncodePng | undefined) {
    this.#name = name;
    this.#spec = spec;
    this.#leaves = leavesOf(spec).map(({ leaf, size }) => storedLeaf(leaf, size, encodePng));
  }

  get schema(): SchemaElement[] {
    return fold<StepLeaf, (name: string) => SchemaElement[]>(
      this.#spec,
      (index) => (name) => columnSchema(name, (this.#leaves[index] as StoredLeaf).stored),
      (names, parts) => (name) => [
        { name, repetition_type: "REQUIRED", num_children: names.length },
        ...names.flatMap((below, i) => (parts[i] as (name: string) => SchemaElement[])(below)),
      ],
    )(this.#name);
  }

  /** Returns one value per step. @param data one column per leaf @param at the index of the step in each row */
  rows(data: readonly ColumnData[], at: readonly number[]): ColumnRows {
    const columns = this.#leaves.map(({ value }, k) => at.map((i) => value(data[k] as ColumnData, i)));
    // Tuples are also stored as structs.
    const row = fold<StepLeaf, (i: number) => unknown>(
      this.#spec,
      (index) => (i) => columns[index]?.[i],
      (names, parts) => (i) => {
        const node = {};
        for (const [k, name] of names.entries()) setPart(node, name, parts[k]?.(i));
        return node;
      },
    );
    return { name: this.#name, data: at.map((_, i) => row(i)), encoding: "PLAIN" };
  }
}

interface StoredLeaf {
  readonly stored: StepLeaf;
  readonly value: (data: ColumnData, i: number) => unknown;
}

function storedLeaf(leaf: StepLeaf, size: number, encodePng: EncodePng | undefined): StoredLeaf {
  const { dtype, shape } = leaf;
  if (encodePng !== undefined && isImage(leaf) && isEncodable(leaf)) {
    const [height, width, channels = 1] = shape as [number, number, number?];
    const encoded = (pixels: Uint8Array) => encodePng(pixels, width, height, channels);
    return { stored: { dtype: "bytes", shape: [] }, value: (data, i) => encoded((data as Uint8Array).subarray(i * size, (i + 1) * size)) };
  }
  // Minari stores flat lists and takes the shape from the space.
  const stored = (shape.length === 0 ? leaf : { dtype, shape: [size] }) as StepLeaf;
  return { stored, value: (data, i) => rowOf(stored, data, i * size) };
}
