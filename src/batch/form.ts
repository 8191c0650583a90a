/** What batches of a kind have alike: their columns, and where their arrays are. Nothing here is of a Replay, since a batch has its form for as long as it lives. */

import type { Arrays, Texts } from "../schema/arrays.ts";
import { Column } from "../schema/column.ts";
import type { Selection } from "../schema/columns.ts";
import { nested } from "../schema/nest.ts";
import type { Form } from "./batch.ts";

/** Numbers of arrays, or of a draw's columns, by the names of a batch. */
export interface Numbers {
  readonly [name: string]: number;
}

export interface BatchFields {
  readonly width: number;
  readonly selections: readonly Selection[];
  /** Undefined where the columns stand under their names. */
  readonly nest: ((values: readonly unknown[]) => unknown) | undefined;
  /** What the batch has beside steps, lengths and info, as bits. */
  readonly holds: number;
  /** Whether runs go on to the end of the window, wherever they should stop: how wide the whole batch will be is not known yet. */
  readonly open: boolean;
  /** The numbers of the arrays: of the columns, of what the draw tells, of the mask. */
  readonly columns: readonly { readonly array: number; readonly shape: readonly number[] }[];
  readonly numbers: { readonly lengths: number; readonly info: Numbers; readonly nStep: Numbers | undefined; readonly mask: number | undefined };
}

export class BatchForm implements Form {
  readonly n: number;
  readonly width: number;
  readonly selections: readonly Selection[];
  readonly isWhole: boolean;
  readonly columns: BatchFields["columns"];
  readonly numbers: BatchFields["numbers"];
  readonly #arrays: Arrays;
  readonly #fields: BatchFields;

  constructor(arrays: Arrays, fields: BatchFields) {
    this.n = arrays.n;
    this.width = fields.width;
    this.selections = fields.selections;
    this.isWhole = fields.nest !== undefined;
    this.columns = fields.columns;
    this.numbers = fields.numbers;
    this.#arrays = arrays;
    this.#fields = fields;
  }

  /** Whether the arrays of its batches are where those of another form's are. */
  isAlike(form: Form): boolean {
    if (!(form instanceof BatchForm)) return false;
    const { n, width, selections, isWhole } = this;
    const [own, other] = [this.#fields, form.#fields];
    const isSame = n === form.n && width === form.width && selections === form.selections && isWhole === form.isWhole;
    return isSame && own.holds === other.holds && own.open === other.open;
  }

  nest(values: readonly unknown[]): unknown {
    const names = () => this.selections.map(({ keys }) => keys[0] as string);
    return this.#fields.nest?.(values) ?? nested(names(), values, false);
  }

  columnsOf(slab: ArrayBuffer, texts: Texts): Column[] {
    return this.columns.map(({ array, shape }) => new Column(this.#arrays.view(array, slab, texts) as Column["data"], [...shape]));
  }

  numbersOf(slab: ArrayBuffer, name: "lengths" | "info" | "nStep" | "mask"): unknown {
    const numbers = this.numbers[name];
    if (typeof numbers !== "object") return numbers === undefined ? undefined : this.#arrays.view(numbers, slab, []);
    const views: { [key: string]: unknown } = {};
    for (const key in numbers) views[key] = this.#arrays.view(numbers[key] as number, slab, []);
    return views;
  }
}
