/** A step that was checked, as its bytes: all of it, before any of it is written. */

import type { RowForm } from "../datasets/model/recording/row-form.ts";
import { DTYPES, type Dtype, type Numbered } from "../schema/dtype.ts";
import { putter, type ViewTarget } from "../schema/fit.ts";
import type { RowLeaf } from "../schema/leaf.ts";
import { flattenSome, type Visit, visitor } from "../schema/nest.ts";
import type { Spec } from "../schema/spec.ts";
import { textBytes } from "../schema/text.ts";

/** Of a text: its bytes. */
const HEAD = 4;

export class StagedStep {
  /** Of each camera, its pixels. */
  readonly frames: readonly Uint8Array[];
  readonly #spec: Spec;
  readonly #row: Uint8Array<ArrayBuffer>;
  readonly #numberBytes: number;
  /** Texts as the visitors write them: with zeros up to their limit. */
  readonly #texts: readonly { readonly bytes: Uint8Array; readonly each: number }[];
  readonly #leaves: readonly Visit[];
  readonly #visit: Visit;

  constructor(spec: Spec, form: RowForm) {
    this.#spec = spec;
    this.#numberBytes = form.numberBytes;
    const limit = form.texts.reduce((sum, { leaf, size }) => sum + size * (HEAD + leaf.maxBytes), 0);
    this.#row = new Uint8Array(form.numberBytes + limit);
    this.frames = form.frames.map(({ size }) => new Uint8Array(size));
    this.#texts = form.texts.map(({ leaf, size }) => ({ bytes: new Uint8Array(size * textBytes(leaf.maxBytes)), each: textBytes(leaf.maxBytes) }));
    const leaves: Visit[] = [];
    const place = ({ index, leaf, keys, size }: { index: number; leaf: RowLeaf; keys: readonly string[]; size: number }, view: unknown) => {
      const target: ViewTarget = { dtype: leaf.dtype, shape: leaf.shape, size, leaf, keys, view: view as Numbered };
      leaves[index] = putter(target);
    };
    for (const found of form.numbers) place(found, new DTYPES[found.leaf.dtype as Dtype].array(this.#row.buffer, found.offset, found.size));
    for (const found of form.frames) place(found, this.frames[found.camera]);
    form.texts.forEach((found, i) => {
      place(found, this.#texts[i]?.bytes);
    });
    this.#leaves = leaves;
    this.#visit = visitor(spec, (index) => leaves[index] as Visit);
  }

  /** @throws ReplayError SPEC_MISMATCH, INVALID_DATA, which name the leaf */
  take(step: unknown): void {
    this.#visit(step);
  }

  /** Takes some leaves; the others are zeros. @throws ReplayError likewise */
  takeSome(step: unknown): void {
    const values = flattenSome(this.#spec, step, "final");
    this.#row.fill(0);
    for (const frame of this.frames) frame.fill(0);
    for (const { bytes } of this.#texts) bytes.fill(0);
    values.forEach((value, i) => {
      if (value !== undefined) this.#leaves[i]?.(value);
    });
  }

  /** All but the frames: there until the next step is taken. */
  get row(): Uint8Array {
    let end = this.#numberBytes;
    for (const { bytes, each } of this.#texts) {
      for (let at = 0; at < bytes.length; at += each) {
        const length =
          HEAD + (bytes[at] as number) + (bytes[at + 1] as number) * 2 ** 8 + (bytes[at + 2] as number) * 2 ** 16 + (bytes[at + 3] as number) * 2 ** 24;
        this.#row.set(bytes.subarray(at, at + length), end);
        end += length;
      }
    }
    return this.#row.subarray(0, end);
  }
}
