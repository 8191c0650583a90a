/** Reads the steps of a stored episode from its rows. */

import { FINAL_TERMINATED, FINAL_TRUNCATED } from "../../../base/abi.ts";
import { gather } from "../../../batch/gather.ts";
import { type ItemBuffer, itemBuffer } from "../../../batch/item-layout.ts";
import type { Piece } from "../../../batch/stored-episodes.ts";
import type { Engine } from "../../../memory/engine.ts";
import type { Column } from "../../../schema/column.ts";
import { zeros } from "../../../schema/dtype.ts";
import type { PlacedLeaf } from "../../../schema/layout.ts";
import { blank } from "../../../schema/leaf.ts";
import { FINAL_STEP, type FinalStep } from "../../model/final-step.ts";
import { type LeafEntry, leavesOf } from "../../model/leaves.ts";
import { RldsError } from "../../model/rlds-error.ts";
import { type ColumnData, StepColumns } from "../../model/step-columns.ts";
import type { SelectedSpec } from "../selection/selected-spec.ts";
import type { JournalHistory } from "./history.ts";
import type { StoredSchema } from "./stored-schema.ts";

/** The state of an episode's beginning, which is complete ("there"), evicted or unknown. */
export type EpisodeStart = "there" | "evicted" | "unknown";
export type End = "terminated" | "truncated" | "ended" | "open" | "evicted";

export interface ReadSteps<S> {
  readonly steps: StepColumns<S>;
  readonly beginning: EpisodeStart;
  readonly end: End;
  readonly [FINAL_STEP]: FinalStep | "unknown";
}

/** The maximum size in bytes of the rows that are gathered together. It is so small that even a full Replay has room for them. */
const CHUNK_BYTES = 1 << 15;
const CHUNK_ROWS = 256;

const STEP_FIRST = 0;
const STEP_LAST = 2;

const FLAGS = ["is_first", "is_last", "is_terminal"] as const;

export interface StoredStepsOptions {
  readonly maxBytes: number;
  readonly selected: SelectedSpec;
  readonly history: Pick<JournalHistory, "columns"> | undefined;
}

export class StoredSteps {
  readonly #selected: SelectedSpec;
  readonly #engine: Engine;
  readonly #schema: StoredSchema;
  readonly #maxBytes: number;
  readonly #chunk: number;
  readonly #rowBytes: number;
  readonly #history: Pick<JournalHistory, "columns"> | undefined;
  /** The leaves that are read, which are the selected leaves and the leaves that determine how episodes begin and end. */
  readonly #leaves: readonly PlacedLeaf[];
  #buffer: ItemBuffer | undefined;

  /** @param history the index of a journal that keeps everything, if rows are indices of its steps */
  constructor(engine: Engine, schema: StoredSchema, { maxBytes, selected, history }: StoredStepsOptions) {
    this.#selected = selected;
    const all = leavesOf(schema.stepSpec).map(({ keys }) => schema.leaves.get(keys.join(".")));
    const flags = FLAGS.map((name) => schema.leaves.get(name));
    const used = new Set([...selected.places.map((place) => all[place]), ...flags, schema.terminated, schema.discount, schema.stepType]);
    this.#leaves = engine.layout.leaves.filter((leaf) => used.has(leaf));
    this.#history = history;
    this.#engine = engine;
    this.#schema = schema;
    this.#maxBytes = maxBytes;
    this.#rowBytes = this.#leaves.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#chunk = Math.max(1, Math.min(CHUNK_ROWS, Math.floor(CHUNK_BYTES / Math.max(1, this.#rowBytes))));
  }

