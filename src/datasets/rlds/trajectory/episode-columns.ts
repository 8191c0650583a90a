/** Reads the episodes of a dataset as columns for the leaves of a Replay, and checks each episode as a whole. */
import { didYouMean, mustBe, onlyKeys } from "../../../base/error.ts";
import { elementBytes, isLeaf, leafText } from "../../../schema/leaf.ts";
import { packer, valueAt } from "../../../schema/nest.ts";
import { type FoundLeaf, leavesOf as leavesOfRow, type Spec } from "../../../schema/spec.ts";
import { Collector } from "../../model/collector.ts";
import type { RldsEpisode, RldsStep, StepSpec } from "../../model/dataset.ts";
import { flagOf as flagIn } from "../../model/elements.ts";
import { finalStepOf } from "../../model/final-step.ts";
import { isLazy } from "../../model/lazy-column.ts";
import { leavesOf } from "../../model/leaves.ts";
import { forEach } from "../../model/maybe-async.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns, slicedColumn } from "../../model/step-columns.ts";
import { flagOf } from "../../model/step-fields.ts";
import { abortable } from "../../model/traversal.ts";

/** Maps leaves or subtrees of a Replay's spec (`obs`, `info.mask`) to their paths in the steps (`observation`, `extra/mask`). */
export type StepFields = { readonly [path: string]: string };

/** All rows of an episode. The observation in the last row is the final observation. */
export interface EpisodeColumns {
  /** One column per leaf, in the order of the spec. */
  readonly data: readonly ColumnData[];
  readonly rows: number;
  /** The number of rows that begin a transition, which are all rows, or all rows except the last. */
  readonly transitions: number;
  readonly terminated: boolean;
}

/** The flags of an episode, in addition to its columns. */
interface EpisodeFlags {
  readonly episode: number;
  readonly metadata: { readonly [name: string]: unknown };
  readonly flagAt: (row: number, k: number) => boolean;
}

const FLAGS = ["is_first", "is_last", "is_terminal"] as const;
/** The fields that have no meaning in a final observation. */
const ACTION_FIELDS: readonly unknown[] = ["action", "reward", "discount"];
/** The approximate size of the blocks of rows that are copied to a Replay, in bytes. */
const BLOCK_BYTES = 2 ** 22;
const MAX_ROWS = 4096;

export class EpisodeReader {
  readonly #leaves: readonly FoundLeaf[];
  /** The path of each leaf in a step. */
  readonly #from: readonly (readonly string[])[];
  readonly #pack: (values: readonly unknown[]) => unknown;
  /** The spec of the collected values, if steps arrive one by one. */
  readonly #collected: StepSpec;
  /** The number of rows that are passed to a Replay together. */
  readonly blockRows: number;
  /** The spec of the columns that were read last, and the indices of the flags and leaves among them. */
  #lastColumns: { readonly spec: StepSpec; readonly columns: readonly number[] } | undefined;

  /** @throws TypeError if `fields` is invalid · ReplayError NOT_FOUND if `fields` has a path that is not in the spec */
  constructor(spec: Spec, fields: StepFields = {}) {
    this.#leaves = leavesOfRow(spec);
    this.#from = sources(this.#leaves, fields);
    this.#pack = packer(spec);
    this.#collected = this.#pack(this.#leaves.map(({ leaf: { dtype }, shape }) => ({ dtype, shape }))) as StepSpec;
    const bytes = this.#leaves.reduce((sum, { leaf, size }) => sum + elementBytes(leaf) * size, 0);
    this.blockRows = Math.max(1, Math.min(MAX_ROWS, Math.floor(BLOCK_BYTES / bytes)));
  }

  /** Returns the dtype of the leaf that reads a field of the steps, or undefined if no leaf reads the field. */
  dtypeOf(keys: readonly string[]): string | undefined {
    const path = keys.join("/");
    return this.#leaves[this.#from.findIndex((from) => from.join("/") === path)]?.leaf.dtype;
  }

