/** Chooses how to iterate over the episodes of an archive, depending on the arrays that it contains. */
import { isText } from "../../../schema/leaf.ts";
import { lastFlagOf } from "../../model/final-observation.ts";
import { FINAL_STEP, finalStepOf } from "../../model/final-step.ts";
import { corruptFile, unsupportedFile } from "../../model/rlds-error.ts";
import { absentReward } from "../columns/absent-fields.ts";
import { Column, type ColumnTree, columnsOf, rowSpec } from "../columns/column.ts";
import type { TransitionTree } from "../columns/episode-ranges.ts";
import { type FinalObservation, flatEpisodes, flatIndex, rowsOf, squeezeColumn } from "../columns/flat.ts";
import type { Field } from "../columns/names.ts";
import { specDifference } from "../columns/spec-difference.ts";
import { FlaggedRanges, flagsOf, type Range, type StepTable, stepsOfRange, stepTableSpec } from "../columns/step-table.ts";
import { stepSpecOf, type TransitionSpec } from "../columns/transitions.ts";
import { emptyIterable, lazy, lazyIterable } from "../lazy.ts";
import type { MemoryBudget } from "../memory-budget.ts";
import { type Plan, planOfRanges, rangesByIndices, rangesByStarts } from "./range-plans.ts";

export type Fields = { -readonly [F in Field]?: ColumnTree };

