/** Stages a step as bytes. The step is checked completely before any of its bytes are written to the log. */

import type { RowLayout } from "../datasets/model/recording/row-layout.ts";
import { countFitting, setterOf, type ViewTarget } from "../schema/copy-values.ts";
import { DTYPES, type NumberArray } from "../schema/dtype.ts";
import { isHalf, narrowHalves } from "../schema/half.ts";
import type { RowLeaf } from "../schema/leaf.ts";
import { flattenPartial, type Visit, visitor } from "../schema/nest.ts";
import type { Spec } from "../schema/spec.ts";
import { textBytes } from "../schema/text.ts";

/** The number of bytes that store the length of a text. */
const HEAD = 4;

export class StagedStep {
  /** The pixels of each camera. */
  readonly frames: readonly Uint8Array[];
  readonly #spec: Spec;
  readonly #row: Uint8Array<ArrayBuffer>;
  readonly #numberBytes: number;
  /** The texts in the form that the visitors write, padded with zeros to their maximum length. */
  readonly #texts: readonly { readonly bytes: Uint8Array; readonly stride: number }[];
  readonly #leaves: readonly Visit[];
  readonly #visit: Visit;

  constructor(spec: Spec, rowLayout: RowLayout) {
    this.#spec = spec;
    this.#numberBytes = rowLayout.numberBytes;
    const limit = rowLayout.texts.reduce((sum, { leaf, size }) => sum + size * (HEAD + leaf.maxBytes), 0);
    this.#row = new Uint8Array(rowLayout.numberBytes + limit);
    this.frames = rowLayout.frames.map(({ size }) => new Uint8Array(size));
    this.#texts = rowLayout.texts.map(({ leaf, size }) => ({ bytes: new Uint8Array(size * textBytes(leaf.maxBytes)), stride: textBytes(leaf.maxBytes) }));
    const leaves: Visit[] = [];
    const place = (
      { index, leaf, keys, size }: { index: number; leaf: RowLeaf; keys: readonly string[]; size: number },
      view: unknown,
      narrow?: () => number,
    ) => {
      const target: ViewTarget = { dtype: leaf.dtype, shape: leaf.shape, size, leaf, keys, view: view as NumberArray, narrow };
      leaves[index] = setterOf(target);
    };
    for (const entry of rowLayout.numbers) {
      const { dtype } = entry.leaf;
      if (!isHalf(dtype)) place(entry, new DTYPES[dtype].array(this.#row.buffer, entry.offset, entry.size));
      else {
        const numbers = new Float32Array(entry.size);
        const halves = new Uint16Array(this.#row.buffer, entry.offset, entry.size);
        place(entry, numbers, () => {
          const fitting = countFitting(dtype, numbers as unknown as NumberArray, 0, entry.size);
          if (fitting === entry.size) narrowHalves(dtype, numbers, halves);
          return fitting;
        });
      }
    }
    for (const entry of rowLayout.frames) place(entry, this.frames[entry.camera]);
    rowLayout.texts.forEach((entry, i) => {
      place(entry, this.#texts[i]?.bytes);
    });
    this.#leaves = leaves;
    this.#visit = visitor(spec, (index) => leaves[index] as Visit);
  }

  /** Stages a step. @throws ReplayError SPEC_MISMATCH, INVALID_DATA. The error includes the path of the leaf */
  take(step: unknown): void {
    this.#visit(step);
  }

  /** Stages the leaves that `step` has. Sets all other leaves to zeros. @throws the errors of `take` */
  takePartial(step: unknown): void {
    const values = flattenPartial(this.#spec, step, "final");
    this.#row.fill(0);
    for (const frame of this.frames) frame.fill(0);
    for (const { bytes } of this.#texts) bytes.fill(0);
    values.forEach((value, i) => {
      if (value !== undefined) this.#leaves[i]?.(value);
    });
  }

  /** The bytes of the staged step without its frames. They are valid until the next step is staged. */
  get row(): Uint8Array {
    let end = this.#numberBytes;
    for (const { bytes, stride } of this.#texts) {
      for (let at = 0; at < bytes.length; at += stride) {
        const length =
          HEAD + (bytes[at] as number) + (bytes[at + 1] as number) * 2 ** 8 + (bytes[at + 2] as number) * 2 ** 16 + (bytes[at + 3] as number) * 2 ** 24;
        this.#row.set(bytes.subarray(at, at + length), end);
        end += length;
      }
    }
    return this.#row.subarray(0, end);
  }
}
