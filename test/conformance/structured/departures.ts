/**
 * Defines the differences between our answers and the recorded ones for structured writers (POLICY.md), as rules, which also apply to new cases. If a rule
 * applies to a case, a naive writer (test/support/structured-twin.ts) computes all of its answers.
 */
import {
  pathOf,
  StructuredTwin,
  type TwinCondition,
  type TwinConfig,
  type TwinItem,
  type TwinNode,
  twinAges,
  twinNodes,
} from "../../support/structured-twin.ts";
import { isObject, type Op, type Result } from "../case.ts";
import type { StructuredCase } from "./world.ts";

const SOONER = "a bad pattern fails where it is made";
const MODULO = "a comparison keeps its modulo, which is an integer >= 1";
const DATA = "a data condition compares numbers as they are, and refuses fields that are not one number";
const LENGTHS = "inferSignature gives the lengths that the items have";
const SIGNED = "a table's signature is checked for a StructuredWriter's items too";
const NEGATIVE = "a negative priority is refused before anything changes";
const UNKNOWN = "a table that the client knows not to exist is refused";
const FORM = "the form of a step is the client's spec";

interface Refused {
  readonly kind: "RangeError" | "TypeError" | "SPEC_MISMATCH" | "NOT_FOUND";
  /** The rule by which we reject the op. It is omitted if the recorded call also rejects the op. */
  readonly rule?: string;
}

interface LeafOf {
  readonly path: string;
  readonly dtype: string;
  readonly shape: readonly number[];
}

/** The dtypes whose values Reverb's data conditions compare exactly, because the values fit in a signed 32-bit integer. */
const INTEGERS = ["bool", "int8", "uint8", "int16", "uint16", "int32"];

/** Returns the leaves of a case's spec. The keys of each object are visited in sorted order. */
export function leavesOfCase(spec: unknown, keys: readonly string[] = []): LeafOf[] {
  if (!isObject(spec) && !Array.isArray(spec)) return [];
  if (isObject(spec) && typeof spec.dtype === "string") return [{ path: keys.join("."), dtype: spec.dtype, shape: spec.shape as number[] }];
  const names = Array.isArray(spec) ? Object.keys(spec) : Object.keys(spec).sort();
  return names.flatMap((name) => leavesOfCase((spec as { readonly [name: string]: unknown })[name], [...keys, name]));
}

/** Returns the path and value of each leaf of a step. A missing value is null. */
export function valuesOfCase(data: unknown, paths: ReadonlySet<string>, keys: readonly string[] = []): [path: string, value: unknown][] {
  const path = keys.join(".");
  if (paths.has(path) || typeof data !== "object" || data === null) return [[path, data]];
  return Object.entries(data).flatMap(([name, part]) => valuesOfCase(part, paths, [...keys, name]));
}

/** Computes the answers that are expected from us for the ops of a case. */
export class Oracle {
  /** The rules that apply to the case. */
  readonly rules: ReadonlySet<string>;
  /** The expected answer of each op, or undefined if the answer is not compared. */
  readonly results: readonly (Result | undefined)[];
  readonly #test: StructuredCase;
  readonly #leaves: readonly LeafOf[];
  readonly #rules = new Set<string>();
  readonly #writers = new Map<unknown, Writer>();
  readonly #tables = new Map<string, { readonly items: TwinItem[]; readonly maxSize: number; readonly isLimited: boolean }>();