export async function planOf(
  fields: Fields,
  metadata: { readonly [name: string]: ColumnTree },
  file: string,
  { budget, ...options }: { finalObservation: FinalObservation; maxBytes: number; signal?: AbortSignal; budget: MemoryBudget },
): Promise<Plan> {
  const { observation, action } = fields;
  const flags = (column: Column) => {
    budget.reserve(column.rows ?? 0, column.path);
    return flagsOf(column, file, options.signal);
  };
  if (observation === undefined || action === undefined)
    throw unsupportedFile({ file }, "the archive must have arrays named observation and action, or observations and actions");
  const reward = fields.reward ?? absentReward(columnsOf(action)[0]?.rows ?? 0);
  const single = (field: Field) => {
    const column = fields[field];
    if (column !== undefined && !(column instanceof Column)) throw corruptFile({ file }, `${field} must be a single array`);
    return column;
  };
  const [first, last, terminal, terminated, truncated, lengths] = (["is_first", "is_last", "is_terminal", "terminated", "truncated", "lengths"] as const).map(
    single,
  );
  const starts = single("episode_starts");
  const terminations = terminated ?? single("done");
  const main = {
    observation,
    action,
    reward: reward instanceof Column ? squeezeColumn(reward) : reward,
    ...(fields.discount === undefined ? {} : { discount: fields.discount }),
    ...metadata,
  };
  const { indices, ...others } = metadata;
  if (indices instanceof Column && terminations?.rows !== undefined && terminations.rows === (indices.rows ?? 0) + 1) {
    const tree: TransitionTree = { ...main, ...others };
    const { indices: _, ...withoutIndices } = tree as TransitionTree & { readonly indices: unknown };
    return planOfRanges(withoutIndices, await rangesByIndices(withoutIndices, indices, await flags(terminations), { file, budget }), { file, ...options });
  }
  if (starts !== undefined && lengths === undefined && first === undefined && last === undefined) {
    const ends = terminal ?? terminations;
    rowsOf([...columnsOf(main), starts, ...(ends === undefined ? [] : [ends])], file);
    return planOfRanges(main, rangesByStarts(await flags(starts), ends && (await flags(ends)), budget), { file, ...options });
  }
  if (lengths === undefined && first === undefined && last === undefined && terminations !== undefined) {
    const transition = main;
    const different = fields.next_observation === undefined ? undefined : specDifference(rowSpec(observation), rowSpec(fields.next_observation));
    if (different !== undefined) throw corruptFile({ file }, `next_observations do not match observations: ${different}`);
    if (options.finalObservation === "next" && fields.next_observation === undefined)
      throw unsupportedFile({ file }, "the archive has no next_observations, which finalObservation requires. Omit finalObservation");
    const rows = rowsOf([...columnsOf(transition), terminations], file);
    const memory = (bytes: Uint8Array, path: string) =>
      new Column({ path, leaf: { dtype: "bool", shape: [] }, rows: bytes.length, rowBytes: 1, read: async (a, b) => bytes.slice(a, b) });
    const terminals = memory(await flags(terminations), terminations.path);
    const timeouts = truncated && memory(await flags(truncated), truncated.path);
    const table = { file, transition, terminals, timeouts, areEnds: single("done") !== undefined, nextObservation: fields.next_observation };
    rowsOf([terminals, ...(timeouts === undefined ? [] : [timeouts])], file);
    if (terminals.rows !== rows) throw corruptFile({ file }, `${terminals.path} must have one flag per row`);
    const index = lazy(() => flatIndex(table, options));
    return {
      stepSpec: stepSpecOf(rowSpec(transition) as unknown as TransitionSpec),
      lengths: async () => (await index()).lengths,
      run(episode) {
        if (episode === 0) return flatEpisodes(table, options);
        return lazyIterable(async () => {
          const row = (await index()).rows[episode];
          return row === undefined ? emptyIterable() : flatEpisodes(table, options, row);
        });
      },
    };
  }
  const isTerminal = terminal ?? terminations;
  if (isTerminal === undefined || (lengths === undefined && first === undefined && last === undefined))
    throw unsupportedFile(
      { file },
      "the archive does not mark the ends of episodes. Add is_terminal together with lengths, is_first or is_last, or add both terminals and timeouts",
    );
  const flagColumns = [first, last, isTerminal].filter((column) => column !== undefined);
  const rows = rowsOf([...columnsOf(main), ...flagColumns], file);
  const table: StepTable = { tree: main, isFirst: first && (await flags(first)), isLast: last && (await flags(last)), isTerminal: await flags(isTerminal) };
  const ranges = lengths === undefined ? new FlaggedRanges(rows, table.isFirst, table.isLast) : await rangesByLengths(lengths, rows, file, budget);
  const stepSpec = stepTableSpec(table);
  const hasRldsFlags = (first ?? last ?? terminal) !== undefined;
  const rowBytes = columnsOf(main).reduce((sum, column) => sum + column.rowBytes, 0);
  return {
    stepSpec,
    episodes: ranges.length,
    steps: rows,
    lengths: async () => Array.from(ranges, ({ from, to }) => to - from),
    async *run(episode) {
      let remaining = episode;
      for (const range of ranges) {
        if (remaining-- > 0) continue;
        const bytes = (range.to - range.from) * rowBytes;
        if (bytes > options.maxBytes)
          throw corruptFile({ file }, `an episode takes ${bytes} bytes, more than the ${options.maxBytes} that maxBytes allows. Increase maxBytes`);
        const steps = await stepsOfRange(table, stepSpec, range);
        yield { steps, [FINAL_STEP]: finalStepOf({}, hasRldsFlags && lastFlagOf(steps) === true) };
      }
    },
  };
}

/** Returns the range of rows of each episode, according to the array of lengths. */
async function rangesByLengths(
  { leaf, rows = 0, read, path }: Column,
  steps: number,
  file: string,
  budget: MemoryBudget,
): Promise<Iterable<Range> & { readonly length: number }> {
  const isNumber = leaf.shape.length === 0 && !isText(leaf);
  if (isNumber) budget.reserve(16 * rows, path);
  const lengths = Float64Array.from(isNumber ? ((await read(0, rows)) as Float64Array) : [Number.NaN], Number);
  const sum = lengths.reduce((all, length) => all + (Number.isInteger(length) && length >= 0 ? length : Number.NaN), 0);
  if (sum !== steps) throw corruptFile({ file }, `the lengths of the episodes must add up to the ${steps} rows of the file, but add up to ${sum}`);
  return {
    length: lengths.length,
    *[Symbol.iterator]() {
      let to = 0;
      for (const length of lengths) {
        to += length;
        yield { from: to - length, to };
      }
    },
  };
}
