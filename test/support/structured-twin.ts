/**
 * Implements a naive structured writer, based only on Reverb's documents, test/conformance/tfagents/README.md and POLICY.md. It keeps every step, recounts each
 * time, and uses the configs of the cases.
 */

/** A leaf of a pattern: one step, or a slice. */
export interface TwinNode {
  readonly field: string | readonly string[];
  readonly at?: number;
  readonly slice?: readonly (number | null | undefined)[];
}
export interface TwinCondition {
  readonly of: "step_index" | "steps_since_applied" | "data" | "is_end_episode";
  readonly field?: string | readonly string[];
  readonly mod?: number;
  readonly op?: "==" | "!=" | "<" | "<=" | ">" | ">=";
  readonly value?: number | boolean;
}
export interface TwinConfig {
  readonly pattern: unknown;
  readonly table: string;
  readonly conditions?: readonly TwinCondition[];
  readonly priority?: number | { readonly td_error: number; readonly field: string | readonly string[] };
}
export interface TwinItem {
  readonly table: string;
  readonly priority: number;
  /** The columns in the order of their names. */
  readonly columns: readonly unknown[];
}
/** A field of a step. */
export interface TwinField {
  readonly path: string;
  readonly dtype: string;
}
/** Values by path. A missing path was omitted. */
export type TwinValues = ReadonlyMap<string, unknown>;

export const pathOf = (field: string | readonly string[]): string => [field].flat().join(".");

/** Returns the leaves of a pattern in the order of their names. */
export function twinNodes(pattern: unknown): TwinNode[] {
  if (typeof pattern !== "object" || pattern === null) return [];
  if ("field" in pattern) return [pattern as TwinNode];
  if (Array.isArray(pattern)) return pattern.flatMap(twinNodes);
  const names = Object.keys(pattern).sort();
  return names.flatMap((name) => twinNodes((pattern as { readonly [name: string]: unknown })[name]));
}

/** Returns the ages of the steps of a node, oldest first. The newest step has age 1. */
export function twinAges({ at, slice }: TwinNode): number[] {
  const [start, stop, step] = slice ?? [null, at, null];
  if (start === null || start === undefined) return [-(stop as number)];
  const ages: number[] = [];
  for (let index = start; index < (stop ?? 0); index += step ?? 1) ages.push(-index);
  return ages;
}

const isSingle = ({ slice }: TwinNode) => slice === undefined || slice[0] === null || slice[0] === undefined;

interface TwinStep {
  readonly values: Map<string, unknown>;
  /** The number of the step in its episode. */
  readonly index: number;
}

export class StructuredTwin {
  readonly #fields: readonly TwinField[];
  readonly #configs: readonly TwinConfig[];
  /** The number of steps that each config needs. */
  readonly #needs: readonly number[];
  readonly #named: ReadonlySet<string>;
  readonly #steps: TwinStep[] = [];
  #first = 0;
  #index = 0;
  #isOpen = false;
  /** For each config, the number of the step at which it last created an item. */
  readonly #last: number[];

  constructor(fields: readonly TwinField[], configs: readonly TwinConfig[], needs?: readonly number[]) {
    this.#fields = fields;
    this.#configs = configs;
    this.#needs = needs ?? configs.map(reachOf);
    const ofData = (config: TwinConfig) => (config.conditions ?? []).flatMap(({ field }) => (field === undefined ? [] : [field]));
    this.#named = new Set(configs.flatMap((config) => [...twinNodes(config.pattern).map(({ field }) => field), ...ofData(config)].map(pathOf)));
    this.#last = configs.map(() => -1);
  }

  get stepIsOpen(): boolean {
    return this.#isOpen;
  }

  /** Returns the items that a step creates, or undefined if it sets a field that the open step already has. */
  append(values: TwinValues, isPartial: boolean): TwinItem[] | undefined {
    const open = this.#isOpen ? (this.#steps.at(-1) as TwinStep) : undefined;
    if (open !== undefined && [...values.keys()].some((path) => open.values.has(path))) return undefined;
    if (open === undefined) this.#steps.push({ values: new Map(values), index: this.#index });
    else for (const [path, value] of values) open.values.set(path, value);
    this.#isOpen = isPartial;
    if (!isPartial) this.#index++;
    return this.#apply(false);
  }

