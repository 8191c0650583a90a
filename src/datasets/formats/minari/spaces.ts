/** Derives Gymnasium spaces from the written values, in the form of Minari's metadata. */

import { DTYPES } from "../../../schema/dtype.ts";
import { isText } from "../../../schema/leaf.ts";
import { fold } from "../../../schema/nest.ts";
import type { StepLeaf, StepSpec } from "../../model/dataset.ts";
import { emptyGroups, leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import type { ColumnData } from "../../model/step-columns.ts";
import { FORMAT_NAMES } from "../dtypes.ts";

/** The minimum height and width at which Minari treats a u8 leaf as an image. */
const MIN_IMAGE = 32;
/** The maximum number of values of an integer action that is treated as a choice. */
const MAX_CHOICES = 65_536;

/** Returns whether Minari treats a leaf as an image because of its space. */
export function isImage({ dtype, shape }: StepLeaf): boolean {
  const [height = 0, width = 0] = shape;
  return dtype === "u8" && (shape.length === 2 || shape.length === 3) && height >= MIN_IMAGE && width >= MIN_IMAGE;
}

/** Returns whether an image has a number of channels that PNG supports and Pillow preserves. Pillow removes the dimension of a single channel. */
export function isEncodable({ shape: [, , channels] }: StepLeaf): boolean {
  return channels === undefined || (channels >= 2 && channels <= 4);
}

/** Checks the leaves of a spec. @throws RldsError UNSUPPORTED if Minari cannot store a leaf */
export function checkLeaves(spec: StepSpec, name: string): void {
  const leaves = leavesOf(spec);
  if (leaves.length === 0) throw new RldsError("UNSUPPORTED", `${name} must have at least one leaf`);
  const [empty] = emptyGroups(spec);
  if (empty !== undefined)
    throw new RldsError("UNSUPPORTED", `${name}/${empty} has no leaves, but Minari cannot omit an element of an array. Leave the array out with mapSteps`);
  for (const { path, leaf, size } of leaves) {
    const place = path === "" ? name : `${name}/${path}`;
    const unsupported = (reason: string) =>
      new RldsError(
        "UNSUPPORTED",
        `${place} is ${leaf.dtype} of shape [${leaf.shape.join(", ")}], but Minari ${reason}. Leave it out with mapSteps, or convert it`,
      );
    if (leaf.dtype === "bytes") throw unsupported("cannot store bytes");
    if (leaf.dtype === "string" && leaf.shape.length > 0) throw unsupported("stores only single strings");
    if (size === 0) throw unsupported("cannot store a value without elements");
  }
}

/** Collects the range of a leaf's choices, or the length and the characters of its texts, for Discrete and Text spaces. */
export class ValueSummary {
  readonly #isChoice: boolean;
  readonly #isText: boolean;
  readonly #letters = new Set<string>();
  #longest = 1;
  #min: bigint | undefined;
  #max: bigint | undefined;

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
      const integer = BigInt(value);
      if (this.#min === undefined || integer < this.#min) this.#min = integer;
      if (this.#max === undefined || integer > this.#max) this.#max = integer;
    }
  }

  /** The values of a Discrete space, or undefined if the leaf does not have a Discrete space. */
  get choices(): { readonly start: bigint; readonly n: bigint } | undefined {
    if (this.#min === undefined || this.#max === undefined) return undefined;
    const start = this.#min < 0n ? this.#min : 0n;
    const n = this.#max - start + 1n;
    return n <= MAX_CHOICES ? { start, n } : undefined;
  }

  get text(): { readonly max_length: number; readonly min_length: number; readonly charset: string } {
    return { max_length: this.#longest, min_length: 0, charset: [...this.#letters].sort().join("") || " " };
  }
}

/** Returns a space as JSON, in the form that Minari's serialize_space writes. @param summaries the summary of each leaf, in the order of the spec's leaves */
export function spaceText(spec: StepSpec, summaries: readonly ValueSummary[]): string {
  return fold<StepLeaf, string>(
    spec,
    (index, _, leaf) => leafText(leaf, summaries[index] as ValueSummary),
    (names, parts, _, list) =>
      list
        ? `{"type": "Tuple", "subspaces": [${parts.join(", ")}]}`
        : `{"type": "Dict", "subspaces": {${names.map((name, i) => `${JSON.stringify(name)}: ${parts[i]}`).join(", ")}}}`,
  );
}

function leafText(leaf: StepLeaf, summary: ValueSummary): string {
  if (isText(leaf)) return JSON.stringify({ type: "Text", ...summary.text });
  const { choices } = summary;
  if (choices !== undefined) return `{"type": "Discrete", "dtype": "int64", "start": ${choices.start}, "n": ${choices.n}}`;
  const { dtype, shape } = leaf;
  const { min, max, float } = DTYPES[dtype];
  const [low, high] = float ? ["-Infinity", "Infinity"] : dtype === "bool" ? ["false", "true"] : [String(min), String(max)];
  return `{"type": "Box", "dtype": "${FORMAT_NAMES[dtype].numpy}", "shape": [${shape.join(", ")}], "low": ${repeatText(shape, low)}, "high": ${repeatText(shape, high)}}`;
}

/** Returns nested lists of a shape that repeat one word. */
function repeatText(shape: readonly number[], word: string): string {
  return shape.reduceRight((inner, length) => `[${new Array<string>(length).fill(inner).join(", ")}]`, word);
}
