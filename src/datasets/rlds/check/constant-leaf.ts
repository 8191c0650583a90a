/** Finds elements of a leaf that have the same value in all steps. */
import { arrayDtype, type Dtype, zeros } from "../../../schema/dtype.ts";
import type { LeafEntry } from "../../model/leaves.ts";

type Row = ArrayLike<number | bigint | boolean>;

/** Leaves with more elements or with three dimensions are checked as a whole, because the borders of images are often constant in valid data. */
const MAX_ELEMENTS = 1024;

/** Tracks the elements of a leaf that have never differed from their first value. O(elements that are still constant) per step */
export class ConstantLeaf {
  readonly path: string;
  readonly size: number;
  readonly #isWhole: boolean;
  readonly #dtype: Dtype;
  #first: { [i: number]: number | bigint } | undefined;
  /** The indices of the elements that are still constant. If the leaf is checked as a whole, the list has the single element -1 while all are constant. */
  #constant: number[] = [];
  #count = 0;

  constructor({ path, leaf, size }: LeafEntry) {
    this.path = path;
    this.size = size;
    this.#dtype = leaf.dtype as Dtype;
    this.#isWhole = leaf.shape.length >= 3 || size > MAX_ELEMENTS;
  }

  /** Whether further steps can change the result. If not, their values do not have to be read. */
  get isOpen(): boolean {
    return this.#first === undefined || this.#constant.length > 0;
  }

  /** Adds the elements of `row` that start at `at`. */
  add(row: Row, at: number): void {
    this.#count++;
    if (this.#first === undefined) {
      const first = zeros(arrayDtype(this.#dtype) as Dtype, this.size) as unknown as { [i: number]: number | bigint };
      const isBig = this.#dtype === "i64" || this.#dtype === "u64";
      for (let i = 0; i < this.size; i++) first[i] = isBig ? BigInt(row[at + i] as number) : Number(row[at + i]);
      this.#first = first;
      this.#constant = this.#isWhole ? [-1] : Array.from({ length: this.size }, (_, i) => i);
      return;
    }
    if (this.#isWhole) {
      for (let i = 0; i < this.size && this.#constant.length > 0; i++) if (!this.#isSame(row, at, i)) this.#constant = [];
    } else if (this.#constant.some((i) => !this.#isSame(row, at, i))) this.#constant = this.#constant.filter((i) => this.#isSame(row, at, i));
  }

  #isSame(row: Row, at: number, i: number): boolean {
    const first = (this.#first as { [i: number]: number | bigint })[i] as number | bigint;
    const value = row[at + i];
    return typeof first === "bigint" ? first === value || first === BigInt(value as number) : Object.is(first, Number(value)) || first === Number(value);
  }

  /**
   * The elements that never changed, and their value if they all have the same value. Undefined if all elements changed, or if fewer than two steps were added.
   */
  get result(): { readonly elements: readonly number[]; readonly value: number | bigint | undefined } | undefined {
    if (this.#count < 2 || this.#constant.length === 0) return undefined;
    const first = this.#first as { [i: number]: number | bigint };
    const elements = this.#isWhole ? Array.from({ length: this.size }, (_, i) => i) : this.#constant;
    const value = first[elements[0] as number];
    return { elements, value: elements.every((i) => Object.is(first[i], value)) ? value : undefined };
  }
}

/** Returns a clause such as `dimensions 3, 5, 9 (of 14) of action never change` or `reward is always 0`. */
export function constantText({ path, size }: ConstantLeaf, elements: readonly number[], value: number | bigint | undefined): string {
  const isWhole = elements.length === size;
  const isOne = isWhole || elements.length === 1;
  const verb = value === undefined ? (isOne ? "never changes" : "never change") : `${isOne ? "is" : "are"} always ${value}`;
  if (isWhole) return `${path} ${verb}`;
  return `${isOne ? "dimension" : "dimensions"} ${elements.slice(0, 8).join(", ")}${elements.length > 8 ? ", …" : ""} (of ${size}) of ${path} ${verb}`;
}