  constructor(test: StructuredCase) {
    this.#test = test;
    this.#leaves = leavesOfCase(test.step);
    for (const { name, max_size = 100, kind, rate_limiter } of test.tables) {
      const isLimited = kind !== undefined || rate_limiter !== undefined;
      this.#tables.set(name, { items: [], maxSize: isLimited ? Number.POSITIVE_INFINITY : (max_size as number), isLimited });
    }
    this.results = test.ops.map((op, i) => this.#answer(op, test.results[i]));
    this.rules = this.#rules;
  }

  #answer([kind, args]: Op, recorded: Result | undefined): Result | undefined {
    const table = this.#tables.get((args.table as string | undefined) ?? "t");
    switch (kind) {
      case "pattern":
        return this.#or(this.#ofPattern(args.pattern), recorded);
      case "create_config":
        return this.#or(this.#ofConfig(args.config as TwinConfig), recorded);
      case "infer_signature":
        return this.#signature(args, recorded);
      case "structured_writer":
        return this.#make(args, recorded);
      case "items":
        return this.#items(table?.items ?? []);
      case "size":
        // If the limiter can block insertions, the naive writer cannot compute the number of inserted items.
        return table?.isLimited ? recorded : { value: table?.items.length };
      case "sample":
        // The naive writer computes the priority, but the data is taken from the recorded answer.
        return this.#sample(table?.items, recorded);
      case "append":
      case "end_episode":
      case "flush":
      case "step_is_open":
        return this.#ofWriter(kind, args, recorded);
      default:
        return recorded;
    }
  }

