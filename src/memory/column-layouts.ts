/** The column layouts of a Replay's items. The core knows the number of each item's; what a number means is known here. */

import { BOOTSTRAP } from "../base/abi.ts";
import { ReplayError } from "../base/error.ts";
import { type ColumnLayout, columnsText, hasRoom, jointOf, type Selection, sameOrder, selectionsOf, textSelections } from "../schema/columns.ts";
import type { PlacedLeaf } from "../schema/layout.ts";
import type { Core } from "./core.ts";

/** So many are kept before anyone looks for those that nothing names any more. */
const FEW = 1024;
/** Numbers of a chunk, as a power of two: files have a section for each. */
const CHUNK_BITS = 6;
/** Numbers of a form, as a power of two: items whose numbers differ only below are drawn together (assembly/draw/sample.ts). */
const FORM_BITS = 16;
const MAX_FORMS = 2 ** (32 - FORM_BITS);
const MAX_ALIKE = 2 ** FORM_BITS;
/** Joint columns that a form remembers. */
const MAX_JOINTS = 8;

/** What has room for all layouts of a form in windows of so many steps. */
interface Joint {
  readonly width: number;
  readonly selections: readonly Selection[];
}

/** Layouts that show the same leaves under the same names, of other steps. */
interface Form {
  readonly number: number;
  readonly layouts: Set<ColumnLayout>;
  /** Found already, the oldest first: draws of the same widths have the same again. */
  joints: readonly Joint[];
  /** The number that a layout of it was given last. */
  last: number;
}

export class ColumnLayouts {
  /** Those that are known, by number >>> 6. A list is never changed, but made anew. */
  readonly chunks = new Map<number, readonly ColumnLayout[]>();
  /** Tables whose items name layouts. */
  readonly tables = new Set<{ readonly handle: number }>();
  /** What the rules of each open writer name. */
  readonly rules = new Set<readonly number[]>();
  readonly #core: Core;
  readonly #leaves: readonly PlacedLeaf[];
  readonly #byId = new Map<number, ColumnLayout>();
  readonly #byText = new Map<string, ColumnLayout>();
  /** By what they show: the one that new layouts join. */
  readonly #forms = new Map<string, Form>();
  readonly #byNumber = new Map<number, Form>();
  #lastForm = 0;
  #limit = FEW;

  constructor(core: Core, leaves: readonly PlacedLeaf[]) {
    this.#core = core;
    this.#leaves = leaves;
  }

  get(id: number): ColumnLayout | undefined {
    return this.#byId.get(id);
  }

  /** How many are known, whole steps aside. */
  get size(): number {
    return this.#byId.size;
  }

