/** Episodes of a dataset as columns of a Replay's leaves, each read and checked as a whole. */
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

/** By leaf or subtree of a Replay's spec (`obs`, `info.mask`) where a step has it (`observation`, `extra/mask`). */
export type StepFields = { readonly [path: string]: string };

/** All rows of an episode; the observation of the last one is the final one. */
export interface EpisodeColumns {
  /** One a leaf, in the order of the spec. */
  readonly data: readonly ColumnData[];
  readonly rows: number;
  /** Rows that begin a transition: all, or all but the last one. */
  readonly transitions: number;
  readonly terminated: boolean;
}

/** What is known of an episode beside its columns. */
interface EpisodeFlags {
  readonly episode: number;
  readonly metadata: { readonly [name: string]: unknown };
  readonly flagAt: (row: number, k: number) => boolean;
}

const FLAGS = ["is_first", "is_last", "is_terminal"] as const;
/** In a final observation they have no meaning. */
const ACTION_FIELDS: readonly unknown[] = ["action", "reward", "discount"];
/** Bytes of a block of rows, about: it is copied on its way. */
const BLOCK_BYTES = 2 ** 22;
const MAX_ROWS = 4096;

export class EpisodeReader {
  readonly #leaves: readonly FoundLeaf[];
  /** Where a step has each leaf. */
  readonly #from: readonly (readonly string[])[];
  readonly #pack: (values: readonly unknown[]) => unknown;
  /** What is collected where steps come one by one. */
  readonly #collected: StepSpec;
  /** Rows that go into a Replay at a time. */
  readonly blockRows: number;
  /** Of the columns that came last: their spec, and where among them the flags and the leaves are. */
  #lastColumns: { readonly spec: StepSpec; readonly columns: readonly number[] } | undefined;

  /** @throws TypeError, ReplayError NOT_FOUND for `fields` that the spec does not have */
  constructor(spec: Spec, fields: StepFields = {}) {
    this.#leaves = leavesOfRow(spec);
    this.#from = sources(this.#leaves, fields);
    this.#pack = packer(spec);
    this.#collected = this.#pack(this.#leaves.map(({ leaf: { dtype }, shape }) => ({ dtype, shape }))) as StepSpec;
    const bytes = this.#leaves.reduce((sum, { leaf, size }) => sum + elementBytes(leaf) * size, 0);
    this.blockRows = Math.max(1, Math.min(MAX_ROWS, Math.floor(BLOCK_BYTES / bytes)));
  }

  /** The dtype of what is taken from a field of the steps; undefined if nothing is. */
  dtypeOf(keys: readonly string[]): string | undefined {
    const path = keys.join("/");
    return this.#leaves[this.#from.findIndex((from) => from.join("/") === path)]?.leaf.dtype;
  }

  /** @throws RldsError SPEC_MISMATCH that names a leaf which steps do not have, or have in another form */
  mustFit(stepSpec: StepSpec): void {
    this.#leaves.forEach(({ path, leaf, shape }, i) => {
      const keys = this.#from[i] as readonly string[];
      const dataLeaf = valueAt(stepSpec, keys);
      if (isLeaf(dataLeaf) && dataLeaf.dtype === leaf.dtype && dataLeaf.shape.join() === shape.join()) return;
      const expected = `${path || "a step"} is ${leafText(leaf.dtype, shape)} in the writer's spec, and `;
      if (isLeaf(dataLeaf)) {
        const actual = `${keys.join("/")} is ${leafText(dataLeaf.dtype, dataLeaf.shape)} in the data`;
        throw new RldsError("SPEC_MISMATCH", `${expected}${actual}: convert it with mapSteps(data, change, { stepSpec })`);
      }
      const paths = leavesOf(stepSpec).map((leafEntry) => leafEntry.path);
      throw new RldsError(
        "SPEC_MISMATCH",
        `${expected}the data's steps have no leaf ${keys.join("/")}.${didYouMean(keys.join("/"), paths)} Name it in fields: ${paths.join(", ")}`,
      );
    });
    for (const flag of FLAGS) {
      const flagLeaf = valueAt(stepSpec, [flag]);
      if (!isLeaf(flagLeaf)) throw new RldsError("SPEC_MISMATCH", mustBe(TypeError, flag, "a leaf of an RLDS dataset's steps", flagLeaf).message);
    }
  }

  /** @throws RldsError SPEC_MISMATCH, INVALID_DATA, with the place · what the signal says */
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

  /** Rows from … to - 1 as columns, nested like the spec. */
  rows({ data }: EpisodeColumns, from: number, to: number): unknown {
    return this.#pack(this.#leaves.map(({ size }, i) => readNow(slicedColumn(data[i] as ColumnData, from * size, to * size))));
  }

  /** The last row, as columns of one. Of what came of an action it has nothing. */
  final({ data, rows }: EpisodeColumns): unknown {
    return this.#pack(
      this.#leaves.map(({ size }, i) =>
        ACTION_FIELDS.includes(this.#from[i]?.[0]) ? undefined : slicedColumn(data[i] as ColumnData, (rows - 1) * size, rows * size),
      ),
    );
  }

  /** Where among columns of a spec the flags and then the leaves are. */
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

/** A piece that is copied at once. */
function readNow(part: ColumnData): ColumnData {
  return isLazy(part) ? part.read() : part;
}

/** Where a step has each leaf: under its own path, or where `fields` say that it or a subtree that holds it is. */
function sources(leaves: readonly FoundLeaf[], fields: StepFields): (readonly string[])[] {
  const isInPath = (path: string, leaf: FoundLeaf) => leaf.path === path || leaf.path.startsWith(`${path}.`);
  const names = [...new Set(leaves.flatMap(({ keys }) => keys.map((_, n) => keys.slice(0, n + 1).join("."))))];
  for (const [path, from] of Object.entries(onlyKeys("fields", fields, names.join(", ")))) {
    if (typeof from !== "string" || from === "")
      throw mustBe(TypeError, `fields.${path}`, 'the path of a field of the steps, such as "observation/state"', from);
  }
  return leaves.map((leaf) => {
    // The longest path is the nearest.
    const [path] = names.filter((name) => Object.hasOwn(fields, name) && isInPath(name, leaf)).sort((a, b) => b.length - a.length);
    if (path === undefined) return leaf.keys;
    return [...(fields[path] as string).split("/"), ...leaf.keys.slice(path.split(".").length)];
  });
}