  /**
   * Checks the spec of the steps. @throws RldsError SPEC_MISMATCH if a leaf is missing from the steps or has a different form. The error includes the path of
   * the leaf
   */
  mustFit(stepSpec: StepSpec): void {
    this.#leaves.forEach(({ path, leaf, shape }, i) => {
      const keys = this.#from[i] as readonly string[];
      const dataLeaf = valueAt(stepSpec, keys);
      if (isLeaf(dataLeaf) && dataLeaf.dtype === leaf.dtype && dataLeaf.shape.join() === shape.join()) return;
      const expected = `${path || "a step"} is ${leafText(leaf.dtype, shape)} in the writer's spec, but `;
      if (isLeaf(dataLeaf)) {
        const actual = `${keys.join("/")} is ${leafText(dataLeaf.dtype, dataLeaf.shape)} in the data`;
        throw new RldsError("SPEC_MISMATCH", `${expected}${actual}. Convert it with mapSteps(data, change, { stepSpec })`);
      }
      const paths = leavesOf(stepSpec).map((leafEntry) => leafEntry.path);
      throw new RldsError(
        "SPEC_MISMATCH",
        `${expected}the data's steps have no leaf ${keys.join("/")}.${didYouMean(keys.join("/"), paths)} Use fields to map it to one of ${paths.join(", ")}`,
      );
    });
    for (const flag of FLAGS) {
      const flagLeaf = valueAt(stepSpec, [flag]);
      if (!isLeaf(flagLeaf)) throw new RldsError("SPEC_MISMATCH", mustBe(TypeError, flag, "a leaf of an RLDS dataset's steps", flagLeaf).message);
    }
  }

  /**
   * Reads and checks an episode.
   * @throws RldsError SPEC_MISMATCH if a step has a different form · INVALID_DATA if a flag is in the wrong place · the signal's reason if the signal aborts
   */
  async read({ steps, ...metadata }: RldsEpisode, episode: number, signal: AbortSignal | undefined): Promise<EpisodeColumns> {
    signal?.throwIfAborted();
    if (steps instanceof StepColumns) {
      const columns = this.#columnsOf(steps.spec).map((i) => steps.parts[i] as ColumnData);
      const flagAt = (row: number, k: number) => flagIn(columns[k]?.[row]) ?? flagOf(steps.at(row), FLAGS[k] as (typeof FLAGS)[number], { episode, step: row });
      return this.#checkRows(columns.slice(FLAGS.length), steps.length, { episode, metadata, flagAt });
    }
    const collector = new Collector(this.#collected);
    const flags: boolean[] = [];
    const addStep = (step: RldsStep, index: number): void => {
      const place = { episode, step: index };
      for (const flag of FLAGS) flags.push(flagOf(Object(step), flag, place));
      collector.add(this.#pack(this.#from.map((keys) => valueAt(step, keys))), place);
    };
    await forEach(abortable(steps, signal), addStep);
    const { data, length } = collector.take();
    return this.#checkRows(data, length, { episode, metadata, flagAt: (row, k) => flags[FLAGS.length * row + k] as boolean });
  }

  /** Returns the rows from index `from` up to, but not including, `to`, as columns, nested like the spec. */
  rows({ data }: EpisodeColumns, from: number, to: number): unknown {
    return this.#pack(this.#leaves.map(({ size }, i) => readNow(slicedColumn(data[i] as ColumnData, from * size, to * size))));
  }

  /** Returns the last row as columns of length 1, without the action, the reward and the discount. */
  final({ data, rows }: EpisodeColumns): unknown {
    return this.#pack(
      this.#leaves.map(({ size }, i) =>
        ACTION_FIELDS.includes(this.#from[i]?.[0]) ? undefined : slicedColumn(data[i] as ColumnData, (rows - 1) * size, rows * size),
      ),
    );
  }

  /** Returns the indices of the flags, followed by the indices of the leaves, among the columns of a spec. */
  #columnsOf(spec: StepSpec): readonly number[] {
    if (this.#lastColumns?.spec !== spec) {
      this.mustFit(spec);
      const paths = leavesOf(spec).map(({ path }) => path);
      this.#lastColumns = { spec, columns: [...FLAGS.map((flag) => [flag]), ...this.#from].map((keys) => paths.indexOf(keys.join("/"))) };
    }
    return this.#lastColumns.columns;
  }

  #checkRows(data: readonly ColumnData[], rows: number, { episode, metadata, flagAt }: EpisodeFlags): EpisodeColumns {
    const orderError = (rule: string, step: number) =>
      new RldsError("INVALID_DATA", `${rule}. Repair the data, or import it with mode "repair" or "drop"`, { episode, step });
    for (let row = 0; row < rows; row++) {
      const last = flagAt(row, 1);
      if (row > 0 && flagAt(row, 0)) throw orderError("is_first must be true only for the first step of an episode", row);
      if (row < rows - 1 && last) throw orderError("is_last must be true only for the last step of an episode", row);
      if (!last && flagAt(row, 2)) throw orderError("a terminal step must be the last step of its episode, got is_terminal without is_last", row);
    }
    const endsWithFinal = rows > 0 && finalStepOf(metadata, flagAt(rows - 1, 1)) === "observation";
    return { data, rows, transitions: rows - Number(endsWithFinal), terminated: rows > 0 && flagAt(rows - 1, 2) };
  }
}

/** Returns a piece as an array without caching it, because the caller copies it immediately. */
function readNow(part: ColumnData): ColumnData {
  return isLazy(part) ? part.read() : part;
}

/** Returns the path of each leaf in a step. This is its own path, unless `fields` sets a path for the leaf or for a subtree that contains the leaf. */
function sources(leaves: readonly FoundLeaf[], fields: StepFields): (readonly string[])[] {
  const isInPath = (path: string, leaf: FoundLeaf) => leaf.path === path || leaf.path.startsWith(`${path}.`);
  const names = [...new Set(leaves.flatMap(({ keys }) => keys.map((_, n) => keys.slice(0, n + 1).join("."))))];
  for (const [path, from] of Object.entries(onlyKeys("fields", fields, names.join(", ")))) {
    if (typeof from !== "string" || from === "")
      throw mustBe(TypeError, `fields.${path}`, 'the path of a field of the steps, such as "observation/state"', from);
  }
  return leaves.map((leaf) => {
    // The longest path is the most specific.
    const [path] = names.filter((name) => Object.hasOwn(fields, name) && isInPath(name, leaf)).sort((a, b) => b.length - a.length);
    if (path === undefined) return leaf.keys;
    return [...(fields[path] as string).split("/"), ...leaf.keys.slice(path.split(".").length)];
  });
}