  /**
   * Reads an episode. @param beginning the state of the beginning, as far as it is known without reading steps @throws RldsError UNSUPPORTED if the episode
   * takes more than maxBytes · ReplayError CORRUPT if a frame is damaged
   */
  read<S>({ rows, end, openSteps }: Piece, beginning: EpisodeStart): ReadSteps<S> {
    const { stepSpec, leaves, stepType, terminated, discount } = this.#schema;
    const n = rows.length;
    const bytes = n * this.#rowBytes;
    if (bytes > this.#maxBytes)
      throw new RldsError("UNSUPPORTED", `an episode takes ${bytes} bytes, more than the ${this.#maxBytes} that maxBytes allows. Increase maxBytes`);
    const columns = this.#history?.columns(rows, this.#leaves) ?? this.#gatherColumns(rows);
    const of = (leaf: PlacedLeaf | undefined) => leaf && (columns[leaf.index] as ArrayLike<number | bigint>);
    const flagColumn = (name: string) => of(leaves.get(name)) as Uint8Array | undefined;
    const type = of(stepType);
    const first = flagColumn("is_first") ?? (type && flags(n, (i) => Number(type[i]) === STEP_FIRST));
    const begins = first === undefined ? beginning : first[0] === 1 ? "there" : "evicted";
    const last = flagColumn("is_last") ?? (type ? flags(n, (i) => Number(type[i]) === STEP_LAST) : flags(n, (i) => i === n - 1 && end !== 0));
    // A final step has no action. The result of the last action is stored in the step before the final step.
    const isFinal = end === FINAL_TRUNCATED || end === FINAL_TERMINATED || (type !== undefined && last[n - 1] === 1);
    const lastAction = isFinal ? n - 2 : n - 1;
    const isStoredTerminal = lastAction >= 0 && (Number(of(terminated)?.[lastAction] ?? 0) !== 0 || Number(of(discount)?.[lastAction] ?? 1) === 0);
    const isTerminal = last[n - 1] === 1 && (end === FINAL_TERMINATED || isStoredTerminal || flagColumn("is_terminal")?.[n - 1] === 1);
    const computed: { readonly [path: string]: () => ColumnData } = {
      is_first: () => first ?? flags(n, (i) => i === 0 && begins !== "evicted"),
      is_last: () => last,
      is_terminal: () => flags(n, (i) => i === n - 1 && isTerminal),
      discount: () => Float32Array.from({ length: n }, (_, i) => Number(!((i === lastAction && isTerminal) || (i === n - 1 && isFinal)))),
      reward: () => zeros("f32", n),
    };
    const stepLeaves = leavesOf(stepSpec);
    const data = this.#selected.places.map((place) => {
      const { path, keys } = stepLeaves[place] as LeafEntry;
      const leaf = leaves.get(keys.join("."));
      return leaf === undefined ? (computed[path] as () => ColumnData)() : (columns[leaf.index] as ColumnData);
    });
    const stop: End = last[n - 1] !== 1 ? (openSteps > 0 ? "open" : "evicted") : isTerminal ? "terminated" : isFinal ? "truncated" : "ended";
    // If `is_last` is a leaf, the last step may be of either kind.
    const final = isFinal ? "observation" : flagColumn("is_last") === undefined ? "transition" : "unknown";
    return { steps: new StepColumns<S>(this.#selected.spec, data, n), beginning: begins, end: stop, [FINAL_STEP]: final };
  }

  /** Returns one column per leaf that is read, by its index in the layout. */
  #gatherColumns(rows: Uint32Array): ColumnData[] {
    const leaves = this.#leaves;
    const columns: ColumnData[] = [];
    for (const { index, leaf, size } of leaves) columns[index] = blank(leaf, size * rows.length);
    this.#buffer ??= itemBuffer(this.#engine, { n: this.#chunk, width: 1, selections: leaves.map(everyValue), isWhole: false, holds: 0 });
    const buffer = this.#buffer;
    const columnsByIndex = buffer.batch.steps as { readonly [index: string]: Column };
    for (let from = 0; from < rows.length; from += this.#chunk) {
      const rowRange = rows.subarray(from, from + this.#chunk);
      buffer.prepare().nameRows(rowRange);
      gather(buffer, rowRange.length);
      for (const { index, size } of leaves) {
        const { data } = columnsByIndex[index] as unknown as { readonly data: ArrayLike<never> };
        const column = columns[index] as unknown as never[];
        if (Array.isArray(data)) for (let i = 0; i < rowRange.length * size; i++) column[from * size + i] = data[i] as never;
        else (column as unknown as Float32Array).set((data as unknown as Float32Array).subarray(0, rowRange.length * size), from * size);
      }
    }
    return columns as ColumnData[];
  }
}

const everyValue = (leaf: PlacedLeaf) => ({ keys: [String(leaf.index)], leaf, steps: [0], start: 0, step: 1, squeezed: true });

function flags(n: number, is: (i: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: n }, (_, i) => Number(is(i)));
}
