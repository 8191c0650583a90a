/** Holds the state of a structured writer case: a client with the case's tables, and the writers that its ops have created. */

import type { Column, Spec } from "../../../src/index.ts";
import { dtypeOf } from "../../../src/schema/dtype.ts";
import { inferSignature, LocalClient, type PatternNode, type Signature, type StructuredWriter, unpackPattern } from "../../../src/tf-agents/index.ts";
import { ourArguments } from "../arguments.ts";
import { isObject, Malformed, type Op, type Result, type TableArgs } from "../case.ts";
import { nestedColumn } from "../nested.ts";
import { build, ourSpec } from "../step-spec.ts";
import { tableOptions } from "../tables/options.ts";
import { WAIT_MS } from "../world.ts";
import { configOf, patternOf } from "./configs.ts";

export interface StructuredCase {
  readonly name: string;
  readonly tables: readonly (TableArgs & { readonly item_signature?: unknown })[];
  /** The spec of the steps, in the format of the case. */
  readonly step: unknown;
  readonly configs: { readonly [name: string]: unknown };
  readonly ops: readonly Op[];
  readonly error: Result | undefined;
  readonly results: readonly Result[];
}

/** Thrown by an op on a writer whose creation was rejected. */
export class NoWriter extends Error {}

type Args = { readonly [name: string]: unknown };

const DTYPE_NAMES = {
  bool: "bool",
  f32: "float32",
  f64: "float64",
  i8: "int8",
  u8: "uint8",
  i16: "int16",
  u16: "uint16",
  i32: "int32",
  u32: "uint32",
  i64: "int64",
  u64: "uint64",
};
const MAX_BYTES = 2 ** 26;

export class World {
  readonly test: StructuredCase;
  readonly spec: Spec;
  readonly client: LocalClient;
  readonly #writers = new Map<unknown, StructuredWriter>();

  constructor(test: StructuredCase) {
    this.test = test;
    this.spec = ourSpec(test.step);
    const tables = test.tables.map((table) => ({ name: table.name, ...tableOptions(table), ...signatureOf(table) }));
    this.client = LocalClient.of<Spec>({ spec: this.spec, tables, seed: 1, maxBytes: MAX_BYTES, logger: null });
  }

  end(): void {
    this.client.replay.dispose();
  }

