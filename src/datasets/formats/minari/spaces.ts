/** Spaces of Gymnasium, as Minari's metadata tell them, of what was written. */

import { DTYPES } from "../../../schema/dtype.ts";
import { isText } from "../../../schema/leaf.ts";
import { fold } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { FORMAT_NAMES } from "../dtypes.ts";

/** Minari takes u8 of this size and more for images, and keeps them encoded. */
const MIN_IMAGE = 32;
/** A single integer of an action that has more values is no choice. */
const MAX_CHOICES = 65_536;

/** Whether Minari takes it for an image by its space. */
export function isImage({ dtype, shape }: StepLeaf): boolean {
  const [height = 0, width = 0] = shape;
  return dtype === "u8" && (shape.length === 2 || shape.length === 3) && height >= MIN_IMAGE && width >= MIN_IMAGE;
}

/** Whether its channels are what a PNG has, and what Pillow gives back: of one it makes none. */
export function isEncodable({ shape: [, , channels] }: StepLeaf): boolean {
  return channels === undefined || (channels >= 2 && channels <= 4);
}

/** @throws RldsError UNSUPPORTED for what Minari cannot have */
export function checkLeaves(spec: StepSpec, name: string): void {
  const leaves = leavesOf(spec);
  if (leaves.length === 0) throw new RldsError("UNSUPPORTED", `${name} must have a leaf`);
  for (const { path, leaf, size } of leaves) {
    const place = path === "" ? name : `${name}/${path}`;
    const refused = (why: string) =>
      new RldsError(
        "UNSUPPORTED",
        `${place} is ${leaf.dtype} of shape [${leaf.shape.join(", ")}], and ${why}: leave it out by mapSteps, or give it another form`,
      );
    if (leaf.dtype === "bytes") throw refused("Minari has no bytes");
    if (leaf.dtype === "string" && leaf.shape.length > 0) throw refused("Minari has texts alone only");
    if (size === 0) throw refused("Minari has no value without elements");
  }
}

/** What one leaf's values were: for the spaces of choices and texts. */
export class Seen {
  readonly #isChoice: boolean;
  readonly #isText: boolean;
  readonly #letters = new Set<string>();
  #longest = 1;
  #least: bigint | undefined;
  #most: bigint | undefined;

  /** @param isAction whether a single integer is a choice */
  constructor(leaf: StepLeaf, isAction: boolean) {
    this.#isText = isText(leaf);
    this.#isChoice = isAction && leaf.shape.length === 0 && /^[iu]/.test(leaf.dtype);
  }

  add(data: ColumnData): void {
    if (this.#isText)
      for (const text of data as readonly string[]) {
        let length = 0;
        for (const letter of text) {
          this.#letters.add(letter);
          length++;
        }
        this.#longest = Math.max(this.#longest, length);
      }
    if (!this.#isChoice) return;
    for (const value of data as ArrayLike<number | bigint> & Iterable<number | bigint>) {
      const whole = BigInt(value);
      if (this.#least === undefined || whole < this.#least) this.#least = whole;
      if (this.#most === undefined || whole > this.#most) this.#most = whole;
    }
  }

  /** The values of a Discrete; undefined where it is none. */
  get choices(): { readonly start: bigint; readonly n: bigint } | undefined {
    if (this.#least === undefined || this.#most === undefined) return undefined;
    const start = this.#least < 0n ? this.#least : 0n;
    const n = this.#most - start + 1n;
    return n <= MAX_CHOICES ? { start, n } : undefined;
  }

  get text(): { readonly max_length: number; readonly min_length: number; readonly charset: string } {
    return { max_length: this.#longest, min_length: 0, charset: [...this.#letters].sort().join("") || " " };
  }
}

/** The text of a space as Minari's serialize_space writes it. @param seen a leaf's, in the order of the spec's leaves */
export function spaceText(spec: StepSpec, seen: readonly Seen[]): string {
  return fold<StepLeaf, string>(
    spec,
    (index, _, leaf) => leafText(leaf, seen[index] as Seen),
    (names, parts, _, list) =>
      list
        ? `{"type": "Tuple", "subspaces": [${parts.join(", ")}]}`
        : `{"type": "Dict", "subspaces": {${names.map((name, i) => `${JSON.stringify(name)}: ${parts[i]}`).join(", ")}}}`,
  );
}

function leafText(leaf: StepLeaf, seen: Seen): string {
  if (isText(leaf)) return JSON.stringify({ type: "Text", ...seen.text });
  const { choices } = seen;
  if (choices !== undefined) return `{"type": "Discrete", "dtype": "int64", "start": ${choices.start}, "n": ${choices.n}}`;
  const { dtype, shape } = leaf;
  const { min, max, float } = DTYPES[dtype];
  const [low, high] = float ? ["-Infinity", "Infinity"] : dtype === "bool" ? ["false", "true"] : [String(min), String(max)];
  return `{"type": "Box", "dtype": "${FORMAT_NAMES[dtype].numpy}", "shape": [${shape.join(", ")}], "low": ${filled(shape, low)}, "high": ${filled(shape, high)}}`;
}

/** Lists of a shape whose elements are all one word. */
function filled(shape: readonly number[], word: string): string {
  return shape.reduceRight((inner, length) => `[${new Array<string>(length).fill(inner).join(", ")}]`, word);
}