  /** Returns the items that the end of an episode creates. The episode has not ended yet. */
  ending(): TwinItem[] {
    return this.#apply(true);
  }

  end(clears: boolean): void {
    this.#isOpen = false;
    this.#index = 0;
    if (clears) this.#first = this.#steps.length;
  }

  #apply(atEnd: boolean): TwinItem[] {
    const newest = this.#steps.length - 1;
    if (newest < this.#first || !this.#isLive(newest)) return [];
    const items: TwinItem[] = [];
    this.#configs.forEach((config, k) => {
      if (this.#last[k] === newest || !this.#applies(config, k, newest, atEnd)) return;
      const columns = twinNodes(config.pattern).map((node) => this.#column(node, newest));
      items.push({ table: config.table, priority: this.#priority(config, newest), columns: columns.map(({ shown }) => shown) });
      this.#last[k] = newest;
    });
    return items;
  }

  #applies(config: TwinConfig, k: number, newest: number, atEnd: boolean): boolean {
    const conditions = config.conditions ?? [];
    if (conditions.some(({ of }) => of === "is_end_episode") !== atEnd) return false;
    if (this.#steps.length - this.#first < (this.#needs[k] as number)) return false;
    const hold = conditions.every((condition) => condition.of === "is_end_episode" || this.#holds(condition, k, newest));
    return hold && twinNodes(config.pattern).every((node) => this.#column(node, newest).isThere);
  }

  #holds(condition: TwinCondition, k: number, newest: number): boolean {
    const { index, values } = this.#steps[newest] as TwinStep;
    if (condition.of === "step_index") return compared(index, condition);
    if (condition.of === "steps_since_applied") {
      let count = 0;
      for (let step = (this.#last[k] as number) + 1; step <= newest; step++) if (this.#isLive(step)) count++;
      return compared(count, condition);
    }
    const path = pathOf(condition.field as string);
    if (!values.has(path)) return false;
    const isSingle = this.#fields.find((field) => field.path === path)?.dtype === "float32";
    const number = Number([values.get(path)].flat(9)[0]);
    const { value } = condition;
    return compared(isSingle ? Math.fround(number) : number, { ...condition, value: isSingle ? Math.fround(Number(value)) : value });
  }

  /** Returns whether a step has a value in any field that the configs use. */
  #isLive(step: number): boolean {
    return [...(this.#steps[step] as TwinStep).values.keys()].some((path) => this.#named.has(path));
  }

  #column(node: TwinNode, newest: number): { readonly isThere: boolean; readonly shown: unknown } {
    const path = pathOf(node.field);
    const steps = twinAges(node).map((age) => this.#steps[newest + 1 - age] as TwinStep);
    const isThere = steps.every((step) => step.values.has(path));
    const values = steps.map((step) => step.values.get(path));
    return { isThere, shown: isSingle(node) ? values[0] : values };
  }

  #priority({ priority = 1, pattern }: TwinConfig, newest: number): number {
    if (typeof priority === "number") return priority;
    const node = twinNodes(pattern)
      .filter(({ field }) => pathOf(field) === pathOf(priority.field))
      .at(-1);
    if (node === undefined) return 0;
    const errors = [this.#column(node, newest).shown].flat().map((error) => Math.abs(Number(error)));
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
    return priority.td_error * Math.max(...errors) + (1 - priority.td_error) * mean;
  }
}

/** Returns how many steps a config's pattern reaches back. */
export function reachOf({ pattern }: TwinConfig): number {
  return Math.max(...twinNodes(pattern).flatMap(twinAges));
}

function compared(number: number, { mod, op, value }: TwinCondition): boolean {
  const left = mod === undefined ? number : number % mod;
  const right = Number(value);
  switch (op) {
    case "==":
      return left === right;
    case "!=":
      return left !== right;
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    default:
      return left >= right;
  }
}