  async answer([kind, args]: Op): Promise<Result> {
    const { table = "t" } = args as { readonly table?: string };
    switch (kind) {
      case "pattern":
        return { nodes: shown(patternOf(args.pattern, "step" in args ? ourSpec(args.step) : this.spec, args.by)) };
      case "create_config": {
        const made = configOf(args.config, this.spec);
        return { table: made.table, conditions: made.conditions.length };
      }
      case "unpack_pattern":
        return { nodes: shown(unpackPattern(this.#config(args.config))) };
      case "infer_signature":
        return { signature: told(inferSignature(this.#configs(args), "step" in args ? ourSpec(args.step) : this.spec)) };
      case "structured_writer":
        this.#writers.set(args.writer, this.client.structuredWriter(this.#configs(args)));
        return {};
      case "items":
        return this.#items(table);
      case "size":
        return { value: this.client.table(table).size };
      case "table_info": {
        const { size, episodes, deletedEpisodes } = this.client.table(table).stats();
        return { current_size: size, num_episodes: episodes, num_deleted_episodes: deletedEpisodes };
      }
      case "sample":
        return this.#sample(table);
      default:
        return this.#ofWriter(kind, args);
    }
  }

  async #ofWriter(kind: string, args: Args): Promise<Result> {
    const writer = this.#writers.get(args.writer);
    if (writer === undefined) throw new NoWriter(`no writer ${JSON.stringify(args.writer ?? "w")} was made`);
    const { timeoutMs, ...given } = ourArguments(args.args);
    const wait = { ...given, ...(timeoutMs === undefined ? {} : { timeoutMs: WAIT_MS }) };
    switch (kind) {
      case "append":
        writer.append(stepValue(args.spec ?? this.test.step, args.data) as never, args.partial === true ? { partialStep: true } : {});
        return {};
      case "flush":
        // The timeout keeps our call from waiting forever.
        await writer.flush({ ...wait, timeoutMs: WAIT_MS });
        return {};
      case "end_episode":
        await writer.endEpisode(wait);
        return {};
      case "step_is_open":
        return { value: writer.stepIsOpen };
      case "drop":
        writer.close();
        this.#writers.delete(args.writer);
        return {};
      default:
        throw new Malformed(`unknown op ${JSON.stringify(kind)}`);
    }
  }

  #config(name: unknown) {
    const theirs = this.test.configs[name as string];
    if (theirs === undefined) throw new Malformed(`there is no config ${JSON.stringify(name)}`);
    return configOf(theirs, this.spec);
  }

  #configs({ configs }: Args) {
    if (!Array.isArray(configs)) throw new Malformed("configs must be an array of names");
    return configs.map((name) => this.#config(name));
  }

  /** Samples as many items as the table contains. */
  #items(name: string): Result {
    const table = this.client.table(name);
    const items: object[] = [];
    let dtypes: unknown;
    for (let left = table.size; left > 0; left--) {
      const { steps, info } = table.sample(1, { cross: true });
      const columns = Object.values(steps as object) as Column[];
      // Both bool and u8 become "uint8", because a batch stores both in a Uint8Array.
      dtypes ??= columns.map(({ data }) => DTYPE_NAMES[dtypeOf(data) as keyof typeof DTYPE_NAMES]);
      items.push({ priority: info.priorities[0], columns: columns.map(ofOne) });
    }
    return items.length === 0 ? { items } : { items, dtypes };
  }

  async #sample(name: string): Promise<Result> {
    const { steps, info } = await this.client.table(name).sampleWhenReady(1, { cross: true, timeoutMs: WAIT_MS });
    const columns = (Object.values(steps as object) as Column[]).map(ofOne);
    const signature = this.test.tables.find((table) => table.name === name)?.item_signature;
    return { data: signature === undefined ? columns : unpacked(signature, columns), priority: info.priorities[0] };
  }
}

/** Returns a column of one item without the item dimension. */
function ofOne({ data, shape }: Column): unknown {
  return nestedColumn({ data, shape: shape.slice(1) });
}

/** Arranges `values` in the structure of `nest`, whose keys are visited in sorted order. Removes the values from the list. */
function unpacked(nest: unknown, values: unknown[]): unknown {
  if (isObject(nest) && typeof nest.dtype === "string") return values.shift();
  if (Array.isArray(nest)) return nest.map((part) => unpacked(part, values));
  const names = Object.keys(nest as object).sort();
  return Object.fromEntries(names.map((name) => [name, unpacked((nest as Args)[name], values)]));
}

/** Converts a pattern to the format of the cases. */
function shown(pattern: unknown): unknown {
  const { flatSourceIndex, start, stop, step } = pattern as Partial<PatternNode>;
  // `instanceof` would fail, because other hosts use the classes of the package instead of those of the sources.
  if (typeof flatSourceIndex === "number") {
    return { flat_source_index: flatSourceIndex, start, stop, step };
  }
  if (Array.isArray(pattern)) return pattern.map(shown);
  return Object.fromEntries(Object.entries(pattern as object).map(([name, part]) => [name, shown(part)]));
}

function told(signature: Signature): unknown {
  const { dtype, shape } = signature as { readonly dtype?: unknown; readonly shape?: unknown };
  if (typeof dtype === "string") return { dtype: (DTYPE_NAMES as { readonly [name: string]: string })[dtype] ?? dtype, shape };
  if (Array.isArray(signature)) return signature.map(told);
  return Object.fromEntries(Object.entries(signature).map(([name, part]) => [name, told(part as Signature)]));
}

function signatureOf({ item_signature: theirs }: { readonly item_signature?: unknown }): { readonly signature?: Signature } {
  return theirs === undefined ? {} : { signature: ourSpec(theirs) as Signature };
}

/** Converts a step of a case to our values. Null stays null, and fields that are not in the spec stay unchanged. */
export function stepValue(spec: unknown, value: unknown): unknown {
  if (value === null) return null;
  if (isObject(spec) && typeof spec.dtype === "string") return build(spec, value);
  if (Array.isArray(value)) return value.map((part, i) => stepValue((spec as readonly unknown[] | undefined)?.[i], part));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, stepValue((spec as Args | undefined)?.[name], part)]));
}