  /**
   * The number of a layout, the same for equal columns. Amortized O(columns).
   * @param kept numbers that stay, though nothing names them yet
   * @throws TypeError, RangeError, ReplayError for what are no columns of these leaves
   */
  numberOf(columns: object, kept: readonly number[] = []): number {
    const text = columnsText(columns);
    const known = text === undefined ? undefined : this.#byText.get(text);
    if (known !== undefined) return known.id;
    const selections = textSelections(columns, text, this.#leaves);
    if (this.#byId.size >= this.#limit) this.sweep(kept);
    const form = this.#formOf(selections);
    let id = 0;
    do {
      form.last = (form.last + 1) % MAX_ALIKE;
      id = form.number * MAX_ALIKE + form.last;
    } while (this.#byId.has(id));
    this.#add({ id, columns: text as string, selections }, form);
    return id;
  }

  /** How many are drawn together with one, it among them. */
  alike(id: number): number {
    return this.#byNumber.get(id >>> FORM_BITS)?.layouts.size ?? 0;
  }

  /** Columns in the order of a layout that have room for those of all that are drawn together with it; the same object as long as that is so. */
  jointOf(layout: ColumnLayout, width: number): readonly Selection[] {
    const form = this.#byNumber.get(layout.id >>> FORM_BITS) as Form;
    const known = form.joints.find((joint) => joint.width === width && sameOrder(joint.selections, layout.selections));
    if (known !== undefined) return known.selections;
    const selections = jointOf(layout, form.layouts, width);
    form.joints = [...form.joints.slice(1 - MAX_JOINTS), { width, selections }];
    return selections;
  }

  /** Takes a layout with the number that it had. @throws TypeError, RangeError, ReplayError for what are no columns of these leaves */
  put(id: number, columns: object): void {
    const selections = selectionsOf(columns, this.#leaves);
    const number = id >>> FORM_BITS;
    const form = this.#byNumber.get(number) ?? this.#newForm(selections, number);
    form.last = Math.max(form.last, id % MAX_ALIKE);
    this.#lastForm = Math.max(this.#lastForm, number);
    this.#add({ id, columns: JSON.stringify(columns), selections }, form);
  }

  /** Lets go of layouts that no item and no rule names. O(slots of tables with layouts) */
  sweep(kept: readonly number[] = []): void {
    const named = this.#named();
    for (const id of kept) named.add(id);
    for (const [number, chunk] of this.chunks) {
      const left = chunk.filter(({ id }) => named.has(id));
      if (left.length === chunk.length) continue;
      for (const layout of chunk) {
        if (named.has(layout.id)) continue;
        this.#byId.delete(layout.id);
        this.#leaveForm(layout);
        if (this.#byText.get(layout.columns) === layout) this.#byText.delete(layout.columns);
      }
      if (left.length > 0) this.chunks.set(number, left);
      else this.chunks.delete(number);
    }
    this.#limit = Math.max(FEW, 2 * this.#byId.size);
  }

  /** Whether every layout is known that an item or a rule names. O(slots of tables with layouts) */
  complete(): boolean {
    for (const id of this.#named()) if (id !== 0 && !this.#byId.has(id)) return false;
    return true;
  }

  #add(layout: ColumnLayout, form: Form): void {
    form.layouts.add(layout);
    form.joints = form.joints.filter(({ selections, width }) => hasRoom(selections, layout, width));
    const chunk = layout.id >>> CHUNK_BITS;
    this.chunks.set(chunk, [...(this.chunks.get(chunk) ?? []), layout]);
    this.#byId.set(layout.id, layout);
    this.#byText.set(layout.columns, layout);
  }

  /** The form that a new layout joins. */
  #formOf(selections: readonly Selection[]): Form {
    const known = this.#forms.get(formKey(selections));
    if (known !== undefined && known.layouts.size < MAX_ALIKE) return known;
    if (this.#byNumber.size >= MAX_FORMS - 1) throw new ReplayError("OUT_OF_MEMORY", `items have ${MAX_FORMS - 1} different forms of columns: use fewer`);
    do this.#lastForm = (this.#lastForm + 1) % MAX_FORMS;
    while (this.#lastForm === 0 || this.#byNumber.has(this.#lastForm));
    return this.#newForm(selections, this.#lastForm);
  }

  #newForm(selections: readonly Selection[], number: number): Form {
    const form: Form = { number, layouts: new Set(), joints: [], last: -1 };
    this.#forms.set(formKey(selections), form);
    this.#byNumber.set(number, form);
    return form;
  }

  #leaveForm(layout: ColumnLayout): void {
    const form = this.#byNumber.get(layout.id >>> FORM_BITS) as Form;
    form.layouts.delete(layout);
    form.joints = [];
    if (form.layouts.size > 0) return;
    this.#byNumber.delete(form.number);
    const key = formKey(layout.selections);
    if (this.#forms.get(key) === form) this.#forms.delete(key);
  }

  /** All that items and rules name, 0 among them. */
  #named(): Set<number> {
    const core = this.#core;
    const { x } = core;
    core.look();
    const named = new Set([...this.rules].flat());
    for (const { handle: table } of this.tables) {
      const at = (x.table_layouts(table) >>> 0) / 4;
      if (at === 0) continue;
      for (let slot = x.table_high(table); slot > 0; slot--) named.add(core.u32[at + slot] as number);
    }
    return named;
  }
}

/** What items of these columns show: the same, whatever the order of their names and whichever the steps. */
function formKey(selections: readonly Selection[]): string {
  const parts = selections.map(({ keys, leaf, squeezed, steps }) => [keys[0], leaf.index, squeezed, steps?.[0] === BOOTSTRAP]);
  return JSON.stringify(parts.sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1)));
}