  /** Returns the error of our rejection and records its rule. If we do not reject the op, returns `answer`. */
  #or(refused: Refused | undefined, answer: Result | undefined): Result | undefined {
    if (refused === undefined) return answer;
    if (refused.rule !== undefined) this.#rules.add(refused.rule);
    return { error: { kind: refused.kind } };
  }

  #make(args: Op[1], recorded: Result | undefined): Result | undefined {
    const configs = (args.configs as readonly string[]).map((name) => this.#test.configs[name] as TwinConfig);
    const refused =
      configs.map((config) => this.#ofConfig(config)).find((one) => one !== undefined) ?? configs.map((config) => this.#ofTable(config)).find((one) => one);
    if (recorded?.error !== undefined && refused?.rule === undefined) return recorded;
    if (refused === undefined) this.#writers.set(args.writer, { twin: new StructuredTwin(this.#leaves, configs), keys: undefined });
    return this.#or(refused, {});
  }

  /** Returns our rejection of a pattern with an invalid index or slice, or undefined if all are valid. */
  #ofPattern(pattern: unknown): Refused | undefined {
    const nodes = twinNodes(pattern);
    const wrong = nodes.map(nodeKind).find((kind) => kind !== undefined);
    return wrong === undefined ? undefined : { kind: wrong, rule: SOONER };
  }

  #ofConfig({ pattern, table, conditions = [], priority }: TwinConfig): Refused | undefined {
    const nodes = twinNodes(pattern);
    const wrong = nodes.map(nodeKind).find((kind) => kind !== undefined);
    if (wrong !== undefined) return { kind: wrong };
    if (hasForeign(pattern)) return { kind: "TypeError" };
    for (const condition of conditions) {
      const refused = this.#ofCondition(condition);
      if (refused !== undefined) return refused;
    }
    if (nodes.length === 0 || table === "") return { kind: "RangeError" };
    if (isObject(priority)) return this.#ofErrors(priority as Exclude<TwinConfig["priority"], number | undefined>);
    if (priority !== undefined && typeof priority !== "number") return { kind: "TypeError" };
    return (priority ?? 1) < 0 ? { kind: "RangeError", rule: NEGATIVE } : undefined;
  }

  #ofCondition({ of, field, mod, op, value }: TwinCondition): Refused | undefined {
    if (of === "is_end_episode") return undefined;
    const leaf = field === undefined ? undefined : this.#leaf(field);
    if (leaf?.shape.some((n) => n !== 1)) return { kind: "RangeError", rule: DATA };
    if (leaf !== undefined && !INTEGERS.includes(leaf.dtype)) this.#rules.add(DATA);
    const isOrder = op !== undefined && op !== "==" && op !== "!=";
    if (mod !== undefined && !Number.isInteger(mod)) return { kind: "TypeError" };
    if (mod !== undefined && mod <= 0) return { kind: "RangeError", ...(mod === 0 || isOrder ? { rule: MODULO } : {}) };
    if (mod !== undefined && isOrder) this.#rules.add(MODULO);
    if (op === undefined) return { kind: "TypeError" };
    if (typeof value === "boolean") return undefined;
    const isFloat = leaf?.dtype.startsWith("float") === true;
    if (typeof value !== "number" || !(isFloat || Number.isInteger(value))) return { kind: "TypeError" };
    const min = mod !== undefined && !isOrder && !isFloat ? 0 : -(2 ** 31);
    return value < min || value > 2 ** 31 - 1 ? { kind: "RangeError" } : undefined;
  }

  #ofErrors({ td_error: weight, field }: { readonly td_error: number; readonly field: string | readonly string[] }): Refused | undefined {
    const leaf = this.#leaf(field);
    if (leaf.shape.some((n) => n !== 1) || leaf.dtype === "bool") return { kind: "RangeError", rule: SOONER };
    return weight < 0 ? { kind: "RangeError", rule: NEGATIVE } : undefined;
  }

  #ofTable({ table, pattern }: TwinConfig): Refused | undefined {
    const found = this.#test.tables.find(({ name }) => name === table);
    if (found === undefined) return { kind: "NOT_FOUND", rule: UNKNOWN };
    if (found.item_signature === undefined) return undefined;
    const wanted = leavesOfCase(found.item_signature) as readonly { readonly dtype: string; readonly shape: readonly (number | null)[] }[];
    const shown = twinNodes(pattern).map((node) => this.#columnOf(node));
    const fits =
      shown.length === wanted.length &&
      shown.every(({ dtype, shape }, i) => {
        const want = wanted[i] as (typeof wanted)[number];
        return want.dtype === dtype && want.shape.length === shape.length && want.shape.every((n, k) => n === null || n === shape[k]);
      });
    return fits ? undefined : { kind: "SPEC_MISMATCH", rule: SIGNED };
  }

  #leaf(field: string | readonly string[]): LeafOf {
    return this.#leaves.find(({ path }) => path === pathOf(field)) as LeafOf;
  }

  #columnOf(node: TwinNode): LeafOf {
    const { path, dtype, shape } = this.#leaf(node.field);
    const [start] = node.slice ?? [];
    return { path, dtype, shape: start === undefined || start === null ? shape : [twinAges(node).length, ...shape] };
  }

  /**
   * Returns the expected result of `infer_signature`. This is the recorded result, unless the length of a slice is not a multiple of its stride. Then the
   * lengths are computed from the patterns and rounded up, as in the items.
   */
  #signature(args: Op[1], recorded: Result | undefined): Result | undefined {
    const configs = (args.configs as readonly string[]).map((name) => this.#test.configs[name] as TwinConfig);
    const refused = configs.map((config) => this.#ofConfig(config)).find((one) => one !== undefined);
    if (refused !== undefined) return this.#or({ ...refused, rule: refused.rule ?? SOONER }, recorded);
    if (recorded?.error !== undefined) return recorded;
    const isOdd = configs.some((config) =>
      twinNodes(config.pattern).some(({ slice: [start, stop, step] = [] }) => ((stop ?? 0) - (start ?? 0)) % (step ?? 1) !== 0),
    );
    if (!isOdd) return recorded;
    this.#rules.add(LENGTHS);
    const all = configs.map((config) => twinNodes(config.pattern).map((node) => this.#columnOf(node).shape));
    let k = 0;
    const made = (nest: unknown): unknown => {
      if (isObject(nest) && "field" in nest) {
        const [first = [], ...rest] = all.map((shapes) => shapes[k] as readonly number[]);
        const { dtype } = this.#leaf((nest as unknown as TwinNode).field);
        k++;
        return { dtype, shape: first.map((n, i) => (rest.every((shape) => shape[i] === n) ? n : null)) };
      }
      const names = Object.keys(nest as object);
      const sorted = Array.isArray(nest) ? names : names.sort();
      const parts = sorted.map((name) => [name, made((nest as { readonly [name: string]: unknown })[name])] as const);
      return Array.isArray(nest) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
    };
    return { signature: made(configs[0]?.pattern) };
  }

  #ofWriter(kind: string, args: Op[1], recorded: Result | undefined): Result | undefined {
    const writer = this.#writers.get(args.writer);
    // The creation of the writer was rejected.
    if (writer === undefined) return undefined;
    const { twin } = writer;
    if (kind === "step_is_open") return { value: twin.stepIsOpen };
    // The naive writer does not model whether a flush times out.
    if (kind === "flush") return recorded;
    if (kind === "end_episode") {
      this.#put(twin.ending());
      if (recorded?.error === undefined) twin.end((args.args as { readonly clear_buffers?: boolean } | undefined)?.clear_buffers !== false);
      return recorded;
    }
    return this.#append(writer, args, recorded);
  }

  #append(writer: Writer, args: Op[1], recorded: Result | undefined): Result {
    const paths = new Set(this.#leaves.map(({ path }) => path));
    const given = valuesOfCase(args.data, paths);
    const keys = given.map(([path]) => path);
    const mismatch = { error: { kind: "SPEC_MISMATCH" } };
    const told = args.spec === undefined ? this.#leaves : leavesOfCase(args.spec);
    const isForeign = keys.some((path) => !paths.has(path));
    const isOther = given.some(
      ([path, value]) =>
        value !== null &&
        !alike(
          this.#leaves.find((leaf) => leaf.path === path),
          told.find((leaf) => leaf.path === path),
        ),
    );
    if (isForeign || isOther) {
      if (recorded?.error === undefined) this.#rules.add(FORM);
      return mismatch;
    }
    if (writer.keys !== undefined && writer.keys.join() !== keys.sort().join()) return mismatch;
    const made = writer.twin.append(new Map(given.filter(([, value]) => value !== null)), args.partial === true);
    if (made === undefined) return mismatch;
    writer.keys = keys.sort();
    this.#put(made);
    return {};
  }

  #put(items: readonly TwinItem[]): void {
    for (const item of items) {
      const { items: into, maxSize } = this.#tables.get(item.table) as { items: TwinItem[]; maxSize: number };
      into.push(item);
      if (into.length > maxSize) into.shift();
    }
  }

  #items(items: TwinItem[]): Result {
    return { items: items.splice(0).map(({ priority, columns }) => ({ priority, columns })), dtypes: undefined };
  }

  #sample(items: TwinItem[] | undefined, recorded: Result | undefined): Result | undefined {
    const item = items?.shift();
    return item === undefined
      ? { error: { kind: "TIMEOUT" } }
      : { data: undefined, priority: item.priority, ...(recorded?.data === undefined ? {} : { data: recorded.data }) };
  }
}

interface Writer {
  readonly twin: StructuredTwin;
  /** The keys of the first appended step. Undefined before it is appended. */
  keys: readonly string[] | undefined;
}

/** Returns the kind of our error for a node with an invalid index or slice, or undefined for a valid node. */
function nodeKind({ at, slice }: TwinNode): "RangeError" | "TypeError" | undefined {
  if (slice === undefined) return !Number.isInteger(at) ? "TypeError" : (at as number) < 0 ? undefined : "RangeError";
  const [start, stop, step] = slice.map((part) => part ?? undefined);
  const isRight =
    start === undefined
      ? stop !== undefined && stop < 0 && step === undefined
      : start < 0 && (stop === undefined || (stop <= 0 && stop > start)) && (step === undefined || step > 0);
  return isRight ? undefined : "RangeError";
}

/** Returns whether a pattern has a leaf that is not a node. */
function hasForeign(pattern: unknown): boolean {
  if (typeof pattern !== "object" || pattern === null) return true;
  if ("field" in pattern) return false;
  return Object.values(pattern).some(hasForeign);
}

function alike(a: LeafOf | undefined, b: LeafOf | undefined): boolean {
  return a !== undefined && b !== undefined && a.dtype === b.dtype && a.shape.join() === b.shape.join();
}
